package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/fakeserver"
	"longhaul/internal/task"
)

// tools are the definitions of a server's tools, by their own names.
func tools(t testing.TB, k *Kit) map[string]Definition {
	t.Helper()
	all, err := k.Define(testContext(t), []task.ToolSpec{{MCP: "files"}})
	require.NoError(t, err)
	by := map[string]Definition{}
	for _, d := range all {
		by[d.Remote] = kept(t, d)
	}
	return by
}

func TestMCP(t *testing.T) {
	t.Parallel()
	http := served(t, nil)
	for way, s := range map[string]Server{"stdio": child(t), "HTTP": {Name: "files", URL: http.URL}} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, Options{MCP: []Server{s}, AllowPrivate: []string{hostOf(http)}, Secrets: []Secret{secret("KEY", "hush-hush-hush", "x.example")}})
			by := tools(t, k)
			require.Equal(t, "files__echo", by["echo"].Name)
			require.Equal(t, "does echo", by["echo"].Description)
			require.JSONEq(t, `{"type":"object","properties":{"text":{"type":"string"}}}`, string(by["echo"].Parameters))
			require.True(t, by["echo"].Safe)
			require.False(t, by["echo"].Approval)
			require.False(t, by["fail"].Safe)
			require.True(t, by["fail"].Approval)
			require.Regexp(t, `^files__parts_of_many_[0-9a-f]{8}$`, by["parts.of/many"].Name)
			for name, want := range map[string]Result{
				"fail":          {Text: "disk full", IsError: true, ContentType: "text/plain"},
				"refuse":        {Text: "The MCP server files refused the call: not today", IsError: true},
				"structured":    {Text: `{"a":1}`, ContentType: "application/json"},
				"secret":        {Text: "it is [secret]", ContentType: "text/plain"},
				"parts.of/many": {Text: "words\n\n[image image/png of 4 bytes, left out: only text can be read here]\n\na resource\n\n[resource file:///b application/zip of 2 bytes, left out: only text can be read here]\n\n[more](file:///c) there", ContentType: "text/plain"},
			} {
				require.Equal(t, want, run(t, k, by[name], ""), name)
			}
			require.Equal(t, "hello", run(t, k, by["echo"], `{"text":"hello"}`).Text)
			require.Contains(t, run(t, k, by["echo"], `{"text":1}`).Text, "/text must be a string")
		})
	}
}

func TestMCP_only(t *testing.T) {
	t.Parallel()
	k := newKit(t, Options{MCP: []Server{child(t)}})
	d := define(t, k, task.ToolSpec{MCP: "files", Only: []string{"echo"}})
	require.Equal(t, "files__echo", d.Name)
	require.Empty(t, d.Spec.Only)
	_, err := k.Define(testContext(t), []task.ToolSpec{{MCP: "files", Only: []string{"echo", "ecko"}}})
	require.Equal(t, "/input/tools/0/only/1", task.AsError(err).Errors[0].Pointer)
	require.ErrorContains(t, err, `did you mean "echo"`)
	_, err = k.Define(testContext(t), []task.ToolSpec{{MCP: "files"}, {MCP: "files"}})
	require.ErrorContains(t, err, "/input/tools/1: a tool named files__")
}

func TestMCP_environment(t *testing.T) {
	t.Setenv("LONGHAUL_TEST_SEEN", "seen")
	t.Setenv("LONGHAUL_TEST_UNSEEN", "unseen")
	s := child(t)
	s.Env = []string{"LONGHAUL_TEST_SEEN", "LONGHAUL_TEST_NONE"}
	k := newKit(t, Options{MCP: []Server{s}})
	text := run(t, k, tools(t, k)["env"], "").Text
	require.Contains(t, text, "LONGHAUL_TEST_SEEN=seen")
	require.Contains(t, text, "PATH=")
	require.NotContains(t, text, "unseen")
}

// A server that died is started again for the next call; the call that it died of may have done something.
func TestMCP_serverDies(t *testing.T) {
	t.Parallel()
	k := newKit(t, Options{MCP: []Server{child(t)}})
	by := tools(t, k)
	first := run(t, k, by["pid"], "").Text
	require.Equal(t, first, run(t, k, by["pid"], "").Text, "the connection is kept")
	_, err := k.Run(testContext(t), by["die"], Call{})
	require.ErrorContains(t, err, "was lost during the call; whether it took effect is not known")
	require.True(t, task.AsError(err).Retryable)
	require.NotEqual(t, first, run(t, k, by["pid"], "").Text)
}

func TestMCP_serverHangs(t *testing.T) {
	t.Parallel()
	s := child(t)
	s.Timeout = 300 * time.Millisecond
	k := newKit(t, Options{MCP: []Server{s}})
	by := tools(t, k)
	first := run(t, k, by["pid"], "").Text
	_, err := k.Run(testContext(t), by["hang"], Call{})
	require.ErrorContains(t, err, "gave no answer within 300ms; whether the call took effect is not known")
	require.Equal(t, first, run(t, k, by["pid"], "").Text, "it answers to others, so it stays")

	ctx, cancel := context.WithCancel(testContext(t))
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = k.Run(ctx, by["hang"], Call{})
	require.ErrorIs(t, err, context.Canceled)
}

// A server that reads nothing at all is let go, however full its pipe is.
func TestMCP_serverReadsNothing(t *testing.T) {
	t.Parallel()
	k := newKit(t, Options{MCP: []Server{child(t, "mute")}})
	ctx, cancel := context.WithTimeout(testContext(t), 300*time.Millisecond)
	defer cancel()
	_, err := k.Define(ctx, []task.ToolSpec{{MCP: "files"}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestMCP_serverIsDown(t *testing.T) {
	t.Parallel()
	nobody := fakeserver.Refusing(t)
	failing := served(t, func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusUnauthorized); return true })
	for name, s := range map[string]Server{
		"no program": {Name: "files", Command: filepath.Join(t.TempDir(), "none")},
		"it ends":    {Name: "files", Command: "false"},
		"nobody":     {Name: "files", URL: "http://" + nobody},
		"inside":     {Name: "files", URL: "http://127.0.0.2/"},
		"refused":    {Name: "files", URL: failing.URL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, Options{MCP: []Server{s}, AllowPrivate: []string{nobody, hostOf(failing)}})
			_, err := k.Define(testContext(t), []task.ToolSpec{{MCP: "files"}})
			e := task.AsError(err)
			require.Equal(t, task.Unavailable, e.Code, "%v", err)
			require.True(t, e.Retryable)
			require.Contains(t, e.Detail, "the MCP server files does not answer")
			r := run(t, k, Definition{Name: "files__x", Remote: "x", Parameters: json.RawMessage(`{}`), Spec: task.ToolSpec{MCP: "files"}}, "")
			require.True(t, r.IsError)
			require.Contains(t, r.Text, "The call was not made")
		})
	}
	r := run(t, newKit(t, Options{}), Definition{Name: "x", Parameters: json.RawMessage(`{}`), Spec: task.ToolSpec{MCP: "gone"}}, "")
	require.Contains(t, r.Text, "no longer there")
}

// A server over HTTP that began anew does not know the session: the call is made with a new one.
func TestMCP_sessionIsForgotten(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"plain": "session not found", "JSON-RPC": `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			forgotten := map[string]bool{}
			forget := false
			server := served(t, func(w http.ResponseWriter, r *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				id := r.Header.Get("Mcp-Session-Id")
				if id == "" {
					// Only the older protocol has sessions.
					if strings.HasPrefix(r.Header.Get("Mcp-Protocol-Version"), "2026") {
						http.Error(w, "unknown method", http.StatusBadRequest)
						return true
					}
					return false
				}
				if forget {
					forget, forgotten[id] = false, true
				}
				if forgotten[id] {
					w.WriteHeader(http.StatusNotFound)
					fmt.Fprint(w, body)
				}
				return forgotten[id]
			})
			k := newKit(t, Options{MCP: []Server{{Name: "files", URL: server.URL}}, AllowPrivate: []string{hostOf(server)}})
			by := tools(t, k)
			mu.Lock()
			forget = true
			mu.Unlock()
			require.Equal(t, "hello", run(t, k, by["echo"], `{"text":"hello"}`).Text)
			mu.Lock()
			defer mu.Unlock()
			require.Len(t, forgotten, 1)
		})
	}
}

func TestMCP_overHTTPFails(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	do := func(http.ResponseWriter, *http.Request) {}
	inCall := false
	server := served(t, func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if inCall && r.Method == http.MethodPost {
			do(w, r)
		}
		return inCall
	})
	k := newKit(t, Options{MCP: []Server{{Name: "files", URL: server.URL, Timeout: time.Second}}, AllowPrivate: []string{hostOf(server)}})
	by := tools(t, k)
	answer := func(code int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, tt := range map[string]struct {
		do      func(http.ResponseWriter, *http.Request)
		want    string
		unknown bool
	}{
		"401": {answer(401), "answered HTTP 401 Unauthorized.", false},
		"429": {answer(429), "answered HTTP 429 Too Many Requests.", false},
		"502": {answer(502), "answered HTTP 502 Bad Gateway. Whether the call took effect is not known.", false},
		"307": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2/", http.StatusTemporaryRedirect)
		}, "answered HTTP 307 Temporary Redirect.", false},
		"page": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "lost during the call", true},
		"gone": {func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_ = conn.Close()
			}
		}, "lost during the call", true},
		"silent stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
		}, "lost during the call", true},
	} {
		t.Run(name, func(t *testing.T) {
			mu.Lock()
			do, inCall = tt.do, true
			mu.Unlock()
			r, err := k.Run(testContext(t), by["echo"], Call{Arguments: json.RawMessage(`{"text":"x"}`)})
			mu.Lock()
			inCall = false
			mu.Unlock()
			if tt.unknown {
				require.ErrorContains(t, err, tt.want)
			} else {
				require.NoError(t, err)
				require.True(t, r.IsError)
				require.Contains(t, r.Text, tt.want)
			}
			require.Equal(t, "again", run(t, k, by["echo"], `{"text":"again"}`).Text, "the connection is made anew")
		})
	}
}

func TestMCP_secretsGoToTheServerAlone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	server := served(t, func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Header.Get("Authorization")]++
		return false
	})
	var log buffer
	key := secret("KEY", "hush-hush-hush", hostOf(server))
	key.Tenants = []string{"acme"}
	k := newKit(t, Options{
		MCP:          []Server{{Name: "files", URL: server.URL, Headers: map[string]string{"Authorization": "Bearer {{secret:KEY}}"}}},
		AllowPrivate: []string{hostOf(server)}, Secrets: []Secret{key}, Log: logger(&log),
	})
	by := tools(t, k)
	require.Equal(t, "hello", run(t, k, by["echo"], `{"text":"hello"}`).Text)
	r, err := k.Run(testContext(t), by["echo"], Call{Tenant: "beta"})
	require.NoError(t, err)
	require.Contains(t, r.Text, "not for this tenant")
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, seen, 1)
	require.Positive(t, seen["Bearer hush-hush-hush"])
	require.NotContains(t, log.String()+string(must(json.Marshal(by))), "hush")
}

func TestMCP_closeEndsServers(t *testing.T) {
	t.Parallel()
	k := newKit(t, Options{MCP: []Server{child(t)}})
	pid, err := strconv.Atoi(run(t, k, tools(t, k)["pid"], "").Text)
	require.NoError(t, err)
	require.NoError(t, k.Close())
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	require.NoError(t, k.Close())
	_, err = k.Define(testContext(t), []task.ToolSpec{{MCP: "files"}})
	require.Equal(t, task.Unavailable, task.AsError(err).Code)
}

func TestCalled(t *testing.T) {
	t.Parallel()
	require.Equal(t, "files__read_file", called("files", "read_file"))
	long := called("files", strings.Repeat("a", 100))
	require.Len(t, long, 64)
	require.NotEqual(t, long, called("files", strings.Repeat("a", 101)))
	require.NotEqual(t, called("files", "a.b"), called("files", "a/b"))
}
