package qa

import (
	"testing"

	"longhaul/internal/record/recordtest"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Activities(t, (&Activities{}).Queues(), manifest{}, exchange{}, QAResult{}, QAOutput{})
}
