package tool

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

func TestDefine_builtins(t *testing.T) {
	t.Parallel()
	k := newKit(t, Options{})
	var specs []task.ToolSpec
	for _, name := range builtinNames() {
		specs = append(specs, task.ToolSpec{Builtin: name, Approval: task.Always})
	}
	all, err := k.Define(t.Context(), specs)
	require.NoError(t, err)
	require.Len(t, all, 8)
	for _, d := range all {
		require.NotEmpty(t, d.Description)
		require.Regexp(t, `"type":"object"`, string(d.Parameters))
		_, err := schema.Compile(d.Parameters)
		require.NoError(t, err, d.Name)
		require.Equal(t, d.Name != AskUser && d.Name != ReadMore, d.Approval, d.Name)
		if d.NeedsTask() {
			_, err := k.Run(t.Context(), d, Call{})
			require.ErrorContains(t, err, "is for the agent to run")
		}
	}
	require.False(t, define(t, k, task.ToolSpec{Builtin: RunTask}).Safe)
	require.False(t, define(t, k, task.ToolSpec{Builtin: RunTask}).Approval, "by policy no builtin is asked about")
}

func TestDefine_approval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		asked, configured task.Approval
		safe, want        bool
	}{
		{"", "", true, false},
		{"", "", false, true},
		{task.ByPolicy, task.ByPolicy, false, true},
		{task.Never, "", false, false},
		{task.Never, task.Always, true, true},
		{task.Always, task.Never, true, true},
		{"", task.Never, false, false},
	} {
		require.Equal(t, tt.want, needsApproval(tt.asked, tt.configured, tt.safe), "%+v", tt)
	}
}

func TestDefine_mistakes(t *testing.T) {
	t.Parallel()
	k := newKit(t, Options{
		HTTP:    []HTTPTool{{HTTPTool: task.HTTPTool{Name: "weather", Description: "d", URL: "https://weather.example/now"}}},
		Secrets: []Secret{secret("KEY", "hush-hush-hush", "api.example")},
	})
	web := func(change func(*task.HTTPTool)) task.ToolSpec {
		h := &task.HTTPTool{Name: "h", Description: "d", URL: "https://api.example/{id}", Parameters: object("id")}
		change(h)
		return task.ToolSpec{HTTP: h}
	}
	address := func(url string) task.ToolSpec { return web(func(h *task.HTTPTool) { h.URL = url }) }
	header := func(name, value string) task.ToolSpec {
		return web(func(h *task.HTTPTool) { h.Headers = map[string]string{name: value} })
	}
	tests := map[string]struct {
		spec            task.ToolSpec
		pointer, detail string
	}{
		"nothing":              {task.ToolSpec{}, "", "exactly one of"},
		"builtin":              {task.ToolSpec{Builtin: "fetsch"}, "/builtin", `did you mean "fetch"`},
		"configured":           {task.ToolSpec{Configured: "wether"}, "/configured", `did you mean "weather"`},
		"server":               {task.ToolSpec{MCP: "files"}, "/mcp", "unknown MCP server"},
		"only":                 {task.ToolSpec{Builtin: Time, Only: []string{"x"}}, "/only", "leave it out"},
		"builtin's name":       {web(func(h *task.HTTPTool) { h.Name = ReadMore }), "/http/name", "choose another"},
		"schema":               {web(func(h *task.HTTPTool) { h.Parameters["type"] = "objekt" }), "/http/parameters", "not a JSON Schema"},
		"schema of a list":     {web(func(h *task.HTTPTool) { h.Parameters["type"] = "array" }), "/http/parameters", `"type": "object"`},
		"schema from outside":  {web(func(h *task.HTTPTool) { h.Parameters["$ref"] = "file:///etc/passwd" }), "/http/parameters", "references within itself"},
		"no such argument":     {address("https://api.example/{name}"), "/http/url", "{name}"},
		"argument in the host": {address("https://{id}.example/"), "/http/url", "in its host"},
		"argument as the host": {address("https://{id}/"), "/http/url", "in its host"},
		"argument as port":     {address("https://api.example:{id}/"), "/http/url", "address"},
		"argument as user":     {address("https://{id}@api.example/"), "/http/url", "user or a password"},
		"scheme":               {address("ftp://api.example/{id}"), "/http/url", "not an http or https"},
		"fragment":             {address("https://api.example/{id}#x"), "/http/url", "fragment"},
		"secret in address":    {address("https://api.example/{id}?key={{secret:KEY}}"), "/http/url", "secrets go into headers"},
		"header name":          {header("a b", "x"), "/http/headers", "not the name of a header"},
		"header value":         {header("A", "x\r\nHost: y"), "/http/headers", "no header may have"},
		"host header":          {header("host", "x"), "/http/headers", "leave it out"},
		"secret unknown":       {header("A", "{{secret:KEE}}"), "/http/headers", `no secret "KEE" for api.example`},
		"secret misspelt":      {header("A", "{{KEY}}"), "/http/headers", "{{secret:NAME}}"},
		"secret without TLS": {web(func(h *task.HTTPTool) {
			h.URL, h.Headers = "http://api.example/{id}", map[string]string{"A": "{{secret:KEY}}"}
		}), "/http/headers", "https alone"},
		"secret elsewhere": {web(func(h *task.HTTPTool) {
			h.URL, h.Headers = "https://api.example.evil.example/{id}", map[string]string{"A": "{{secret:KEY}}"}
		}), "/http/headers", `no secret "KEY"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := k.Define(t.Context(), []task.ToolSpec{{Builtin: Calculator}, tt.spec})
			e := task.AsError(err)
			require.Equal(t, task.Invalid, e.Code, "%v", err)
			require.Len(t, e.Errors, 1)
			require.Equal(t, "/input/tools/1"+tt.pointer, e.Errors[0].Pointer)
			require.Contains(t, e.Errors[0].Detail, tt.detail)
			require.NotContains(t, err.Error(), "hush")
		})
	}
}

func TestDefine_allMistakesAtOnce(t *testing.T) {
	t.Parallel()
	_, err := newKit(t, Options{}).Define(t.Context(), []task.ToolSpec{{Builtin: Time}, {Builtin: "x"}, {Builtin: Time}})
	e := task.AsError(err)
	require.Len(t, e.Errors, 2)
	require.Equal(t, "/input/tools/2", e.Errors[1].Pointer)
	require.Contains(t, e.Errors[1].Detail, "there already")
	require.False(t, e.Retryable)
}

func TestNew_tellsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := New(Options{
		HTTP: []HTTPTool{
			{HTTPTool: task.HTTPTool{Name: "a", URL: "https://x.example/{b}"}},
			{HTTPTool: task.HTTPTool{Name: "c", URL: "https://x.example/", Headers: map[string]string{"A": "{{secret:NONE}}"}}},
		},
		MCP: []Server{
			{Name: "both", Command: "x", URL: "https://x.example"},
			{Name: "poor", URL: "http://x.example", Headers: map[string]string{"A": "{{secret:KEY}}"}},
		},
		Secrets: []Secret{secret("KEY", "hush-hush-hush", "x.example")},
	})
	for _, want := range []string{"HTTP tool a: /url: has a place for {b}", "HTTP tool c: /headers", "MCP server both: needs either", "MCP server poor: the secret"} {
		require.ErrorContains(t, err, want)
	}
}

func TestDefinition_keepsItsForm(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(Definition{Name: "n", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`), Safe: true, Spec: task.ToolSpec{MCP: "m"}, Remote: "r"})
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"n","description":"d","parameters":{"type":"object"},"safe":true,"spec":{"mcp":"m"},"remote":"r"}`, string(raw))
}

// buffer is what was logged.
type buffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}
