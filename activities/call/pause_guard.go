package call

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/record"
)

// PauseGuard keeps a pause from cutting off running calls. Temporal pauses an activity by ending its context; behind
// the guard the context stays open, so that a paid call is finished, and only calls that have not begun are left: see
// admission.
type PauseGuard struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity puts the shield before every activity of a worker.
func (PauseGuard) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &guardedActivity{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type guardedActivity struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity runs an activity behind the guard.
func (s *guardedActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	ctx, end := guardPause(ctx)
	defer end()
	return s.Next.ExecuteActivity(ctx, in)
}

// pauseGuard gives an activity access to its outer context.
type pauseGuard struct {
	outer  context.Context // the one that a pause ends as well
	cancel context.CancelCauseFunc
}

type pauseGuardKey struct{}

// guardPause makes a context that ends with ctx, except by a pause.
func guardPause(ctx context.Context) (inside context.Context, end func()) {
	s := &pauseGuard{outer: ctx}
	inside, s.cancel = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), pauseGuardKey{}, s))
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

// admission returns a context for what has not begun, such as the wait for a turn in the lane: a pause ends it too.
// Call end afterwards.
func admission(ctx context.Context) (waiting context.Context, end func()) {
	s, ok := ctx.Value(pauseGuardKey{}).(*pauseGuard)
	if !ok {
		return ctx, func() {}
	}
	waiting, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(s.outer, func() { cancel(context.Cause(s.outer)) })
	return waiting, func() { forget(); cancel(nil) }
}

// isPaused reports whether the task of an activity is paused and nothing else ended it.
func isPaused(ctx context.Context) bool {
	s, ok := ctx.Value(pauseGuardKey{}).(*pauseGuard)
	return ok && ctx.Err() == nil && errors.Is(context.Cause(s.outer), activity.ErrActivityPaused)
}

// sendPaused sends the heartbeat of an activity that runs although it is paused, and passes on a cancel: the SDK,
// which has ended the outer context, no longer does.
func sendPaused(ctx context.Context, b record.Heartbeat) {
	err := activity.GetClient(ctx).RecordActivityHeartbeat(ctx, activity.GetInfo(ctx).TaskToken, b)
	if s, ok := ctx.Value(pauseGuardKey{}).(*pauseGuard); ok && temporal.IsCanceledError(err) {
		s.cancel(err)
	}
}
