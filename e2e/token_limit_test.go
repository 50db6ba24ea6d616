package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// strictLimit is a provider's rate limit for any period of a given length.
type strictLimit struct {
	most    int // calls or tokens
	per     time.Duration
	taken   []spending // within the last period
	sum     int        // of taken
	refused int
}

type spending struct {
	at time.Time
	n  int
}

// handle returns a handler that answers each call after latency, with usage, and refuses calls over the limit. A call
// uses cost of the limit.
func (s *strictLimit) handle(usage llmtest.Usage, cost int, latency time.Duration) func(llmtest.Call) llmtest.Reply {
	return func(call llmtest.Call) llmtest.Reply {
		if !s.take(time.Now(), cost) {
			s.refused++
			return llmtest.RateLimit(1).After(latency)
		}
		return llmtest.Answer("All is well with "+call.Hash+".", usage).After(latency)
	}
}

func (s *strictLimit) take(now time.Time, n int) bool {
	for len(s.taken) > 0 && now.Sub(s.taken[0].at) > s.per {
		s.sum -= s.taken[0].n
		s.taken = s.taken[1:]
	}
	if s.sum+n > s.most {
		return false
	}
	s.taken, s.sum = append(s.taken, spending{now, n}), s.sum+n
	return true
}

// share starts workers until there are the given number, and waits until each has counted all of them. The workers must
// log at debug level.
func (s *stack) share(workers int) {
	all := []*process{s.worker}
	for len(all) < workers {
		all = append(all, s.start("worker"))
	}
	logged := fmt.Sprintf("workers=%d", workers)
	for _, p := range all {
		require.Eventually(s.t, func() bool {
			text, err := os.ReadFile(p.log)
			return err == nil && strings.Contains(string(text), logged)
		}, time.Minute, 50*time.Millisecond, "a worker does not know that there are %d", workers)
	}
}

// One worker alone, and three workers together, keep the limit of tokens per minute although calls use more tokens than
// estimated.
func TestTokenLimit_sharedByWorkers(t *testing.T) {
	// The provider limits five seconds instead of a minute, to keep the test short. A period allows its share of the minute
	// and the fiftieth that longhaul may use at once; another fiftieth is the tolerance for a busy machine. Without longhaul's
	// limit the provider would refuse about thirty calls.
	const limit, stretch = 600_000, 5 * time.Second
	const most = limit/12 + 2*limit/50
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			s := newStack(t, fmt.Sprintf("LONGHAUL_LLM_TOKENS_PER_MINUTE=%d", limit), "LONGHAUL_LOG_LEVEL=debug")
			s.share(workers)
			limit := &strictLimit{most: most, per: stretch}
			s.provider.Handle(limit.handle(llmtest.Usage{Input: 400, Output: 600}, 1000, 500*time.Millisecond))
			done := s.finish(s.submit(notes(100)))
			require.Equal(t, task.Full, done.Outcome)
			require.EqualValues(t, 100_000, done.Usage.InputTokens+done.Usage.OutputTokens)
			calls := s.provider.Counts().Total
			t.Logf("%d calls of 1000 tokens, %d refused, %.1f s", calls, limit.refused, done.FinishedAt.Sub(done.CreatedAt).Seconds())
			require.Equal(t, 100+limit.refused, calls)
			require.LessOrEqual(t, limit.refused, 3)
		})
	}
}
