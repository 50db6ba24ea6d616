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

// A paused task finishes its calls in flight, makes no other, and continues when it is resumed.
func TestPause_makesNoCall(t *testing.T) {
	tests := map[string]func(s *stack) string{
		"documents": func(s *stack) string { return s.submit(notes(60)) },
		"rows": func(s *stack) string {
			file := s.upload("rows.jsonl", "application/jsonl", manyRows(200))
			return s.begin("generate", map[string]any{"file": map[string]any{"file_id": file}, "template": "About {{name}}"}, nil)
		},
		"one long document": func(s *stack) string {
			return s.submit(task.SummaryInput{Documents: []task.Document{{Name: "story", Text: story(30_000)}}})
		},
	}
	for name, begin := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=5", "LONGHAUL_LLM_CHUNK_TOKENS=1000")
			s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(200 * time.Millisecond) })
			id := begin(s)
			require.NoError(t, s.provider.WaitFor(s.soon(), 12))
			paused, err := s.client.PauseTask(s.soon(), id, "the cost is under review")
			require.NoError(t, err)
			require.Equal(t, task.Paused, paused.Status)
			require.Contains(t, paused.Waiting.Detail, "the cost is under review")

			time.Sleep(1500 * time.Millisecond) // a pause reaches a group within a second
			made := s.waitIdle()
			time.Sleep(3 * time.Second)
			require.Equal(t, made, s.provider.Counts().Total, "a paused task makes no call")
			require.Zero(t, s.provider.Counts().Gone, "calls in flight finished")

			again, err := s.client.PauseTask(s.soon(), id, "twice")
			require.NoError(t, err)
			require.Equal(t, task.Paused, again.Status)
			resumed, err := s.client.ResumeTask(s.soon(), id)
			require.NoError(t, err)
			require.Equal(t, task.Processing, resumed.Status)
			done := s.finish(id)
			require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
			require.Empty(t, s.provider.Repeats())
			require.EqualValues(t, s.provider.Counts().Total, done.Usage.Requests)
			status, _ := s.post("/v1/tasks/"+id+"/pause", "")
			require.Equal(t, http.StatusConflict, status)
		})
	}
}

// A pause interrupts no call in flight; a cancel of the paused task does.
func TestPause_thenCancel(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=2")
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(llmtest.Forever) })
	id := s.submit(notes(6))
	require.NoError(t, s.provider.WaitFor(s.soon(), 2))
	_, err := s.client.PauseTask(s.soon(), id, "")
	require.NoError(t, err)
	time.Sleep(2 * time.Second)
	require.Zero(t, s.provider.Counts().Gone, "a pause interrupts no call")

	_, err = s.client.Cancel(s.soon(), id)
	require.NoError(t, err)
	require.NoError(t, s.provider.WaitGone(s.soon(), 2), "a cancel closes the calls in flight")
	done := s.finish(id)
	require.Equal(t, task.Cancelled, done.Status)
	require.Equal(t, 2, s.provider.Counts().Total)
	require.Equal(t, task.Counts{Total: 6, Cancelled: 6}, done.Progress.Counts)
}

// A paused task stays paused after a kill of its worker and after waits for retries are over.
func TestPause_survivesKilledWorker(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=3")
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(100 * time.Millisecond) })
	for i := range 4 {
		s.provider.On(fmt.Sprintf("[doc-%03d]", i), llmtest.RateLimit(2), llmtest.RateLimit(2), llmtest.Reply{})
	}
	id := s.submit(notes(30))
	require.NoError(t, s.provider.WaitFor(s.soon(), 4))
	_, err := s.client.PauseTask(s.soon(), id, "")
	require.NoError(t, err)
	time.Sleep(1500 * time.Millisecond)
	made := s.waitIdle()
	s.worker.kill()
	s.worker = s.start("worker")
	time.Sleep(5 * time.Second)
	require.Equal(t, made, s.provider.Counts().Total, "no call after a new worker or the end of a wait")
	_, err = s.client.ResumeTask(s.soon(), id)
	require.NoError(t, err)
	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
}
