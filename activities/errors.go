package activities

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// throttlePatience is how long a call goes on being asked to wait before its task is told. It is a
// budget of time, apart from the budget of errors.
const throttlePatience = 6 * time.Hour

// failed tells Temporal whether calling again can help, and when. A rate limit does not use up the
// attempts; a cancel and a worker that stops are no failures of the call at all.
func (a *Activities) failed(ctx context.Context, heart *heart, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok {
		refusal = &llm.Error{Class: llm.Retry, Code: task.ModelUnavailable, Message: err.Error(), Err: err}
	}
	b := heart.last(ctx, func(b *Beat) { b.count(refusal.Class) })
	a.Log.Info("model call failed", "error", refusal, "class", refusal.Class, "calls", b.Calls, "errors", b.Errors, "throttled", b.Throttled)
	switch {
	case refusal.Class == llm.Final, b.Errors >= a.MaxAttempts:
		return final(refusal.Task(), b.Calls)
	case refusal.Class == llm.Wait && time.Since(b.Since) > throttlePatience:
		return final(refusal.Task(), b.Calls)
	case refusal.Class == llm.Wait:
		return again(refusal.Task(), b.Calls, pause(refusal.RetryAfter, b.Throttled))
	default:
		return again(refusal.Task(), b.Calls, pause(refusal.RetryAfter, b.Errors))
	}
}

func (b *Beat) count(class llm.Class) {
	if class != llm.Wait {
		b.Errors++
		return
	}
	if b.Throttled++; b.Throttled == 1 {
		b.Since = time.Now()
	}
}

// pause is how long to wait before the next attempt: what the provider asked for and up to a tenth more,
// so that calls that were turned away together do not come back together; without a hint, a backoff.
func pause(hint time.Duration, n int) time.Duration {
	if hint <= 0 {
		return backoff(n)
	}
	return hint + time.Duration(rand.Float64()*float64(hint)/10)
}

// backoff is the wait after the nth failure in a row: a second, doubled each time up to a minute,
// with a fifth of jitter so that calls that failed together do not come back together.
func backoff(n int) time.Duration {
	wait := min(time.Second<<min(max(n-1, 0), 6), time.Minute)
	return time.Duration(float64(wait) * (0.9 + 0.2*rand.Float64()))
}

// stopped is what an interrupted activity returns. When its worker stops, another one goes on at
// once; when the task was cancelled, the cancel is passed on.
func stopped(ctx context.Context) error {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return temporal.NewApplicationErrorWithOptions("the worker is stopping", "worker_stopping",
			temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond, Category: temporal.ApplicationErrorCategoryBenign})
	default:
		return ctx.Err()
	}
}

// final makes an error that ends the step.
func final(e *task.Error, calls int) error {
	return failure(e, calls, temporal.ApplicationErrorOptions{NonRetryable: true})
}

// again makes an error after which Temporal tries again, no earlier than the wait; 0 leaves it to the
// retry policy. A rate limit is business as usual: Temporal does not log it as a failure.
func again(e *task.Error, calls int, wait time.Duration) error {
	options := temporal.ApplicationErrorOptions{NextRetryDelay: wait}
	if e.Code == task.RateLimited {
		options.Category = temporal.ApplicationErrorCategoryBenign
	}
	return failure(e, calls, options)
}

func failure(e *task.Error, calls int, options temporal.ApplicationErrorOptions) error {
	e.Attempts = calls
	options.Details = []any{e}
	return temporal.NewApplicationErrorWithOptions(e.Error(), string(e.Code), options)
}

// documentError tells Temporal about a document that could not be had or read: a task.Error says
// itself whether trying again may help, anything else is a fault of ours and may.
func documentError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	e, ok := errors.AsType[*task.Error](err)
	switch {
	case !ok:
		return err
	case e.Retryable:
		return again(e, int(activity.GetInfo(ctx).Attempt), 0)
	default:
		return final(e, int(activity.GetInfo(ctx).Attempt))
	}
}
