package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// lay puts a dead letter of a task that nobody can run again into the bucket.
func lay(t *testing.T, e *Engine, id string, at time.Time) {
	t.Helper()
	g := storage.Grave{DeadLetter: task.DeadLetter{ID: id, Status: task.DeadOpen, Kind: "summary", At: at}}
	require.NoError(t, e.letters().Bury(t.Context(), "acme", g))
}

// A cursor is one of ours, or it is refused: nobody is shown an empty list, or the beginning again, as if that were the next page.
func TestDeadLetters_cursors(t *testing.T) {
	t.Parallel()
	_, engines := newFake(t, 1)
	e := engines[0]
	for range 5 {
		lay(t, e, newID(draft(nil)), now)
	}
	seen := map[string]bool{}
	f := task.DeadFilter{Limit: 2}
	for {
		page, err := e.DeadLetters(t.Context(), "acme", f)
		require.NoError(t, err)
		for _, d := range page.Data {
			require.False(t, seen[d.ID])
			seen[d.ID] = true
		}
		if page.NextCursor == nil {
			break
		}
		f.Cursor = *page.NextCursor
	}
	require.Len(t, seen, 5)
	for _, odd := range []string{"zzz", "0", "\x00", "../open", f.Cursor + "x", fmt.Sprintf("%0200d", 1)} {
		_, err := e.DeadLetters(t.Context(), "acme", task.DeadFilter{Cursor: odd})
		require.Equal(t, task.Invalid, task.AsError(err).Code, odd)
	}
}
