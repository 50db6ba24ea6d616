package replay

import (
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "longhaul/activities/replay"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/workflows/lifecycle"
)

// The steps of a bulk replay, as its readers see them.
const (
	stepSelect = "select"
	stepCanary = "canary"
	stepReplay = "replay"
)

var steps = []string{stepSelect, stepCanary, stepReplay, lifecycle.StepStore}

var do *activities.Activities // names activities; never called

// Kind describes the kind.
func Kind() lifecycle.Kind {
	return lifecycle.Kind{
		Name: record.KindReplay, Title: "Run dead letters again",
		Description: "Runs many dead letters again: a few first, and the others when those succeed, at a rate. Each is a task of its own, which goes on when this one is cancelled. A dead letter is run again once, however often that is asked for.",
		Steps:       steps,
		Input:       func() lifecycle.Input { return new(task.ReplayInput) },
		Example:     `{"kind":"replay","input":{"kind":"summary","canary":1}}`,
		Check:       checkReplay,
		Workflow:    Run,
		Activities:  activities.New,
	}
}

// checkReplay refuses an input that selects no dead letters.
func checkReplay(in lifecycle.Input) error {
	r := in.(*task.ReplayInput) //nolint:forcetypeassert // it is the kind's own
	if r.Fingerprint == "" && r.Kind == "" && len(r.IDs) == 0 {
		return task.Errorf(task.Invalid, "give fingerprint, kind or ids: which dead letters are run again").At("/input")
	}
	return nil
}

// replaysAtOnce is how many replays of a bulk run side by side.
const replaysAtOnce = 50

// Carry is the progress that a bulk replay takes into its next run.
type Carry struct {
	Plan      activities.ReplaysPlan `json:"plan,omitzero"`
	Next      int                    `json:"next,omitempty"` // the first that has not been started
	Succeeded int                    `json:"succeeded,omitempty"`
	Failed    int                    `json:"failed,omitempty"`
}

// Run replays dead letters: the canary first, then the others at a rate.
func Run(ctx workflow.Context, start record.Start[Carry]) (record.Ending, error) {
	return lifecycle.Execute(ctx, start, steps, func(run *lifecycle.Run) lifecycle.Work {
		r := &replays{run: run}
		r.window.Room, r.window.After = func() bool { return r.window.Running < replaysAtOnce }, r.show
		if start.Carry != nil {
			r.Carry = *start.Carry
		}
		return r
	})
}

// replays is a bulk replay at work.
type replays struct {
	Carry
	run    *lifecycle.Run
	window lifecycle.Window
	turns  turns
}

func (r *replays) Do(ctx workflow.Context) error {
	if len(r.Plan.IDs) == 0 {
		req := record.PlanRequest{Task: r.run.Facts.Ref(), InputKey: r.run.Facts.InputKey}
		if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, stepSelect, "look for dead letters"), do.PlanReplays, req).Get(ctx, &r.Plan); err != nil {
			return err
		}
	}
	canary := min(r.Plan.Canary, len(r.Plan.IDs))
	if r.Next < canary {
		r.run.Enter(stepCanary)
		r.upTo(ctx, canary)
		if r.Failed > 0 && canary < len(r.Plan.IDs) {
			return task.Errorf(task.CanaryFailed, "of the first %d, %d failed again; the other %d were left as they are", canary, r.Failed, len(r.Plan.IDs)-canary)
		}
	}
	r.run.Enter(stepReplay)
	r.upTo(ctx, len(r.Plan.IDs))
	if r.Next < len(r.Plan.IDs) && ctx.Err() == nil {
		return lifecycle.ContinueAsNew(ctx, r.run, &r.Carry)
	}
	return nil
}

// upTo starts replays up to one, at the rate that was asked for, and waits for their ends. A run whose history grows long starts no more.
func (r *replays) upTo(ctx workflow.Context, end int) {
	r.window.Run(ctx, func(ctx workflow.Context) func(workflow.Context) {
		if r.Next == end || r.turn(ctx) != nil || lifecycle.WaitUnpaused(ctx) != nil {
			return nil
		}
		n := r.Next
		r.Next++
		return func(ctx workflow.Context) {
			r.show(ctx)
			r.one(ctx, n)
		}
	})
}

// every is the time between two replays, at the rate that was asked for.
func (r *replays) every() time.Duration { return time.Minute / time.Duration(r.Plan.PerMinute) }

// turn waits until the next replay may be started.
func (r *replays) turn(ctx workflow.Context) error {
	return workflow.Sleep(ctx, r.turns.next(workflow.Now(ctx), r.every()))
}

// turns are when something may be done that is done so often and not more.
type turns struct {
	due time.Time // when the next is due; zero before the first
}

// timerLag is how late a timer of Temporal's may be: what came due by then is made up for.
const timerLag = 2 * time.Second

// next is how long to wait for the next turn; 0 or less is not at all.
func (t *turns) next(now time.Time, every time.Duration) time.Duration {
	switch late := now.Sub(t.due); {
	case t.due.IsZero():
		t.due = now
	case late > timerLag:
		t.due = now.Add(-timerLag)
	}
	wait := t.due.Sub(now)
	t.due = t.due.Add(every)
	return wait
}

func (r *replays) Finish(ctx workflow.Context, why *task.Error) (finished results.Finished, err error) {
	books := activities.FinishReplaysRequest{Task: r.run.Facts.Ref(), IDs: r.Plan.IDs, Rest: why}
	err = workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, lifecycle.StepStore, "store the result"), do.FinishReplays, books).Get(ctx, &finished)
	return finished, err
}

// one runs a dead letter again, and records what came of it.
func (r *replays) one(ctx workflow.Context, n int) {
	done := activities.ReplayDone{ReplayRequest: activities.ReplayRequest{
		Task: r.run.Facts.Ref(), InputKey: r.run.Facts.InputKey, Index: n, Letter: r.Plan.IDs[n],
	}}
	err := r.again(ctx, &done)
	if ctx.Err() != nil {
		return // it gets its outcome when the books are closed
	}
	if err != nil {
		done.Error = lifecycle.Reason(err)
	}
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, stepReplay, "record a replay"), do.EndReplay, done).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Error("replay not recorded", "task", r.run.Facts.ID, "item", n, "error", err)
	}
	if done.Error == nil {
		r.Succeeded++
	} else {
		r.Failed++
	}
}

// again starts the replay of a dead letter and waits for its end.
func (r *replays) again(ctx workflow.Context, done *activities.ReplayDone) error {
	var ready activities.Ready
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, stepReplay, "prepare a replay"), do.PrepareReplay, done.ReplayRequest).Get(ctx, &ready); err != nil {
		return err
	}
	done.Replay = ready.Facts.ID
	if ready.Skip != "" {
		return task.Errorf(task.Conflict, "%s was not run again: %s", done.Letter, ready.Skip)
	}
	replay, err := r.begin(ctx, ready)
	if err != nil {
		return err
	}
	note := activities.NoteReplayRequest{Task: done.Task, Letter: done.Letter, Replay: ready.Facts.ID, At: workflow.Now(ctx)}
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, stepReplay, "take a dead letter out"), do.NoteReplay, note).Get(ctx, nil); err != nil {
		return err
	}
	if replay == nil {
		return task.Errorf(task.Conflict, "%s is run again already, by %s", done.Letter, ready.Facts.ID)
	}
	if err := workflow.Await(ctx, replay.IsReady); err != nil {
		return err
	}
	var ending record.Ending
	err = replay.Get(ctx, &ending)
	done.Outcome = ending.Outcome
	if err == nil && ending.Outcome != task.Full {
		return task.Errorf(task.AllItemsFailed, "task %s: %d of %d items failed again", ready.Facts.ID, ending.Counts.Failed, ending.Counts.Total)
	}
	return err
}

// begin starts a replay as a task that outlives this one; nil if it was started before, by somebody else.
func (r *replays) begin(ctx workflow.Context, ready activities.Ready) (workflow.ChildWorkflowFuture, error) {
	facts := ready.Facts
	options := lifecycle.TaskOptions(facts, ready.Steps)
	options.ParentClosePolicy = enumspb.PARENT_CLOSE_POLICY_ABANDON
	options.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	free, _ := workflow.NewDisconnectedContext(ctx) // a cancel is not its own
	replay := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(free, options), facts.Kind, record.Start[struct{}]{Facts: facts})
	err := replay.GetChildWorkflowExecution().Get(free, nil)
	if _, there := errors.AsType[*temporal.ChildWorkflowExecutionAlreadyStartedError](err); there {
		return nil, nil //nolint:nilnil // another workflow has the id: this task has no child to follow
	}
	return replay, err
}

// show puts how far the replay is before its readers.
func (r *replays) show(ctx workflow.Context) {
	total := len(r.Plan.IDs)
	r.run.Advance(ctx, float64(r.Succeeded+r.Failed)/float64(total), task.Counts{
		Total: total, Succeeded: r.Succeeded, Failed: r.Failed, Running: r.window.Running, Pending: total - r.Succeeded - r.Failed - r.window.Running,
	})
}
