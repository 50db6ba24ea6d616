package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"longhaul/internal/task"
)

// Lifetimes and limits of the view cache.
const (
	// idleViewTTL is how long a task is watched after its last reader.
	idleViewTTL = 10 * time.Second
	// endedTTL is how long an ended task is cached, maxEnded how many are. They never change, but may be erased in Temporal.
	endedTTL, maxEnded = time.Minute, 512
	// maxPolledViews is how many tasks are watched for readers that only poll. Temporal bears about 1,200 long polls.
	maxPolledViews = 600
	// staleWait is how long a reader waits for a refresh of stale details. maxRefreshes is how many such refreshes run at a
	// time, so that a slow Temporal does not get more requests.
	staleWait, maxRefreshes = 200 * time.Millisecond, 16
	// confirmedFor is how long a snapshot counts as current without news from its watch: Temporal ends a long poll after 20 seconds.
	confirmedFor = 30 * time.Second
)

// taskSnapshot is a task as one read of Temporal found it. Its details, which no history records, are why the task waits,
// which calls are retried and the texts that models are writing.
type taskSnapshot struct {
	task    task.Task
	texts   []liveText
	at      time.Time // when the read began
	version int64     // version of the view when the read began
}

// startDue reports whether the start time of a scheduled task has passed since the read.
func (s taskSnapshot) startDue() bool {
	return s.task.Status == task.Scheduled && s.task.ScheduledAt != nil && !time.Now().Before(*s.task.ScheduledAt)
}

// viewCache caches the tasks that are being read. Concurrent readers of a task share one read of Temporal; while the history
// of the task is watched, it is read again only after a change or when its details are too old.
type viewCache struct {
	mu        sync.Mutex
	live      map[string]*view
	ended     *lru.Cache[string, taskSnapshot]
	reads     singleflight.Group
	refreshes chan struct{} // a semaphore: refreshes of details while the history is unchanged
	writes    int64         // changes that this process made to any task
}

// view is the cache entry of a task that has not ended.
type view struct {
	snapshot    taskSnapshot
	version     int64         // increases with every change of the task
	confirmedAt time.Time     // when the watch last had the whole history; zero while it has not
	changed     chan struct{} // closed and replaced at every change
	readers     int           // readers that wait or listen
	lastRead    time.Time
	watched     bool
	stop        context.CancelFunc
}

func newViewCache() *viewCache {
	ended, _ := lru.New[string, taskSnapshot](maxEnded) // fails only for a size below one
	return &viewCache{live: map[string]*view{}, ended: ended, refreshes: make(chan struct{}, maxRefreshes)}
}

// detailsMaxAge returns how old the details of a task may get: one second while a text is being written, and longer with
// the number of views, which limits refreshes to about 100 a second. The caller holds the lock.
func (c *viewCache) detailsMaxAge(v *view) time.Duration {
	if len(v.snapshot.texts) > 0 {
		return time.Second
	}
	return max(time.Second, time.Duration(len(c.live))*10*time.Millisecond)
}

// freshness is how far a cached snapshot can be used.
type freshness int

const (
	outdated freshness = iota // there is no snapshot, or the task may have changed since
	stale                     // the task is unchanged; its details are older than twice detailsMaxAge
	aging                     // the task is unchanged; its details are older than detailsMaxAge
	fresh                     // task and details can be used
)

// cached is the result of a lookup in the cache.
type cached struct {
	taskSnapshot
	freshness freshness
	version   int64  // version of the view at the lookup
	readKey   string // key under which concurrent readers share a new read; empty if fresh
}

func (c *viewCache) lookup(id string) cached {
	if s, ok := c.ended.Get(id); ok && time.Since(s.at) < endedTTL {
		return cached{taskSnapshot: s, freshness: fresh}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.live[id]
	if v == nil {
		return cached{readKey: fmt.Sprint(id, " ", c.writes)}
	}
	hit := cached{taskSnapshot: v.snapshot, version: v.version, readKey: fmt.Sprint(id, " ", c.writes, " ", v.version)}
	age, limit := time.Since(v.snapshot.at), c.detailsMaxAge(v)
	switch {
	case v.snapshot.at.IsZero() || v.snapshot.version != v.version || time.Since(v.confirmedAt) >= confirmedFor || v.snapshot.startDue():
		hit.freshness = outdated
	case age > 2*limit:
		hit.freshness = stale
	case age > limit:
		hit.freshness = aging
	default:
		hit.freshness, hit.readKey = fresh, ""
	}
	return hit
}

// store caches a snapshot, unless the cached one is newer, and wakes listeners if anything differs.
func (c *viewCache) store(id string, s taskSnapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.task.Done {
		c.ended.Add(id, s)
	}
	v := c.live[id]
	if v == nil || s.version < v.snapshot.version || s.task.Revision < v.snapshot.task.Revision {
		return
	}
	changed := snapshotsDiffer(v.snapshot, s)
	v.snapshot = s
	if changed {
		v.wakeListeners()
	}
}

// wakeListeners wakes everyone who waits for a change. The caller holds the lock of the cache.
func (v *view) wakeListeners() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// markChanged makes the cached snapshot of a task outdated. A zero confirmedAt means that the watch may have missed events.
func (c *viewCache) markChanged(id string, confirmedAt time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.live[id]; v != nil {
		v.version++
		v.confirmedAt = confirmedAt
		v.wakeListeners()
	}
}

// confirmUnchanged records that the watch has the whole history and found no change.
func (c *viewCache) confirmUnchanged(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.live[id]; v != nil && !v.confirmedAt.IsZero() {
		v.confirmedAt = time.Now()
	}
}

// invalidate makes the cached snapshots of a task outdated that this process changed. Reads that began before the change are not shared with
// later readers.
func (c *viewCache) invalidate(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	c.ended.Remove(id)
	if v := c.live[id]; v != nil {
		v.version++
		v.wakeListeners()
	}
}

// snapshot returns a task of any tenant: from the cache while that is fresh, or else by a read that concurrent callers share.
// Aging details are returned at once and refreshed in the background; for stale ones the caller waits up to staleWait.
func (e *Engine) snapshot(ctx context.Context, id string) (taskSnapshot, error) {
	hit := e.views.lookup(id)
	if hit.freshness == fresh {
		return hit.taskSnapshot, nil
	}
	read := e.views.reads.DoChan(hit.readKey, func() (any, error) { return e.refresh(context.WithoutCancel(ctx), id, hit) })
	var waited <-chan time.Time
	switch hit.freshness {
	case aging:
		return hit.taskSnapshot, nil
	case stale:
		waited = time.After(staleWait)
	default: // outdated: there is nothing to return instead
	}
	select {
	case <-ctx.Done():
		return taskSnapshot{}, ctx.Err()
	case <-waited:
		return hit.taskSnapshot, nil
	case result := <-read:
		s, _ := result.Val.(taskSnapshot)
		return s, result.Err
	}
}

// refresh reads a task and caches it. If only the details are old and maxRefreshes reads run already, it returns the cached snapshot.
func (e *Engine) refresh(ctx context.Context, id string, hit cached) (taskSnapshot, error) {
	if hit.freshness != outdated {
		select {
		case e.views.refreshes <- struct{}{}:
			defer func() { <-e.views.refreshes }()
		default:
			return hit.taskSnapshot, nil
		}
	}
	s, err := e.readSnapshot(ctx, id)
	if err != nil {
		return s, err
	}
	s.version = hit.version
	e.views.store(id, s)
	return s, nil
}

// readSnapshot reads a task of any tenant from Temporal, past the cache.
func (e *Engine) readSnapshot(ctx context.Context, id string) (taskSnapshot, error) {
	s := taskSnapshot{at: time.Now()}
	d, err := e.describe(ctx, id)
	if err != nil {
		return s, err
	}
	s.task, s.texts, err = e.fullTask(ctx, d)
	return s, err
}

// tenantSnapshot is snapshot for a task of one tenant. The tasks of others are task.NotFound.
func (e *Engine) tenantSnapshot(ctx context.Context, tenant, id string) (taskSnapshot, error) {
	s, err := e.snapshot(ctx, id)
	if err == nil && s.task.Tenant != tenant {
		return taskSnapshot{}, taskNotFound(id)
	}
	return s, err
}
