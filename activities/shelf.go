package activities

import (
	"cmp"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"

	"longhaul/internal/retrieval"
)

// shelfBytes is how much memory the indexes of a worker may take beyond those in use.
const shelfBytes = 256 << 20

// shelf keeps the indexes that were used last in memory, so that the questions of a task share one. The zero
// value is empty.
type shelf struct {
	most    int64 // bytes; 0 means shelfBytes
	loading singleflight.Group
	mu      sync.Mutex
	held    []held // used last comes first
}

type held struct {
	key   string
	index *retrieval.Index
}

// get gives the index of a key, and has it loaded once if it is not there, whoever else asks meanwhile.
func (s *shelf) get(key string, load func() (*retrieval.Index, error)) (*retrieval.Index, error) {
	if index := s.take(key); index != nil {
		return index, nil
	}
	index, err, _ := s.loading.Do(key, func() (any, error) {
		if index := s.take(key); index != nil {
			return index, nil
		}
		index, err := load()
		if err == nil {
			s.put(key, index)
		}
		return index, err
	})
	if err != nil {
		return nil, err
	}
	return index.(*retrieval.Index), nil
}

func (s *shelf) take(key string) *retrieval.Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.held, func(h held) bool { return h.key == key })
	if at < 0 {
		return nil
	}
	found := s.held[at]
	s.held = slices.Insert(slices.Delete(s.held, at, at+1), 0, found)
	return found.index
}

// put keeps an index, and lets go of those that were not used for longest. The newest is kept whatever its size.
func (s *shelf) put(key string, index *retrieval.Index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = slices.Insert(s.held, 0, held{key, index})
	bytes, most := int64(0), cmp.Or(s.most, shelfBytes)
	for i, h := range s.held {
		if bytes += h.index.Bytes(); bytes > most && i > 0 {
			s.held = slices.Delete(s.held, i, len(s.held))
			return
		}
	}
}
