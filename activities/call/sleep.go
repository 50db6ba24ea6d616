package call

import (
	"context"
	"time"
)

// Sleep waits, but not beyond a pause, and reports whether ctx is still open.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	waiting, end := admission(ctx)
	defer end()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-waiting.Done():
	}
	return ctx.Err() == nil
}
