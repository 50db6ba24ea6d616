package call

import (
	"testing"

	"longhaul/internal/record/recordtest"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Activities(t, (&Pauser{}).Queues(), Answer{}, Entry{}, defect{})
}
