package video

import (
	"testing"

	"longhaul/internal/record/recordtest"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Activities(t, (&Activities{}).Queues(), fence{}, film{}, doubt{}, VideoResult{}, VideoOutput{})
}
