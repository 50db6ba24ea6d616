package documents

import (
	"testing"

	"longhaul/internal/record/recordtest"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Activities(t, (&Library{}).Queues(), Manifest{}, Source{})
}
