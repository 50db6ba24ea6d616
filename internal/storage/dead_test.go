package storage_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Settled dead letters do not count.
func TestDeadLetters_count(t *testing.T) {
	for name, bucket := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			letters, now := storage.NewDeadLetters(bucket), time.Now()
			for id, age := range map[string]time.Duration{"task_a": time.Minute, "task_b": 2 * time.Minute, "task_c": time.Hour} {
				g := storage.StoredDeadLetter{DeadLetter: task.DeadLetter{ID: id, Status: task.DeadOpen, At: now.Add(-age)}}
				require.NoError(t, letters.Write(t.Context(), "acme", g))
			}
			_, err := letters.Settle(t.Context(), "acme", "task_b", func(d *task.DeadLetter) { d.Status = task.DeadDiscarded })
			require.NoError(t, err)
			open, newer, err := letters.Count(t.Context(), "acme", now.Add(-5*time.Minute))
			require.NoError(t, err)
			require.Equal(t, []int{2, 1}, []int{open, newer})
			open, newer, err = letters.Count(t.Context(), "other", now.Add(-5*time.Minute))
			require.NoError(t, err)
			require.Zero(t, open+newer)
		})
	}
}

// A dead letter whose write failed does not exist; a retry stores it.
func TestDeadLetters_has(t *testing.T) {
	dir := t.TempDir()
	bucket, err := storage.Open(t.Context(), "file://"+dir)
	require.NoError(t, err)
	letters := storage.NewDeadLetters(bucket)
	g := storage.StoredDeadLetter{DeadLetter: task.DeadLetter{ID: "task_a", Status: task.DeadOpen, At: time.Now()}}
	inTheWay := filepath.Join(dir, "dead", "acme", "open")
	require.NoError(t, os.MkdirAll(filepath.Dir(inTheWay), 0o700))
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	has := func() bool {
		there, err := letters.Has(t.Context(), "acme", "task_a")
		require.NoError(t, err)
		return there
	}
	require.Error(t, letters.Write(t.Context(), "acme", g))
	require.False(t, has())
	require.NoError(t, os.Remove(inTheWay))
	require.NoError(t, letters.Write(t.Context(), "acme", g))
	require.True(t, has())
	_, err = letters.Settle(t.Context(), "acme", "task_a", func(d *task.DeadLetter) { d.Status = task.DeadDiscarded })
	require.NoError(t, err)
	require.True(t, has(), "also once it was dealt with")
}
