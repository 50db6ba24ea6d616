package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// desk is a command line and the API that it calls.
type desk struct {
	t     *testing.T
	tasks *servertest.Tasks
	srv   *httptest.Server
	dir   string
}

func newDesk(t *testing.T, change func(*server.Parts)) *desk {
	t.Helper()
	tasks := servertest.NewTasks()
	parts := servertest.Parts(t, tasks)
	if change != nil {
		change(&parts)
	}
	return &desk{t: t, tasks: tasks, srv: servertest.Start(t, parts), dir: t.TempDir()}
}

func (d *desk) env(name string) string {
	return map[string]string{"LONGHAUL_API": d.srv.URL, "LONGHAUL_KEY": "k"}[name]
}

func (d *desk) run(args ...string) (code int, out, errOut string) {
	d.t.Helper()
	return d.runIn(d.t.Context(), "", args...)
}

func (d *desk) runIn(ctx context.Context, stdin string, args ...string) (code int, out, errOut string) {
	d.t.Helper()
	var o, e servertest.Buffer
	code = run(ctx, args, d.env, strings.NewReader(stdin), &o, &e)
	return code, o.String(), e.String()
}

func (d *desk) write(name, content string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	require.NoError(d.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func (d *desk) finish(outcome task.Outcome, items ...task.Item) {
	d.tasks.OnCreate = func(id string) {
		half := 50
		d.tasks.Change(id, func(t *task.Task) {
			t.Status, t.Progress = task.Processing, task.Progress{Percent: &half, Step: "summarise", Counts: task.Counts{Total: 2, Succeeded: 1, Running: 1}, ETA: &task.ETA{Seconds: 130}}
		})
		d.tasks.Give(id, items, map[string]string{
			"report.md":  "# 报告\n\nIt was the \x1b[31mbest\n",
			"answers.md": "a file that the agent wrote\n", "a.md": "and another one\n",
		})
		d.tasks.Succeed(id, `{"documents":[]}`, outcome)
	}
}

func TestSubmit_documents(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	path := d.write("年报.txt", "report text")
	code, out, errOut := d.runIn(t.Context(), "from a pipe", "submit", "summary", path, "https://example.com/a.pdf?x=1", "-",
		"--words", "200", "--digest", "--set", "language=zh", "--label", "project=atlas", "--label", "n=1", "--priority", "2", "--delay", "90s", "--deadline", "2h", "--model", "m", "--budget", "1.5", "--notify", "ops@example.com")
	require.Equal(t, exitDone, code, errOut)
	require.Equal(t, "task-1\n", out)
	require.Contains(t, errOut, "longhaul watch task-1")

	draft := d.tasks.Drafts()[0]
	var input task.SummaryInput
	require.NoError(t, json.Unmarshal(draft.Input, &input))
	require.Equal(t, 200, input.Words)
	require.True(t, input.Digest)
	require.Equal(t, "zh", input.Language)
	require.Len(t, input.Documents, 3)
	require.Equal(t, "年报.txt", input.Documents[0].Name)
	require.Len(t, input.Documents[0].FileID, 45)
	require.Equal(t, "https://example.com/a.pdf?x=1", input.Documents[1].URL)
	require.Equal(t, "from a pipe", input.Documents[2].Text)
	require.Equal(t, map[string]string{"project": "atlas", "n": "1"}, draft.Labels)
	require.Equal(t, 2, draft.Priority)
	require.Equal(t, 90*time.Second, draft.Delay)
	require.Equal(t, "m", draft.Model)
	require.InDelta(t, 1.5, draft.Budget, 0)
	require.Equal(t, "ops@example.com", draft.Email)
	require.NotEmpty(t, draft.IdempotencyKey)
}

func TestSubmit_input(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	file := d.write("in.json", `{"documents":[{"text":"a"}],"words":50}`)
	for name, args := range map[string][]string{
		"inline": {"--input", `{"documents":[{"text":"a"}],"words":50}`},
		"file":   {"--input", "@" + file},
		"stdin":  {"--input", "@-"},
	} {
		code, out, errOut := d.runIn(t.Context(), `{"documents":[{"text":"a"}],"words":50}`, append([]string{"--json", "submit", "summary", "--idempotency-key", name}, args...)...)
		require.Equal(t, exitDone, code, errOut)
		require.Contains(t, out, `"object": "task"`)
	}
	for _, draft := range d.tasks.Drafts() {
		require.JSONEq(t, `{"documents":[{"text":"a"}],"words":50}`, string(draft.Input))
	}
}

// The flag of a list of texts may be repeated; commas and brackets are part of the text.
func TestSubmit_listOfTexts(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(p *server.Parts) {
		p.Kinds = append(p.Kinds, task.KindInfo{Name: "qa", InputSchema: schema.Of(task.QAInput{}), Example: []byte("{}")})
	})
	code, _, errOut := d.run("submit", "qa", d.write("a.txt", "a"), "--questions", "When, and why?", "--questions", `["who"]`, "--mode", "full")
	require.Equal(t, exitDone, code, errOut)
	var input task.QAInput
	require.NoError(t, json.Unmarshal(d.tasks.Drafts()[0].Input, &input))
	require.Equal(t, []string{"When, and why?", `["who"]`}, input.Questions)
	require.Equal(t, task.FullText, input.Mode)
	require.Len(t, input.Documents, 1)
}

func TestSubmit_watchPrintsTheReport(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.finish(task.Full)
	code, out, errOut := d.run("submit", "summary", d.write("a.txt", "a"), "--watch")
	require.Equal(t, exitDone, code, errOut)
	require.Equal(t, "# 报告\n\nIt was the [31mbest\n", out, "control characters are removed")
	require.Contains(t, errOut, "succeeded")

	code, out, _ = d.run("result", "task-1", "--json")
	require.Equal(t, exitDone, code)
	require.JSONEq(t, `{"documents":[]}`, out)

	saved := filepath.Join(d.dir, "out.md")
	code, out, errOut = d.run("watch", "task-1", "--output", saved)
	require.Equal(t, exitDone, code, errOut)
	require.Empty(t, out)
	text, err := os.ReadFile(saved)
	require.NoError(t, err)
	require.Contains(t, string(text), "# 报告")
}

func TestWatch_partial(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.finish(task.Partial,
		task.Item{ID: "a", Status: task.ItemSucceeded, Name: "good.txt"},
		task.Item{ID: "b", Index: 1, Status: task.ItemFailed, Name: "scan.pdf", Error: task.Errorf(task.NoText, "page 1 is a picture")})
	code, out, errOut := d.run("submit", "summary", d.write("a.txt", "a"), "--watch")
	require.Equal(t, exitDone, code)
	require.Contains(t, out, "# 报告")
	require.Contains(t, errOut, "failed: scan.pdf: Document without text: page 1 is a picture")
	require.NotContains(t, errOut, "good.txt")
}

func TestWatch_failedAndCancelled(t *testing.T) {
	t.Parallel()
	for _, status := range []task.State{task.Failed, task.Cancelled} {
		d := newDesk(t, nil)
		d.tasks.OnCreate = func(id string) {
			d.tasks.Change(id, func(t *task.Task) {
				t.Status, t.Error = status, task.Errorf(task.ModelAuth, "401 from the provider")
			})
		}
		code, out, errOut := d.run("submit", "summary", d.write("a.txt", "a"), "--watch")
		require.Equal(t, exitFailed, code)
		require.Empty(t, out)
		require.Contains(t, errOut, "401 from the provider")
		code, _, _ = d.run("result", "task-1")
		require.Equal(t, exitFailed, code)
	}
}

func TestWatch_interrupted(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	code, id, _ := d.run("submit", "summary", d.write("a.txt", "a"))
	require.Equal(t, exitDone, code)
	ctx, interrupt := context.WithCancel(t.Context())
	var errOut servertest.Buffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"watch", strings.TrimSpace(id)}, d.env, strings.NewReader(""), io.Discard, &errOut)
	}()
	require.Eventually(t, func() bool { return strings.Contains(errOut.String(), "pending") }, 30*time.Second, 5*time.Millisecond)
	interrupt()
	require.Equal(t, exitDone, <-done)
	require.Contains(t, errOut.String(), "Watch it again with: longhaul watch task-1")
	_, out, _ := d.run("get", "task-1", "--json")
	require.Contains(t, out, `"status": "pending"`)
}

func TestOtherCommands(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.finish(task.Full, task.Item{ID: "a", Status: task.ItemSucceeded, Name: "a.txt"})
	code, _, errOut := d.run("submit", "summary", d.write("a.txt", "a"), "--label", "x=y", "--watch")
	require.Equal(t, exitDone, code, errOut)
	d.tasks.OnCreate = nil
	code, _, _ = d.run("submit", "summary", d.write("a.txt", "a"))
	require.Equal(t, exitDone, code)
	tests := map[string]struct {
		args []string
		want string
	}{
		"get":             {[]string{"get", "task-1"}, "labels    x=y"},
		"list":            {[]string{"list"}, "task-1"},
		"list, filtered":  {[]string{"list", "--label", "x=y", "--status", "succeeded", "--json"}, `"object": "list"`},
		"items":           {[]string{"items", "task-1"}, "a.txt"},
		"items, JSON":     {[]string{"items", "task-1", "--json"}, `"name": "a.txt"`},
		"kinds":           {[]string{"kinds"}, "Summarise documents"},
		"kind":            {[]string{"kinds", "summary"}, "maximum number of words of a summary"},
		"cancel":          {[]string{"cancel", "task-2"}, "cancelling"},
		"artifact":        {[]string{"result", "task-1", "--artifact", "report.md"}, "# 报告"},
		"version":         {[]string{"version"}, "longhaul "},
		"help":            {[]string{"--help"}, "submit"},
		"help of a kind":  {[]string{"submit", "summary", "--help"}, "--words"},
		"help of submit":  {[]string{"submit", "--help"}, "--watch"},
		"address by flag": {[]string{"--api", d.srv.URL, "submit", "summary", "--input", `{"documents":[{"text":"a"}]}`}, "task-"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := d.run(tt.args...)
			require.Equal(t, exitDone, code, errOut)
			require.Contains(t, out, tt.want)
		})
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"too few":          {[]string{"answer", "task-1"}, exitUsage, "usage: longhaul answer ID TEXT"},
		"too many":         {[]string{"dead", "show", "a", "b"}, exitUsage, "usage: longhaul dead show ID"},
		"unknown command":  {[]string{"sumbit"}, exitUsage, "unknown command"},
		"unknown flag":     {[]string{"list", "--colour"}, exitUsage, "--colour"},
		"unknown setting":  {[]string{"submit", "summary", "--wrods", "3"}, exitUsage, "--wrods"},
		"no kind":          {[]string{"submit"}, exitUsage, "longhaul kinds"},
		"unknown kind":     {[]string{"submit", "sumary"}, exitUsage, `did you mean "summary"?`},
		"unknown field":    {[]string{"submit", "summary", "--set", "wrods=3"}, exitUsage, `unknown field "wrods"; a task of kind summary has the fields: digest, documents, instructions, language, words`},
		"wrong type":       {[]string{"submit", "summary", "--words", "many"}, exitUsage, "words must be a whole number"},
		"no equals sign":   {[]string{"submit", "summary", "--label", "x"}, exitUsage, "key=value"},
		"no such file":     {[]string{"submit", "summary", "nope.pdf"}, exitUsage, "nope.pdf"},
		"a folder":         {[]string{"submit", "summary", d.dir}, exitUsage, "is not a file"},
		"bad input":        {[]string{"submit", "summary", "--input", "{\n!"}, exitUsage, "--input: not JSON: invalid character '!' looking for beginning of object key string at line 2, column 1"},
		"repeated key":     {[]string{"submit", "summary", "--input", `{"words":1,"words":2}`}, exitUsage, `--input: the key "words" occurs twice`},
		"no object":        {[]string{"submit", "summary", "--input", "null"}, exitUsage, "--input: must be a JSON object"},
		"refused":          {[]string{"submit", "summary", "--words", "1"}, exitUsage, "/input/documents"},
		"output, no watch": {[]string{"submit", "summary", "--output", "x.md"}, exitUsage, "--watch"},
		"no id":            {[]string{"get"}, exitUsage, "accepts 1 arg"},
		"unknown task":     {[]string{"watch", "nope"}, exitUsage, `no task "nope"`},
		"bad address":      {[]string{"list", "--api", "localhost"}, exitUsage, "http://127.0.0.1:8080"},
		"no API":           {[]string{"list", "--api", "http://127.0.0.1:1"}, exitUnreachable, "No answer from the API: http://127.0.0.1:1"},
		"no API, submit":   {[]string{"submit", "summary", "--api", "http://127.0.0.1:1"}, exitUnreachable, "No answer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &desk{t: t, srv: d.srv, dir: d.dir}
			code, out, errOut := d.run(tt.args...)
			require.Equal(t, tt.code, code, out+errOut)
			require.Contains(t, errOut, tt.want)
			require.Empty(t, out)
		})
	}
	t.Cleanup(func() { require.Empty(t, d.tasks.Drafts()) })
}

func TestKey_sentAndNotShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(p *server.Parts) { p.Keys = map[string]string{"k": "a"} })
	code, _, errOut := d.run("list")
	require.Equal(t, exitDone, code, errOut)
	code, _, errOut = d.run("list", "--key", "wrong-marker")
	require.Equal(t, exitUsage, code)
	require.NotContains(t, errOut, "wrong-marker")
}
