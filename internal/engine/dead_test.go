package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"longhaul/internal/task"
	"longhaul/workflows"
)

func (f *fakeTemporal) terminate(id string, change func(*workflows.Facts)) {
	f.move(id, func(w *fakeWorkflow) {
		w.temporal, w.closed = enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, time.Now()
		change(&w.facts)
	})
}

// However many tasks were ended from outside, each becomes a dead letter, but for those that become none when they fail by themselves.
func TestDeadLetters_terminated(t *testing.T) {
	t.Parallel()
	temporal, engines := newFake(t, 1)
	for range task.MaxPage + 5 {
		temporal.terminate(temporal.run("acme"), func(*workflows.Facts) {})
	}
	temporal.terminate(temporal.run("acme"), func(f *workflows.Facts) { f.Parent = "task_parent" })
	temporal.terminate(temporal.run("acme"), func(f *workflows.Facts) { f.Kind = workflows.KindReplay })
	for range 2 {
		groups, err := engines[0].DeadGroups(t.Context(), "acme")
		require.NoError(t, err)
		require.Len(t, groups.Data, 1)
		require.Equal(t, task.MaxPage+5, groups.Data[0].Tasks)
		require.Equal(t, int64(task.MaxPage+5), temporal.describes.Load(), "each is looked at once")
	}
}
