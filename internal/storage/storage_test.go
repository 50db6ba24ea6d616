package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// buckets returns one bucket of each supported scheme.
func buckets(t *testing.T) map[string]*storage.Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "user")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("longhaul"))
	s3 := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(s3.Close)
	found := map[string]*storage.Bucket{}
	for name, address := range map[string]string{
		"mem":  "mem://",
		"file": (&url.URL{Scheme: "file", Path: filepath.Join(t.TempDir(), "made", "when missing")}).String(),
		"s3": "s3://longhaul?endpoint=" + s3.URL + "&use_path_style=true&region=us-east-1" +
			"&request_checksum_calculation=when_required&response_checksum_validation=when_required",
	} {
		b, err := storage.Open(t.Context(), address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = b.Close() })
		found[name] = b
	}
	return found
}

func TestBucket(t *testing.T) {
	for name, b := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			require.NoError(t, b.Check(ctx))
			_, err := b.Get(ctx, "tasks/none")
			require.ErrorIs(t, err, storage.ErrNotFound)
			_, err = b.Object(ctx, "tasks/none")
			require.ErrorIs(t, err, storage.ErrNotFound)

			require.NoError(t, b.Put(ctx, "tasks/a/财报.txt", "text/plain", []byte("hello, world")))
			data, err := b.GetRange(ctx, "tasks/a/财报.txt", 7, 12)
			require.NoError(t, err)
			require.Equal(t, "world", string(data))
			object, err := b.Object(ctx, "tasks/a/财报.txt")
			require.NoError(t, err)
			_, err = object.Seek(7, io.SeekStart)
			require.NoError(t, err)
			rest, err := io.ReadAll(object)
			require.NoError(t, err)
			require.NoError(t, object.Close())
			require.Equal(t, "world", string(rest))
			require.EqualValues(t, 12, object.Bytes)

			entries, err := b.List(ctx, "tasks/a/")
			require.NoError(t, err)
			require.Len(t, entries, 1)
			require.Equal(t, "财报.txt", entries[0].Name)
			require.NoError(t, b.Delete(ctx, "tasks/a/财报.txt"))
			require.NoError(t, b.Delete(ctx, "tasks/a/财报.txt"), "deleting a missing key is not an error")
		})
	}
}

func TestBucket_failedWriteStoresNothing(t *testing.T) {
	for name, b := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			broken := errors.New("broken")
			err := b.PutFrom(t.Context(), "half", "text/plain", func(w io.Writer) error {
				_, err := w.Write([]byte("half"))
				require.NoError(t, err)
				return broken
			})
			require.ErrorIs(t, err, broken)
			there, err := b.Exists(t.Context(), "half")
			require.NoError(t, err)
			require.False(t, there)
		})
	}
}

func TestFiles(t *testing.T) {
	for name, b := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			ctx, files := t.Context(), storage.NewFiles(b)
			first, err := files.Save(ctx, "acme", "a.txt", "text/plain", strings.NewReader("same bytes"), 100)
			require.NoError(t, err)
			second, err := files.Save(ctx, "acme", "b.txt", "text/plain", strings.NewReader("same bytes"), 100)
			require.NoError(t, err)
			require.Equal(t, first.ID, second.ID, "equal bytes are one file")
			got, err := files.Stat(ctx, "acme", first.ID)
			require.NoError(t, err)
			require.Equal(t, "b.txt", got.Name)
			require.EqualValues(t, 10, got.Bytes)

			for name, id := range map[string]string{"another's": first.ID, "unknown": "file_" + strings.Repeat("0", 40), "odd": "../../etc/passwd", "none": ""} {
				_, err = files.Open(ctx, "other", id)
				require.Equal(t, task.NotFound, task.AsError(err).Code, name)
			}
			require.Equal(t, task.NotFound, task.AsError(files.Delete(ctx, "other", first.ID)).Code)
			require.NoError(t, files.Delete(ctx, "acme", first.ID))
			_, err = files.Stat(ctx, "acme", first.ID)
			require.Equal(t, task.NotFound, task.AsError(err).Code)
		})
	}
}

func TestFiles_refusedUploadsStoreNothing(t *testing.T) {
	for name, b := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			files := storage.NewFiles(b)
			_, err := files.Save(t.Context(), "acme", "big", "", strings.NewReader("12345"), 4)
			require.Equal(t, task.TooLarge, task.AsError(err).Code)
			require.Contains(t, err.Error(), "4 bytes")
			_, err = files.Save(t.Context(), "acme", "fits", "", strings.NewReader("1234"), 4)
			require.NoError(t, err)
			_, err = files.Save(t.Context(), "acme", "cut", "", io.MultiReader(strings.NewReader("12"), cut{}), 100)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			left, err := b.List(t.Context(), "uploads/")
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestFiles_sweepsOldUploadsOnly(t *testing.T) {
	t.Parallel()
	b, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	require.NoError(t, b.Put(t.Context(), "uploads/left", "", []byte("half")))
	files := storage.NewFiles(b)
	require.NoError(t, files.SweepUploads(t.Context(), time.Now().Add(-time.Hour)))
	there, err := b.Exists(t.Context(), "uploads/left")
	require.NoError(t, err)
	require.True(t, there, "a recent upload may be in progress")
	require.NoError(t, files.SweepUploads(t.Context(), time.Now().Add(time.Hour)))
	there, err = b.Exists(t.Context(), "uploads/left")
	require.NoError(t, err)
	require.False(t, there)
}

func TestLedger(t *testing.T) {
	t.Parallel()
	type request struct{ Model, Prompt string }
	key := func(lineage, step string, r request) string {
		k, err := storage.LedgerKey(lineage, step, r)
		require.NoError(t, err)
		return k
	}
	base := key("task_a", "summarise", request{"m", "p"})
	require.Equal(t, base, key("task_a", "summarise", request{"m", "p"}))
	for name, other := range map[string]string{
		"lineage": key("task_b", "summarise", request{"m", "p"}),
		"step":    key("task_a", "combine", request{"m", "p"}),
		"model":   key("task_a", "summarise", request{"n", "p"}),
		"prompt":  key("task_a", "summarise", request{"m", "q"}),
	} {
		require.NotEqual(t, base, other, name)
	}

	b, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	ledger := storage.NewLedger(b)
	var answer string
	found, err := ledger.Look(t.Context(), base, &answer)
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, ledger.Record(t.Context(), base, "paid"))
	found, err = ledger.Look(t.Context(), base, &answer)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "paid", answer)
}

// Temporary files of a killed process must never be read as blobs.
func TestFileBucket_hidesHalfWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := storage.Open(t.Context(), (&url.URL{Scheme: "file", Path: dir}).String())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	require.Error(t, b.PutFrom(ctx, "tasks/x", "", func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		cancel()
		return errors.Join(err, ctx.Err())
	}))
	_, err = os.Stat(filepath.Join(dir, "tasks", "x"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A folder bucket can be listed during writes.
func TestBucket_listWhileWriting(t *testing.T) {
	t.Parallel()
	b, err := storage.Open(t.Context(), "file://"+t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	const writers, each = 4, 100
	written := make(chan error, writers)
	for w := range writers {
		go func() {
			var err error
			for i := range each {
				err = errors.Join(err, b.Put(t.Context(), fmt.Sprintf("busy/%d-%d", w, i), "text/plain", []byte("x")))
			}
			written <- err
		}()
	}
	for done := 0; done < writers; {
		_, err := b.List(t.Context(), "busy/")
		require.NoError(t, err)
		select {
		case err := <-written:
			require.NoError(t, err)
			done++
		default:
		}
	}
	entries, err := b.List(t.Context(), "busy/")
	require.NoError(t, err)
	require.Len(t, entries, writers*each)
}

// A dead letter is found by its task, open or settled, only by its tenant, and without listing all.
func TestDeadLetters_find(t *testing.T) {
	t.Parallel()
	b, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	letters := storage.NewDeadLetters(b)
	at := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	for _, id := range []string{"task_a", "task_b"} {
		require.NoError(t, letters.Write(t.Context(), "acme", storage.StoredDeadLetter{DeadLetter: task.DeadLetter{ID: id, Status: task.DeadOpen, At: at}}))
	}
	g, err := letters.Find(t.Context(), "acme", "task_b")
	require.NoError(t, err)
	require.Equal(t, task.DeadOpen, g.Status)
	_, err = letters.Settle(t.Context(), "acme", "task_b", func(d *task.DeadLetter) { d.Status = task.DeadDiscarded })
	require.NoError(t, err)
	g, err = letters.Find(t.Context(), "acme", "task_b")
	require.NoError(t, err)
	require.Equal(t, task.DeadDiscarded, g.Status)
	g, err = letters.Find(t.Context(), "acme", "task_a")
	require.NoError(t, err)
	require.Equal(t, task.DeadOpen, g.Status)
	for tenant, id := range map[string]string{"other": "task_a", "acme": "task_c"} {
		_, err = letters.Find(t.Context(), tenant, id)
		require.ErrorIs(t, err, storage.ErrNotFound)
	}
}
