package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// After one rate-limited call no call begins until the time that the provider asked for; then the calls start again with
// one.
func TestLane_closesOnRateLimit(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=5")
	s.provider.On("[doc-000]", llmtest.RateLimit(5), llmtest.Reply{})
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(100 * time.Millisecond) })
	require.Equal(t, task.Full, s.finish(s.submit(notes(60))).Outcome)
	turned := s.provider.CallsWith("[doc-000]")[0].Ended
	during, after := 0, 0
	for _, call := range s.provider.Calls() {
		switch wait := call.Began.Sub(turned); {
		case wait > 500*time.Millisecond && wait < 5*time.Second: // earlier calls were in flight
			during++
		case wait >= 5*time.Second && wait < 5*time.Second+90*time.Millisecond:
			after++
		}
	}
	require.Zero(t, during, "no call while the provider asks to wait")
	require.LessOrEqual(t, after, 1, "the lane reopens with a single call")
	require.Equal(t, 61, s.provider.Counts().Total)
}

// A provider whose quota is exhausted gets no calls but those in flight, and every item says why it failed and what to
// do.
func TestLane_stopsWithoutQuota(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=2", "LONGHAUL_LLM_PROFILE=openai")
	s.provider.On("Report", llmtest.Fail(http.StatusTooManyRequests,
		`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`))
	done := s.finish(s.submit(notes(100)))
	require.Equal(t, task.Failed, done.Status)
	require.Contains(t, done.Error.Detail, "exceeded your current quota")
	require.LessOrEqual(t, s.provider.Counts().Total, 2)
	items := s.everyItem(done.ID)
	require.Len(t, items, 100)
	for _, item := range items {
		require.Equal(t, task.ModelQuota, item.Error.Code, "each item has the reason")
		require.Contains(t, item.Error.Detail, "run the task again", "each item has the way out")
	}
}

// When the first of 200 calls is rate-limited, only calls in flight arrive before the time that the provider asked for, and only
// the refused call is repeated.
func TestRateLimit_delaysAllCalls(t *testing.T) {
	const hint = 5 // seconds
	const slots = 50
	s := newStack(t)
	s.provider.Handle(func(call llmtest.Call) llmtest.Reply {
		switch {
		case call.Number == 1:
			return llmtest.RateLimit(hint).After(time.Second)
		case call.Number <= slots:
			return llmtest.Reply{}.After(3 * time.Second) // ends after the first call is refused
		default:
			return llmtest.Reply{}.After(50 * time.Millisecond)
		}
	})
	done := s.finish(s.submit(notes(200)))
	require.Equal(t, task.Full, done.Outcome)

	calls := s.provider.Calls()
	reopens := calls[0].Ended.Add(hint * time.Second)
	early := slices.IndexFunc(calls, func(c llmtest.Call) bool { return !c.Began.Before(reopens) })
	t.Logf("%d calls before the hinted time, %d in all, %.1f s", early, len(calls), done.FinishedAt.Sub(done.CreatedAt).Seconds())
	require.LessOrEqual(t, early, slots, "only calls in flight arrive while the provider asks to wait")
	require.Len(t, calls, 201)
	require.Equal(t, map[string]int{calls[0].Hash: 2}, s.provider.Repeats(), "only the refused call is repeated")
	require.EqualValues(t, 200, done.Usage.Requests)
	s.requireAttempts(done.ID, 201)
}

// Temporal holds a wait that is longer than a worker accepts, so the worker's only slot stays free for other calls. The
// task reports until when it waits.
func TestRateLimit_longWaitHoldsNoSlot(t *testing.T) {
	// Longer than the half minute for which a call waits inside the worker, so that all calls arrive before less than that
	// is left.
	const hint = 37 * time.Second
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=1")
	s.provider.Handle(func(call llmtest.Call) llmtest.Reply {
		if call.Number == 1 {
			return llmtest.RateLimit(int(hint.Seconds()))
		}
		return llmtest.Reply{}
	})
	id := s.submit(notes(3))
	require.Eventually(t, func() bool {
		pending := s.pending(record.GroupID(id, 0))
		return len(pending) == 3 && !slices.ContainsFunc(pending, func(p *workflowpb.PendingActivityInfo) bool {
			return p.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED || p.GetLastFailure() == nil
		})
	}, 30*time.Second, 50*time.Millisecond, "no call waits inside the worker")
	_, body := s.get("/v1/tasks/" + id)
	first := s.provider.Calls()
	require.Len(t, first, 1)
	reopens := first[0].Ended.Add(hint)
	var now task.Task
	require.NoError(t, json.Unmarshal([]byte(body), &now))
	require.NotNil(t, now.Waiting, body)
	require.Equal(t, task.WaitLimit, now.Waiting.Reason)
	require.WithinRange(t, *now.Waiting.Until, reopens, reopens.Add(hint/10+5*time.Second))

	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome)
	calls := s.provider.Calls()
	require.Len(t, calls, 4)
	t.Logf("retry after %s, announced for %.1f s; called again after %.1f s", hint,
		now.Waiting.Until.Sub(first[0].Ended).Seconds(), calls[1].Began.Sub(first[0].Ended).Seconds())
	require.False(t, calls[1].Began.Before(reopens), "no call before the hinted time")
	for _, item := range s.requireAttempts(id, 4) {
		require.Len(t, s.provider.CallsWith("[doc-00"+item.ID+"]"), item.Attempts)
	}
}

// A provider without quota is called once, and every item carries its message.
func TestQuota_explainedInTheTask(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=1", "LONGHAUL_LLM_PROFILE=openai")
	const words = "You exceeded your current quota, please check your plan and billing details."
	s.provider.On("Report", llmtest.Fail(http.StatusTooManyRequests,
		`{"error":{"message":"`+words+`","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`))
	done := s.finish(s.submit(notes(20)))
	require.Equal(t, task.Failed, done.Status)
	require.Contains(t, done.Error.Detail, words)
	require.Equal(t, 1, s.provider.Counts().Total)
	told := 0
	for _, item := range s.requireAttempts(done.ID, 1) {
		require.Equal(t, task.ModelQuota, item.Error.Code)
		require.Contains(t, item.Error.Detail, words)
		if item.Attempts == 0 {
			require.Contains(t, item.Error.Detail, "run the task again")
			told++
		}
	}
	require.Equal(t, 19, told)
}
