package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// requireSmallHistory checks that what a task's workflows hold is small, whatever its answers were.
func (s *stack) requireSmallHistory(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		d, err := s.describe(id)
		require.NoError(s.t, err)
		info := d.RawResponse.GetWorkflowExecutionInfo()
		require.Equal(s.t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, info.GetStatus())
		require.Less(s.t, info.GetHistorySizeBytes(), int64(300<<10), id)
	}
}

// PS-01: answers of megabytes, of models and of tools, go by reference, and are asked for once.
func TestPS01_largeAnswers(t *testing.T) {
	d := newDesk(t)
	page := strings.Repeat("The keeper counted the ships upon the water. ", 3<<20/45)
	d.Config.Handler = counting(d, page)
	s := newStack(t, d.private())
	answer := strings.Repeat("All was well on the coast that year. ", 3<<20/37)
	s.provider.On("[doc-000]", llmtest.Stream(llmtest.Delta(answer, "stop"), "[DONE]"))
	long := s.submit(notes(1))
	require.Equal(t, task.Full, s.finish(long).Outcome)
	_, body := s.get("/v1/tasks/" + long + "/result")
	require.Contains(t, body, answer)
	require.Equal(t, 1, s.provider.Counts().Total)

	s.plan(uses("look", "a"), says("Read."))
	agent := s.submitAgent(task.AgentInput{Goal: "read", Tools: []task.ToolSpec{d.tool("look", "GET", task.Never)}})
	done := s.finish(agent)
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	require.Len(t, d.made(), 1)

	const rows, wide = 256, 3072
	s.provider.Handle(llmtest.Default)
	made := s.provider.Counts().Total
	vectors := s.begin("embed", map[string]any{
		"file": map[string]any{"file_id": s.upload("r.jsonl", "application/jsonl", manyRows(rows))}, "text": "{{name}}", "dimensions": wide,
	}, nil)
	done = s.finish(vectors)
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	asked := map[string]int{}
	for _, call := range s.provider.Calls()[made:] {
		for _, text := range call.Inputs {
			asked[text]++
			require.Equal(t, 1, asked[text], text)
		}
	}
	require.Len(t, asked, rows)
	for i, line := range s.results(vectors, "vectors.jsonl") {
		require.InDeltaSlice(t, llmtest.Vector(fmt.Sprintf("row %06d.", i), wide), line.Vector, 1e-6)
	}
	s.requireSmallHistory(long, record.GroupID(long, 0), agent, vectors)
}

// counting is the desk that answers with a page.
func counting(d *desk, page string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.calls = append(d.calls, r.URL.RawQuery)
		d.mu.Unlock()
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(page))
	})
}

// PS-02: an order that is too large is refused before anything is there, with the limit and the way out; any other runs, around the limit of
// what Temporal takes, too.
func TestPS02_largeOrders(t *testing.T) {
	s := newStack(t)
	padded := func(kilobytes int) map[string]any {
		var rows []any
		for i := range kilobytes / 10 {
			rows = append(rows, map[string]any{"name": fmt.Sprintf("%d of %d", i, kilobytes), "pad": strings.Repeat("x", 10_000)})
		}
		return map[string]any{"rows": rows, "template": "About {{name}}"}
	}
	var ids []string
	for _, kilobytes := range []int{1900, 2000, 2100, 4100} {
		ids = append(ids, s.begin("generate", padded(kilobytes), nil))
	}
	tooMany, err := json.Marshal(map[string]any{"kind": "generate", "input": map[string]any{"rows": make([]string, 10_001), "template": "a"}})
	require.NoError(t, err)
	tooLong, err := json.Marshal(map[string]any{"kind": "generate", "input": padded(9000)})
	require.NoError(t, err)
	for _, refused := range []struct {
		body   string
		status int
		says   string
	}{
		{string(tooLong), http.StatusRequestEntityTooLarge, "POST /v1/files"},
		{string(tooMany), http.StatusUnprocessableEntity, "10000"},
		{`{"kind":"summary","input":{"documents":[{"text":"a"}]},"labels":{"a":"` + strings.Repeat("x", 3<<20) + `"}}`, http.StatusUnprocessableEntity, "/labels"},
	} {
		status, answer := s.post("/v1/tasks", refused.body)
		require.Equal(t, refused.status, status, answer)
		require.Contains(t, answer, refused.says)
	}
	for _, id := range ids {
		done := s.finish(id)
		require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	}
	s.requireSmallHistory(ids...)
	require.Eventually(t, func() bool {
		page, err := s.client.List(s.soon(), task.Filter{Limit: 100})
		return err == nil && len(page.Data) == len(ids)
	}, 30*time.Second, 100*time.Millisecond, "nothing is listed that was refused")
}

var classified = flag.Int("classified", 4000, "how many rows the test of short histories classifies")

// PS-03: thousands of rows are classified, each once, in short histories, whatever is killed; a reader sees it go forward only.
func TestPS03_thousandsOfRows(t *testing.T) {
	n := *classified
	s := newStackOn(t, temporalOptions{HistoryEvents: 60})
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		return llmtest.Answer(labelled(c), llmtest.Usage{Input: 100, Output: 10}).After(100 * time.Millisecond)
	})
	var file bytes.Buffer
	for i := range n {
		fmt.Fprintf(&file, "{\"id\":\"r%d\",\"text\":\"row %06d.\"}\n", i, i)
	}
	id := s.begin("classify", map[string]any{
		"file": map[string]any{"file_id": s.upload("r.jsonl", "application/jsonl", &file)}, "labels": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}},
	}, nil)
	for _, answered := range []int{n / 100, 3 * n / 100} {
		require.NoError(t, s.provider.Wait(s.soon(), func(c llmtest.Counts) bool { return c.Answered >= answered }))
		s.worker.kill()
		s.worker = s.start("worker")
	}
	saga := saga{id: id}
	done, err := s.client.Watch(t.Context(), id, func(now task.Task) { require.NoError(t, saga.next(now)) })
	require.NoError(t, err)
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	lines := s.results(id, "results.jsonl")
	require.Len(t, lines, n)
	for i, line := range lines {
		require.Equal(t, fmt.Sprintf("r%d", i), line.ID)
		require.Equal(t, "succeeded", line.Status)
	}
	require.Greater(t, s.runs(id), 1, "the task went on in a new run")
	s.requireShortHistories(id, 0)
}
