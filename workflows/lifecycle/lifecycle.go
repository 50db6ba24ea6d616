package lifecycle

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

var store *results.Store // names activities; never called

// Work is what a kind does between the beginning and the end of its task.
type Work interface {
	// Do works until all is done or ctx ends, and returns soon after ctx ends. Its error is the reason why the whole
	// task cannot continue; the failure of an item is not one.
	Do(ctx workflow.Context) error
	// Finish stores the results. Why is what stopped the task early, nil if nothing did.
	Finish(ctx workflow.Context, why *task.Error) (results.Finished, error)
}

// Execute runs a task of any kind: it begins, works until all is done or a cancel or the deadline arrives, stores the
// results in each case, and ends.
func Execute[Carry any](ctx workflow.Context, start record.Start[Carry], steps []string, kind func(*Run) Work) (record.Ending, error) {
	ctx = WithActivityIDs(ctx)
	run, err := begin(ctx, start.Facts, start.Snapshot, steps)
	if err != nil {
		return record.Ending{}, err
	}
	working, stop := workflow.WithCancel(ctx)
	defer stop()
	run.stopWork = stop
	run.watchCancel(ctx)
	run.watchDeadline(working)
	_, working = NewPauseGate(working, run.State.State == task.Paused, run.paused)

	w := kind(run)
	err = w.Do(working)
	if workflow.IsContinueAsNewError(err) {
		return record.Ending{}, err
	}
	return run.end(ctx, w, err)
}

// begin opens the state of a task to its readers. Snapshot is set when the workflow continued as new.
func begin(ctx workflow.Context, facts record.Facts, snapshot *record.Snapshot, steps []string) (*Run, error) {
	run := &Run{Facts: facts, steps: steps}
	if snapshot != nil {
		run.State = *snapshot
	} else {
		run.State = record.Snapshot{
			Revision: record.FirstRevision(facts), State: task.Processing, StartedAt: workflow.Now(ctx), UpdatedAt: facts.CreatedAt,
		}
		run.State.Progress.StepCount = len(steps)
		run.Enter(steps[0])
	}
	err := workflow.SetQueryHandler(ctx, record.QueryStatus, func() (record.Snapshot, error) { return run.State, nil })
	if err != nil {
		return nil, err
	}
	return run, run.publish(ctx)
}

// HistoryLong reports whether Temporal suggests to continue as new, at 4,096 events or 4 MB unless the server is
// configured otherwise: far below its limits, and quick to replay.
func HistoryLong(ctx workflow.Context) bool { return workflow.GetInfo(ctx).GetContinueAsNewSuggested() }

// ContinueAsNew continues the task in a new run with the carry of its kind, after all received signals were handled.
func ContinueAsNew[Carry any](ctx workflow.Context, r *Run, carry *Carry) error {
	if err := DrainSignals(ctx); err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, r.Facts.Kind, record.Start[Carry]{Facts: r.Facts, Snapshot: &r.State, Carry: carry})
}

// watchCancel publishes at once that a cancel arrived.
func (r *Run) watchCancel(ctx workflow.Context) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		if ctx.Err() == nil || r.State.State.Terminal() {
			return
		}
		r.State.Cancel()
		clean, _ := workflow.NewDisconnectedContext(ctx)
		if err := r.publish(clean); err != nil {
			workflow.GetLogger(ctx).Error("state not published", "error", err)
		}
	})
}

// Halt stops the work. The task ends with what it has, and says why.
func (r *Run) Halt(why *task.Error) {
	if r.halted == nil {
		r.halted = why
		r.stopWork()
	}
}

// watchDeadline stops the work at the deadline.
func (r *Run) watchDeadline(ctx workflow.Context) {
	if r.Facts.Deadline == nil {
		return
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		left := r.Facts.Deadline.Sub(workflow.Now(ctx))
		due := workflow.NewTimerWithOptions(ctx, max(left, 0), workflow.TimerOptions{Summary: "deadline"})
		if err := due.Get(ctx, nil); err == nil {
			r.Halt(task.Errorf(task.DeadlineExceeded, "the deadline %s came before it was done", r.Facts.Deadline.UTC().Format(time.RFC3339)))
		}
	})
}

// end stores the results and ends the task. A cancel no longer interrupts it.
func (r *Run) end(ctx workflow.Context, w Work, workErr error) (record.Ending, error) {
	cancelled := ctx.Err() != nil
	clean, _ := workflow.NewDisconnectedContext(ctx)
	why := r.why(cancelled, workErr)
	if why != nil && why.Step == "" {
		why.Step = r.State.Progress.Step
	}
	r.Enter(r.steps[len(r.steps)-1])

	finished, err := w.Finish(clean, why)
	switch {
	case err != nil:
		finished, why = results.Finished{Outcome: task.None, Counts: r.State.Progress.Counts}, Reason(err)
	case why == nil && finished.Outcome == task.None:
		why = allFailed(finished)
	}
	if ctx.Err() != nil && !cancelled { // it came while the books were closed, and has been shown
		cancelled, why = true, r.why(true, nil)
	}
	r.close(finished, why, cancelled)
	r.writeDeadLetter(clean, finished, why, cancelled)
	if err := r.publish(clean); err != nil {
		return record.Ending{}, err
	}
	r.notifyEnd(clean)
	return r.verdict(finished, why, cancelled)
}

// why returns what stopped the task early, nil if nothing did. A cancel that arrived before the end counts even if the
// work was done by then: the task was already shown as cancelling.
func (r *Run) why(cancelled bool, workErr error) *task.Error {
	switch {
	case cancelled:
		return task.Errorf(task.TaskCancelled, "it was cancelled before it was done")
	case r.halted != nil:
		return r.halted
	case workErr != nil:
		return Reason(workErr)
	default:
		return nil
	}
}

func allFailed(f results.Finished) *task.Error {
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

// close sets the final state of the task.
func (r *Run) close(f results.Finished, why *task.Error, cancelled bool) {
	s := &r.State
	if why != nil && why.Code == task.BudgetExceeded && s.Usage.Cost != nil {
		why.Detail += fmt.Sprintf("; it cost %g %s, with the calls that were under way", r.SpentMoney(), s.Usage.Cost.Currency)
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

// writeDeadLetter keeps a task that failed for good, or some of whose items did. Cancelled tasks are not dead-
// lettered; the failure of a child task is reported to its parent instead. The task ends whether or not this succeeds.
func (r *Run) writeDeadLetter(ctx workflow.Context, f results.Finished, why *task.Error, cancelled bool) {
	if cancelled || r.Facts.Parent != "" || r.Facts.Kind == record.KindReplay || why == nil && len(f.Failures) == 0 {
		return
	}
	req := results.DeadLetterRequest{Facts: r.Facts, At: workflow.Now(ctx), Error: why, Finished: f, Usage: r.State.Usage}
	err := workflow.ExecuteActivity(DocumentWork(ctx, "", "write the dead letter"), store.WriteDeadLetter, req).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Error("dead letter not kept", "task", r.Facts.ID, "error", err)
	}
	r.State.DeadLetter = err == nil
}

// verdict is the result or the error of the workflow itself. Both carry the ending, so that a task that started this
// one learns its cost.
func (r *Run) verdict(f results.Finished, why *task.Error, cancelled bool) (record.Ending, error) {
	ending := record.Ending{Outcome: f.Outcome, Counts: f.Counts, Usage: r.State.Usage, Result: f.Result}
	switch {
	case cancelled:
		return record.Ending{}, temporal.NewCanceledError(r.State.Progress.Message, ending)
	case why != nil:
		return record.Ending{}, temporal.NewApplicationErrorWithOptions(why.Error(), string(why.Code),
			temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{why, ending}})
	default:
		return ending, nil
	}
}

// EndingOf returns the ending in the error of a task that failed or was cancelled; it is empty if Temporal ended the
// task.
func EndingOf(err error) (ending record.Ending) {
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

// Spent returns what a model call used, with or without an answer.
func Spent(answer call.Answer, err error) record.Spent {
	if err != nil {
		return SpentOn(err)
	}
	return record.Spent{Calls: answer.Calls, Usage: answer.Usage}
}

// SpentOn returns what a failed or cancelled call used. A call that a cancel prevented used nothing: its error comes
// from the SDK and has no details of ours.
func SpentOn(err error) record.Spent {
	var told *task.Error
	var spent record.Spent
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

// FailedAt returns the reason of an error, with the step of its activity.
func FailedAt(err error) *task.Error {
	why := Reason(err)
	if act, ok := errors.AsType[*temporal.ActivityError](err); ok && why.Step == "" {
		why.Step = record.StepOfActivity(act.ActivityID())
	}
	return why
}

// Reason turns the error of an activity or a child into an error of the task.
func Reason(err error) *task.Error {
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
