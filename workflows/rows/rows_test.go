package rows_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	activities "longhaul/activities/rows"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
)

// resultLine is a line of a file of results.
type resultLine struct {
	Index  int
	ID     string
	Status task.ItemStatus
	Error  string

	Text       string
	JSONs      []json.RawMessage
	Label      string
	Labels     []string
	Confidence float64
	Vector     []float32
}

func (b *bench) lines(artifact string) (all []resultLine) {
	text, err := b.Bucket.Get(b.T.Context(), storage.ArtifactKey(b.ID, artifact))
	require.NoError(b.T, err)
	for line := range strings.Lines(string(text)) {
		var l resultLine
		require.NoError(b.T, json.Unmarshal([]byte(line), &l))
		all = append(all, l)
	}
	return all
}

func (b *bench) receipt() (r activities.RowsReceipt) {
	require.NoError(b.T, b.Bucket.GetJSON(b.T.Context(), storage.ResultKey(b.ID), &r))
	return r
}

func rowSource(rows ...string) (s task.RowSource) {
	for _, row := range rows {
		s.Rows = append(s.Rows, json.RawMessage(row))
	}
	return s
}

func TestGenerate_everyRowOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.Run(b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(300)}, Template: "Write about {{name}}", System: "Be brief."}))

	require.NoError(t, b.Env.GetWorkflowError())
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, task.Counts{Total: 300, Succeeded: 300}, s.Progress.Counts)
	require.Equal(t, 300, b.Provider.Counts().Total)
	require.Empty(t, b.Provider.Repeats())
	lines := b.lines("results.jsonl")
	require.Len(t, lines, 300)
	for i, line := range lines {
		require.Equal(t, i, line.Index)
		require.Equal(t, fmt.Sprintf("p%d", i), line.ID)
		prompt := fmt.Sprintf("Be brief.\n\nWrite about product %04d.", i)
		require.Contains(t, line.Text, llmtest.Hash(prompt), "a row has another's text")
	}
	spent := b.Provider.Spent()
	require.EqualValues(t, spent.Input+spent.Output, s.Usage.InputTokens+s.Usage.OutputTokens)
	r := b.receipt()
	require.Equal(t, s.Usage, r.Usage)
	require.Equal(t, 300, r.Calls)
}

func TestGenerate_badRowsCostNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.Run(b.WriteInput("generate", &task.GenerateInput{
		RowSource: rowSource(`{"name":"a"}`, `{"other":"b"}`, `7`, `{"name":"c"}`), Template: "About {{name}}",
	}))
	require.Equal(t, task.Partial, s.Outcome)
	require.Equal(t, task.Counts{Total: 4, Succeeded: 2, Failed: 2}, s.Progress.Counts)
	require.Equal(t, 2, b.Provider.Counts().Total)
	failed := b.lines("errors.jsonl")
	require.Len(t, failed, 2)
	require.Contains(t, failed[0].Error, "row_invalid: it has no name")
	require.Equal(t, 2, failed[1].Index)

	for name, in := range map[string]*task.GenerateInput{
		"no column":   {RowSource: rowSource(`{"nmae":"a"}`), Template: "About {{name}}"},
		"no template": {RowSource: rowSource(`{"name":"a"}`), Template: "About {{name"},
	} {
		b.ID = "task_" + strings.Repeat(string(name[3]), 26)
		b.Renew()
		before := b.Provider.Counts().Total
		s = b.Run(b.WriteInput("generate", in))
		require.Equal(t, task.Failed, s.State, name)
		require.Equal(t, task.Invalid, s.Error.Code, name)
		require.Contains(t, s.Error.Detail, "template", name)
		require.Equal(t, before, b.Provider.Counts().Total)
	}
}

// Rows of one text are paid once, wherever they stand.
func TestGenerate_sameRowsShareACall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rows := workflowtest.Rows(150)
	for i := range 50 {
		rows = append(rows, json.RawMessage(fmt.Sprintf(`{"id":"again%d","name":"product %04d."}`, i, i)))
	}
	s := b.Run(b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: rows}, Template: "About {{name}}"}))
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, 150, b.Provider.Counts().Total)
	lines := b.lines("results.jsonl")
	require.Len(t, lines, 200)
	for i := range 50 {
		require.Equal(t, lines[i].Text, lines[150+i].Text)
		require.Equal(t, fmt.Sprintf("again%d", i), lines[150+i].ID)
	}
	require.Equal(t, 50, b.receipt().Copies)
	require.EqualValues(t, 150, s.Usage.Requests)
}

func TestGenerate_failures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	broken := llmtest.Fail(http.StatusInternalServerError, `{"error":{"message":"oops"}}`)
	b.Provider.On("product 0001.", broken, llmtest.Reply{})
	b.Provider.On("product 0002.", llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"content_filter"}}`))
	b.Provider.On("product 0003.", llmtest.RateLimit(1), llmtest.Reply{})
	b.Parts.Call.MaxAttempts = 2
	s := b.Run(b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(6)}, Template: "About {{name}}"}))
	require.Equal(t, task.Partial, s.Outcome)
	lines := b.lines("results.jsonl")
	for i, line := range lines {
		require.Equal(t, i != 2, line.Status == task.ItemSucceeded, "row %d: %v", i, line.Error)
	}
	require.Contains(t, lines[2].Error, "content_filtered: ")
	require.Equal(t, 6+2, b.Provider.Counts().Total)
	require.Equal(t, 8, b.receipt().Calls, "attempts told are calls made")

	// A second task of the same lineage pays for the one that failed alone.
	b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.Renew()
	b.Provider.On("product 0002.", llmtest.Reply{})
	s = b.Run(b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(6)}, Template: "About {{name}}"}))
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, 8+1, b.Provider.Counts().Total)
	require.EqualValues(t, 1, s.Usage.Requests)
	require.Equal(t, 1, b.receipt().Calls)
}

func TestGenerate_severalAnswersAndSchema(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := 0
	b.Provider.Handle(func(llmtest.Call) llmtest.Reply {
		n++
		return llmtest.Answer(fmt.Sprintf(`{"n":%d}`, n), llmtest.Usage{Input: 10, Output: 5})
	})
	form := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []string{"n"}}
	s := b.Run(b.WriteInput("generate", &task.GenerateInput{RowSource: rowSource(`{"name":"a"}`), Template: "About {{name}}", N: 3, OutputSchema: form}))
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, 3, b.Provider.Counts().Total)
	require.Len(t, b.lines("results.jsonl")[0].JSONs, 3)
}

// labels answers a packed call: every text about a product gets the label toys with its number's parity.
func labels(call llmtest.Call) llmtest.Reply {
	var lines []string
	for i := range strings.Count(call.Prompt, "<text name=") {
		lines = append(lines, fmt.Sprintf(`{"number":%d,"labels":["toys"],"confidence":0.9}`, i+1))
	}
	return llmtest.Answer(`{"results":[`+strings.Join(lines, ",")+`]}`, llmtest.Usage{Input: 100, Output: 11 * len(lines)})
}

func TestClassify_packs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.Handle(labels)
	in := &task.ClassifyInput{RowSource: task.RowSource{Rows: workflowtest.Rows(100)}, Text: "{{name}}", Labels: []task.Label{{Name: "toys"}, {Name: "tools"}}}
	s := b.Run(b.WriteInput("classify", in))
	require.Equal(t, task.Full, s.Outcome)
	require.LessOrEqual(t, b.Provider.Counts().Total, 15, "twenty rows share a call, as far as a shard has them")
	for _, line := range b.lines("results.jsonl") {
		require.Equal(t, "toys", line.Label)
		require.InDelta(t, 0.9, line.Confidence, 0.001)
	}
	spent := b.Provider.Spent()
	require.EqualValues(t, spent.Input, s.Usage.InputTokens, "the shares of all rows are the whole")
	require.EqualValues(t, spent.Output, s.Usage.OutputTokens)
	r := b.receipt()
	require.Equal(t, 100-b.Provider.Counts().Total, r.Saved)
	job := activities.RowsJob{Task: record.TaskRef{ID: b.ID, Tenant: "acme", Lineage: workflowtest.TaskID}, Kind: "classify", InputKey: storage.InputKey(b.ID, "test")}
	for item, err := range activities.RowItems(t.Context(), b.Bucket, job, 0) {
		require.NoError(t, err)
		require.False(t, item.Cached, "a row that shares a call was paid for by this task")
	}
}

// An answer that does not have exactly one line for each text is not used: its rows are asked about one by one.
func TestClassify_answersThatDoNotMatch(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]string{
		"one missing": `{"results":[{"number":1,"labels":["toys"],"confidence":1},{"number":2,"labels":["toys"],"confidence":1}]}`,
		"one twice":   `{"results":[{"number":1,"labels":["toys"],"confidence":1},{"number":2,"labels":["toys"],"confidence":1},{"number":2,"labels":["tools"],"confidence":1}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Provider.Handle(func(call llmtest.Call) llmtest.Reply {
				if strings.Count(call.Prompt, "<text name=") > 1 {
					return llmtest.Answer(wrong, llmtest.Usage{Input: 100, Output: 30})
				}
				return labels(call)
			})
			s := b.Run(b.WriteInput("classify", &task.ClassifyInput{RowSource: rowSource(`"a"`, `"b"`, `"c"`), Labels: []task.Label{{Name: "toys"}, {Name: "tools"}}}))
			require.Equal(t, task.Full, s.Outcome)
			require.Equal(t, 1+3, b.Provider.Counts().Total)
			require.Equal(t, 4, b.receipt().Calls)
			spent := b.Provider.Spent()
			require.EqualValues(t, spent.Input, s.Usage.InputTokens)
		})
	}
}

func TestEmbed_vectorsOfRows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		if len(c.Inputs) > 20 {
			return llmtest.TooMany(20)
		}
		return llmtest.Reply{}
	})
	s := b.Run(b.WriteInput("embed", &task.EmbedInput{RowSource: task.RowSource{Rows: workflowtest.Rows(200)}, Text: "{{name}}"}))
	require.Equal(t, task.Full, s.Outcome, "%v", s.Error)
	for i, line := range b.lines("vectors.jsonl") {
		require.Equal(t, llmtest.Vector(fmt.Sprintf("product %04d.", i), len(line.Vector)), line.Vector)
	}
	spent := b.Provider.Spent()
	require.EqualValues(t, spent.Input, s.Usage.InputTokens)
	for _, call := range b.Provider.Calls() {
		require.Equal(t, "test-embedding", call.Model)
	}
}

// A cancel keeps the rows that are done.
func TestGenerate_cancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.On("product 0003.", llmtest.RateLimit(600), llmtest.Reply{})
	b.Env.RegisterDelayedCallback(b.Env.CancelWorkflow, 5*60*1e9)
	s := b.Run(b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(5)}, Template: "About {{name}}"}))
	require.Equal(t, task.Cancelled, s.State)
	require.Equal(t, task.Partial, s.Outcome)
	require.Equal(t, task.Counts{Total: 5, Succeeded: 4, Cancelled: 1}, s.Progress.Counts)
	require.Equal(t, task.ItemCancelled, b.lines("results.jsonl")[3].Status)
	require.Equal(t, 5, b.Provider.Counts().Total)
}
