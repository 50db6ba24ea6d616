package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Every pause and resume is sent, also while no worker has handled the signal before: the last one counts.
func TestPause_lastSignalCounts(t *testing.T) {
	t.Parallel()
	pause, resume := record.Pause{On: true, Reason: "check first"}, record.Pause{}
	tests := map[string]struct {
		state   task.State
		signals []record.Pause
	}{
		"resumed before the pause was handled": {task.Processing, []record.Pause{pause, resume}},
		"paused before the resume was handled": {task.Paused, []record.Pause{resume, pause}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, engines := newFake(t, 1)
			id := f.run("acme")
			f.move(id, func(w *fakeWorkflow) { w.state.State = test.state })
			for _, signal := range test.signals {
				var err error
				if signal.On {
					_, err = engines[0].Pause(t.Context(), "acme", id, signal.Reason)
				} else {
					_, err = engines[0].Resume(t.Context(), "acme", id)
				}
				require.NoError(t, err)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			require.Equal(t, test.signals, f.tasks[id].pauses)
		})
	}
}
