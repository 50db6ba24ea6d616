// Package translate is the workflow of the kind translate: each document is read, translated part by part, and stored.
package translate

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities/call"
	docs "longhaul/activities/documents"
	"longhaul/activities/results"
	activities "longhaul/activities/translate"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/workflows/documents"
	"longhaul/workflows/lifecycle"
)

const stepTranslate = "translate"

var (
	steps        = []string{lifecycle.StepFetch, lifecycle.StepExtract, stepTranslate, lifecycle.StepStore}
	readingSteps = documents.Steps{Fetch: lifecycle.StepFetch, Read: lifecycle.StepExtract}

	do *activities.Activities // names activities; never called
)

// Kind describes the kind.
func Kind() lifecycle.Kind {
	return lifecycle.Kind{
		Name: "translate", Title: "Translate documents",
		Description: "Translates documents or texts of any length into another language, part by part, and keeps their form as Markdown.",
		Steps:       steps,
		Input:       func() lifecycle.Input { return new(task.TranslateInput) },
		Example:     `{"kind":"translate","input":{"documents":[{"name":"note","text":"# Harbour\n\nIt was rebuilt in **1911**."}],"language":"German"}}`,
		Workflow:    Run,
		Activities:  activities.New,
		Simulate:    activities.Simulate,
	}
}

// batchesAtOnce is how many batches of documents are worked on side by side: together they fill the window of calls.
const batchesAtOnce = 16

// Carry is the progress that the task takes into its next run.
type Carry struct {
	Plan      activities.Plan `json:"plan,omitzero"`
	Next      int             `json:"next,omitempty"` // the first batch that has not been started
	Succeeded int             `json:"succeeded,omitempty"`
	Failed    int             `json:"failed,omitempty"`
	Cut       []results.Cut   `json:"cut,omitempty"` // documents that a cancel or the deadline cut off
}

// Run translates a batch of documents, a few at a time.
func Run(ctx workflow.Context, start record.Start[Carry]) (record.Ending, error) {
	return lifecycle.Execute(ctx, start, steps, func(run *lifecycle.Run) lifecycle.Work {
		t := &translation{run: run, calls: workflow.NewSemaphore(ctx, lifecycle.MaxCalls)}
		if start.Carry != nil {
			t.Carry = *start.Carry
		}
		t.window.Room = func() bool { return t.window.Running < batchesAtOnce }
		return t
	})
}

// translation is a task at work.
type translation struct {
	Carry
	run     *lifecycle.Run
	window  lifecycle.Window // of batches
	calls   workflow.Semaphore
	running int // documents
}

// Do plans the documents and translates them.
func (t *translation) Do(ctx workflow.Context) error {
	if t.Plan.Documents == 0 {
		req := record.PlanRequest{Task: t.run.Facts.Ref(), InputKey: t.run.Facts.InputKey}
		options := lifecycle.DocumentWork(ctx, lifecycle.StepFetch, "plan the documents")
		if err := workflow.ExecuteActivity(options, do.PlanTranslation, req).Get(ctx, &t.Plan); err != nil {
			return err
		}
		t.Succeeded = t.Plan.Kept
	}
	t.show(ctx)
	batches, urls := documents.Batches(t.run.Facts.Ref(), t.Plan.Groups)
	t.window.Run(ctx, func(workflow.Context) func(workflow.Context) {
		if t.Next == len(batches) {
			return nil
		}
		batch := batches[t.Next]
		t.Next++
		return func(ctx workflow.Context) { t.batch(ctx, batch, urls) }
	})
	if t.Next < len(batches) && ctx.Err() == nil {
		return lifecycle.ContinueAsNew(ctx, t.run, &t.Carry)
	}
	return nil
}

// Finish stores the results.
func (t *translation) Finish(ctx workflow.Context, why *task.Error) (finished results.Finished, err error) {
	req := activities.FinishRequest{Task: t.run.Facts.Ref(), InputKey: t.run.Facts.InputKey, Reason: why, Cut: t.Cut}
	options := lifecycle.DocumentWork(ctx, lifecycle.StepStore, "store the results")
	err = workflow.ExecuteActivity(options, do.FinishTranslation, req).Get(ctx, &finished)
	return finished, err
}

// batch fetches and reads documents together and takes each to its outcome.
func (t *translation) batch(ctx workflow.Context, req docs.ReadRequest, urls []int) {
	t.running += len(req.Indexes)
	t.show(ctx)
	texts, err := documents.ReadBatch(ctx, readingSteps, req, urls)
	t.run.Enter(stepTranslate)
	lifecycle.Each(ctx, len(req.Indexes), len(req.Indexes), func(ctx workflow.Context, i int) error {
		d := &document{translation: t, group: req.Group, index: req.Indexes[i], label: fmt.Sprintf("document %d", req.Indexes[i]+1)}
		if err != nil {
			d.end(ctx, err)
		} else {
			d.end(ctx, d.translate(ctx, texts[i]))
		}
		return nil
	})
}

// show publishes how far the task is.
func (t *translation) show(ctx workflow.Context) {
	done := t.Succeeded + t.Failed
	t.run.CheckBudget()
	t.run.Advance(ctx, float64(done)/float64(t.Plan.Documents), task.Counts{
		Total: t.Plan.Documents, Succeeded: t.Succeeded, Failed: t.Failed, Running: t.running, Pending: t.Plan.Documents - done - t.running,
	})
}

// document is one document at work.
type document struct {
	*translation
	group, index int
	label        string
	used         results.ItemSoFar
	last         call.Answer
}

// end counts the outcome of a document. A document that was cut off gets its outcome when the results are stored.
func (d *document) end(ctx workflow.Context, err error) {
	d.running--
	switch {
	case err != nil && ctx.Err() != nil:
		d.Cut = append(d.Cut, results.Cut{Index: d.index, Usage: d.used.Usage, Calls: d.used.Calls})
	case err != nil:
		d.Failed++
		documents.Fail(ctx, stepTranslate, d.label, docs.FailRequest{
			Task: d.run.Facts.Ref(), Group: d.group, Index: d.index, Error: lifecycle.FailedAt(err), Usage: d.used.Usage, Calls: d.used.Calls,
		})
	default:
		d.Succeeded++
	}
	d.show(ctx)
}

// translate takes a document that was read to its stored translation.
func (d *document) translate(ctx workflow.Context, read docs.Document) error {
	d.label = task.Brief(read.Label)
	if read.Error != nil {
		read.Error.Step = lifecycle.StepExtract
		return read.Error
	}
	answers, parts := make([][]string, len(read.Ends)), make([][]docs.Part, len(read.Ends))
	errs := lifecycle.Each(ctx, len(read.Ends), len(read.Ends), func(ctx workflow.Context, i int) (err error) {
		part := docs.Part{End: read.Ends[i]}
		if i > 0 {
			part.Start = read.Ends[i-1]
		}
		answers[i], parts[i], err = d.part(ctx, part, i+1, len(read.Ends), 0)
		return err
	})
	if err := lifecycle.FirstError(errs); err != nil {
		return err
	}
	req := activities.StoreRequest{
		Task: d.run.Facts.Ref(), Group: d.group, Index: d.index, Parts: slices.Concat(parts...), Answers: slices.Concat(answers...),
		Item: d.used, Model: d.last.By, Fake: d.last.Simulated,
	}
	clean, _ := workflow.NewDisconnectedContext(ctx) // it is paid for
	options := lifecycle.DocumentWork(clean, stepTranslate, "store the translation of "+d.label)
	return workflow.ExecuteActivity(options, do.StoreTranslation, req).Get(clean, nil)
}

// part translates a part, in halves if it is too long for the model.
func (d *document) part(ctx workflow.Context, part docs.Part, number, of, depth int) ([]string, []docs.Part, error) {
	answer, err := d.call(ctx, activities.PartRequest{Task: d.run.Facts.Ref(), Group: d.group, Index: d.index, Part: part, Number: number, Of: of})
	switch {
	case err == nil:
		return []string{answer.Key}, []docs.Part{part}, nil
	case !lifecycle.TooLong(err) || depth == documents.MaxHalvings:
		return nil, nil, err
	}
	halves, halveErr := documents.Halve(ctx, stepTranslate, docs.HalveRequest{Task: d.run.Facts.Ref(), Index: d.index, Part: part})
	if halveErr != nil || len(halves) < 2 {
		return nil, nil, err
	}
	var answers []string
	var parts []docs.Part
	for _, half := range halves {
		more, of, err := d.part(ctx, half, number, of, depth+1)
		if err != nil {
			return nil, nil, err
		}
		answers, parts = append(answers, more...), append(parts, of...)
	}
	return answers, parts, nil
}

// call makes one model call when the window has room, and counts what it used.
func (d *document) call(ctx workflow.Context, req activities.PartRequest) (answer call.Answer, err error) {
	if err := d.calls.Acquire(ctx, 1); err != nil {
		return answer, err
	}
	defer d.calls.Release(1)
	summary := fmt.Sprintf("translate %s, part %d of %d", d.label, req.Number, req.Of)
	err = lifecycle.RunPaid(ctx, lifecycle.ModelCall(ctx, stepTranslate, req.Task, summary), do.TranslatePart, req, &answer)
	used := lifecycle.Spent(answer, err)
	d.used.Usage, d.used.Calls = d.used.Usage.Add(used.Usage), d.used.Calls+used.Calls
	d.run.Spend(ctx, answer, err)
	d.run.CheckBudget()
	if err == nil {
		d.last = answer
	}
	return answer, err
}
