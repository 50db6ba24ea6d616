package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/task"
)

// call names activities with their types; it is never called.
var call *activities.Activities

// work is what a kind does. A kind's workflow hands one to conduct.
type work interface {
	// do works until all is done or ctx ends, and returns soon after ctx ends. Its error is why the
	// whole task cannot go on; the failure of an item is not one.
	do(ctx workflow.Context) error
	// finish closes the books: it puts down what was done. Why says what kept the task from its end,
	// nil if nothing did.
	finish(ctx workflow.Context, why *task.Error) (activities.Finished, error)
}

// conduct is the life of a task of any kind: it begins, works until all is done or a cancel or the
// deadline comes, closes the books whichever it was, and ends for good.
func conduct(ctx workflow.Context, start Start, steps []string, kind func(*Run) work) (Ending, error) {
	run, err := begin(ctx, start, steps)
	if err != nil {
		return Ending{}, err
	}
	working, stop := workflow.WithCancel(ctx)
	defer stop()
	run.stopWork = stop
	run.watchCancel(ctx)
	run.watchDeadline(working)
	_, working = newGate(working, run.state.State == task.Paused, run.paused)

	w := kind(run)
	err = w.do(working)
	if workflow.IsContinueAsNewError(err) {
		return Ending{}, err
	}
	return run.end(ctx, w, err)
}

// begin opens the task's state to its readers.
func begin(ctx workflow.Context, start Start, steps []string) (*Run, error) {
	run := &Run{Facts: start.Facts, steps: steps}
	if start.Snapshot != nil {
		run.state = *start.Snapshot
	} else {
		// Acceptance was revision 1, and the arrival of a start time one more.
		run.state = Snapshot{Revision: 1, State: task.Processing, StartedAt: workflow.Now(ctx), UpdatedAt: start.Facts.CreatedAt}
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

// historyLong reports whether the server finds that the history is long enough, at 4,096 events or 4 MB unless
// it was told otherwise: far below what it refuses, and short enough to be replayed in no time.
func historyLong(ctx workflow.Context) bool { return workflow.GetInfo(ctx).GetContinueAsNewSuggested() }

// goOn continues the task in a new run, with what its kind takes along and everything that was said to it by now.
func (r *Run) goOn(ctx workflow.Context, start Start) error {
	if err := hearOut(ctx); err != nil {
		return err
	}
	start.Facts, start.Snapshot = r.Facts, &r.state
	return workflow.NewContinueAsNewError(ctx, r.Facts.Kind, start)
}

// watchCancel tells readers at once that a cancel was heard.
func (r *Run) watchCancel(ctx workflow.Context) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		if ctx.Err() == nil || r.state.State.Terminal() {
			return
		}
		r.state.State = task.Cancelling
		r.state.Revision++ // the number before was shown by those who knew of the cancel earlier
		clean, _ := workflow.NewDisconnectedContext(ctx)
		if err := r.publish(clean); err != nil {
			workflow.GetLogger(ctx).Error("state not published", "error", err)
		}
	})
}

// halt stops the work. The task then ends with what it has, and says why.
func (r *Run) halt(why *task.Error) {
	if r.halted == nil {
		r.halted = why
		r.stopWork()
	}
}

// watchDeadline stops the work when the deadline comes.
func (r *Run) watchDeadline(ctx workflow.Context) {
	if r.Facts.Deadline == nil {
		return
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		left := r.Facts.Deadline.Sub(workflow.Now(ctx))
		due := workflow.NewTimerWithOptions(ctx, max(left, 0), workflow.TimerOptions{Summary: "deadline"})
		if err := due.Get(ctx, nil); err == nil {
			r.halt(task.Errorf(task.DeadlineExceeded, "the deadline %s came before it was done", r.Facts.Deadline.UTC().Format(time.RFC3339)))
		}
	})
}

// end closes the books and makes the ending. From here on nothing interrupts: the context is no
// longer the one that a cancel reaches.
func (r *Run) end(ctx workflow.Context, w work, workErr error) (Ending, error) {
	cancelled := ctx.Err() != nil
	clean, _ := workflow.NewDisconnectedContext(ctx)
	why := r.why(cancelled, workErr)
	if why != nil && why.Step == "" {
		why.Step = r.state.Progress.Step
	}
	r.enter(r.steps[len(r.steps)-1])

	finished, err := w.finish(clean, why)
	switch {
	case err != nil:
		finished, why = activities.Finished{Outcome: task.None, Counts: r.state.Progress.Counts}, reason(err)
	case why == nil && finished.Outcome == task.None:
		why = allFailed(finished)
	}
	if ctx.Err() != nil && !cancelled { // it came while the books were closed, and has been shown
		cancelled, why = true, r.why(true, nil)
	}
	r.close(finished, why, cancelled)
	r.bury(clean, finished, why, cancelled)
	if err := r.publish(clean); err != nil {
		return Ending{}, err
	}
	r.tellEnd(clean)
	return r.verdict(finished, why, cancelled)
}

// why says what kept the task from its end, nil if nothing did. A cancel that came before the end
// counts even if the work was done by then: the task was already shown as cancelling.
func (r *Run) why(cancelled bool, workErr error) *task.Error {
	switch {
	case cancelled:
		return task.Errorf(task.TaskCancelled, "it was cancelled before it was done")
	case r.halted != nil:
		return r.halted
	case workErr != nil:
		return reason(workErr)
	default:
		return nil
	}
}

func allFailed(f activities.Finished) *task.Error {
	if f.First == nil {
		return task.Errorf(task.AllItemsFailed, "no item succeeded")
	}
	if f.Counts.Total <= 1 {
		return f.First
	}
	e := task.Errorf(task.AllItemsFailed, "%d of %[1]d; the first: %s", f.Counts.Total, f.First.Detail)
	e.Retryable = f.First.Retryable
	return e
}

// close puts the task's state to its final words.
func (r *Run) close(f activities.Finished, why *task.Error, cancelled bool) {
	s := &r.state
	if why != nil && why.Code == task.BudgetExceeded && s.Usage.Cost != nil {
		why.Detail += fmt.Sprintf("; it cost %g %s, with the calls that were under way", r.spentMoney(), s.Usage.Cost.Currency)
	}
	s.Outcome, s.Result, s.Error, s.Simulated = f.Outcome, f.Result, why, f.Simulated || s.Simulated
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

// bury puts a task that failed for good, or some of whose items did, among the dead letters. One that somebody cancelled is none, and of one that
// works for another that one hears. Whatever becomes of the letter, the task says its last words.
func (r *Run) bury(ctx workflow.Context, f activities.Finished, why *task.Error, cancelled bool) {
	if cancelled || r.Facts.Parent != "" || r.Facts.Kind == KindReplay || why == nil && len(f.Failures) == 0 {
		return
	}
	if workflow.GetVersion(ctx, "dead letters", workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	req := activities.BuryRequest{
		Task: r.Facts.task(), Kind: r.Facts.Kind, Headline: r.Facts.Headline, Labels: r.Facts.Labels, ReplayOf: r.Facts.ReplayOf, Facts: r.Facts,
		At: workflow.Now(ctx), Error: why, Finished: f, Usage: r.state.Usage,
	}
	err := workflow.ExecuteActivity(documentWork(ctx, "keep what failed"), call.Bury, req).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Error("dead letter not kept", "task", r.Facts.ID, "error", err)
	}
	r.state.Dead = err == nil
}

// verdict is how the workflow itself ends, for those who look at Temporal, and for a task that started it: whatever it came to, it has cost something.
func (r *Run) verdict(f activities.Finished, why *task.Error, cancelled bool) (Ending, error) {
	ending := Ending{Outcome: f.Outcome, Counts: f.Counts, Usage: r.state.Usage, Result: f.Result}
	switch {
	case cancelled:
		return Ending{}, temporal.NewCanceledError(r.state.Progress.Message, ending)
	case why != nil:
		return Ending{}, temporal.NewApplicationErrorWithOptions(why.Error(), string(why.Code),
			temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{why, ending}})
	default:
		return ending, nil
	}
}

// endingOf is the ending in the error of a task that failed or was cancelled. One that was cut off from outside has none, nor has one of earlier builds.
func endingOf(err error) (ending Ending) {
	var told *task.Error
	var message string
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.HasDetails() {
		_ = app.Details(&told, &ending)
	}
	if cancel, ok := errors.AsType[*temporal.CanceledError](err); ok && cancel.HasDetails() {
		_ = cancel.Details(&message, &ending)
	}
	return ending
}

// spent is what a model call used, whether it gave an answer or not.
func spent(answer activities.Answer, err error) activities.Spent {
	if err != nil {
		return spentOn(err)
	}
	return activities.Spent{Calls: answer.Calls, Usage: answer.Usage}
}

// spentOn is what a failed or cancelled call used all the same. One that a cancel kept from being made used nothing: then the error is the SDK's own,
// and its details are none of ours.
func spentOn(err error) activities.Spent {
	var told *task.Error
	var spent activities.Spent
	if _, made := errors.AsType[*temporal.ActivityError](err); !made {
		return spent
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.HasDetails() {
		_ = app.Details(&told, &spent) // an error of another sort has no such details, and used nothing
	}
	if cancel, ok := errors.AsType[*temporal.CanceledError](err); ok && cancel.HasDetails() {
		_ = cancel.Details(&spent)
	}
	return spent
}

// failedAt is the reason of an error, with the step that its activity belongs to.
func failedAt(err error, steps map[string]string) *task.Error {
	why := reason(err)
	if act, ok := errors.AsType[*temporal.ActivityError](err); ok && why.Step == "" {
		why.Step = steps[act.ActivityType().GetName()]
	}
	return why
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
		return task.Errorf(task.TaskCancelled, "it was stopped before it was done")
	}
	return task.Errorf(task.Internal, "a step of the task failed")
}
