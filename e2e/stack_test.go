package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"longhaul/client"
	"longhaul/internal/cluster"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
)

// programs builds the real programs, once for all tests, and gives their folder and Temporal's path.
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

var kills = flag.Int("kills", 4, "how often tests that kill workers at random moments do so")

// stack is a whole longhaul of real processes over a scripted provider: a Temporal of its own, API
// and worker. The provider lives in the test, so it sees what a killed process did.
type stack struct {
	t        testing.TB
	dir      string
	programs string // folder of worker and API
	address  string // of the API
	temporal *localtemporal.Server
	provider *llmtest.Provider
	worker   *process
	api      *process
	client   *client.Client
	settings []string // LONGHAUL_* of worker and API
}

// newStack starts everything. Settings are LONGHAUL_NAME=value.
func newStack(t testing.TB, settings ...string) *stack {
	t.Helper()
	return newStackOn(t, localtemporal.Options{}, settings...)
}

// newStackOn is newStack with a Temporal that is set up in another way.
func newStackOn(t testing.TB, opts localtemporal.Options, settings ...string) *stack {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		test.Parallel() // most of their time goes by in waiting
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

// freeAddress is an address on this machine for a process to listen on. Its port is none that the system hands out by
// itself (from 32768), or somebody else would have it before the process starts; none is given twice.
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

var addresses sync.Map // given by freeAddress

func (s *stack) waitReady() {
	require.Eventually(s.t, func() bool {
		status, _ := s.get("/readyz")
		return status == http.StatusOK
	}, time.Minute, 50*time.Millisecond, "the API is not ready")
}

// process is one of our programs at work.
type process struct {
	cmd *exec.Cmd
	log string // path of what it printed
	end chan struct{}
}

// start starts a program with the settings of the stack.
func (s *stack) start(name string, args ...string) *process {
	s.t.Helper()
	return s.startFile(filepath.Join(s.programs, name), args...)
}

// startFile is start for a program that was not built here.
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

// kill is kill -9, and waits for the end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.end
}

func tail(text string, most int) string { return text[max(len(text)-most, 0):] }

// submit starts a summary task and gives its id.
func (s *stack) submit(in task.SummaryInput) string { return s.begin("summary", in, nil) }

// begin starts a task of a kind, with more to it than its input or nil, and gives its id.
func (s *stack) begin(kind string, input any, more map[string]any) string {
	s.t.Helper()
	order := map[string]any{"kind": kind, "input": input}
	maps.Copy(order, more)
	body, err := json.Marshal(order)
	require.NoError(s.t, err)
	status, answer := s.post("/v1/tasks", string(body))
	require.Equal(s.t, http.StatusAccepted, status, answer)
	var t task.Task
	require.NoError(s.t, json.Unmarshal([]byte(answer), &t))
	return t.ID
}

// describe is what Temporal tells of a workflow.
func (s *stack) describe(id string) (*sdk.WorkflowExecutionDescription, error) {
	c := s.cluster()
	defer c.Close()
	return c.Client.DescribeWorkflow(s.t.Context(), id, "")
}

// cluster is a connection to the Temporal of the stack. The caller closes it.
func (s *stack) cluster() *cluster.Connection {
	c, err := cluster.Connect(cluster.Options{Address: s.temporal.Address})
	require.NoError(s.t, err)
	return c
}

// soon is a context for what must happen within a minute.
func (s *stack) soon() context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	s.t.Cleanup(cancel)
	return ctx
}

// finish waits for a task to end.
func (s *stack) finish(id string) task.Task {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*time.Minute)
	defer cancel()
	done, err := s.client.Watch(ctx, id, func(task.Task) {})
	require.NoError(s.t, err)
	return done
}

// everyItem reads all items of a task.
func (s *stack) everyItem(id string) []task.Item {
	s.t.Helper()
	items, err := s.client.Items(s.soon(), id, "")
	require.NoError(s.t, err)
	return items
}

func (s *stack) get(path string) (int, string) { return s.request(http.MethodGet, path, "") }

func (s *stack) post(path, body string, headers ...string) (int, string) {
	return s.request(http.MethodPost, path, body, headers...)
}

// request makes one request; status 0 means that nobody answered.
func (s *stack) request(method, path, body string, headers ...string) (int, string) {
	status, answer, _ := s.exchange(method, path, body, headers...)
	return status, answer
}

// exchange is request, with the headers of the answer.
func (s *stack) exchange(method, path, body string, headers ...string) (int, string, http.Header) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.address+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return answer.StatusCode, string(data), answer.Header
}

// taskID reads the id of a task out of an answer.
func taskID(t testing.TB, answer string) string {
	t.Helper()
	var got task.Task
	require.NoError(t, json.Unmarshal([]byte(answer), &got), answer)
	return got.ID
}

// notes makes n short documents with a marker each: [doc-000] and so on.
func notes(n int) task.SummaryInput {
	in := task.SummaryInput{}
	for i := range n {
		in.Documents = append(in.Documents, task.Document{
			Name: fmt.Sprintf("note-%d", i), Text: fmt.Sprintf("Report [doc-%03d]. The bridge was inspected and found sound.", i),
		})
	}
	return in
}

// story makes a text of about so many words, without two paragraphs alike.
func story(words int) string {
	var b strings.Builder
	for i := 0; i < words; i += 22 {
		fmt.Fprintf(&b, "On day %d the keeper climbed the stairs at dusk, counted %d ships upon the water, and lit the lamp above the sea.\n\n", i, i*7%13)
	}
	return b.String()
}
