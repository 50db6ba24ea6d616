package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// A worker that is killed during a batch costs its calls in flight and nothing else.
func TestKillWorker_repeatsOnlyCallsInFlight(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=4")
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: 300 * time.Millisecond} })
	in := notes(29)
	in.Documents = append(in.Documents, task.Document{Name: "long", Text: story(12000)})
	id := s.submit(in)
	require.NoError(t, s.provider.WaitFor(s.soon(), 12))
	killed := time.Now()
	s.worker.kill()
	s.worker = s.start("worker")

	done := s.finish(id)
	t.Logf("done %.2f s after the kill: %.2f", done.FinishedAt.Sub(killed).Seconds(), time.Since(killed).Seconds())
	require.Equal(t, task.Succeeded, done.Status)
	require.Equal(t, task.Full, done.Outcome)
	require.Equal(t, 30, done.Progress.Counts.Succeeded)
	repeated := 0
	for prompt, n := range s.provider.Repeats() {
		require.Equal(t, 2, n, "prompt %s", prompt)
		repeated++
	}
	require.LessOrEqual(t, repeated, 4, "only calls in flight at the kill are repeated")
	answered := map[string]int{}
	for _, call := range s.provider.Calls() {
		if call.Status == http.StatusOK && !call.Gone {
			answered[call.Hash]++
		}
	}
	twice := 0
	for _, n := range answered {
		if n > 1 {
			twice++
		}
	}
	t.Logf("%d calls, %d repeated, %d of them after an answer", s.provider.Counts().Total, repeated, twice)
	require.LessOrEqual(t, twice, 4, "only answers that arrive at the kill may be unrecorded")
}

// A worker is killed before the first call, during a call, and after the last; each task ends by itself.
func TestKillWorker_atEveryStage(t *testing.T) {
	s := newStack(t)
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(500 * time.Millisecond) })
	stages := map[string]func(){
		"before the first call": func() {},
		"in the middle of one":  func() { require.NoError(t, s.provider.WaitFor(s.soon(), 1)) },
		"after the last": func() {
			require.NoError(t, s.provider.Wait(s.soon(), func(c llmtest.Counts) bool { return c.Answered == 3 }))
		},
	}
	for name, stage := range stages {
		s.provider.Reset()
		id := s.submit(notes(3))
		stage()
		s.worker.kill()
		s.worker = s.start("worker")
		done := s.finish(id)
		require.Equal(t, task.Full, done.Outcome, name)
		require.LessOrEqual(t, s.provider.Counts().Total, 6, name)
		_, err := s.client.Cancel(s.soon(), id)
		require.NoError(t, err, "nothing is left to cancel")
	}
}

// A killed worker does not hold its slot: with one call at a time, the next task gets its turn.
func TestKillWorker_freesItsSlot(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=1", "LONGHAUL_LLM_REQUESTS_PER_MINUTE=600")
	s.provider.On("[doc-000]", llmtest.Reply{}.After(llmtest.Forever), llmtest.Reply{})
	first := s.submit(notes(1))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	s.worker.kill()
	s.worker = s.start("worker")
	second := s.submit(task.SummaryInput{Documents: []task.Document{{Text: "Another note."}}})
	require.Equal(t, task.Full, s.finish(second).Outcome)
	require.Equal(t, task.Full, s.finish(first).Outcome)
	require.Equal(t, 3, s.provider.Counts().Total)
}

// A task continues while the API is dead, and the next API process reports it.
func TestKillAPI_taskContinues(t *testing.T) {
	s := newStack(t)
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: 200 * time.Millisecond} })
	id := s.submit(notes(30))
	require.NoError(t, s.provider.WaitFor(s.soon(), 3))
	s.api.kill()
	require.NoError(t, s.provider.WaitFor(s.soon(), 30))
	s.api = s.start("api")
	s.waitReady()

	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome)
	require.Equal(t, 30, s.provider.Counts().Total)
	require.Empty(t, s.provider.Repeats())
}

// All processes are killed at once, as in a power failure. Temporal does not outlive its parent, and the task continues
// after the next start.
func TestKillEverything_taskContinues(t *testing.T) {
	folder, temporal := programs()
	provider := llmtest.New(t)
	provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Delay: 300 * time.Millisecond} })
	s := &stack{t: t, dir: t.TempDir(), programs: folder, provider: provider, address: freeAddress(t)}
	_, port, _ := strings.Cut(freeAddress(t), ":")
	s.settings = []string{
		"LONGHAUL_LLM_BASE_URL=" + provider.URL(), "LONGHAUL_LLM_KEY=k", "LONGHAUL_WORKER_LLM_CONCURRENCY=3", "TEMPORAL_ADDRESS=",
	}
	args := []string{"--api", s.address, "--temporal-port", port, "--ui-port", "0", "--data", s.dir, "--temporal-bin", temporal}
	all := s.start("dev", args...)
	s.waitReady()
	id := s.submit(notes(20))
	require.NoError(t, provider.WaitFor(s.soon(), 7))
	all.kill()
	require.Eventually(t, func() bool { return temporalPID(s.dir) == 0 }, 30*time.Second, 50*time.Millisecond, "Temporal outlived its parent")

	s.start("dev", args...)
	s.waitReady()
	done := s.pollUntilDone(id)
	require.Equal(t, task.Full, done.Outcome)
	require.LessOrEqual(t, provider.Counts().Total, 20+3)
}

// After restarts of API and worker there are as many tasks as were submitted, and each has run once.
func TestRestart_runsEachTaskOnce(t *testing.T) {
	const n = 20
	s := newStack(t)
	ids := map[string]bool{}
	for i := range n {
		ids[s.begin("summary", task.SummaryInput{Documents: []task.Document{{Text: fmt.Sprintf("Note %d.", i)}}}, map[string]any{"delay": "12s"})] = true
	}
	for begun, n := time.Now(), 0; n < 4 && time.Since(begun) < 6*time.Second; n++ { // all before the first call
		s.worker.kill()
		s.api.kill()
		s.worker, s.api = s.start("worker"), s.start("api")
		s.waitReady()
	}
	for id := range ids {
		require.Equal(t, task.Full, s.finish(id).Outcome)
	}
	require.Equal(t, n, s.provider.Counts().Total)
	page, err := s.client.List(s.soon(), task.Filter{Limit: 100})
	require.NoError(t, err)
	require.Len(t, page.Data, n)
	for _, listed := range page.Data {
		require.True(t, ids[listed.ID])
	}
}
