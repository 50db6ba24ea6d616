package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
)

// A worker killed at a random moment loses no agent: at most one model call is repeated, no unsafe tool call runs twice,
// and the approved call runs once.
func TestAgent_killedWorkerRepeatsNothing(t *testing.T) {
	d := newToolServer(t)
	d.delay = 60 * time.Millisecond
	s := newStack(t, d.allowPrivate())
	plan := []llmtest.Reply{
		callTool("look", "a", "b", "c"), callTool("book", "one"), callTool("look", "d"), callTool("pay", "two"), callTool("book", "three", "four"), finalAnswer("# All done"),
	}
	for i := range plan {
		plan[i] = plan[i].After(80 * time.Millisecond)
	}
	s.scriptTurns(plan...)
	for round := range *kills {
		calls, booked := s.provider.Counts().Total, len(d.requests())
		id := s.submitAgent(task.AgentInput{Goal: fmt.Sprintf("round %d", round), Tools: []task.ToolSpec{
			d.tool("look", "GET", task.ByPolicy), d.tool("book", "POST", task.Never), d.tool("pay", "POST", task.Always),
		}})
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
			s.worker.kill()
			s.worker = s.start("worker")
		}()
		request := s.waitInput(id)
		require.JSONEq(t, `{"q":"two"}`, string(request.Arguments))
		_, err := s.client.Input(s.soon(), id, task.Reply{Request: request.ID, Action: task.Approve})
		require.NoError(t, err)
		done := s.finish(id)
		<-killed
		require.Equal(t, task.Succeeded, done.Status, "round %d: %v", round, done.Error)
		require.LessOrEqual(t, s.provider.Counts().Total-calls, len(plan)+1, "round %d: at most one turn was in flight", round)
		once := map[string]int{}
		for _, call := range d.requests()[booked:] {
			if strings.HasPrefix(call, "{") {
				once[call]++
			}
		}
		for call, n := range once {
			require.Equal(t, 1, n, "round %d: %s ran twice", round, call)
		}
	}
	t.Logf("%d agents, %d kills, %d model calls (%d needed), %d tool calls", *kills, *kills, s.provider.Counts().Total, *kills*len(plan), len(d.requests()))
}

// Of many replies to one input request the first counts; other replies and late ones are refused, while a repetition of
// the first is accepted.
func TestAgent_firstReplyCounts(t *testing.T) {
	d := newToolServer(t)
	s := newStack(t, d.allowPrivate())
	s.scriptTurns(callTool("book", "room"), finalAnswer("done"))
	id := s.submitAgent(task.AgentInput{Goal: "book", Tools: []task.ToolSpec{d.tool("book", "POST", task.Always)}, AnswerWithin: 600})
	request := s.waitInput(id)
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for i := range 20 { // half of them approve
		all.Go(func() {
			body := fmt.Sprintf(`{"request":%q,"action":"deny","reason":"number %d"}`, request.ID, i)
			if i%2 == 0 {
				body = fmt.Sprintf(`{"request":%q,"action":"approve"}`, request.ID)
			}
			status, _ := s.post("/v1/tasks/"+id+"/input", body)
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	all.Wait()
	s.finish(id)
	require.Equal(t, 20, statuses[http.StatusAccepted]+statuses[http.StatusConflict], "%v", statuses)
	require.GreaterOrEqual(t, statuses[http.StatusAccepted], 1)
	made := len(d.requests())
	require.LessOrEqual(t, made, 1)
	if made == 0 {
		require.Equal(t, 1, statuses[http.StatusAccepted], "only one denial is accepted")
	}
	status, _ := s.post("/v1/tasks/"+id+"/input", fmt.Sprintf(`{"request":%q,"action":"approve"}`, request.ID))
	require.Equal(t, http.StatusConflict, status)
}

var turns = flag.Int("turns", 100, "number of turns of the agent in TestAgent_longConversationIsCompacted")

// The history of an agent with many turns and two megabytes of tool results stays short, and its conversation is
// compacted.
func TestAgent_longConversationIsCompacted(t *testing.T) {
	d := newToolServer(t)
	s := newStack(t, d.allowPrivate(), "LONGHAUL_LLM_CONTEXT_TOKENS=20000")
	page := strings.Repeat("The keeper counted the ships upon the water. ", 2_000_000 / *turns / 45)
	d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintf(w, "%s: %s", r.URL.RawQuery, page)
	})
	n, memories := 0, 0
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		usage := llmtest.Usage{Input: len(c.Prompt)/4 + 1, Output: 10}
		switch {
		case len(c.Tools) == 0:
			memories++
			return llmtest.Answer("Pages were read.", usage)
		case n >= *turns:
			return llmtest.Answer("All pages are read.", usage)
		}
		n++
		return llmtest.ToolCalls(usage, llmtest.ToolCall{Name: "look", Arguments: fmt.Sprintf(`{"q":"page %d"}`, n)})
	})
	id := s.submitAgent(task.AgentInput{
		Goal: "read it all", Tools: []task.ToolSpec{d.tool("look", "GET", task.Never)}, MaxSteps: *turns + 100, MaxToolCalls: *turns + 100,
	})
	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome, "%v", done.Error)
	require.Positive(t, memories)
	require.Equal(t, *turns+1+memories, s.provider.Counts().Total)
	t.Logf("%d turns, %d compactions, %d bytes of tool results, %.1f s", *turns+1, memories, *turns*len(page), done.FinishedAt.Sub(done.CreatedAt).Seconds())
	s.requireShortHistories(id, 0)
}

// Of three calls that need approval, the approved ones run once and the denied one never, even if the worker is killed
// between the replies. Each call has a result in the conversation.
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

// A cancel that arrives while a tool call succeeds and the task continues as new takes effect.
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
