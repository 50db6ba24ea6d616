package servertest

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/internal/schema"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Parts gives everything a server needs: tasks in memory, files in a folder of the test, the kind
// summary, and small limits.
func Parts(t *testing.T, tasks *Tasks) server.Parts {
	t.Helper()
	bucket, err := storage.Open(t.Context(), "file://"+t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return server.Parts{
		Tasks: tasks, Webhooks: &Hooks{Tasks: tasks}, Files: storage.NewFiles(bucket), Kinds: []task.KindInfo{Summary()},
		Limits: server.Limits{MaxBody: 64 << 10, MaxUpload: 1 << 20}, Log: slog.New(slog.DiscardHandler), Version: "test",
	}
}

// Summary describes the kind summary.
func Summary() task.KindInfo {
	return task.KindInfo{
		Name: "summary", Title: "Summarise documents", Description: "Each document gets a summary of its own.",
		Steps: []string{"fetch", "extract", "summarise", "digest", "store"}, InputSchema: schema.Of(task.SummaryInput{}),
		Example: []byte(`{"kind":"summary","input":{"documents":[{"text":"It was the best of times."}],"words":50}}`),
	}
}

// Start serves parts on a loopback address until the test ends.
func Start(t *testing.T, parts server.Parts) *httptest.Server {
	t.Helper()
	h, err := server.New(parts)
	require.NoError(t, err)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}
