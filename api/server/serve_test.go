package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/internal/task"
)

// startOn serves a handler with Serve until the test ends, and gives its address.
func startOn(t *testing.T, h http.Handler) string {
	t.Helper()
	address, stop := serve(t, h)
	t.Cleanup(func() { require.NoError(t, stop()) })
	return address
}

func serve(t *testing.T, h http.Handler) (address string, stop func() error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, ln, h, slog.New(slog.DiscardHandler)) }()
	return ln.Addr().String(), func() error {
		cancel()
		return <-done
	}
}

func TestServe_stopsPolitely(t *testing.T) {
	t.Parallel()
	const polls = 50
	tasks := servertest.NewTasks()
	h, err := server.New(servertest.Parts(t, tasks))
	require.NoError(t, err)
	arrived := make(chan struct{}, polls+1)
	address, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		h.ServeHTTP(w, r)
	}))
	created, _, err := tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
	require.NoError(t, err)

	statuses := make(chan int, polls)
	var all sync.WaitGroup
	for range polls {
		all.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/tasks/"+created.ID+"?wait=60s", nil)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				statuses <- 0
				return
			}
			_ = resp.Body.Close()
			statuses <- resp.StatusCode
		})
	}
	upload, body := io.Pipe()
	uploaded := make(chan int, 1)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/files?name=a.txt", upload)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			uploaded <- 0
			return
		}
		_ = resp.Body.Close()
		uploaded <- resp.StatusCode
	}()
	_, err = body.Write([]byte("first half, "))
	require.NoError(t, err)
	for range polls + 1 {
		<-arrived
	}

	began := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	all.Wait()
	require.Less(t, time.Since(began), 15*time.Second, "long polls answer at once")
	for range polls {
		require.Equal(t, http.StatusOK, <-statuses)
	}
	require.Empty(t, stopped, "the upload has its time")
	_, err = body.Write([]byte("second half"))
	require.NoError(t, err)
	require.NoError(t, body.Close())
	require.Equal(t, http.StatusCreated, <-uploaded)
	require.NoError(t, <-stopped)
	require.Less(t, time.Since(began), 19*time.Second)
}

func TestServe_outlivesSilentClients(t *testing.T) {
	t.Parallel()
	tasks := servertest.NewTasks()
	h, err := server.New(servertest.Parts(t, tasks))
	require.NoError(t, err)
	h, ended := drained(h)
	address := startOn(t, h)
	created, _, err := tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
	require.NoError(t, err)
	const clients = 100
	for range clients {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "GET /v1/tasks/%s?wait=60s HTTP/1.1\r\nHost: x\r\n\r\n", created.ID)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool { return ended.Load() == clients }, 30*time.Second, 10*time.Millisecond, "a poll ends when its client leaves")
}
