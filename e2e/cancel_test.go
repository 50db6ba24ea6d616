package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// A cancel closes the calls in flight, whether they receive data or not, and ends the waits for retries.
func TestCancel_reachesCallsInFlight(t *testing.T) {
	s := newStack(t, "LONGHAUL_LLM_MAX_ATTEMPTS=50")
	s.provider.On("[doc-000]", llmtest.Reply{}.After(llmtest.Forever))
	s.provider.On("[doc-001]", llmtest.Reply{End: llmtest.Silence})
	s.provider.On("[doc-002]", llmtest.Stream(llmtest.Delta("All is ", "")).Then(llmtest.Ping))
	s.provider.On("[doc-003]", llmtest.Fail(http.StatusInternalServerError, "oops")) // waits for a retry
	s.provider.On("[doc-004]", llmtest.RateLimit(600))                               // closes the lane for later calls
	id := s.submit(notes(6))
	require.NoError(t, s.provider.WaitFor(s.soon(), 5))
	asked := time.Now()
	now, err := s.client.Cancel(s.soon(), id)
	require.NoError(t, err)
	require.Equal(t, task.Cancelling, now.Status)
	states := sequence{id: id}
	require.NoError(t, s.provider.WaitGone(s.soon(), 3))
	t.Logf("sockets closed %.1f s after the cancel", time.Since(asked).Seconds())
	done, err := s.client.Watch(s.soon(), id, func(now task.Task) { require.NoError(t, states.add(now)) })
	require.NoError(t, err)
	require.Equal(t, task.Cancelled, done.Status)
	made := s.provider.Counts().Total
	time.Sleep(3 * time.Second) // longer than the wait for a retry
	require.Equal(t, made, s.provider.Counts().Total)
}

// A task that is cancelled while it waits for the lane or for its start time makes no call.
func TestCancel_waitingTaskMakesNoCall(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=1")
	s.provider.On("[first]", llmtest.Reply{}.After(4*time.Second))
	one := func(text string, more map[string]any) string {
		return s.begin("summary", task.SummaryInput{Documents: []task.Document{{Text: text}}}, more)
	}
	first := one("[first] note", nil)
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	queued, delayed := one("[queued] note", nil), one("[delayed] note", map[string]any{"delay": "6s"})
	for _, id := range []string{queued, delayed} {
		_, err := s.client.Cancel(s.soon(), id)
		require.NoError(t, err)
	}
	for _, id := range []string{queued, delayed} {
		done := s.finish(id)
		require.Equal(t, task.Cancelled, done.Status)
		status, _ := s.post("/v1/tasks/"+id+"/cancel", "")
		require.Equal(t, http.StatusOK, status, "a second cancel changes nothing")
		for _, other := range []string{strings.ToUpper(id), strings.ReplaceAll(id, "_", ""), id + "x"} {
			status, _ = s.post("/v1/tasks/"+other+"/cancel", "")
			require.Equal(t, http.StatusNotFound, status, other)
		}
	}
	require.Equal(t, task.Full, s.finish(first).Outcome)
	time.Sleep(4 * time.Second) // past the start time of the delayed task
	require.Equal(t, 1, s.provider.Counts().Total)
}

// A cancel and a deadline keep the rows that were paid for. The result has a line for every row.
func TestCancel_keepsPaidRows(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=100") // more slots than silent calls
	for i := 60; i < 100; i++ {
		s.provider.On(fmt.Sprintf("row %06d.", i), llmtest.Reply{End: llmtest.Silence})
	}
	rows := s.generate(100)
	cancelled := s.begin("generate", rows, nil)
	late := s.begin("generate", rows, map[string]any{"deadline": "25s"})
	require.Eventually(t, func() bool { return s.countItems(cancelled, "succeeded") == 60 }, time.Minute, 100*time.Millisecond)
	_, err := s.client.Cancel(s.soon(), cancelled)
	require.NoError(t, err)
	for id, word := range map[string]string{cancelled: "cancelled", late: "failed"} {
		done := s.finish(id)
		require.Equal(t, task.Partial, done.Outcome)
		lines := s.results(id, "results.jsonl")
		require.Len(t, lines, 100)
		for i, line := range lines {
			if i < 60 {
				require.Equal(t, "succeeded", line.Status)
				continue
			}
			require.Equal(t, word, line.Status)
			require.NotEmpty(t, line.Error)
		}
		require.Equal(t, 60, done.Progress.Counts.Succeeded)
		require.EqualValues(t, 60, done.Usage.Requests)
		require.Equal(t, done.Usage, s.rowsReceipt(id).Usage)
	}
	require.Equal(t, task.DeadlineExceeded, s.finish(late).Error.Code)
}

// Nothing that arrives after a cancel changes the task: no reply of a person, no pause and no resume.
func TestCancel_isFinal(t *testing.T) {
	d := newToolServer(t)
	s := newStack(t, d.allowPrivate())
	s.scriptTurns(callTool("pay", "one"), finalAnswer("done"))
	id := s.submitAgent(task.AgentInput{Goal: "pay", Tools: []task.ToolSpec{d.tool("pay", "POST", task.Always)}})
	request := s.waitInput(id)
	_, err := s.client.Cancel(s.soon(), id)
	require.NoError(t, err)
	done := s.finish(id)
	require.Equal(t, task.Cancelled, done.Status)
	for path, body := range map[string]string{
		"input": fmt.Sprintf(`{"request":%q,"action":"approve"}`, request.ID), "pause": "", "resume": "",
	} {
		status, answer := s.post("/v1/tasks/"+id+"/"+path, body)
		require.Equal(t, http.StatusConflict, status, "%s: %s", path, answer)
	}
	now, err := s.client.Get(s.soon(), id)
	require.NoError(t, err)
	require.Equal(t, done, now)
	require.Empty(t, d.requests())
}

// A cancel closes the sockets of the calls in flight and keeps the finished items.
func TestCancel_keepsFinishedItems(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=8")
	for i := range 5 {
		s.provider.On(fmt.Sprintf("[doc-%03d]", i), llmtest.Reply{})
	}
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{End: llmtest.Silence} })
	id := s.submit(notes(10))
	require.NoError(t, s.provider.WaitFor(s.soon(), 10))
	require.Eventually(t, func() bool { return s.countItems(id, "succeeded") == 5 }, 30*time.Second, 20*time.Millisecond)

	asked := time.Now()
	status, _ := s.post("/v1/tasks/"+id+"/cancel", "")
	require.Equal(t, http.StatusAccepted, status)
	require.NoError(t, s.provider.WaitGone(s.soon(), 5))
	t.Logf("sockets closed %.1f s after the cancel", time.Since(asked).Seconds())
	done := s.finish(id)
	require.Equal(t, task.Cancelled, done.Status)
	require.Equal(t, task.Partial, done.Outcome)
	require.Equal(t, 5, s.countItems(id, "succeeded"))
	require.Equal(t, 5, s.countItems(id, "cancelled"))
	status, body := s.get("/v1/tasks/" + id + "/result")
	require.Equal(t, http.StatusOK, status, body)
	status, _ = s.post("/v1/tasks/"+id+"/cancel", "")
	require.Equal(t, http.StatusOK, status, "a second cancel of an ended task changes nothing")
	require.Equal(t, 10, s.provider.Counts().Total)
}
