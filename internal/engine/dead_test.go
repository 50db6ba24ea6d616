package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
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

// However many tasks were ended from outside, and however few of them are looked at, each is found.
func TestDeadLetters_terminated(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	const ended = terminatedPage + 200
	for range ended {
		f.move(f.run("acme"), func(w *fakeWorkflow) {
			w.temporal, w.closed = enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, now
		})
	}
	page, err := engines[0].DeadLetters(t.Context(), "acme", task.DeadFilter{Limit: 1})
	require.NoError(t, err)
	require.Len(t, page.Data, 1)
	known, err := engines[0].letters().IDs(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, known, ended)
}

// Whoever started the replay of a dead letter may have died before it was noted: the next who asks notes it.
func TestReplayDead_isNotedByTheNext(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	e := engines[0]
	id, started := newID(draft(nil)), f.run("acme")
	lay(t, e, id, now)
	f.mu.Lock()
	w := f.tasks[started]
	w.facts.ID = workflows.ReplayID(id)
	f.tasks[w.facts.ID] = w
	f.mu.Unlock()

	again, replayed, err := e.ReplayDead(t.Context(), "acme", id, task.ReplayOrder{})
	require.NoError(t, err)
	require.True(t, replayed)
	d, err := e.DeadLetter(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, task.DeadReplayed, d.Status)
	require.Equal(t, again.ID, d.Replays[0].TaskID)
}

// A budget that cannot be kept is refused, in a replay as in an order.
func TestReplay_budgetWithoutPrice(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	e, id := engines[0], f.run("acme")
	f.finish(id)
	f.mu.Lock()
	f.tasks[id].facts.InputKey = storage.InputKey(id, "test")
	f.mu.Unlock()
	require.NoError(t, e.Bucket.PutJSON(t.Context(), storage.InputKey(id, "test"), task.SummaryInput{Documents: []task.Document{{Text: "a"}}}))
	_, _, err := e.Replay(t.Context(), "acme", id, "", task.ReplayOrder{Overrides: task.Overrides{Budget: 1}})
	require.Equal(t, task.Invalid, task.AsError(err).Code)
	require.Equal(t, "/overrides/budget", task.AsError(err).Errors[0].Pointer)
}

// A listener who says that it was told of what is still to come is told of what was, like one who says nothing.
func TestAllEvents_ofTheFuture(t *testing.T) {
	t.Parallel()
	_, engines := newFake(t, 1)
	for _, since := range []time.Time{{}, time.UnixMilli(1 << 62), time.Now().Add(time.Hour)} {
		feed, err := engines[0].AllEvents(t.Context(), "acme", since)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(-crowdFor), feed.(*crowdFeed).since, 10*time.Second) //nolint:forcetypeassert // it is ours
		feed.Close()
	}
}
