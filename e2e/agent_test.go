package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// desk is a service that agents call: it remembers what it was asked for, by idempotency key.
type toolServer struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string // the bodies or queries, in order
	keys  map[string]int
	delay time.Duration
}

func newToolServer(t testing.TB) *toolServer {
	d := &toolServer{keys: map[string]int{}}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body) // a GET has none
		d.mu.Lock()
		d.calls = append(d.calls, r.URL.RawQuery+string(body))
		d.keys[r.Header.Get("Idempotency-Key")]++
		delay := d.delay
		d.mu.Unlock()
		time.Sleep(delay)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"done":%q}`, r.URL.RawQuery+string(body))
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *toolServer) requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.calls...)
}

// tool is a tool of the desk.
func (d *toolServer) tool(name, method string, approval task.Approval) task.ToolSpec {
	return task.ToolSpec{Approval: approval, HTTP: &task.HTTPTool{
		Name: name, Description: name, Method: method, URL: d.URL + "/" + name,
		Parameters: map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}, "required": []string{"q"}},
	}}
}

// private lets workers call a service on this machine.
func (d *toolServer) allowPrivate() string {
	return "LONGHAUL_TOOLS_ALLOW_PRIVATE=" + strings.TrimPrefix(d.URL, "http://")
}

// submitAgent starts an agent.
func (s *stack) submitAgent(in task.AgentInput) string { return s.begin("agent", in, nil) }

// plan answers the turns of an agent in order; the last one all that follow. A turn is known by the tool messages before
// it, so that a turn that is asked for again is answered alike.
func (s *stack) scriptTurns(turns ...llmtest.Reply) {
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		var body struct{ Messages []struct{ Role string } }
		_ = json.Unmarshal(c.Body, &body)
		n := 0
		for _, m := range body.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		return turns[min(n, len(turns)-1)]
	})
}

func callTool(tool string, queries ...string) llmtest.Reply {
	var calls []llmtest.ToolCall
	for _, q := range queries {
		calls = append(calls, llmtest.ToolCall{Name: tool, Arguments: fmt.Sprintf(`{"q":%q}`, q)})
	}
	return llmtest.ToolCalls(llmtest.Usage{Input: 50, Output: 5}, calls...)
}

func finalAnswer(text string) llmtest.Reply {
	return llmtest.Answer(text, llmtest.Usage{Input: 50, Output: 5})
}

func callCalculator(expression string) llmtest.Reply {
	return llmtest.ToolCalls(llmtest.Usage{Input: 50, Output: 5}, llmtest.ToolCall{Name: "calculator", Arguments: fmt.Sprintf(`{"expression":%q}`, expression)})
}

// asked waits until a task asks for input, and gives the request.
func (s *stack) waitInput(id string) task.InputRequest {
	s.t.Helper()
	var request task.InputRequest
	require.Eventually(s.t, func() bool {
		t, err := s.client.Get(s.t.Context(), id)
		if err != nil || t.Status != task.InputRequired {
			return false
		}
		for _, request = range t.InputRequests {
			return true
		}
		return false
	}, time.Minute, 50*time.Millisecond, "the task asks for nothing")
	return request
}

func callWriteArtifact(name string) llmtest.Reply {
	return llmtest.ToolCalls(llmtest.Usage{Input: 50, Output: 5}, llmtest.ToolCall{Name: "write_artifact", Arguments: fmt.Sprintf(`{"name":%q,"content":"a,b"}`, name)})
}

func recordApproval(s *stack) string {
	s.scriptTurns(callCalculator("6*7"), callWriteArtifact("t.csv"), finalAnswer("Forty-two."))
	id := s.submitAgent(task.AgentInput{Goal: "compute", Tools: []task.ToolSpec{{Builtin: "calculator"}, {Builtin: "write_artifact", Approval: task.Always}}})
	request := s.waitInput(id)
	_, err := s.client.Input(s.soon(), id, task.Reply{Request: request.ID, Action: task.Approve})
	require.NoError(s.t, err)
	return s.finish(id).ID
}

func recordChild(s *stack) string {
	s.provider.On("The harbour", finalAnswer("A harbour."))
	s.scriptTurns(llmtest.ToolCalls(llmtest.Usage{}, llmtest.ToolCall{Name: "run_task", Arguments: `{"kind":"summary","input":{"documents":[{"text":"The harbour was rebuilt."}]}}`}), finalAnswer("Done."))
	return s.finish(s.submitAgent(task.AgentInput{Goal: "summarise", Tools: []task.ToolSpec{{Builtin: "run_task"}}, Documents: []task.Document{{Text: "A note."}}})).ID
}

// steady is a provider whose agent computes so many times and then reports; what it is asked to remember it does.
func (s *stack) calculateTurns(turns int) {
	n := 0
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		usage := llmtest.Usage{Input: len(c.Prompt)/4 + 1, Output: 5}
		switch {
		case len(c.Tools) == 0:
			return llmtest.Answer("Sums were made.", usage)
		case n >= turns:
			return llmtest.Answer("All sums are made.", usage)
		}
		n++
		return llmtest.ToolCalls(usage, llmtest.ToolCall{Name: "calculator", Arguments: fmt.Sprintf(`{"expression":"%d+%d"}`, n, n)})
	})
}

func recordCompacted(s *stack) string {
	s.calculateTurns(8)
	return s.finish(s.submitAgent(task.AgentInput{Goal: "compute " + strings.Repeat("all the sums ", 900), Tools: []task.ToolSpec{{Builtin: "calculator"}}})).ID
}

func recordLongAgent(s *stack) string {
	s.calculateTurns(12)
	return s.finish(s.submitAgent(task.AgentInput{Goal: "compute", Tools: []task.ToolSpec{{Builtin: "calculator"}}})).ID
}

func recordCancelledAgent(s *stack) string {
	s.scriptTurns(callWriteArtifact("t.csv"), finalAnswer("never"))
	id := s.submitAgent(task.AgentInput{Goal: "write", Tools: []task.ToolSpec{{Builtin: "write_artifact", Approval: task.Always}}})
	s.waitInput(id)
	_, err := s.client.Cancel(s.soon(), id)
	require.NoError(s.t, err)
	return s.finish(id).ID
}

// A worker that is killed at any moment loses no agent: no turn that was answered is paid for again, no call that may change
// something is made twice, whatever was approved runs once, and the report comes.
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
		require.LessOrEqual(t, s.provider.Counts().Total-calls, len(plan)+1, "round %d: one turn may have been in flight", round)
		once := map[string]int{}
		for _, call := range d.requests()[booked:] {
			if strings.HasPrefix(call, "{") {
				once[call]++
			}
		}
		for call, n := range once {
			require.Equal(t, 1, n, "round %d: %s was made twice", round, call)
		}
	}
	t.Logf("%d agents, %d kills, %d model calls (%d needed), %d tool calls", *kills, *kills, s.provider.Counts().Total, *kills*len(plan), len(d.requests()))
}

// A late answer and a second one are refused; the same again is not.
func TestAgent_firstReplyCounts(t *testing.T) {
	d := newToolServer(t)
	s := newStack(t, d.allowPrivate())
	s.scriptTurns(callTool("book", "room"), finalAnswer("done"))
	id := s.submitAgent(task.AgentInput{Goal: "book", Tools: []task.ToolSpec{d.tool("book", "POST", task.Always)}, AnswerWithin: 600})
	request := s.waitInput(id)
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for i := range 20 { // half of them say yes
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
		require.Equal(t, 1, statuses[http.StatusAccepted], "one denial counts")
	}
	status, _ := s.post("/v1/tasks/"+id+"/input", fmt.Sprintf(`{"request":%q,"action":"approve"}`, request.ID))
	require.Equal(t, http.StatusConflict, status)
}

var turns = flag.Int("turns", 100, "how many turns the long agent has")

// An agent of many turns whose tools give two megabytes: its history stays short, and its conversation is compacted.
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

// The example of a trip does what it says: it shows the booking, waits for the word, and books once.
func TestExample_trip(t *testing.T) {
	s := newStack(t, "LONGHAUL_TOOLS_ALLOW_PRIVATE=127.0.0.1:8090")
	use := func(name, arguments string) llmtest.Reply {
		return llmtest.ToolCalls(llmtest.Usage{Input: 50, Output: 5}, llmtest.ToolCall{Name: name, Arguments: arguments})
	}
	s.scriptTurns(use("find_hotels", `{"city":"Lisbon"}`), use("book_hotel", `{"hotel":"h2","from":"2027-05-14","nights":3}`), finalAnswer("# Three nights on the hill"))
	script := exec.CommandContext(t.Context(), "bash", filepath.Join("..", "examples", "trip.sh"))
	script.Env = append(os.Environ(), "LONGHAUL_API=http://"+s.address)
	out, err := script.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, want := range []string{`may book_hotel be called with {"hotel":"h2","from":"2027-05-14","nights":3}?`, "succeeded", `[{"booking":"B001","hotel":"h2","from":"2027-05-14","nights":3}]`} {
		require.Contains(t, string(out), want)
	}
	require.Contains(t, s.provider.Calls()[1].Results[0], "Hotel do Monte")
	require.Equal(t, 3, s.provider.Counts().Total)
}
