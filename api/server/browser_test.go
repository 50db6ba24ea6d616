package server_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/internal/browsertest"
)

// browser starts Chromium for a test and its subtests.
func browser(t *testing.T) context.Context { t.Helper(); return browsertest.Start(t, nil) }

// window is a window of a browser, and the API that it shows.
type window struct {
	*browsertest.Window
	tasks *servertest.Tasks
	stub  *stub
}

// open starts an API and opens a window that has not shown any of it yet.
func open(t *testing.T, browser context.Context, change func(*server.Parts)) *window {
	t.Helper()
	tasks := servertest.NewTasks()
	parts := servertest.Parts(t, tasks)
	if change != nil {
		change(&parts)
	}
	api, err := server.New(parts)
	require.NoError(t, err)
	front := &stub{api: api}
	srv := httptest.NewServer(front)
	t.Cleanup(srv.Close)
	return &window{Window: browsertest.Open(t, browser, srv.URL, 3*time.Minute), tasks: tasks, stub: front}
}

// eval gives the value of an expression in the page, or what it promises.
func eval[T any](w *window, expression string) T {
	w.T.Helper()
	return browsertest.Eval[T](w.Window, expression)
}
