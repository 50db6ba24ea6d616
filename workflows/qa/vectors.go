package qa

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities/call"
	activities "longhaul/activities/qa"
	"longhaul/internal/task"
	"longhaul/workflows/lifecycle"
)

// questionsPerCall is how many questions get their vectors in one call.
const questionsPerCall = 64

// vectors gets the vectors of the passages that have none yet, and of the questions. A provider that gives none is
// no end of the task: passages are then found by their words alone, and the result says so.
func (q *qa) vectors(ctx workflow.Context) {
	if q.Plan.Whole || q.Plan.Mode == task.FullText {
		return
	}
	var calls []activities.VectorsRequest
	for _, leaves := range q.Plan.Vectors {
		calls = append(calls, activities.VectorsRequest{Task: q.run.Facts.Ref(), Leaves: leaves})
	}
	for from := 0; from < q.Plan.Questions; from += questionsPerCall {
		to := min(from+questionsPerCall, q.Plan.Questions)
		calls = append(calls, activities.VectorsRequest{Task: q.run.Facts.Ref(), From: from, To: to})
	}
	// The first goes alone: where there is no model for vectors, no more than one call is made to find out.
	q.embed(ctx, calls[0])
	lifecycle.Each(ctx, lifecycle.MaxCalls, len(calls)-1, func(ctx workflow.Context, i int) error {
		q.embed(ctx, calls[i+1])
		return nil
	})
}

// embed makes one call for vectors, unless one has failed.
func (q *qa) embed(ctx workflow.Context, req activities.VectorsRequest) {
	if q.Words != nil || ctx.Err() != nil {
		return
	}
	t := req.Task
	t.Queue = q.Plan.Queue
	var activity any = do.EmbedPassages
	about := fmt.Sprintf("vectors of %d runs of passages", len(req.Leaves))
	if len(req.Leaves) == 0 {
		activity, about = do.EmbedQuestions, fmt.Sprintf("vectors of questions %d to %d", req.From+1, req.To)
	}
	var answer call.Answer
	err := lifecycle.RunPaid(ctx, lifecycle.ModelCall(ctx, stepIndex, t, about), activity, req, &answer)
	q.spend(-1, answer, err)
	if err != nil && ctx.Err() == nil {
		q.Words = lifecycle.Reason(err)
	}
	if len(req.Leaves) > 0 {
		q.Work++
	}
	q.show(ctx)
}
