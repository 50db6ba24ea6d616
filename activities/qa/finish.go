package qa

import (
	"context"
	"fmt"
	"strings"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/retrieval"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// QuestionFailed records a question that failed for good.
type QuestionFailed struct {
	Task     record.TaskRef    `json:"task,omitzero"`
	Question int               `json:"question,omitempty"`
	Error    *task.Error       `json:"error,omitempty"`
	SoFar    results.ItemSoFar `json:"so_far,omitzero"`
}

// FinishQARequest closes the books of a qa task, however it ends.
type FinishQARequest struct {
	Task     record.TaskRef `json:"task,omitzero"`
	InputKey string         `json:"input_key,omitempty"`
	Rest     *task.Error    `json:"rest,omitempty"`  // why questions without an outcome have none
	Cut      []results.Cut  `json:"cut,omitempty"`   // what such questions used by then
	Words    *task.Error    `json:"words,omitempty"` // why passages were found by words alone; nil if they were not
}

// QAOutput is the result of a qa task.
type QAOutput struct {
	Documents    []QADocument `json:"documents"`
	Answers      []QAAnswer   `json:"answers"`
	VectorsError *task.Error  `json:"vectors_error,omitempty"` // why passages were found by words alone
}

// QADocument is one document that was looked in, or could not be.
type QADocument struct {
	Index      int         `json:"index"`
	Name       string      `json:"name"`
	Pages      int         `json:"pages,omitempty"`
	Characters int         `json:"characters,omitempty"`
	Error      *task.Error `json:"error,omitempty"`
}

// QAAnswer is one question of the result.
type QAAnswer struct {
	Index    int             `json:"index"`
	Status   task.ItemStatus `json:"status"`
	Question string          `json:"question"`
	*QAResult
	Error *task.Error `json:"error,omitempty"`
}

// answersName is the artifact for people; the result is the one for programs.
const answersName = "answers.md"

// FailQuestion records the failure of a question.
func (a *Activities) FailQuestion(ctx context.Context, req QuestionFailed) error {
	heart := call.StartHeartbeat(ctx, "recording")
	defer heart.Stop()
	p, err := a.readManifest(ctx, req.Task)
	if err != nil {
		return err
	}
	return a.Results.WriteItem(ctx, req.Task, task.Item{
		Index: req.Question, Status: task.ItemFailed, Name: task.Brief(p.Questions[req.Question]), Error: req.Error,
		Usage: req.SoFar.Usage, Attempts: req.SoFar.Calls,
	})
}

// FinishQA writes the list of items, the result, the report and the conversation of a qa task. Questions that have
// no outcome yet get one. Run again it writes the same.
func (a *Activities) FinishQA(ctx context.Context, req FinishQARequest) (results.Finished, error) {
	heart := call.StartHeartbeat(ctx, "storing")
	defer heart.Stop()
	var in task.QAInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return results.Finished{}, err
	}
	items := make([]task.Item, len(in.Questions))
	for i, question := range in.Questions {
		items[i] = results.Unfinished(i, task.Brief(question), req.Rest)
	}
	for _, cut := range req.Cut {
		items[cut.Index].Usage, items[cut.Index].Attempts = cut.Usage, cut.Calls
	}
	finished, err := a.Results.Finalize(ctx, heart, req.Task, items)
	if err != nil {
		return results.Finished{}, err
	}
	exchanges, err := a.exchanges(ctx, req.Task, items)
	if err != nil {
		return results.Finished{}, err
	}
	if err := a.Bucket.PutJSON(ctx, storage.ConversationKey(req.Task.ID), exchanges); err != nil {
		return results.Finished{}, err
	}
	if finished.Outcome == task.None {
		return finished, nil
	}
	return a.storeAnswers(ctx, req, in.Questions, items, finished)
}

func (a *Activities) storeAnswers(ctx context.Context, req FinishQARequest, questions []string, items []task.Item, finished results.Finished) (results.Finished, error) {
	p, err := a.readManifest(ctx, req.Task)
	if err != nil {
		return finished, err
	}
	output := QAOutput{VectorsError: req.Words, Answers: make([]QAAnswer, len(items))}
	for _, d := range p.Documents {
		output.Documents = append(output.Documents, QADocument{d.Index, d.Name, d.Pages, d.Characters, d.Error})
		if d.Error != nil {
			finished.Outcome = task.Partial
			failed := *d.Error
			failed.Step = "extract"
			finished.Failures = task.CountFailure(finished.Failures, task.FailedItem{Name: d.Name, Error: &failed})
		}
	}
	for i, item := range items {
		result, err := results.ResultOf[QAResult](item)
		if err != nil {
			return finished, err
		}
		output.Answers[i] = QAAnswer{Index: i, Status: item.Status, Question: questions[i], QAResult: result, Error: item.Error}
	}
	if err := a.Results.WriteReport(ctx, req.Task, answersName, answers(output, finished.Simulated)); err != nil {
		return finished, err
	}
	finished.Result, err = a.Results.WriteResult(ctx, req.Task, output)
	return finished, err
}

// answers is the result as a person reads it.
func answers(output QAOutput, simulated bool) string {
	var b strings.Builder
	b.WriteString("# Answers\n\n")
	if simulated {
		b.WriteString("> Given by the simulated model: sentences picked from the texts, not a language model's work.\n\n")
	}
	for _, answer := range output.Answers {
		fmt.Fprintf(&b, "## %s\n\n", results.OneLine(answer.Question))
		switch {
		case answer.QAResult != nil:
			b.WriteString(answer.report())
		case answer.Error != nil:
			fmt.Fprintf(&b, "No answer: %s\n\n", answer.Error.Detail)
		}
	}
	for _, d := range output.Documents {
		if d.Error != nil {
			fmt.Fprintf(&b, "- Not looked in: %s: %s\n", results.OneLine(d.Name), d.Error.Detail)
		}
	}
	if output.VectorsError != nil {
		fmt.Fprintf(&b, "- Passages were found by their words alone: %s\n", output.VectorsError.Detail)
	}
	return b.String()
}

// report is an answer with its quotes, as a person reads it.
func (r *QAResult) report() string {
	var b strings.Builder
	if !r.Supported {
		b.WriteString("*The documents do not support an answer.* " + r.Note + "\n\n")
	}
	if r.Answer != "" {
		b.WriteString(r.Answer + "\n\n")
	}
	for _, c := range r.Citations {
		place := retrieval.Place{Name: c.Name, Section: c.Section, Page: c.Page}
		fmt.Fprintf(&b, "> %s\n>\n> — %s\n\n", results.OneLine(c.Quote), results.OneLine(place.String()))
	}
	for _, missing := range r.Missing {
		fmt.Fprintf(&b, "- Not read: %s\n", missing)
	}
	return b.String()
}
