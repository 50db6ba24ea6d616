package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// The provider key appears in no answer, file or log, even if the provider's error message contains it.
func TestSecrets_appearInNoOutput(t *testing.T) {
	s := newStack(t)
	const secret = "sk-test-secret-marker"
	s.provider.On("[doc-000]", llmtest.Fail(http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided: `+secret+`"}}`))
	done := s.finish(s.submit(notes(1)))
	require.Equal(t, task.Failed, done.Status)
	_, body := s.get("/v1/tasks/" + done.ID)
	_, items := s.get("/v1/tasks/" + done.ID + "/items")
	require.Contains(t, body, string(task.ModelAuth))
	require.NotContains(t, body+items, secret)
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.NotContains(t, string(data), secret, path)
		return err
	}))
}
