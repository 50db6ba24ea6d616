package call

import (
	"maps"
	"sync"
	"time"
)

// recentCancels holds the tasks whose calls were cancelled within cancelSpread. Each activity of a task learns of the
// cancel by its own heartbeat. Until then the lane must admit no call of the task, because that call would be cut off and
// still be paid for. The zero value is empty.
type recentCancels struct {
	mu sync.Mutex
	at map[string]time.Time
}

// cancelSpread is how long a cancel takes to reach all activities of a task.
const cancelSpread = 3 * heartbeatInterval

// add records that a call of a task was cancelled.
func (e *recentCancels) add(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.at, func(_ string, at time.Time) bool { return time.Since(at) > cancelSpread })
	if e.at == nil {
		e.at = map[string]time.Time{}
	}
	e.at[id] = time.Now()
}

// remaining returns for how long the task may begin no call.
func (e *recentCancels) remaining(id string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, ok := e.at[id]
	if !ok {
		return 0
	}
	return max(cancelSpread-time.Since(at), 0)
}
