package workflows

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/task"
)

// The steps of a qa task that it does not share, as its readers see them.
const (
	stepIndex  = "index"
	stepAnswer = "answer"
)

var qaSteps = []string{stepFetch, stepExtract, stepIndex, stepAnswer, stepStore}

// qaActivities says to which step each activity belongs.
var qaActivities = map[string]string{
	"PlanDocuments": stepFetch, "FetchDocument": stepFetch, "ReadDocuments": stepExtract,
	"OpenLibrary": stepIndex, "EmbedPassages": stepIndex, "EmbedQuestions": stepIndex,
	"AnswerQuestion": stepAnswer, "SearchPart": stepAnswer, "CombineFindings": stepAnswer, "FailQuestion": stepAnswer,
	"FinishQA": stepStore,
}

// qaKind is the kind qa.
func qaKind() Kind {
	return Kind{
		Name: "qa", Title: "Answer questions about documents",
		Description: "Answers one or many questions from documents of up to some million words together, with quotes that are checked to stand in the text. Reads the passages that fit a question best, or everything if it takes that. A later task can go on with the same documents.",
		Steps:       qaSteps,
		StepOf:      qaActivities,
		Input:       func() Input { return new(task.QAInput) },
		Example:     `{"kind":"qa","input":{"documents":[{"name":"note","text":"The harbour was rebuilt in 1911. It is deeper now, and larger ships call."}],"questions":["When was the harbour rebuilt?"]}}`,
		run:         QA,
	}
}

// QACarry is what a qa task takes along into its next run.
type QACarry struct {
	Plan      activities.QAPlan
	Ready     bool        // the texts are ready for questions
	Words     *task.Error // why passages are found by words alone
	Next      int         // the first question that nobody has asked yet
	Rest      []int       // questions that take everything, in the order they were found out
	SoFar     map[int]activities.ItemSoFar
	Succeeded int
	Failed    int
	Work      float64 // done, in model calls
	Expected  float64 // at all, in model calls
}

// QA is a task over documents and questions: it reads the documents, gets vectors for their passages, and answers
// every question from the passages that fit it best; those that take everything are answered after that.
func QA(ctx workflow.Context, start Start) (Ending, error) {
	return conduct(ctx, start, qaSteps, func(run *Run) work {
		q := &qa{run: run, calls: workflow.NewSemaphore(ctx, callsAtOnce)}
		if start.QA != nil {
			q.QACarry = *start.QA
		}
		if q.SoFar == nil {
			q.SoFar = map[int]activities.ItemSoFar{}
		}
		return q
	})
}

// qa is a qa task at work.
type qa struct {
	QACarry
	run     *Run
	calls   workflow.Semaphore
	running int
	cut     []activities.Cut
}

// everythingAtOnce is how many questions are answered from all texts side by side: each may take hundreds of calls,
// and their events must fit into one history.
const everythingAtOnce = 2

func (q *qa) do(ctx workflow.Context) error {
	if !q.Ready {
		if err := q.open(ctx); err != nil {
			return err
		}
		q.vectors(ctx)
		q.Ready = ctx.Err() == nil
	}
	q.run.enter(stepAnswer)
	q.show(ctx)
	q.sideBySide(ctx, callsAtOnce, func() (int, bool) {
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
		return q.run.goOn(ctx, Start{QA: &q.QACarry})
	}
	return nil
}

func (q *qa) finish(ctx workflow.Context, why *task.Error) (finished activities.Finished, err error) {
	for _, question := range q.Rest { // they were asked once, and wait for everything to be read
		q.cutOff(question)
	}
	books := activities.FinishQARequest{
		Task: q.run.Facts.task(), InputKey: q.run.Facts.InputKey, Rest: why, Cut: q.cut, Words: q.Words,
	}
	err = workflow.ExecuteActivity(documentWork(ctx, "store the answers"), call.FinishQA, books).Get(ctx, &finished)
	return finished, err
}

// open reads the documents and makes them ready. A task that goes on from an earlier one has none to read.
func (q *qa) open(ctx workflow.Context) error {
	t := q.run.Facts.task()
	read, err := readAll(ctx, t, q.run.Facts.InputKey)
	if err != nil {
		return err
	}
	req := activities.OpenRequest{Task: t, InputKey: q.run.Facts.InputKey}
	for _, d := range read {
		req.Read = append(req.Read, activities.ReadOutcome{Label: d.Label, Error: d.Error})
	}
	q.run.enter(stepIndex)
	q.run.publishSoon(ctx)
	if err := workflow.ExecuteActivity(documentWork(ctx, "cut the texts into passages"), call.OpenLibrary, req).Get(ctx, &q.Plan); err != nil {
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

// sideBySide works on questions as long as there are more, and waits for all it began. A run whose history
// grows long begins no more.
func (q *qa) sideBySide(ctx workflow.Context, window int, more func() (int, bool), work func(workflow.Context, int) error) {
	for ctx.Err() == nil && !historyLong(ctx) {
		if err := workflow.Await(ctx, func() bool { return q.running < window }); err != nil {
			break
		}
		question, ok := more()
		if !ok {
			break
		}
		q.running++
		workflow.Go(ctx, func(ctx workflow.Context) {
			q.end(ctx, question, work(ctx, question))
		})
	}
	clean, _ := workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(clean, func() bool { return q.running == 0 }) // the context is never cancelled
}

// end counts a question's outcome. One that takes everything has none yet.
func (q *qa) end(ctx workflow.Context, question int, err error) {
	switch {
	case errors.Is(err, errEverything):
		q.Rest = append(q.Rest, question)
	case err != nil && ctx.Err() != nil:
		q.cutOff(question)
	case err != nil:
		q.fail(ctx, question, failedAt(err, qaActivities))
		q.Failed++
	default:
		delete(q.SoFar, question)
		q.Succeeded++
	}
	q.running-- // its record is written: nobody need wait for it any more
	q.show(ctx)
}

// cutOff leaves a question to get its outcome when the books are closed.
func (q *qa) cutOff(question int) {
	so := q.SoFar[question]
	q.cut = append(q.cut, activities.Cut{Index: question, Usage: so.Usage, Calls: so.Calls})
}

// fail records a question's failure for those who read the items.
func (q *qa) fail(ctx workflow.Context, question int, why *task.Error) {
	req := activities.QuestionFailed{Task: q.run.Facts.task(), Question: question, Error: why, SoFar: q.SoFar[question]}
	about := fmt.Sprintf("record that question %d failed: %s", question+1, why.Code)
	if err := workflow.ExecuteActivity(documentWork(ctx, about), call.FailQuestion, req).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Error("failure not recorded", "task", q.run.Facts.ID, "item", question, "error", err)
	}
}

// show puts how far the task is before its readers.
func (q *qa) show(ctx workflow.Context) {
	done := q.Succeeded + q.Failed
	q.run.advance(ctx, q.Work/max(q.Expected, 1), task.Counts{
		Total: q.Plan.Questions, Succeeded: q.Succeeded, Failed: q.Failed,
		Running: q.running, Pending: q.Plan.Questions - done - q.running,
	})
}

// spend adds what a call used to the task, and to its question if it is for one.
func (q *qa) spend(question int, answer activities.Answer, err error) {
	used := spent(answer, err)
	q.run.state.Usage = q.run.state.Usage.Add(used.Usage)
	q.run.state.Simulated = q.run.state.Simulated || answer.Simulated
	q.run.checkBudget()
	if question >= 0 {
		so := q.SoFar[question]
		so.Usage, so.Calls = so.Usage.Add(used.Usage), so.Calls+used.Calls
		q.SoFar[question] = so
	}
}
