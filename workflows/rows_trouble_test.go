package workflows_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"longhaul/activities"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// down is a provider that says when it will be back.
func down() llmtest.Reply {
	return llmtest.Fail(http.StatusServiceUnavailable, `{"error":{"message":"maintenance"}}`).With("Retry-After", "600")
}

// A row that waits keeps nobody from seeing where its task is.
func TestRows_shownWhileOneWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.On("product 0003.", down(), llmtest.Reply{})
	b.env.RegisterDelayedCallback(func() {
		s := b.state()
		require.Equal(t, "rows", s.Progress.Step)
		require.Equal(t, 5, s.Progress.Counts.Total)
	}, 5*time.Minute)
	s := b.run(b.lay("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: products(5)}, Template: "About {{name}}"}))
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
			b.provider.On("product 0003.", said)
			facts := b.lay("generate", &task.GenerateInput{RowSource: task.RowSource{Rows: products(5)}, Template: "About {{name}}"})
			job := activities.RowsJob{Task: activities.Task{ID: b.id, Tenant: "acme", Lineage: taskID}, Kind: facts.Kind, InputKey: facts.InputKey}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.RegisterActivity(b.do)
			_, err := env.ExecuteActivity(b.do.PlanRows, job)
			require.NoError(t, err)
			_, err = env.ExecuteActivity(b.do.RunRows, activities.RowsRequest{RowsJob: job})
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
	b.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		var items []string
		for i := range c.Inputs {
			items = append(items, llmtest.Item(i, llmtest.Floats([]float32{1, 2, 3})))
		}
		return llmtest.Embeddings(10, items...)
	})
	s := b.run(b.lay("embed", &task.EmbedInput{RowSource: task.RowSource{Rows: products(16)}, Text: "{{name}}", Dimensions: 8}))
	require.Equal(t, 16, s.Progress.Counts.Failed)
	require.LessOrEqual(t, b.provider.Counts().Total, 4, "a call for each shard")
	require.Contains(t, b.lines("errors.jsonl")[0].Error, "leave the dimensions to the model")
}

// A matrix has one width: a model that changes it ends the task with the way out, and not in attempts without end.
func TestEmbed_matrixOfTwoWidths(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.Handle(func(c llmtest.Call) llmtest.Reply {
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
	s := b.run(b.lay("embed", &task.EmbedInput{RowSource: task.RowSource{Rows: products(100)}, Text: "{{name}}", Output: "npy"}))
	require.Equal(t, task.Failed, s.State)
	require.Equal(t, task.BadResponse, s.Error.Code)
	require.Contains(t, s.Error.Detail, "Replay the task with another output")
}

// Vectors of one file are of one model and form, also after a replay of what failed.
func TestEmbed_replayOfAnotherForm(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*task.EmbedInput, *activities.Task){
		"model":      func(_ *task.EmbedInput, t *activities.Task) { t.Model = "another" },
		"dimensions": func(in *task.EmbedInput, _ *activities.Task) { in.Dimensions = 4 },
		"length":     func(in *task.EmbedInput, _ *activities.Task) { in.Unit = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.provider.On("product 0003.", llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"content_filter"}}`))
			in := &task.EmbedInput{RowSource: task.RowSource{Rows: products(5)}, Text: "{{name}}"}
			s := b.run(b.lay("embed", in))
			require.Equal(t, task.Partial, s.Outcome)
			calls := b.provider.Counts().Total

			kept := &activities.Kept{ID: b.id, InputKey: storage.InputKey(b.id, "test")}
			b.id = "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
			b.renew()
			var of activities.Task
			change(in, &of)
			facts := b.lay("embed", in)
			facts.Keep, facts.Model = kept, of.Model
			s = b.run(facts)
			require.Equal(t, task.Failed, s.State)
			require.Contains(t, s.Error.Detail, "replay with scope all")
			require.Equal(t, calls, b.provider.Counts().Total)
		})
	}
}
