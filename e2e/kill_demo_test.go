package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// `make kill-demo` keeps the promises that it prints, and leaves no files behind.
func TestKillDemo(t *testing.T) {
	t.Parallel()
	folder, _ := programs()
	temp := t.TempDir()
	demo := exec.CommandContext(t.Context(), filepath.Join(folder, "dev"), "kill-demo")
	demo.Dir = ".." // the source tree, where the program finds Temporal
	demo.Env = append(demo.Environ(), "TMPDIR="+temp)
	out, err := demo.CombinedOutput()
	t.Log(string(out))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^calls repeated after an answer +0 `, string(out))
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
