package lane_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/lane"
)

// patient is longer than any test here.
const patient = time.Hour

// flow makes n calls as fast as the lane admits them, each lasting a while, and returns when each started.
func flow(t *testing.T, l *lane.Lane, n, tokens int, lasting time.Duration) []time.Duration {
	start, began := time.Now(), make([]time.Duration, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			pass, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, tokens, patient)
			require.NoError(t, err)
			began[i] = time.Since(start)
			time.Sleep(lasting)
			pass.Done(lane.Outcome{Tokens: tokens})
		})
	}
	all.Wait()
	return began
}

// busiest returns the maximum number of starts within any minute.
func busiest(began []time.Duration) (most int) {
	for _, from := range began {
		n := 0
		for _, at := range began {
			if at >= from && at < from+time.Minute {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func last(began []time.Duration) (end time.Duration) {
	for _, at := range began {
		end = max(end, at)
	}
	return end
}

func TestLane_requestsAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := flow(t, lane.New(lane.Limits{Requests: 600}), 1200, 0, time.Second)
		require.LessOrEqual(t, busiest(began), 601, "no 60-second window may exceed the limit")
		require.Less(t, last(began), 122*time.Second, "the limit should be used")
	})
}

func TestLane_tokensAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := flow(t, lane.New(lane.Limits{Tokens: 60_000}), 120, 1000, time.Second)
		require.LessOrEqual(t, busiest(began), 61)
		require.Less(t, last(began), 123*time.Second)
	})
}

// The difference between estimated and used tokens is settled afterwards.
func TestLane_tokensAreCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New(lane.Limits{Tokens: 60_000})
		for range 60 {
			pass, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 100, patient)
			require.NoError(t, err)
			pass.Done(lane.Outcome{Tokens: 2000})
		}
		start := time.Now()
		_, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 100, patient)
		require.NoError(t, err)
		require.Greater(t, time.Since(start), time.Second, "tokens over the estimate delay the next call")
	})
}

func TestLane_concurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := flow(t, lane.New(lane.Limits{Concurrency: 10}), 100, 0, time.Second)
		require.Equal(t, 9*time.Second, last(began))
	})
}

func TestLane_sharesWithOtherProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New(lane.Limits{Requests: 600})
		l.Share(3)
		began := flow(t, l, 400, 0, 0)
		require.LessOrEqual(t, busiest(began), 201)
		require.Less(t, last(began), 123*time.Second)
	})
}

// A throttled call closes the lane for all calls until the hinted time; then one call is admitted, then two.
func TestLane_closesForAllAndReopensGently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New(lane.Limits{Concurrency: 8})
		var passes []*lane.Pass
		for range 4 {
			pass, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 0, patient)
			require.NoError(t, err)
			passes = append(passes, pass)
		}
		passes[0].Done(lane.Outcome{Throttled: true, RetryAfter: 20 * time.Second})
		for _, pass := range passes[1:] {
			pass.Done(lane.Outcome{}) // calls that started before the closing do not count
		}

		start := time.Now()
		began := flow(t, l, 15, 0, time.Second)
		counts := map[time.Duration]int{}
		for _, at := range began {
			counts[at.Round(time.Second)]++
		}
		require.Equal(t, map[time.Duration]int{20 * time.Second: 1, 21 * time.Second: 2, 22 * time.Second: 4, 23 * time.Second: 8}, counts)
		require.Equal(t, 24*time.Second, time.Since(start))
	})
}

// A wait longer than the patience is reported at once, without sleeping.
func TestLane_longWaitsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New(lane.Limits{Concurrency: 1, Requests: 600})
		pass, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 0, patient)
		require.NoError(t, err)
		pass.Done(lane.Outcome{Throttled: true, RetryAfter: 90 * time.Second})
		start := time.Now()
		_, err = l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 0, 30*time.Second)
		closed, ok := errors.AsType[*lane.Closed](err)
		require.True(t, ok)
		require.Zero(t, time.Since(start))
		require.Equal(t, 90*time.Second, closed.Until.Sub(start))
		require.NoError(t, closed.Why)

		time.Sleep(90 * time.Second)
		busy, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 0, patient)
		require.NoError(t, err)
		_, err = l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 0, 30*time.Second)
		require.Error(t, err, "behind a call that never ends")
		require.Equal(t, 120*time.Second, time.Since(start))
		busy.Done(lane.Outcome{})
	})
}

// A used-up quota rejects all calls at once, including waiting calls; it is tried again later.
func TestLane_stops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, used := lane.New(lane.Limits{Concurrency: 1}), errors.New("no money left")
		pass, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 0, patient)
		require.NoError(t, err)
		waiting := make(chan error)
		go func() {
			_, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 0, patient)
			waiting <- err
		}()
		synctest.Wait()
		pass.Done(lane.Outcome{Stop: used})
		require.ErrorIs(t, <-waiting, used)
		_, err = l.Enter(t.Context(), lane.Caller{Tenant: "other"}, 0, patient)
		require.ErrorIs(t, err, used)
		time.Sleep(6 * time.Minute)
		_, err = l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 0, patient)
		require.NoError(t, err, "the quota may be available again")
	})
}

// Turns are fair among tenants and among the tasks of each tenant.
func TestLane_fair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New(lane.Limits{Concurrency: 1})
		var mu sync.Mutex
		var order []lane.Caller
		var all sync.WaitGroup
		enter := func(of lane.Caller) {
			all.Go(func() {
				pass, err := l.Enter(t.Context(), of, 0, patient)
				require.NoError(t, err)
				mu.Lock()
				order = append(order, of)
				mu.Unlock()
				time.Sleep(time.Second)
				pass.Done(lane.Outcome{})
			})
			synctest.Wait()
		}
		batch, question, other := lane.Caller{Tenant: "large", Task: "batch"}, lane.Caller{Tenant: "large", Task: "question"}, lane.Caller{Tenant: "small", Task: "batch"}
		for range 20 {
			enter(batch)
		}
		enter(question)
		enter(other)
		enter(other)
		all.Wait()
		require.Equal(t, []lane.Caller{batch, batch, other, question, other, batch, batch}, order[:7])
	})
}

// A caller that leaves at any moment frees its slot.
func TestLane_leaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New(lane.Limits{Concurrency: 2, Requests: 6000})
		for i := range 200 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
			go func() {
				defer cancel()
				if pass, err := l.Enter(ctx, lane.Caller{Tenant: fmt.Sprint(i % 3), Task: fmt.Sprint(i % 5)}, 0, patient); err == nil {
					time.Sleep(20 * time.Millisecond)
					pass.Done(lane.Outcome{})
				} else {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
			}()
		}
		time.Sleep(time.Minute)
		began := flow(t, l, 4, 0, time.Second)
		require.Less(t, last(began), 1100*time.Millisecond, "both slots are free again")
	})
}

func TestLane_learns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New(lane.Limits{Requests: 6000})
		for _, told := range []float64{60_000, 60} {
			pass, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 0, patient)
			require.NoError(t, err)
			pass.Done(lane.Outcome{Limits: lane.Limits{Requests: told}})
		}
		require.LessOrEqual(t, busiest(flow(t, l, 70, 0, 0)), 61)
	})
}

// Calls that use five times the estimate, reported only at their end, still keep the limit: the ratio is learned from
// the first calls that end.
func TestLane_learnsWhatCallsUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := lane.New(lane.Limits{Concurrency: 50, Tokens: 600_000}), time.Now()
		began := make([]time.Duration, 500)
		var all sync.WaitGroup
		for i := range began {
			all.Go(func() {
				pass, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 600, patient)
				require.NoError(t, err)
				began[i] = time.Since(start)
				time.Sleep(5 * time.Second)
				pass.Done(lane.Outcome{Tokens: 3000})
			})
		}
		all.Wait()
		require.LessOrEqual(t, busiest(began), 201)
		require.Less(t, last(began), 160*time.Second, "the limit should be used")
	})
}

// A call that gives up at the moment of its rejection must not return an admission that it never had.
func TestLane_givesUpWhileRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New(lane.Limits{Concurrency: 1})
		pass, err := l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 1, patient)
		require.NoError(t, err)
		ctx, giveUp := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				_, err := l.Enter(ctx, lane.Caller{Tenant: "acme"}, 1, patient)
				require.Error(t, err)
			})
		}
		synctest.Wait()
		giveUp()
		pass.Done(lane.Outcome{Stop: errors.New("no money left")})
		all.Wait()

		time.Sleep(10 * time.Minute) // the lane is open again
		_, err = l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 1, time.Second)
		require.NoError(t, err)
		_, err = l.Enter(t.Context(), lane.Caller{Tenant: "acme"}, 1, time.Second)
		require.Error(t, err, "the concurrency limit is 1")
	})
}

// An unused pass returns its slot, its request and its tokens.
func TestPass_back(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := lane.New(lane.Limits{Concurrency: 1, Requests: 60, Tokens: 60_000})
		began := time.Now()
		for range 10 {
			pass, err := l.Enter(t.Context(), lane.Caller{}, 1000, time.Minute)
			require.NoError(t, err)
			pass.Back()
		}
		require.Zero(t, time.Since(began))
		require.Zero(t, l.State().InFlight)
	})
}
