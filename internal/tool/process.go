package tool

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// process is an MCP server that runs as a child of this program.
type process struct {
	cmd     *exec.Cmd
	in, out *os.File
	exited  chan struct{} // closed once it is gone
}

// patience is how long a server has to end by itself: once after the end of its input, once after SIGTERM.
const patience = 2 * time.Second

// environment is what every server sees besides the variables that the configuration lets it see.
func environment(names []string) []string {
	var env []string
	for _, name := range append([]string{"PATH", "HOME", "TMPDIR"}, names...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// startProcess runs a server. The thread that starts it stays with it: the kernel kills the child when that thread ends,
// which must not be before the process does.
func startProcess(s Server, log *slog.Logger, scrub func(string) string) (*process, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), in.Close())
	}
	p := &process{in: in, out: out, exited: make(chan struct{})}
	//nolint:noctx // it lives as long as its connection, and stop ends it
	p.cmd = exec.Command(s.Command, s.Args...)
	p.cmd.Env, p.cmd.SysProcAttr, p.cmd.WaitDelay = environment(s.Env), attributes(), time.Second
	p.cmd.Stdin, p.cmd.Stdout = childIn, childOut
	p.cmd.Stderr = &lines{each: func(line string) { log.Debug("MCP server says", "server", s.Name, "line", scrub(line)) }}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		err := p.cmd.Start()
		_, _ = childIn.Close(), childOut.Close()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in ProcessState
		}
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return p, nil
}

// stop ends a server, and waits for its end.
func (p *process) stop() {
	_ = p.in.Close() // what MCP asks for
	for _, harder := range []func(*exec.Cmd){ask, kill} {
		select {
		case <-p.exited:
		case <-time.After(patience):
			harder(p.cmd)
		}
	}
	kill(p.cmd) // those that it started, and left
	<-p.exited
	_ = p.out.Close()
}

// lines is a writer that hands on whole lines, and cuts those that are longer than anybody reads.
type lines struct {
	each func(string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	const longest = 4 << 10
	l.rest = append(l.rest, p...)
	for {
		line, after, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			l.rest = l.rest[:min(len(l.rest), longest)]
			return len(p), nil
		}
		l.each(string(line[:min(len(line), longest)]))
		l.rest = append([]byte(nil), after...)
	}
}
