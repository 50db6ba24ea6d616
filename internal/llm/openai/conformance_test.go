package openai

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// aimockFixtures are what the server answers to prompts that hold a word.
const aimockFixtures = `{"fixtures":[
	{"match":{"userMessage":"good"},"response":{"content":"Hello there: 서울 and 🚀, an answer of several chunks."}},
	{"match":{"userMessage":"json"},"response":{"content":"{\"name\":\"Ada\",\"age\":36}"}},
	{"match":{"userMessage":"tools","hasToolResult":false},"response":{"toolCalls":[{"name":"weather","arguments":"{\"city\":\"Oslo\"}"},{"name":"now","arguments":"{}"}]}},
	{"match":{"userMessage":"tools","hasToolResult":true},"response":{"content":"It rains."}},
	{"match":{"userMessage":"slow down"},"response":{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"},"status":429,"retryAfter":7}},
	{"match":{"userMessage":"no money"},"response":{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"},"status":429}},
	{"match":{"userMessage":"bad key"},"response":{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"},"status":401}},
	{"match":{"userMessage":"too long"},"response":{"error":{"message":"Too long","type":"invalid_request_error","code":"context_length_exceeded"},"status":400}},
	{"match":{"userMessage":"cut"},"truncateAfterChunks":3,"latency":10,"response":{"content":"An answer that is cut in the middle of itself."}}
]}`

// TestConformance_aimock holds the client to a server that nobody here wrote: @copilotkit/aimock, whose
// program TEST_AIMOCK names. Its journal counts the calls, and each case is one.
func TestConformance_aimock(t *testing.T) {
	t.Parallel()
	program := os.Getenv("TEST_AIMOCK")
	if program == "" {
		t.Skip("TEST_AIMOCK does not name the program")
	}
	server := startAimock(t, program)
	tests := map[string]struct {
		prompt string
		chaos  string // what the server does to any answer; "" is nothing
		code   task.Code
		class  llm.Class
		after  time.Duration
		status int
	}{
		"good answer":     {prompt: "good"},
		"rate limit":      {prompt: "slow down", code: task.RateLimited, class: llm.Wait, after: 7 * time.Second, status: 429},
		"no money":        {prompt: "no money", code: task.ModelQuota, class: llm.Final, status: 429},
		"bad key":         {prompt: "bad key", code: task.ModelAuth, class: llm.Final, status: 401},
		"prompt too long": {prompt: "too long", code: task.ContextExceeded, class: llm.Final, status: 400},
		"cut":             {prompt: "cut", code: task.AnswerIncomplete, class: llm.Retry, status: 200},
		"dropped":         {prompt: "good", chaos: "drop", code: task.ModelUnavailable, class: llm.Retry, status: 500},
		"malformed":       {prompt: "good", chaos: "malformed", code: task.BadResponse, class: llm.Retry, status: 200},
		"disconnected":    {prompt: "good", chaos: "disconnect", code: task.ModelUnavailable, class: llm.Retry},
		"any rate limit":  {prompt: "good", chaos: "ratelimit", code: task.RateLimited, class: llm.Wait, after: time.Second, status: 429},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, calls := server.client(t, test.chaos)
			req := llm.Request{Model: "m", Messages: []llm.Message{{Role: "user", Content: test.prompt}}, IdempotencyKey: "key-1"}
			got, err := c.Complete(t.Context(), req, nil)
			if test.code == "" {
				require.NoError(t, err)
				require.Equal(t, "Hello there: 서울 and 🚀, an answer of several chunks.", got.Text)
				require.NotEmpty(t, got.RequestID)
			} else {
				e, ok := err.(*llm.Error) //nolint:errorlint // it must come unwrapped
				require.True(t, ok, "%v", err)
				require.Equal(t, test.code, e.Code, e.Message)
				require.Equal(t, test.class, e.Class)
				require.Equal(t, test.after, e.RetryAfter)
				require.Equal(t, test.status, e.Status)
			}
			require.Len(t, calls(), 1)
			require.Equal(t, "key-1", calls()[0].Headers["idempotency-key"])
		})
	}

	t.Run("schema", func(t *testing.T) {
		c, calls := server.client(t, "")
		schema := &llm.Schema{Name: "person", JSON: json.RawMessage(`{"type":"object","required":["name"],"properties":{"age":{"type":"integer"}}}`)}
		got, err := c.Complete(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{{Role: "user", Content: "json"}}, Schema: schema}, nil)
		require.NoError(t, err)
		require.JSONEq(t, `{"name":"Ada","age":36}`, got.Text)
		require.Len(t, calls(), 1)
	})
	t.Run("tools", func(t *testing.T) {
		c, calls := server.client(t, "")
		req := llm.Request{Model: "m", Messages: []llm.Message{{Role: "user", Content: "tools"}}, Tools: []llm.Tool{
			{Name: "weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}, {Name: "now"},
		}}
		got, err := c.Complete(t.Context(), req, nil)
		require.NoError(t, err)
		require.Len(t, got.ToolCalls, 2)
		require.Equal(t, "weather", got.ToolCalls[0].Name)
		require.JSONEq(t, `{"city":"Oslo"}`, string(got.ToolCalls[0].Arguments))
		require.NotEqual(t, got.ToolCalls[0].ID, got.ToolCalls[1].ID)
		req.Messages = append(req.Messages, llm.Message{Role: "assistant", ToolCalls: got.ToolCalls})
		for _, asked := range got.ToolCalls {
			require.Empty(t, asked.Fault)
			req.Messages = append(req.Messages, llm.Message{Role: "tool", ToolCallID: asked.ID, Content: "rain"})
		}
		got, err = c.Complete(t.Context(), req, nil)
		require.NoError(t, err)
		require.Equal(t, "It rains.", got.Text)
		require.Empty(t, got.ToolCalls)
		require.Len(t, calls(), 2)
	})
	t.Run("embeddings", func(t *testing.T) {
		c, calls := server.client(t, "") // asks for base64 and is given numbers
		got, err := c.Embed(t.Context(), llm.EmbedRequest{Model: "m", Texts: []string{"alpha", "beta", "gamma"}, Dimensions: 16})
		require.NoError(t, err)
		require.Len(t, got.Vectors, 3)
		require.Len(t, got.Vectors[2], 16)
		require.NotEqual(t, got.Vectors[0], got.Vectors[1])
		require.False(t, got.Usage.Known, "it tells no tokens")
		require.Len(t, calls(), 1)
	})
}

// aimock is a running server.
type aimock struct{ url string }

var aimockListens = regexp.MustCompile(`listening on (http://\S+)`)

// startAimock starts the server on a port of its own choice; it ends with the test.
func startAimock(t *testing.T, program string) aimock {
	t.Helper()
	fixtures := filepath.Join(t.TempDir(), "fixtures.json")
	require.NoError(t, os.WriteFile(fixtures, []byte(aimockFixtures), 0o600))
	command := exec.CommandContext(t.Context(), program, "--host", "127.0.0.1", "--port", "0", "--fixtures", fixtures)
	output, written := io.Pipe()
	command.Stdout, command.Stderr = written, written
	require.NoError(t, command.Start())
	gone := make(chan struct{})
	go func() {
		_ = command.Wait() // killed at the end of the test
		_ = written.Close()
		close(gone)
	}()
	t.Cleanup(func() { <-gone }) // the test's context has ended by then
	said := &strings.Builder{}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if found := aimockListens.FindStringSubmatch(lines.Text()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, output) }() // so that it never waits to be read
			return aimock{found[1]}
		}
	}
	require.Fail(t, "the server did not start", said.String())
	return aimock{}
}

// client is one whose calls the server tells from all others; calls gives those.
func (a aimock) client(t *testing.T, chaos string) (c *Client, calls func() []aimockCall) {
	t.Helper()
	c, err := New(Config{Name: "aimock", BaseURL: a.url + "/v1", Key: "k", Profile: "openai"})
	require.NoError(t, err)
	header := http.Header{"X-Test-Id": {strconv.Quote(t.Name())}}
	if chaos != "" {
		header.Set("X-Aimock-Chaos-"+chaos, "1")
	}
	c.http.Transport = marked{header, c.http.Transport}
	return c, func() []aimockCall { return a.calls(t, header.Get("X-Test-Id")) }
}

// marked is a transport that adds headers.
type marked struct {
	header http.Header
	http.RoundTripper
}

func (m marked) RoundTrip(req *http.Request) (*http.Response, error) {
	maps.Copy(req.Header, m.header)
	return m.RoundTripper.RoundTrip(req)
}

// aimockCall is one entry of the server's journal.
type aimockCall struct {
	Path    string
	Headers map[string]string
}

func (a aimock) calls(t *testing.T, id string) []aimockCall {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+"/__aimock/journal", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	var all, ours []aimockCall
	require.NoError(t, json.NewDecoder(res.Body).Decode(&all))
	for _, call := range all {
		if call.Headers["x-test-id"] == id {
			ours = append(ours, call)
		}
	}
	return ours
}
