package lifecycle

import (
	"go.temporal.io/sdk/workflow"

	"longhaul/activities/call"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// PauseGate stops paid work while the task is paused.
type PauseGate struct {
	Closed   bool
	children map[string]workflow.ChildWorkflowFuture // running child workflows, which a pause is forwarded to
}

type pauseGateKey struct{}

var pauser *call.Pauser // names activities; never called

// NewPauseGate makes a gate, and a context whose paid work passes it. Closed is its state in the run before. Changed
// is called when a pause or a resume arrives.
func NewPauseGate(ctx workflow.Context, closed bool, changed func(workflow.Context, record.Pause)) (*PauseGate, workflow.Context) {
	g := &PauseGate{Closed: closed, children: map[string]workflow.ChildWorkflowFuture{}}
	Listen(ctx, record.SignalPause, func(pause record.Pause) {
		if pause.On == g.Closed {
			return
		}
		g.Closed = pause.On
		changed(ctx, pause)
		for _, id := range workflow.DeterministicKeys(g.children) {
			forwardPause(ctx, id, g.children[id], pause)
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) { g.pauseScheduled(ctx, closed) })
	return g, workflow.WithValue(ctx, pauseGateKey{}, g)
}

// pauseScheduled pauses the calls that were scheduled before the gate closed, and resumes them when it opens, one
// change after the other.
func (g *PauseGate) pauseScheduled(ctx workflow.Context, paused bool) {
	for workflow.Await(ctx, func() bool { return g.Closed != paused }) == nil {
		paused = g.Closed
		summary := "resume scheduled calls"
		if paused {
			summary = "pause scheduled calls"
		}
		if err := workflow.ExecuteActivity(DocumentWork(ctx, "", summary), pauser.PauseCalls, paused).Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Error("scheduled calls not paused or resumed", "pause", paused, "error", err)
		}
	}
}

// WaitUnpaused waits until the task is not paused. A context without a gate, as results are stored with, does not wait.
func WaitUnpaused(ctx workflow.Context) error {
	g, ok := ctx.Value(pauseGateKey{}).(*PauseGate)
	if !ok {
		return nil
	}
	return workflow.Await(ctx, func() bool { return !g.Closed })
}

// forwardPause sends a pause to a child workflow as soon as it has started: it cannot receive one before. An ended
// child is not told.
func forwardPause(ctx workflow.Context, id string, child workflow.ChildWorkflowFuture, pause record.Pause) {
	started := child.GetChildWorkflowExecution()
	send := func(ctx workflow.Context) { workflow.SignalExternalWorkflow(ctx, id, "", record.SignalPause, pause) }
	if started.IsReady() {
		send(ctx)
		return
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		if started.Get(ctx, nil) == nil {
			send(ctx)
		}
	})
}

// RunPaid runs an activity that may cost money or change something outside, but not while the task is paused. Options
// is ctx with the options of the activity.
func RunPaid(ctx, options workflow.Context, activity, req, result any) error {
	if err := WaitUnpaused(ctx); err != nil {
		return err
	}
	return workflow.ExecuteActivity(options, activity, req).Get(ctx, result)
}

// paused publishes a pause, or its end, at once.
func (r *Run) paused(ctx workflow.Context, pause record.Pause) {
	if r.State.State.Terminal() || r.State.State == task.Cancelling {
		return
	}
	r.State.Held, r.State.State = nil, task.Processing
	switch {
	case pause.On:
		r.State.Held, r.State.State = &record.Held{Since: workflow.Now(ctx), Reason: pause.Reason}, task.Paused
	case len(r.State.Requests) > 0:
		r.State.State = task.InputRequired
	}
	if err := r.publish(ctx); err != nil {
		workflow.GetLogger(ctx).Error("pause not published", "error", err)
	}
}
