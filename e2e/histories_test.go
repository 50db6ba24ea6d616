package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// requireShortHistories checks that every run of a task and its groups has fewer than 10,000 events and 5 MB.
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

// requireSmallHistory checks that workflows completed with a history below 300 KiB.
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

// A thousand small documents are each summarised once, in short histories.
func TestHistories_thousandDocuments(t *testing.T) {
	s := newStack(t)
	done := s.finish(s.submit(notes(1000)))
	require.Equal(t, task.Full, done.Outcome)
	require.Equal(t, 1000, done.Progress.Counts.Succeeded)
	require.Equal(t, 1000, s.provider.Counts().Total)
	require.Empty(t, s.provider.Repeats())
	s.requireShortHistories(done.ID, 10)
}

// On a server that wants very short histories, task and groups continue as new many times. No call is repeated, no result
// is lost, and readers see one task that only moves forward.
func TestHistories_continueAsNew(t *testing.T) {
	s := newStackOn(t, localtemporal.Options{HistoryEvents: 40}, "LONGHAUL_LLM_CHUNK_TOKENS=200")
	in := task.SummaryInput{}
	for i := range 30 { // a group of long documents that exceed its window
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
	require.Greater(t, s.countRuns(done.ID), 1, "the task continued as new")
	require.Greater(t, s.countRuns(done.ID+".group-0"), 1, "a group continued as new")
}

var classified = flag.Int("classified", 4000, "number of rows in TestHistories_thousandsOfRows")

// Thousands of rows are classified once each, in short histories, although workers are killed. Readers see the task only
// move forward.
func TestHistories_thousandsOfRows(t *testing.T) {
	n := *classified
	s := newStackOn(t, localtemporal.Options{HistoryEvents: 60})
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		return llmtest.Answer(labelEach(c), llmtest.Usage{Input: 100, Output: 10}).After(100 * time.Millisecond)
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
	states := sequence{id: id}
	done, err := s.client.Watch(t.Context(), id, func(now task.Task) { require.NoError(t, states.add(now)) })
	require.NoError(t, err)
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	lines := s.results(id, "results.jsonl")
	require.Len(t, lines, n)
	for i, line := range lines {
		require.Equal(t, fmt.Sprintf("r%d", i), line.ID)
		require.Equal(t, "succeeded", line.Status)
	}
	require.Greater(t, s.countRuns(id), 1, "the task continued as new")
	s.requireShortHistories(id, 0)
}
