package e2e

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/client"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
)

// programs builds the programs once for all tests. It returns their folder and the path of the Temporal program.
var programs = sync.OnceValues(func() (dir, temporal string) {
	temporal, err := localtemporal.FindProgram(context.Background(), "", ".", os.Stderr)
	if err != nil {
		panic(fmt.Errorf("build Temporal: %w", err))
	}
	dir = filepath.Join(filepath.Dir(temporal), "e2e")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", dir+"/", "./worker", "./api", "./dev", "./starter")
	build.Dir, build.Stderr = "..", os.Stderr
	if err := build.Run(); err != nil {
		panic(fmt.Errorf("build the programs: %w", err))
	}
	return dir, temporal
})

var kills = flag.Int("kills", 4, "number of kills in tests that kill workers at random moments")

// stack is a whole longhaul of real processes: a Temporal of its own, API and worker. The scripted provider lives in the
// test process and so knows what a killed process did.
type stack struct {
	t        testing.TB
	dir      string
	programs string // folder of worker and API
	address  string // where the API listens
	temporal *localtemporal.Server
	provider *llmtest.Provider
	worker   *process
	api      *process
	client   *client.Client
	settings []string // LONGHAUL_* of worker and API
}

// newStack starts a stack. Settings have the form LONGHAUL_NAME=value.
func newStack(t testing.TB, settings ...string) *stack {
	t.Helper()
	return newStackOn(t, localtemporal.Options{}, settings...)
}

// newStackOn starts a stack on a Temporal with other options.
func newStackOn(t testing.TB, opts localtemporal.Options, settings ...string) *stack {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		test.Parallel() // tests spend most of their time waiting
	}
	folder := filepath.Dir(opts.Program)
	if opts.Program == "" {
		folder, opts.Program = programs()
	}
	provider, err := llmtest.Start("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(provider.Close)
	s := &stack{t: t, dir: t.TempDir(), programs: folder, provider: provider, address: freeAddress(t)}
	if opts.Data == "" {
		opts.Data = filepath.Join(s.dir, "temporal")
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s.temporal, err = localtemporal.Start(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(s.temporal.Stop)
	s.settings = append([]string{
		"TEMPORAL_ADDRESS=" + s.temporal.Address, "LONGHAUL_DATA_DIR=" + s.dir, "LONGHAUL_API_LISTEN=" + s.address,
		"LONGHAUL_LLM_BASE_URL=" + provider.URL(), "LONGHAUL_LLM_KEY=sk-test-secret-marker", "LONGHAUL_LOG_LEVEL=warn",
	}, settings...)
	s.api = s.start("api")
	s.worker = s.start("worker")
	s.client, err = client.New("http://"+s.address, "")
	require.NoError(t, err)
	s.waitReady()
	return s
}

// freeAddress returns a local address for a process to listen on, each only once. Its port is below 32768, because
// another process could get a higher one from the system before the process listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000))
		if _, given := addresses.LoadOrStore(address, true); given {
			continue
		}
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}

var addresses sync.Map // all addresses that freeAddress returned

func (s *stack) waitReady() {
	require.Eventually(s.t, func() bool {
		status, _ := s.get("/readyz")
		return status == http.StatusOK
	}, time.Minute, 50*time.Millisecond, "the API is not ready")
}

// process is a running program.
type process struct {
	cmd *exec.Cmd
	log string // path of its output
	end chan struct{}
}

// start starts a program with the settings of the stack.
func (s *stack) start(name string, args ...string) *process {
	s.t.Helper()
	return s.startFile(filepath.Join(s.programs, name), args...)
}

// startFile starts the program at path with the settings of the stack.
func (s *stack) startFile(path string, args ...string) *process {
	s.t.Helper()
	name := filepath.Base(path)
	log, err := os.CreateTemp(s.dir, name+"-*.log")
	require.NoError(s.t, err)
	p := &process{cmd: exec.CommandContext(s.t.Context(), path, args...), log: log.Name(), end: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), s.settings...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = s.dir, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(s.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		_ = log.Close()
		close(p.end)
	}()
	s.t.Cleanup(func() {
		p.kill()
		if s.t.Failed() {
			text, _ := os.ReadFile(p.log)
			s.t.Logf("log of %s:\n%s", name, tail(string(text), 4000))
		}
	})
	return p
}

// kill sends SIGKILL and waits for the exit.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails if it has exited
	<-p.end
}

func tail(text string, most int) string { return text[max(len(text)-most, 0):] }

// soon returns a context for what must happen within a minute.
func (s *stack) soon() context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	s.t.Cleanup(cancel)
	return ctx
}
