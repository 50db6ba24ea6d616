package server_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/internal/task"
)

// BenchmarkGet is what one read of a status costs on the way through the API, without the network.
func BenchmarkGet(b *testing.B) {
	tasks := servertest.NewTasks()
	h, err := server.New(server.Parts{Tasks: tasks, Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	created, _, err := tasks.Create(b.Context(), task.Draft{Tenant: "default", Kind: "summary"})
	require.NoError(b, err)
	for b.Loop() {
		req := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/tasks/"+created.ID, nil)
		req.Host = "localhost"
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, req)
		if recorder.Code != http.StatusOK {
			b.Fatal(recorder.Code)
		}
	}
}
