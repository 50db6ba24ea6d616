package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// RC-01, beside TestChaos: a worker is killed before the first call, in the middle of one, and after the last: each task ends by itself.
func TestRC01_killedAtEveryStage(t *testing.T) {
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

// RC-02: restarts multiply nothing: there are as many tasks as were submitted, and each is carried out once.
func TestRC02_restartsMultiplyNothing(t *testing.T) {
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

// RC-05: a worker that is killed leaves its place to others: with one call at a time, the next task has its turn.
func TestRC05_noGhostHoldsAPlace(t *testing.T) {
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

// DU-01: a task with a start time runs once, whoever is restarted before it comes and however many workers there are.
func TestDU01_delayedOnce(t *testing.T) {
	s := newStack(t)
	workers := []*process{s.worker, s.start("worker"), s.start("worker")}
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(5 * time.Second) }) // longer than a heartbeat may be late
	id := s.begin("summary", notes(3), map[string]any{"delay": "9s"})
	for i := range workers {
		workers[i].kill()
		workers[i] = s.start("worker")
	}
	now, err := s.client.Get(s.soon(), id)
	require.NoError(t, err)
	require.False(t, now.Done)
	require.Equal(t, task.Full, s.finish(id).Outcome)
	require.Equal(t, 3, s.provider.Counts().Total)
}

// DU-02: the same key gives the same task whatever has become of it, for tasks and for replays; a new key, or a replay, runs it again.
func TestDU02_keyOfWhatHasEnded(t *testing.T) {
	s := newStack(t)
	s.provider.On("[doc-001]", unknownModel())
	s.provider.On("[doc-002]", llmtest.Reply{}.After(llmtest.Forever))
	order := func(i int) string {
		return fmt.Sprintf(`{"kind":"summary","input":{"documents":[{"text":"Report [doc-%03d]."}]}}`, i)
	}
	for i, want := range []task.State{task.Succeeded, task.Failed, task.Cancelled} {
		key := fmt.Sprintf("key-%d", i)
		id, replayed := s.sendKeyed("/v1/tasks", order(i), key)
		require.Empty(t, replayed)
		same, replayed := s.sendKeyed("/v1/tasks", order(i), key)
		require.Equal(t, []string{id, "true"}, []string{same, replayed}, "while it runs")
		if want == task.Cancelled {
			require.NoError(t, s.provider.WaitFor(s.soon(), 3))
			_, err := s.client.Cancel(s.soon(), id)
			require.NoError(t, err)
		}
		require.Equal(t, want, s.finish(id).Status)
		same, replayed = s.sendKeyed("/v1/tasks", order(i), key)
		require.Equal(t, []string{id, "true"}, []string{same, replayed}, "it is %s", want)

		again, _ := s.sendKeyed("/v1/tasks/"+id+"/replay", "", "again-"+key)
		require.NotEqual(t, id, again)
		if want == task.Cancelled {
			_, err := s.client.Cancel(s.soon(), again)
			require.NoError(t, err)
		}
		s.finish(again)
		same, replayed = s.sendKeyed("/v1/tasks/"+id+"/replay", "", "again-"+key)
		require.Equal(t, []string{again, "true"}, []string{same, replayed})
	}
	page, err := s.client.List(s.soon(), task.Filter{Limit: 100})
	require.NoError(t, err)
	require.Len(t, page.Data, 6)
}

// sendKeyed posts with an idempotency key, and gives the task and whether it was there before.
func (s *stack) sendKeyed(path, body, key string) (id, replayed string) {
	s.t.Helper()
	status, answer, header := s.exchange(http.MethodPost, path, body, "Idempotency-Key", key)
	require.Contains(s.t, []int{http.StatusOK, http.StatusAccepted}, status, answer)
	return taskID(s.t, answer), header.Get("Idempotency-Replayed")
}

// DU-04: a row whose id was used before fails alone and says so, and the total counts lines; ids that only look alike are different ones. Another task
// with the same ids has nothing to do with it.
func TestDU04_sameIDTwice(t *testing.T) {
	s := newStack(t)
	names := []string{"café", "cafe\u0301", "A", "a", "A"} // composed, decomposed, both cases, and one once more
	var rows []any
	for i, id := range names {
		rows = append(rows, map[string]any{"id": id, "name": fmt.Sprintf("number %d", i)})
	}
	for range 2 {
		done := s.finish(s.begin("generate", map[string]any{"rows": rows, "template": "About {{name}}"}, nil))
		require.Equal(t, task.Partial, done.Outcome, "%+v", done.Error)
		require.Equal(t, task.Counts{Total: 5, Succeeded: 4, Failed: 1}, done.Progress.Counts)
		lines := s.results(done.ID, "results.jsonl")
		require.Len(t, lines, len(names))
		for i, line := range lines[:4] {
			require.Equal(t, names[i], line.ID)
			require.Contains(t, line.Text, llmtest.Hash(fmt.Sprintf("About number %d", i)))
		}
		require.Contains(t, lines[4].Error, `the id "A" is already used in row 2`)
	}
	require.Equal(t, 2*4, s.provider.Counts().Total)
}

// CO-02: what a task cost is booked once: reading it changes nothing, a killed worker neither, and a replay adds what it adds.
func TestCO02_bookedOnce(t *testing.T) {
	s := newStack(t, `LONGHAUL_LLM_MODEL=main`, `LONGHAUL_LLM_MODELS=[{"name":"main","price":{"input":1,"output":1}}]`)
	for i := range 3 {
		s.provider.On(fmt.Sprintf("[doc-%03d]", i), llmtest.Reply{}.After(llmtest.Forever), unknownModel())
	}
	id := s.submit(notes(30))
	require.Eventually(t, func() bool { return s.items(id, "succeeded") == 27 }, time.Minute, 50*time.Millisecond)
	s.worker.kill()
	s.worker = s.start("worker")
	done := s.finish(id)
	require.Equal(t, task.Partial, done.Outcome)
	cost := func(id string) float64 {
		t, err := s.client.Get(s.soon(), id)
		require.NoError(s.t, err)
		var sum task.Usage
		for _, item := range s.everyItem(id) {
			sum = sum.Add(item.Usage)
		}
		require.Equal(s.t, t.Usage, sum, "a task costs what its items cost")
		return t.Usage.Cost.Amount
	}
	journal := func() float64 { spent := s.provider.Spent(); return float64(spent.Input+spent.Output) / 1e6 }
	before := journal()
	for range 20 {
		s.get("/v1/tasks/" + id + "/result")
		require.InDelta(t, before, cost(id), 1e-9)
	}
	for i := range 3 {
		s.provider.On(fmt.Sprintf("[doc-%03d]", i), llmtest.Reply{})
	}
	replay := s.again(id, task.ReplayOrder{})
	require.Equal(t, task.Full, replay.Outcome)
	require.EqualValues(t, 3, replay.Usage.Requests)
	require.InDelta(t, journal()-before, cost(replay.ID), 1e-9)
	require.InDelta(t, before, cost(id), 1e-9, "the task that was run again cost what it cost")
}
