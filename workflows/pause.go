package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"longhaul/internal/task"
)

// SignalPause pauses a task, or lets it go on: Pause. The name is for ever.
const SignalPause = "pause"

// Pause is what is said to a task that is to pause or to go on, and to what works for it.
type Pause struct {
	On     bool
	Reason string // why, in the words of who paused it; "" for none
}

// Held says since when a task is paused, and why.
type Held struct {
	Since  time.Time
	Reason string `json:",omitempty"`
}

// gate is what paid work passes through: it is shut while the task is paused.
type gate struct {
	shut  bool
	under map[string]workflow.ChildWorkflowFuture // the workflows that work for this one, which hear of a pause from it
}

type gateKey struct{}

// newGate makes a gate, and a context whose paid work passes through it. Shut says how it stood in the run before.
func newGate(ctx workflow.Context, shut bool, changed func(workflow.Context, Pause)) (*gate, workflow.Context) {
	g := &gate{shut: shut, under: map[string]workflow.ChildWorkflowFuture{}}
	listen(ctx, SignalPause, func(said Pause) {
		if said.On == g.shut {
			return
		}
		g.shut = said.On
		changed(ctx, said)
		for _, id := range workflow.DeterministicKeys(g.under) {
			tell(ctx, id, g.under[id], said)
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) { g.guard(ctx, shut) })
	return g, workflow.WithValue(ctx, gateKey{}, g)
}

// guard holds the calls that were scheduled before the gate was shut, and lets them go when it opens: one order after the other.
func (g *gate) guard(ctx workflow.Context, holds bool) {
	for workflow.Await(ctx, func() bool { return g.shut != holds }) == nil {
		holds = g.shut
		about := "let the calls go on"
		if holds {
			about = "hold the calls that wait"
		}
		if err := workflow.ExecuteActivity(documentWork(ctx, about), call.HoldCalls, holds).Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Error("calls not held or let go", "hold", holds, "error", err)
		}
	}
}

// pass waits until the gate of a context is open.
func pass(ctx workflow.Context) error {
	g, ok := ctx.Value(gateKey{}).(*gate)
	if !ok {
		return nil // closing the books, which nothing holds up
	}
	return workflow.Await(ctx, func() bool { return !g.shut })
}

// tell passes a pause on to a workflow that works for this one, as soon as it has started: before, it cannot hear.
func tell(ctx workflow.Context, id string, child workflow.ChildWorkflowFuture, said Pause) {
	started := child.GetChildWorkflowExecution()
	say := func(ctx workflow.Context) { workflow.SignalExternalWorkflow(ctx, id, "", SignalPause, said) } // one that has ended need not hear it
	if started.IsReady() {
		say(ctx)
		return
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		if started.Get(ctx, nil) == nil {
			say(ctx)
		}
	})
}

// employ has a workflow work for this one, and waits for its end. A pause reaches it.
func employ(ctx workflow.Context, options workflow.ChildWorkflowOptions, kind string, start, result any) error {
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), kind, start)
	if g, ok := ctx.Value(gateKey{}).(*gate); ok {
		g.under[options.WorkflowID] = child
		defer delete(g.under, options.WorkflowID)
	}
	return child.Get(ctx, result)
}

// pay runs an activity that may cost money, or change something outside: not while the task is paused. On is ctx with its options.
func pay(ctx, on workflow.Context, activity, req, result any) error {
	if err := pass(ctx); err != nil {
		return err
	}
	return workflow.ExecuteActivity(on, activity, req).Get(ctx, result)
}

// paused shows a pause, or its end, at once.
func (r *Run) paused(ctx workflow.Context, said Pause) {
	if r.state.State.Terminal() || r.state.State == task.Cancelling {
		return
	}
	r.state.Held, r.state.State = nil, task.Processing
	switch {
	case said.On:
		r.state.Held, r.state.State = &Held{Since: workflow.Now(ctx), Reason: said.Reason}, task.Paused
	case len(r.state.Requests) > 0:
		r.state.State = task.InputRequired
	}
	if err := r.publish(ctx); err != nil {
		workflow.GetLogger(ctx).Error("pause not published", "error", err)
	}
}
