package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rowsacts "longhaul/activities/rows"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

func (s *stack) rowsReceipt(id string) (r rowsacts.RowsReceipt) {
	s.t.Helper()
	status, body := s.get("/v1/tasks/" + id + "/result")
	require.Equal(s.t, http.StatusOK, status, body)
	require.NoError(s.t, json.Unmarshal([]byte(body), &r))
	return r
}

// itemPage reads a page of items.
func (s *stack) itemPage(id, query string) (page task.Page[task.Item]) {
	s.t.Helper()
	status, body := s.get("/v1/tasks/" + id + "/items?" + query)
	require.Equal(s.t, http.StatusOK, status, body)
	require.NoError(s.t, json.Unmarshal([]byte(body), &page))
	return page
}

// Items can be filtered and paged while some rows are still being worked on. A cancel keeps the others, and tells of every call,
// those that it broke off too.
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
	require.EqualValues(t, 3, r.Usage.UnmeteredCalls, "nobody told what the calls used that were broken off")
	spent := s.provider.Spent()
	require.EqualValues(t, spent.Input+spent.Output, r.Usage.InputTokens+r.Usage.OutputTokens)
	require.Len(t, s.results(id, "errors.jsonl"), 3)
	require.Len(t, s.itemPage(id, "status=cancelled").Data, 3)
}

// What an order over rows may have wrong is told before there is a task, with the place.
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

// Files of every form can be fetched, and a row that is too large takes no other with it.
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
