package localtemporal

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"
)

// maxStarts is the number of consecutive failed starts after which a Server gives up.
const maxStarts = 5

// Options configure a Server.
type Options struct {
	Program string // path of longhaul-temporal
	Data    string // folder of the database; "" keeps the database in memory
	Port    int    // of the Temporal frontend; 0 picks a free port
	UIPort  int    // of the Web UI; 0 means no Web UI
	// HistoryEvents is the history length at which the server suggests continue-as-new; 0 means the server's default, 4,096.
	HistoryEvents int
	Log           *slog.Logger
}

// ready is the message that the program prints when it serves.
type ready struct {
	Address string `json:"address"`
	UI      string `json:"ui"` // "" without a Web UI
	Data    string `json:"data"`
}

// Server is a Temporal server in a child process that is restarted on the same port whenever it exits. The child never
// outlives this process: not after Stop, a crash or kill -9.
type Server struct {
	ready
	Failed <-chan error // receives one error when a restart fails for good

	cancel context.CancelFunc
	done   chan struct{}
}

// Start starts the program and returns once it serves. ctx bounds the start only; Stop ends the server.
func Start(ctx context.Context, opts Options) (*Server, error) {
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
	s := &Server{ready: first.ready, Failed: failed, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		if err := supervise(life, first, opts); err != nil {
			failed <- err
		}
	}()
	return s, nil
}

// portOf returns the port of address, so that a restarted child listens where clients look for it.
func portOf(address string) (int, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, fmt.Errorf("address of Temporal %q: %w", address, err)
	}
	return strconv.Atoi(port)
}

// Stop sends SIGTERM, and SIGKILL ten seconds later. It returns when the child has exited.
func (s *Server) Stop() {
	s.cancel()
	<-s.done
}

// supervise restarts the child whenever it exits, until life ends or maxStarts restarts have failed in a row.
func supervise(life context.Context, c *child, opts Options) error {
	for {
		err := <-c.ended
		if life.Err() != nil {
			return nil
		}
		opts.Log.Error("Temporal exited unexpectedly; restarting it", "error", err)
		if c, err = restart(life, opts); err != nil {
			if life.Err() != nil {
				return nil
			}
			return fmt.Errorf("restart Temporal: %w", err)
		}
		opts.Log.Info("Temporal is back", "address", c.Address)
	}
}

// restart tries to start a child up to maxStarts times, with a pause before each try that grows threefold.
func restart(life context.Context, opts Options) (c *child, err error) {
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
		pause *= 3
		opts.Log.Warn("Temporal did not start", "error", err, "retry_in", pause)
	}
	return nil, err
}
