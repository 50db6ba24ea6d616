package rows_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	activities "longhaul/activities/rows"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
)

// down is a provider that says when it will be back.
func down() llmtest.Reply {
	return llmtest.Fail(http.StatusServiceUnavailable, `{"error":{"message":"maintenance"}}`).With("Retry-After", "600")
}

// A row that waits keeps nobody from seeing where its task is.
func TestRows_shownWhileOneWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.On("product 0003.", down(), llmtest.Reply{})
	b.Env.RegisterDelayedCallback(func() {
		s := b.State()
		require.Equal(t, "rows", s.Progress.Step)
		require.Equal(t, 5, s.Progress.Counts.Total)
	}, 5*time.Minute)
	s := b.Run(b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(5)}, Template: "About {{name}}"}))
	require.Equal(t, task.Full, s.Outcome)
}

// What rows wait for is what their provider said: one that is down has no limit that is used up.
func TestRows_waitSaysWhy(t *testing.T) {
	t.Parallel()
	for reply, code := range map[string]task.Code{"down": task.ModelUnavailable, "limit": task.RateLimited} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			said := map[string]llmtest.Reply{"down": down(), "limit": llmtest.RateLimit(600)}[reply]
			b.Provider.On("product 0003.", said)
			facts := b.WriteInput("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: workflowtest.Rows(5)}, Template: "About {{name}}"})
			job := activities.RowsJob{Task: record.TaskRef{ID: b.ID, Tenant: "acme", Lineage: workflowtest.TaskID}, Kind: facts.Kind, InputKey: facts.InputKey}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			do := activities.New(b.Parts).(*activities.Activities)
			env.RegisterActivity(do.PlanRows)
			env.RegisterActivity(do.RunRows)
			_, err := env.ExecuteActivity(do.PlanRows, job)
			require.NoError(t, err)
			_, err = env.ExecuteActivity(do.RunRows, activities.RowsRequest{RowsJob: job})
			failed, ok := errors.AsType[*temporal.ApplicationError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, string(code), failed.Type(), failed.Message())
		})
	}
}

// A model that gives vectors of another length gives them for every text: its rows are not asked about again in halves.
func TestEmbed_otherDimensions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		var items []string
		for i := range c.Inputs {
			items = append(items, llmtest.Item(i, llmtest.Floats([]float32{1, 2, 3})))
		}
		return llmtest.Embeddings(10, items...)
	})
	s := b.Run(b.WriteInput("embed", &task.EmbedInput{RowSource: task.RowSource{Rows: workflowtest.Rows(16)}, Text: "{{name}}", Dimensions: 8}))
	require.Equal(t, 16, s.Progress.Counts.Failed)
	require.LessOrEqual(t, b.Provider.Counts().Total, 4, "a call for each shard")
	require.Contains(t, b.lines("errors.jsonl")[0].Error, "leave the dimensions to the model")
}

// A matrix has one width: a model that changes it ends the task with the way out, and not in attempts without end.
func TestEmbed_matrixOfTwoWidths(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		width := 3
		if strings.Contains(c.Inputs[0], "product 0000.") {
			width = 4
		}
		var items []string
		for i := range c.Inputs {
			items = append(items, llmtest.Item(i, llmtest.Floats(make([]float32, width))))
		}
		return llmtest.Embeddings(10, items...)
	})
	s := b.Run(b.WriteInput("embed", &task.EmbedInput{RowSource: task.RowSource{Rows: workflowtest.Rows(100)}, Text: "{{name}}", Output: "npy"}))
	require.Equal(t, task.Failed, s.State)
	require.Equal(t, task.BadResponse, s.Error.Code)
	require.Contains(t, s.Error.Detail, "Replay the task with another output")
}

// Vectors of one file are of one model and form, also after a replay of what failed.
func TestEmbed_replayOfAnotherForm(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*task.EmbedInput, *record.TaskRef){
		"model":      func(_ *task.EmbedInput, t *record.TaskRef) { t.Model = "another" },
		"dimensions": func(in *task.EmbedInput, _ *record.TaskRef) { in.Dimensions = 4 },
		"length":     func(in *task.EmbedInput, _ *record.TaskRef) { in.Unit = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Provider.On("product 0003.", llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"content_filter"}}`))
			in := &task.EmbedInput{RowSource: task.RowSource{Rows: workflowtest.Rows(5)}, Text: "{{name}}"}
			s := b.Run(b.WriteInput("embed", in))
			require.Equal(t, task.Partial, s.Outcome)
			calls := b.Provider.Counts().Total

			kept := &record.Kept{ID: b.ID, InputKey: storage.InputKey(b.ID, "test")}
			b.ID = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
			b.Renew()
			var of record.TaskRef
			change(in, &of)
			facts := b.WriteInput("embed", in)
			facts.Keep, facts.Model = kept, of.Model
			s = b.Run(facts)
			require.Equal(t, task.Failed, s.State)
			require.Contains(t, s.Error.Detail, "replay with scope all")
			require.Equal(t, calls, b.Provider.Counts().Total)
		})
	}
}
