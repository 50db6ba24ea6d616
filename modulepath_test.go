package longhaul_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// `make module-path PATH=host/owner/name` renames the module wherever it is named, also a second time: all imports resolve, the room
// rules hold, and no file imports the old name.
func TestModulePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copyRepository(t, dir)
	in := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, wrong := range []string{"no-host", "https://github.com/acme/longhaul", "github.com/acme/"} {
		out, err := in("make", "module-path", "PATH="+wrong)
		require.Error(t, err, wrong)
		require.Contains(t, out, "usage: make module-path", wrong)
	}
	old := module
	for _, path := range []string{"github.com/acme/long-haul.go", "example.org/longhaul"} {
		out, err := in("make", "module-path", "PATH="+path)
		require.NoError(t, err, out)
		for _, folder := range []string{".", "temporal", "examples/go-client"} {
			out, err = in("go", "list", "-C", folder, "-deps", "-test", "./...")
			require.NoError(t, err, out)
		}
		out, err = in("go", "test", "-run", "TestRooms|TestModules", ".")
		require.NoError(t, err, out)
		out, _ = in("grep", "-rnE", `"`+old+`/(internal|api|client)/?|^(module|require|replace) `+old+`\b`, ".")
		require.Empty(t, out)
		old = path
	}
}

// copyRepository copies the sources, without what builds and runs leave in the work tree.
func copyRepository(t *testing.T, to string) {
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" || name == "bin" || name == "data":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, info.Mode())
	})
	require.NoError(t, err)
}
