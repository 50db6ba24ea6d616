package recordtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const promptChanged = `the prompt %s has changed. A prompt is part of the request that the ledger knows an answer by: a task in flight, and every replay,
pays again for what the old prompt had answered. If that is meant, raise the version of the prompt and write its file:
go test ./... -run Prompts -update`

// Prompt compares a prompt, made from a fixed sample, with testdata/prompts/<name>.v<version>.txt. A changed text needs a
// new version: -update writes no file that is there already.
func Prompt(t *testing.T, name string, version int, text string) {
	t.Helper()
	file := filepath.Join("testdata", "prompts", fmt.Sprintf("%s.v%d.txt", name, version))
	want, err := os.ReadFile(file)
	switch {
	case err == nil:
		require.Equal(t, string(want), text+"\n", promptChanged, name)
	case os.IsNotExist(err) && *update:
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o644))
	default:
		require.NoError(t, err, "the prompt %s has no file: go test ./... -run Prompts -update", name)
	}
}
