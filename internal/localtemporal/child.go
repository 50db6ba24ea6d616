package localtemporal

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
	startTimeout = time.Minute      // from the start of the program until it is ready
	stopTimeout  = 10 * time.Second // from SIGTERM to SIGKILL
)

// child is a Temporal process that serves.
type child struct {
	ready
	ended <-chan error // receives one error when the process has exited
}

// spawn starts the program and waits until it serves. The process gets SIGTERM when life ends.
func spawn(life context.Context, opts Options) (*child, error) {
	ctx, cancel := context.WithCancel(life)
	stderr := &stderrLog{log: opts.Log, life: life}
	serving, ended := make(chan ready, 1), make(chan error, 1)

	cmd := exec.CommandContext(ctx, opts.Program, arguments(opts)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	cmd.SysProcAttr = ownProcessGroup()
	cmd.Stdout = &lineWriter{handle: func(line string) { parseReady(line, serving) }}
	cmd.Stderr = &lineWriter{handle: stderr.add}
	if _, err := cmd.StdinPipe(); err != nil { // stays open until this process ends
		cancel()
		return nil, err
	}
	go func() {
		defer cancel()
		runtime.LockOSThread() // never unlocked: see ownProcessGroup
		ended <- run(cmd)
	}()

	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case r := <-serving:
		stderr.setReady()
		return &child{ready: r, ended: ended}, nil
	case err := <-ended:
		return nil, stderr.explain(err)
	case <-timeout.C:
		cancel()
		return nil, stderr.explain(errors.Join(fmt.Errorf("not ready within %s", startTimeout), <-ended))
	}
}

// run starts the command and waits for its exit, which is always an error.
func run(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.New("the program exited with status 0")
}

func arguments(opts Options) []string {
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

// parseReady sends the ready message of the program to serving if line holds it.
func parseReady(line string, serving chan<- ready) {
	text, ok := strings.CutPrefix(line, "ready ")
	if !ok {
		return
	}
	var r ready
	if err := json.Unmarshal([]byte(text), &r); err == nil {
		serving <- r
	}
}

// stderrLog logs the standard error of a child: JSON lines of the server and plain lines of the program. A plain line before
// the child serves is the reason why it will not. After life has ended lines are logged at debug level: a server that stops
// logs every call that it abandons as an error.
type stderrLog struct {
	log  *slog.Logger
	life context.Context

	mu     sync.Mutex
	ready  bool
	reason string // of a failed start; "" if the program printed none
}

func (s *stderrLog) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entry struct{ Level, Msg, Error string }
	switch {
	case s.life.Err() != nil:
		s.log.Debug("Temporal output", "line", line)
	case json.Unmarshal([]byte(line), &entry) == nil:
		s.log.Warn("Temporal output", "line", entry.Msg, "level", entry.Level, "error", entry.Error)
	case s.ready:
		s.log.Warn("Temporal output", "line", line)
	default:
		s.reason = strings.TrimPrefix(line, ProgramName+": ")
	}
}

func (s *stderrLog) setReady() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
}

// explain returns the reason that the program printed, or err without one.
func (s *stderrLog) explain(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != "" {
		err = errors.New(s.reason)
	}
	return fmt.Errorf("start Temporal: %w", err)
}

// lineWriter calls handle for each complete line written to it.
type lineWriter struct {
	handle func(string)
	rest   []byte // the incomplete last line
}

// Write never fails.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, after, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.handle(string(line))
		l.rest = append([]byte(nil), after...)
	}
}
