package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
)

// logBuffer collects a log for a test to read.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the log.
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

// Two hundred concurrent tasks run on SQLite while the server is killed. All of them are listed and end, and the database
// never reports a lock.
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
	require.Eventually(t, func() bool { return len(s.allTaskIDs()) == many }, 30*time.Second, 200*time.Millisecond, "the list lags behind the tasks")
	slices.Sort(ids)
	require.Equal(t, ids, s.allTaskIDs())
	require.LessOrEqual(t, s.provider.Counts().Total, many+60, "only calls in flight are repeated")
	require.NotContains(t, log.String(), "locked")
	require.NotContains(t, log.String(), "SQLITE_BUSY")
}

// allTaskIDs reads the list of tasks page by page and returns their ids, sorted.
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

// When the disk of the database is full, new tasks are refused with 503. When there is space again, the running task and
// new tasks succeed.
func TestSQLite_diskFull(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Skip("mounting a small disk needs root: ", err)
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
	}, time.Minute, time.Second, "no request is refused on a full disk")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NoError(t, os.Remove(full))
	require.Equal(t, task.Full, s.pollUntilDone(id).Outcome)
	require.Equal(t, task.Full, s.pollUntilDone(s.submit(notes(2))).Outcome)
}

// fill writes a file until a write fails.
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
