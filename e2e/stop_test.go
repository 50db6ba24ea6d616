package e2e

import (
	"io"
	"net/http"
	"slices"
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

// One of two workers is replaced five times during twenty long calls. Each exits in time, the other worker takes over its
// calls, no attempt is used up, and only interrupted calls are repeated.
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
		require.Less(t, time.Since(asked), grace+5*time.Second, "the worker exits in time")
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
	require.Less(t, gap, 30*time.Second, "interrupted calls move to the other worker")
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
	select {
	case <-s.worker.end:
	case <-time.After(10 * time.Second):
		t.Fatal("the worker still waits after the second signal")
	}
}

// On SIGTERM the API exits with status 0 at once despite fifty streams and fifty long polls. An API that waits for an
// upload exits at the second signal.
func TestStopAPI_endsStreamsAndLongPolls(t *testing.T) {
	s := newStack(t)
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(llmtest.Forever) })
	id := s.submit(notes(1))
	ctx := s.soon()
	polls := make(chan int, 50)
	for range 50 {
		go s.listenOn(ctx, id, &rawStream{})
		go func() {
			status, _ := s.get("/v1/tasks/" + id + "?wait=60s&after_revision=1000000")
			polls <- status
		}()
	}
	time.Sleep(time.Second)
	began := time.Now()
	require.NoError(t, s.api.cmd.Process.Signal(syscall.SIGTERM))
	<-s.api.end
	took := time.Since(began)
	require.Zero(t, s.api.cmd.ProcessState.ExitCode())
	for range 50 {
		require.Equal(t, http.StatusOK, <-polls)
	}
	require.Less(t, took, 15*time.Second)
	t.Logf("stopped after %s", took)

	s.api = s.start("api")
	s.waitReady()
	out, in := io.Pipe()
	defer func() { _ = in.Close() }()
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/v1/files?name=a.txt", out)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	_, err := in.Write([]byte("half"))
	require.NoError(t, err)
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, s.api.cmd.Process.Signal(syscall.SIGTERM))
	time.Sleep(300 * time.Millisecond)
	again := time.Now()
	require.NoError(t, s.api.cmd.Process.Signal(syscall.SIGTERM))
	<-s.api.end
	require.Less(t, time.Since(again), 10*time.Second)
}
