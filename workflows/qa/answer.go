package qa

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities/call"
	activities "longhaul/activities/qa"
	"longhaul/internal/task"
	"longhaul/workflows/lifecycle"
)

// errEverything is the outcome of a question that takes all texts to be answered.
var errEverything = errors.New("it takes everything")

// answer asks a question of the passages that fit it best, of fewer if they are too long for the model.
func (q *qa) answer(ctx workflow.Context, question int) error {
	req := activities.QuestionRequest{
		Task: q.run.Facts.Ref(), Question: question, Whole: q.Plan.Whole, Room: q.Plan.Room, Words: q.Words != nil,
		May: q.Plan.Mode == task.Auto && !q.Plan.Whole,
	}
	var found activities.Found
	var err error
	for range 4 { // from thousands of tokens down to hundreds
		req.SoFar = q.SoFar[question]
		found = activities.Found{}
		err = q.ask(ctx, question, fmt.Sprintf("answer question %d", question+1), do.AnswerQuestion, req, &found)
		if !lifecycle.TooLong(err) {
			break
		}
		if req.Whole {
			return q.takesEverything()
		}
		req.Room /= 2
	}
	if err == nil && found.Everything {
		return q.takesEverything()
	}
	q.Work++
	return err
}

// takesEverything puts a question among those that are answered from all texts.
func (q *qa) takesEverything() error {
	q.Work++
	q.Expected += float64(len(q.Plan.Parts) + 1)
	return errEverything
}

// ask makes one model call for a question when a slot of the window is free.
func (q *qa) ask(ctx workflow.Context, question int, about string, activity, req any, found *activities.Found) error {
	if err := q.calls.Acquire(ctx, 1); err != nil {
		return err
	}
	defer q.calls.Release(1)
	err := lifecycle.RunPaid(ctx, lifecycle.ModelCall(ctx, stepAnswer, q.run.Facts.Ref(), about), activity, req, found)
	q.spend(question, found.Answer, err)
	return err
}

// everything answers a question from all texts: each part is searched, and what is found is combined level by level.
func (q *qa) everything(ctx workflow.Context, question int) error {
	parts := q.Plan.Parts
	keys := make([][]string, len(parts))
	errs := lifecycle.Each(ctx, lifecycle.MaxCalls, len(parts), func(ctx workflow.Context, i int) (err error) {
		from := 0
		if i > 0 {
			from = parts[i-1]
		}
		keys[i], err = q.search(ctx, question, from, parts[i], i+1)
		q.Work++
		q.show(ctx)
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	read, err := q.missing(question, errs)
	if err != nil {
		return err
	}
	return q.combine(ctx, question, keys, read)
}

// search looks into a stretch of passages, in halves if it is too long for the model.
func (q *qa) search(ctx workflow.Context, question, from, to, number int) ([]string, error) {
	req := activities.SearchRequest{
		Task: q.run.Facts.Ref(), Question: question, From: from, To: to, Number: number, Of: len(q.Plan.Parts),
	}
	var found activities.Found
	about := fmt.Sprintf("search part %d of %d for question %d", number, req.Of, question+1)
	err := q.ask(ctx, question, about, do.SearchPart, req, &found)
	switch {
	case lifecycle.TooLong(err) && to-from > 1:
		half := (from + to) / 2
		one, err := q.search(ctx, question, from, half, number)
		if err != nil {
			return nil, err
		}
		other, err := q.search(ctx, question, half, to, number)
		return append(one, other...), err
	case err != nil || found.Key == "":
		return nil, err
	default:
		return []string{found.Key}, nil
	}
}

// missing notes the parts that failed, and gives how many passages were read. The error is of a question that cannot do
// without them: none was read, or the provider would fail any other part as well.
func (q *qa) missing(question int, errs []error) (read int, err error) {
	so := q.SoFar[question]
	so.Missing = nil
	from := 0
	for i, failed := range errs {
		passages := q.Plan.Parts[i] - from
		from = q.Plan.Parts[i]
		if failed == nil {
			read += passages
			continue
		}
		why := lifecycle.Reason(failed)
		if !lifecycle.PartFailures[why.Code] {
			return 0, failed
		}
		so.Missing = append(so.Missing, fmt.Sprintf("part %d of %d: %s", i+1, len(errs), why.Detail))
		err = failed
	}
	q.SoFar[question] = so
	if read > 0 {
		err = nil
	}
	return read, err
}

// findingsPerCall is how many findings are combined in one call: with their quotes about 8,000 tokens.
const findingsPerCall = 12

// combine makes one answer of what was found. Its last call completes the question, also when nothing was found.
func (q *qa) combine(ctx workflow.Context, question int, keys [][]string, read int) error {
	req := activities.FindingsRequest{Task: q.run.Facts.Ref(), Question: question, Chunks: read}
	var found []string
	for _, more := range keys {
		found = append(found, more...)
	}
	_, err := lifecycle.Reduce(ctx, findingsPerCall, found, func(ctx workflow.Context, answers []string, last bool) (call.Answer, error) {
		req := req
		req.Answers = answers
		if last {
			so := q.SoFar[question]
			req.Item = &so
		}
		var one activities.Found
		about := fmt.Sprintf("combine %d findings for question %d", len(answers), question+1)
		err := q.ask(ctx, question, about, do.CombineFindings, req, &one)
		return one.Answer, err
	})
	q.Work++
	return err
}
