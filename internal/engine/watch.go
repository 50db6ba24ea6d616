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

// Wait returns when a task's revision is higher than after, when the task has ended, or, with the
// task as it is then, when ctx ends. Any number of waiters cost one watch of the task's history, and one look for each change.
func (e *Engine) Wait(ctx context.Context, tenant, id string, after int64) (task.Task, error) {
	read := context.WithoutCancel(ctx)
	if _, err := e.seeOf(read, tenant, id); err != nil {
		return task.Task{}, err // nothing is watched for who may not see it
	}
	defer e.hold(id)()
	for {
		changed := e.views.next(id)
		// What happened before this look is seen by it, what happens after it is told.
		s, err := e.see(read, id)
		if err != nil || s.task.Done || s.task.Revision > after || ctx.Err() != nil {
			return s.task, err
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-untilDue(s.task):
		}
	}
}

// untilDue fires when a change is due that no history tells of: the arrival of a start time.
func untilDue(t task.Task) <-chan time.Time {
	if t.Status != task.Scheduled || t.ScheduledAt == nil {
		return nil
	}
	return time.After(time.Until(*t.ScheduledAt) + 10*time.Millisecond)
}

// hold has a task watched until it is let go.
func (e *Engine) hold(id string) (letGo func()) {
	e.views.mu.Lock()
	defer e.views.mu.Unlock()
	v := e.views.get(id)
	v.readers++
	e.begin(id, v)
	return func() {
		e.views.mu.Lock()
		defer e.views.mu.Unlock()
		v.readers--
		v.read = time.Now()
	}
}

// noteRead has a task watched that is read again and again.
func (e *Engine) noteRead(id string) {
	e.views.mu.Lock()
	defer e.views.mu.Unlock()
	v, known := e.views.live[id]
	if !known && len(e.views.live) >= mostVouched {
		return
	}
	if known {
		e.begin(id, v)
	} else {
		v = e.views.get(id)
	}
	v.read = time.Now()
}

// get gives the view of a task, a new one if there is none. It must be called with the lock held.
func (vs *views) get(id string) *view {
	v, ok := vs.live[id]
	if !ok {
		v = &view{changed: make(chan struct{}), read: time.Now(), stop: func() {}}
		vs.live[id] = v
		time.AfterFunc(keepFor, func() { vs.sweep(id, v) })
	}
	return v
}

// sweep drops a view that nobody has read for a while.
func (vs *views) sweep(id string, v *view) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if v.readers > 0 || time.Since(v.read) < keepFor {
		time.AfterFunc(keepFor, func() { vs.sweep(id, v) })
		return
	}
	v.stop()
	delete(vs.live, id)
}

// next gives a channel that closes at the next change of a task that is held.
func (vs *views) next(id string) <-chan struct{} {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.get(id).changed
}

// begin has a view's task watched, if it is not. It must be called with the lock held.
func (e *Engine) begin(id string, v *view) {
	if v.watched {
		return
	}
	v.watched = true
	ctx, stop := context.WithCancel(context.Background())
	v.stop = stop
	go e.follow(ctx, id)
}

// follow long-polls a task's history until it has ended or ctx ends, over all its runs. Every page that brings something is
// told; so is every trouble, after a moment, since readers then look for themselves.
func (e *Engine) follow(ctx context.Context, id string) {
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
			if pause(ctx, time.Second) {
				e.views.happened(id, time.Time{})
			}
		case token == nil: // this run is over; a look tells whether another goes on
			if !pause(ctx, 50*time.Millisecond) {
				return
			}
			e.views.happened(id, time.Time{})
			if s, err := e.see(ctx, id); err == nil && s.task.Done {
				return
			}
		case first || shows(page.GetHistory().GetEvents()) || len(page.GetRawHistory()) > 0:
			e.views.happened(id, time.Now())
		default:
			e.views.quiet(id)
		}
	}
}

// shows reports whether events may have changed what readers see. What a workflow does by the way does not: it writes its
// memo when there is something to tell.
func shows(events []*historypb.HistoryEvent) bool {
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

// pause lets some time go by, unless ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
