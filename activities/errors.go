package activities

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// How long a call goes on being turned away before its task is told: asked to wait, or by a provider that
// is down. These are budgets of time, apart from the budget of errors, and nothing is paid meanwhile.
const (
	throttlePatience = 6 * time.Hour
	outagePatience   = 15 * time.Minute
)

// failed tells Temporal whether calling again can help, and when. A rate limit does not use up the
// attempts; a cancel and a worker that stops are no failures of the call at all.
func (a *Activities) failed(ctx context.Context, heart *heart, err error) error {
	if _, ours := errors.AsType[*temporal.ApplicationError](err); ours {
		return err // no call was made
	}
	if ctx.Err() != nil {
		heart.last(ctx, func(b *Beat) { b.Stopped++ })
		return stopped(ctx)
	}
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok {
		refusal = &llm.Error{Class: llm.Retry, Code: task.ModelUnavailable, Message: err.Error(), Err: err}
	}
	most := a.MaxAttempts
	if refusal.Tries > 0 {
		most = min(most, refusal.Tries)
	}
	down := outage(refusal)
	b := heart.last(ctx, func(b *Beat) { b.count(refusal.Class, down) })
	a.Log.Info("model call failed", "error", refusal, "class", refusal.Class, "calls", b.Calls, "errors", b.Errors, "throttled", b.Throttled, "down", b.Down)
	switch {
	case refusal.Class == llm.Final:
		return final(refusal.Task(), b.Calls)
	case down && time.Since(b.DownSince) < outagePatience:
		return again(refusal.Task(), b.Calls, pause(refusal.RetryAfter, b.Down))
	case refusal.Class == llm.Wait && time.Since(b.Since) < throttlePatience:
		return again(refusal.Task(), b.Calls, pause(refusal.RetryAfter, b.Throttled))
	case refusal.Class == llm.Retry && !down && b.Errors < most:
		return again(refusal.Task(), b.Calls, pause(refusal.RetryAfter, b.Errors))
	default:
		return final(refusal.Task(), b.Calls)
	}
}

// outage reports whether a call never reached a model that works: nobody listened, or a gateway said
// that nobody is behind it.
func outage(e *llm.Error) bool {
	if e.Class != llm.Retry || e.Code != task.ModelUnavailable {
		return false
	}
	if dial, ok := errors.AsType[*net.OpError](e.Err); ok && dial.Op == "dial" {
		return true
	}
	return e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable
}

func (b *Beat) count(class llm.Class, down bool) {
	switch {
	case down:
		if b.Down++; b.DownSince.IsZero() {
			b.DownSince = time.Now()
		}
	case class == llm.Wait:
		if b.Throttled++; b.Since.IsZero() {
			b.Since = time.Now()
		}
	default:
		b.Errors++
	}
	if !down {
		b.DownSince = time.Time{} // the provider answered: the next outage is another one
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

// fetchAttempts is how often a document is fetched before it is at fault itself.
const fetchAttempts = 5

// documentError tells Temporal about a document that could not be had or read. A task.Error says itself
// whether trying again may help, and that has an end. Anything else is a fault of ours, such as a
// bucket that is down: it is tried until it is mended.
func documentError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	attempt := int(activity.GetInfo(ctx).Attempt)
	e, ok := errors.AsType[*task.Error](err)
	switch {
	case !ok:
		return err
	case e.Retryable && attempt < fetchAttempts:
		return again(e, attempt, 0)
	default:
		return final(e, attempt)
	}
}
