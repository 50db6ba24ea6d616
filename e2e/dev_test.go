package e2e

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/localtemporal"
)

// The all-in-one program explains in a sentence why it cannot start, and exits with status 1.
func TestDev_explainsFailedStart(t *testing.T) {
	folder, temporal := programs()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, data string)
		want    string
	}{
		"the folder cannot be written": {func(t *testing.T, data string) {
			require.NoError(t, os.WriteFile(data, nil, 0o600)) // a file in place of the folder
		}, "cannot be written"},
		"another server's file": {func(t *testing.T, data string) {
			require.NoError(t, os.MkdirAll(data, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(data, "VERSION"), []byte("1.0.0\n"), 0o600))
		}, "was written by Temporal 1.0.0"},
		"a second one": {func(t *testing.T, data string) {
			first, err := localtemporal.Start(t.Context(), localtemporal.Options{Program: temporal, Data: data, Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			t.Cleanup(first.Stop)
		}, "in use by process"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.prepare(t, filepath.Join(dir, "temporal"))
			dev := exec.CommandContext(t.Context(), filepath.Join(folder, "dev"),
				"--api", freeAddress(t), "--temporal-port", "0", "--ui-port", "0", "--data", dir, "--temporal-bin", temporal)
			dev.Env = append(os.Environ(), "TEMPORAL_ADDRESS=")
			dev.Dir = dir
			var said bytes.Buffer
			dev.Stderr = &said
			var exit *exec.ExitError
			require.ErrorAs(t, dev.Run(), &exit)
			require.Equal(t, 1, exit.ExitCode())
			require.Contains(t, said.String(), c.want)
			require.Less(t, strings.Count(said.String(), "\n"), 4, "one sentence instead of a log: %s", said.String())
		})
	}
}

// make kill-demo keeps the promises that it prints and leaves no files behind.
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
