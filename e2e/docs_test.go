package e2e

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/api/server/servertest"
	"longhaul/internal/task"
)

// docPrograms returns the programs in docs/clients.md by the command that runs them.
func docPrograms(t *testing.T) map[string]string {
	text, err := os.ReadFile("../docs/clients.md")
	require.NoError(t, err)
	all := map[string]string{}
	for _, found := range regexp.MustCompile("(?s)<!-- run: (\\w+) -->\n```\\w+\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		all[found[1]] = found[2]
	}
	require.Len(t, all, 4)
	return all
}

// programCommand returns the command that runs a program of docs/clients.md. It skips the test if the machine lacks the
// interpreter.
func programCommand(t *testing.T, language, code string) *exec.Cmd {
	file := map[string]string{"sh": "a.sh", "go": "main.go", "python3": "a.py", "node": "a.mjs"}[language]
	path := filepath.Join(t.TempDir(), file)
	args := []string{path}
	if language == "go" {
		args = []string{"run", path} // inside this module
	}
	if _, err := exec.LookPath(language); err != nil {
		t.Skipf("%s is not installed", language)
	}
	require.NoError(t, os.WriteFile(path, []byte(code), 0o600))
	return exec.CommandContext(t.Context(), language, args...)
}

// The programs in docs/clients.md follow a task to its end: over a direct connection, over a proxy that keeps closing
// connections, and over a proxy that buffers streams, where they fall back to polling.
func TestDocs_clientPrograms(t *testing.T) {
	for language, code := range docPrograms(t) {
		for way, proxy := range map[string]func(*testing.T, string) string{
			"directly": func(_ *testing.T, address string) string { return address },
			"cut":      cuttingProxy, "kept back": bufferingProxy,
		} {
			t.Run(language+" "+way, func(t *testing.T) {
				t.Parallel()
				if way == "kept back" && language == "python3" {
					code = strings.ReplaceAll(code, "timeout=45", "timeout=2")
				}
				tasks := servertest.NewTasks()
				address := proxy(t, servertest.Start(t, servertest.Parts(t, tasks)).URL)
				created, _, err := tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
				require.NoError(t, err)
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				go func() {
					for range 25 {
						time.Sleep(100 * time.Millisecond)
						tasks.Change(created.ID, func(t *task.Task) { t.Status = task.Processing })
					}
					for way == "kept back" && tasks.Listeners() > 0 && ctx.Err() == nil {
						time.Sleep(50 * time.Millisecond) // until the client falls back to polling
					}
					tasks.Succeed(created.ID, `{}`, task.Full)
				}()
				cmd := programCommand(t, language, code)
				cmd.Env = append(os.Environ(), "API="+address, "ID="+created.ID, "KEY=")
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, string(out))
				require.Contains(t, string(out), "succeeded")
			})
		}
	}
}

// cuttingProxy starts a proxy that closes every connection after 0.7 s and returns its URL.
func cuttingProxy(t *testing.T, to string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", strings.TrimPrefix(to, "http://"))
			if err != nil {
				_ = client.Close()
				continue
			}
			time.AfterFunc(700*time.Millisecond, func() { _ = client.Close(); _ = server.Close() })
			go func() { _, _ = io.Copy(server, client) }()
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
	return "http://" + l.Addr().String()
}

// bufferingProxy starts a proxy that sends an answer only when it is complete, as proxies do that do not support streams,
// and returns its URL.
func bufferingProxy(t *testing.T, to string) string {
	target, err := url.Parse(to)
	require.NoError(t, err)
	pass := httputil.NewSingleHostReverseProxy(target)
	pass.ErrorLog, pass.FlushInterval = nil, 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := httptest.NewRecorder()
		pass.ServeHTTP(whole, r)
		maps.Copy(w.Header(), whole.Header())
		w.WriteHeader(whole.Code)
		_, _ = io.Copy(w, whole.Body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
