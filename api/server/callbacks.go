package server

import (
	"context"
	"strconv"
	"sync"
	"time"
)

type callbackPath struct {
	Task string `path:"task" doc:"the task's id"`
	Item string `path:"item" doc:"the item's index"`
}

// videoCallback takes a provider's word that something has changed as a hint to ask it. Nothing else that is sent
// is read, and the answer is always the same, at once: it tells nobody whether there is such a task.
func (s *server) videoCallback(ctx context.Context, in *callbackPath) (*struct{}, error) {
	item, err := strconv.Atoi(in.Item)
	if s.Hints == nil || err != nil || !s.hints.admit(in.Task+"/"+in.Item, time.Now()) {
		return nil, nil
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := s.Hints.Hint(ctx, in.Task, item); err != nil {
			s.Log.DebugContext(ctx, "hint not passed on", "error", err)
		}
	}()
	return nil, nil
}

// A hint costs Temporal something, and anybody can send them: in so long a time one of each video gets through,
// and so many in all. One that does not is made up for by the next poll.
const (
	hintWindow = 5 * time.Second
	mostHints  = 100
)

// hintGate lets few hints through. Its zero value is ready.
type hintGate struct {
	mu    sync.Mutex
	since time.Time
	seen  map[string]bool
}

func (g *hintGate) admit(key string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.since) >= hintWindow {
		g.since, g.seen = now, map[string]bool{}
	}
	if g.seen[key] || len(g.seen) >= mostHints {
		return false
	}
	g.seen[key] = true
	return true
}
