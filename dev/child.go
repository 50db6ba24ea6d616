package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startWithin = time.Minute      // from the start of the program until it is ready
	stopWithin  = 10 * time.Second // from SIGTERM until SIGKILL
)

// child is one process of Temporal that became ready.
type child struct {
	place
	ended <-chan error // one error, when it has ended
}

// spawn starts the program and waits until it is ready. When life ends it is told to stop.
func spawn(life context.Context, opts temporalOptions) (*child, error) {
	ctx, cancel := context.WithCancel(life)
	said := &sayings{log: opts.Log, life: life}
	ready, ended := make(chan place, 1), make(chan error, 1)

	cmd := exec.CommandContext(ctx, opts.Binary, arguments(opts)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	cmd.SysProcAttr = apart()
	cmd.Stdout = &lines{each: func(line string) { hearReady(line, ready) }}
	cmd.Stderr = &lines{each: said.hear}
	if _, err := cmd.StdinPipe(); err != nil { // held open for as long as we live
		cancel()
		return nil, err
	}
	go func() {
		defer cancel()
		runtime.LockOSThread() // and never unlocked: see apart
		ended <- run(cmd)
	}()

	timeout := time.NewTimer(startWithin)
	defer timeout.Stop()
	select {
	case p := <-ready:
		said.ready()
		return &child{place: p, ended: ended}, nil
	case err := <-ended:
		return nil, said.explain(err)
	case <-timeout.C:
		cancel()
		return nil, said.explain(errors.Join(fmt.Errorf("not ready within %s", startWithin), <-ended))
	}
}

// run starts a program and waits for its end, which is never what we want to see.
func run(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.New("it stopped")
}

func arguments(opts temporalOptions) []string {
	args := []string{
		"--die-with-parent", "--log-level", "error",
		"--port", strconv.Itoa(opts.Port), "--ui-port", strconv.Itoa(opts.UIPort),
	}
	if opts.HistoryEvents > 0 {
		args = append(args, "--history-events", strconv.Itoa(opts.HistoryEvents))
	}
	if opts.Data == "" {
		return append(args, "--memory")
	}
	return append(args, "--data", opts.Data)
}

// hearReady looks for the line with which the program tells where it is.
func hearReady(line string, ready chan<- place) {
	text, ok := strings.CutPrefix(line, "ready ")
	if !ok {
		return
	}
	var p place
	if err := json.Unmarshal([]byte(text), &p); err == nil {
		ready <- p
	}
}

// sayings is what a child writes to its standard error: lines of the server's log in JSON, and
// sentences of the program itself. Before it is ready a sentence is why it will not be. Once it was
// told to stop nothing matters any more: a server that ends calls all that it gives up an error.
type sayings struct {
	log  *slog.Logger
	life context.Context

	mu      sync.Mutex
	isReady bool
	reason  string
}

func (s *sayings) hear(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entry struct{ Level, Msg, Error string }
	switch {
	case s.life.Err() != nil:
		s.log.Debug("Temporal says", "line", line)
	case json.Unmarshal([]byte(line), &entry) == nil:
		s.log.Warn("Temporal says", "line", entry.Msg, "level", entry.Level, "error", entry.Error)
	case s.isReady:
		s.log.Warn("Temporal says", "line", line)
	default:
		s.reason = strings.TrimPrefix(line, programName+": ")
	}
}

func (s *sayings) ready() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isReady = true
}

// explain prefers the child's own words to its exit status.
func (s *sayings) explain(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != "" {
		err = errors.New(s.reason)
	}
	return fmt.Errorf("start Temporal: %w", err)
}

// lines is a writer that hands on whole lines.
type lines struct {
	each func(string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, after, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.each(string(line))
		l.rest = append([]byte(nil), after...)
	}
}
