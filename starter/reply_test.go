package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// requestInput makes a task with open requests and returns its id.
func (d *desk) requestInput(requests ...task.InputRequest) string {
	d.t.Helper()
	code, out, errOut := d.run("submit", "summary", d.write("a.txt", "text"))
	require.Zero(d.t, code, errOut)
	id := out[:len(out)-1]
	d.tasks.Change(id, func(t *task.Task) {
		t.Status, t.InputRequests = task.InputRequired, map[string]task.InputRequest{}
		for _, r := range requests {
			t.InputRequests[r.ID] = r
		}
	})
	return id
}

func TestReply(t *testing.T) {
	t.Parallel()
	approval := task.InputRequest{ID: "call-1-1", Kind: "approval", Tool: "book", Arguments: json.RawMessage(`{"room":7}`)}
	question := task.InputRequest{ID: "call-1-2", Kind: "question", Question: "Sea or hills?", Choices: []string{"sea", "hills"}}
	d := newDesk(t, nil)

	id := d.requestInput(approval, question)
	_, out, _ := d.run("get", id)
	require.Contains(t, out, `call-1-1: may book be called with {"room":7}?`)
	require.Contains(t, out, "call-1-2: Sea or hills? (sea, hills)")

	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"the only approval": {[]string{"approve", "ID"}, "approve "},
		"changed":           {[]string{"approve", "ID", "--arguments", `{"room":8}`}, `approve {"room":8}`},
		"named":             {[]string{"deny", "ID", "call-1-1", "--reason", "too dear"}, "deny too dear"},
		"the only question": {[]string{"answer", "ID", "hills"}, "answer hills"},
		"a message":         {[]string{"tell", "ID", "hurry"}, "message hurry"},
	} {
		id := d.requestInput(approval, question)
		test.args[1] = id
		code, _, errOut := d.run(test.args...)
		require.Zero(t, code, name+errOut)
		_, out, _ := d.run("get", id, "--json")
		var got task.Task
		require.NoError(t, json.Unmarshal([]byte(out), &got))
		require.Equal(t, test.want, got.Progress.Message, name)
	}

	id = d.requestInput(approval, question)
	code, _, errOut := d.run("deny", id)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "name one: call-1-1, call-1-2")
	code, _, errOut = d.run("approve", id, "--arguments", "{half")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "--arguments must be JSON")
}

// The reason of a wait is in the line once, also for a paused task.
func TestStatusLine_waits(t *testing.T) {
	t.Parallel()
	for want, now := range map[string]task.Task{
		"processing · waiting (rate_limit): its turn": {Status: task.Processing, Waiting: &task.Waiting{Reason: "rate_limit", Detail: "its turn"}},
		"processing · waiting (no_worker)":            {Status: task.Processing, Waiting: &task.Waiting{Reason: "no_worker"}},
		"paused · since noon":                         {Status: task.Paused, Waiting: &task.Waiting{Reason: "paused", Detail: "since noon"}},
		"paused · since noon: lunch": {
			Status: task.Paused, Waiting: &task.Waiting{Reason: "paused", Detail: "since noon: lunch"}, Progress: task.Progress{Message: "turn 3"},
			InputRequests: map[string]task.InputRequest{"call-1-1": {ID: "call-1-1", Kind: "question"}},
		},
		"succeeded (partial)": {Status: task.Succeeded, Done: true, Outcome: task.Partial},
		"failed":              {Status: task.Failed, Done: true, Outcome: task.Partial},
		"processing · fetch · waiting (rate_limit): its turn": {
			Status: task.Processing, Progress: task.Progress{Step: "fetch", Message: "fetching"}, Waiting: &task.Waiting{Reason: "rate_limit", Detail: "its turn"}, Retrying: &task.Retrying{},
		},
		"processing · fetch · retrying fetch (attempt 2): no route": {
			Status: task.Processing, Progress: task.Progress{Step: "fetch", Message: "fetching"}, Retrying: &task.Retrying{Step: "fetch", Attempt: 2, LastError: "no route"},
		},
	} {
		require.Equal(t, want, statusLine(now))
	}
}

// Wasted and unknown usage is in the line where there is any.
func TestUsageText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 request, 10 tokens in, 5 out", usageText(task.Usage{Requests: 1, InputTokens: 10, OutputTokens: 5}))
	require.Equal(t, "0 requests, 0 tokens in, 0 out, 75 wasted, unknown for 1 call, 0.5 USD",
		usageText(task.Usage{WastedTokens: 75, UnmeteredCalls: 1, Cost: &task.Cost{Amount: 0.5, Currency: "USD"}}))
}
