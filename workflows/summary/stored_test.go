package summary

import (
	"testing"

	"longhaul/internal/record/recordtest"
)

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Workflow(t, Run)
	recordtest.Workflow(t, RunGroup)
}
