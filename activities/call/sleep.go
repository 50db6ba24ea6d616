package call

import (
	"context"
	"time"
)

// rest waits, not beyond a pause, and reports whether ctx goes on.
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
