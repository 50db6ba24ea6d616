package engine

import (
	"context"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Requests to Temporal depend on changes and time, not on the number of readers.
func TestViews_readsDoNotGrowWithReaders(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	e := engines[0]
	id := f.run("acme")
	began := time.Now()
	var reads atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for time.Since(began) < 2*time.Second {
				_, err := e.Get(context.Background(), "acme", id)
				if err != nil {
					t.Error(err)
				}
				reads.Add(1)
			}
		})
	}
	all.Wait()
	t.Logf("%d reads, %d describes", reads.Load(), f.describes.Load())
	require.Less(t, f.describes.Load(), int64(30))
	require.EqualValues(t, 2, f.histories.Load(), "the history, and the long poll for more")
}

// A thousand listeners of a task share one read for each change.
func TestViews_listenersShareReads(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	e := engines[0]
	id := f.run("acme")
	const listeners, changes = 1000, 20
	var sent atomic.Int64
	var all, joined sync.WaitGroup
	joined.Add(listeners)
	start := time.Now()
	for range listeners {
		all.Go(func() {
			feed, err := e.Events(context.Background(), "acme", id, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer feed.Close()
			var last int64
			for {
				news, err := feed.Next(context.Background())
				if err != nil {
					if last != 2+changes+1 {
						t.Errorf("the last revision was %d: %v", last, err)
					}
					return
				}
				if last == 0 {
					joined.Done()
				}
				if news.Task.Revision <= last {
					t.Errorf("revision %d after %d", news.Task.Revision, last)
				}
				last = news.Task.Revision
				sent.Add(1)
			}
		})
	}
	joined.Wait()
	require.LessOrEqual(t, f.describes.Load(), int64(10)+2*int64(time.Since(start).Seconds()), "all listeners joined at once, as after a restart")
	before, began := f.describes.Load(), time.Now()
	for range changes {
		f.move(id, nil)
		time.Sleep(30 * time.Millisecond)
	}
	f.finish(id)
	all.Wait()
	reads := f.describes.Load() - before
	t.Logf("%d states sent, %d reads for %d changes", sent.Load(), reads, changes+1)
	require.LessOrEqual(t, reads, int64(2*(changes+1)+5)+2*int64(time.Since(began).Seconds()))
}

// A change through an engine is visible in its next read, also while the task is cached.
func TestViews_ownWritesAreSeen(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	e := engines[0]
	for range 50 {
		id := f.run("acme")
		for range 3 {
			_, err := e.Get(t.Context(), "acme", id)
			require.NoError(t, err)
		}
		cancelled, err := e.Cancel(t.Context(), "acme", id)
		require.NoError(t, err)
		require.Equal(t, task.Cancelling, cancelled.Status)
		got, err := e.Get(t.Context(), "acme", id)
		require.NoError(t, err)
		require.Equal(t, task.Cancelling, got.Status)
	}
}

// Changes by the workflow or another API are visible once they are in the history, and only to the tenant of the task.
func TestViews_followTheHistory(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 2)
	id := f.run("acme")
	for range 3 {
		for _, e := range engines {
			_, err := e.Get(t.Context(), "acme", id)
			require.NoError(t, err)
			_, err = e.Get(t.Context(), "other", id)
			require.Equal(t, task.NotFound, task.AsError(err).Code)
		}
	}
	f.move(id, nil)
	for _, e := range engines {
		require.Eventually(t, func() bool {
			got, err := e.Get(t.Context(), "acme", id)
			return err == nil && got.Revision == 3
		}, 10*time.Second, time.Millisecond)
	}
	f.finish(id)
	require.Eventually(t, func() bool {
		got, err := engines[0].Get(t.Context(), "acme", id)
		return err == nil && got.Done
	}, 10*time.Second, time.Millisecond)
	before := f.describes.Load()
	for range 100 {
		_, err := engines[0].Get(t.Context(), "acme", id)
		require.NoError(t, err)
	}
	require.Equal(t, before, f.describes.Load(), "ended tasks are cached")
	_, err := engines[0].Get(t.Context(), "other", id)
	require.Equal(t, task.NotFound, task.AsError(err).Code)
}

// While Temporal is unavailable, listeners wait.
func TestViews_temporalUnavailable(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	e := engines[0]
	id := f.run("acme")
	feed, err := e.Events(t.Context(), "acme", id, 0)
	require.NoError(t, err)
	defer feed.Close()
	_, err = feed.Next(t.Context())
	require.NoError(t, err)
	f.down.Store(true)
	f.move(id, nil)
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = feed.Next(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	f.down.Store(false)
	news, err := feed.Next(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, news.Task.Revision)
}

// A feed resumes after the revision of an earlier feed, on any API; a revision that the task has not reached counts as none.
func TestFeed_resumes(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 2)
	id := f.run("acme")
	for range 5 {
		f.move(id, nil)
	}
	for i, test := range []struct{ after, first int64 }{{0, 7}, {3, 7}, {7, 0}, {999, 7}} {
		feed, err := engines[i%2].Events(t.Context(), "acme", id, test.after)
		require.NoError(t, err)
		if test.first == 0 {
			short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			_, err := feed.Next(short)
			require.ErrorIs(t, err, context.DeadlineExceeded, "the listener has this revision")
			cancel()
		} else {
			news, err := feed.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, test.first, news.Task.Revision)
		}
		feed.Close()
	}
	f.finish(id)
	feed, err := engines[1].Events(t.Context(), "acme", id, 8)
	require.NoError(t, err)
	defer feed.Close()
	_, err = feed.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
}

// A live text is sent as it grows, whole to late listeners, and from its beginning when its call is repeated.
func TestFeed_text(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	id := f.run("acme")
	f.move(id, func(w *fakeWorkflow) { w.facts.CreatedAt = time.Now().Add(-time.Minute) })
	write := func(calls int, live record.LiveText) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tasks[id].beat = &record.Heartbeat{Call: record.CallState{Calls: calls}, Live: &live}
	}
	next := func(feed task.Feed) *task.Text {
		for {
			news, err := feed.Next(t.Context())
			require.NoError(t, err)
			if news.Text != nil {
				return news.Text
			}
		}
	}
	feed, err := engines[0].Events(t.Context(), "acme", id, 0)
	require.NoError(t, err)
	defer feed.Close()
	write(1, record.LiveText{Text: "The lamp", Length: 8})
	require.Equal(t, &task.Text{Text: "The lamp"}, next(feed))
	write(1, record.LiveText{Text: "The lamp is lit", Length: 15})
	require.Equal(t, &task.Text{Offset: 8, Text: " is lit"}, next(feed))
	late, err := engines[0].Events(t.Context(), "acme", id, 0)
	require.NoError(t, err)
	defer late.Close()
	require.Equal(t, &task.Text{Text: "The lamp is lit"}, next(late))
	write(2, record.LiveText{Text: "A lamp", Length: 6})
	require.Equal(t, &task.Text{Text: "A lamp", Restart: true}, next(feed))
	require.NoError(t, engines[0].Bucket.Put(t.Context(), storage.LiveKey(id, "x"), "text/plain", []byte("A lamp, from the bucket")))
	write(2, record.LiveText{Key: storage.LiveKey(id, "x"), Length: 23})
	require.Equal(t, &task.Text{Offset: 6, Text: ", from the bucket"}, next(feed))
}

// All listeners of a tenant share one list request a second.
func TestTenantFeed(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	first, foreign, began := f.run("acme"), f.run("other"), time.Now()
	var feeds []task.Feed
	for range 50 {
		feed, err := engines[0].AllEvents(t.Context(), "acme", time.Time{})
		require.NoError(t, err)
		feeds = append(feeds, feed)
	}
	next := func(feed task.Feed) task.Task {
		news, err := feed.Next(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, foreign, news.Task.ID)
		return *news.Task
	}
	require.Equal(t, first, next(feeds[0]).ID)
	second := f.run("acme")
	require.Equal(t, second, next(feeds[0]).ID)
	f.finish(first)
	require.True(t, next(feeds[0]).Done)
	counts := map[string]int{}
	counts[next(feeds[1]).ID]++
	counts[next(feeds[1]).ID]++
	require.Equal(t, map[string]int{first: 1, second: 1}, counts, "a slow listener gets the last state of each task once")
	require.Less(t, f.lists.Load(), int64(8)+int64(time.Since(began).Seconds()))
	for _, feed := range feeds {
		feed.Close()
	}
	require.Empty(t, engines[0].polls.active)
}

// A task that ended after the clock was set back is listed behind tasks that ended before it, on a later page; its end is sent nevertheless.
func TestTenantFeed_clockSetBack(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	var ids []string
	for range tenantPageSize + 1 {
		ids = append(ids, f.run("acme"))
	}
	slices.Sort(ids) // the order in which the fake lists them
	feed, err := engines[0].AllEvents(t.Context(), "acme", time.Time{})
	require.NoError(t, err)
	defer feed.Close()
	received := map[bool]map[string]bool{true: {}, false: {}} // by whether the task has ended
	receive := func(done bool, n int) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for len(received[done]) < n {
			news, err := feed.Next(ctx)
			require.NoError(t, err)
			received[news.Task.Done][news.Task.ID] = true
		}
	}
	receive(false, tenantPageSize+1)
	for _, id := range ids[:tenantPageSize] {
		f.finish(id)
	}
	receive(true, tenantPageSize)
	lists := f.lists.Load() + 1 // a poll that has begun may still read the next page
	require.Eventually(t, func() bool { return f.lists.Load() > lists }, 10*time.Second, time.Millisecond)
	f.finish(ids[tenantPageSize])
	receive(true, tenantPageSize+1)
}

// A running task that is deleted in Temporal is forgotten; polls do not search all pages for it again and again.
func TestTenantFeed_deletedInTemporal(t *testing.T) {
	t.Parallel()
	f, engines := newFake(t, 1)
	deleted, kept := f.run("acme"), f.run("acme")
	feed, err := engines[0].AllEvents(t.Context(), "acme", time.Time{})
	require.NoError(t, err)
	defer feed.Close()
	for range 2 {
		_, err = feed.Next(t.Context())
		require.NoError(t, err)
	}
	f.mu.Lock()
	delete(f.tasks, deleted)
	f.mu.Unlock()
	engines[0].polls.mu.Lock()
	p := engines[0].polls.active["acme"]
	engines[0].polls.mu.Unlock()
	require.Eventually(t, func() bool { return len(p.running()) == 1 }, 30*time.Second, 10*time.Millisecond)
	require.Contains(t, p.running(), kept)
}

// Closed feeds leave no readers, views or goroutines.
func TestViews_releaseListeners(t *testing.T) {
	f, engines := newFake(t, 1)
	e := engines[0]
	id := f.run("acme")
	base := runtime.NumGoroutine()
	for range 1000 {
		feed, err := e.Events(t.Context(), "acme", id, 0)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Millisecond); cancel() }()
		for err == nil {
			_, err = feed.Next(ctx)
		}
		feed.Close()
	}
	e.views.mu.Lock()
	require.Zero(t, e.views.live[id].readers)
	e.views.live[id].lastRead = time.Now().Add(-time.Hour)
	v := e.views.live[id]
	e.views.mu.Unlock()
	e.views.sweep(id, v)
	require.Empty(t, e.views.live)
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= base+10 }, 30*time.Second, 10*time.Millisecond)
}
