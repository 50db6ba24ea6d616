package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// wire is a way to Temporal that can be cut.
type wire struct {
	address, to string
	mu          sync.Mutex
	listener    net.Listener
	open        map[net.Conn]bool
}

func newWire(t testing.TB, to string) *wire {
	w := &wire{to: to, address: freeAddress(t), open: map[net.Conn]bool{}}
	w.mend(t)
	t.Cleanup(w.cut)
	return w
}

func (w *wire) mend(t testing.TB) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", w.address)
	require.NoError(t, err)
	w.mu.Lock()
	w.listener = listener
	w.mu.Unlock()
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", w.to)
			if err != nil {
				_ = near.Close()
				continue
			}
			w.mu.Lock()
			w.open[near], w.open[far] = true, true
			w.mu.Unlock()
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
			go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
		}
	}()
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.listener.Close()
	for conn := range w.open {
		_ = conn.Close()
	}
	clear(w.open)
}

// killTemporal is kill -9 of the server; whoever watches over it starts it again, and it has forgotten who asks for work.
func (s *stack) killTemporal() {
	text, err := os.ReadFile(filepath.Join(s.temporal.Data, "LOCK"))
	require.NoError(s.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(s.t, err)
	require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(s.t, func() bool {
		text, err := os.ReadFile(filepath.Join(s.temporal.Data, "LOCK"))
		now, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && now != 0 && now != pid
	}, time.Minute, 20*time.Millisecond)
	c := s.cluster()
	defer c.Close()
	require.NoError(s.t, c.Wait(s.soon()))
}

// ask gets what another address than the API's says; status 0 means that nobody answered.
func ask(t testing.TB, url string) (int, string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// look reads a task until it is as wanted.
func (s *stack) look(id string, wanted func(task.Task) bool, what string) (t task.Task) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		now, err := s.client.Get(s.t.Context(), id)
		if err == nil {
			t = now
		}
		return err == nil && wanted(now)
	}, 90*time.Second, 100*time.Millisecond, what)
	return t
}

// Nobody works, and everybody can see it: the task, the numbers, the worker that is cut off from Temporal. When the wire is
// mended work goes on by itself.
func TestOB02_nobodyWorks(t *testing.T) {
	s := newStack(t)
	s.worker.kill()
	s.killTemporal()
	id := s.submit(notes(3))
	s.look(id, func(now task.Task) bool { return now.Waiting != nil && now.Waiting.Reason == task.WaitWorker }, "no_worker is not told")
	require.Eventually(t, func() bool {
		_, numbers := s.get("/metrics")
		return strings.Contains(numbers, `longhaul_queue_backlog{queue="longhaul-workflows"} 1`) &&
			!strings.Contains(numbers, `longhaul_queue_oldest_seconds{queue="longhaul-workflows"} 0`+"\n")
	}, 30*time.Second, 200*time.Millisecond, "the age of the queue is not told")

	w, health := newWire(t, s.temporal.Address), freeAddress(t)
	s.settings = append(s.settings, "TEMPORAL_ADDRESS="+w.address)
	s.start("worker", "--worker-listen", health)
	is := func(path string, status int) func() bool {
		return func() bool { got, _ := ask(t, "http://"+health+path); return got == status }
	}
	require.Eventually(t, is("/readyz", http.StatusOK), time.Minute, 100*time.Millisecond)
	require.Equal(t, task.Full, s.finish(id).Outcome)

	w.cut()
	require.Eventually(t, is("/readyz", http.StatusServiceUnavailable), time.Minute, 100*time.Millisecond)
	_, why := ask(t, "http://"+health+"/readyz")
	require.Contains(t, why, "Temporal cannot be reached")
	id = s.submit(notes(2))
	time.Sleep(3 * time.Second)
	w.mend(t)
	require.Eventually(t, is("/readyz", http.StatusOK), time.Minute, 100*time.Millisecond, "it does not recover")
	require.Equal(t, task.Full, s.finish(id).Outcome)
}

// What stands, who works, and how tasks fare; and the numbers of API and worker.
func TestSystem(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_STOP_TIMEOUT=1s")
	health := freeAddress(t)
	second := s.start("worker", "--worker-listen", health)
	s.provider.On("[doc-000]", llmtest.Reply{Delay: 4 * time.Second})
	s.provider.On("[doc-001]", llmtest.Fail(http.StatusPaymentRequired, `{"error":{"message":"sk-test-secret-marker has no money","code":"insufficient_quota"}}`))
	require.Equal(t, task.Succeeded, s.finish(s.submit(notes(1))).Status)
	require.Equal(t, task.Failed, s.finish(s.begin("summary", task.SummaryInput{Documents: notes(2).Documents[1:]}, nil)).Status)

	var sys task.System
	read := func() bool {
		_, text := s.get("/v1/system")
		sys = task.System{}
		require.NotContains(t, text, "sk-test-secret-marker")
		return json.Unmarshal([]byte(text), &sys) == nil
	}
	require.Eventually(t, func() bool {
		closed := read() && len(sys.Lanes) == 2 && !sys.Lanes[0].Open
		return closed && len(sys.Workers) == 2 && sys.Workers[0].Free != nil
	}, time.Minute, 300*time.Millisecond, "%+v", &sys)
	require.Equal(t, string(task.ModelQuota), sys.Lanes[0].Why)
	require.Equal(t, 100, sys.Lanes[0].Limit, "two workers of fifty")
	require.Equal(t, task.LaneState{Provider: "video/simulated", Open: true, Limit: 40}, sys.Lanes[1])
	require.Len(t, sys.Workers[0].Queues, 6)
	require.Len(t, sys.Queues, 6)
	require.Eventually(t, func() bool { // lists lag a little
		i := 0
		for ; read() && i < len(sys.Kinds) && sys.Kinds[i].Kind != "summary"; i++ {
		}
		return i < len(sys.Kinds) && sys.Kinds[i].Succeeded == 1 && sys.Kinds[i].Failed == 1 && *sys.Kinds[i].P50 >= 4
	}, 30*time.Second, 300*time.Millisecond, "%+v", &sys)
	require.InDelta(t, 0.4, sys.Throughput.PerMinute, 0.01)
	require.InDelta(t, 0.2, sys.Throughput.FailedPerMinute, 0.01)
	require.Equal(t, 1, sys.Dead.Open)
	require.InDelta(t, 0.2, sys.Dead.PerMinute, 0.01)

	_, numbers := s.get("/metrics")
	require.Contains(t, numbers, `longhaul_http_requests_total{method="GET",route="/v1/system",status="200"}`)
	_, more := ask(t, "http://"+health+"/metrics")
	for _, want := range []string{"temporal_num_pollers", "longhaul_lane_limit{provider=", `longhaul_lane_limit{provider="video/simulated"} 20`, "temporal_worker_task_slots_available"} {
		require.Contains(t, more, want)
	}
	require.NotContains(t, numbers+more, "sk-test-secret-marker")

	require.NoError(t, second.cmd.Process.Signal(syscall.SIGTERM))
	<-second.end
	require.Eventually(t, func() bool { return read() && len(sys.Workers) == 1 && sys.Lanes[0].Limit == 50 }, 30*time.Second, 300*time.Millisecond,
		"a worker that stopped in order is gone at once")
}

// A model that says nothing for long: the task says that it stalled, and on what.
func TestStalledTask(t *testing.T) {
	s := newStack(t, "LONGHAUL_API_STALLED_AFTER=3s")
	s.provider.On("[doc-000]", llmtest.Reply{End: llmtest.Silence}, llmtest.Reply{})
	id := s.submit(notes(1))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	now := s.look(id, func(now task.Task) bool { return now.Stalled != nil }, "it does not say that it stalled")
	require.Contains(t, now.Stalled.Detail, "attempt 1, runs on worker")
	require.WithinDuration(t, s.provider.Calls()[0].Began, now.Stalled.Since, 10*time.Second)
	_, err := s.client.Cancel(s.soon(), id)
	require.NoError(t, err)
	require.Nil(t, s.finish(id).Stalled)
}

// Code that cannot continue a task does not hide it: the task says that it is blocked, a number counts it, and the right build
// goes on where the task was.
func TestDP01_blockedTaskSaysSo(t *testing.T) {
	s := newStack(t)
	s.provider.On("[doc-000]", llmtest.Reply{Delay: 3 * time.Second})
	id := s.submit(notes(1))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	s.worker.kill()

	c := s.cluster()
	defer c.Close()
	other := worker.New(c.Client, record.QueueWorkflows, worker.Options{})
	for _, kind := range workflows.Kinds() {
		other.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ record.Start[struct{}]) error {
			return workflow.Sleep(ctx, time.Hour)
		}, workflow.RegisterOptions{Name: kind.Name})
	}
	require.NoError(t, other.Start())
	_, err := s.client.Cancel(s.soon(), id) // something that must be decided on
	require.NoError(t, err)
	now := s.look(id, func(now task.Task) bool { return now.Waiting != nil && now.Waiting.Reason == task.WaitBlocked }, "it does not say that it is blocked")
	require.Contains(t, now.Waiting.Detail, "Deploy a build that can continue it")
	require.Eventually(t, func() bool {
		_, numbers := s.get("/metrics")
		return strings.Contains(numbers, "longhaul_tasks_blocked 1\n")
	}, 90*time.Second, time.Second, "it is not counted")
	other.Stop()
	s.worker = s.start("worker")
	require.Equal(t, task.Cancelled, s.finish(id).Status)
}
