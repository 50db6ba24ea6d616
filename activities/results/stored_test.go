package results

import (
	"testing"

	"longhaul/internal/record/recordtest"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Activities(t, (&Store{}).Queues(), Finished{}, Cut{}, ItemSoFar{})
}
