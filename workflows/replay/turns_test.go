package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Turns come as often as they should although timers come late, and after an idle while not all at once.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, perMinute := range []int{1, 59, 600, 6000} {
		var turns turns
		every := time.Minute / time.Duration(perMinute)
		now := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
		count := func(minutes time.Duration) (n int) {
			for end := now.Add(minutes * time.Minute); ; n++ {
				if wait := turns.next(now, every); wait > 0 {
					now = now.Add(wait + 999*time.Millisecond).Truncate(time.Second) // a timer of Temporal's
				}
				if now.After(end) {
					return n
				}
			}
		}
		slack := int(timerLag/every) + 1
		require.InDelta(t, 3*perMinute, count(3), float64(slack), perMinute)
		now = now.Add(time.Hour) // it was paused
		require.LessOrEqual(t, count(1), perMinute+slack, perMinute)
	}
}
