package qa

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities/call"
	activities "longhaul/activities/qa"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/workflows/documents"
	"longhaul/workflows/lifecycle"
)

// The steps of a qa task that it does not share, as its readers see them.
const (
	stepIndex  = "index"
	stepAnswer = "answer"
)

var steps = []string{lifecycle.StepFetch, lifecycle.StepExtract, stepIndex, stepAnswer, lifecycle.StepStore}

var do *activities.Activities // names activities; never called

// Kind describes the kind.
func Kind() lifecycle.Kind {
	return lifecycle.Kind{
		Name: "qa", Title: "Answer questions about documents",
		Description: "Answers one or many questions from documents of up to some million words together, with quotes that are checked to stand in the text. Reads the passages that fit a question best, or everything if it takes that. A later task can go on with the same documents.",
		Steps:       steps,
		Input:       func() lifecycle.Input { return new(task.QAInput) },
		Example:     `{"kind":"qa","input":{"documents":[{"name":"note","text":"The harbour was rebuilt in 1911. It is deeper now, and larger ships call."}],"questions":["When was the harbour rebuilt?"]}}`,
		Workflow:    Run,
		Activities:  activities.New,
	}
}

// Carry is the progress that a task takes into its next run.
type Carry struct {
	Plan      activities.QAPlan         `json:"plan,omitzero"`
	Ready     bool                      `json:"ready,omitempty"` // the texts are ready for questions
	Words     *task.Error               `json:"words,omitempty"` // why passages are found by words alone
	Next      int                       `json:"next,omitempty"`  // the first question that nobody has asked yet
	Rest      []int                     `json:"rest,omitempty"`  // questions that take everything, in the order they were found out
	SoFar     map[int]results.ItemSoFar `json:"so_far,omitempty"`
	Succeeded int                       `json:"succeeded,omitempty"`
	Failed    int                       `json:"failed,omitempty"`
	Work      float64                   `json:"work,omitempty"`     // done, in model calls
	Expected  float64                   `json:"expected,omitempty"` // at all, in model calls
}

// Run reads the documents, gets vectors for their passages, and answers every question from the passages that fit it
// best; questions that need all texts are answered after that.
func Run(ctx workflow.Context, start record.Start[Carry]) (record.Ending, error) {
	return lifecycle.Execute(ctx, start, steps, func(run *lifecycle.Run) lifecycle.Work {
		q := &qa{run: run, calls: workflow.NewSemaphore(ctx, lifecycle.MaxCalls)}
		q.window.After = q.show
		if start.Carry != nil {
			q.Carry = *start.Carry
		}
		if q.SoFar == nil {
			q.SoFar = map[int]results.ItemSoFar{}
		}
		return q
	})
}

// qa is a task at work.
type qa struct {
	Carry
	run    *lifecycle.Run
	calls  workflow.Semaphore
	window lifecycle.Window
	cut    []results.Cut
}

// everythingAtOnce is how many questions are answered from all texts side by side: each may take hundreds of calls,
// whose events must fit into one history.
const everythingAtOnce = 2

func (q *qa) Do(ctx workflow.Context) error {
	if !q.Ready {
		if err := q.open(ctx); err != nil {
			return err
		}
		q.vectors(ctx)
		q.Ready = ctx.Err() == nil
	}
	q.run.Enter(stepAnswer)
	q.show(ctx)
	q.sideBySide(ctx, lifecycle.MaxCalls, func() (int, bool) {
		for slices.Contains(q.Plan.Kept, q.Next) {
			q.Next++
			q.Succeeded++
		}
		if q.Next == q.Plan.Questions {
			return 0, false
		}
		q.Next++
		return q.Next - 1, true
	}, q.answer)
	q.sideBySide(ctx, everythingAtOnce, func() (int, bool) {
		if len(q.Rest) == 0 {
			return 0, false
		}
		question := q.Rest[0]
		q.Rest = q.Rest[1:]
		return question, true
	}, q.everything)
	if ctx.Err() == nil && (q.Next < q.Plan.Questions || len(q.Rest) > 0) {
		return lifecycle.ContinueAsNew(ctx, q.run, &q.Carry)
	}
	return nil
}

func (q *qa) Finish(ctx workflow.Context, why *task.Error) (finished results.Finished, err error) {
	for _, question := range q.Rest { // they were asked once, and wait for everything to be read
		q.cutOff(question)
	}
	books := activities.FinishQARequest{
		Task: q.run.Facts.Ref(), InputKey: q.run.Facts.InputKey, Rest: why, Cut: q.cut, Words: q.Words,
	}
	err = workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, lifecycle.StepStore, "store the answers"), do.FinishQA, books).Get(ctx, &finished)
	return finished, err
}

// open reads the documents and makes them ready. A task that goes on from an earlier one has none to read.
func (q *qa) open(ctx workflow.Context) error {
	t := q.run.Facts.Ref()
	read, err := documents.ReadAll(ctx, documents.Steps{Fetch: lifecycle.StepFetch, Read: lifecycle.StepExtract}, t, q.run.Facts.InputKey)
	if err != nil {
		return err
	}
	req := activities.OpenRequest{Task: t, InputKey: q.run.Facts.InputKey}
	for _, d := range read {
		req.Read = append(req.Read, activities.ReadOutcome{Label: d.Label, Error: d.Error})
	}
	q.run.Enter(stepIndex)
	q.run.PublishSoon(ctx)
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, stepIndex, "cut the texts into passages"), do.OpenLibrary, req).Get(ctx, &q.Plan); err != nil {
		return err
	}
	q.Expected = float64(len(q.Plan.Vectors) + q.Plan.Questions)
	if q.Plan.Mode == task.FullText && !q.Plan.Whole {
		q.Next = q.Plan.Questions
		q.Succeeded = len(q.Plan.Kept)
		for question := range q.Plan.Questions {
			if !slices.Contains(q.Plan.Kept, question) {
				q.Rest = append(q.Rest, question)
			}
		}
		q.Expected *= float64(len(q.Plan.Parts) + 1)
	}
	q.show(ctx)
	return nil
}

// sideBySide works on questions as long as there are more.
func (q *qa) sideBySide(ctx workflow.Context, size int, more func() (int, bool), work func(workflow.Context, int) error) {
	q.window.Room = func() bool { return q.window.Running < size }
	q.window.Run(ctx, func(workflow.Context) func(workflow.Context) {
		question, ok := more()
		if !ok {
			return nil
		}
		return func(ctx workflow.Context) { q.end(ctx, question, work(ctx, question)) }
	})
}

// end counts a question's outcome. One that takes everything has none yet.
func (q *qa) end(ctx workflow.Context, question int, err error) {
	switch {
	case errors.Is(err, errEverything):
		q.Rest = append(q.Rest, question)
	case err != nil && ctx.Err() != nil:
		q.cutOff(question)
	case err != nil:
		q.fail(ctx, question, lifecycle.FailedAt(err))
		q.Failed++
	default:
		delete(q.SoFar, question)
		q.Succeeded++
	}
}

// cutOff leaves a question to get its outcome when the books are closed.
func (q *qa) cutOff(question int) {
	so := q.SoFar[question]
	q.cut = append(q.cut, results.Cut{Index: question, Usage: so.Usage, Calls: so.Calls})
}

// fail records a question's failure for those who read the items.
func (q *qa) fail(ctx workflow.Context, question int, why *task.Error) {
	req := activities.QuestionFailed{Task: q.run.Facts.Ref(), Question: question, Error: why, SoFar: q.SoFar[question]}
	about := fmt.Sprintf("record that question %d failed: %s", question+1, why.Code)
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, stepAnswer, about), do.FailQuestion, req).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Error("failure not recorded", "task", q.run.Facts.ID, "item", question, "error", err)
	}
}

// show puts how far the task is before its readers.
func (q *qa) show(ctx workflow.Context) {
	done := q.Succeeded + q.Failed
	q.run.Advance(ctx, q.Work/max(q.Expected, 1), task.Counts{
		Total: q.Plan.Questions, Succeeded: q.Succeeded, Failed: q.Failed,
		Running: q.window.Running, Pending: q.Plan.Questions - done - q.window.Running,
	})
}

// spend adds what a call used to the task, and to its question if it is for one.
func (q *qa) spend(question int, answer call.Answer, err error) {
	used := lifecycle.Spent(answer, err)
	q.run.State.Usage = q.run.State.Usage.Add(used.Usage)
	q.run.State.Simulated = q.run.State.Simulated || answer.Simulated
	q.run.CheckBudget()
	if question >= 0 {
		so := q.SoFar[question]
		so.Usage, so.Calls = so.Usage.Add(used.Usage), so.Calls+used.Calls
		q.SoFar[question] = so
	}
}
