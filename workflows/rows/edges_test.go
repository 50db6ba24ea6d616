package rows_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/simplifiedchinese"

	"longhaul/internal/document"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
	"longhaul/workflows"
	"longhaul/workflows/lifecycle"
)

// upload keeps a file and gives a source of its rows.
func (b *bench) upload(name, content string) task.RowSource {
	file, err := b.Parts.Files.Save(b.T.Context(), "acme", name, "", strings.NewReader(content), 64<<20)
	require.NoError(b.T, err)
	return task.RowSource{File: &task.RowFile{FileID: file.ID}}
}

func (b *bench) artifact(name string) []byte {
	text, err := b.Bucket.Get(b.T.Context(), storage.ArtifactKey(b.ID, name))
	require.NoError(b.T, err)
	return text
}

// honest checks that the receipt and the task say what the provider knows.
func (b *bench) honest(s record.Snapshot) {
	b.T.Helper()
	r, spent := b.receipt(), b.Provider.Spent()
	require.Equal(b.T, b.Provider.Counts().Total, r.Calls, "calls")
	require.EqualValues(b.T, spent.Input+spent.Output, s.Usage.InputTokens+s.Usage.OutputTokens+s.Usage.WastedTokens, "tokens")
	require.Equal(b.T, s.Usage, r.Usage)
	require.Equal(b.T, s.Progress.Counts, task.Counts{Total: r.Rows, Succeeded: r.Succeeded, Failed: r.Failed, Cancelled: r.Cancelled})
}

// What an upload may look like, and what each row of it becomes.
func TestRows_files(t *testing.T) {
	t.Parallel()
	var control strings.Builder
	for c := range rune(0x20) {
		control.WriteRune(c)
	}
	odd, err := json.Marshal(map[string]string{"name": control.String() + "\x7f\u0085\u2028😀👩‍🚀"})
	require.NoError(t, err)
	chinese, err := simplifiedchinese.GBK.NewEncoder().String("编号,标题\r\n1,第一行文字\r\n2,第二行文字\r\n")
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		file, content string
		columns       map[string]string
		ids           []string
		errors        []string // "" for a row that succeeds
		prompts       []string // that must have been sent
	}{
		"one row":             {file: "a.jsonl", content: `{"name":"x"}`, ids: []string{""}, errors: []string{""}, prompts: []string{"About x"}},
		"Windows newlines":    {file: "a.csv", content: "id,name\r\n1,x\r\n2,\"y\r\nz\"\r\n", ids: []string{"1", "2"}, errors: []string{"", ""}, prompts: []string{"About y\r\nz"}},
		"duplicate ids":       {file: "a.csv", content: "id,name\n1,x\n1,y\n", ids: []string{"1", "1"}, errors: []string{"", `line 3: the id "1" is already used in line 2`}},
		"characters":          {file: "a.jsonl", content: string(odd), ids: []string{""}, errors: []string{""}, prompts: []string{"About " + control.String() + "\x7f\u0085\u2028😀👩‍🚀"}},
		"GBK":                 {file: "a.csv", content: chinese, columns: map[string]string{"编号": "id", "标题": "name"}, ids: []string{"1", "2"}, errors: []string{"", ""}, prompts: []string{"About 第二行文字"}},
		"one of twenty MB":    {file: "a.jsonl", content: `{"id":"big","name":"` + strings.Repeat("x", 20<<20) + "\"}\n" + `{"name":"x"}`, ids: []string{"", ""}, errors: []string{"line 1: the row has 20971543 bytes, the limit is 16777216", ""}},
		"more than a shard":   {file: "a.jsonl", content: `{"id":"big","name":"` + strings.Repeat("x", 2<<20) + `"}`, ids: []string{"big"}, errors: []string{""}},
		"one without a value": {file: "a.jsonl", content: `{"name":"x"}` + "\n\n" + `{"id":"2"}`, ids: []string{"", "2"}, errors: []string{"", "line 3: it has no name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var sent []string
			b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
				sent = append(sent, c.Prompt)
				return llmtest.Reply{}
			})
			in := &task.GenerateInput{RowSource: b.upload(tt.file, tt.content), Template: "About {{name}}"}
			in.Columns = tt.columns
			s := b.Run(b.WriteInput("generate", in))
			lines := b.lines("results.jsonl")
			require.Len(t, lines, len(tt.errors))
			for i, line := range lines {
				require.Equal(t, tt.ids[i], line.ID)
				require.Contains(t, line.Error, tt.errors[i])
				require.Equal(t, tt.errors[i] == "", line.Status == task.ItemSucceeded, line.Error)
			}
			for _, prompt := range tt.prompts {
				require.Contains(t, sent, prompt)
			}
			b.honest(s)
		})
	}
}

// A file of which nothing can be used says why, and costs nothing.
func TestRows_nothingToDo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, content, template string
		code                    task.Code
		says                    string
	}{
		"no rows":        {"a.jsonl", "", "About {{name}}", task.Invalid, "the input has no rows"},
		"only a header":  {"a.csv", "id,name\n", "About {{name}}", task.Invalid, "the input has no rows"},
		"all rows bad":   {"a.jsonl", "x\ny\n", "About {{name}}", task.AllItemsFailed, "line 1: the row is not JSON"},
		"blank rows":     {"a.jsonl", `"  "` + "\n" + `"\t"`, "{{text}}", task.AllItemsFailed, "there is no text in it"},
		"another column": {"a.csv", "id,name\n1,x\n", "About {{nmae}}", task.Invalid, `unknown column "nmae"; did you mean "name"?`},
		"no template":    {"a.csv", "id,name\n1,x\n", "", task.Invalid, "template: there is none"},
		"a workbook":     {"a.csv", "PK\x03\x04", "About {{name}}", task.WrongMedia, "Excel workbook"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s := b.Run(b.WriteInput("generate", &task.GenerateInput{RowSource: b.upload(tt.file, tt.content), Template: tt.template}))
			require.Equal(t, task.Failed, s.State)
			require.Equal(t, task.None, s.Outcome)
			require.Equal(t, tt.code, s.Error.Code)
			require.Contains(t, s.Error.Detail, tt.says)
			require.Zero(t, b.Provider.Counts().Total)
		})
	}
}

// What can be known before anything is read is refused when the task is made, and says where.
func TestRows_refused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ kind, input, pointer, says string }{
		"template":          {"generate", `{"rows":["a"],"template":"{{x"}`, "/input/template", "line 1, character 1"},
		"text":              {"embed", `{"rows":["a"],"text":"{{}}"}`, "/input/text", "without a column name"},
		"rows and a file":   {"generate", `{"rows":["a"],"file":{"file_id":"x"},"template":"x"}`, "", "rows"},
		"neither":           {"embed", `{}`, "", "rows"},
		"two files":         {"embed", `{"file":{"file_id":"x","url":"https://example.com/x"}}`, "/file", "url"},
		"no rows":           {"embed", `{"rows":[]}`, "/rows", "1"},
		"a label twice":     {"classify", `{"rows":["a"],"labels":[{"name":"a"},{"name":"a"}]}`, "/input/labels/1/name", "twice"},
		"one label":         {"classify", `{"rows":["a"],"labels":[{"name":"a"}]}`, "/labels", "2"},
		"no schema":         {"generate", `{"rows":["a"],"template":"x","output_schema":{"type":"objekt"}}`, "/input/output_schema", "must be one of"},
		"an unknown format": {"embed", `{"rows":["a"],"output":"csv"}`, "/output", "parquet"},
	} {
		_, err := workflows.Inputs{}.Prepare(tt.kind, []byte(tt.input), "", 0)
		require.Error(t, err, name)
		e := task.AsError(err)
		require.Equal(t, task.Invalid, e.Code, name)
		require.NotEmpty(t, e.Errors, name)
		require.Equal(t, tt.pointer, e.Errors[0].Pointer, name)
		require.Contains(t, e.Errors[0].Detail, tt.says, name)
	}
}

// Lines of an OpenAI batch bring their messages, ids and limits along.
func TestGenerate_batchLines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var bodies []string
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		bodies = append(bodies, string(c.Body))
		return llmtest.Reply{}
	})
	const line = `{"custom_id":%q,"method":"POST","url":"/v1/chat/completions","body":{"model":"other","max_tokens":77,"temperature":0.5,"messages":%s}}` + "\n"
	content := fmt.Sprintf(line, "a", `[{"role":"system","content":"Be kind."},{"role":"user","content":"One"},{"role":"assistant","content":"1"},{"role":"user","content":"Two"}]`) +
		fmt.Sprintf(line, "b", `[{"role":"user","content":[{"type":"image_url"}]}]`)
	in := &task.GenerateInput{RowSource: b.upload("a.jsonl", content), System: "Be brief."}
	in.File.Format = "batch"
	s := b.Run(b.WriteInput("generate", in))
	lines := b.lines("results.jsonl")
	require.Equal(t, "a", lines[0].ID)
	require.Contains(t, lines[0].Text, llmtest.Hash("Be brief.\n\nBe kind.\n\nOne\n\n1\n\nTwo"))
	require.Contains(t, bodies[0], `"temperature":0.5`)
	require.Contains(t, bodies[0], "77")
	require.Contains(t, bodies[0], `"model":"test-model"`, "the task says which model is asked")
	require.Contains(t, lines[1].Error, "messages whose contents are texts")
	b.honest(s)
}

func TestRows_address(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		_, _ = w.Write([]byte("name;n\nx;1\ny;2\n"))
	}))
	defer site.Close()
	in := &task.GenerateInput{RowSource: task.RowSource{File: &task.RowFile{URL: site.URL + "/export?format=1"}}, Template: "{{name}} {{n}}"}
	s := b.Run(b.WriteInput("generate", in))
	require.Equal(t, task.Failed, s.State, "it is not public")
	require.Zero(t, b.Provider.Counts().Total)

	b.Parts.Documents.Fetcher = document.NewFetcher(document.FetchOptions{AllowPrivate: []string{"127.0.0.0/8"}})
	b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.Renew()
	s = b.Run(b.WriteInput("generate", in))
	require.Equal(t, task.Full, s.Outcome, "%v", s.Error)
	require.Contains(t, b.lines("results.jsonl")[1].Text, llmtest.Hash("y 2"))
}

// Whichever of several answers fails, all are counted.
func TestGenerate_severalAnswersOfWhichOneFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.On("product 0001.", llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"content_filter"}}`), llmtest.Reply{})
	s := b.Run(b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(4)}, Template: "About {{name}}", N: 3}))
	require.Equal(t, task.Counts{Total: 4, Succeeded: 3, Failed: 1}, s.Progress.Counts)
	require.Equal(t, 4*3, b.Provider.Counts().Total)
	require.Zero(t, b.receipt().Saved)
	b.honest(s)
}

func (b *bench) table(name string) [][]string {
	all, err := csv.NewReader(bytes.NewReader(b.artifact(name))).ReadAll()
	require.NoError(b.T, err)
	return all
}

func TestRows_tables(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.On("two", llmtest.Answer("=1+1, \"so\"\r\n", llmtest.Usage{Input: 1, Output: 1}))
	b.Run(b.WriteInput("generate", &task.GenerateInput{RowSource: rowSource(`{"id":"a","name":"two"}`, `{"id":"b"}`), Template: "{{name}}", Output: "csv"}))
	require.Equal(t, [][]string{
		{"index", "id", "status", "text", "error"},
		{"0", "a", "succeeded", "'=1+1, \"so\"", ""},
		{"1", "b", "failed", "", "row_invalid: it has no name"},
	}, trimmed(b.table("results.csv")))

	b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.Renew()
	b.Provider.Handle(func(llmtest.Call) llmtest.Reply {
		return llmtest.Answer(`{"results":[{"number":1,"labels":["b","a","b"],"confidence":0.5}]}`, llmtest.Usage{Input: 1, Output: 1})
	})
	b.Run(b.WriteInput("classify", &task.ClassifyInput{RowSource: rowSource(`"x"`), Labels: []task.Label{{Name: "a"}, {Name: "b"}}, Multi: true, Output: "csv"}))
	require.Equal(t, [][]string{{"index", "id", "status", "labels", "confidence", "error"}, {"0", "", "succeeded", `["a","b"]`, "0.5", ""}}, b.table("results.csv"))
}

// trimmed is a table without the space around its values.
func trimmed(rows [][]string) [][]string {
	for _, row := range rows {
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
	}
	return rows
}

func TestEmbed_outputs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := task.EmbedInput{RowSource: rowSource(`{"id":"a","text":"one"}`, `{"id":"b"}`, `{"id":"c","text":"two"}`, `{"id":"d","text":"one"}`), Dimensions: 8, Unit: true}
	in.Output = "parquet"
	s := b.Run(b.WriteInput("embed", &in))
	require.Equal(t, 1, b.receipt().Saved, "two texts in a call")
	require.Equal(t, 1, b.receipt().Copies)
	b.honest(s)
	type line struct {
		Error  *string   `parquet:"error,optional"`
		ID     string    `parquet:"id,optional"`
		Index  int64     `parquet:"index"`
		Status string    `parquet:"status,optional"`
		Vector []float32 `parquet:"vector,optional,list"`
	}
	data := b.artifact("vectors.parquet")
	got, err := parquet.Read[line](bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	require.Len(t, got, 4)
	require.Equal(t, "failed", got[1].Status)
	require.Contains(t, *got[1].Error, "it has no text")
	require.Nil(t, got[1].Vector)
	require.Equal(t, "succeeded", got[2].Status)
	require.Equal(t, got[0].Vector, got[3].Vector)
	length := 0.0
	for _, x := range got[0].Vector {
		length += float64(x) * float64(x)
	}
	require.Len(t, got[0].Vector, 8)
	require.InDelta(t, 1, length, 1e-5)

	// The same lineage asks for the same vectors: nothing is paid.
	b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.Renew()
	in.Output = "npy"
	s = b.Run(b.WriteInput("embed", &in))
	require.Zero(t, s.Usage.Requests)
	require.Zero(t, b.receipt().Calls)
	require.Zero(t, b.receipt().Saved, "what an earlier task paid was not saved by sharing")
	data = b.artifact("vectors.npy")
	require.Contains(t, string(data[:128]), "'shape': (4, 8)")
	at := func(row, column int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(data[128+4*(8*row+column):]))
	}
	require.Len(t, data, 128+4*4*8)
	for i := range 8 {
		require.InDelta(t, got[2].Vector[i], at(2, i), 0)
		require.True(t, math.IsNaN(float64(at(1, i))))
	}
}

// A call that did not fit its rows was one too many, and is not told as saved.
func TestClassify_savedIsTrue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.Handle(func(call llmtest.Call) llmtest.Reply {
		if strings.Contains(call.Prompt, "odd") && strings.Count(call.Prompt, "<text name=") > 1 {
			return llmtest.Answer(`{"results":[]}`, llmtest.Usage{Input: 50, Output: 2})
		}
		return labels(call)
	})
	in := &task.ClassifyInput{RowSource: rowSource(`"a"`, `"b"`, `"c"`, `"odd"`, `"e"`, `"f"`), Labels: []task.Label{{Name: "toys"}, {Name: "tools"}}, Pack: 3}
	s := b.Run(b.WriteInput("classify", in))
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, 1+1+3, b.Provider.Counts().Total)
	require.Equal(t, 6-5, b.receipt().Saved)
	b.honest(s)
}

// What is wrong with one of the rows that share a call is that row's alone.
func TestRows_oneOfACall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		refusal llmtest.Reply
		kind    string
		calls   int
	}{
		"classify, filtered": {llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"content_filter"}}`), "classify", 1 + 8},
		"classify, no label": {llmtest.Answer(`{"results":[{"number":1,"labels":["frogs"],"confidence":1}]}`, llmtest.Usage{Input: 9, Output: 9}), "classify", 2 + 7 + 2},
		"embed, refused":     {llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"this text is odd","type":"invalid_request_error"}}`), "embed", 1 + 2*3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Provider.Handle(func(call llmtest.Call) llmtest.Reply {
				switch {
				case strings.Contains(call.Prompt, "odd"):
					return tt.refusal
				case call.Inputs != nil:
					return llmtest.Reply{}
				}
				return labels(call)
			})
			rows := rowSource(`"a"`, `"b"`, `"c"`, `"odd"`, `"e"`, `"f"`, `"g"`, `"h"`)
			var in lifecycle.Input = &task.EmbedInput{RowSource: rows}
			if tt.kind == "classify" {
				in = &task.ClassifyInput{RowSource: rows, Labels: []task.Label{{Name: "toys"}, {Name: "tools"}}}
			}
			s := b.Run(b.WriteInput(tt.kind, in))
			require.Equal(t, task.Counts{Total: 8, Succeeded: 7, Failed: 1}, s.Progress.Counts)
			require.Equal(t, tt.calls, b.Provider.Counts().Total)
			b.honest(s)

			before := b.Provider.Counts().Total
			b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
			b.Renew()
			b.Provider.Handle(func(call llmtest.Call) llmtest.Reply {
				if call.Inputs != nil {
					return llmtest.Reply{}
				}
				return labels(call)
			})
			s = b.Run(b.WriteInput(tt.kind, in))
			require.Equal(t, task.Full, s.Outcome)
			require.Equal(t, before+1, b.Provider.Counts().Total, "a replay pays for the row that failed alone")
			require.EqualValues(t, 1, s.Usage.Requests)
		})
	}
}

// Whoever cuts a task off: it keeps what is done, and tells all that was spent.
func TestRows_cutOff(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*bench, *record.Facts){
		"cancel": func(b *bench, _ *record.Facts) {
			b.Env.RegisterDelayedCallback(b.Env.CancelWorkflow, 5*time.Minute)
		},
		"deadline": func(b *bench, f *record.Facts) { f.Deadline = new(b.Env.Now().Add(5 * time.Minute)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Provider.On("product 0003.", llmtest.RateLimit(600), llmtest.Reply{})
			facts := b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(40)}, Template: "About {{name}}"})
			cut(b, &facts)
			s := b.Run(facts)
			require.Equal(t, task.Partial, s.Outcome)
			require.Equal(t, 39, s.Progress.Counts.Succeeded)
			require.NotEqual(t, task.ItemSucceeded, b.lines("results.jsonl")[3].Status)
			require.Len(t, b.lines("errors.jsonl"), 1)
			b.honest(s)
		})
	}
}

// A budget ends a task with what it has; it is overshot by about a shard.
func TestRows_budget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Price(1)
	b.Provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Answer("Words.", llmtest.Usage{Input: 9, Output: 1}) })
	facts := b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(1000)}, Template: "About {{name}}"})
	facts.Budget = 2000 // two hundred rows
	s := b.Run(facts)
	require.Equal(t, task.BudgetExceeded, s.Error.Code)
	require.Equal(t, task.Partial, s.Outcome)
	require.InDelta(t, 200, s.Progress.Counts.Succeeded, 64)
	require.Equal(t, 1000, s.Progress.Counts.Succeeded+s.Progress.Counts.Failed)
	require.InDelta(t, 10*b.Provider.Counts().Total, s.Usage.Cost.Amount, 1e-6)
	b.honest(s)
}
