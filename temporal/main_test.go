package main

import (
	"bytes"
	"database/sql"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.temporal.io/server/common/headers"
)

func TestOpenFolder_refusesAnotherVersion(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  string
	}{
		"older":   {map[string]string{versionFile: "1.31.0\n", mainFile: "theirs"}, "written by Temporal 1.31.0"},
		"newer":   {map[string]string{versionFile: "9.0.0\n", mainFile: "theirs"}, "written by Temporal 9.0.0"},
		"unknown": {map[string]string{mainFile: "theirs"}, "written by an unknown Temporal"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range test.files {
				write(t, filepath.Join(dir, file), text)
			}
			_, err := openFolder(dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			for file, text := range test.files {
				if got := read(t, filepath.Join(dir, file)); got != text {
					t.Errorf("%s was changed: %q", file, got)
				}
			}
		})
	}
}

func TestOpenFolder_locksTheFolder(t *testing.T) {
	dir := t.TempDir()
	lock, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = openFolder(dir)
	if want := "in use by process " + strconv.Itoa(os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want %q", err, want)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	lock, err = openFolder(dir)
	if err != nil {
		t.Fatalf("the lock is released, but: %v", err)
	}
	_ = lock.Close()
}

func TestOpenFolder_cannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	if _, err := openFolder(filepath.Join(file, "data")); err == nil || !strings.Contains(err.Error(), "cannot be written") || !strings.Contains(err.Error(), "--data") {
		t.Fatalf("got %v", err)
	}
}

func TestOpenFolder_recoversFromACrash(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, versionFile), headers.ServerVersion)
	write(t, filepath.Join(dir, mainFile+".new"), "half a schema")
	lock, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if names := query(t, filepath.Join(dir, mainFile), `SELECT name FROM sqlite_master WHERE name = 'executions'`); len(names) != 1 {
		t.Error("the database has no schema")
	}
}

func TestOpenFolder_keepsOnlyUsedIndexes(t *testing.T) {
	dir := t.TempDir()
	lock, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	path := filepath.Join(dir, visibilityFile)
	if unused := query(t, path, unusedIndexes); len(unused) != 0 {
		t.Errorf("indexes not dropped: %v", unused)
	}
	if all := query(t, path, `SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'executions_visibility' AND sql IS NOT NULL`); len(all) != 18 {
		t.Errorf("%d indexes, want 8 named indexes and 10 keyword indexes: %v", len(all), all)
	}
}

func TestRun_namesTheUsedPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	for _, flagName := range []string{"--port", "--ui-port"} {
		err := run([]string{"--memory", flagName, port}, nil, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1:"+port) || !strings.Contains(err.Error(), flagName) {
			t.Errorf("%s: got %v", flagName, err)
		}
	}
}

func TestRun_refusesInvalidFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"no place":    {},
		"two places":  {"--memory", "--data", "x"},
		"argument":    {"--memory", "x"},
		"no such":     {"--nonsense"},
		"short-lived": {"--memory", "--retention", "1m"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(args, nil, io.Discard); err == nil {
				t.Fatal("accepted")
			}
		})
	}
}

// TestRun_servesUntilTheParentExits starts, serves, and stops when the pipe is closed.
func TestRun_servesUntilTheParentExits(t *testing.T) {
	for name, place := range map[string][]string{"memory": {"--memory"}, "file": {"--data", t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			stdin, parent := io.Pipe()
			var stdout onFirstWrite = func(line []byte) {
				if !bytes.HasPrefix(line, []byte(`ready {"address":"127.0.0.1:`)) {
					t.Errorf("printed %q", line)
				}
				_ = parent.Close()
			}
			args := append(place, "--port", "0", "--ui-port", "0", "--log-level", "error", "--die-with-parent")
			if err := run(args, stdin, stdout); err != nil {
				t.Fatal(err)
			}
		})
	}
}

type onFirstWrite func([]byte)

func (f onFirstWrite) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func query(t *testing.T, path, text string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	names, err := texts(db, text)
	if err != nil {
		t.Fatal(err)
	}
	return names
}
