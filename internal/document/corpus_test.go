package document

import (
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// TestCorpus reads every file of the folder of real documents TEST_CORPUS, described by its INDEX.tsv. Each file must
// give a plausible text or a document error, never an internal fault.
func TestCorpus(t *testing.T) {
	corpus := os.Getenv("TEST_CORPUS")
	if corpus == "" {
		t.Skip("TEST_CORPUS is not set")
	}
	ctx := t.Context()
	e := newExtractor(t, Options{Workers: runtime.NumCPU(), CacheDir: corpusCache(t)})
	require.NoError(t, e.Warm(ctx))

	largest := watchLargest(e)
	var mu sync.Mutex
	began := time.Now()
	var lines []string
	totals := map[string]int{}
	rows := index(t, corpus)
	work := make(chan []string)
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for row := range work {
				start := time.Now()
				text, err := e.Extract(ctx, Input{Path: filepath.Join(corpus, row[0]), Name: filepath.Base(row[0])}, nil)
				outcome, detail := verdictOn(text, err, row[5])
				mu.Lock()
				totals[strings.Split(row[0], "/")[0]+" "+outcome]++
				totals["all "+outcome]++
				lines = append(lines, fmt.Sprintf("%-62s %-9s %-14s %9d  %5dms  %-24s %s", row[0], text.Format, text.Charset,
					utf8.RuneCountInString(text.Markdown), time.Since(start).Milliseconds(), outcome, detail))
				mu.Unlock()
			}
		})
	}
	for _, row := range rows {
		work <- row
	}
	close(work)
	wg.Wait()
	slices.Sort(lines)
	t.Log("\n" + strings.Join(lines, "\n"))
	for _, k := range slices.Sorted(maps.Keys(totals)) {
		t.Logf("%-40s %d", k, totals[k])
	}
	t.Logf("largest child %s, wall %s", size(largest()), time.Since(began).Round(time.Millisecond))
	require.Zero(t, totals["all fault"], "internal faults")
}

// watchLargest samples the children's memory until the returned function is called, which returns the maximum of a
// single child.
func watchLargest(e *Extractor) func() int64 {
	stop, result := make(chan struct{}), make(chan int64)
	go func() {
		var most int64
		for {
			select {
			case <-stop:
				result <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
			e.mu.Lock()
			for c := range e.live {
				most = max(most, c.resident())
			}
			e.mu.Unlock()
		}
	}()
	return func() int64 { close(stop); return <-result }
}

func corpusCache(t *testing.T) string {
	if dir := os.Getenv("TEST_CORPUS_CACHE"); dir != "" {
		return dir
	}
	return t.TempDir()
}

// verdictOn compares a text with the expected snippet, ignoring white space.
func verdictOn(text Text, err error, expected string) (outcome, detail string) {
	if err != nil {
		e := task.AsError(err)
		if e.Code == task.Internal {
			return "fault", err.Error()
		}
		return string(e.Code), e.Detail
	}
	detail = strings.Join(text.Warnings, "; ")
	special := expected == "" || strings.HasPrefix(expected, "?") || strings.HasPrefix(expected, "charset=") || expected == "PASSWORD"
	if !special && !strings.Contains(squeeze(text.Markdown), squeeze(expected)) {
		return "text, snippet missing", expected + " " + detail
	}
	return "text", detail
}

func squeeze(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(s, "*", "")), ""))
}

func index(t *testing.T, corpus string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(corpus, "INDEX.tsv"))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	require.NoError(t, err)
	var out [][]string
	for _, row := range rows[1:] {
		if len(row) >= 6 {
			out = append(out, row)
		}
	}
	return out
}
