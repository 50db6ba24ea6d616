package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/client"
	"longhaul/internal/task"
)

func newClient(t *testing.T) (*client.Client, *servertest.Tasks) {
	t.Helper()
	tasks := servertest.NewTasks()
	c, err := client.New(servertest.Start(t, servertest.Parts(t, tasks)).URL, "")
	require.NoError(t, err)
	return c, tasks
}

var small = client.NewTask{Kind: "summary", Input: []byte(`{"documents":[{"text":"a"}]}`)}

func TestClient_followsATaskToItsResult(t *testing.T) {
	t.Parallel()
	c, tasks := newClient(t)
	tasks.OnCreate = func(id string) {
		tasks.Change(id, func(t *task.Task) { t.Status = task.Processing })
		tasks.Give(id, make([]task.Item, 205), map[string]string{"report.md": "# Report"})
		tasks.Succeed(id, `{"n":9007199254740993}`, task.Full)
	}
	created, err := c.Create(t.Context(), small, "key")
	require.NoError(t, err)
	var seen []task.State
	done, err := c.Watch(t.Context(), created.ID, func(t task.Task) { seen = append(seen, t.Status) })
	require.NoError(t, err)
	require.Equal(t, task.Succeeded, done.Status)
	require.Equal(t, task.Succeeded, seen[len(seen)-1])

	result, err := c.Result(t.Context(), created.ID)
	require.NoError(t, err)
	defer func() { _ = result.Close() }()
	text, err := io.ReadAll(result)
	require.NoError(t, err)
	require.Equal(t, `{"n":9007199254740993}`, string(text))
	items, err := c.Items(t.Context(), created.ID, "")
	require.NoError(t, err)
	require.Len(t, items, 205)
	page, err := c.List(t.Context(), task.Filter{Status: task.Succeeded, Limit: 5})
	require.NoError(t, err)
	require.Len(t, page.Data, 1)
}

func TestClient_errors(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	_, err := c.Get(t.Context(), "no/pe")
	require.Equal(t, task.NotFound, task.AsError(err).Code)
	_, err = c.Create(t.Context(), client.NewTask{Kind: "summary", Input: []byte(`{}`)}, "")
	require.Equal(t, "/input/documents", task.AsError(err).Errors[0].Pointer)
	created, err := c.Create(t.Context(), small, "")
	require.NoError(t, err)
	_, err = c.Result(t.Context(), created.ID)
	require.Equal(t, task.NotReady, task.AsError(err).Code)
	cancelled, err := c.Cancel(t.Context(), created.ID)
	require.NoError(t, err)
	require.Equal(t, task.Cancelling, cancelled.Status)
	_, err = client.New("localhost:8080", "")
	require.Error(t, err)
}

func TestClient_unreachable(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := "http://" + ln.Addr().String()
	require.NoError(t, ln.Close())
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer proxy.Close()
	for _, address := range []string{closed, proxy.URL} {
		c, err := client.New(address, "")
		require.NoError(t, err)
		_, err = c.Kinds(t.Context())
		var lost *client.Unreachable
		require.ErrorAs(t, err, &lost)
		require.Equal(t, address, lost.Address)
	}
}

func TestWatch_bearsARestartOfTheServer(t *testing.T) {
	t.Parallel()
	tasks := servertest.NewTasks()
	upstream := servertest.Start(t, servertest.Parts(t, tasks))
	var calls atomic.Int64
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch calls.Add(1) {
		case 1, 5: // the first look, and the one after the restart
			upstream.Config.Handler.ServeHTTP(w, r)
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			w.WriteHeader(http.StatusBadGateway)
		default:
			tasks.Succeed("task-1", `{}`, task.Full)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer broken.Close()
	direct, err := client.New(upstream.URL, "")
	require.NoError(t, err)
	created, err := direct.Create(t.Context(), small, "")
	require.NoError(t, err)

	c, err := client.New(broken.URL, "")
	require.NoError(t, err)
	c.Pause = time.Millisecond
	done, err := c.Watch(t.Context(), created.ID, func(task.Task) {})
	require.NoError(t, err)
	require.True(t, done.Done)
	require.Equal(t, int64(5), calls.Load())
}

func TestUploadFile(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	path := filepath.Join(t.TempDir(), "财报 2025.txt")
	require.NoError(t, os.WriteFile(path, []byte("content"), 0o600))
	sent := 0
	file, err := c.UploadFile(t.Context(), path, func(n int) { sent += n })
	require.NoError(t, err)
	require.Equal(t, "财报 2025.txt", file.Name)
	require.Equal(t, int64(7), file.Bytes)
	require.Equal(t, 7, sent)
	_, err = c.UploadFile(t.Context(), t.TempDir(), nil)
	require.ErrorContains(t, err, "is not a file")
}

// A watch listens; where a stream is kept back it polls, and one that breaks off is taken up again.
func TestWatch_ways(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"stream": func(h http.Handler) http.Handler { return h },
		"kept back": func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/events") {
					<-r.Context().Done()
					return
				}
				h.ServeHTTP(w, r)
			})
		},
		"an older server": func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.URL.Path = strings.Replace(r.URL.Path, "/events", "/no-such-route", 1)
				h.ServeHTTP(w, r)
			})
		},
		"cut": func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithTimeout(r.Context(), 150*time.Millisecond)
				defer cancel()
				h.ServeHTTP(w, r.WithContext(ctx))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tasks := servertest.NewTasks()
			h, err := server.New(servertest.Parts(t, tasks))
			require.NoError(t, err)
			srv := httptest.NewServer(wrap(h))
			t.Cleanup(srv.Close)
			c, err := client.New(srv.URL, "")
			require.NoError(t, err)
			c.Pause, c.Silence = 10*time.Millisecond, 500*time.Millisecond
			created, err := c.Create(t.Context(), small, "")
			require.NoError(t, err)
			go func() {
				for range 20 {
					time.Sleep(50 * time.Millisecond)
					tasks.Change(created.ID, func(t *task.Task) { t.Status = task.Processing })
				}
				tasks.Succeed(created.ID, `{}`, task.Full)
			}()
			var revisions []int64
			done, err := c.Watch(t.Context(), created.ID, func(t task.Task) { revisions = append(revisions, t.Revision) })
			require.NoError(t, err)
			require.Equal(t, task.Succeeded, done.Status)
			require.IsIncreasing(t, revisions)
			require.EqualValues(t, 22, revisions[len(revisions)-1])
		})
	}
}
