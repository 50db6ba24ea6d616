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

// twoProviders returns a stack with a second provider as fallback of the first. A token costs 1 USD per million at the
// first and 10 USD per million at the second.
func twoProviders(t *testing.T, settings ...string) (s *stack, second *llmtest.Provider) {
	second = llmtest.New(t)
	models := `[{"name":"main","price":{"input":1,"output":1},"fallbacks":["spare"]}]`
	others := fmt.Sprintf(`[{"name":"second","base_url":%q,"key":"sk-test-secret-marker","models":[{"name":"spare","price":{"input":10,"output":10}}]}]`, second.URL())
	return newStack(t, append([]string{"LONGHAUL_LLM_MODEL=main", "LONGHAUL_LLM_MODELS=" + models, "LONGHAUL_LLM_PROVIDERS=" + others}, settings...)...), second
}

// The usage of a task equals the provider's journal to the token, including failed calls that reported usage, repeated
// calls after cut answers, and fallbacks.
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
	s.provider.On("[doc-005]", cut) // cut twice: the fallback answers
	s.provider.On("[doc-006]", llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"content_filter"}}`))
	done := s.finish(s.submit(notes(10)))

	require.Equal(t, task.Partial, done.Outcome)
	require.Equal(t, 9, done.Progress.Counts.Succeeded)
	first, other := s.provider.Spent(), second.Spent()
	u := done.Usage
	require.EqualValues(t, first.Input+first.Output+other.Input+other.Output, u.InputTokens+u.OutputTokens+u.WastedTokens)
	require.EqualValues(t, 5*100, u.WastedTokens, "five failed answers of 100 tokens")
	require.EqualValues(t, 1, u.UnmeteredCalls, "the cut stream reported no usage")
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
	require.Equal(t, s.provider.Counts().Total+second.Counts().Total, attempts, "attempts equal calls")
}

// A cancelled task reports its usage, including the calls that the cancel interrupted.
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
	require.EqualValues(t, 5, done.Usage.UnmeteredCalls, "interrupted calls report no usage")
	attempts := 0
	for _, item := range s.everyItem(id) {
		attempts += item.Attempts
	}
	require.Equal(t, 8, attempts)
}

// The cost of a task is booked once: reads and a killed worker do not change it, and a replay reports only what it adds.
func TestCost_bookedOnce(t *testing.T) {
	s := newStack(t, `LONGHAUL_LLM_MODEL=main`, `LONGHAUL_LLM_MODELS=[{"name":"main","price":{"input":1,"output":1}}]`)
	for i := range 3 {
		s.provider.On(fmt.Sprintf("[doc-%03d]", i), llmtest.Reply{}.After(llmtest.Forever), unknownModel())
	}
	id := s.submit(notes(30))
	require.Eventually(t, func() bool { return s.countItems(id, "succeeded") == 27 }, time.Minute, 50*time.Millisecond)
	s.worker.kill()
	s.worker = s.start("worker")
	done := s.finish(id)
	require.Equal(t, task.Partial, done.Outcome)
	cost := func(id string) float64 {
		t, err := s.client.Get(s.soon(), id)
		require.NoError(s.t, err)
		var sum task.Usage
		for _, item := range s.everyItem(id) {
			sum = sum.Add(item.Usage)
		}
		require.Equal(s.t, t.Usage, sum, "the cost of a task is the sum of its items")
		return t.Usage.Cost.Amount
	}
	journal := func() float64 { spent := s.provider.Spent(); return float64(spent.Input+spent.Output) / 1e6 }
	before := journal()
	for range 20 {
		s.get("/v1/tasks/" + id + "/result")
		require.InDelta(t, before, cost(id), 1e-9)
	}
	for i := range 3 {
		s.provider.On(fmt.Sprintf("[doc-%03d]", i), llmtest.Reply{})
	}
	replay := s.replay(id, task.ReplayOrder{})
	require.Equal(t, task.Full, replay.Outcome)
	require.EqualValues(t, 3, replay.Usage.Requests)
	require.InDelta(t, journal()-before, cost(replay.ID), 1e-9)
	require.InDelta(t, before, cost(id), 1e-9, "the replayed task keeps its cost")
}

// A task that reaches its budget ends and keeps its results. A budget is refused for a model without a price.
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
	require.Less(t, done.Progress.Counts.Succeeded, 30, "the task ends within seconds")

	status, answer := s.post("/v1/tasks", `{"kind":"summary","input":{"documents":[{"text":"a"}]},"budget":1,"model":"unpriced"}`)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, answer, "/budget")
}
