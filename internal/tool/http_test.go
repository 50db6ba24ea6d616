package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/fakeserver"
	"longhaul/internal/task"
)

// heard is a request as a server got it.
type heard struct {
	Method, URI, Body string
	Header            http.Header
}

// site is a small API on loopback. Its /echo answers with what it heard.
func site(t testing.TB) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(heard{r.Method, r.RequestURI, string(body), r.Header})
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscan(r.URL.Query().Get("c"), &code)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
		fmt.Fprint(w, "why it is so")
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("u"))
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/typed", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("t"))
		fmt.Fprint(w, r.URL.Query().Get("b"))
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, strings.Repeat("茶", maxText/3)+"hush-hush-hush"+strings.Repeat("x", maxText))
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "the beginning")
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func hostOf(s *httptest.Server) string { return s.Listener.Addr().String() }

// web is the definition of a tool with any arguments.
func web(t testing.TB, k *Kit, method, url string, headers map[string]string, properties ...string) Definition {
	t.Helper()
	return define(t, k, task.ToolSpec{HTTP: &task.HTTPTool{
		Name: "api", Description: "d", Method: method, URL: url, Headers: headers, Parameters: object(properties...),
	}})
}

func echoed(t testing.TB, r Result) heard {
	t.Helper()
	require.False(t, r.IsError, r.Text)
	var h heard
	require.NoError(t, json.Unmarshal([]byte(r.Text), &h), r.Text)
	return h
}

func TestHTTP_whereArgumentsGo(t *testing.T) {
	t.Parallel()
	server := site(t)
	k := newKit(t, Options{AllowPrivate: []string{hostOf(server)}})
	arguments := `{"id":"a/b","q":"x y","n":12345678901234567890,"list":["a",1],"deep":{"k":"v"},"none":null}`
	tests := map[string]struct{ uri, body string }{
		"GET":    {"/echo/a%2Fb?fixed=1&p=x%20y&deep=%7B%22k%22%3A%22v%22%7D&list=a&list=1&n=12345678901234567890", ""},
		"DELETE": {"/echo/a%2Fb?fixed=1&p=x%20y&deep=%7B%22k%22%3A%22v%22%7D&list=a&list=1&n=12345678901234567890", ""},
		"POST":   {"/echo/a%2Fb?fixed=1&p=x%20y", `{"deep":{"k":"v"},"list":["a",1],"n":12345678901234567890,"none":null}`},
		"PUT":    {"/echo/a%2Fb?fixed=1&p=x%20y", `{"deep":{"k":"v"},"list":["a",1],"n":12345678901234567890,"none":null}`},
		"PATCH":  {"/echo/a%2Fb?fixed=1&p=x%20y", `{"deep":{"k":"v"},"list":["a",1],"n":12345678901234567890,"none":null}`},
	}
	for method, want := range tests {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			d := web(t, k, method, server.URL+"/echo/{id}?fixed=1&p={q}", map[string]string{"X-Own": "v"}, "id", "q", "n", "list", "deep", "none")
			require.Equal(t, method == "GET", d.Safe)
			require.Equal(t, method != "GET", d.Approval)
			r := run(t, k, d, arguments)
			got := echoed(t, r)
			require.Equal(t, method, got.Method)
			require.Equal(t, want.uri, got.URI)
			require.Equal(t, want.body, got.Body)
			require.Equal(t, "call-1", got.Header.Get("Idempotency-Key"))
			require.Equal(t, "v", got.Header.Get("X-Own"))
			require.Equal(t, want.body != "", got.Header.Get("Content-Type") == "application/json")
			require.Equal(t, "application/json", r.ContentType)
		})
	}
	r := run(t, k, web(t, k, "", server.URL+"/echo/?fixed=1", nil), `{"fixed":"2"}`)
	require.True(t, r.IsError)
	require.Contains(t, r.Text, "set by the address itself")
	r = run(t, k, web(t, k, "HEAD", server.URL+"/echo/", nil), `{}`)
	require.Equal(t, Result{Text: "It answered HTTP 200 OK, without a text."}, r)
}

func TestHTTP_answers(t *testing.T) {
	t.Parallel()
	server := site(t)
	k := newKit(t, Options{AllowPrivate: []string{hostOf(server)}, Secrets: []Secret{secret("KEY", "hush-hush-hush", "x.example")}})
	page := "<html><body><h1>Title</h1><script>no()</script><p>" + strings.Repeat("Words of the page. ", 30) + "</p></body></html>"
	tests := map[string]struct {
		method, url, body string
		want              []string
		isError           bool
	}{
		"404":                {"GET", "/status?c=404", "", []string{"It answered HTTP 404 Not Found.", "why it is so"}, true},
		"429":                {"GET", "/status?c=429", "", []string{"HTTP 429", "Retry-After 7"}, true},
		"500, safe":          {"GET", "/status?c=500", "", []string{"HTTP 500 Internal Server Error. It asks to wait: Retry-After 7.\n\nwhy"}, true},
		"502":                {"POST", "/status?c=502", "", []string{"HTTP 502", "Whether it took effect is not known."}, true},
		"201":                {"POST", "/status?c=201", "", []string{"why it is so"}, false},
		"POST is not led on": {"POST", "/to?u=/echo/?k=hush-hush-hush", "", []string{"HTTP 307", "/echo/, and redirects of POST are not followed"}, true},
		"redirect":           {"GET", "/to?u=/echo/there", "", []string{`"URI":"/echo/there"`}, false},
		"circle":             {"GET", "/to?u=%2Fto%3Fu%3D%252Fto", "", []string{"It answered HTTP 307"}, true},
		"to a file":          {"GET", "/to?u=file:///etc/passwd", "", []string{"not a plain web address"}, true},
		"to a user":          {"GET", "/to?u=http://a:b@127.0.0.1/", "", []string{"not a plain web address"}, true},
		"inside":             {"GET", "/to?u=http://127.0.0.2/", "", []string{"may not be called"}, true},
		"metadata":           {"GET", "/to?u=http://169.254.169.254/", "", []string{"may not be called"}, true},
		"html":               {"GET", "/typed?t=text/html", page, []string{"# Title", "Words of the page."}, false},
		"text":               {"GET", "/typed?t=text/csv", "a,b", []string{"a,b"}, false},
		"latin":              {"GET", "/typed?t=text/plain%3Bcharset=iso-8859-1", "caf\xe9", []string{"café"}, false},
		"problem":            {"GET", "/typed?t=application/problem%2Bjson", `{"a":1}`, []string{`{"a":1}`}, false},
		"picture":            {"GET", "/typed?t=image/png", "\x89PNG....", []string{"image/png of 8 bytes", "no text"}, true},
		"lying":              {"GET", "/typed?t=text/plain", "a\x00b", []string{"text/plain of 3 bytes"}, true},
		"untyped":            {"GET", "/typed?t=", "plain words", []string{"plain words"}, false},
		"pdf":                {"POST", "/typed?t=application/pdf", "%PDF-1.7", []string{"It answered HTTP 200 OK. The answer is application/pdf", "fetch"}, true},
		"empty":              {"GET", "/typed?t=text/plain", "", []string{"HTTP 200 OK, without a text"}, false},
		"cut after an order": {"POST", "/cut", "", []string{"It answered HTTP 200 OK, so it has probably taken effect, but the connection was lost", "the beginning"}, true},
		"no name":            {"GET", "http://no-such-host.invalid/", "", []string{"The call was not made", "cannot be resolved"}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := tt.url
			if strings.HasPrefix(address, "/") {
				address = server.URL + address
			}
			if tt.body != "" {
				address += "&b=" + escape(tt.body)
			}
			r := run(t, k, web(t, k, tt.method, address, nil), "")
			for _, want := range tt.want {
				require.Contains(t, r.Text, want)
			}
			require.Equal(t, tt.isError, r.IsError, r.Text)
			require.NotContains(t, r.Text, "no()")
			require.NotContains(t, r.Text, "hush")
		})
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// A text has a limit, and a secret that lies across it does not show its beginning.
func TestHTTP_longAnswer(t *testing.T) {
	t.Parallel()
	server := site(t)
	k := newKit(t, Options{AllowPrivate: []string{hostOf(server)}, Secrets: []Secret{secret("KEY", "hush-hush-hush", "x.example")}})
	r := run(t, k, web(t, k, "", server.URL+"/long", nil), "")
	require.True(t, r.Truncated)
	require.False(t, r.IsError)
	require.LessOrEqual(t, len(r.Text), maxText)
	require.NotContains(t, r.Text, "hush")
	require.Contains(t, r.Text, "茶[")
}

func TestHTTP_knownAndUnknownEnds(t *testing.T) {
	t.Parallel()
	server, nobody := site(t), fakeserver.Refusing(t)
	var requests atomic.Int32
	rude := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}))
	t.Cleanup(rude.Close)
	k := newKit(t, Options{
		AllowPrivate: []string{hostOf(server), nobody, hostOf(rude)},
		HTTP:         []HTTPTool{{HTTPTool: task.HTTPTool{Name: "slow", Description: "d", Method: "POST", URL: server.URL + "/hang"}, Timeout: 200 * time.Millisecond}},
	})
	t.Run("refused", func(t *testing.T) {
		r := run(t, k, web(t, k, "POST", "http://"+nobody+"/x", nil), "")
		require.True(t, r.IsError)
		require.Contains(t, r.Text, "The call was not made")
		require.Contains(t, r.Text, "refused the connection")
	})
	t.Run("lost", func(t *testing.T) {
		d := web(t, k, "POST", rude.URL+"/x", nil)
		require.False(t, run(t, k, d, "").IsError)
		_, err := k.Run(testContext(t), d, Call{ID: "1"})
		require.Equal(t, task.Unavailable, task.AsError(err).Code, "%v", err)
		require.Contains(t, err.Error(), "whether it took effect is not known")
		require.EqualValues(t, 2, requests.Load(), "nothing is sent twice, whatever its idempotency key")
	})
	t.Run("late", func(t *testing.T) {
		_, err := k.Run(testContext(t), define(t, k, task.ToolSpec{Configured: "slow"}), Call{})
		require.ErrorContains(t, err, "did not answer in time after the call was sent")
		require.True(t, task.AsError(err).Retryable)
	})
	t.Run("cut while reading", func(t *testing.T) {
		_, err := k.Run(testContext(t), web(t, k, "GET", server.URL+"/cut", nil), Call{})
		require.ErrorContains(t, err, "the connection was lost")
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(testContext(t))
		time.AfterFunc(100*time.Millisecond, cancel)
		_, err := k.Run(ctx, web(t, k, "GET", server.URL+"/hang", nil), Call{})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// No way to write an inside address leads to a connection.
func TestHTTP_insideIsClosed(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(hostOf(server))
	require.NoError(t, err)
	k := newKit(t, Options{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "169.254.169.254", "10.0.0.1"} {
		r := run(t, k, web(t, k, "POST", "http://"+host+":"+port+"/", nil), "")
		require.True(t, r.IsError, host)
		require.Regexp(t, "may not be called|was not made", r.Text)
	}
	require.Zero(t, hits.Load())
}

// What the configuration changes under a task that is under way does not make its tools less safe than it was told.
func TestHTTP_configuredToolChanges(t *testing.T) {
	t.Parallel()
	server := site(t)
	tool := HTTPTool{HTTPTool: task.HTTPTool{Name: "look", Description: "d", URL: server.URL + "/echo/"}}
	before := newKit(t, Options{HTTP: []HTTPTool{tool}, AllowPrivate: []string{hostOf(server)}})
	d := define(t, before, task.ToolSpec{Configured: "look"})
	require.True(t, d.Safe)
	require.Equal(t, "GET", echoed(t, run(t, before, d, "")).Method)
	tool.Method = "POST"
	for _, options := range []Options{{HTTP: []HTTPTool{tool}}, {}} {
		r := run(t, newKit(t, options), d, "")
		require.True(t, r.IsError)
		require.Contains(t, r.Text, "no longer there")
	}
}
