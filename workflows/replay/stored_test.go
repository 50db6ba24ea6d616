package replay

import (
	"testing"

	"longhaul/internal/record/recordtest"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Workflow(t, Run)
}
