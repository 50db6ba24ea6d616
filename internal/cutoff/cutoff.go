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

// Meter counts activities that were cut off.
type Meter interface {
	CutOff(activity string)            // an activity lost its slot
	Stuck(activity string, change int) // change in the number of goroutines that run without a slot
}

// Options configure the interceptor. Meter may be nil.
type Options struct {
	Grace time.Duration // time to return after the end of the context
	Stop  time.Duration // time until the context ends after the worker starts to stop
	Meter Meter
	Log   *slog.Logger
}

// New returns an interceptor for worker.Options.Interceptors. Activities see Temporal's cancellation causes unchanged.
// Their deadline is slightly earlier than Temporal's, so that the attempt can still report its error.
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

// InterceptActivity is called by the SDK for each activity.
func (g *guard) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &inbound{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, Options: g.Options}
}

type inbound struct {
	interceptor.ActivityInboundInterceptorBase
	Options
}

// errTooLong is the cause of a context that has reached its deadline.
var errTooLong = errors.New("the step exceeded its time limit")

// ExecuteActivity runs the activity and abandons it if it does not return.
func (i *inbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	select {
	case <-activity.GetWorkerStopChannel(ctx): // the worker started to stop before the activity began
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

// HandBack returns the error of an activity that a stopping worker cannot run or finish. Another worker retries it at
// once.
func HandBack() error {
	return temporal.NewApplicationErrorWithOptions("the worker is stopping", "worker_stopping",
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond, Category: temporal.ApplicationErrorCategoryBenign})
}

// endWithWorker ends the context a while after its worker starts to stop. The SDK also does that, but after it has
// stopped waiting for results: the attempt's error would be lost, and the retry would wait for the heartbeat timeout.
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

// reporting is the time for reporting the end of a cut-off attempt to Temporal.
const reporting = 5 * time.Second

// limit returns the activity's own deadline: early enough for the grace period, but after at least half of the
// remaining time.
func (i *inbound) limit(info activity.Info, now time.Time) time.Time {
	return info.Deadline.Add(-min(i.Grace+reporting, info.Deadline.Sub(now)/2))
}

// leave abandons an activity and returns the error of its attempt.
func (i *inbound) leave(ctx context.Context, info activity.Info, run *running) error {
	name := info.ActivityType.Name
	i.Log.Error("activity did not return after its context ended: slot freed, goroutine still running",
		"activity", name, "workflow", info.WorkflowExecution.ID, "attempt", info.Attempt, "cause", context.Cause(ctx))
	i.Meter.CutOff(name)
	i.Meter.Stuck(name, 1)
	go func() {
		<-run.ended
		i.Meter.Stuck(name, -1)
		i.Log.Warn("abandoned activity returned: result dropped", "activity", name, "workflow", info.WorkflowExecution.ID)
	}()
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTooLong) && info.Attempt >= mostCuts:
		e := task.Errorf(task.Internal, "the step exceeded its time limit and could not be stopped in %d attempts", info.Attempt)
		return temporal.NewApplicationErrorWithOptions(e.Error(), string(e.Code), temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{e}})
	case errors.Is(cause, errTooLong):
		return tooLong()
	default:
		return cause
	}
}

// mostCuts is the number of cut-off attempts after which a step fails for good, because each attempt leaks a
// goroutine.
const mostCuts = 3

func tooLong() error { return temporal.NewApplicationError(errTooLong.Error(), "StepTimeout") }

// running is an activity in its own goroutine. The fields are valid after ended is closed.
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
				i.Log.Error("activity panicked", "value", v, "stack", string(debug.Stack())) // the stack is lost in the later recover
			}
		}()
		r.result, r.err = do()
	}()
	return r
}

// outcome returns the result of an activity that has ended. A panic is passed on to the SDK. An activity that returned
// a cancellation error because of its deadline gets errTooLong instead.
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

// uncounted is a Meter that does nothing.
type uncounted struct{}

func (uncounted) CutOff(string)     {}
func (uncounted) Stuck(string, int) {}
