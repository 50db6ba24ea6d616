package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

var manyRounds = flag.Int("rows", 3000, "how many rows the test of killed workers has")

// DU-08: each row comes out exactly once and in its place, whatever is killed and however many calls fail at first, and no answer that is on record
// is paid for again.
func TestDU08_rowsKilled(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=20")
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		if c.Attempt == 1 && hashOf(c.Hash)%50 == 0 {
			return llmtest.Fail(http.StatusInternalServerError, "oops")
		}
		return llmtest.Reply{}.After(time.Duration(5+rand.IntN(30)) * time.Millisecond)
	})
	file := s.upload("rows.jsonl", "application/jsonl", manyRows(*manyRounds))
	id := s.begin("generate", map[string]any{"file": map[string]any{"file_id": file}, "template": "About {{name}}"}, nil)
	var paid books
	recorded := 0
	for range *kills {
		before := s.provider.Counts().Answered
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		_ = s.provider.Wait(ctx, func(c llmtest.Counts) bool { return c.Answered >= before+*manyRounds/(*kills+3) })
		cancel()
		s.worker.kill()
		var err error
		recorded, err = paid.atKill(filepath.Join(s.dir, "bucket"))
		require.NoError(t, err)
		s.worker = s.start("worker")
	}
	require.Positive(t, recorded)
	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome, "%v", done.Error)
	lines := s.results(id, "results.jsonl")
	require.Len(t, lines, *manyRounds)
	for i, line := range lines {
		require.Equal(t, i, line.Index)
		require.Equal(t, fmt.Sprintf("r%d", i), line.ID)
		require.Contains(t, line.Text, llmtest.Hash(fmt.Sprintf("About row %06d.", i)))
	}
	told := paid.tally(s.provider.Calls())
	t.Logf("%d rows, %d kills, %d answers on record at the last, %d calls, %d made again", *manyRounds, *kills, recorded, told.calls, told.again)
	require.Zero(t, told.paidOver, "answers that were on record were paid for again")
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
