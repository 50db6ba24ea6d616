package main

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

// Two hundred documents, and the first call is told to come back later: no call is made until then but
// those on their way, and afterwards each document costs one.
func TestRateLimitInTheMiddle(t *testing.T) {
	const hint = 5 // seconds; a minute would show no more
	const slots = 50
	s := newStack(t)
	s.provider.Handle(func(call llmtest.Call) llmtest.Reply {
		switch {
		case call.Number == 1:
			return llmtest.RateLimit(hint).After(time.Second)
		case call.Number <= slots:
			return llmtest.Reply{}.After(3 * time.Second) // so that none ends before the first is told
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
	require.LessOrEqual(t, early, slots, "only calls that were on their way may arrive while the provider asks to wait")
	require.Len(t, calls, 201)
	require.Equal(t, map[string]int{calls[0].Hash: 2}, s.provider.Repeats(), "none is paid for twice")
	require.EqualValues(t, 200, done.Usage.Requests)
	s.requireAttempts(done.ID, 201)
}

// requireAttempts checks that the items of a task tell of all calls that were made, and of no other.
func (s *stack) requireAttempts(id string, calls int) []task.Item {
	s.t.Helper()
	items, sum := s.everyItem(id), 0
	for _, item := range items {
		sum += item.Attempts
		if item.Error != nil {
			require.Equal(s.t, item.Attempts, item.Error.Attempts, "%s", item.Name)
		}
	}
	require.Equal(s.t, calls, sum, "attempts told are calls made")
	return items
}

// A wait that is longer than a worker bears is Temporal's: the one slot of the worker is free meanwhile, so
// all calls come to it and leave again, and the task says until when it waits.
func TestLongWaitHoldsNoSlot(t *testing.T) {
	// Longer than the half minute that a call waits inside the worker, and enough so that all calls have come
	// before less than that is left.
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
	}, 30*time.Second, 50*time.Millisecond, "a call waits inside the worker")
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
	t.Logf("told to wait %s, until %.1f s; called again after %.1f s", hint,
		now.Waiting.Until.Sub(first[0].Ended).Seconds(), calls[1].Began.Sub(first[0].Ended).Seconds())
	require.False(t, calls[1].Began.Before(reopens), "a call was made too early")
	for _, item := range s.requireAttempts(id, 4) {
		require.Len(t, s.provider.CallsWith("[doc-00"+item.ID+"]"), item.Attempts)
	}
}

// pending is what a workflow waits for, as Temporal tells it.
func (s *stack) pending(id string) []*workflowpb.PendingActivityInfo {
	d, err := s.describe(id)
	if err != nil {
		return nil // not there yet
	}
	return d.RawResponse.GetPendingActivities()
}

// An account without money is asked once, and the task says in the provider's words what to do.
func TestNoMoney(t *testing.T) {
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

// RC-03: a provider that is silent for long, and then answers, is called once: neither the silence that is allowed
// within an answer nor the heartbeat of the call counts before the first byte.
func TestRC03_silentThenAnswers(t *testing.T) {
	// Three heartbeat timeouts, and a dozen times the silence within an answer: what seven minutes are to
	// the two that are allowed by default, several times over.
	const silence = 13 * time.Second
	s := newStack(t, "LONGHAUL_LLM_IDLE_TIMEOUT=1s")
	s.provider.On("[doc-000]", llmtest.Reply{}.After(silence))
	late := llmtest.Answer("All is well.", llmtest.Usage{Input: 100, Output: 4})
	late.Parts = [][]byte{{}, slices.Concat(late.Parts...)} // the status line at once
	s.provider.On("[doc-001]", late.Every(silence))
	done := s.finish(s.submit(notes(2)))
	require.Equal(t, task.Full, done.Outcome)
	calls := s.provider.Calls()
	require.Len(t, calls, 2)
	for _, call := range calls {
		require.Equal(t, http.StatusOK, call.Status)
		require.GreaterOrEqual(t, call.Ended.Sub(call.Began), silence)
	}
	s.requireAttempts(done.ID, 2)
}

// A provider that never answers is given up at the end of the time for one call, as often as is configured,
// and its sockets are closed.
func TestNeverAnswers(t *testing.T) {
	s := newStack(t, "LONGHAUL_LLM_TIMEOUT=3s", "LONGHAUL_LLM_MAX_ATTEMPTS=2")
	s.provider.On("[doc-000]", llmtest.Reply{}.After(llmtest.Forever))
	s.provider.On("[doc-001]", llmtest.Reply{End: llmtest.Silence})
	s.provider.On("[doc-002]", llmtest.Reply{End: llmtest.Ping})
	done := s.finish(s.submit(notes(4)))
	require.Equal(t, task.Partial, done.Outcome)
	require.NoError(t, s.provider.WaitGone(s.soon(), 6))
	counts := s.provider.Counts()
	require.Equal(t, []int{7, 6, 0}, []int{counts.Total, counts.Gone, counts.InFlight})
	for _, item := range s.requireAttempts(done.ID, 7)[:3] {
		require.Equal(t, 2, item.Attempts)
		require.Equal(t, task.AnswerIncomplete, item.Error.Code)
		require.Contains(t, item.Error.Detail, "not complete after 3s")
	}
}

// Nor does it keep a task beyond its deadline, whatever the time for one call is.
func TestNeverAnswers_deadline(t *testing.T) {
	s := newStack(t)
	s.provider.On("[doc-000]", llmtest.Reply{}.After(llmtest.Forever))
	done := s.finish(s.begin("summary", notes(2), map[string]any{"deadline": "15s"})) // a busy machine takes some seconds to the first call
	require.NoError(t, s.provider.WaitGone(s.soon(), 1))
	require.Equal(t, task.Failed, done.Status)
	require.Equal(t, task.Partial, done.Outcome)
	require.Equal(t, task.DeadlineExceeded, done.Error.Code)
	require.False(t, done.FinishedAt.Before(*done.DeadlineAt))
	t.Logf("ended %.1f s after the deadline", done.FinishedAt.Sub(*done.DeadlineAt).Seconds())
	require.Equal(t, 2, s.provider.Counts().Total)
	items := s.everyItem(done.ID)
	require.Equal(t, task.DeadlineExceeded, items[0].Error.Code)
	require.Equal(t, task.ItemSucceeded, items[1].Status)
}

// Whatever the calls of a task meet, the attempts that it tells are the calls that were made.
func TestMixedRun(t *testing.T) {
	s := newStack(t, "LONGHAUL_LLM_MAX_ATTEMPTS=3", "LONGHAUL_LLM_CHUNK_TOKENS=300")
	good, busy := llmtest.Reply{}, llmtest.RateLimit(1)
	broken, down := llmtest.Fail(http.StatusInternalServerError, "oops"), llmtest.Fail(http.StatusServiceUnavailable, "no upstream")
	cut := llmtest.Stream(llmtest.Delta("All was ", "")).Then(llmtest.Cut)
	refused := llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"flagged","code":"content_filter"}}`)
	scripts := [][]llmtest.Reply{
		{good},
		{busy, good},
		{broken, good},
		{cut, good},
		{broken, broken, broken},
		{cut, cut, cut},
		{busy, broken, busy, cut, good},
		{refused},
		{down, good},
		{cut.Then(llmtest.Reset), good},
		{good},
	}
	failed := map[string]bool{"4": true, "5": true, "7": true}
	in, scripted := notes(len(scripts)), 0
	for i, script := range scripts {
		s.provider.On(in.Documents[i].Text[7:16], script...)
		scripted += len(script)
	}
	s.provider.On("On day 44 ", busy, broken, cut, good) // in one part of the long document
	in.Documents = append(in.Documents, task.Document{Text: story(1500)})
	done := s.finish(s.submit(in))
	require.Equal(t, task.Partial, done.Outcome)

	total, answered := s.provider.Counts().Total, int64(0)
	items := s.requireAttempts(done.ID, total)
	for i, item := range items[:len(scripts)] {
		require.Len(t, s.provider.CallsWith(in.Documents[i].Text[7:16]), len(scripts[i]))
		require.Equal(t, len(scripts[i]), item.Attempts, item.Name)
		require.Equal(t, failed[item.ID], item.Status == task.ItemFailed, "%s: %+v", item.Name, item.Error)
	}
	for _, item := range items {
		answered += item.Usage.Requests
	}
	long := items[len(scripts)]
	require.Equal(t, total-scripted, long.Attempts)
	require.EqualValues(t, long.Attempts-3, long.Usage.Requests, "three of its calls failed")
	require.Equal(t, answered, done.Usage.Requests)
	t.Logf("%d calls, %d of them answered", total, answered)

	lone := task.SummaryInput{Documents: []task.Document{{Text: "Report [lone]."}}}
	s.provider.On("[lone]", busy, broken)
	end := s.finish(s.submit(lone))
	require.Equal(t, task.Failed, end.Status)
	require.Len(t, s.provider.CallsWith("[lone]"), 4)
	require.Equal(t, 4, end.Error.Attempts, "the task tells it, too")
}
