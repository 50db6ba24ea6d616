package rows_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/rows"
)

func TestShards(t *testing.T) {
	t.Parallel()
	want := []rows.Row{
		good(0, 1, "a", fields{"id": "a", "text": "<b>\x00\u2028", "n": json.Number("1.50"), "no": nil, "yes": true}),
		bad(1, 2, "the row is empty"), good(2, 3, "", fields{}),
		good(3, 4, "b", fields{"messages": json.RawMessage(`[{"b":1,"a":"<"}]`)}),
		good(4, 5, "", fields{"text": strings.Repeat("x", 300)}), good(5, 0, "", fields{"text": "inline"}),
	}
	var out bytes.Buffer
	w := rows.NewWriter(&out, rows.Size{Rows: 2, Bytes: 250})
	for _, row := range want {
		require.NoError(t, w.Write(row))
	}
	require.Error(t, w.Write(want[0]), "rows must be in order")
	require.NoError(t, w.Flush())
	var got []rows.Row
	var cut [][2]int
	for _, piece := range w.Pieces() {
		some, err := piece.Read(out.Bytes()[piece.Start:piece.End])
		require.NoError(t, err)
		got = append(got, some...)
		cut = append(cut, [2]int{piece.From, piece.To})
	}
	require.Equal(t, want, got)
	require.Equal(t, [][2]int{{0, 2}, {2, 4}, {4, 5}, {5, 6}}, cut)

	_, err := w.Pieces()[0].Read(out.Bytes()[:w.Pieces()[0].End-5])
	require.Error(t, err)
	_, err = w.Pieces()[0].Read(nil)
	require.ErrorContains(t, err, "found 0 rows")
	_, err = w.Pieces()[0].Read(out.Bytes()[w.Pieces()[1].Start:w.Pieces()[1].End])
	require.ErrorContains(t, err, "found row 2")

	old, err := rows.Shard{To: 1}.Read([]byte(`{"index":0,"line":1,"id":"b","url":"/v1/x","fields":{"text":"y"}}` + "\n"))
	require.NoError(t, err)
	require.Equal(t, []rows.Row{good(0, 1, "b", fields{"text": "y"})}, old, "a row of an older version, with the URL of its batch line")
}

func TestTail(t *testing.T) {
	t.Parallel()
	const all, piece = 100_000, 25
	var pieces []rows.Shard
	for from := 0; from < all; from += piece {
		pieces = append(pieces, rows.Shard{From: from, To: from + piece, Start: int64(from) * 100, End: int64(from+piece) * 100})
	}
	tests := map[string]struct {
		most  rows.Size
		width int
	}{
		"by rows":             {rows.Size{Rows: 500, Bytes: 1 << 30}, 8},
		"by bytes":            {rows.Size{Rows: 1 << 30, Bytes: 50_000}, 8},
		"one worker":          {rows.Size{Rows: 500, Bytes: 1 << 30}, 1},
		"no more than pieces": {rows.Size{Rows: 10, Bytes: 10}, 8},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shards := rows.Tail(pieces, tt.most, tt.width)
			next := rows.Shard{}
			for _, s := range shards {
				require.Equal(t, [2]int64{int64(next.To), next.End}, [2]int64{int64(s.From), s.Start}, "gap before the shard")
				if n := s.To - s.From; n > piece {
					require.LessOrEqual(t, n, tt.most.Rows)
					require.LessOrEqual(t, s.End-s.Start, tt.most.Bytes)
					require.LessOrEqual(t, n*2*tt.width, all-s.From, "the shard is too large for its position")
				}
				next = s
			}
			require.Equal(t, all, next.To)
			require.Equal(t, piece, next.To-next.From)
			if tt.most.Rows >= 500 {
				require.Less(t, len(shards), all/500+20*tt.width)
			}
		})
	}
	require.Empty(t, rows.Tail(nil, rows.Size{Rows: 1}, 1))
}

// lines generates a JSONL file while it is read, without storing it.
type lines struct {
	left, n int
	text    string
	now     []byte
}

func (l *lines) Read(p []byte) (int, error) {
	if len(l.now) == 0 {
		if l.left == 0 {
			return 0, io.EOF
		}
		l.now = fmt.Appendf(l.now[:0], "{\"id\":\"row %d\",\"text\":\"%s\"}\n", l.n, l.text)
		l.left, l.n = l.left-1, l.n+1
	}
	n := copy(p, l.now)
	l.now = l.now[n:]
	return n, nil
}

// peakHeap returns the maximum growth of the heap during a function, sampled every few milliseconds.
func peakHeap(do func()) (peak uint64) {
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	stop, done := make(chan struct{}), make(chan struct{})
	var most atomic.Uint64
	go func() {
		defer close(done)
		for tick := time.NewTicker(3 * time.Millisecond); ; {
			runtime.ReadMemStats(&now)
			most.Store(max(most.Load(), now.HeapAlloc))
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
	do()
	close(stop)
	<-done
	return most.Load() - min(most.Load(), before.HeapAlloc)
}

// TestMemory reads, writes and splits a file of 100 MB; memory depends only on the number of ids.
func TestMemory(t *testing.T) { // not parallel: it measures the heap of the process
	const n = 100_000 / slowdown
	text := strings.Repeat("What a row says. ", 60)
	var pieces []rows.Shard
	began := time.Now()
	peak := peakHeap(func() {
		w := rows.NewWriter(io.Discard, rows.Size{Rows: 50, Bytes: 1 << 20})
		require.NoError(t, rows.Read(t.Context(), &lines{left: n, text: text}, rows.ReadOptions{}, w.Write))
		require.NoError(t, w.Flush())
		pieces = w.Pieces()
	})
	t.Logf("%d rows in %v, peak heap %.1f MiB", n, time.Since(began).Round(time.Millisecond), float64(peak)/(1<<20))
	require.Equal(t, n, pieces[len(pieces)-1].To)
	require.Less(t, peak, uint64(32<<20))
	require.Less(t, time.Since(began), time.Minute)
}

// TestMemory_largeRow: a row just under the limit is valid and uses bounded memory.
func TestMemory_largeRow(t *testing.T) {
	for name, text := range map[string]string{"text": `{"text":"%s"}`, "escaped": `{"text":"\n%s"}`, "object": `{"text":{"deep":"%s"}}`} {
		t.Run(name, func(t *testing.T) {
			before, after, _ := strings.Cut(text, "%s")
			bytes := int64(rows.MaxRowBytes - len(text))
			good := 0
			peak := peakHeap(func() {
				in := io.MultiReader(strings.NewReader(before), io.LimitReader(endless('x'), bytes), strings.NewReader(after+"\n\"b\"\n"))
				w := rows.NewWriter(io.Discard, rows.Size{Rows: 50, Bytes: 1 << 20})
				require.NoError(t, rows.Read(t.Context(), in, rows.ReadOptions{}, func(row rows.Row) error {
					if row.Bad == "" {
						good++
					}
					return w.Write(row)
				}))
			})
			require.Equal(t, 2, good)
			t.Logf("peak heap %.1f MiB", float64(peak)/(1<<20))
			require.Less(t, peak, uint64(12*rows.MaxRowBytes))
		})
	}
}

// TestMemory_longRow: a row of 20 MB is a bad row and is never held in memory as a whole.
func TestMemory_longRow(t *testing.T) {
	long := func() io.Reader { return io.LimitReader(endless('x'), 20_000_000) }
	tests := map[string]struct{ before, after string }{
		"JSONL": {"\"a\"\n\"", "\"\n\"b\"\n"},
		"array": {"[\"a\",\n\"", "\",\n\"b\"]"},
		"table": {"text,n\na,1\n", ",2\nb,3\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []rows.Row
			peak := peakHeap(func() {
				in := io.MultiReader(strings.NewReader(tt.before), long(), strings.NewReader(tt.after))
				require.NoError(t, rows.Read(t.Context(), in, rows.ReadOptions{}, func(row rows.Row) error {
					got = append(got, row)
					return nil
				}))
			})
			require.Len(t, got, 3)
			require.Equal(t, "a", got[0].Fields["text"])
			require.Regexp(t, `^the row has 2000000\d bytes, the limit is 16777216$`, got[1].Bad)
			require.Equal(t, "b", got[2].Fields["text"])
			t.Logf("peak heap %.1f MiB", float64(peak)/(1<<20))
			require.Less(t, peak, uint64(4*rows.MaxRowBytes))
		})
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func BenchmarkRead(b *testing.B) {
	text := strings.Repeat("What a row says. ", 60)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	w := rows.NewWriter(io.Discard, rows.Size{Rows: 50, Bytes: 1 << 20})
	if err := rows.Read(b.Context(), &lines{left: b.N, text: text}, rows.ReadOptions{}, w.Write); err != nil {
		b.Fatal(err)
	}
}
