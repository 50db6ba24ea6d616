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
	"longhaul/internal/task"
)

// unknownModel is a failure that no retry can resolve.
func unknownModel() llmtest.Reply {
	return llmtest.Fail(http.StatusNotFound, `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`)
}

// chapters returns a document of n parts of about a thousand tokens, each with a marker.
func chapters(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Chapter [part-%03d].\n\n%s\n\n", i, story(600))
	}
	return b.String()
}

// replay replays a task and waits for the end of the replay.
func (s *stack) replay(id string, order task.ReplayOrder) task.Task {
	s.t.Helper()
	t, err := s.client.Replay(s.soon(), id, order, "")
	require.NoError(s.t, err)
	return s.finish(t.ID)
}

// After a late failure a replay pays only for the part that failed.
func TestReplay_lateFailurePaysNothingTwice(t *testing.T) {
	s := newStack(t, "LONGHAUL_LLM_CHUNK_TOKENS=1000", "LONGHAUL_WORKER_LLM_CONCURRENCY=8")
	s.provider.On("[part-036]", unknownModel())
	id := s.submit(task.SummaryInput{Documents: []task.Document{{Name: "book", Text: chapters(40)}}})
	failed := s.finish(id)
	require.Equal(t, task.Failed, failed.Status)
	require.True(t, failed.DeadLetter)
	before := s.provider.Counts().Total

	letter, err := s.client.DeadLetter(s.soon(), id)
	require.NoError(t, err)
	require.Equal(t, task.ModelUnknown, letter.Failures[0].Code)
	require.Equal(t, "summarise", letter.Failures[0].Step)
	require.NotEmpty(t, letter.Cause)
	require.NotEmpty(t, letter.Fix)
	require.Len(t, letter.Failures[0].Tries, 1)
	require.Contains(t, letter.Failures[0].Tries[0].Said, "does not exist")
	require.EqualValues(t, before-1, letter.Usage.Requests)

	s.provider.On("[part-036]", llmtest.Reply{})
	done := s.replay(id, task.ReplayOrder{})
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	require.Equal(t, id, done.ReplayOf)
	for i := range 40 {
		calls := len(s.provider.CallsWith(fmt.Sprintf("[part-%03d]", i)))
		if i == 36 {
			require.Equal(t, 2, calls, "the failed part is called again")
		} else {
			require.Equal(t, 1, calls, "part %d is paid for once", i)
		}
	}
	require.EqualValues(t, s.provider.Counts().Total-before, done.Usage.Requests, "a replay reports only what it adds")
	letter, err = s.client.DeadLetter(s.soon(), id)
	require.NoError(t, err)
	require.Equal(t, task.DeadReplayed, letter.Status)
	require.Equal(t, done.ID, letter.Replays[0].TaskID)

	// A second replay changes nothing and costs nothing.
	free := s.replay(done.ID, task.ReplayOrder{Scope: task.ScopeAll})
	require.Equal(t, task.Full, free.Outcome)
	require.Zero(t, free.Usage.Requests)
}

// A replay of any kind keeps what succeeded and makes calls only for the rest, with another model if the request names
// one.
func TestReplay_keepsWhatSucceeded(t *testing.T) {
	tests := map[string]struct {
		kind  string
		input func(s *stack) any
		again int // calls that the replay makes
	}{
		"summary": {"summary", func(*stack) any { return notes(5) }, 1},
		"qa": {"qa", func(*stack) any {
			return task.QAInput{Documents: []task.Document{{Name: "log", Text: "The harbour was rebuilt in 1911."}}, Questions: []string{"When? [doc-000]", "Where? [doc-001]", "Why? [doc-002]"}}
		}, 1},
		"generate": {"generate", func(s *stack) any {
			rows := []map[string]string{}
			for i := range 5 {
				rows = append(rows, map[string]string{"name": fmt.Sprintf("[doc-%03d]", i)})
			}
			return map[string]any{"rows": rows, "template": "About {{name}}"}
		}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStack(t)
			s.provider.Handle(answering(func(llmtest.Call) time.Duration { return 0 }))
			s.provider.On("[doc-001]", unknownModel())
			id := s.begin(test.kind, test.input(s), nil)
			partial := s.finish(id)
			require.Equal(t, task.Partial, partial.Outcome, "%+v", partial.Error)
			require.True(t, partial.DeadLetter)
			before := s.provider.Counts().Total

			s.provider.On("[doc-001]", answerOf("better"))
			started, err := s.client.Replay(s.soon(), id, task.ReplayOrder{Overrides: task.Overrides{Model: "another-model"}}, "")
			require.NoError(t, err)
			require.Equal(t, partial.Progress.Counts.Succeeded, started.Replay.Kept, "the replay reports the kept items")
			done := s.finish(started.ID)
			require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
			require.Equal(t, test.again, s.provider.Counts().Total-before, "only the failed item is called again")
			require.Equal(t, "another-model", s.provider.Calls()[before].Model)
			for i, item := range s.everyItem(done.ID) {
				require.Equal(t, task.ItemSucceeded, item.Status)
				require.Equal(t, i != 1, item.Cached, "item %d", i)
			}
			require.Equal(t, partial.Progress.Counts.Total, done.Progress.Counts.Succeeded)
		})
	}
}

// answerOf is a valid answer to any question.
func answerOf(text string) llmtest.Reply {
	answer, _ := json.Marshal(map[string]any{"answer": text, "supported": false, "citations": []any{}, "needs_everything": false})
	return llmtest.Answer(string(answer), llmtest.Usage{Input: 10, Output: 5})
}

// A bulk replay begins with a canary and replays each dead letter once, even if two bulk replays run. What fails again is
// not replayed again.
func TestReplay_bulk(t *testing.T) {
	const n = 12
	s := newStack(t, "LONGHAUL_WORKER_LLM_CONCURRENCY=8")
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return unknownModel() })
	for i := range n {
		s.submit(task.SummaryInput{Documents: []task.Document{{Name: "n", Text: fmt.Sprintf("Report %d: the bridge is sound.", i)}}})
	}
	var groups []task.DeadGroup
	require.Eventually(t, func() bool {
		var err error
		groups, err = s.client.DeadGroups(s.soon())
		require.NoError(t, err)
		return len(groups) == 1 && groups[0].Tasks == n
	}, time.Minute, 200*time.Millisecond)
	require.Equal(t, task.ModelUnknown, groups[0].Code)
	require.Equal(t, n, s.provider.Counts().Total)

	bulk := task.ReplayInput{Fingerprint: groups[0].Fingerprint, PerMinute: 6000}
	first, err := s.client.ReplayMany(s.soon(), bulk, "")
	require.NoError(t, err)
	stopped := s.finish(first.ID)
	require.Equal(t, task.Failed, stopped.Status)
	require.Equal(t, task.CanaryFailed, stopped.Error.Code)
	require.Equal(t, n+1, s.provider.Counts().Total, "the canary is a single task")
	var told struct {
		Replays []struct {
			Status task.ItemStatus `json:"status"`
			TaskID string          `json:"task_id"`
		}
	}
	require.NoError(t, json.Unmarshal(stopped.Result, &told))
	require.Len(t, told.Replays, n)
	for _, replay := range told.Replays {
		require.Equal(t, replay.Status == task.ItemFailed, replay.TaskID != "", "a failed replay names its task")
	}
	letters, err := s.client.DeadLetters(s.soon(), "")
	require.NoError(t, err)
	require.Len(t, letters, n, "the failed replay replaces its original in the list")

	s.provider.Handle(llmtest.Default)
	one, err := s.client.ReplayMany(s.soon(), bulk, "")
	require.NoError(t, err)
	other, err := s.client.ReplayMany(s.soon(), bulk, "")
	require.NoError(t, err)
	a, b := s.finish(one.ID), s.finish(other.ID)
	require.Equal(t, n+1+n, s.provider.Counts().Total, "two bulk replays replay each task once: %+v %+v", a.Progress.Counts, b.Progress.Counts)
	require.Equal(t, n, a.Progress.Counts.Succeeded+b.Progress.Counts.Succeeded)
	require.Eventually(t, func() bool {
		letters, err = s.client.DeadLetters(s.soon(), "")
		return err == nil && len(letters) == 0
	}, 30*time.Second, 100*time.Millisecond)
}

// A dead letter can be discarded with a reason, and a workflow that was terminated in Temporal becomes a dead letter.
func TestDeadLetters_discardAndTerminate(t *testing.T) {
	s := newStack(t)
	s.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(llmtest.Forever) })
	id := s.submit(notes(2))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	c := s.cluster()
	defer c.Close()
	require.NoError(t, c.Client.TerminateWorkflow(t.Context(), id, "", "by hand"))
	var letters []task.DeadLetter
	require.Eventually(t, func() bool {
		var err error
		letters, err = s.client.DeadLetters(s.soon(), "")
		return err == nil && len(letters) == 1
	}, 30*time.Second, 200*time.Millisecond)
	require.Equal(t, id, letters[0].ID)
	require.Equal(t, task.Terminated, letters[0].Error.Code)

	gone, err := s.client.Discard(s.soon(), id, "it was a test")
	require.NoError(t, err)
	require.Equal(t, task.DeadDiscarded, gone.Status)
	letters, err = s.client.DeadLetters(s.soon(), "")
	require.NoError(t, err)
	require.Empty(t, letters)
	status, body := s.post("/v1/dead-letters/"+id+"/replay", "")
	require.Equal(t, http.StatusConflict, status, body)
	require.Contains(t, body, "it was a test")
}

// A replay of an agent repeats no turn that succeeded, no tool call, and no question to a person.
func TestReplay_agent(t *testing.T) {
	d := newToolServer(t)
	s := newStack(t, d.allowPrivate())
	turns := []llmtest.Reply{
		llmtest.ToolCalls(llmtest.Usage{Input: 10, Output: 5}, llmtest.ToolCall{Name: "book", Arguments: `{"q":"a room"}`}),
		llmtest.ToolCalls(llmtest.Usage{Input: 10, Output: 5}, llmtest.ToolCall{Name: "look", Arguments: `{"q":"a train"}`}),
		unknownModel(),
	}
	s.provider.On("plan the trip", turns...)
	id := s.begin("agent", task.AgentInput{Goal: "plan the trip", Tools: []task.ToolSpec{
		d.tool("book", http.MethodPost, task.Always), d.tool("look", http.MethodGet, task.Never),
	}}, nil)
	_, err := s.client.Input(s.soon(), id, task.Reply{Request: s.waitInput(id).ID, Action: task.Approve})
	require.NoError(t, err)
	failed := s.finish(id)
	require.Equal(t, task.Failed, failed.Status, "%+v", failed)
	require.Len(t, d.requests(), 2)
	before := s.provider.Counts().Total

	s.provider.On("plan the trip", llmtest.Answer("The trip is planned.", llmtest.Usage{Input: 10, Output: 5}))
	done := s.replay(id, task.ReplayOrder{})
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	require.Equal(t, 1, s.provider.Counts().Total-before, "only the failed turn is repeated")
	require.Len(t, d.requests(), 2, "no tool call is repeated")
}
