package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/task"
)

// do names activities with their types; it is never called.
var do *activities.Activities

// plan is the body of a kind: work until all is done or ctx ends, then say how to close the books.
// It must return soon after ctx ends. The error is why the whole task cannot go on; the failure of
// an item is not one.
type plan func(ctx workflow.Context, run *Run) (activities.FinishRequest, error)

// conduct is the life of a task of any kind: it begins, runs its plan until that ends or a cancel
// or the deadline comes, closes the books whichever it was, and ends for good.
func conduct(ctx workflow.Context, start Start, steps []string, body plan) (Ending, error) {
	run, err := begin(ctx, start, steps)
	if err != nil {
		return Ending{}, err
	}
	work, stop := workflow.WithCancel(ctx)
	defer stop()
	run.watchCancel(ctx)
	run.watchDeadline(work, stop)

	books, bodyErr := body(work, run)
	if workflow.IsContinueAsNewError(bodyErr) {
		return Ending{}, bodyErr
	}
	return run.end(ctx, books, bodyErr)
}

// begin opens the task's state to its readers.
func begin(ctx workflow.Context, start Start, steps []string) (*Run, error) {
	run := &Run{Facts: start.Facts, steps: steps}
	if start.Snapshot != nil {
		run.state = *start.Snapshot
	} else {
		// Acceptance was revision 1, and the arrival of a start time one more.
		run.state = Snapshot{Revision: 1, State: task.Processing, StartedAt: workflow.Now(ctx)}
		if start.Facts.StartAt != nil {
			run.state.Revision++
		}
		run.state.Progress.StepCount = len(steps)
		run.enter(steps[0])
	}
	err := workflow.SetQueryHandler(ctx, QueryStatus, func() (Snapshot, error) { return run.state, nil })
	if err != nil {
		return nil, err
	}
	return run, run.publish(ctx)
}

// watchCancel tells readers at once that a cancel was heard.
func (r *Run) watchCancel(ctx workflow.Context) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		if ctx.Err() == nil || r.state.State.Terminal() {
			return
		}
		r.state.State = task.Cancelling
		clean, _ := workflow.NewDisconnectedContext(ctx)
		if err := r.publish(clean); err != nil {
			workflow.GetLogger(ctx).Error("state not published", "error", err)
		}
	})
}

// watchDeadline stops the work when the deadline comes. The task then ends with what it has.
func (r *Run) watchDeadline(ctx workflow.Context, stop workflow.CancelFunc) {
	if r.Facts.Deadline == nil {
		return
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		left := r.Facts.Deadline.Sub(workflow.Now(ctx))
		if err := workflow.NewTimer(ctx, max(left, 0)).Get(ctx, nil); err == nil {
			r.late = true
			stop()
		}
	})
}

// end closes the books and makes the ending. From here on nothing interrupts: the context is no
// longer the one that a cancel reaches.
func (r *Run) end(ctx workflow.Context, books activities.FinishRequest, bodyErr error) (Ending, error) {
	cancelled := ctx.Err() != nil
	clean, _ := workflow.NewDisconnectedContext(ctx)
	why := r.why(cancelled, bodyErr)
	books.Task, books.Rest = r.Facts.task(), why
	r.enter(r.steps[len(r.steps)-1])

	var finished activities.Finished
	if err := workflow.ExecuteActivity(keeping(clean, "store the result"), do.FinishSummary, books).Get(clean, &finished); err != nil {
		finished.Outcome, why = task.None, reason(err)
	}
	if why == nil && finished.Outcome == task.None {
		why = allFailed(finished)
	}
	r.close(finished, why, cancelled)
	if err := r.publish(clean); err != nil {
		return Ending{}, err
	}
	return r.verdict(finished, why, cancelled)
}

// why says what kept the task from its end, nil if nothing did. A cancel that came before the end
// counts even if the work was done by then: the task was already shown as cancelling.
func (r *Run) why(cancelled bool, bodyErr error) *task.Error {
	switch {
	case cancelled:
		return task.Errorf(task.TaskCancelled, "the task was cancelled before this was done")
	case r.late:
		return task.Errorf(task.DeadlineExceeded, "the deadline %s came before this was done", r.Facts.Deadline.UTC().Format(time.RFC3339))
	case bodyErr != nil:
		return reason(bodyErr)
	default:
		return nil
	}
}

func allFailed(f activities.Finished) *task.Error {
	if f.First == nil {
		return task.Errorf(task.AllItemsFailed, "no item succeeded")
	}
	if f.Counts.Total == 1 {
		return f.First
	}
	e := task.Errorf(task.AllItemsFailed, "all %d items failed; the first: %s", f.Counts.Total, f.First.Detail)
	e.Retryable = f.First.Retryable
	return e
}

// close puts the task's state to its final words.
func (r *Run) close(f activities.Finished, why *task.Error, cancelled bool) {
	s := &r.state
	s.Outcome, s.Result, s.Error, s.Simulated = f.Outcome, f.Result, why, f.Simulated || s.Simulated
	s.Usage = f.Usage.Add(r.ownUsage)
	s.Progress.Counts, s.Progress.ETA = f.Counts, nil
	switch {
	case cancelled:
		s.State = task.Cancelled
	case why != nil:
		s.State = task.Failed
	default:
		s.State, s.Progress.Percent = task.Succeeded, new(100)
	}
	if why != nil && why.Step == "" {
		why.Step = s.Progress.Step
	}
	s.Progress.Message = closing(s.State, f.Counts)
}

// verdict is how the workflow itself ends, for those who look at Temporal.
func (r *Run) verdict(f activities.Finished, why *task.Error, cancelled bool) (Ending, error) {
	switch {
	case cancelled:
		return Ending{}, temporal.NewCanceledError(r.state.Progress.Message)
	case why != nil:
		return Ending{}, temporal.NewApplicationErrorWithOptions(why.Error(), string(why.Code),
			temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{why}})
	default:
		return Ending{Outcome: f.Outcome, Counts: f.Counts, Usage: r.state.Usage, Result: f.Result}, nil
	}
}

// reason puts an error of an activity or a child into the words of a task.
func reason(err error) *task.Error {
	var told *task.Error
	if errors.As(err, &told) {
		return told
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		if app.HasDetails() && app.Details(&told) == nil && told != nil && told.Code != "" {
			return told
		}
		// What it says is for the worker's log: it may name folders and addresses of ours.
		return task.Errorf(task.Internal, "a step of the task failed on our side; it was logged by the worker")
	}
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		return task.Errorf(task.Internal, "a step of the task took too long (%s)", timeout.TimeoutType())
	}
	if temporal.IsCanceledError(err) {
		return task.Errorf(task.TaskCancelled, "the task was stopped before this was done")
	}
	return task.Errorf(task.Internal, "a step of the task failed")
}
