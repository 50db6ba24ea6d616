package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"
)

// maxStarts is how often in a row Temporal may fail to start before we give up.
const maxStarts = 5

// temporalOptions say how to run Temporal.
type temporalOptions struct {
	Binary string
	Data   string // folder of its database; "" keeps all in memory
	Port   int    // 0 picks a free one
	UIPort int    // 0 means no Web UI
	// HistoryEvents is after how many events a workflow is asked to go on in a new run; 0 means the
	// server's default, 4,096.
	HistoryEvents int
	Log           *slog.Logger
}

// place is what a Temporal that is ready tells about itself.
type place struct {
	Address string `json:"address"`
	UI      string `json:"ui"` // "" without one
	Data    string `json:"data"`
}

// supervised is a Temporal in a child process, started again whenever it ends by itself. It never
// outlives us: not a stop, not a crash, not kill -9.
type supervised struct {
	place
	Failed <-chan error // one error, when it could not be started again

	cancel context.CancelFunc
	done   chan struct{}
}

// startTemporal returns once Temporal serves. ctx bounds the start alone; Stop ends what was started.
func startTemporal(ctx context.Context, opts temporalOptions) (*supervised, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	interrupted := context.AfterFunc(ctx, cancel)
	first, err := spawn(life, opts)
	if err == nil && !interrupted() {
		err = ctx.Err()
	}
	if err == nil {
		opts.Port, err = portOf(first.Address)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	failed := make(chan error, 1)
	s := &supervised{place: first.place, Failed: failed, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		if err := keep(life, first, opts); err != nil {
			failed <- err
		}
	}()
	return s, nil
}

// portOf finds the port that was picked, so that the next child is where the clients look.
func portOf(address string) (int, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, fmt.Errorf("Temporal says that it listens on %q: %w", address, err)
	}
	return strconv.Atoi(port)
}

// Stop ends Temporal gently, and the hard way after ten seconds. It returns when it has ended.
func (s *supervised) Stop() {
	s.cancel()
	<-s.done
}

// keep starts a child again whenever it has ended, until life ends or it will not start any more.
func keep(life context.Context, c *child, opts temporalOptions) error {
	for {
		err := <-c.ended
		if life.Err() != nil {
			return nil
		}
		opts.Log.Error("Temporal ended by itself; starting it again", "error", err)
		if c, err = again(life, opts); err != nil {
			if life.Err() != nil {
				return nil
			}
			return fmt.Errorf("Temporal does not start any more: %w", err)
		}
		opts.Log.Info("Temporal is back", "address", c.Address)
	}
}

// again tries to start a child, with longer and longer pauses in between.
func again(life context.Context, opts temporalOptions) (c *child, err error) {
	pause := 200 * time.Millisecond
	for range maxStarts {
		select {
		case <-life.Done():
			return nil, life.Err()
		case <-time.After(pause):
		}
		if c, err = spawn(life, opts); err == nil {
			return c, nil
		}
		opts.Log.Warn("Temporal did not start", "error", err, "again_in", pause)
		pause *= 3
	}
	return nil, err
}
