package call

import (
	"maps"
	"sync"
	"time"
)

// recentCancels holds the tasks of which a call was cut off a moment ago. Each activity of a task learns of its end by
// a heartbeat of its own; without this, the lane would admit calls of the others in between, to be cut off and paid
// for in vain. The zero value is empty.
type recentCancels struct {
	mu sync.Mutex
	at map[string]time.Time
}

// cancelSpread is how long a cancel takes to reach all activities of a task.
const cancelSpread = 3 * heartbeatInterval

// add notes that a call of a task was cut off.
func (e *recentCancels) add(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.at, func(_ string, at time.Time) bool { return time.Since(at) > cancelSpread })
	if e.at == nil {
		e.at = map[string]time.Time{}
	}
	e.at[id] = time.Now()
}

// remaining returns how long no call of a task may begin.
func (e *recentCancels) remaining(id string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, ok := e.at[id]
	if !ok {
		return 0
	}
	return max(cancelSpread-time.Since(at), 0)
}
