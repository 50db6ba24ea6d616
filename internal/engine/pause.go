package engine

import (
	"context"
	"time"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Pause pauses a task and its child tasks: no paid call begins, and running calls are finished. Pausing a paused task changes nothing; a task that has not
// begun or is ending is task.Conflict.
func (e *Engine) Pause(ctx context.Context, tenant, id, reason string) (task.Task, error) {
	return e.signalPause(ctx, tenant, id, record.Pause{On: true, Reason: reason})
}

// Resume continues a paused task. Resuming a task that is not paused changes nothing.
func (e *Engine) Resume(ctx context.Context, tenant, id string) (task.Task, error) {
	return e.signalPause(ctx, tenant, id, record.Pause{})
}

// pauseWait is how long a pause waits for the workflow to publish its new state. Without a worker the state changes later.
const pauseWait = time.Second

// signalPause sends a pause or a resume and returns the task, if possible after it took effect.
func (e *Engine) signalPause(ctx context.Context, tenant, id string, pause record.Pause) (task.Task, error) {
	t, err := e.Standing(ctx, tenant, id)
	switch {
	case err != nil:
		return t, err
	case t.Done, t.Status == task.Cancelling:
		return t, task.Errorf(task.Conflict, "the task is %s and cannot be paused or resumed", t.Status)
	case t.Status == task.Scheduled:
		return t, task.Errorf(task.Conflict, "the task has not begun and cannot be paused; it starts at %s. Cancel it, or pause it after its start", t.ScheduledAt.UTC().Format(time.RFC3339))
	}
	// The signal is sent even if the task is in that state already: without a worker an earlier signal may still be pending, and
	// the last one counts.
	if err := e.signal(ctx, id, record.SignalPause, pause); err != nil {
		return t, err
	}
	if pause.On == (t.Status == task.Paused) {
		return e.Get(ctx, tenant, id)
	}
	limited, stop := context.WithTimeout(ctx, pauseWait)
	defer stop()
	return e.Wait(limited, tenant, id, t.Revision)
}
