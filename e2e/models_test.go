package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// twoProviders is a stack with a second provider that stands in for the first; a token costs a millionth at the first and
// ten at the second.
func twoProviders(t *testing.T, settings ...string) (s *stack, second *llmtest.Provider) {
	second = llmtest.New(t)
	models := `[{"name":"main","price":{"input":1,"output":1},"fallbacks":["spare"]}]`
	others := fmt.Sprintf(`[{"name":"second","base_url":%q,"key":"sk-test-secret-marker","models":[{"name":"spare","price":{"input":10,"output":10}}]}]`, second.URL())
	return newStack(t, append([]string{"LONGHAUL_LLM_MODEL=main", "LONGHAUL_LLM_MODELS=" + models, "LONGHAUL_LLM_PROVIDERS=" + others}, settings...)...), second
}

// What a task says that it cost is what the providers said, to the token: answers, failed calls that told what they used,
// answers that were cut and given again, and who stood in.
func TestCost_equalsTheJournal(t *testing.T) {
	s, second := twoProviders(t)
	usage := llmtest.Usage{Input: 70, Output: 30}
	cut := llmtest.Stream(llmtest.Delta("half", ""), llmtest.Delta("", "length"), llmtest.UsageEvent(usage), "[DONE]")
	abort := llmtest.Stream(llmtest.Delta("half", ""), llmtest.UsageEvent(usage), llmtest.Delta("", "abort"), "[DONE]")
	lost := llmtest.Stream(llmtest.Delta("half", "")).Then(llmtest.Cut)
	s.provider.On("[doc-001]", llmtest.Fail(http.StatusInternalServerError, `{"error":{"message":"oops"}}`), llmtest.Reply{})
	s.provider.On("[doc-002]", cut, llmtest.Reply{})
	s.provider.On("[doc-003]", abort, abort, llmtest.Reply{})
	s.provider.On("[doc-004]", lost, llmtest.Reply{})
	s.provider.On("[doc-005]", cut) // cut again: the second gives it
	s.provider.On("[doc-006]", llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"content_filter"}}`))
	done := s.finish(s.submit(notes(10)))

	require.Equal(t, task.Partial, done.Outcome)
	require.Equal(t, 9, done.Progress.Counts.Succeeded)
	first, other := s.provider.Spent(), second.Spent()
	u := done.Usage
	require.EqualValues(t, first.Input+first.Output+other.Input+other.Output, u.InputTokens+u.OutputTokens+u.WastedTokens)
	require.EqualValues(t, 5*100, u.WastedTokens, "two cut, two broken off, one of them twice")
	require.EqualValues(t, 1, u.UnmeteredCalls, "nobody knows what the cut stream cost")
	require.EqualValues(t, 9, u.Requests)
	require.Equal(t, &task.Cost{Amount: float64(first.Input+first.Output+10*(other.Input+other.Output)) / 1e6, Currency: "USD"}, u.Cost)

	var sum task.Usage
	attempts := 0
	for _, item := range s.everyItem(done.ID) {
		sum, attempts = sum.Add(item.Usage), attempts+item.Attempts
		if item.Index == 5 {
			require.Equal(t, "second/spare", item.Model)
		}
	}
	require.Equal(t, u, sum)
	require.Equal(t, s.provider.Counts().Total+second.Counts().Total, attempts, "attempts told are calls made")
}

// A cancelled task tells what it used by then: the calls that were cut off too.
func TestCost_afterCancel(t *testing.T) {
	s, _ := twoProviders(t)
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		if c.Number > 3 {
			return llmtest.Reply{}.After(llmtest.Forever)
		}
		return llmtest.Reply{}
	})
	id := s.submit(notes(8))
	require.NoError(t, s.provider.WaitFor(s.soon(), 8))
	require.Eventually(t, func() bool { return s.provider.Counts().Answered >= 3 }, 30*time.Second, 20*time.Millisecond)
	_, err := s.client.Cancel(s.soon(), id)
	require.NoError(t, err)
	done := s.finish(id)
	spent := s.provider.Spent()
	require.EqualValues(t, spent.Input+spent.Output, done.Usage.InputTokens+done.Usage.OutputTokens)
	require.EqualValues(t, 3, done.Usage.Requests)
	require.EqualValues(t, 5, done.Usage.UnmeteredCalls, "they were under way, and nobody said what they used")
	attempts := 0
	for _, item := range s.everyItem(id) {
		attempts += item.Attempts
	}
	require.Equal(t, 8, attempts)
}

// One provider that is closed takes nothing from the tasks of another.
func TestProviders_independentLanes(t *testing.T) {
	s, second := twoProviders(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=4")
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.RateLimit(600) })
	closed := s.submit(notes(40))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	done := s.finish(s.begin("summary", notes(12), map[string]any{"model": "spare"}))
	require.Equal(t, task.Full, done.Outcome)
	require.Equal(t, 12, second.Counts().Total)
	require.LessOrEqual(t, s.provider.Counts().Total, 4, "the closed lane is not asked")
	_, err := s.client.Cancel(s.soon(), closed)
	require.NoError(t, err)
	s.finish(closed)
}

// A provider that goes down in the middle is stood in for, and nothing is lost or paid twice.
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

// A budget ends the task with what it has; without prices it is refused.
func TestBudget_endsTheTask(t *testing.T) {
	s, _ := twoProviders(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=2")
	s.provider.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.Answer("A summary.", llmtest.Usage{Input: 900, Output: 100}).After(300 * time.Millisecond)
	})
	id := s.begin("summary", notes(60), map[string]any{"budget": 0.01}) // a call costs 0.001
	done := s.finish(id)
	require.Equal(t, task.Failed, done.Status)
	require.Equal(t, task.Partial, done.Outcome)
	require.Equal(t, task.BudgetExceeded, done.Error.Code)
	require.GreaterOrEqual(t, done.Progress.Counts.Succeeded, 10)
	require.Less(t, done.Progress.Counts.Succeeded, 30, "it stops within seconds")

	status, answer := s.post("/v1/tasks", `{"kind":"summary","input":{"documents":[{"text":"a"}]},"budget":1,"model":"unpriced"}`)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, answer, "/budget")
}
