package summary

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities/call"
	docs "longhaul/activities/documents"
	"longhaul/activities/results"
	activities "longhaul/activities/summary"
	"longhaul/internal/task"
	"longhaul/workflows/documents"
	"longhaul/workflows/lifecycle"
)

// groupDocument is a document on its way to a summary.
type groupDocument struct {
	group  *group
	index  int
	weight float64
	work   float64 // of the weight, what is done
	places int     // of the window, that it takes
	label  string
	so     results.ItemSoFar
}

// end counts a document's outcome.
func (d *groupDocument) end(ctx workflow.Context, err error) {
	switch {
	case ctx.Err() != nil && err != nil:
		// It gets its outcome when the books are closed.
		d.group.report.Cut = append(d.group.report.Cut, results.Cut{Index: d.index, Usage: d.so.Usage, Calls: d.so.Calls})
	case err != nil:
		documents.Fail(ctx, stepSummarise, d.label, docs.FailRequest{
			Task: d.group.start.Task, Group: d.group.start.Number, Index: d.index, Error: lifecycle.FailedAt(err), Usage: d.so.Usage, Calls: d.so.Calls,
		})
		d.group.report.Failed++
	default:
		d.group.report.Succeeded++
	}
	d.group.report.Running--
	d.hold(0)
	d.group.report.Work += d.weight - d.work
	d.group.tell(ctx, "")
}

// summarise takes a document that was read to its summary.
func (d *groupDocument) summarise(ctx workflow.Context, read docs.Document) error {
	d.label, d.so.Parts = task.Brief(read.Label), len(read.Ends)
	if read.Error != nil {
		read.Error.Step = lifecycle.StepExtract
		return read.Error
	}
	d.hold(len(read.Ends))
	d.group.tell(ctx, stepSummarise)
	if len(read.Ends) == 1 {
		return d.completeShort(ctx, read)
	}
	return d.completeLong(ctx, read)
}

// hold sets how many places of the window the document takes: what its size lets expect until it has
// been read, then one for each part that waits for its summary.
func (d *groupDocument) hold(places int) {
	d.group.inHand += places - d.places
	d.places = places
}

// completeShort summarises a document of one part: the call completes it, unless the part turns out to be
// too long for the model.
func (d *groupDocument) completeShort(ctx workflow.Context, read docs.Document) error {
	part := docs.Part{End: read.Ends[0]}
	so := d.so
	_, err := d.askPart(ctx, part, 1, 1, &so)
	if !lifecycle.TooLong(err) {
		return err
	}
	answers, err := d.halves(ctx, part, 1, 1, 0, err)
	if err != nil {
		return err
	}
	return d.finish(ctx, answers)
}

// completeLong summarises every part and combines the summaries. A part that cannot be summarised is named
// in the result, as long as others can.
func (d *groupDocument) completeLong(ctx workflow.Context, read docs.Document) error {
	answers := make([][]string, len(read.Ends))
	errs := lifecycle.Each(ctx, len(read.Ends), len(read.Ends), func(ctx workflow.Context, i int) (err error) {
		defer func() { d.hold(d.places - 1) }()
		part := docs.Part{End: read.Ends[i]}
		if i > 0 {
			part.Start = read.Ends[i-1]
		}
		answers[i], err = d.mapped(ctx, part, i+1, len(read.Ends), 0)
		d.progress(ctx, d.weight/float64(len(read.Ends)+1))
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := d.missing(errs); err != nil {
		return err
	}
	return d.finish(ctx, slices.Concat(answers...))
}

// mapped summarises a part, in halves if it is too long for the model.
func (d *groupDocument) mapped(ctx workflow.Context, part docs.Part, number, of, depth int) ([]string, error) {
	answer, err := d.askPart(ctx, part, number, of, nil)
	if lifecycle.TooLong(err) {
		return d.halves(ctx, part, number, of, depth, err)
	}
	if err != nil {
		return nil, err
	}
	return []string{answer.Key}, nil
}

func (d *groupDocument) halves(ctx workflow.Context, part docs.Part, number, of, depth int, why error) ([]string, error) {
	if depth == documents.MaxHalvings {
		return nil, why
	}
	halves, err := documents.Halve(ctx, stepSummarise, docs.HalveRequest{Task: d.group.start.Task, Index: d.index, Part: part})
	if err != nil {
		return nil, err
	}
	if len(halves) < 2 {
		return nil, why
	}
	var answers []string
	for _, half := range halves {
		more, err := d.mapped(ctx, half, number, of, depth+1)
		if err != nil {
			return nil, err
		}
		answers = append(answers, more...)
	}
	return answers, nil
}

// askPart is one model call for one stretch of text. With so it completes the document.
func (d *groupDocument) askPart(ctx workflow.Context, part docs.Part, number, of int, so *results.ItemSoFar) (call.Answer, error) {
	about := "summarise " + d.label
	if of > 1 {
		about = fmt.Sprintf("%s, part %d of %d", about, number, of)
	}
	return d.ask(ctx, about, do.SummarisePart, activities.PartRequest{
		Task: d.group.start.Task, Group: d.group.start.Number, Index: d.index, Part: part, Number: number, Of: of, Item: so,
	})
}

// finish combines the answers, level by level, into the document's summary.
func (d *groupDocument) finish(ctx workflow.Context, answers []string) error {
	combine := func(ctx workflow.Context, answers []string, last bool) (call.Answer, error) {
		req := activities.CombineRequest{Task: d.group.start.Task, Group: d.group.start.Number, Index: d.index, Answers: answers}
		if last {
			so := d.so
			req.Item = &so
		}
		return d.ask(ctx, fmt.Sprintf("combine %d summaries of %s", len(answers), d.label), do.CombineAnswers, req)
	}
	_, err := lifecycle.Reduce(ctx, d.group.start.FanIn, answers, combine)
	return err
}

// ask makes one model call when a slot of the window is free, and adds what it used.
func (d *groupDocument) ask(ctx workflow.Context, about string, activity, req any) (call.Answer, error) {
	var answer call.Answer
	if err := d.group.calls.Acquire(ctx, 1); err != nil {
		return answer, err
	}
	defer d.group.calls.Release(1)
	err := lifecycle.RunPaid(ctx, lifecycle.ModelCall(ctx, stepSummarise, d.group.start.Task, about), activity, req, &answer)
	used, report := lifecycle.Spent(answer, err), &d.group.report
	d.so.Usage, d.so.Calls = d.so.Usage.Add(used.Usage), d.so.Calls+used.Calls
	report.Usage, report.Simulated = report.Usage.Add(used.Usage), report.Simulated || answer.Simulated
	d.group.spent = d.group.spent.Add(used.Usage)
	if most := d.group.start.Budget; most > 0 && lifecycle.Money(d.group.spent) >= most {
		d.group.stop()
	}
	return answer, err
}

// progress adds to the work that is done.
func (d *groupDocument) progress(ctx workflow.Context, work float64) {
	d.work += work
	d.group.report.Work += work
	d.group.tell(ctx, stepSummarise)
}

// missing notes the parts that failed. It gives an error when the document cannot do without them:
// when none succeeded, or when the provider would fail any other part as well.
func (d *groupDocument) missing(errs []error) error {
	var first error
	for i, err := range errs {
		if err == nil {
			continue
		}
		if why := lifecycle.Reason(err); lifecycle.PartFailures[why.Code] {
			d.so.Missing = append(d.so.Missing, fmt.Sprintf("part %d of %d: %s", i+1, len(errs), why.Detail))
		} else {
			return err
		}
		if first == nil {
			first = err
		}
	}
	if len(d.so.Missing) == len(errs) {
		return first
	}
	return nil
}
