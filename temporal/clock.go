package main

import (
	"context"
	"fmt"
	"time"
)

// backstep is the smallest backward step of the wall clock that stops the server. A smaller step passes sooner than a
// restart.
const backstep = 5 * time.Second

// reading is a reading of the wall clock and the monotonic clock.
type reading struct {
	wall time.Time
	mono time.Duration
}

// clocks returns a function that reads both clocks.
func clocks() func() reading {
	began := time.Now()
	return func() reading {
		now := time.Now()
		return reading{now.Round(0), now.Sub(began)}
	}
}

// setBack returns how far the wall clock was set back since an earlier reading.
func (r reading) setBack(before reading) time.Duration {
	return (r.mono - before.mono) - r.wall.Sub(before.wall)
}

// untilSetBack cancels ctx with a setBackError when the wall clock is set back. The server schedules the next task of
// each queue by wall-clock time, so after a backward step it would dispatch nothing until that time is reached again.
// A restarted process has no such times.
func untilSetBack(ctx context.Context, every time.Duration, read func() reading) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for last := read(); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now := read()
			if by := now.setBack(last); by >= backstep {
				end(&setBackError{by})
				return
			}
			last = now
		}
	}()
	return ctx
}

// setBackError is the reason for stopping after a backward step of the clock.
type setBackError struct{ by time.Duration }

func (e *setBackError) Error() string {
	return fmt.Sprintf("the system clock was set back by %s: the server stops and must be restarted. "+
		"Earlier timers still fire by the old time", e.by.Round(time.Second))
}
