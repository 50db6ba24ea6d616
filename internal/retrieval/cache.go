package retrieval

import (
	"cmp"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"
)

// cacheBytes is how much memory the cached indexes of a worker may take: a few tasks of a million words each.
const cacheBytes = 256 << 20

// Cache keeps the most recently used indexes in memory, so that the questions of a task share one. The zero
// value is empty and ready for use by several goroutines.
type Cache struct {
	limit   int64 // bytes; 0 means cacheBytes
	loading singleflight.Group
	mu      sync.Mutex
	entries []cacheEntry // most recently used first
}

type cacheEntry struct {
	key   string
	index *Index
}

// Get returns the index of a key. A missing index is loaded once, however many callers ask for it meanwhile.
func (c *Cache) Get(key string, load func() (*Index, error)) (*Index, error) {
	if index := c.find(key); index != nil {
		return index, nil
	}
	index, err, _ := c.loading.Do(key, func() (any, error) {
		if index := c.find(key); index != nil {
			return index, nil
		}
		index, err := load()
		if err == nil {
			c.add(key, index)
		}
		return index, err
	})
	if err != nil {
		return nil, err
	}
	return index.(*Index), nil
}

// find returns the index of a key and marks it as used; nil when it is not cached.
func (c *Cache) find(key string) *Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.entries, func(e cacheEntry) bool { return e.key == key })
	if at < 0 {
		return nil
	}
	found := c.entries[at]
	c.entries = slices.Insert(slices.Delete(c.entries, at, at+1), 0, found)
	return found.index
}

// add caches an index and evicts the least recently used ones beyond the limit. The newest stays whatever its size.
func (c *Cache) add(key string, index *Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = slices.Insert(c.entries, 0, cacheEntry{key, index})
	bytes, limit := int64(0), cmp.Or(c.limit, cacheBytes)
	for i, e := range c.entries {
		if bytes += e.index.Bytes(); bytes > limit && i > 0 {
			c.entries = slices.Delete(c.entries, i, len(c.entries))
			return
		}
	}
}
