package main

import (
	"context"
	"fmt"
	"time"
)

// backstep is by how much the machine's clock must be put back for the server to end. A smaller step is over sooner than a start.
const backstep = 5 * time.Second

// reading is what the two clocks of the machine show at a moment: the one that people set, and the one that nobody can.
type reading struct {
	wall time.Time
	mono time.Duration
}

// clocks gives a function that reads them.
func clocks() func() reading {
	began := time.Now()
	return func() reading {
		now := time.Now()
		return reading{now.Round(0), now.Sub(began)}
	}
}

// setBack is by how much the wall clock was put back since an earlier reading.
func (r reading) setBack(before reading) time.Duration {
	return (r.mono - before.mono) - r.wall.Sub(before.wall)
}

// untilSetBack ends ctx, and says why, when the machine's clock is put back. A server remembers as times of the day when each of its queues
// may hand out the next task; after a step back it would hand out none until the clock has come there again. A new process remembers
// no such times, so this one ends, and whoever keeps it starts the next.
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

// setBackError is why the server ended.
type setBackError struct{ by time.Duration }

func (e *setBackError) Error() string {
	return fmt.Sprintf("the machine's clock was put back by %s: this server ends, to be started again by the new time. "+
		"Timers that were set before wait for the old one", e.by.Round(time.Second))
}
