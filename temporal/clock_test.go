package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestUntilSetBack(t *testing.T) {
	for name, test := range map[string]struct {
		set  time.Duration
		ends bool
	}{
		"an hour back": {-time.Hour, true}, "six seconds back": {-6 * time.Second, true},
		"a second back": {-time.Second, false}, "an hour forward": {time.Hour, false}, "true": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var set atomic.Int64
			var reads atomic.Int32
			real := clocks()
			watched := untilSetBack(ctx, time.Millisecond, func() reading {
				reads.Add(1)
				now := real()
				now.wall = now.wall.Add(time.Duration(set.Load()))
				return now
			})
			await := func(n int32) {
				for from := reads.Load(); reads.Load() < from+n && watched.Err() == nil; {
					time.Sleep(time.Millisecond)
				}
			}
			await(3)
			set.Store(int64(test.set))
			await(3)
			if ended := errors.As(context.Cause(watched), new(*setBackError)); ended != test.ends {
				t.Fatalf("ended: %v", context.Cause(watched))
			}
		})
	}
}
