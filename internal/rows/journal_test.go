package rows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/rows"
	"longhaul/internal/storage"
)

func TestJournal_nextAttempt(t *testing.T) {
	t.Parallel()
	store, err := storage.Open(t.Context(), "file://"+t.TempDir())
	require.NoError(t, err)
	first, err := rows.Open(t.Context(), store, "j/")
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() {
			key := fmt.Sprint("row ", i)
			require.NoError(t, first.Record(t.Context(), key, map[string]int{"n": i}))
			_, ok := first.Look(key)
			require.True(t, ok)
		})
	}
	all.Wait()
	require.NoError(t, first.Record(t.Context(), "row 7", "newer"))

	again, err := rows.Open(t.Context(), store, "j/")
	require.NoError(t, err)
	require.Len(t, again.Keys(), 500)
	require.Zero(t, again.Broken())
	raw, ok := again.Look("row 499")
	require.True(t, ok)
	require.JSONEq(t, `{"n":499}`, string(raw))
	raw, _ = again.Look("row 7")
	require.JSONEq(t, `"newer"`, string(raw))
	_, ok = again.Look("row 500")
	require.False(t, ok)
}

// After the clock is set back, or on a machine with another clock, later records still count: an open call in the
// first journal must not hide its answer in the second, or it would be paid again.
func TestJournal_clockGoesBack(t *testing.T) {
	t.Parallel()
	store, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	for _, attempt := range []struct {
		at   time.Duration // after the start of the synctest bubble
		says string
	}{{time.Hour, "open"}, {0, "paid"}, {0, "paid"}} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(attempt.at)
			j, err := rows.Open(t.Context(), store, "j/")
			require.NoError(t, err)
			if before, ok := j.Look("row 1"); !ok || string(before) == `"open"` {
				require.NoError(t, j.Record(t.Context(), "row 1", attempt.says))
			} else {
				require.JSONEq(t, `"paid"`, string(before))
			}
		})
	}
	entries, err := store.List(t.Context(), "j/")
	require.NoError(t, err)
	require.Len(t, entries, 2, "the third attempt found the answer")
}

// TestJournal_twoWorkers runs one shard twice at the same time: no record of either journal is lost.
func TestJournal_twoWorkers(t *testing.T) {
	t.Parallel()
	store, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	var all sync.WaitGroup
	for worker := range 8 {
		j, err := rows.Open(t.Context(), store, "j/")
		require.NoError(t, err)
		for i := range 20 {
			all.Go(func() { require.NoError(t, j.Record(t.Context(), fmt.Sprint(worker, "/", i), i)) })
		}
	}
	all.Wait()
	j, err := rows.Open(t.Context(), store, "j/")
	require.NoError(t, err)
	require.Len(t, j.Keys(), 160)
}

func TestJournal_broken(t *testing.T) {
	t.Parallel()
	store, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	put := func(name, text string) { require.NoError(t, store.Put(t.Context(), "j/"+name, "", []byte(text))) }
	put("1", "{\"key\":\"a\",\"record\":1}\n{\"key\":\"b\",\"record\":2}\n")
	put("2", "{\"key\":\"b\",\"record\":3}\n{\"key\":\"c\",\"rec")
	put("3", "")
	put("4", "\x00\x00\x00")
	j, err := rows.Open(t.Context(), store, "j/")
	require.NoError(t, err)
	require.Len(t, j.Keys(), 2)
	require.Equal(t, 2, j.Broken())
	b, _ := j.Look("b")
	require.Equal(t, json.RawMessage("3"), b)
}

// A key may contain anything, including the frame of a line.
func TestJournal_oddKeys(t *testing.T) {
	t.Parallel()
	store := &slowStore{}
	j, err := rows.Open(t.Context(), store, "j/")
	require.NoError(t, err)
	keys := []string{`{"key":"a","record":1}`, `","record":`, "", "<\n>", "\"\\"}
	for i, key := range keys {
		require.NoError(t, j.Record(t.Context(), key, map[string]any{"key": key, "record": i}))
	}
	j, err = rows.Open(t.Context(), store, "j/")
	require.NoError(t, err)
	require.Zero(t, j.Broken())
	for i, key := range keys {
		raw, ok := j.Look(key)
		require.True(t, ok, key)
		var got struct{ Record int }
		require.NoError(t, json.Unmarshal(raw, &got))
		require.Equal(t, i, got.Record)
	}
}

// slowStore is a store in memory whose writes take time and can fail.
type slowStore struct {
	mu    sync.Mutex
	takes time.Duration
	fails int // number of next writes that fail; their data is stored all the same, like a write whose answer was lost
	puts  []time.Time
	held  map[string][]byte
}

func (s *slowStore) Put(_ context.Context, key, _ string, data []byte) error {
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts = append(s.puts, time.Now())
	if s.held == nil {
		s.held = map[string][]byte{}
	}
	s.held[key] = slices.Clone(data)
	if s.fails > 0 {
		s.fails--
		return errors.New("the bucket is down")
	}
	return nil
}

func (s *slowStore) List(_ context.Context, prefix string) (entries []storage.Entry, _ error) {
	for key := range s.held {
		entries = append(entries, storage.Entry{Name: key[len(prefix):], Bytes: int64(len(s.held[key]))})
	}
	slices.SortFunc(entries, func(a, b storage.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

func (s *slowStore) Get(_ context.Context, key string) ([]byte, error) { return s.held[key], nil }

// TestJournal_pace measures the writes per second at a steady rate of records, and the longest delay until a record is
// durable.
func TestJournal_pace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rate   int // records a second
		writes int // maximum per second
		late   time.Duration
	}{
		"slow":   {50, 50, 2 * time.Millisecond},
		"200":    {200, 200, 4 * time.Millisecond},
		"1,000":  {1_000, 500, 20 * time.Millisecond},
		"2,000":  {2_000, 120, 35 * time.Millisecond},
		"10,000": {10_000, 60, 35 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &slowStore{takes: 2 * time.Millisecond}
				j, err := rows.Open(t.Context(), store, "j/")
				require.NoError(t, err)
				const seconds = 4
				var latest time.Duration
				var mu sync.Mutex
				var all sync.WaitGroup
				for i := range seconds * tt.rate {
					time.Sleep(time.Second / time.Duration(tt.rate))
					all.Go(func() {
						began := time.Now()
						require.NoError(t, j.Record(t.Context(), fmt.Sprint(i), i))
						mu.Lock()
						defer mu.Unlock()
						if i > tt.rate { // after the pace has settled
							latest = max(latest, time.Since(began))
						}
					})
				}
				all.Wait()
				require.Len(t, j.Keys(), seconds*tt.rate)
				t.Logf("%d writes a second, latest after %v", len(store.puts)/seconds, latest)
				require.LessOrEqual(t, len(store.puts), (seconds+1)*tt.writes)
				require.LessOrEqual(t, latest, tt.late)
			})
		})
	}
}

// TestJournal_sharedPace: many slow journals together write as rarely as one fast journal.
func TestJournal_sharedPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const journals, rounds = 16, 500
		store, pace := &slowStore{takes: time.Millisecond}, &rows.Pace{}
		var all sync.WaitGroup
		for n := range journals {
			j, err := rows.Open(t.Context(), store, fmt.Sprintf("j%d/", n))
			require.NoError(t, err)
			j.Pace = pace
			all.Go(func() {
				for i := range rounds {
					time.Sleep(4 * time.Millisecond)
					all.Go(func() { require.NoError(t, j.Record(t.Context(), fmt.Sprint(i), i)) })
				}
			})
		}
		all.Wait()
		require.Less(t, len(store.puts), journals*rounds/3)
	})
}

// TestJournal_alone: a caller that records one by one is not slowed down below the rate at which writes wait.
func TestJournal_alone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{takes: 100 * time.Microsecond}
		j, err := rows.Open(t.Context(), store, "j/")
		require.NoError(t, err)
		began := time.Now()
		for i := range 1_000 {
			require.NoError(t, j.Record(t.Context(), fmt.Sprint(i), i))
		}
		require.Less(t, time.Since(began), 1200*time.Millisecond)
	})
}

func TestJournal_storeFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{fails: 3}
		j, err := rows.Open(t.Context(), store, "j/")
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, j.Record(t.Context(), "a", 1))
		require.Equal(t, 700*time.Millisecond, time.Since(began))
		require.Len(t, store.puts, 4)
		require.NoError(t, j.Record(t.Context(), "b", 2))
		require.Len(t, store.held, 4, "a failure starts a new segment, a success continues the segment")

		store.fails = 1_000
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = j.Record(ctx, "c", 3)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "the bucket is down")
		_, ok := j.Look("c")
		require.False(t, ok)
		time.Sleep(time.Minute)
		tries := len(store.puts)
		time.Sleep(time.Minute)
		require.Len(t, store.puts, tries, "no waiting caller, so no attempt")

		store.fails = 0
		require.NoError(t, j.Record(t.Context(), "d", 4))
		next, err := rows.Open(t.Context(), store, "j/")
		require.NoError(t, err)
		for _, key := range []string{"a", "b", "c", "d"} {
			_, ok := next.Look(key)
			require.True(t, ok, key)
		}
	})
}

// late is a store that loses the answer of its second write and carries it out later.
type late struct {
	slowStore
	n      int
	arrive func()
}

func (l *late) Put(ctx context.Context, key, contentType string, data []byte) error {
	if l.n++; l.n == 2 {
		l.arrive = func() { l.held[key] = slices.Clone(data) }
		return errors.New("the answer was lost")
	}
	return l.slowStore.Put(ctx, key, contentType, data)
}

// A failed write may still read its buffer, and replaces its segment when it arrives: later records must not overwrite
// either.
func TestJournal_failedWriteArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &late{}
		j, err := rows.Open(t.Context(), store, "j/")
		require.NoError(t, err)
		for _, key := range []string{"a", "b", "c"} {
			require.NoError(t, j.Record(t.Context(), key, key))
		}
		store.arrive()
		next, err := rows.Open(t.Context(), store, "j/")
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, next.Keys())
		require.Zero(t, next.Broken())
	})
}

// Reopen excludes later records, both in the same segment and in new segments.
func TestReopen(t *testing.T) {
	t.Parallel()
	store := &slowStore{}
	j, err := rows.Open(t.Context(), store, "j/")
	require.NoError(t, err)
	require.NoError(t, j.Record(t.Context(), "a", 1))
	then, err := rows.Segments(t.Context(), store, "j/")
	require.NoError(t, err)
	require.NoError(t, j.Record(t.Context(), "b", 2))
	other, err := rows.Open(t.Context(), store, "j/")
	require.NoError(t, err)
	require.NoError(t, other.Record(t.Context(), "a", 3))

	was, err := rows.Reopen(t.Context(), store, "j/", then)
	require.NoError(t, err)
	require.Len(t, was.Keys(), 1)
	require.Zero(t, was.Broken())
	record, _ := was.Look("a")
	require.JSONEq(t, "1", string(record))
}

func TestJournal_notJSON(t *testing.T) {
	t.Parallel()
	j, err := rows.Open(t.Context(), &slowStore{}, "j/")
	require.NoError(t, err)
	require.ErrorContains(t, j.Record(t.Context(), "a", func() {}), "encode the record of a")
}

func BenchmarkJournal(b *testing.B) {
	record := struct {
		Text   string `json:"text"`
		Tokens int    `json:"tokens"`
	}{strings.Repeat("x", 300), 70}
	for _, recorders := range []int{1, 50, 200} {
		b.Run(fmt.Sprint("recorders=", recorders), func(b *testing.B) {
			store, err := storage.Open(b.Context(), "file://"+b.TempDir())
			require.NoError(b, err)
			j, err := rows.Open(b.Context(), store, "j/")
			require.NoError(b, err)
			keys := make(chan int)
			go func() {
				defer close(keys)
				for i := range b.N {
					keys <- i
				}
			}()
			b.ReportAllocs()
			b.ResetTimer()
			var all sync.WaitGroup
			for range recorders {
				all.Go(func() {
					for i := range keys {
						if err := j.Record(b.Context(), fmt.Sprint(i), record); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
