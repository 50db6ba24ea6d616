package document

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// misbehave returns an input with one of the formats of TestMain.
func misbehave(t testing.TB, format string) Input {
	t.Helper()
	return Input{Path: file(t, "document", []byte("x")), ContentType: format}
}

func TestExtractText(t *testing.T) {
	t.Parallel()
	e := newExtractor(t, Options{Workers: 1})
	text, err := e.Extract(testContext(t), Input{Path: file(t, "d", []byte("Tides turn.\r\n")), Name: "tides.txt"}, nil)
	require.NoError(t, err)
	require.Equal(t, Text{Markdown: "Tides turn.", Format: "text", Charset: "utf-8"}, text)
}

func TestExtract_missingFileIsInternal(t *testing.T) {
	t.Parallel()
	e := newExtractor(t, Options{Workers: 1})
	_, err := e.Extract(testContext(t), Input{Path: filepath.Join(t.TempDir(), "gone")}, nil)
	require.ErrorContains(t, err, "open the document")
	require.Equal(t, task.Internal, task.AsError(err).Code)
}

func TestChild_servesManyDocumentsAndIsReplaced(t *testing.T) {
	t.Parallel()
	e := newExtractor(t, Options{Workers: 1, DocumentsPerChild: 3})
	var pids []string
	for range 7 {
		text, err := e.Extract(testContext(t), misbehave(t, "test/pid"), nil)
		require.NoError(t, err)
		pids = append(pids, text.Markdown)
	}
	require.Equal(t, pids[0], pids[2])
	require.NotEqual(t, pids[2], pids[3])
	require.Len(t, slices.Compact(slices.Clone(pids)), 3)
	require.NotContains(t, pids, strconv.Itoa(os.Getpid()), "the parent must not read documents")
}

func TestChild_hasNoSecrets(t *testing.T) {
	t.Setenv("SOME_API_KEY", "hush-hush")
	e := newExtractor(t, Options{Workers: 1})
	text, err := e.Extract(testContext(t), misbehave(t, "test/environment"), nil)
	require.NoError(t, err)
	require.NotContains(t, text.Markdown, "hush-hush")
}

func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		limits Limits
		want   task.Code
		detail string
	}{
		"test/panic":  {Limits{}, task.DocumentBroken, "crashed the reader twice"},
		"test/fatal":  {Limits{}, task.DocumentBroken, "crashed the reader twice"},
		"test/spin":   {Limits{Timeout: 300 * time.Millisecond}, task.DocumentTooComplex, "limit of 300ms"},
		"test/memory": {Limits{MemoryBytes: 200 << 20}, task.DocumentTooComplex, "limit of 200 MiB"},
	}
	for format, tt := range tests {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			e := newExtractor(t, Options{Workers: 1, Limits: tt.limits})
			_, err := e.Extract(testContext(t), misbehave(t, format), nil)
			require.Equal(t, tt.want, task.AsError(err).Code, "%v", err)
			require.Contains(t, task.AsError(err).Detail, tt.detail)
			require.False(t, task.AsError(err).Retryable)

			e.options.Limits = Limits{}.withDefaults() // applies to the next child
			text, err := e.Extract(testContext(t), misbehave(t, "test/pid"), nil)
			require.NoError(t, err)
			require.NotEmpty(t, text.Markdown)
		})
	}
}

func TestChild_killedOnceIsRetried(t *testing.T) {
	t.Parallel()
	e := newExtractor(t, Options{Workers: 1})
	text, err := e.Extract(testContext(t), misbehave(t, "test/once"), nil)
	require.NoError(t, err)
	require.Equal(t, "alive", text.Markdown)
}

func TestChild_killedWhileIdle(t *testing.T) {
	t.Parallel()
	e := newExtractor(t, Options{Workers: 1})
	first, err := e.Extract(testContext(t), misbehave(t, "test/pid"), nil)
	require.NoError(t, err)
	pid, err := strconv.Atoi(first.Markdown)
	require.NoError(t, err)
	idle, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, idle.Kill())
	second, err := e.Extract(testContext(t), misbehave(t, "test/pid"), nil)
	require.NoError(t, err)
	require.NotEqual(t, first.Markdown, second.Markdown)
}

func TestCancel_killsTheChild(t *testing.T) {
	t.Parallel()
	e := newExtractor(t, Options{Workers: 1})
	ctx, cancel := context.WithCancel(testContext(t))
	_, err := e.Extract(ctx, misbehave(t, "test/spin"), func(int, int) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, e.live)
}

func TestCancel_whileWaitingForASlot(t *testing.T) {
	t.Parallel()
	e := newExtractor(t, Options{Workers: 1})
	ctx, cancel := context.WithCancel(testContext(t))
	begun := make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := e.Extract(ctx, misbehave(t, "test/spin"), func(int, int) { close(begun) })
		done <- err
	}()
	<-begun
	late, giveUp := context.WithCancel(testContext(t))
	giveUp()
	_, err := e.Extract(late, misbehave(t, "test/pid"), nil)
	require.ErrorIs(t, err, context.Canceled)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestClose_killsBusyChildren(t *testing.T) {
	t.Parallel()
	e := NewExtractor(Options{Workers: 1})
	_, err := e.Extract(testContext(t), misbehave(t, "test/spin"), func(int, int) { go func() { _ = e.Close() }() })
	require.ErrorIs(t, err, errClosed)
	_, err = e.Extract(testContext(t), misbehave(t, "test/pid"), nil)
	require.ErrorIs(t, err, errClosed)
	require.NoError(t, e.Close())
}

func TestExtract_concurrently(t *testing.T) {
	t.Parallel()
	e := newExtractor(t, Options{Workers: 2, DocumentsPerChild: 10})
	in := make([]Input, 60)
	for i := range in {
		in[i] = Input{Path: file(t, "d", fmt.Appendf(nil, "document %d", i)), Name: "d.txt"}
		if i%20 == 7 {
			in[i] = misbehave(t, "test/panic")
		}
	}
	var wg sync.WaitGroup
	texts, errs := make([]Text, len(in)), make([]error, len(in))
	for i := range in {
		wg.Go(func() { texts[i], errs[i] = e.Extract(testContext(t), in[i], nil) })
	}
	wg.Wait()
	for i := range in {
		if i%20 == 7 {
			require.Equal(t, task.DocumentBroken, task.AsError(errs[i]).Code)
			continue
		}
		require.NoError(t, errs[i])
		require.Equal(t, fmt.Sprintf("document %d", i), texts[i].Markdown)
	}
	require.LessOrEqual(t, len(e.live), 2)
}

// A child must not outlive its parent, even if the parent is killed. The parent is another process of this test binary
// that reads a document without end.
func TestChild_diesWithItsParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills children with their parent")
	}
	pid, parent := spinningParent(t)
	require.NoError(t, parent.Kill())
	_, err := parent.Wait()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, 30*time.Second, 10*time.Millisecond)
}

// A declared type that is also the name of a reader has no effect.
func TestDeclaredTypeIsNotTrusted(t *testing.T) {
	t.Parallel()
	for _, declared := range []string{"pdf", "docx", "application/pdf", "application/zip", "image/png"} {
		text, err := extract(t, Input{ContentType: declared}, []byte("words"))
		require.NoError(t, err)
		require.Equal(t, "text", text.Format)
	}
}

func BenchmarkStartChild(b *testing.B) {
	in := Input{Path: file(b, "d", []byte("text")), Name: "d.txt"}
	for b.Loop() {
		e := NewExtractor(Options{Workers: 1})
		_, err := e.Extract(b.Context(), in, nil)
		require.NoError(b, err)
		require.NoError(b, e.Close())
	}
}

func BenchmarkWarm(b *testing.B) {
	dir := b.TempDir()
	cold := NewExtractor(Options{Workers: 1, CacheDir: dir})
	began := time.Now()
	require.NoError(b, cold.Warm(b.Context()))
	b.Logf("cold: %s", time.Since(began))
	require.NoError(b, cold.Close())
	for b.Loop() {
		e := NewExtractor(Options{Workers: 1, CacheDir: dir})
		require.NoError(b, e.Warm(b.Context()))
		require.NoError(b, e.Close())
	}
}

func BenchmarkSmallText(b *testing.B) {
	e := newExtractor(b, Options{Workers: 1})
	in := Input{Path: file(b, "d", []byte(strings.Repeat("A short line of text.\n", 100))), Name: "d.txt"}
	for b.Loop() {
		_, err := e.Extract(b.Context(), in, nil)
		require.NoError(b, err)
	}
}
