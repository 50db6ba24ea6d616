package localtemporal

import (
	"bufio"
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ProgramName is the file name of the Temporal program.
const ProgramName = "longhaul-temporal"

const serverModule = "go.temporal.io/server"

// FindProgram returns the path of the Temporal program: named if it is not empty, else the one in bin/ of the source tree
// around dir. It first builds the program if that one is missing or has another server version than temporal/go.mod requires,
// which takes minutes; progress is written to out.
func FindProgram(ctx context.Context, named, dir string, out io.Writer) (string, error) {
	if named != "" {
		return named, nil
	}
	root, err := sourceRoot(dir)
	if err != nil {
		return besideExecutable()
	}
	want, err := wantedVersion(filepath.Join(root, "temporal", "go.mod"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", ProgramName)
	if builtVersion(path) == want {
		return path, nil
	}
	return path, buildTemporal(ctx, root, path, want, out)
}

// besideExecutable looks in the folder of the running program, for installations without a source tree.
func besideExecutable() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), ProgramName)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s not found: run this inside the source tree of longhaul, or name the program with --temporal-bin", ProgramName)
	}
	return path, nil
}

// sourceRoot walks up from dir to the folder that holds temporal/go.mod; fs.ErrNotExist if there is none.
func sourceRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "temporal", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fs.ErrNotExist
		}
		dir = parent
	}
}

// wantedVersion returns the server version that the module file at path requires.
func wantedVersion(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if words := strings.Fields(strings.TrimPrefix(lines.Text(), "require ")); len(words) >= 2 && words[0] == serverModule {
			return words[1], nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", path, serverModule)
}

// builtVersion returns the server version linked into the program at path; "" without a server or a program.
func builtVersion(path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == serverModule {
			return module.Version
		}
	}
	return ""
}

func buildTemporal(ctx context.Context, root, path, version string, out io.Writer) error {
	begun := time.Now()
	fmt.Fprintf(out, "Building the Temporal server %s. This happens once and takes 3 to 6 minutes on two cores.\n", version)
	done := make(chan struct{})
	defer close(done)
	go tick(done, 30*time.Second, func() { fmt.Fprintf(out, "  still building, %s\n", time.Since(begun).Round(time.Second)) })

	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(root, "temporal"), "-o", path, ".")
	said, err := build.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("building Temporal needs Go: install it, or name the program with --temporal-bin")
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("building Temporal: %w\n%s", err, bytes.TrimSpace(said))
	}
	fmt.Fprintf(out, "Built in %s.\n", time.Since(begun).Round(time.Second))
	return nil
}

// tick calls fn once per interval until done is closed.
func tick(done <-chan struct{}, interval time.Duration, fn func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			fn()
		}
	}
}
