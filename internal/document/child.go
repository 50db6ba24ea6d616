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

// childVariable marks a process as an extraction child; its value is the settings in JSON.
const childVariable = "LONGHAUL_EXTRACTION_CHILD"

// warmTimeout bounds the making of the PDF engine, which takes seconds on an idle machine.
const warmTimeout = 10 * time.Minute

// memoryCheck is how often the parent looks at what a busy child holds.
const memoryCheck = 50 * time.Millisecond

// errDied tells that a child ended by itself, or by somebody else's hand, before it answered.
var errDied = errors.New("the extraction process died")

// settings travel to a child in its environment.
type settings struct {
	CacheDir    string
	TextBytes   int64
	MemoryBytes int64
}

// request is what a parent asks of a child: to make the PDF engine ready, or to read a document.
type request struct {
	Warm  bool
	Input Input
}

// reply is what a child says. Any number of progress replies come before the one with Last set,
// which holds a text, or the code and detail of what is wrong with the document, or a fault.
type reply struct {
	Last        bool
	Done, Total int
	Text        Text
	Code        task.Code
	Detail      string
	Fault       string
}

// child is one extraction process, seen from its parent. It serves one request at a time.
type child struct {
	cmd      *exec.Cmd
	limits   Limits
	log      *slog.Logger
	in, out  *os.File
	requests *gob.Encoder
	replies  *gob.Decoder
	served   int
	errors   tail          // the last of what it wrote to stderr
	exited   chan struct{} // closed once it is gone and errors is complete
}

// startChild starts this binary again as an extraction child.
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
		Env: []string{ // and nothing of ours: a child has no secrets
			childVariable + "=" + string(config), "GOMAXPROCS=1", "GOTRACEBACK=single",
			"GOMEMLIMIT=" + strconv.FormatInt(options.Limits.MemoryBytes*3/4, 10),
		},
	}
	return c, c.start()
}

// start connects the pipes and runs the process. The thread that starts it stays with it: the
// kernel kills the child when that thread ends, which must not be before the process does.
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
			_ = c.cmd.Wait() // how it ended is in ProcessState
		}
	}()
	if err := <-started; err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	return nil
}

// ask sends one request and waits for its last reply. Ending ctx, the time limit or the memory
// limit kills the process. Afterwards alive tells whether it may be asked again.
func (c *child) ask(ctx context.Context, req request, progress func(done, total int)) (reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout := c.limits.Timeout
	if req.Warm {
		timeout = warmTimeout
	}
	ctx, done := context.WithTimeoutCause(ctx, timeout, task.Errorf(task.DocumentTooComplex,
		"reading it took longer than the limit of %s; send a simpler or smaller document", timeout))
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
		return reply{}, c.obituary()
	}
}

// exchange writes a request and reads replies up to the last.
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

// orError turns a reply about a failure into an error.
func (r reply) orError() (reply, error) {
	switch {
	case r.Code != "":
		return reply{}, task.Errorf(r.Code, "%s", r.Detail)
	case r.Fault != "":
		return reply{}, fmt.Errorf("read the document: %s", r.Fault)
	}
	return r, nil
}

// watchMemory cancels a document whose child holds more than it may. The kernel's limit on address
// space cannot be that exact, and nothing inside a child runs while a parser does.
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
		"reading it took more memory than the limit of %s; send a simpler or smaller document", size(c.limits.MemoryBytes))
}

// obituary says why a process that nobody here killed is gone.
func (c *child) obituary() error {
	last := c.errors.String()
	for _, words := range []string{"out of memory", "cannot allocate", "failed to allocate", "address space collisions"} {
		if strings.Contains(last, words) {
			return c.tooMuchMemory()
		}
	}
	c.log.Warn("an extraction process died", "status", c.cmd.ProcessState.String(), "stderr", last)
	return fmt.Errorf("%w: %s", errDied, c.cmd.ProcessState)
}

// kill ends the process. It returns at once and may be called at any time, more than once.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may be gone already
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

// resident is the memory the process holds, in bytes; 0 where that cannot be known.
func (c *child) resident() int64 { return residentBytes(c.cmd.Process.Pid) }

// tail keeps the last few thousand bytes written to it.
type tail struct {
	mu    sync.Mutex
	bytes []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append(t.bytes, p...)
	if len(t.bytes) > 2*most { // the head tells why, the end where
		t.bytes = append(t.bytes[:most:most], t.bytes[len(t.bytes)-most:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.bytes)
}

// size writes a number of bytes for a person.
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
