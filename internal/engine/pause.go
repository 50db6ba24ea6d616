package engine

import (
	"context"
	"time"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Pause holds a task and everything that works for it: no call is made that costs money, and those that run are finished. A task that is paused
// already stays as it is; one that has not begun, or is ending, is task.Conflict.
func (e *Engine) Pause(ctx context.Context, tenant, id, reason string) (task.Task, error) {
	return e.sayPause(ctx, tenant, id, record.Pause{On: true, Reason: reason})
}

// Resume lets a paused task go on. One that is not paused stays as it is.
func (e *Engine) Resume(ctx context.Context, tenant, id string) (task.Task, error) {
	return e.sayPause(ctx, tenant, id, record.Pause{})
}

// heardWithin is how long the answer to a pause waits for the task to have heard of it: without a worker it hears of it later.
const heardWithin = time.Second

func (e *Engine) sayPause(ctx context.Context, tenant, id string, said record.Pause) (task.Task, error) {
	t, err := e.Standing(ctx, tenant, id)
	switch {
	case err != nil:
		return t, err
	case t.Done, t.Status == task.Cancelling:
		return t, task.Errorf(task.Conflict, "the task is %s and cannot be paused or resumed any more", t.Status)
	case t.Status == task.Scheduled:
		return t, task.Errorf(task.Conflict, "the task has not begun: it starts at %s. Cancel it, or pause it then", t.ScheduledAt.UTC().Format(time.RFC3339))
	}
	// Also where it seems to be so already: without a worker, a word before may be still unheard, and the last one counts.
	if err := e.signal(ctx, id, record.SignalPause, said); err != nil {
		return t, err
	}
	if said.On == (t.Status == task.Paused) {
		return e.Get(ctx, tenant, id)
	}
	heard, stop := context.WithTimeout(ctx, heardWithin)
	defer stop()
	return e.Wait(heard, tenant, id, t.Revision)
}
