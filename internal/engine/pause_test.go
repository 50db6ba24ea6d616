package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// The last word counts, also where no worker has heard the one before.
func TestPause_lastWordCounts(t *testing.T) {
	t.Parallel()
	pause, resume := record.Pause{On: true, Reason: "look first"}, record.Pause{}
	tests := map[string]struct {
		state task.State
		words []record.Pause
	}{
		"resumed before the pause was heard": {task.Processing, []record.Pause{pause, resume}},
		"paused before the resume was heard": {task.Paused, []record.Pause{resume, pause}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, engines := newFake(t, 1)
			id := f.run("acme")
			f.move(id, func(w *fakeWorkflow) { w.state.State = test.state })
			for _, word := range test.words {
				var err error
				if word.On {
					_, err = engines[0].Pause(t.Context(), "acme", id, word.Reason)
				} else {
					_, err = engines[0].Resume(t.Context(), "acme", id)
				}
				require.NoError(t, err)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			require.Equal(t, test.words, f.tasks[id].said)
		})
	}
}
