package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// A provider that answers after a long silence is called once: neither the idle timeout nor the heartbeat timeout ends a
// call before the first byte.
func TestProvider_silentThenAnswers(t *testing.T) {
	// Longer than three heartbeat timeouts and a dozen idle timeouts, like seven minutes with the default idle timeout of
	// two minutes, and more.
	const silence = 13 * time.Second
	s := newStack(t, "LONGHAUL_LLM_IDLE_TIMEOUT=1s")
	s.provider.On("[doc-000]", llmtest.Reply{}.After(silence))
	late := llmtest.Answer("All is well.", llmtest.Usage{Input: 100, Output: 4})
	late.Parts = [][]byte{{}, slices.Concat(late.Parts...)} // sends the status line first
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

// A call without an answer ends at the timeout for a call, is repeated as often as configured, and closes its socket.
func TestProvider_neverAnswers(t *testing.T) {
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

// A call without an answer does not keep a task beyond its deadline.
func TestDeadline_endsSilentCall(t *testing.T) {
	s := newStack(t)
	s.provider.On("[doc-000]", llmtest.Reply{}.After(llmtest.Forever))
	done := s.finish(s.begin("summary", notes(2), map[string]any{"deadline": "15s"})) // a busy machine needs seconds until the first call
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

// The attempts of the items equal the calls made, whatever failures the calls meet.
func TestAttempts_equalCallsMade(t *testing.T) {
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
	s.provider.On("On day 44 ", busy, broken, cut, good) // in a part of the long document
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
	require.Equal(t, 4, end.Error.Attempts, "the task reports the attempts too")
}

// While the provider is unreachable calls use up no attempts; they continue when it is back.
func TestProvider_outageUsesNoAttempts(t *testing.T) {
	s := newStack(t, "LONGHAUL_LLM_MAX_ATTEMPTS=1")
	address := strings.TrimSuffix(strings.TrimPrefix(s.provider.URL(), "http://"), "/v1")
	s.provider.Close()
	id := s.submit(notes(3))
	var now task.Task
	require.Eventually(t, func() bool {
		_, body := s.get("/v1/tasks/" + id)
		return json.Unmarshal([]byte(body), &now) == nil && now.Retrying != nil && now.Retrying.Attempt >= 3
	}, time.Minute, 100*time.Millisecond)
	require.Contains(t, now.Retrying.LastError, "cannot be reached")
	require.NotContains(t, now.Retrying.LastError, address, "tenants must not see the provider's address")
	back, err := llmtest.Start(address)
	require.NoError(t, err)
	t.Cleanup(back.Close)
	require.Equal(t, task.Full, s.finish(id).Outcome)
	require.Equal(t, 3, back.Counts().Total)
}

// Each retry knows the attempts before it: a provider that fails is called as often as configured and no more, a provider
// that asks to wait as often as it asks.
func TestAttempts_countAcrossRetries(t *testing.T) {
	s := newStack(t, "LONGHAUL_LLM_MAX_ATTEMPTS=3")
	busy := llmtest.Fail(http.StatusTooManyRequests, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`).With("Retry-After", "1")
	s.provider.On("[doc-000]", llmtest.Fail(http.StatusInternalServerError, "oops"))
	s.provider.On("[doc-001]", busy, busy, busy, busy, busy, busy, llmtest.Reply{})
	done := s.finish(s.submit(notes(2)))
	require.Equal(t, task.Partial, done.Outcome)
	require.Len(t, s.provider.CallsWith("[doc-000]"), 3)
	_, failed := s.get("/v1/tasks/" + done.ID + "/items?status=failed")
	require.Contains(t, failed, `"attempts":3`)
	require.NotContains(t, failed, "was lost")
	calls := s.provider.CallsWith("[doc-001]")
	require.Len(t, calls, 7)
	for i, call := range calls[1:] {
		require.GreaterOrEqual(t, call.Began.Sub(calls[i].Ended), time.Second, "call %d came too early", i+2)
	}
}
