package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
)

// DU-09: of three calls that a person must approve, those that were approved are made once and the one that was denied never,
// whenever the worker is killed in between; and each has its answer in the conversation.
func TestAgent_approvedCallsRunOnce(t *testing.T) {
	d := newToolServer(t)
	d.delay = 100 * time.Millisecond
	s := newStack(t, d.allowPrivate())
	for round := range *kills {
		name := func(call string) string { return fmt.Sprintf("%d-%s", round, call) }
		s.scriptTurns(callTool("pay", name("one"), name("two"), name("three")), finalAnswer("done"))
		id := s.submitAgent(task.AgentInput{Goal: name("pay"), Tools: []task.ToolSpec{d.tool("pay", "POST", task.Always)}})
		require.Eventually(t, func() bool {
			got, err := s.client.Get(t.Context(), id)
			return err == nil && len(got.InputRequests) == 3
		}, time.Minute, 20*time.Millisecond)
		for n, action := range []task.Action{task.Approve, task.Approve, task.Deny} {
			_, err := s.client.Input(s.soon(), id, task.Reply{Request: fmt.Sprintf("call-1-%d", n+1), Action: action})
			require.NoError(t, err)
			if n == round%2 {
				time.Sleep(time.Duration(rand.IntN(250)) * time.Millisecond)
				s.worker.kill()
				s.worker = s.start("worker")
			}
		}
		require.Equal(t, task.Succeeded, s.finish(id).Status)
		calls := s.provider.Calls()
		require.Len(t, calls[len(calls)-1].Results, 3)
	}
	once := map[string]int{}
	for _, call := range d.requests() {
		once[call]++
		require.Equal(t, 1, once[call], call)
		require.NotContains(t, call, "three")
	}
}

// A cancel that comes while a call ends well is not lost when the task goes on in a new run just then.
func TestAgent_cancelBetweenRuns(t *testing.T) {
	d := newToolServer(t)
	d.delay = 400 * time.Millisecond
	s := newStackOn(t, localtemporal.Options{HistoryEvents: 20}, d.allowPrivate())
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		return callTool("look", fmt.Sprint(strings.Count(string(c.Body), `"role":"assistant"`)))
	})
	for range 3 {
		before := len(d.requests())
		id := s.submitAgent(task.AgentInput{Goal: "go on", Tools: []task.ToolSpec{d.tool("look", "GET", task.Never)}})
		require.Eventually(t, func() bool { return len(d.requests()) == before+3 }, time.Minute, 5*time.Millisecond)
		_, err := s.client.Cancel(s.soon(), id)
		require.NoError(t, err)
		require.Equal(t, task.Cancelled, s.finish(id).Status)
		require.LessOrEqual(t, len(d.requests()), before+4)
	}
}
