package results

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

func TestTally(t *testing.T) {
	t.Parallel()
	good := task.Item{Status: task.ItemSucceeded}
	bad := task.Item{Status: task.ItemFailed, Error: task.Errorf(task.NoText, "scanned")}
	cut := task.Item{Status: task.ItemCancelled}
	tests := map[string]struct {
		items   []task.Item
		outcome task.Outcome
	}{
		"all":      {[]task.Item{good, good}, task.Full},
		"some":     {[]task.Item{good, bad}, task.Partial},
		"none":     {[]task.Item{bad, bad}, task.None},
		"cut":      {[]task.Item{good, cut}, task.Partial},
		"no items": {nil, task.None},
	}
	for name, test := range tests {
		f := Tally(test.items)
		require.Equal(t, test.outcome, f.Outcome, name)
		require.Equal(t, len(test.items), f.Counts.Succeeded+f.Counts.Failed+f.Counts.Cancelled, name)
	}
	require.Equal(t, task.NoText, Tally([]task.Item{good, bad}).First.Code)
}
