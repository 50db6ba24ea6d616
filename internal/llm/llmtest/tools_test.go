package llmtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
)

// TestTools has the tools of a request and their results in the journal, and markers in both.
func TestTools(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	p.On("goal", llmtest.ToolCalls(llmtest.Usage{Input: 9, Output: 2}, llmtest.ToolCall{Name: "search", Arguments: `{"q": "x"}`}, llmtest.ToolCall{Name: "now", ID: "n"}), llmtest.Answer("done", llmtest.Usage{Input: 20, Output: 5}))
	first := post(t.Context(), t, p, `{"stream":true,"messages":[{"role":"user","content":"goal"}],"tools":[{"function":{"name":"search"}},{"function":{"name":"now"}}]}`)
	require.Contains(t, first, `"id":"call_1","type":"function","function":{"name":"search","arguments":""}`)
	require.Contains(t, first, `"index":0,"function":{"arguments":"\"x\"}"}`)
	require.Contains(t, first, `"index":1,"id":"n"`)
	require.Contains(t, first, `"finish_reason":"tool_calls"`)
	second := post(t.Context(), t, p, `{"stream":true,"messages":[{"role":"user","content":"goal"},{"role":"assistant","content":null},{"role":"tool","content":"found"},{"role":"tool","content":"noon"}]}`)
	require.Contains(t, second, "done")
	calls := p.Calls()
	require.Equal(t, []string{"search", "now"}, calls[0].Tools)
	require.Empty(t, calls[0].Results)
	require.Equal(t, []string{"found", "noon"}, calls[1].Results)
	require.Contains(t, calls[1].Prompt, "found\n\nnoon")
	require.Equal(t, 2, calls[1].Nth)
	require.Equal(t, llmtest.Usage{Input: 29, Output: 7}, p.Spent())
}

// TestTold is the usage that was written before the end, and none that was not.
func TestTold(t *testing.T) {
	t.Parallel()
	one, two := llmtest.Usage{Input: 3, Output: 1}, llmtest.Usage{Input: 3, Output: 2, Cached: 1}
	tests := map[string]struct {
		reply llmtest.Reply
		want  llmtest.Usage
	}{
		"stream":            {llmtest.Answer("x", two), two},
		"whole":             {llmtest.Raw("application/json", llmtest.JSON("x", two)), two},
		"byte by byte":      {llmtest.Answer("x", two).ByteByByte(), two},
		"embeddings":        {llmtest.Embeddings(7), llmtest.Usage{Input: 7}},
		"the last counts":   {llmtest.Stream(llmtest.UsageEvent(one), llmtest.UsageEvent(two), `{"usage":null}`), two},
		"a text of that":    {llmtest.Stream(llmtest.Delta(`"usage":{"prompt_tokens":9}`, "stop")), llmtest.Usage{}},
		"cut in the middle": {llmtest.Stream(llmtest.UsageEvent(one), `{"usage":{"prompt_tokens":9,"comp`).Then(llmtest.Cut), one},
		"left before":       {llmtest.Stream("{}", llmtest.UsageEvent(two)).Every(llmtest.Forever), llmtest.Usage{}},
		"left after":        {llmtest.Stream(llmtest.UsageEvent(one), llmtest.UsageEvent(two)).Every(llmtest.Forever), one},
		"error":             {llmtest.RateLimit(1), llmtest.Usage{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			p.On("", test.reply)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if strings.HasPrefix(name, "left") {
				read(ctx, t, p, cancel)
			} else {
				post(ctx, t, p, `{"stream":true,"messages":[]}`)
			}
			require.NoError(t, p.Wait(t.Context(), func(c llmtest.Counts) bool { return c.Total == 1 && c.InFlight == 0 }))
			require.Equal(t, test.want, p.Calls()[0].Told)
			require.Equal(t, test.want, p.Spent())
		})
	}
}

// post gives the body of an answer, or what of it came.
func post(ctx context.Context, t *testing.T, p *llmtest.Provider, body string) string {
	t.Helper()
	res := open(ctx, t, p, body)
	defer res.Body.Close()
	got, _ := io.ReadAll(res.Body) // cut by some replies
	return string(got)
}

// read leaves once the first byte of an answer has come.
func read(ctx context.Context, t *testing.T, p *llmtest.Provider, leave func()) {
	t.Helper()
	res := open(ctx, t, p, `{"stream":true,"messages":[]}`)
	defer res.Body.Close()
	_, err := res.Body.Read(make([]byte, 1))
	require.NoError(t, err)
	leave()
}

func open(ctx context.Context, t *testing.T, p *llmtest.Provider, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	return res
}
