package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// Tasks can be created, read, listed, awaited and cancelled without any worker.
func TestNoWorker_tasksCanBeManaged(t *testing.T) {
	s := newStack(t)
	s.worker.kill()
	id := s.submit(notes(2))

	var got task.Task
	status, body := s.get("/v1/tasks/" + id)
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Equal(t, task.Pending, got.Status)
	require.Eventually(t, func() bool { _, list := s.get("/v1/tasks"); return strings.Contains(list, id) }, 30*time.Second, 20*time.Millisecond)
	status, _ = s.get(fmt.Sprintf("/v1/tasks/%s?wait=1s&after_revision=%d", id, got.Revision))
	require.Equal(t, http.StatusOK, status)

	changed := make(chan string, 1)
	go func() {
		_, body := s.get(fmt.Sprintf("/v1/tasks/%s?wait=30s&after_revision=%d", id, got.Revision))
		changed <- body
	}()
	status, body = s.post("/v1/tasks/"+id+"/cancel", "")
	require.Equal(t, http.StatusAccepted, status)
	require.Contains(t, body, `"cancelling"`)
	select {
	case body := <-changed:
		require.Contains(t, body, `"cancelling"`, "a long poll returns on a cancel")
	case <-time.After(30 * time.Second):
		t.Fatal("the long poll did not return")
	}
	s.worker = s.start("worker")
	done := s.finish(id)
	require.Equal(t, task.Cancelled, done.Status)
	require.Equal(t, task.None, done.Outcome)
	require.Zero(t, s.provider.Counts().Total)
}

// Task, metrics and readiness report a missing worker, and a worker that is cut off from Temporal. Work continues by
// itself when the connection is back.
func TestNoWorker_isReported(t *testing.T) {
	s := newStack(t)
	s.worker.kill()
	s.killTemporal()
	id := s.submit(notes(3))
	s.waitTask(id, func(now task.Task) bool { return now.Waiting != nil && now.Waiting.Reason == task.WaitWorker }, "the task reports no_worker")
	require.Eventually(t, func() bool {
		_, numbers := s.get("/metrics")
		return strings.Contains(numbers, `longhaul_queue_backlog{queue="longhaul-workflows"} 1`) &&
			!strings.Contains(numbers, `longhaul_queue_oldest_seconds{queue="longhaul-workflows"} 0`+"\n")
	}, 30*time.Second, 200*time.Millisecond, "the metrics report the age of the queue")

	w, health := newTCPProxy(t, s.temporal.Address), freeAddress(t)
	s.settings = append(s.settings, "TEMPORAL_ADDRESS="+w.address)
	s.start("worker", "--worker-listen", health)
	is := func(path string, status int) func() bool {
		return func() bool { got, _ := httpGet(t, "http://"+health+path); return got == status }
	}
	require.Eventually(t, is("/readyz", http.StatusOK), time.Minute, 100*time.Millisecond)
	require.Equal(t, task.Full, s.finish(id).Outcome)

	w.disconnect()
	require.Eventually(t, is("/readyz", http.StatusServiceUnavailable), time.Minute, 100*time.Millisecond)
	_, why := httpGet(t, "http://"+health+"/readyz")
	require.Contains(t, why, "Temporal cannot be reached")
	id = s.submit(notes(2))
	time.Sleep(3 * time.Second)
	w.reconnect(t)
	require.Eventually(t, is("/readyz", http.StatusOK), time.Minute, 100*time.Millisecond, "the worker reconnects")
	require.Equal(t, task.Full, s.finish(id).Outcome)
}

// tcpProxy is a proxy to Temporal that a test can disconnect.
type tcpProxy struct {
	address, to string
	mu          sync.Mutex
	listener    net.Listener
	open        map[net.Conn]bool
}

func newTCPProxy(t testing.TB, to string) *tcpProxy {
	w := &tcpProxy{to: to, address: freeAddress(t), open: map[net.Conn]bool{}}
	w.reconnect(t)
	t.Cleanup(w.disconnect)
	return w
}

func (w *tcpProxy) reconnect(t testing.TB) {
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

func (w *tcpProxy) disconnect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.listener.Close()
	for conn := range w.open {
		_ = conn.Close()
	}
	clear(w.open)
}
