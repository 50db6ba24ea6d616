package e2e

import (
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// recordBulk runs a bulk replay of two tasks that failed.
func recordBulk(s *stack) string {
	s.provider.On("[doc-000]", unknownModel())
	s.finish(s.submit(notes(1)))
	in := notes(2)
	in.Documents[1].Text = "[doc-000] again."
	s.finish(s.submit(in))
	bulk, err := s.client.ReplayMany(s.soon(), task.ReplayInput{Kind: "summary", Canary: new(0)}, "")
	require.NoError(s.t, err)
	return s.finish(bulk.ID).ID
}

// recordPaused runs a task that is paused and resumed.
func recordPaused(s *stack) string {
	id := s.submit(notes(120))
	require.NoError(s.t, s.provider.WaitFor(s.soon(), 1))
	_, err := s.client.PauseTask(s.soon(), id, "for a look")
	require.NoError(s.t, err)
	time.Sleep(time.Second)
	_, err = s.client.ResumeTask(s.soon(), id)
	require.NoError(s.t, err)
	return s.finish(id).ID
}

// recordReplayed runs a replay that keeps what succeeded in the task before.
func recordReplayed(s *stack) string {
	s.provider.On("[doc-001]", unknownModel())
	return s.replay(s.finish(s.submit(notes(3))).ID, task.ReplayOrder{}).ID
}
