package call

import (
	"maps"
	"sync"
	"time"
)

// endings are the tasks of which a call was broken off a moment ago. Each activity of a task hears of its end with a heartbeat of its own, and the
// places in the lane that the first one leaves would go to calls of the others, to be broken off and paid for in vain. The zero value
// is empty.
type recentCancels struct {
	mu sync.Mutex
	at map[string]time.Time
}

// endSpreads is how long the news of an end takes to reach all activities of a task.
const cancelSpread = 3 * heartbeatInterval

// note remembers that a call of a task was broken off.
func (e *recentCancels) add(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.at, func(_ string, at time.Time) bool { return time.Since(at) > cancelSpread })
	if e.at == nil {
		e.at = map[string]time.Time{}
	}
	e.at[id] = time.Now()
}

// left is how long no call of a task is to begin.
func (e *recentCancels) remaining(id string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, ok := e.at[id]
	if !ok {
		return 0
	}
	return max(cancelSpread-time.Since(at), 0)
}
