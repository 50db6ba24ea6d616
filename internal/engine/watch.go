package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"longhaul/internal/task"
)

// Wait returns when a task's revision is higher than after, when the task has ended, or, with the
// task as it is then, when ctx ends. Any number of waiters cost one watch of the task's history.
func (e *Engine) Wait(ctx context.Context, tenant, id string, after int64) (task.Task, error) {
	read := context.WithoutCancel(ctx)
	if _, err := e.glance(read, tenant, id); err != nil {
		return task.Task{}, err // nothing is watched for who may not see it
	}
	w := e.watch(id)
	defer e.unwatch(id, w)
	for {
		changed := w.next()
		// What happened before this read is seen by it, what happens after it is told.
		t, err := e.glance(read, tenant, id)
		if err != nil {
			return t, err
		}
		if t.Done || t.Revision > after || ctx.Err() != nil {
			return e.Get(read, tenant, id)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-untilDue(t):
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

// watchers are the watches at work, one for each task that somebody waits for.
type watchers struct {
	mu   sync.Mutex
	live map[string]*watcher
}

// watcher follows one task's history and tells all who wait that something happened.
type watcher struct {
	mu      sync.Mutex
	changed chan struct{}
	waiting int // guarded by watchers.mu
	stop    context.CancelFunc
}

func (e *Engine) watch(id string) *watcher {
	e.watchers.mu.Lock()
	defer e.watchers.mu.Unlock()
	w, ok := e.watchers.live[id]
	if !ok {
		ctx, stop := context.WithCancel(context.Background())
		w = &watcher{changed: make(chan struct{}), stop: stop}
		e.watchers.live[id] = w
		go e.follow(ctx, id, w)
	}
	w.waiting++
	return w
}

func (e *Engine) unwatch(id string, w *watcher) {
	e.watchers.mu.Lock()
	defer e.watchers.mu.Unlock()
	if w.waiting--; w.waiting == 0 {
		w.stop()
		delete(e.watchers.live, id)
	}
}

// next gives a channel that closes at the next change.
func (w *watcher) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

func (w *watcher) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

// follow long-polls a task's history until ctx ends, over all its runs. Every page that brings
// something is told; so is every trouble, after a moment, since waiters then look for themselves.
func (e *Engine) follow(ctx context.Context, id string, w *watcher) {
	var token []byte
	for ctx.Err() == nil {
		answer, err := e.Client.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: e.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: id}, WaitNewEvent: true, NextPageToken: token,
		})
		if errors.Is(err, context.Canceled) || ctx.Err() != nil {
			return
		}
		if err != nil {
			token = nil
			pause(ctx, time.Second)
		} else if token = answer.GetNextPageToken(); token == nil {
			pause(ctx, 50*time.Millisecond) // this run is over; the next read tells whether another goes on
		}
		if err != nil || token == nil || len(answer.GetHistory().GetEvents()) > 0 || len(answer.GetRawHistory()) > 0 {
			w.tell()
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
