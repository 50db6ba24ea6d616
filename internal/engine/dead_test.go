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
