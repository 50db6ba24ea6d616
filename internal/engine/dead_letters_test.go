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

// Every task that was terminated in Temporal becomes a dead letter, over several pages; child tasks and bulk replays do not.
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
		require.Equal(t, int64(task.MaxPage+5), temporal.describes.Load(), "each is described once")
	}
}

// writeLetter writes a dead letter without facts to the bucket; its task cannot be replayed.
func writeLetter(t *testing.T, e *Engine, id string, at time.Time) {
	t.Helper()
	letter := storage.StoredDeadLetter{DeadLetter: task.DeadLetter{ID: id, Status: task.DeadOpen, Kind: "summary", At: at}}
	require.NoError(t, e.letters().Write(t.Context(), "acme", letter))
}

// countingBucket returns a bucket and the number of requests to it.
func countingBucket(t *testing.T) (*storage.Bucket, *atomic.Int64) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "user")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("longhaul"))
	var requests atomic.Int64
	s3 := gofakes3.New(backend).Server()
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		s3.ServeHTTP(w, r)
	}))
	t.Cleanup(store.Close)
	bucket, err := storage.Open(t.Context(), "s3://longhaul?endpoint="+store.URL+"&use_path_style=true&region=us-east-1"+
		"&request_checksum_calculation=when_required&response_checksum_validation=when_required")
	require.NoError(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket, &requests
}

// Listing open dead letters sends no request for closed ones, and two for a terminated task.
func TestDeadLetters_bucketRequests(t *testing.T) {
	temporal, engines := newFake(t, 1)
	e := engines[0]
	var requests *atomic.Int64
	e.Bucket, requests = countingBucket(t)
	for range 20 {
		id := newID(draft(nil))
		writeLetter(t, e, id, now)
		_, err := e.Discard(t.Context(), "acme", id, "")
		require.NoError(t, err)
	}
	reads := map[string]func() error{
		"page":   func() error { _, err := e.DeadLetters(t.Context(), "acme", task.DeadFilter{}); return err },
		"groups": func() error { _, err := e.DeadGroups(t.Context(), "acme"); return err },
	}
	requireRequests := func(want int64) {
		t.Helper()
		for name, read := range reads {
			requests.Store(0)
			require.NoError(t, read())
			require.Equal(t, want, requests.Load(), name)
		}
	}
	requireRequests(1) // one list of the open letters
	temporal.terminate(temporal.run("acme"), func(*record.Facts) {})
	require.NoError(t, reads["page"]())
	requireRequests(3) // and the letter of the terminated task is looked up and read
}

// An invalid cursor is an error, and is not answered with an empty page or the first one.
func TestDeadLetters_cursors(t *testing.T) {
	t.Parallel()
	_, engines := newFake(t, 1)
	e := engines[0]
	for range 5 {
		writeLetter(t, e, newID(draft(nil)), now)
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
	for _, invalid := range []string{"zzz", "0", "\x00", "../open", f.Cursor + "x", fmt.Sprintf("%0200d", 1)} {
		_, err := e.DeadLetters(t.Context(), "acme", task.DeadFilter{Cursor: invalid})
		require.Equal(t, task.Invalid, task.AsError(err).Code, invalid)
	}
}

// If the call that started a replay failed before it closed the dead letter, the next call closes it.
func TestReplayDead_recordsEarlierReplay(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	e := engines[0]
	id, started := newID(draft(nil)), f.run("acme")
	writeLetter(t, e, id, now)
	f.mu.Lock()
	w := f.tasks[started]
	w.facts.ID = record.ReplayID(id)
	f.tasks[w.facts.ID] = w
	f.mu.Unlock()

	replay, replayed, err := e.ReplayDead(t.Context(), "acme", id, task.ReplayOrder{})
	require.NoError(t, err)
	require.True(t, replayed)
	d, err := e.DeadLetter(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, task.DeadReplayed, d.Status)
	require.Equal(t, replay.ID, d.Replays[0].TaskID)
}

// A mark in the future counts as no mark: the feed begins with recently ended tasks.
func TestAllEvents_futureMark(t *testing.T) {
	t.Parallel()
	_, engines := newFake(t, 1)
	for _, since := range []time.Time{{}, time.UnixMilli(1 << 62), time.Now().Add(time.Hour)} {
		feed, err := engines[0].AllEvents(t.Context(), "acme", since)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(-recentlyEnded), feed.(*tenantFeed).since, 10*time.Second) //nolint:forcetypeassert // AllEvents returns no other type
		feed.Close()
	}
}
