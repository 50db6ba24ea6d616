package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"time"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// chaosTask is one task of TestChaos, from its submission to the end of its replay.
type chaosTask struct {
	*chaos
	n      int
	kind   string
	items  int
	poison bool // an item fails until chaos.healed is set
	cancel bool
	ids    []string // of the task, then of its replay
	last   task.Task
}

// unitMark matches the marker of a row.
var unitMark = regexp.MustCompile(`\[u-\d+-\d+\]`)

// unitsOf returns the items that a call asks about. Rows that share a call are separate items, because a repeated call
// may group them differently.
func unitsOf(call llmtest.Call) []string {
	switch {
	case call.Inputs != nil:
		units := make([]string, len(call.Inputs))
		for i, in := range call.Inputs {
			units[i] = "vector of " + in
		}
		return units
	case strings.Contains(call.Prompt, "<text name="):
		return unitMark.FindAllString(call.Prompt[strings.Index(call.Prompt, "<text name="):], -1)
	default:
		return []string{call.Hash}
	}
}

// agentTurn returns the next turn of an agent: two safe calls, an unsafe call, an approved call, and the answer.
func agentTurn(call llmtest.Call) llmtest.Reply {
	var body struct {
		Messages []struct{ Role, Content string }
	}
	_ = json.Unmarshal(call.Body, &body) // valid JSON, because the provider has parsed it
	turns := 0
	for _, m := range body.Messages {
		if m.Role == "assistant" {
			turns++
		}
	}
	name := unitMark.FindString(call.Prompt)
	plan := []llmtest.Reply{callTool("look", name+"a", name+"b"), callTool("book", name+"one"), callTool("pay", name+"two"), finalAnswer("# Done " + name)}
	return plan[min(turns, len(plan)-1)]
}

// body returns the request body with which the task is submitted.
func (f *chaosTask) body() map[string]any {
	mark := func(i int) string { return fmt.Sprintf("[u-%d-%d]", f.n, i) }
	rows := func(n int) []any {
		f.items = n
		all := make([]any, n)
		for i := range all {
			all[i] = map[string]any{"text": mark(i) + " the keeper lit the lamp"}
		}
		return all
	}
	docs := func(n int) []task.Document {
		f.items = n
		all := make([]task.Document, n)
		for i := range all {
			all[i] = task.Document{Name: mark(i), Text: mark(i) + " The keeper lit the lamp.\n\n" + story(400)}
		}
		return all
	}
	kinds := []string{"summary", "generate", "agent", "classify", "video", "embed", "qa", "summary"}
	f.kind, f.poison = kinds[f.n%len(kinds)], f.n%len(kinds) == 7
	f.cancel = !f.poison && f.n%13 == 9
	var input any
	switch f.kind {
	case "summary":
		in := task.SummaryInput{Documents: docs(4), Digest: !f.poison}
		if f.poison {
			in.Documents[2].Text = fmt.Sprintf("[poison-%d] ", f.n) + in.Documents[2].Text
		}
		input = in
	case "qa":
		d := docs(2)
		f.items = 2
		input = task.QAInput{Documents: d, Questions: []string{"Who lit the lamp of " + mark(7) + "?", "And when, " + mark(8) + "?"}}
	case "generate":
		input = map[string]any{"rows": rows(60), "template": "About {{text}}"}
	case "classify":
		input = map[string]any{"rows": rows(40), "labels": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}, "pack": 5}
	case "embed":
		input = map[string]any{"rows": rows(60)}
	case "agent":
		input = task.AgentInput{Goal: "work for " + mark(0), Tools: []task.ToolSpec{
			f.tools.tool("look", "GET", task.ByPolicy), f.tools.tool("book", "POST", task.Never), f.tools.tool("pay", "POST", task.Always),
		}}
	case "video":
		f.items = 2
		input = task.VideoInput{Prompts: []string{mark(0) + " wave", mark(1) + " wave"}, Seconds: 5}
	}
	return map[string]any{"kind": f.kind, "input": input, "labels": map[string]string{"chaos": fmt.Sprint(f.n)}}
}

// run submits the task, follows it to its end, and replays it if one of its items was made to fail.
func (f *chaosTask) run(ctx context.Context) error {
	order, err := json.Marshal(f.body())
	if err != nil {
		return err
	}
	id, err := f.postUntilAnswered(ctx, "/v1/tasks", string(order), fmt.Sprintf("chaos-%d", f.n))
	if err != nil {
		return err
	}
	if f.cancel {
		r := rand.New(rand.NewPCG(f.seed, uint64(f.n)))
		time.Sleep(time.Duration(r.IntN(2500)) * time.Millisecond)
		if _, err := f.postUntilAnswered(ctx, "/v1/tasks/"+id+"/cancel", "", ""); err != nil {
			return err
		}
	}
	if err := f.follow(ctx, id); err != nil || !f.poison {
		return err
	}
	f.healed.Store(true)
	if f.last.Outcome == task.Full { // healed by another task
		return nil
	}
	if id, err = f.postUntilAnswered(ctx, "/v1/dead-letters/"+id+"/replay", "", ""); err != nil {
		return err
	}
	return f.follow(ctx, id)
}

// postUntilAnswered repeats a request until the API answers it, as a client should, and returns the id of the task.
func (f *chaosTask) postUntilAnswered(ctx context.Context, path, body, key string) (string, error) {
	for {
		headers := []string{}
		if key != "" {
			headers = []string{"Idempotency-Key", key}
		}
		status, answer := f.post(path, body, headers...)
		var t task.Task
		if status == http.StatusAccepted || status == http.StatusOK {
			err := json.Unmarshal([]byte(answer), &t)
			return t.ID, err
		}
		if status != 0 && status < 500 {
			return "", fmt.Errorf("POST %s of task %d: %d %s", path, f.n, status, answer)
		}
		if err := sleepContext(ctx, 200*time.Millisecond); err != nil {
			return "", err
		}
	}
}

func sleepContext(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow reads a task until it ends, checks the order of its states, and approves what it asks for.
func (f *chaosTask) follow(ctx context.Context, id string) error {
	f.ids = append(f.ids, id)
	states := sequence{id: id}
	begun := time.Now()
	for time.Since(begun) < 4*time.Minute+time.Duration(*chaosMinutes*float64(time.Minute)) {
		status, body := f.get("/v1/tasks/" + id)
		var now task.Task
		if status == http.StatusOK && json.Unmarshal([]byte(body), &now) == nil {
			if err := states.add(now); err != nil {
				return err
			}
			f.last = now
			if now.Done {
				return nil
			}
			for request := range now.InputRequests {
				f.post("/v1/tasks/"+id+"/input", fmt.Sprintf(`{"request":%q,"action":"approve"}`, request))
			}
		} else if status != 0 && status < 500 {
			return fmt.Errorf("GET of task %d, %s: %d %s", f.n, id, status, body)
		}
		if err := sleepContext(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("task %d, %s %s, has not ended: %s %+v %+v", f.n, f.kind, id, f.last.Status, f.last.Waiting, f.last.Retrying)
}

// sequence checks the states of a task in the order in which a reader sees them.
type sequence struct {
	id   string
	last task.Task
}

// add returns an error if the task went back: to a lower revision or percentage, out of a terminal state, or from
// cancelling to anything but cancelled.
func (s *sequence) add(now task.Task) error {
	was := s.last
	s.last = now
	c := now.Progress.Counts
	switch {
	case now.Revision < was.Revision:
		return fmt.Errorf("%s: revision %d (%s) after %d (%s)", s.id, now.Revision, now.Status, was.Revision, was.Status)
	case was.Status.Terminal() && now.Status != was.Status:
		return fmt.Errorf("%s: it was %s and came back to life as %s", s.id, was.Status, now.Status)
	case was.Status == task.Cancelling && now.Status != task.Cancelling && now.Status != task.Cancelled:
		return fmt.Errorf("%s: %s after cancelling", s.id, now.Status)
	case now.Revision == was.Revision && was.Status != "" && now.Status != was.Status:
		return fmt.Errorf("%s: %s and %s have both the revision %d", s.id, was.Status, now.Status, now.Revision)
	case c.Total != c.Succeeded+c.Failed+c.Cancelled+c.Running+c.Pending:
		return fmt.Errorf("%s: counts that do not add up: %+v", s.id, c)
	case was.Progress.Percent != nil && now.Progress.Percent != nil && *now.Progress.Percent < *was.Progress.Percent:
		return fmt.Errorf("%s: %d %% after %d %%", s.id, *now.Progress.Percent, *was.Progress.Percent)
	}
	return nil
}
