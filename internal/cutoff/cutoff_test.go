package cutoff

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
)

// counts is a Meter for tests.
type counts struct{ cut, stuck atomic.Int64 }

func (c *counts) CutOff(string)         { c.cut.Add(1) }
func (c *counts) Stuck(_ string, n int) { c.stuck.Add(int64(n)) }
func (c *counts) ended() bool           { return c.stuck.Load() == 0 }
func quiet(grace time.Duration) Options {
	return Options{Grace: grace, Log: slog.New(slog.DiscardHandler)}
}
func life() (context.Context, func(error)) { return context.WithCancelCause(context.Background()) }

// run runs an activity with the interceptor in its own context.
func run(t *testing.T, ctx context.Context, o Options, do func(context.Context) (string, error)) (string, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{
		BackgroundActivityContext: ctx, Interceptors: []interceptor.WorkerInterceptor{New(o)},
	})
	env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: "Do"})
	value, err := env.ExecuteActivity("Do")
	if err != nil {
		return "", err
	}
	var text string
	require.NoError(t, value.Get(&text))
	return text, nil
}

func TestCutOff_takesSlotBack(t *testing.T) {
	t.Parallel()
	ctx, end := life()
	release, c := make(chan struct{}), &counts{}
	o := quiet(20 * time.Millisecond)
	o.Meter = c
	cause := errors.New("the cause")
	_, err := run(t, ctx, o, func(context.Context) (string, error) {
		end(cause)
		<-release // ignores the context
		return "late", nil
	})
	require.ErrorContains(t, err, "the cause", "the cause is unchanged")
	require.EqualValues(t, 1, c.cut.Load())
	require.EqualValues(t, 1, c.stuck.Load())
	close(release)
	require.Eventually(t, c.ended, 30*time.Second, time.Millisecond)
}

func TestCutOff_doesNotAffectOtherActivities(t *testing.T) {
	t.Parallel()
	o := quiet(time.Hour)
	got, err := run(t, context.Background(), o, func(context.Context) (string, error) { return "done", nil })
	require.NoError(t, err)
	require.Equal(t, "done", got)

	_, err = run(t, context.Background(), o, func(context.Context) (string, error) { panic("a bug") })
	panicked, ok := errors.AsType[*temporal.PanicError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "a bug", panicked.Error())

	ctx, end := life()
	got, err = run(t, ctx, o, func(ctx context.Context) (string, error) {
		end(activity.ErrActivityPaused)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), activity.ErrActivityPaused)
		return "in time", nil
	})
	require.NoError(t, err)
	require.Equal(t, "in time", got, "a result within the grace period counts")
}

func TestCutOff_endsWithItsWorker(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env, stopping := suite.NewTestActivityEnvironment(), make(chan struct{})
	env.SetWorkerStopChannel(stopping)
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{New(quiet(time.Hour))}})
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		close(stopping)
		<-ctx.Done()
		return context.Cause(ctx)
	}, activity.RegisterOptions{Name: "Do"})
	_, err := env.ExecuteActivity("Do")
	require.ErrorContains(t, err, worker.ErrWorkerShutdown.Error())

	_, err = env.ExecuteActivity("Do") // once more after the stop: closing twice would panic
	back, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "worker_stopping", back.Type())
}

func TestLimit(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(left, grace time.Duration) time.Duration {
		i := inbound{Options: Options{Grace: grace}}
		return i.limit(activity.Info{Deadline: now.Add(left)}, now).Sub(now)
	}
	require.Equal(t, time.Hour-35*time.Second, at(time.Hour, 30*time.Second))
	require.Equal(t, 5*time.Second, at(10*time.Second, 30*time.Second), "at least half of a short time remains")
}

func TestOutcome_deadlineIsNotCancellation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithDeadlineCause(context.Background(), time.Now(), errTooLong)
	defer cancel()
	<-ctx.Done()
	_, err := (&running{err: temporal.NewCanceledError("spent")}).outcome(ctx)
	told, ok := errors.AsType[*temporal.ApplicationError](err)
	require.True(t, ok)
	require.False(t, told.NonRetryable())

	i := inbound{Options: quiet(0)}
	i.Meter = uncounted{}
	gone := &running{ended: make(chan struct{})}
	require.NotErrorIs(t, i.leave(ctx, activity.Info{Attempt: 1}, gone), context.DeadlineExceeded)
	last, ok := errors.AsType[*temporal.ApplicationError](i.leave(ctx, activity.Info{Attempt: mostCuts}, gone))
	require.True(t, ok)
	require.True(t, last.NonRetryable())
}
