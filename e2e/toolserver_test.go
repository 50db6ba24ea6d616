package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// toolServer is an HTTP service that agents call as a tool. It records every request.
type toolServer struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string // queries and bodies, in order
	keys  map[string]int
	delay time.Duration
}

func newToolServer(t testing.TB) *toolServer {
	d := &toolServer{keys: map[string]int{}}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body) // a GET has no body
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

// tool returns the specification of a tool that calls the server.
func (d *toolServer) tool(name, method string, approval task.Approval) task.ToolSpec {
	return task.ToolSpec{Approval: approval, HTTP: &task.HTTPTool{
		Name: name, Description: name, Method: method, URL: d.URL + "/" + name,
		Parameters: map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}, "required": []string{"q"}},
	}}
}

// allowPrivate is the setting with which workers may call the server, whose address is private.
func (d *toolServer) allowPrivate() string {
	return "LONGHAUL_TOOLS_ALLOW_PRIVATE=" + strings.TrimPrefix(d.URL, "http://")
}

// servePage answers every request with a page of text.
func servePage(d *toolServer, page string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.calls = append(d.calls, r.URL.RawQuery)
		d.mu.Unlock()
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(page))
	})
}

// submitAgent starts an agent task and returns its id.
func (s *stack) submitAgent(in task.AgentInput) string { return s.begin("agent", in, nil) }

// scriptTurns sets the model's replies to an agent, one for each turn; the last reply repeats. The number of assistant
// messages in the request selects the reply, so a repeated call gets the same one.
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

func callWriteArtifact(name string) llmtest.Reply {
	return llmtest.ToolCalls(llmtest.Usage{Input: 50, Output: 5}, llmtest.ToolCall{Name: "write_artifact", Arguments: fmt.Sprintf(`{"name":%q,"content":"a,b"}`, name)})
}

// waitInput waits until a task requires input and returns one of its requests.
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
	}, time.Minute, 50*time.Millisecond, "the task requires no input")
	return request
}
