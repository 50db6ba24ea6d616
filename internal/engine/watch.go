package engine

import (
	"context"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"longhaul/internal/task"
)

// Wait returns a task once its revision is higher than after, once it has ended, or, as it then is, when ctx ends. All waiters of a
// task share one watch of its history and one read for each change.
func (e *Engine) Wait(ctx context.Context, tenant, id string, after int64) (task.Task, error) {
	read := context.WithoutCancel(ctx)
	if _, err := e.tenantSnapshot(read, tenant, id); err != nil {
		return task.Task{}, err // before retain: the tasks of other tenants are not watched
	}
	defer e.retain(id)()
	for {
		changed := e.views.changeSignal(id)
		// The signal is taken before the read, so a change during the read is not missed.
		s, err := e.snapshot(read, id)
		if err != nil || s.task.Done || s.task.Revision > after || ctx.Err() != nil {
			return s.task, err
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-untilStart(s.task):
		}
	}
}

// untilStart returns a channel that fires when the start time of a scheduled task arrives, which no history records; nil for
// other tasks.
func untilStart(t task.Task) <-chan time.Time {
	if t.Status != task.Scheduled || t.ScheduledAt == nil {
		return nil
	}
	return time.After(time.Until(*t.ScheduledAt) + 10*time.Millisecond)
}

// retain keeps a task watched until release is called.
func (e *Engine) retain(id string) (release func()) {
	e.views.mu.Lock()
	defer e.views.mu.Unlock()
	v := e.views.getOrCreate(id)
	v.readers++
	e.startWatch(id, v)
	return func() {
		e.views.mu.Lock()
		defer e.views.mu.Unlock()
		v.readers--
		v.lastRead = time.Now()
	}
}

// noteRead records a read. The second read of a task within idleViewTTL starts a watch.
func (e *Engine) noteRead(id string) {
	e.views.mu.Lock()
	defer e.views.mu.Unlock()
	v, found := e.views.live[id]
	if !found && len(e.views.live) >= maxPolledViews {
		return
	}
	if found {
		e.startWatch(id, v)
	} else {
		v = e.views.getOrCreate(id)
	}
	v.lastRead = time.Now()
}

// getOrCreate returns the view of a task. The caller holds the lock.
func (c *viewCache) getOrCreate(id string) *view {
	v, ok := c.live[id]
	if !ok {
		v = &view{changed: make(chan struct{}), lastRead: time.Now(), stop: func() {}}
		c.live[id] = v
		time.AfterFunc(idleViewTTL, func() { c.sweep(id, v) })
	}
	return v
}

// sweep drops a view that has had no reader for idleViewTTL, and otherwise schedules itself again.
func (c *viewCache) sweep(id string, v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.readers > 0 || time.Since(v.lastRead) < idleViewTTL {
		time.AfterFunc(idleViewTTL, func() { c.sweep(id, v) })
		return
	}
	v.stop()
	delete(c.live, id)
}

// changeSignal returns a channel that is closed at the next change of a retained task.
func (c *viewCache) changeSignal(id string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.getOrCreate(id).changed
}

// startWatch starts the watch of a view's task, if there is none. The caller holds the lock.
func (e *Engine) startWatch(id string, v *view) {
	if v.watched {
		return
	}
	v.watched = true
	ctx, stop := context.WithCancel(context.Background())
	v.stop = stop
	go e.watchHistory(ctx, id)
}

// watchHistory long-polls the history of a task, over all its runs, until the task or ctx ends. After an error the view
// counts as outdated, so readers ask Temporal themselves until the watch works again.
func (e *Engine) watchHistory(ctx context.Context, id string) {
	var token []byte
	for ctx.Err() == nil {
		page, err := e.Client.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: e.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: id}, WaitNewEvent: true, NextPageToken: token,
		})
		first := token == nil
		token = page.GetNextPageToken()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			token = nil
			if sleep(ctx, time.Second) {
				e.views.markChanged(id, time.Time{})
			}
		case token == nil: // the run has ended; a read shows whether the task has, too
			if !sleep(ctx, 50*time.Millisecond) {
				return
			}
			e.views.markChanged(id, time.Time{})
			if s, err := e.snapshot(ctx, id); err == nil && s.task.Done {
				return
			}
		case first || changesTask(page.GetHistory().GetEvents()) || len(page.GetRawHistory()) > 0:
			e.views.markChanged(id, time.Now())
		default:
			e.views.confirmUnchanged(id)
		}
	}
}

// changesTask reports whether events may change what readers see. Workflow tasks, activities and timers alone do not: when
// its visible state changes, the workflow updates its memo, which is another type of event.
func changesTask(events []*historypb.HistoryEvent) bool {
	return slices.ContainsFunc(events, func(event *historypb.HistoryEvent) bool {
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
			enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
			enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_TIMER_FIRED, enumspb.EVENT_TYPE_TIMER_CANCELED, enumspb.EVENT_TYPE_MARKER_RECORDED:
			return false
		default:
			return true
		}
	})
}

// sleep waits for d and reports whether it did; false means that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
