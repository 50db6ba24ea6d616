package retrieval

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/document"
)

func oneIndex(text string) *Index {
	return New([]Text{{Name: "a", Markdown: text, Passages: []document.Chunk{{End: len(text), Tokens: 1}}}})
}

// Concurrent callers get the same index, loaded once; a failed load is not cached.
func TestCache_loadsOnce(t *testing.T) {
	t.Parallel()
	var s Cache
	_, err := s.Get("a", func() (*Index, error) { return nil, errors.New("down") })
	require.ErrorContains(t, err, "down")
	var loads atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			x, err := s.Get("a", func() (*Index, error) {
				loads.Add(1)
				return oneIndex("lamp"), nil
			})
			if err != nil || x.Len() != 1 {
				t.Errorf("got %v, %v", x, err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, loads.Load())
}

// The least recently used indexes are evicted first; the newest stays whatever its size.
func TestCache_evictsLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	s := Cache{limit: 1000}
	large := strings.Repeat(" ", 400)
	put := func(key string) {
		_, err := s.Get(key, func() (*Index, error) { return oneIndex(large), nil })
		require.NoError(t, err)
	}
	put("a")
	put("b")
	put("a")
	put("c")
	require.True(t, s.find("a") != nil)
	require.True(t, s.find("b") == nil)
	require.True(t, s.find("c") != nil)
	_, err := s.Get("huge", func() (*Index, error) { return oneIndex(strings.Repeat(" ", 2000)), nil })
	require.NoError(t, err)
	require.True(t, s.find("huge") != nil)
	require.Len(t, s.entries, 1)
}
