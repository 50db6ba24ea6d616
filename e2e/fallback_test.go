package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// A closed provider does not slow down the tasks of another provider.
func TestProviders_independentLanes(t *testing.T) {
	s, second := twoProviders(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=4")
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.RateLimit(600) })
	closed := s.submit(notes(40))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	done := s.finish(s.begin("summary", notes(12), map[string]any{"model": "spare"}))
	require.Equal(t, task.Full, done.Outcome)
	require.Equal(t, 12, second.Counts().Total)
	require.LessOrEqual(t, s.provider.Counts().Total, 4, "only calls in flight reach the closed provider")
	_, err := s.client.Cancel(s.soon(), closed)
	require.NoError(t, err)
	s.finish(closed)
}

// When a provider goes down during a task, its fallback takes over; nothing is lost or paid for twice.
func TestProviders_fallback(t *testing.T) {
	s, second := twoProviders(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=4")
	id := s.submit(notes(60))
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		if c.Number > 10 {
			return llmtest.Fail(http.StatusBadGateway, "<html>bad gateway</html>")
		}
		return llmtest.Reply{}
	})
	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome)
	require.LessOrEqual(t, s.provider.Counts().Total, 60)
	t.Logf("calls to the first %d, to the second %d", s.provider.Counts().Total, second.Counts().Total)
	require.EqualValues(t, 60, done.Usage.Requests)
	require.Empty(t, second.Repeats())
}
