package record_test

import (
	"testing"

	"longhaul/internal/record"
	"longhaul/internal/record/recordtest"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Stored(t,
		record.Facts{}, record.TaskRef{}, record.Snapshot{}, record.Start[struct{}]{}, record.Ending{}, record.Spent{},
		record.Heartbeat{}, record.CallState{}, record.Pause{}, record.Message{}, record.PlanRequest{},
	)
}
