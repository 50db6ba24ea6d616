package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// upload keeps a file and gives its id.
func (s *stack) upload(name, contentType string, content io.Reader) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.address+"/v1/files?name="+name, content)
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", contentType)
	answer, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer func() { _ = answer.Body.Close() }()
	var file task.File
	require.NoError(s.t, json.NewDecoder(answer.Body).Decode(&file))
	require.Equal(s.t, http.StatusCreated, answer.StatusCode)
	return file.ID
}

// manyRows is a file of n rows that are all different.
func manyRows(n int) io.Reader {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":\"r%d\",\"name\":\"row %06d.\"}\n", i, i)
	}
	return &b
}

// resultLine is a line of a file of results.
type resultLine struct {
	Index  int
	ID     string
	Status string
	Text   string
	Vector []float32
	Error  string
}

func (s *stack) results(id, artifact string) (all []resultLine) {
	s.t.Helper()
	status, body := s.get("/v1/tasks/" + id + "/artifacts/" + artifact)
	require.Equal(s.t, http.StatusOK, status)
	for line := range strings.Lines(body) {
		var l resultLine
		require.NoError(s.t, json.Unmarshal([]byte(line), &l))
		all = append(all, l)
	}
	return all
}

// Items can be read page by page while the task runs, and after it.
func TestRows_items(t *testing.T) {
	s := newStack(t)
	s.provider.On("row 000003.", llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"content_filter"}}`))
	id := s.begin("generate", map[string]any{"file": map[string]any{"file_id": s.upload("r.jsonl", "application/jsonl", manyRows(300))}, "template": "About {{name}}"}, nil)
	done := s.finish(id)
	require.Equal(t, task.Partial, done.Outcome)
	items := s.everyItem(id)
	require.Len(t, items, 300)
	for i, item := range items {
		require.Equal(t, i, item.Index)
		require.Equal(t, i != 3, item.Status == task.ItemSucceeded)
	}
	require.Equal(t, task.ContentFiltered, items[3].Error.Code)
	_, failed := s.get("/v1/tasks/" + id + "/items?status=failed")
	require.Contains(t, failed, `"name":"r3"`)
	require.Contains(t, failed, `"next_cursor":null`)
}

// generate is the input of a task over n rows.
func (s *stack) generate(n int) map[string]any {
	return map[string]any{"file": map[string]any{"file_id": s.upload("r.jsonl", "application/jsonl", manyRows(n))}, "template": "About {{name}}"}
}

func recordRows(s *stack) string { return s.finish(s.begin("generate", s.generate(200), nil)).ID }

func recordBadRows(s *stack) string {
	s.provider.On("row 000001.", llmtest.RateLimit(40), llmtest.Reply{}) // longer than a shard waits for
	return s.finish(s.begin("generate", map[string]any{"rows": []any{map[string]any{"name": "row 000001."}, 7, map[string]any{"nmae": "x"}}, "template": "About {{name}}"}, nil)).ID
}

func recordCancelledRows(s *stack) string {
	s.provider.On("row 000001.", llmtest.Reply{End: llmtest.Silence})
	id := s.begin("generate", s.generate(20), nil)
	require.NoError(s.t, s.provider.WaitFor(s.soon(), 20))
	_, err := s.client.Cancel(s.soon(), id)
	require.NoError(s.t, err)
	return s.finish(id).ID
}

func recordManyRows(s *stack) string { return s.finish(s.begin("generate", s.generate(2000), nil)).ID }

func recordPackedRows(s *stack) string {
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		var lines []string
		for i := range strings.Count(c.Prompt, "<text name=") {
			lines = append(lines, fmt.Sprintf(`{"number":%d,"labels":["a"],"confidence":0.9}`, i+1))
		}
		return llmtest.Answer(`{"results":[`+strings.Join(lines, ",")+`]}`, llmtest.Usage{Input: 100, Output: 10})
	})
	return s.finish(s.begin("classify", map[string]any{"rows": []any{"one", "two", "three"}, "labels": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}}, nil)).ID
}

func recordVectors(s *stack) string {
	return s.finish(s.begin("embed", map[string]any{"rows": []any{"one", "two", "three"}, "output": "npy"}, nil)).ID
}
