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

// How the task list of a tenant is polled while it has listeners.
const (
	tenantPollInterval = time.Second
	tenantPageSize     = 200
	tenantMaxPages     = 10          // of running tasks beyond the first 2,000, changes show once they move up the list
	recentlyEnded      = time.Minute // how long ended tasks are sent to new listeners
)

// AllEvents returns a feed of a tenant's tasks: first the running tasks and those that ended after since, at most a minute ago; then every task
// that is new or changes. Like a list, the feed carries no results. All listeners of a tenant share one list request a second.
func (e *Engine) AllEvents(_ context.Context, tenant string, since time.Time) (task.Feed, error) {
	if err := e.checkPrepared(); err != nil {
		return nil, err
	}
	now := time.Now()
	if oldest := now.Add(-recentlyEnded); since.Before(oldest) || since.After(now) { // this API has sent no mark of the future
		since = oldest
	}
	p := e.joinPoll(tenant)
	return &tenantFeed{poll: p, since: since, release: func() { e.leavePoll(tenant, p) }}, nil
}

// tenantPolls are the polls of all tenants that have listeners.
type tenantPolls struct {
	mu     sync.Mutex
	active map[string]*tenantPoll
}

// tenantPoll polls the task list of a tenant and keeps the last state of each task, for all listeners.
type tenantPoll struct {
	listeners int // guarded by tenantPolls.mu
	stop      context.CancelFunc

	mu      sync.Mutex
	tasks   map[string]polledTask
	polled  bool          // whether a first page has been read
	changes int64         // number of changes so far
	changed chan struct{} // closed and replaced at every change
}

// polledTask is the last state of a task.
type polledTask struct {
	task   task.Task
	change int64     // number of the change that brought this state
	seenAt time.Time // when that was
}

// joinPoll counts a listener and starts the poll of its tenant for the first one.
func (e *Engine) joinPoll(tenant string) *tenantPoll {
	e.polls.mu.Lock()
	defer e.polls.mu.Unlock()
	p, ok := e.polls.active[tenant]
	if !ok {
		ctx, stop := context.WithCancel(context.Background())
		p = &tenantPoll{stop: stop, tasks: map[string]polledTask{}, changed: make(chan struct{})}
		e.polls.active[tenant] = p
		go e.pollTenant(ctx, tenant, p)
	}
	p.listeners++
	return p
}

// leavePoll removes a listener and stops the poll after the last one.
func (e *Engine) leavePoll(tenant string, p *tenantPoll) {
	e.polls.mu.Lock()
	defer e.polls.mu.Unlock()
	if p.listeners--; p.listeners == 0 {
		p.stop()
		delete(e.polls.active, tenant)
	}
}

// pollTenant polls until ctx ends. Requests take at most a tenth of the time.
func (e *Engine) pollTenant(ctx context.Context, tenant string, p *tenantPoll) {
	for ctx.Err() == nil {
		began := time.Now()
		e.pollOnce(ctx, tenant, p)
		sleep(ctx, max(tenantPollInterval, 10*time.Since(began))-time.Since(began))
	}
}

// pollOnce reads pages of the list, running tasks first, until a page has nothing new and every task that ran before is found. A task that
// ended while the clock was set back lies behind tasks that ended before it; a task that is on no page was deleted in Temporal.
func (e *Engine) pollOnce(ctx context.Context, tenant string, p *tenantPoll) {
	var token []byte
	missing := p.running()
	for range tenantMaxPages {
		limited, cancel := context.WithTimeout(ctx, temporalTimeout)
		answer, err := e.Client.ListWorkflow(limited, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: e.Namespace, PageSize: tenantPageSize, NextPageToken: token, Query: query(tenant, task.Filter{}),
		})
		cancel()
		if err != nil {
			return // the next poll catches up
		}
		var page []task.Task
		for _, execution := range answer.GetExecutions() {
			if t, ok := e.taskOfExecution(execution); ok {
				page = append(page, t)
				delete(missing, t.ID)
			}
		}
		more := p.update(page, time.Now())
		if token = answer.GetNextPageToken(); len(token) == 0 || !more && len(missing) == 0 {
			break
		}
	}
	p.remove(missing)
}

// running returns the ids of the tasks that had not ended at the last poll.
func (p *tenantPoll) running() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := map[string]bool{}
	for id, known := range p.tasks {
		if !known.task.Done {
			ids[id] = true
		}
	}
	return ids
}

func (p *tenantPoll) remove(ids map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.tasks, func(id string, _ polledTask) bool { return ids[id] })
}

// taskOfExecution builds a task from a list entry. It reports false for workflows that are no tasks.
func (e *Engine) taskOfExecution(execution *workflowpb.WorkflowExecutionInfo) (task.Task, bool) {
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
		t.Progress.ETA = e.durations.eta(t)
	}
	return t, true
}

// update stores a page of the list and wakes listeners if anything is new. It reports whether the next page may have news too: not
// after an ended task that is stored as such or that ended more than recentlyEnded ago.
func (p *tenantPoll) update(page []task.Task, now time.Time) (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	more = true
	news := !p.polled
	p.polled = true
	for _, t := range page {
		known, ok := p.tasks[t.ID]
		switch {
		case t.Done && !ok && now.Sub(*t.FinishedAt) > recentlyEnded, t.Done && ok && known.task.Done:
			more = false
		case !ok || t.Revision > known.task.Revision:
			p.changes++
			p.tasks[t.ID] = polledTask{t, p.changes, now}
			news = true
		}
	}
	maps.DeleteFunc(p.tasks, func(_ string, known polledTask) bool {
		return known.task.Done && now.Sub(*known.task.FinishedAt) > 2*recentlyEnded
	})
	if news {
		close(p.changed)
		p.changed = make(chan struct{})
	}
	return more
}

// tenantFeed follows the tasks of a tenant for one listener. A slow listener gets the last state of each task once, so
// ready never holds more than one state of a task.
type tenantFeed struct {
	poll    *tenantPoll
	since   time.Time
	release func()
	after   int64 // number of the last change that was collected
	ready   []polledTask
}

// Close ends the feed; Next must not be called afterwards.
func (f *tenantFeed) Close() { f.release() }

// Next waits for a task that is new or has changed.
func (f *tenantFeed) Next(ctx context.Context) (task.News, error) {
	for len(f.ready) == 0 {
		changed := f.collect()
		if len(f.ready) > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return task.News{}, ctx.Err()
		case <-changed:
		}
	}
	next := f.ready[0]
	f.ready = f.ready[1:]
	return task.News{Task: &next.task, Mark: next.seenAt.UnixMilli()}, nil
}

// collect appends to ready the tasks that changed since the last call, in the order of their changes.
func (f *tenantFeed) collect() (changed <-chan struct{}) {
	f.poll.mu.Lock()
	defer f.poll.mu.Unlock()
	first := f.after == 0
	for _, known := range f.poll.tasks {
		old := first && known.task.Done && known.task.FinishedAt.Before(f.since)
		if known.change > f.after && !old {
			f.ready = append(f.ready, known)
		}
	}
	f.after = f.poll.changes
	slices.SortFunc(f.ready, func(a, b polledTask) int { return cmp.Compare(a.change, b.change) })
	return f.poll.changed
}
