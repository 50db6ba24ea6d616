package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

func (f *fakeTemporal) terminate(id string, change func(*record.Facts)) {
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
		temporal.terminate(temporal.run("acme"), func(*record.Facts) {})
	}
	temporal.terminate(temporal.run("acme"), func(f *record.Facts) { f.Parent = "task_parent" })
	temporal.terminate(temporal.run("acme"), func(f *record.Facts) { f.Kind = record.KindReplay })
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
	g := storage.StoredDeadLetter{DeadLetter: task.DeadLetter{ID: id, Status: task.DeadOpen, Kind: "summary", At: at}}
	require.NoError(t, e.letters().Write(t.Context(), "acme", g))
}

// countedBucket is a bucket that counts what it is asked.
func countedBucket(t *testing.T) (*storage.Bucket, *atomic.Int64) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "user")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("longhaul"))
	var asked atomic.Int64
	s3 := gofakes3.New(backend).Server()
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		s3.ServeHTTP(w, r)
	}))
	t.Cleanup(store.Close)
	bucket, err := storage.Open(t.Context(), "s3://longhaul?endpoint="+store.URL+"&use_path_style=true&region=us-east-1"+
		"&request_checksum_calculation=when_required&response_checksum_validation=when_required")
	require.NoError(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket, &asked
}

// What was dealt with costs those who look at what is open nothing, and a task that was ended from outside one look.
func TestDeadLetters_cost(t *testing.T) {
	temporal, engines := newFake(t, 1)
	e := engines[0]
	var asked *atomic.Int64
	e.Bucket, asked = countedBucket(t)
	for range 20 {
		id := newID(draft(nil))
		lay(t, e, id, now)
		_, err := e.Discard(t.Context(), "acme", id, "")
		require.NoError(t, err)
	}
	looks := map[string]func() error{
		"page":   func() error { _, err := e.DeadLetters(t.Context(), "acme", task.DeadFilter{}); return err },
		"groups": func() error { _, err := e.DeadGroups(t.Context(), "acme"); return err },
	}
	cost := func(want int64) {
		t.Helper()
		for name, look := range looks {
			asked.Store(0)
			require.NoError(t, look())
			require.Equal(t, want, asked.Load(), name)
		}
	}
	cost(1) // the open ones are listed
	temporal.terminate(temporal.run("acme"), func(*record.Facts) {})
	require.NoError(t, looks["page"]())
	cost(3) // it is looked for, and read
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
	w.facts.ID = record.ReplayID(id)
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
