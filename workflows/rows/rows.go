package rows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities/results"
	activities "longhaul/activities/rows"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/workflows/lifecycle"
)

// The steps of a task over rows, as its readers see them.
const (
	stepCheck = "check"
	stepRows  = "rows"
)

var steps = []string{lifecycle.StepFetch, stepCheck, stepRows, lifecycle.StepStore}

var do *activities.Activities // names activities; never called

// rowKind is a kind whose items are the rows of a file.
func rowKind(name, title, description, example string, input func() lifecycle.Input) lifecycle.Kind {
	return lifecycle.Kind{
		Name: name, Title: title, Description: description, Example: example, Input: input,
		Steps: steps, HasRows: true, Workflow: Run, Check: checkRows, Activities: activities.New,
	}
}

func checkRows(in lifecycle.Input) error { return activities.CheckRows(in) }

func Generate() lifecycle.Kind {
	return rowKind("generate", "Generate texts from rows",
		"Writes a text, or JSON of a schema, for every row of a file from a template. Results come as one file in the order of the input; a row is paid once.",
		`{"kind":"generate","input":{"rows":[{"product":"a lighthouse lamp"},{"product":"a brass compass"}],"template":"Write one sentence about {{product}}."}}`,
		func() lifecycle.Input { return new(task.GenerateInput) })
}

func Classify() lifecycle.Kind {
	return rowKind("classify", "Classify rows",
		"Gives every row of a file one of your labels, or several, with how sure the model is. Short rows share a call.",
		`{"kind":"classify","input":{"rows":["My parcel never came.","How do I change my password?"],"labels":[{"name":"delivery","description":"a parcel is late, lost or broken"},{"name":"account","description":"signing in, password, settings"}]}}`,
		func() lifecycle.Input { return new(task.ClassifyInput) })
}

func Embed() lifecycle.Kind {
	kind := rowKind(record.KindEmbed, "Turn rows into vectors",
		"Gives every row of a file its vector. Rows share calls; texts that are the same are paid once.",
		`{"kind":"embed","input":{"rows":["The harbour was rebuilt in 1911.","Larger ships call now."]}}`,
		func() lifecycle.Input { return new(task.EmbedInput) })
	kind.OwnModel = true
	return kind
}

// Carry is the progress that a task takes into its next run.
type Carry struct {
	Plan activities.RowsPlan `json:"plan,omitzero"`
	Next int                 `json:"next,omitempty"` // the first shard that has not been started
	Done activities.RowsDone `json:"done,omitzero"`
}

// shardsAtOnce is how many shards are worked on side by side: enough rows for the lanes of a dozen workers.
const shardsAtOnce = 32

// Run works on the rows of a file: it checks all of them before anything is spent, keeps a window of shards at work,
// and writes one file in the order of the input.
func Run(ctx workflow.Context, start record.Start[Carry]) (record.Ending, error) {
	return lifecycle.Execute(ctx, start, steps, func(run *lifecycle.Run) lifecycle.Work {
		b := &batch{run: run}
		if start.Carry != nil {
			b.Carry = *start.Carry
		}
		return b
	})
}

// batch is a task over rows at work.
type batch struct {
	Carry
	run    *lifecycle.Run
	shards lifecycle.Window
}

func (b *batch) Do(ctx workflow.Context) error {
	if b.Plan.Shards == 0 {
		if err := b.plan(ctx); err != nil {
			return err
		}
	}
	b.shards.Room = func() bool { return b.shards.Running < b.window() }
	b.shards.Run(ctx, func(workflow.Context) func(workflow.Context) {
		if b.Next == b.Plan.Shards {
			return nil
		}
		n := b.Next
		b.Next++
		return func(ctx workflow.Context) { b.shard(ctx, n) }
	})
	if b.Next < b.Plan.Shards && ctx.Err() == nil {
		return lifecycle.ContinueAsNew(ctx, b.run, &b.Carry)
	}
	return nil
}

func (b *batch) Finish(ctx workflow.Context, why *task.Error) (finished results.Finished, err error) {
	books := activities.RowsFinish{RowsJob: b.job(), Rest: why, StartedAt: b.run.State.StartedAt}
	err = workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, lifecycle.StepStore, "write the results"), do.FinishRows, books).Get(ctx, &finished)
	if finished.Usage != nil {
		b.run.State.Usage = *finished.Usage // also of shards that were stopped, which told nothing
	}
	return finished, err
}

// window is how many shards may run now: with a budget, one until it is known what one costs, and then as many as there is money for.
func (b *batch) window() int {
	if b.run.Facts.Budget == 0 {
		return shardsAtOnce
	}
	ended, spent := b.Next-b.shards.Running, b.run.SpentMoney()
	switch {
	case ended == 0:
		return 1
	case spent == 0:
		return shardsAtOnce
	}
	return int(min(max(b.run.BudgetLeft()/(spent/float64(ended)), 1), shardsAtOnce))
}

func (b *batch) job() activities.RowsJob {
	return activities.RowsJob{Task: b.run.Facts.Ref(), Kind: b.run.Facts.Kind, InputKey: b.run.Facts.InputKey}
}

// plan fetches the file and checks every row of it.
func (b *batch) plan(ctx workflow.Context) error {
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, lifecycle.StepFetch, "fetch the rows"), do.FetchRows, b.job()).Get(ctx, nil); err != nil {
		return err
	}
	b.run.Enter(stepCheck)
	b.run.Say(ctx, "checking the rows")
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, stepCheck, "check the rows"), do.PlanRows, b.job()).Get(ctx, &b.Plan); err != nil {
		return err
	}
	b.run.Enter(stepRows)
	b.show(ctx)
	return nil
}

// shard works on one shard and adds what it did. A shard that breaks loses only its rows without an outcome.
func (b *batch) shard(ctx workflow.Context, n int) {
	req := activities.RowsRequest{RowsJob: b.job(), Shard: n}
	t := req.Task
	t.Queue = b.Plan.Queue
	about := fmt.Sprintf("shard %d of %d", n+1, b.Plan.Shards)
	var done activities.RowsDone
	err := lifecycle.RunPaid(ctx, lifecycle.ModelCall(ctx, stepRows, t, about), do.RunRows, req, &done)
	if err != nil && ctx.Err() == nil { // a task that was stopped ends all its shards so
		workflow.GetLogger(ctx).Error("shard ended badly", "task", b.run.Facts.ID, "shard", n, "error", err)
	}
	b.Done = b.Done.Add(done)
	b.show(ctx)
}

// show puts how far the task is before its readers.
func (b *batch) show(ctx workflow.Context) {
	b.run.State.Usage, b.run.State.Simulated = b.Done.Usage, b.Done.Simulated
	done := b.Done.Succeeded + b.Done.Failed
	b.run.CheckBudget()
	b.run.Advance(ctx, float64(done)/float64(max(b.Plan.Rows, 1)), task.Counts{
		Total: b.Plan.Rows, Succeeded: b.Done.Succeeded, Failed: b.Done.Failed, Pending: b.Plan.Rows - done,
	})
}
