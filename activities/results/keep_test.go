package results

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/storage/storagetest"
	"longhaul/internal/task"
)

// company is a store that answers a call only when others are under way: whoever asks one by one is refused in the end.
type company struct {
	http.Handler
	mu    sync.Mutex
	wants int // calls at a time; 0 answers each
	there map[string]int
	full  map[string]chan struct{}
}

// sortOf is what a call does, if it does so to many objects: only others that do the same are company.
func sortOf(r *http.Request) string {
	switch {
	case r.Header.Get("X-Amz-Copy-Source") != "":
		return "copy"
	case strings.Contains(r.URL.Path, "/items/"):
		return r.Method
	default:
		return ""
	}
}

func (c *company) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	full, waits := c.join(sortOf(r))
	if waits {
		select {
		case <-full:
		case <-time.After(5 * time.Second):
			http.Error(w, "nobody else asks", http.StatusForbidden) // which the SDK does not try again
			return
		}
	}
	c.Handler.ServeHTTP(w, r)
}

// join adds a call to those of its sort, and gives what tells when they are enough.
func (c *company) join(sort string) (full chan struct{}, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full[sort] == nil {
		c.full[sort] = make(chan struct{})
	}
	if c.there[sort]++; c.there[sort] == c.wants {
		close(c.full[sort])
	}
	return c.full[sort], sort != "" && c.wants > 0
}

// The items of a task that is run again are taken over side by side, and so are the files of its videos.
func TestKeep_sideBySide(t *testing.T) {
	store := &company{}
	reset := func(wants int) {
		store.mu.Lock()
		defer store.mu.Unlock()
		store.wants, store.there, store.full = wants, map[string]int{}, map[string]chan struct{}{}
	}
	reset(0)
	bucket := storagetest.Remote(t, func(h http.Handler) http.Handler { store.Handler = h; return store })
	a := &Store{Bucket: bucket}
	const items = 24
	old := record.TaskRef{ID: "task_old"}
	for i := range items {
		name := fmt.Sprintf("%d.mp4", i)
		require.NoError(t, bucket.Put(t.Context(), storage.ArtifactKey(old.ID, name), "video/mp4", []byte(name)))
		item := task.Item{Index: i, Status: task.ItemSucceeded, Attempts: 2, Result: json.RawMessage(`{"artifact":"` + name + `"}`)}
		if i == 3 {
			item = task.Item{Index: i, Status: task.ItemFailed}
		}
		require.NoError(t, a.WriteItem(t.Context(), old, item))
	}
	of := record.TaskRef{ID: "task_new", Keep: &record.Kept{ID: old.ID}}
	reset(8)
	kept, err := a.KeepItems(t.Context(), of, items)
	require.NoError(t, err)
	require.Len(t, kept, items-1)
	require.IsIncreasing(t, kept)
	require.NotContains(t, kept, 3)
	reset(8)
	require.NoError(t, a.KeepArtifacts(t.Context(), of, kept))

	reset(0)
	for _, i := range kept {
		item, err := a.ReadItem(t.Context(), of, i)
		require.NoError(t, err)
		require.True(t, item.Cached)
		require.Zero(t, item.Attempts)
		require.Equal(t, strconv.Itoa(i), item.ID)
		require.Contains(t, string(item.Result), fmt.Sprintf("%s/artifacts/%d.mp4", of.ID, i))
		data, err := bucket.Get(t.Context(), storage.ArtifactKey(of.ID, fmt.Sprintf("%d.mp4", i)))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%d.mp4", i), string(data))
	}
}
