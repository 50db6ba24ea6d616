package document

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"longhaul/internal/task"
)

// childVariable is the environment variable that marks an extraction child; its value is the settings in JSON.
const childVariable = "LONGHAUL_EXTRACTION_CHILD"

// warmTimeout limits the compilation of the PDF engine, which takes seconds on an idle machine.
const warmTimeout = 10 * time.Minute

// memoryCheck is how often the parent measures the memory of a busy child.
const memoryCheck = 50 * time.Millisecond

// errDied means that a child exited or was killed before it replied.
var errDied = errors.New("the extraction process died")

// settings are passed to a child in its environment.
type settings struct {
	CacheDir    string
	TextBytes   int64
	MemoryBytes int64
}

// request asks a child to compile the PDF engine or to read a document.
type request struct {
	Warm  bool
	Input Input
}

// reply is a message from a child. Progress replies come before the last reply, which has Last set and holds a text,
// the code and detail of a document error, or an internal fault.
type reply struct {
	Last        bool
	Done, Total int
	Text        Text
	Code        task.Code
	Detail      string
	Fault       string
}

// child is an extraction process, seen from its parent. It serves one request at a time.
type child struct {
	cmd      *exec.Cmd
	limits   Limits
	log      *slog.Logger
	in, out  *os.File
	requests *gob.Encoder
	replies  *gob.Decoder
	served   int
	errors   tail          // the tail of its stderr
	exited   chan struct{} // closed after the process has exited and errors is complete
}

// startChild starts this binary as an extraction child.
func startChild(options Options) (*child, error) {
	config, err := json.Marshal(settings{options.CacheDir, options.Limits.TextBytes, options.Limits.MemoryBytes})
	if err != nil {
		return nil, err
	}
	c := &child{limits: options.Limits, log: options.Log, exited: make(chan struct{})}
	path, err := ownBinary()
	if err != nil {
		return nil, err
	}
	c.cmd = &exec.Cmd{
		Path: path, Args: []string{"longhaul-extract"}, Stderr: &c.errors, SysProcAttr: attributes(), WaitDelay: time.Second,
		Env: []string{ // nothing is inherited, so that a child has no secrets
			childVariable + "=" + string(config), "GOMAXPROCS=1", "GOTRACEBACK=single",
			"GOMEMLIMIT=" + strconv.FormatInt(options.Limits.MemoryBytes*3/4, 10),
		},
	}
	return c, c.start()
}

// start connects the pipes and starts the process. The starting thread stays locked until the process has exited,
// because the kernel kills the child when that thread ends (Pdeathsig).
func (c *child) start() error {
	childIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return errors.Join(err, childIn.Close(), in.Close())
	}
	c.cmd.Stdin, c.cmd.Stdout = childIn, childOut
	c.in, c.out, c.requests, c.replies = in, out, gob.NewEncoder(in), gob.NewDecoder(out)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.exited)
		err := c.cmd.Start()
		_, _ = childIn.Close(), childOut.Close()
		started <- err
		if err == nil {
			_ = c.cmd.Wait() // ProcessState says how it ended
		}
	}()
	if err := <-started; err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	return nil
}

// ask sends a request and waits for its last reply. The end of ctx, the time limit and the memory limit kill the
// process; alive then reports whether it can serve another request.
func (c *child) ask(ctx context.Context, req request, progress func(done, total int)) (reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout := c.limits.Timeout
	if req.Warm {
		timeout = warmTimeout
	}
	ctx, done := context.WithTimeoutCause(ctx, timeout, task.Errorf(task.DocumentTooComplex,
		"reading the document took longer than the limit of %s; send a simpler or smaller document", timeout))
	defer done()
	stop := context.AfterFunc(ctx, c.kill)
	go c.watchMemory(ctx, cancel)

	c.served++
	answer, err := c.exchange(req, progress)
	if !stop() || err != nil {
		c.kill()
		<-c.exited
	}
	switch {
	case err == nil:
		return answer.orError()
	case ctx.Err() != nil:
		return reply{}, context.Cause(ctx)
	default:
		return reply{}, c.deathError()
	}
}

// exchange writes a request and reads replies until the last.
func (c *child) exchange(req request, progress func(done, total int)) (reply, error) {
	if err := c.requests.Encode(req); err != nil {
		return reply{}, err
	}
	for {
		var answer reply
		if err := c.replies.Decode(&answer); err != nil {
			return reply{}, err
		}
		if answer.Last {
			return answer, nil
		}
		if progress != nil {
			progress(answer.Done, answer.Total)
		}
	}
}

// orError returns the error of a reply about a failure.
func (r reply) orError() (reply, error) {
	switch {
	case r.Code != "":
		return reply{}, task.Errorf(r.Code, "%s", r.Detail)
	case r.Fault != "":
		return reply{}, fmt.Errorf("read the document: %s", r.Fault)
	}
	return r, nil
}

// watchMemory cancels the request when the child exceeds its memory limit. The kernel's limit on address space is less
// exact, and a child cannot check itself while a parser runs.
func (c *child) watchMemory(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(memoryCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if c.resident() > c.limits.MemoryBytes {
				cancel(c.tooMuchMemory())
			}
		}
	}
}

func (c *child) tooMuchMemory() error {
	return task.Errorf(task.DocumentTooComplex,
		"reading the document took more memory than the limit of %s; send a simpler or smaller document", size(c.limits.MemoryBytes))
}

// deathError explains why a process that this parent did not kill has died.
func (c *child) deathError() error {
	last := c.errors.String()
	for _, symptom := range []string{"out of memory", "cannot allocate", "failed to allocate", "address space collisions"} {
		if strings.Contains(last, symptom) {
			return c.tooMuchMemory()
		}
	}
	c.log.Warn("extraction process died", "status", c.cmd.ProcessState.String(), "stderr", last)
	return fmt.Errorf("%w: %s", errDied, c.cmd.ProcessState)
}

// kill ends the process. It returns at once and may be called at any time, also repeatedly.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have exited already
	_, _ = c.in.Close(), c.out.Close()
}

func (c *child) alive() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// resident returns the resident memory of the process in bytes; 0 where it cannot be measured.
func (c *child) resident() int64 { return residentBytes(c.cmd.Process.Pid) }

// tail keeps the first and the last 4 KiB written to it.
type tail struct {
	mu    sync.Mutex
	bytes []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append(t.bytes, p...)
	if len(t.bytes) > 2*most { // the head says why it crashed, the end says where
		t.bytes = append(t.bytes[:most:most], t.bytes[len(t.bytes)-most:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.bytes)
}

// size formats a number of bytes for a person.
func size(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
