package cutoff

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"longhaul/internal/task"
)

// Meter counts what was cut off.
type Meter interface {
	CutOff(activity string)            // one lost its slot
	Stuck(activity string, change int) // one more that goes on without a slot, or one less
}

// Options are what is needed to cut off. Meter may be nil.
type Options struct {
	Grace time.Duration // how long an activity may go on after its context has ended
	Stop  time.Duration // how long its context lasts once its worker has been asked to stop
	Meter Meter
	Log   *slog.Logger
}

// New gives the interceptor for worker.Options.Interceptors. Activities find in their context the causes of Temporal as they
// are. Only their deadline is a little earlier than the one that Temporal keeps, so that there is time to say what happened.
func New(o Options) interceptor.WorkerInterceptor {
	if o.Meter == nil {
		o.Meter = uncounted{}
	}
	return &guard{Options: o}
}

type guard struct {
	interceptor.WorkerInterceptorBase
	Options
}

// InterceptActivity is called by the SDK for each activity that begins.
func (g *guard) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &inbound{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, Options: g.Options}
}

type inbound struct {
	interceptor.ActivityInboundInterceptorBase
	Options
}

// errTooLong is the cause of a context whose step has used up its time.
var errTooLong = errors.New("the step has used up its time")

// ExecuteActivity runs the activity, and leaves it when it does not end.
func (i *inbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	select {
	case <-activity.GetWorkerStopChannel(ctx): // it was on its way when the worker was asked to stop
		return nil, HandBack()
	default:
	}
	info := activity.GetInfo(ctx)
	ctx, cancel := context.WithDeadlineCause(ctx, i.limit(info, time.Now()), errTooLong)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go i.endWithWorker(ctx, stop)
	run := i.begin(func() (any, error) { return i.Next.ExecuteActivity(ctx, in) })
	select {
	case <-run.ended:
		return run.outcome(ctx)
	case <-ctx.Done():
	}
	grace := time.NewTimer(i.Grace)
	defer grace.Stop()
	select {
	case <-run.ended:
		return run.outcome(ctx)
	case <-grace.C:
		return nil, i.leave(ctx, info, run)
	}
}

// HandBack is the error of an activity that its worker cannot do, or finish, because it stops: another worker does at once.
func HandBack() error {
	return temporal.NewApplicationErrorWithOptions("the worker is stopping", "worker_stopping",
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond, Category: temporal.ApplicationErrorCategoryBenign})
}

// endWithWorker ends a context some time after its worker was asked to stop. The SDK does so as well, but only when it does not wait
// any more: what an activity hands back then is lost, and nobody takes it up until its heartbeats are missed.
func (i *inbound) endWithWorker(ctx context.Context, stop context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
		return
	case <-activity.GetWorkerStopChannel(ctx):
	}
	patience := time.NewTimer(i.Stop)
	defer patience.Stop()
	select {
	case <-ctx.Done():
	case <-patience.C:
		stop(worker.ErrWorkerShutdown)
	}
}

// telling is how long Temporal may take to hear of an activity that was cut off.
const telling = 5 * time.Second

// limit is when an activity must end by itself: early enough for a grace before its deadline, of which it keeps half at least.
func (i *inbound) limit(info activity.Info, now time.Time) time.Time {
	return info.Deadline.Add(-min(i.Grace+telling, info.Deadline.Sub(now)/2))
}

// leave gives an activity up, and says how its attempt ended.
func (i *inbound) leave(ctx context.Context, info activity.Info, run *running) error {
	name := info.ActivityType.Name
	i.Log.Error("an activity did not end when it had to, and was cut off: its slot is free, its goroutine goes on",
		"activity", name, "workflow", info.WorkflowExecution.ID, "attempt", info.Attempt, "cause", context.Cause(ctx))
	i.Meter.CutOff(name)
	i.Meter.Stuck(name, 1)
	go func() {
		<-run.ended
		i.Meter.Stuck(name, -1)
		i.Log.Warn("an activity that was cut off has ended; what it gave is dropped", "activity", name, "workflow", info.WorkflowExecution.ID)
	}()
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTooLong) && info.Attempt >= mostCuts:
		e := task.Errorf(task.Internal, "a step did not end within its time, and could not be stopped; after %d attempts it was given up", info.Attempt)
		return temporal.NewApplicationErrorWithOptions(e.Error(), string(e.Code), temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{e}})
	case errors.Is(cause, errTooLong):
		return tooLong()
	default:
		return cause
	}
}

// mostCuts is after how many attempts a step that has to be cut off is given up: each leaves a goroutine behind.
const mostCuts = 3

func tooLong() error { return temporal.NewApplicationError(errTooLong.Error(), "StepTimeout") }

// running is an activity at work in a goroutine of its own. The fields are set once ended is closed.
type running struct {
	ended    chan struct{}
	result   any
	err      error
	panicked any
}

func (i *inbound) begin(do func() (any, error)) *running {
	r := &running{ended: make(chan struct{}), err: errors.New("the activity ended its goroutine")}
	go func() {
		defer close(r.ended)
		defer func() {
			if v := recover(); v != nil {
				r.panicked = v
				i.Log.Error("an activity panicked", "value", v, "stack", string(debug.Stack())) // who recovers it later sees another stack
			}
		}()
		r.result, r.err = do()
	}()
	return r
}

// outcome is what an activity gave that has ended. A panic goes on to the SDK, which knows what to do. One that obeyed the end
// of its time was not cancelled, whatever it says.
func (r *running) outcome(ctx context.Context) (any, error) {
	switch {
	case r.panicked != nil:
		panic(r.panicked)
	case temporal.IsCanceledError(r.err) && errors.Is(context.Cause(ctx), errTooLong):
		return nil, tooLong()
	default:
		return r.result, r.err
	}
}

// uncounted is no meter.
type uncounted struct{}

func (uncounted) CutOff(string)     {}
func (uncounted) Stuck(string, int) {}
