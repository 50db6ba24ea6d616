package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
)

// logBuffer is a log that a test reads.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write is a line.
func (j *logBuffer) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *logBuffer) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Two hundred tasks at once on SQLite, whose server is killed in the middle: all are there afterwards, all end, and the database
// was never locked.
func TestSQLite_underLoadAndKilled(t *testing.T) {
	const many = 200
	log := &logBuffer{}
	s := newStackOn(t, localtemporal.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: 500 * time.Millisecond} })
	var mu sync.Mutex
	var ids []string
	var all sync.WaitGroup
	for client := range 10 {
		all.Go(func() {
			for i := range many / 10 {
				in := task.SummaryInput{Documents: []task.Document{{Text: fmt.Sprintf("Report %d of %d. The bridge was found sound.", i, client)}}}
				id := s.begin("summary", in, nil)
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	s.killTemporal()
	for _, id := range ids {
		require.Equal(t, task.Full, s.pollUntilDone(id).Outcome)
	}
	require.Eventually(t, func() bool { return len(s.allTaskIDs()) == many }, 30*time.Second, 200*time.Millisecond, "lists lag a little")
	slices.Sort(ids)
	require.Equal(t, ids, s.allTaskIDs())
	require.LessOrEqual(t, s.provider.Counts().Total, many+60, "what was paid for is not paid again")
	require.NotContains(t, log.String(), "locked")
	require.NotContains(t, log.String(), "SQLITE_BUSY")
}

// allTaskIDs lists all tasks, page by page.
func (s *stack) allTaskIDs() (ids []string) {
	cursor := ""
	for {
		page, err := s.client.List(s.soon(), task.Filter{Limit: task.MaxPage, Cursor: cursor})
		require.NoError(s.t, err)
		for _, one := range page.Data {
			ids = append(ids, one.ID)
		}
		if page.NextCursor == nil {
			slices.Sort(ids)
			return slices.Compact(ids)
		}
		cursor = *page.NextCursor
	}
}

// The disk of the database is full: what is asked for meanwhile is refused and not half begun, and when there is room again all
// goes on.
func TestSQLite_diskFull(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Skip("a small disk can be made by root alone: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	s := newStackOn(t, localtemporal.Options{Data: filepath.Join(disk, "temporal")})
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: 3 * time.Second} })
	id := s.submit(notes(3))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	full := filepath.Join(disk, "full")
	require.True(t, errors.Is(fill(full), syscall.ENOSPC))
	status := 0
	require.Eventually(t, func() bool {
		var why string
		status, why = s.post("/v1/tasks", `{"kind":"summary","input":{"documents":[{"text":"A note."}]}}`)
		t.Log(status, why)
		return status >= http.StatusInternalServerError
	}, time.Minute, time.Second, "a full disk refuses nothing")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NoError(t, os.Remove(full))
	require.Equal(t, task.Full, s.pollUntilDone(id).Outcome)
	require.Equal(t, task.Full, s.pollUntilDone(s.submit(notes(2))).Outcome)
}

// fill writes a file until that fails.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for part := bytes.Repeat([]byte("full"), 4<<10); err == nil; {
		_, err = f.Write(part)
	}
	return err
}

// What cannot be is said at start, in words, and the process ends with a failure.
func TestDev_explainsFailedStart(t *testing.T) {
	folder, temporal := programs()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, data string)
		want    string
	}{
		"the folder cannot be written": {func(t *testing.T, data string) {
			require.NoError(t, os.WriteFile(data, nil, 0o600)) // a file where the folder would be
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
			require.Less(t, strings.Count(said.String(), "\n"), 4, "a sentence, not a log: %s", said.String())
		})
	}
}
