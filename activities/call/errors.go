package call

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/cutoff"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Stopped is the error of an interrupted activity. When its worker stops, another one takes over at once; when the
// task is paused, it continues after the pause; when it was cancelled, the error carries what was used so far.
func Stopped(ctx context.Context, s record.CallState) error {
	if isPaused(ctx) {
		return activity.ErrActivityPaused
	}
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return cutoff.HandBack()
	default:
		return temporal.NewCanceledError(s.Spent())
	}
}

// Final makes an error that Temporal does not retry.
func Final(e *task.Error, s record.CallState) error {
	e.Tries = s.Tries
	return Failure(e, s.Spent(), temporal.ApplicationErrorOptions{NonRetryable: true})
}

// Retry makes an error that Temporal retries, no earlier than after the delay; 0 leaves the delay to the options of the
// activity. Temporal does not log a rate limit as a failure.
func Retry(e *task.Error, s record.CallState, delay time.Duration) error {
	options := temporal.ApplicationErrorOptions{NextRetryDelay: delay}
	if e.Code == task.RateLimited {
		options.Category = temporal.ApplicationErrorCategoryBenign
	}
	return Failure(e, s.Spent(), options)
}

// Failure makes an error for Temporal. Its details are the task's error and what was spent.
func Failure(e *task.Error, spent record.Spent, options temporal.ApplicationErrorOptions) error {
	e.Attempts = spent.Calls
	options.Details = []any{e, spent}
	return temporal.NewApplicationErrorWithOptions(e.Error(), string(e.Code), options)
}

// DocumentError makes the error of a document that could not be fetched or read. A task.Error says whether a retry may
// help. Any other error is ours, such as a bucket that is down, and is retried until the cause is repaired.
func DocumentError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return Stopped(ctx, record.CallState{})
	}
	e, ok := errors.AsType[*task.Error](err)
	if !ok {
		return err
	}
	attempt := int(activity.GetInfo(ctx).Attempt)
	s, try := record.CallState{Calls: attempt, Errors: attempt}, Try{Reason: Fault, Count: attempt}
	if !e.Retryable {
		try.Reason = Permanent
	}
	if retry, _ := Decide(Document, try, 0); retry {
		return Retry(e, s, 0)
	}
	return Final(e, s)
}
