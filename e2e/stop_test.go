package e2e

import (
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// A worker that is stopped with SIGTERM hands its calls over, and they are not reported as lost.
func TestStopWorker_handsCallsOver(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_STOP_TIMEOUT=1s")
	s.provider.On("[doc-000]", llmtest.Reply{End: llmtest.Silence}, llmtest.Reply{End: llmtest.Silence}, llmtest.Reply{})
	id := s.submit(notes(1))
	for stop := 1; stop <= 2; stop++ {
		require.NoError(t, s.provider.WaitFor(s.soon(), stop))
		require.NoError(t, s.worker.cmd.Process.Signal(syscall.SIGTERM))
		<-s.worker.end
		require.NoError(t, s.provider.WaitGone(s.soon(), stop))
		require.Equal(t, record.Heartbeat{
			Stage: "summarising note-0", Call: record.CallState{Calls: stop, Wasted: task.Usage{UnmeteredCalls: int64(stop)}},
		}, s.beat(record.GroupID(id, 0)))
		s.worker = s.start("worker")
	}
	require.Equal(t, task.Full, s.finish(id).Outcome)
	require.Equal(t, 3, s.provider.Counts().Total)
}

// One of two workers is replaced five times during twenty long calls. Each interrupts its calls after the stop timeout, the
// other worker takes them over, no attempt is used up, and only interrupted calls are repeated.
func TestStopWorker_rollingRestarts(t *testing.T) {
	const grace = 2 * time.Second
	s := newStack(t, "LONGHAUL_WORKER_STOP_TIMEOUT="+grace.String(), "LONGHAUL_LLM_MAX_ATTEMPTS=1", "LONGHAUL_WORKER_LLM_CONCURRENCY=20")
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: 25 * time.Second} })
	two := []*process{s.worker, s.start("worker")}
	in := notes(20)
	for i := range in.Documents {
		in.Documents[i].Text += "\n\n" + story(500) // too long for a shared call
	}
	id := s.submit(in)
	require.NoError(t, s.provider.WaitFor(s.soon(), 20))
	var slowest time.Duration
	for round := range 5 {
		old := two[round%2]
		asked := time.Now()
		require.NoError(t, old.cmd.Process.Signal(syscall.SIGTERM))
		<-old.end
		slowest = max(slowest, time.Since(asked))
		require.Equal(t, 0, old.cmd.ProcessState.ExitCode())
		two[round%2] = s.start("worker")
		time.Sleep(time.Second)
	}
	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome, "%v", done.Error)
	cut, gap := interrupted(s.provider.Calls())
	require.LessOrEqual(t, s.provider.Counts().Total, 20+cut)
	require.NotZero(t, cut, "no call was interrupted, so the test proves nothing")
	for _, item := range s.everyItem(id) {
		require.Equal(t, task.ItemSucceeded, item.Status)
	}
	t.Logf("%d calls, %d interrupted, repeated after %s at most; slowest exit %s", s.provider.Counts().Total, cut, gap.Round(time.Millisecond), slowest.Round(time.Millisecond))
}

// interrupted returns the number of calls whose client disconnected, and the longest time until such a call was repeated.
func interrupted(calls []llmtest.Call) (cut int, gap time.Duration) {
	for i, call := range calls {
		if !call.Gone {
			continue
		}
		cut++
		next := slices.IndexFunc(calls[i+1:], func(c llmtest.Call) bool { return c.Hash == call.Hash })
		if next >= 0 {
			gap = max(gap, calls[i+1+next].Began.Sub(call.Ended))
		}
	}
	return cut, gap
}

// A worker that waits for its calls exits at the second SIGTERM.
func TestStopWorker_secondSignal(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_STOP_TIMEOUT=1m")
	s.provider.On("[doc-000]", llmtest.Reply{End: llmtest.Silence})
	s.submit(notes(1))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	require.NoError(t, s.worker.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.worker.end:
		t.Fatal("the worker did not wait for its call")
	case <-time.After(2 * time.Second):
	}
	require.NoError(t, s.worker.cmd.Process.Signal(syscall.SIGTERM))
	<-s.worker.end
	require.Equal(t, -1, s.worker.cmd.ProcessState.ExitCode(), "the second signal ends the worker")
}

// On SIGTERM the API exits with status 0 at once despite fifty streams and fifty long polls. An API that waits for an
// upload exits at the second signal.
func TestStopAPI_endsStreamsAndLongPolls(t *testing.T) {
	s := newStack(t)
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(llmtest.Forever) })
	id := s.submit(notes(1))
	ctx := s.soon()
	polls := make(chan int, 50)
	http.DefaultClient.CloseIdleConnections()
	before := s.openFiles()
	for range 50 {
		go s.listenOn(ctx, id, &rawStream{})
		go func() {
			status, _ := s.get("/v1/tasks/" + id + "?wait=60s&after_revision=1000000")
			polls <- status
		}()
	}
	s.waitOpenFiles(before + 99) // a request reuses the connection that counted the files
	began := time.Now()
	require.NoError(t, s.api.cmd.Process.Signal(syscall.SIGTERM))
	<-s.api.end
	t.Logf("stopped after %s", time.Since(began))
	require.Zero(t, s.api.cmd.ProcessState.ExitCode())
	for range 50 {
		require.Equal(t, http.StatusOK, <-polls)
	}
	log, err := os.ReadFile(s.api.log)
	require.NoError(t, err)
	require.NotContains(t, string(log), "requests were cut off", "the stop waits for no stream")

	s.api = s.start("api")
	s.waitReady()
	before = s.openFiles()
	out, in := io.Pipe()
	defer func() { _ = in.Close() }()
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/v1/files?name=a.txt", out)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	_, err = in.Write([]byte("half"))
	require.NoError(t, err)
	s.waitOpenFiles(before + 1)
	require.NoError(t, s.api.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, time.Minute, 10*time.Millisecond, "the API stops listening at the first signal")
	require.Eventually(t, func() bool {
		_ = s.api.cmd.Process.Signal(syscall.SIGTERM) // repeated, because the API may handle the first one still
		select {
		case <-s.api.end:
			return true
		default:
			return false
		}
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, -1, s.api.cmd.ProcessState.ExitCode(), "the second signal ends the API")
}

// openFiles returns the number of files and connections that the API has open.
func (s *stack) openFiles() int {
	s.t.Helper()
	_, numbers := s.get("/metrics")
	found := regexp.MustCompile(`(?m)^process_open_fds (\d+)`).FindStringSubmatch(numbers)
	require.NotNil(s.t, found, "the API reports its open files on Linux only")
	n, err := strconv.Atoi(found[1])
	require.NoError(s.t, err)
	return n
}

// waitOpenFiles waits until the API has so many files and connections open.
func (s *stack) waitOpenFiles(n int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.openFiles() >= n }, time.Minute, 50*time.Millisecond, "the API accepts the connections")
}
