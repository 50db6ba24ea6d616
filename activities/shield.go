package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
)

// Shield keeps the pause of a task from breaking off calls that run. Temporal pauses an activity by ending its context; behind the shield the
// context goes on, so that a call that is paid for is finished, and only what has not begun is left: see entrance.
type Shield struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity puts the shield before every activity of a worker.
func (Shield) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &shielded{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type shielded struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity runs an activity behind the shield.
func (s *shielded) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	ctx, end := raise(ctx)
	defer end()
	return s.Next.ExecuteActivity(ctx, in)
}

// shield is what an activity behind it can find out about the outside.
type shield struct {
	outside context.Context // the one that a pause ends as well
	cancel  context.CancelCauseFunc
}

type shieldKey struct{}

// raise makes a context that everything ends that ends ctx, but a pause.
func raise(ctx context.Context) (inside context.Context, end func()) {
	s := &shield{outside: ctx}
	inside, s.cancel = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), shieldKey{}, s))
	end = func() { s.cancel(nil) }
	if due, ok := ctx.Deadline(); ok {
		var stop context.CancelFunc
		inside, stop = context.WithDeadline(inside, due)
		end = func() { stop(); s.cancel(nil) }
	}
	context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); !errors.Is(cause, activity.ErrActivityPaused) {
			s.cancel(cause)
		}
	})
	return inside, end
}

// entrance is a context for what has not begun yet, such as the wait for a turn in the lane: a pause ends it as well. Call end when it is over.
func entrance(ctx context.Context) (waiting context.Context, end func()) {
	s, ok := ctx.Value(shieldKey{}).(*shield)
	if !ok {
		return ctx, func() {}
	}
	waiting, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(s.outside, func() { cancel(context.Cause(s.outside)) })
	return waiting, func() { forget(); cancel(nil) }
}

// paused reports whether the task of an activity is paused, and nothing else ended it.
func paused(ctx context.Context) bool {
	s, ok := ctx.Value(shieldKey{}).(*shield)
	return ok && ctx.Err() == nil && errors.Is(context.Cause(s.outside), activity.ErrActivityPaused)
}

// beatPaused tells Temporal of an activity that goes on although it is paused, and passes on a cancel: the SDK, which has ended the outer
// context, does so no more.
func beatPaused(ctx context.Context, b Beat) {
	err := activity.GetClient(ctx).RecordActivityHeartbeat(ctx, activity.GetInfo(ctx).TaskToken, b)
	if s, ok := ctx.Value(shieldKey{}).(*shield); ok && temporal.IsCanceledError(err) {
		s.cancel(err)
	}
}
