package main

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

const (
	serverModule = "go.temporal.io/server"
	programName  = "longhaul-temporal"
)

// findTemporal gives the path of the Temporal program: the one that was named, or bin/ of the source
// tree that holds dir. What is missing there, or of another version than the source asks for, is
// built first; out tells so, for that takes minutes.
func findTemporal(ctx context.Context, named, dir string, out io.Writer) (string, error) {
	if named != "" {
		return named, nil
	}
	root, err := sourceRoot(dir)
	if err != nil {
		return beside()
	}
	want, err := wantedVersion(filepath.Join(root, "temporal", "go.mod"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", programName)
	if builtVersion(path) == want {
		return path, nil
	}
	return path, buildTemporal(ctx, root, path, want, out)
}

// beside looks next to this program, for those who have no source tree.
func beside() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), programName)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no %s: run this inside the source tree of longhaul, or say where it is with --temporal-bin", programName)
	}
	return path, nil
}

// sourceRoot walks up from dir to the folder that holds temporal/go.mod.
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

// wantedVersion reads which server the module file asks for.
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

// builtVersion reads which server was linked into a program; "" when there is none, or no program.
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
	fmt.Fprintf(out, "Building the Temporal server %s. This is done once, and takes 3 to 6 minutes on two cores.\n", version)
	done := make(chan struct{})
	defer close(done)
	go tick(done, 30*time.Second, func() { fmt.Fprintf(out, "  still building, %s\n", time.Since(begun).Round(time.Second)) })

	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(root, "temporal"), "-o", path, ".")
	said, err := build.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("building Temporal needs Go: install it, or say with --temporal-bin where the program is")
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("building Temporal: %w\n%s", err, bytes.TrimSpace(said))
	}
	fmt.Fprintf(out, "Built in %s.\n", time.Since(begun).Round(time.Second))
	return nil
}

// tick calls fn again and again until done is closed.
func tick(done <-chan struct{}, every time.Duration, fn func()) {
	ticker := time.NewTicker(every)
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
