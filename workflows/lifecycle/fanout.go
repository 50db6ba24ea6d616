package lifecycle

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities/call"
	"longhaul/internal/task"
)

// MaxCalls is how many calls one workflow keeps in flight: about twice what the workers of a small installation run at
// once, so that a free slot is filled at once.
const MaxCalls = 100

// Each runs f for every index below n, at most window of them at a time. It waits for all and returns their errors by
// index.
func Each(ctx workflow.Context, window, n int, f func(ctx workflow.Context, i int) error) []error {
	slots := workflow.NewSemaphore(ctx, int64(window))
	all := workflow.NewWaitGroup(ctx)
	errs := make([]error, n)
	for i := range n {
		if errs[i] = slots.Acquire(ctx, 1); errs[i] != nil {
			break
		}
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			defer slots.Release(1)
			errs[i] = f(ctx, i)
		})
	}
	clean, _ := workflow.NewDisconnectedContext(ctx)
	all.Wait(clean)
	return errs
}

// Listen passes what a signal carries to hear, until ctx ends.
func Listen[T any](ctx workflow.Context, signal string, hear func(T)) {
	inbox := workflow.GetSignalChannel(ctx, signal)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var told T
			if !inbox.Receive(ctx, &told) || ctx.Err() != nil {
				return
			}
			hear(told)
		}
	})
}

// DrainSignals lets every listener handle the signals that have arrived: they would be lost when the run ends. It
// takes no time.
func DrainSignals(ctx workflow.Context) error {
	heard := false
	workflow.Go(ctx, func(workflow.Context) { heard = true }) // its turn comes after theirs
	return workflow.Await(ctx, func() bool { return heard })
}

// FirstError returns the first error of a list.
func FirstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// combine makes one answer out of several; last is set for the final call.
type combine func(ctx workflow.Context, answers []string, last bool) (call.Answer, error)

// Reduce combines answers, fanIn at a time and level by level, until one is left. The last call is made in any case,
// for what it completes: combining a single answer costs nothing.
func Reduce(ctx workflow.Context, fanIn int, answers []string, f combine) (call.Answer, error) {
	for len(answers) > fanIn {
		next := make([]call.Answer, (len(answers)+fanIn-1)/fanIn)
		errs := Each(ctx, MaxCalls, len(next), func(ctx workflow.Context, i int) (err error) {
			next[i], err = combineWhole(ctx, answers[i*fanIn:min((i+1)*fanIn, len(answers))], false, f)
			return err
		})
		if err := FirstError(errs); err != nil {
			return call.Answer{}, err
		}
		answers = Keys(next)
	}
	return combineWhole(ctx, answers, true, f)
}

// combineWhole combines answers in one call, or in halves if together they are too long for the model.
func combineWhole(ctx workflow.Context, answers []string, last bool, f combine) (call.Answer, error) {
	if len(answers) == 1 && !last {
		return call.Answer{Key: answers[0]}, nil
	}
	answer, err := f(ctx, answers, last)
	if err == nil || len(answers) < 3 || !TooLong(err) {
		return answer, err
	}
	half := len(answers) / 2
	one, err := combineWhole(ctx, answers[:half], false, f)
	if err != nil {
		return one, err
	}
	other, err := combineWhole(ctx, answers[half:], false, f)
	if err != nil {
		return other, err
	}
	return f(ctx, []string{one.Key, other.Key}, last)
}

// TooLong reports whether a model refused a text for its length.
func TooLong(err error) bool {
	var told *task.Error
	return errors.As(Reason(err), &told) && told.Code == task.ContextExceeded
}

// Keys returns the ledger keys of answers, in order; an empty answer has none.
func Keys(answers []call.Answer) []string {
	var found []string
	for _, answer := range answers {
		if answer.Key != "" {
			found = append(found, answer.Key)
		}
	}
	return found
}

// PartFailures lists the failures that are caused by the text of a part, not by the provider or our account.
var PartFailures = map[task.Code]bool{
	task.ContentFiltered: true, task.ModelRefused: true, task.ContextExceeded: true,
	task.AnswerIncomplete: true, task.BadResponse: true,
}
