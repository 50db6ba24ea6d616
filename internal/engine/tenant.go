package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// How the tasks of a tenant are followed: by its list, which is asked for as long as somebody listens.
const (
	crowdEvery = time.Second
	crowdPage  = 200
	crowdPages = 10          // so that what runs beyond 2,000 tasks is told of when it comes into the list's beginning
	crowdFor   = time.Minute // how long an ended task is told of to those who come
)

// AllEvents gives the tasks of a tenant as they come and change: first those that run and those that ended since a time, or
// within the last minute, then all that is new. They carry no result, as in a list. Any number of listeners cost one list a second.
func (e *Engine) AllEvents(_ context.Context, tenant string, since time.Time) (task.Feed, error) {
	if err := e.prepared(); err != nil {
		return nil, err
	}
	now := time.Now()
	if recent := now.Add(-crowdFor); since.Before(recent) || since.After(now) { // what is still to come is no time of ours
		since = recent
	}
	c := e.join(tenant)
	return &crowdFeed{crowd: c, since: since, letGo: func() { e.leave(tenant, c) }}, nil
}

// tenants are the tenants that somebody listens to.
type tenants struct {
	mu   sync.Mutex
	live map[string]*crowd
}

// crowd is all that is known of a tenant's tasks.
type crowd struct {
	listeners int // guarded by tenants.mu
	stop      context.CancelFunc

	mu      sync.Mutex
	tasks   map[string]member
	looked  bool
	count   int64 // of all that was seen to change
	changed chan struct{}
}

// member is a task of a crowd, and its number among all changes.
type member struct {
	task task.Task
	n    int64
	at   time.Time // when it was seen
}

func (e *Engine) join(tenant string) *crowd {
	e.tenants.mu.Lock()
	defer e.tenants.mu.Unlock()
	c, ok := e.tenants.live[tenant]
	if !ok {
		ctx, stop := context.WithCancel(context.Background())
		c = &crowd{stop: stop, tasks: map[string]member{}, changed: make(chan struct{})}
		e.tenants.live[tenant] = c
		go e.followAll(ctx, tenant, c)
	}
	c.listeners++
	return c
}

func (e *Engine) leave(tenant string, c *crowd) {
	e.tenants.mu.Lock()
	defer e.tenants.mu.Unlock()
	if c.listeners--; c.listeners == 0 {
		c.stop()
		delete(e.tenants.live, tenant)
	}
}

// followAll asks for the list again and again. It is busy with it for a tenth of the time at the most.
func (e *Engine) followAll(ctx context.Context, tenant string, c *crowd) {
	for ctx.Err() == nil {
		began := time.Now()
		e.listInto(ctx, tenant, c)
		pause(ctx, max(crowdEvery, 10*time.Since(began))-time.Since(began))
	}
}

// listInto reads the list as far as there may be something new: what runs comes first, then what ended last. A task that ran and was not met
// yet has ended, and is looked for further on: by a clock that was put back it ended before others that were told of. One that is nowhere
// was deleted in Temporal.
func (e *Engine) listInto(ctx context.Context, tenant string, c *crowd) {
	var token []byte
	ran := c.running()
	for range crowdPages {
		limited, cancel := context.WithTimeout(ctx, patienceWithTemporal)
		answer, err := e.Client.ListWorkflow(limited, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: e.Namespace, PageSize: crowdPage, NextPageToken: token, Query: query(tenant, task.Filter{}),
		})
		cancel()
		if err != nil {
			return // the next time will tell
		}
		var page []task.Task
		for _, execution := range answer.GetExecutions() {
			if t, ok := e.inList(execution); ok {
				page = append(page, t)
				delete(ran, t.ID)
			}
		}
		more := c.take(page, time.Now())
		if token = answer.GetNextPageToken(); len(token) == 0 || !more && len(ran) == 0 {
			break
		}
	}
	c.forget(ran)
}

// running are the tasks that ran when they were seen last.
func (c *crowd) running() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ran := map[string]bool{}
	for id, m := range c.tasks {
		if !m.task.Done {
			ran[id] = true
		}
	}
	return ran
}

func (c *crowd) forget(gone map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.tasks, func(id string, _ member) bool { return gone[id] })
}

// inList makes the task of a list entry, as the list has it.
func (e *Engine) inList(execution *workflowpb.WorkflowExecutionInfo) (task.Task, bool) {
	var f record.Facts
	var s record.Snapshot
	fields, decode := execution.GetMemo().GetFields(), converter.GetDefaultDataConverter()
	if decode.FromPayload(fields[record.MemoFacts], &f) != nil || decode.FromPayload(fields[record.MemoState], &s) != nil {
		return task.Task{}, false
	}
	st := status{temporal: execution.GetStatus(), executionTime: execution.GetExecutionTime().AsTime()}
	if st.temporal != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		st.closeTime = execution.GetCloseTime().AsTime()
	}
	t := e.build(f, s, st)
	if !t.Done {
		t.Progress.ETA = e.paces.eta(t)
	}
	return t, true
}

// take notes a page of the list and tells of what is new. It reports whether the next page may have more: not after an
// ended task that was known, or that ended before anybody would be told.
func (c *crowd) take(page []task.Task, now time.Time) (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	more = true
	fresh := !c.looked
	c.looked = true
	for _, t := range page {
		known, ok := c.tasks[t.ID]
		switch {
		case t.Done && !ok && now.Sub(*t.FinishedAt) > crowdFor, t.Done && ok && known.task.Done:
			more = false
		case !ok || t.Revision > known.task.Revision:
			c.count++
			c.tasks[t.ID] = member{t, c.count, now}
			fresh = true
		}
	}
	for id, m := range c.tasks {
		if m.task.Done && now.Sub(*m.task.FinishedAt) > 2*crowdFor {
			delete(c.tasks, id)
		}
	}
	if fresh {
		close(c.changed)
		c.changed = make(chan struct{})
	}
	return more
}

// crowdFeed follows a crowd for one listener. What it has not told yet is never more than the tasks that there are.
type crowdFeed struct {
	crowd *crowd
	since time.Time
	letGo func()
	after int64
	ready []member
}

// Close lets go of the crowd.
func (f *crowdFeed) Close() { f.letGo() }

// Next waits for a task that is new or has changed.
func (f *crowdFeed) Next(ctx context.Context) (task.News, error) {
	for len(f.ready) == 0 {
		changed := f.gather()
		if len(f.ready) > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return task.News{}, ctx.Err()
		case <-changed:
		}
	}
	m := f.ready[0]
	f.ready = f.ready[1:]
	return task.News{Task: &m.task, Mark: m.at.UnixMilli()}, nil
}

// gather collects what has changed since the last time, in order.
func (f *crowdFeed) gather() (changed <-chan struct{}) {
	f.crowd.mu.Lock()
	defer f.crowd.mu.Unlock()
	first := f.after == 0
	for _, m := range f.crowd.tasks {
		old := first && m.task.Done && m.task.FinishedAt.Before(f.since)
		if m.n > f.after && !old {
			f.ready = append(f.ready, m)
		}
	}
	f.after = f.crowd.count
	slices.SortFunc(f.ready, func(a, b member) int { return cmp.Compare(a.n, b.n) })
	return f.crowd.changed
}
