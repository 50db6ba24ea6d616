package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rowsacts "longhaul/activities/rows"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// upload uploads a file and returns its id.
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

// manyRows returns a file of n different rows.
func manyRows(n int) io.Reader {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":\"r%d\",\"name\":\"row %06d.\"}\n", i, i)
	}
	return &b
}

// resultLine is a line of a result file.
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

// All items of a task over rows can be read after its end, with the error of a failed row.
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

// generate uploads n rows and returns the input of a generate task.
func (s *stack) generate(n int) map[string]any {
	return map[string]any{"file": map[string]any{"file_id": s.upload("r.jsonl", "application/jsonl", manyRows(n))}, "template": "About {{name}}"}
}

// A row whose id was used before fails alone with a message, and ids that differ only in case or Unicode form are
// different. Tasks do not share ids.
func TestRows_duplicateID(t *testing.T) {
	s := newStack(t)
	names := []string{"café", "cafe\u0301", "A", "a", "A"} // composed, decomposed, both cases, and a duplicate
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

func (s *stack) rowsReceipt(id string) (r rowsacts.RowsReceipt) {
	s.t.Helper()
	status, body := s.get("/v1/tasks/" + id + "/result")
	require.Equal(s.t, http.StatusOK, status, body)
	require.NoError(s.t, json.Unmarshal([]byte(body), &r))
	return r
}

// itemPage reads a page of a task's items.
func (s *stack) itemPage(id, query string) (page task.Page[task.Item]) {
	s.t.Helper()
	status, body := s.get("/v1/tasks/" + id + "/items?" + query)
	require.Equal(s.t, http.StatusOK, status, body)
	require.NoError(s.t, json.Unmarshal([]byte(body), &page))
	return page
}

// Items can be filtered and paged while rows are still pending. A cancel keeps the finished rows, and the receipt counts
// every call, the interrupted ones included.
func TestRows_itemsWhileRunningAndCancel(t *testing.T) {
	s := newStack(t)
	for i := range 3 {
		s.provider.On(fmt.Sprintf("row %06d.", 100*i), llmtest.Reply{End: llmtest.Silence})
	}
	id := s.begin("generate", s.generate(300), nil)
	require.Eventually(t, func() bool { return len(s.itemPage(id, "status=pending&limit=100").Data) == 3 }, time.Minute, 100*time.Millisecond)
	pending := s.itemPage(id, "status=pending&limit=2")
	require.Len(t, pending.Data, 2)
	require.Equal(t, "r0", pending.Data[0].Name)
	require.NotNil(t, pending.NextCursor)
	rest := s.itemPage(id, "status=pending&limit=2&cursor="+*pending.NextCursor)
	require.Len(t, rest.Data, 1)
	require.Equal(t, 200, rest.Data[0].Index)
	require.Nil(t, rest.NextCursor)
	seen := 0
	for cursor := "0"; ; {
		page := s.itemPage(id, "limit=70&cursor="+cursor)
		for _, item := range page.Data {
			require.Equal(t, seen, item.Index)
			seen++
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	require.Equal(t, 300, seen)

	_, err := s.client.Cancel(s.soon(), id)
	require.NoError(t, err)
	done := s.finish(id)
	require.Equal(t, task.Counts{Total: 300, Succeeded: 297, Cancelled: 3}, done.Progress.Counts)
	r := s.rowsReceipt(id)
	require.Equal(t, done.Usage, r.Usage)
	require.Equal(t, 300, r.Calls)
	require.EqualValues(t, 3, r.Usage.UnmeteredCalls, "interrupted calls report no usage")
	spent := s.provider.Spent()
	require.EqualValues(t, spent.Input+spent.Output, r.Usage.InputTokens+r.Usage.OutputTokens)
	require.Len(t, s.results(id, "errors.jsonl"), 3)
	require.Len(t, s.itemPage(id, "status=cancelled").Data, 3)
}

// An invalid rows input is refused before a task exists, with a pointer to the field.
func TestRows_refusedByTheAPI(t *testing.T) {
	s := newStack(t)
	for body, pointer := range map[string]string{
		`{"kind":"generate","input":{"rows":["a"],"template":"{{x"}}`:                          "/input/template",
		`{"kind":"generate","input":{"rows":["a"],"template":"x","file":{"file_id":"x"}}}`:     "/input",
		`{"kind":"classify","input":{"rows":["a"],"labels":[{"name":"a"},{"name":"a"}]}}`:      "/input/labels/1/name",
		`{"kind":"classify","input":{"rows":["a"],"labels":[{"name":"a"}]}}`:                   "/input/labels",
		`{"kind":"generate","input":{"rows":["a"],"template":"x","output_schema":{"type":1}}}`: "/input/output_schema",
		`{"kind":"embed","input":{"file":{"file_id":"file_nope"}}}`:                            "/input/file/file_id",
	} {
		status, answer := s.post("/v1/tasks", body)
		require.Equal(t, http.StatusUnprocessableEntity, status, answer)
		require.Contains(t, answer, `"pointer":"`+pointer+`"`, body)
	}
	require.Zero(t, s.provider.Counts().Total)
}

// Result files of every format can be downloaded, and a row that is too large fails alone.
func TestRows_files(t *testing.T) {
	s := newStack(t)
	big := `{"id":"big","text":"` + strings.Repeat("x", 20<<20) + "\"}\n{\"id\":\"small\",\"text\":\"😀\\u0000\"}\n"
	file := s.upload("big.jsonl", "application/jsonl", strings.NewReader(big))
	for form, begins := range map[string]string{"jsonl": `{"index":0`, "npy": "\x93NUMPY", "parquet": "PAR1"} {
		id := s.begin("embed", map[string]any{"file": map[string]any{"file_id": file}, "output": form, "dimensions": 4}, nil)
		done := s.finish(id)
		require.Equal(t, task.Counts{Total: 2, Succeeded: 1, Failed: 1}, done.Progress.Counts)
		r := s.rowsReceipt(id)
		status, body := s.get("/v1/tasks/" + id + "/artifacts/" + r.Output)
		require.Equal(t, http.StatusOK, status)
		require.True(t, strings.HasPrefix(body, begins), "%.20q", body)
		require.Contains(t, s.results(id, r.Errors)[0].Error, "the limit is 16777216")
	}
	require.Equal(t, 3, s.provider.Counts().Total)
}
