package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// A task with a start time is scheduled until then, and runs once.
func TestDelay_startsLater(t *testing.T) {
	s := newStack(t)
	_, body := s.post("/v1/tasks", `{"kind":"summary","delay":"2s","input":{"documents":[{"text":"A sound bridge."}]}}`)
	var got task.Task
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Equal(t, task.Scheduled, got.Status)
	require.Equal(t, task.WaitStart, got.Waiting.Reason)
	require.Zero(t, s.provider.Counts().Total)
	require.Equal(t, task.Succeeded, s.finish(got.ID).Status)
	require.Equal(t, 1, s.provider.Counts().Total)
}

// A delayed task runs once although all workers are killed before its start.
func TestDelay_runsOnceAfterKills(t *testing.T) {
	s := newStack(t)
	workers := []*process{s.worker, s.start("worker"), s.start("worker")}
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(5 * time.Second) }) // longer than the heartbeat timeout
	id := s.begin("summary", notes(3), map[string]any{"delay": "9s"})
	for i := range workers {
		workers[i].kill()
		workers[i] = s.start("worker")
	}
	now, err := s.client.Get(s.soon(), id)
	require.NoError(t, err)
	require.False(t, now.Done)
	require.Equal(t, task.Full, s.finish(id).Outcome)
	require.Equal(t, 3, s.provider.Counts().Total)
}
