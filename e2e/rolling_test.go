package e2e

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// One of two workers is replaced five times in a row while twenty long calls are made. Each exits within its time, what it had in
// hand is with the other at once, no attempt is used up, and no call is made again but those that were cut off.
func TestStopWorker_rollingRestarts(t *testing.T) {
	const grace = 2 * time.Second
	s := newStack(t, "LONGHAUL_WORKER_STOP_TIMEOUT="+grace.String(), "LONGHAUL_LLM_MAX_ATTEMPTS=1", "LONGHAUL_WORKER_LLM_CONCURRENCY=20")
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: 25 * time.Second} })
	two := []*process{s.worker, s.start("worker")}
	in := notes(20)
	for i := range in.Documents {
		in.Documents[i].Text += "\n\n" + story(500) // too long to share a call
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
		require.Less(t, time.Since(asked), grace+5*time.Second, "it does not exit in its time")
		require.Equal(t, 0, old.cmd.ProcessState.ExitCode())
		two[round%2] = s.start("worker")
		time.Sleep(time.Second)
	}
	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome, "%v", done.Error)
	cut, gap := interrupted(s.provider.Calls())
	require.LessOrEqual(t, s.provider.Counts().Total, 20+cut)
	require.NotZero(t, cut, "nothing was interrupted: the test shows nothing")
	for _, item := range s.everyItem(id) {
		require.Equal(t, task.ItemSucceeded, item.Status)
	}
	t.Logf("%d calls, %d cut off, on again after %s at the most; slowest exit %s", s.provider.Counts().Total, cut, gap.Round(time.Millisecond), slowest.Round(time.Millisecond))
	require.Less(t, gap, 30*time.Second, "work was bound to a worker that had stopped")
}

// interrupted counts the calls that were cut off, and finds the longest time until one was made again.
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

// Who signals twice does not want to wait.
func TestStopWorker_secondSignal(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_STOP_TIMEOUT=1m")
	s.provider.On("[doc-000]", llmtest.Reply{End: llmtest.Silence})
	s.submit(notes(1))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	require.NoError(t, s.worker.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.worker.end:
		t.Fatal("it did not wait for the call")
	case <-time.After(2 * time.Second):
	}
	require.NoError(t, s.worker.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.worker.end:
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on waiting")
	}
}
