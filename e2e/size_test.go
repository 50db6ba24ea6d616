package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Answers of megabytes, from models and tools, are passed by reference and paid for once.
func TestSize_largeAnswers(t *testing.T) {
	d := newToolServer(t)
	page := strings.Repeat("The keeper counted the ships upon the water. ", 3<<20/45)
	d.Config.Handler = servePage(d, page)
	s := newStack(t, d.allowPrivate())
	answer := strings.Repeat("All was well on the coast that year. ", 3<<20/37)
	s.provider.On("[doc-000]", llmtest.Stream(llmtest.Delta(answer, "stop"), "[DONE]"))
	long := s.submit(notes(1))
	require.Equal(t, task.Full, s.finish(long).Outcome)
	_, body := s.get("/v1/tasks/" + long + "/result")
	require.Contains(t, body, answer)
	require.Equal(t, 1, s.provider.Counts().Total)

	s.scriptTurns(callTool("look", "a"), finalAnswer("Read."))
	agent := s.submitAgent(task.AgentInput{Goal: "read", Tools: []task.ToolSpec{d.tool("look", "GET", task.Never)}})
	done := s.finish(agent)
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	require.Len(t, d.requests(), 1)

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

// An input that is too large is refused before anything is stored, with the limit and the alternative. Inputs around the
// payload limit of Temporal succeed.
func TestSize_largeInputs(t *testing.T) {
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
	}, 30*time.Second, 100*time.Millisecond, "no refused task is listed")
}

// A text of 5 MB and a result of more than 2 MB are passed by reference.
func TestSize_largeTextAndResult(t *testing.T) {
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
