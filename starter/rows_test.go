package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// newRowsDesk is a desk with the kinds over rows. Their tasks end at once.
func newRowsDesk(t *testing.T) *desk {
	d := newDesk(t, func(p *server.Parts) {
		for name, in := range map[string]any{"generate": task.GenerateInput{}, "classify": task.ClassifyInput{}, "embed": task.EmbedInput{}} {
			p.Kinds = append(p.Kinds, task.KindInfo{Name: name, InputSchema: schema.Of(in), Example: []byte("{}")})
		}
	})
	d.tasks.OnCreate = func(id string) {
		d.tasks.Give(id, nil, map[string]string{"results.csv": "index,id\r\n0,a\r\n", "errors.jsonl": ""})
		d.tasks.Change(id, func(t *task.Task) { t.Simulated = true })
		d.tasks.Succeed(id, `{"rows":1,"output":"results.csv","errors":"errors.jsonl"}`, task.Full)
	}
	return d
}

func TestRows_submit(t *testing.T) {
	t.Parallel()
	d := newRowsDesk(t)
	file := d.write("rows.csv", "subject\r\nx\r\n")
	saved := filepath.Join(d.dir, "out.csv")
	for name, tt := range map[string]struct {
		args []string
		want string // of the input, without its file
	}{
		"generate":        {[]string{"generate", file, "--template", "About {{name}}", "--n", "3", "--max-tokens", "9"}, `{"template":"About {{name}}","n":3,"max_tokens":9}`},
		"classify":        {[]string{"classify", file, "--text", "{{subject}}", "--set", `labels=[{"name":"a"},{"name":"b"}]`, "--multi"}, `{"text":"{{subject}}","labels":[{"name":"a"},{"name":"b"}],"multi":true}`},
		"the form":        {[]string{"embed", file, "--set", "output=parquet"}, `{"output":"parquet"}`},
		"a file's form":   {[]string{"generate", file, "--template", "x", "--watch", "--output", saved}, `{"template":"x","output":"csv"}`},
		"the form is set": {[]string{"embed", file, "--set", "output=npy", "--watch", "--output", filepath.Join(d.dir, "x.parquet")}, `{"output":"npy"}`},
		"a receipt":       {[]string{"embed", file, "--watch", "--output", filepath.Join(d.dir, "x.json")}, `{}`},
		"columns":         {[]string{"embed", "https://example.com/t.csv", "--set", `columns={"标题":"text"}`}, `{"columns":{"标题":"text"}}`},
	} {
		code, _, errOut := d.run(append([]string{"submit"}, tt.args...)...)
		require.Equal(t, exitDone, code, name+errOut)
		drafts := d.tasks.Drafts()
		var input map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(drafts[len(drafts)-1].Input, &input))
		require.Contains(t, input, "file", name)
		delete(input, "file")
		rest, err := json.Marshal(input)
		require.NoError(t, err)
		require.JSONEq(t, tt.want, string(rest), name)
	}
	text, err := os.ReadFile(saved)
	require.NoError(t, err)
	require.Equal(t, "index,id\r\n0,a\r\n", string(text), "a file gets the results")
	receipt, err := os.ReadFile(filepath.Join(d.dir, "x.json"))
	require.NoError(t, err)
	require.Contains(t, string(receipt), `"rows"`)
}

// Standard output gets the receipt, and a note says how to get the file.
func TestRows_result(t *testing.T) {
	t.Parallel()
	d := newRowsDesk(t)
	code, out, errOut := d.run("submit", "generate", "--input", `{"rows":["a"],"template":"x"}`, "--watch")
	require.Equal(t, exitDone, code, errOut)
	require.Contains(t, out, `"rows": 1`)
	require.Contains(t, errOut, "longhaul result task-1 --output results.csv")
	require.Contains(t, errOut, "The model was simulated", "the files do not say so")

	code, _, errOut = d.run("submit", "embed", d.write("a.csv", "text\nx\n"), "--output", "parquet")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "--set output=FORM")
	for _, name := range []string{"e.csv", "e.xlsx"} {
		code, _, errOut = d.run("submit", "embed", d.write("a.csv", "text\nx\n"), "--watch", "--output", filepath.Join(d.dir, name))
		require.Equal(t, exitUsage, code)
		require.Contains(t, errOut, "a task of kind embed cannot write "+name[2:]+": use the extension jsonl, parquet, npy")
		require.NoFileExists(t, filepath.Join(d.dir, name))
	}
	code, _, errOut = d.run("submit", "generate", "a.csv", "b.csv", "--template", "x")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "a task over rows takes one file")
}

// Rows may come from standard input.
func TestRows_standardInput(t *testing.T) {
	t.Parallel()
	d := newRowsDesk(t)
	code, _, errOut := d.runIn(t.Context(), "name,price\nlamp,10\n", "submit", "generate", "-", "--template", "About {{name}}")
	require.Equal(t, exitDone, code, errOut)
	drafts := d.tasks.Drafts()
	var input struct{ File task.RowFile }
	require.NoError(t, json.Unmarshal(drafts[len(drafts)-1].Input, &input))
	require.NotEmpty(t, input.File.FileID)
}

// The results of a task that missed its deadline are written to --output, and its unfinished rows are not listed one by one.
func TestRows_deadline(t *testing.T) {
	t.Parallel()
	d := newRowsDesk(t)
	why := task.Errorf(task.DeadlineExceeded, "the deadline came")
	d.tasks.OnCreate = func(id string) {
		items := []task.Item{
			{ID: "0", Status: task.ItemSucceeded},
			{ID: "1", Index: 1, Status: task.ItemFailed, Error: why},
			{ID: "2", Index: 2, Status: task.ItemFailed, Error: task.Errorf(task.RowInvalid, "line 4: bad")},
		}
		d.tasks.Give(id, items, map[string]string{"results.csv": "index,id\r\n0,a\r\n", "errors.jsonl": ""})
		d.tasks.Succeed(id, `{"rows":3,"output":"results.csv"}`, task.Partial)
		d.tasks.Change(id, func(t *task.Task) { t.Status, t.Error = task.Failed, why })
	}
	saved := filepath.Join(d.dir, "out.csv")
	code, _, errOut := d.run("submit", "generate", "--input", `{"rows":["a","b","c"],"template":"x"}`, "--watch", "--output", saved)
	require.Equal(t, exitFailed, code, errOut)
	text, err := os.ReadFile(saved)
	require.NoError(t, err)
	require.Equal(t, "index,id\r\n0,a\r\n", string(text))
	require.Contains(t, errOut, "line 4: bad")
	require.NotContains(t, errOut, "item 2")
	require.Equal(t, 1, strings.Count(errOut, "the deadline came"), errOut)

	_, _, errOut = d.run("submit", "generate", "--input", `{"rows":["a","b","c"],"template":"x"}`, "--watch")
	require.Contains(t, errOut, "Finished items are kept. Fetch them with: longhaul result task-2")
}
