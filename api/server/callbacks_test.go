package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// heard keeps the hints that were passed on.
type heard chan string

func (h heard) Hint(_ context.Context, id string, item int) error {
	h <- fmt.Sprintf("%s %d", id, item)
	return nil
}

// A callback needs no key, is answered alike whatever it says, and is passed on at most once in a while.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	const id = "task_aaaaaaaaaaaaaaaaaaaaaaaaaa"
	hints := make(heard, 10)
	for name, parts := range map[string]Parts{"heard": {Hints: hints}, "not heard": {}} {
		parts.Keys, parts.Log = map[string]string{"k": "acme"}, slog.New(slog.DiscardHandler)
		handler, err := New(parts)
		require.NoError(t, err)
		for _, path := range []string{id + "/3", id + "/3", "task_b/0", id + "/-1", id + "/x", "%00/9999999999999999999"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/callbacks/video/"+path, strings.NewReader(`{"id":1`))
			r.Header.Set("Content-Type", "text/plain")
			handler.ServeHTTP(w, r)
			require.Equal(t, http.StatusNoContent, w.Code, "%s %s", name, path)
			require.Empty(t, w.Body.String())
		}
	}
	got := map[string]bool{}
	for range 3 {
		got[<-hints] = true
	}
	require.Equal(t, map[string]bool{id + " 3": true, "task_b 0": true, id + " -1": true}, got)
	require.Empty(t, hints)
}

func TestHintGate(t *testing.T) {
	t.Parallel()
	var g hintGate
	now := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	require.True(t, g.admit("a", now))
	require.False(t, g.admit("a", now.Add(4*time.Second)))
	passed := 1
	for i := range 1000 {
		if g.admit(fmt.Sprint(i), now) {
			passed++
		}
	}
	require.Equal(t, mostHints, passed)
	require.True(t, g.admit("a", now.Add(hintWindow)))
}
