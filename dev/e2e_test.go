package main

import (
	"context"
	"encoding/json"
	"fmt"
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
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"longhaul/client"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// A worker that is killed in the middle costs the calls it had in flight, and nothing else.
func TestKillWorker(t *testing.T) {
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
	require.LessOrEqual(t, repeated, 4, "only calls in flight at the kill may be made again")
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
	t.Logf("calls %d, made again %d, of them answered before %d", s.provider.Counts().Total, repeated, twice)
	require.LessOrEqual(t, twice, 4, "an answer that arrived is on record, but for those arriving at the kill")
}

// An API that is killed takes nothing with it: the task runs on, and the next API tells of it.
func TestKillAPI(t *testing.T) {
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

// Everything is killed at once, as a machine that loses power would: Temporal does not outlive its
// parent, and at the next start the task goes on.
func TestKillEverything(t *testing.T) {
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
	require.Eventually(t, func() bool { return !temporalRuns(s.dir) }, 30*time.Second, 50*time.Millisecond, "Temporal outlived its parent")

	s.start("dev", args...)
	s.waitReady()
	done := s.finishOver(id)
	require.Equal(t, task.Full, done.Outcome)
	require.LessOrEqual(t, provider.Counts().Total, 20+3)
}

// temporalRuns looks for a Temporal on this data folder.
func temporalRuns(dir string) bool {
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range processes {
		line, err := os.ReadFile(p)
		if err == nil && strings.Contains(string(line), programName) && strings.Contains(string(line), dir) {
			return true
		}
	}
	return false
}

// finishOver waits for a task with plain requests, over an API that comes and goes.
func (s *stack) finishOver(id string) (t task.Task) {
	require.Eventually(s.t, func() bool {
		_, body := s.get("/v1/tasks/" + id)
		return json.Unmarshal([]byte(body), &t) == nil && t.Done
	}, 2*time.Minute, 100*time.Millisecond)
	return t
}

// A cancel reaches the running calls: the provider sees its sockets close, and what was finished stays.
func TestCancel(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=8")
	for i := range 5 {
		s.provider.On(fmt.Sprintf("[doc-%03d]", i), llmtest.Reply{})
	}
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{End: llmtest.Silence} })
	id := s.submit(notes(10))
	require.NoError(t, s.provider.WaitFor(s.soon(), 10))
	require.Eventually(t, func() bool { return s.items(id, "succeeded") == 5 }, 30*time.Second, 20*time.Millisecond)

	asked := time.Now()
	status, _ := s.post("/v1/tasks/"+id+"/cancel", "")
	require.Equal(t, http.StatusAccepted, status)
	require.NoError(t, s.provider.WaitGone(s.soon(), 5))
	t.Logf("sockets closed %.1f s after the cancel", time.Since(asked).Seconds())
	done := s.finish(id)
	require.Equal(t, task.Cancelled, done.Status)
	require.Equal(t, task.Partial, done.Outcome)
	require.Equal(t, 5, s.items(id, "succeeded"))
	require.Equal(t, 5, s.items(id, "cancelled"))
	status, body := s.get("/v1/tasks/" + id + "/result")
	require.Equal(t, http.StatusOK, status, body)
	status, _ = s.post("/v1/tasks/"+id+"/cancel", "")
	require.Equal(t, http.StatusOK, status, "a second cancel of an ended task changes nothing")
	require.Equal(t, 10, s.provider.Counts().Total)
}

func (s *stack) items(id, status string) int {
	code, body := s.get("/v1/tasks/" + id + "/items?limit=100&status=" + status)
	require.Equal(s.t, http.StatusOK, code, body)
	var page task.Page[task.Item]
	require.NoError(s.t, json.Unmarshal([]byte(body), &page))
	return len(page.Data)
}

// Without any worker a task can be created, read, listed, waited for and cancelled.
func TestNoWorker(t *testing.T) {
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
		require.Contains(t, body, `"cancelling"`, "a long poll hears of a cancel")
	case <-time.After(30 * time.Second):
		t.Fatal("the long poll heard nothing")
	}
	s.worker = s.start("worker")
	done := s.finish(id)
	require.Equal(t, task.Cancelled, done.Status)
	require.Equal(t, task.None, done.Outcome)
	require.Zero(t, s.provider.Counts().Total)
}

// DU-06: fifty clients race with one idempotency key: there is one task. Another body is refused while it runs and after, and the same key of
// another tenant is another key.
func TestDU06_idempotencyKey(t *testing.T) {
	s := newStack(t, "LONGHAUL_API_KEYS=one:key-of-one,two:key-of-two")
	s.provider.On("bridge", llmtest.Reply{}.After(2*time.Second))
	const body, other = `{"kind":"summary","input":{"documents":[{"text":"A sound bridge."}]}}`, `{"kind":"summary","input":{"documents":[{"text":"Another bridge."}]}}`
	send := func(tenant, body string) (int, string) {
		return s.post("/v1/tasks", body, "Idempotency-Key", "order-17", "Authorization", "Bearer key-of-"+tenant)
	}
	ids := make([]string, 50)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			_, answer := send("one", body)
			var got task.Task
			if json.Unmarshal([]byte(answer), &got) == nil {
				ids[i] = got.ID
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
		require.NotEmpty(t, id)
	}
	refused := func() {
		status, answer := send("one", other)
		require.Equal(t, http.StatusUnprocessableEntity, status)
		require.Contains(t, answer, string(task.KeyReused))
	}
	refused()
	_, answer := send("two", other)
	require.NotEqual(t, ids[0], taskID(t, answer))
	for tenant, id := range map[string]string{"one": ids[0], "two": taskID(t, answer)} {
		c, err := client.New("http://"+s.address, "key-of-"+tenant)
		require.NoError(t, err)
		done, err := c.Watch(s.soon(), id, func(task.Task) {})
		require.NoError(t, err)
		require.Equal(t, task.Full, done.Outcome)
	}
	refused()
	require.Equal(t, 2, s.provider.Counts().Total)
}

// A thousand small documents: every one summarised once, every history short.
func TestThousandDocuments(t *testing.T) {
	s := newStack(t)
	done := s.finish(s.submit(notes(1000)))
	require.Equal(t, task.Full, done.Outcome)
	require.Equal(t, 1000, done.Progress.Counts.Succeeded)
	require.Equal(t, 1000, s.provider.Counts().Total)
	require.Empty(t, s.provider.Repeats())
	s.requireShortHistories(done.ID, 10)
}

// A text of five megabytes, and a result of more than two: both go by reference.
func TestLargeTextAndResult(t *testing.T) {
	s := newStack(t, "LONGHAUL_API_MAX_BODY=16MiB")
	answer := strings.Repeat("All was well on the coast that year. ", 60_000) // 2.2 MB
	s.provider.On("[doc-000]", llmtest.Stream(llmtest.Delta(answer, "stop"), "[DONE]"))
	in := notes(1)
	in.Documents = append(in.Documents, task.Document{Name: "five megabytes", Text: story(1_000_000)})
	done := s.finish(s.submit(in))
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	require.Nil(t, done.Result)
	require.Greater(t, done.ResultRef.Bytes, int64(2<<20))
	status, body := s.get("/v1/tasks/" + done.ID + "/result")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, answer)
	require.Empty(t, s.provider.Repeats())
	s.requireShortHistories(done.ID, 1)
}

// requireShortHistories checks the limits that hold for every run: 10,000 events and 5 MB.
func (s *stack) requireShortHistories(id string, groups int) {
	ids := []string{id}
	for n := range groups {
		ids = append(ids, record.GroupID(id, n))
	}
	var most int64
	for _, workflow := range ids {
		d, err := s.describe(workflow)
		require.NoError(s.t, err)
		info := d.RawResponse.GetWorkflowExecutionInfo()
		require.Equal(s.t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, info.GetStatus())
		require.Less(s.t, info.GetHistoryLength(), int64(10_000), workflow)
		require.Less(s.t, info.GetHistorySizeBytes(), int64(5<<20), workflow)
		most = max(most, info.GetHistoryLength())
	}
	s.t.Logf("longest history: %d events", most)
}

// A secret is nowhere but in the provider's request.
func TestSecretsStaySecret(t *testing.T) {
	s := newStack(t)
	const secret = "sk-test-secret-marker"
	s.provider.On("[doc-000]", llmtest.Fail(http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided: `+secret+`"}}`))
	done := s.finish(s.submit(notes(1)))
	require.Equal(t, task.Failed, done.Status)
	_, body := s.get("/v1/tasks/" + done.ID)
	_, items := s.get("/v1/tasks/" + done.ID + "/items")
	require.Contains(t, body, string(task.ModelAuth))
	require.NotContains(t, body+items, secret)
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.NotContains(t, string(data), secret, path)
		return err
	}))
}

// A task with a start time is scheduled until then, and runs once.
func TestDelay(t *testing.T) {
	s := newStack(t)
	_, body := s.post("/v1/tasks", `{"kind":"summary","delay":"2s","input":{"documents":[{"text":"A sound bridge."}]}}`)
	var got task.Task
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Equal(t, task.Scheduled, got.Status)
	require.Equal(t, task.WaitStart, got.Waiting.Reason)
	require.Zero(t, s.provider.Counts().Total)
	require.Equal(t, task.Succeeded, s.finish(got.ID).Status)
	require.Equal(t, 1, s.provider.Counts().Total)
}

// A server that wants very short histories makes task and groups go on in new runs all the time:
// nothing is done twice, nothing is lost, and readers see one task that only goes forward.
func TestManyRuns(t *testing.T) {
	s := newStackOn(t, temporalOptions{HistoryEvents: 40}, "LONGHAUL_LLM_CHUNK_TOKENS=200")
	in := task.SummaryInput{}
	for i := range 30 { // the first group is one of long documents, which do not all fit into its window
		in.Documents = append(in.Documents, task.Document{Text: fmt.Sprintf("Keeper %d. ", i) + story(2000)})
	}
	in.Documents = append(in.Documents, notes(600).Documents...)
	id := s.begin("summary", in, map[string]any{"labels": map[string]string{"order": "17"}})
	var seen task.Task
	done, err := s.client.Watch(s.soon(), id, func(now task.Task) {
		require.GreaterOrEqual(t, now.Revision, seen.Revision)
		if seen.Progress.Percent != nil {
			require.GreaterOrEqual(t, *now.Progress.Percent, *seen.Progress.Percent)
		}
		c := now.Progress.Counts
		require.Equal(t, c.Total, c.Succeeded+c.Failed+c.Running+c.Pending)
		seen = now
	})
	require.NoError(t, err)
	require.Equal(t, task.Full, done.Outcome)
	require.Equal(t, 630, done.Progress.Counts.Succeeded)
	require.Empty(t, s.provider.Repeats())
	require.Equal(t, map[string]string{"order": "17"}, done.Labels)
	_, list := s.get("/v1/tasks?label=order:17&status=succeeded")
	require.Contains(t, list, done.ID)
	require.Greater(t, s.runs(done.ID), 1, "the task went on in a new run")
	require.Greater(t, s.runs(done.ID+".group-0"), 1, "and so did a group")
}

// runs counts the runs that a workflow took.
func (s *stack) runs(id string) int {
	c := s.cluster()
	defer c.Close()
	count := 0
	require.Eventually(s.t, func() bool {
		answer, err := c.Client.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: c.Namespace, Query: fmt.Sprintf("WorkflowId = '%s'", id),
		})
		count = int(answer.GetCount())
		return err == nil && count > 0
	}, 30*time.Second, 100*time.Millisecond)
	return count
}

// The example of examples/ does what it says, for somebody who has only this repository.
func TestExample(t *testing.T) {
	s := newStack(t)
	script := exec.CommandContext(t.Context(), "bash", filepath.Join("..", "examples", "summary.sh"))
	script.Env = append(os.Environ(), "LONGHAUL_API=http://"+s.address)
	out, err := script.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, want := range []string{"## Over all documents", "## lighthouse-keeping.pdf", "## bridge-inspection.docx", "## tea-terraces-zh.md", "3 of 3"} {
		require.Contains(t, string(out), want)
	}
	require.Equal(t, 4, s.provider.Counts().Total, "one call a document, and one for the digest")
	require.Contains(t, s.provider.CallsWith("tea-terraces")[0].Prompt, "鲜叶", "the Chinese text arrives as it is")
}

// What an attempt met is known to the next one, by way of a real Temporal: a provider that fails at once
// is called as often as it is configured and no more, one that asks to wait as often as it asks.
func TestAttempts(t *testing.T) {
	s := newStack(t, "LONGHAUL_LLM_MAX_ATTEMPTS=3")
	busy := llmtest.Fail(http.StatusTooManyRequests, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`).With("Retry-After", "1")
	s.provider.On("[doc-000]", llmtest.Fail(http.StatusInternalServerError, "oops"))
	s.provider.On("[doc-001]", busy, busy, busy, busy, busy, busy, llmtest.Reply{})
	done := s.finish(s.submit(notes(2)))
	require.Equal(t, task.Partial, done.Outcome)
	require.Len(t, s.provider.CallsWith("[doc-000]"), 3)
	_, failed := s.get("/v1/tasks/" + done.ID + "/items?status=failed")
	require.Contains(t, failed, `"attempts":3`)
	require.NotContains(t, failed, "was lost")
	calls := s.provider.CallsWith("[doc-001]")
	require.Len(t, calls, 7)
	for i, call := range calls[1:] {
		require.GreaterOrEqual(t, call.Began.Sub(calls[i].Ended), time.Second, "call %d came too early", i+2)
	}
}

// A worker that is stopped in order hands its calls on, and does not make them look lost.
func TestGentleStop(t *testing.T) {
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

// beat is the last heartbeat of a workflow's one pending activity.
func (s *stack) beat(id string) (b record.Heartbeat) {
	d, err := s.describe(id)
	require.NoError(s.t, err)
	pending := d.RawResponse.GetPendingActivities()
	require.Len(s.t, pending, 1)
	require.NoError(s.t, converter.GetDefaultDataConverter().FromPayloads(pending[0].GetHeartbeatDetails(), &b))
	b.Moved = time.Time{} // whenever it was
	return b
}

// A provider that is down for a while uses up no attempts: calls go on when it is back.
func TestProviderOutage(t *testing.T) {
	s := newStack(t, "LONGHAUL_LLM_MAX_ATTEMPTS=1")
	address := strings.TrimSuffix(strings.TrimPrefix(s.provider.URL(), "http://"), "/v1")
	s.provider.Close()
	id := s.submit(notes(3))
	var now task.Task
	require.Eventually(t, func() bool {
		_, body := s.get("/v1/tasks/" + id)
		return json.Unmarshal([]byte(body), &now) == nil && now.Retrying != nil && now.Retrying.Attempt >= 3
	}, time.Minute, 100*time.Millisecond)
	require.Contains(t, now.Retrying.LastError, "cannot be reached")
	require.NotContains(t, now.Retrying.LastError, address, "where our provider is, is not for tenants")
	back, err := llmtest.Start(address)
	require.NoError(t, err)
	t.Cleanup(back.Close)
	require.Equal(t, task.Full, s.finish(id).Outcome)
	require.Equal(t, 3, back.Counts().Total)
}

// One call is told to wait: no other is made until then, and then they come one after another.
func TestLaneCloses(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=5")
	s.provider.On("[doc-000]", llmtest.RateLimit(5), llmtest.Reply{})
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(100 * time.Millisecond) })
	require.Equal(t, task.Full, s.finish(s.submit(notes(60))).Outcome)
	turned := s.provider.CallsWith("[doc-000]")[0].Ended
	during, after := 0, 0
	for _, call := range s.provider.Calls() {
		switch wait := call.Began.Sub(turned); {
		case wait > 500*time.Millisecond && wait < 5*time.Second: // those before were on their way
			during++
		case wait >= 5*time.Second && wait < 5*time.Second+90*time.Millisecond:
			after++
		}
	}
	require.Zero(t, during, "calls were made while the provider asked to wait")
	require.LessOrEqual(t, after, 1, "the lane reopens with one call")
	require.Equal(t, 61, s.provider.Counts().Total)
}

// An account without money is asked once, by no more than are on their way, and every task is told.
func TestLaneStops(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=2", "LONGHAUL_LLM_PROFILE=openai")
	s.provider.On("Report", llmtest.Fail(http.StatusTooManyRequests,
		`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`))
	done := s.finish(s.submit(notes(100)))
	require.Equal(t, task.Failed, done.Status)
	require.Contains(t, done.Error.Detail, "exceeded your current quota")
	require.LessOrEqual(t, s.provider.Counts().Total, 2)
	items := s.everyItem(done.ID)
	require.Len(t, items, 100)
	for _, item := range items {
		require.Equal(t, task.ModelQuota, item.Error.Code, "each item says why")
		require.Contains(t, item.Error.Detail, "run the task again", "and what to do")
	}
}
