package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/client"
)

func TestWatch_survivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	tasks := servertest.NewTasks()
	upstream := servertest.Start(t, servertest.Parts(t, tasks))
	var calls atomic.Int64
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch calls.Add(1) {
		case 1, 5: // the first request, and the one after the restart
			upstream.Config.Handler.ServeHTTP(w, r)
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			w.WriteHeader(http.StatusBadGateway)
		default:
			tasks.Succeed("task-1", `{}`, client.Full)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer broken.Close()
	created, err := clientOf(t, upstream.URL).Create(t.Context(), small, "")
	require.NoError(t, err)

	c := clientOf(t, broken.URL)
	c.RetryDelay = time.Millisecond
	done, err := c.Watch(t.Context(), created.ID, func(client.Task) {})
	require.NoError(t, err)
	require.True(t, done.Done)
	require.Equal(t, int64(5), calls.Load())
}

func TestWatch_givesUp(t *testing.T) {
	t.Parallel()
	tasks := servertest.NewTasks()
	upstream := servertest.Start(t, servertest.Parts(t, tasks))
	created, err := clientOf(t, upstream.URL).Create(t.Context(), small, "")
	require.NoError(t, err)
	var calls atomic.Int64
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		upstream.Config.Handler.ServeHTTP(w, r)
	}))
	defer broken.Close()
	c := clientOf(t, broken.URL)
	c.RetryDelay, c.RetryFor = time.Millisecond, 20*time.Millisecond
	last, err := c.Watch(t.Context(), created.ID, func(client.Task) {})
	require.Equal(t, client.NoAnswer, codeOf(t, err))
	require.Equal(t, created.ID, last.ID, "the last state is known")
}

// wraps are what may be between a client and the API.
var wraps = map[string]func(http.Handler) http.Handler{
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
}

// wrapped serves tasks in memory behind a wrap.
func wrapped(t *testing.T, wrap func(http.Handler) http.Handler) (*client.Client, *servertest.Tasks) {
	tasks := servertest.NewTasks()
	h, err := server.New(servertest.Parts(t, tasks))
	require.NoError(t, err)
	srv := httptest.NewServer(wrap(h))
	t.Cleanup(srv.Close)
	c := clientOf(t, srv.URL)
	c.RetryDelay, c.StreamTimeout = 10*time.Millisecond, 500*time.Millisecond
	return c, tasks
}

// A watch shows every state once and in order: from a stream, from polls where streams are held back, and from a stream that
// breaks off.
func TestWatch_ways(t *testing.T) {
	t.Parallel()
	for name, wrap := range wraps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, tasks := wrapped(t, wrap)
			created, err := c.Create(t.Context(), small, "")
			require.NoError(t, err)
			go func() {
				for range 20 {
					time.Sleep(50 * time.Millisecond)
					tasks.Change(created.ID, func(t *client.Task) { t.Status = client.Processing })
				}
				tasks.Succeed(created.ID, `{}`, client.Full)
			}()
			var revisions []int64
			done, err := c.Watch(t.Context(), created.ID, func(t client.Task) { revisions = append(revisions, t.Revision) })
			require.NoError(t, err)
			require.Equal(t, client.Succeeded, done.Status)
			require.IsIncreasing(t, revisions)
			require.EqualValues(t, 22, revisions[len(revisions)-1])
		})
	}
}

func TestWatchText(t *testing.T) {
	t.Parallel()
	c, tasks := newClient(t)
	created, err := c.Create(t.Context(), small, "")
	require.NoError(t, err)
	tasks.Write(created.ID, client.Text{Text: "The lamp"})
	var texts []string
	_, err = c.WatchText(t.Context(), created.ID, func(client.Task) {}, func(text client.Text) {
		texts = append(texts, text.Text)
		tasks.Succeed(created.ID, `{}`, client.Full)
	})
	require.NoError(t, err)
	require.Equal(t, []string{"The lamp"}, texts)
}

// WatchAll shows the tasks that are there and those that come later, also when its stream breaks off, until its context ends.
func TestWatchAll(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "cut"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, tasks := wrapped(t, wraps[name])
			_, err := c.Create(t.Context(), small, "")
			require.NoError(t, err)
			ctx, stop := context.WithCancel(t.Context())
			go func() {
				time.Sleep(400 * time.Millisecond)
				_, _ = c.Create(t.Context(), small, "")
				tasks.Succeed("task-2", `{}`, client.Full)
			}()
			statuses := map[string]client.State{}
			err = c.WatchAll(ctx, func(t client.Task) {
				statuses[t.ID] = t.Status
				if t.Done {
					stop()
				}
			})
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, map[string]client.State{"task-1": client.Pending, "task-2": client.Succeeded}, statuses)
		})
	}
	c, _ := wrapped(t, wraps["kept back"])
	require.Equal(t, client.NoAnswer, codeOf(t, c.WatchAll(t.Context(), func(client.Task) {})))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.WatchAll(ended, func(client.Task) {}), context.Canceled)
}
