package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/task"
)

// The names a group goes by in histories. They are for ever.
const (
	summaryGroup = "summary.group"
	signalGroup  = "group progress" // to the parent: GroupReport
)

// GroupStart is the input of a group. Done is set on a run that goes on where an earlier one left off.
type GroupStart struct {
	Task   activities.Task
	Parent string
	Number int
	Group  activities.Group
	FanIn  int
	Done   GroupReport
}

// GroupReport is how far a group is: news for its parent while it runs, its result in the end.
type GroupReport struct {
	Number    int
	Succeeded int
	Failed    int
	Running   int
	Work      float64 // of the weights, what is done
	Usage     task.Usage
	Step      int // the furthest any document has come, an index of summarySteps
	Simulated bool
	Cut       []activities.Cut // documents that a cancel or the deadline cut off, in the end
}

// add sums two reports.
func (g GroupReport) add(h GroupReport) GroupReport {
	g.Succeeded += h.Succeeded
	g.Failed += h.Failed
	g.Running += h.Running
	g.Work += h.Work
	g.Usage = g.Usage.Add(h.Usage)
	g.Step = max(g.Step, h.Step)
	g.Simulated = g.Simulated || h.Simulated
	g.Cut = append(g.Cut, h.Cut...)
	return g
}

// SummaryGroup summarises the documents of one group. It takes documents in hand, small ones
// together, as soon as its window has room, and every model call is an activity. It ends without an
// error even when it is cancelled: what it finished counts.
func SummaryGroup(ctx workflow.Context, start GroupStart) (GroupReport, error) {
	g := &group{GroupStart: start, GroupReport: start.Done, calls: workflow.NewSemaphore(ctx, callsAtOnce), began: workflow.Now(ctx)}
	g.GroupReport.Number = start.Number
	all := workflow.NewWaitGroup(ctx)
	next := g.Succeeded + g.Failed // documents are taken in order, and none is left open between runs
	for next < len(start.Group.Weights) && ctx.Err() == nil && !long(ctx) {
		if err := workflow.Await(ctx, func() bool { return g.inHand < callsAtOnce }); err != nil {
			break // cancelled
		}
		handful := g.handful(next)
		next += len(handful)
		g.Running += len(handful)
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			g.take(ctx, handful)
		})
	}
	clean, _ := workflow.NewDisconnectedContext(ctx)
	all.Wait(clean)
	if next < len(start.Group.Weights) && ctx.Err() == nil {
		start.Done = g.GroupReport
		return GroupReport{}, workflow.NewContinueAsNewError(ctx, summaryGroup, start)
	}
	return g.GroupReport, nil
}

// handfulWeight is how much is read in one activity: so many documents of a page or two, or one
// that is longer.
const handfulWeight = 16

// handful gives the documents from one on that are read together.
func (g *group) handful(from int) []*groupDocument {
	var documents []*groupDocument
	weight := 0
	for i := from; i < len(g.Group.Weights); i++ {
		if weight += g.Group.Weights[i]; weight > handfulWeight && len(documents) > 0 {
			break
		}
		d := &groupDocument{group: g, index: g.Group.From + i, weight: float64(g.Group.Weights[i])}
		d.label = fmt.Sprintf("document %d", d.index+1)
		d.hold(g.Group.Weights[i])
		documents = append(documents, d)
	}
	return documents
}

// take fetches and reads a handful of documents, and takes each all the way to its outcome.
func (g *group) take(ctx workflow.Context, handful []*groupDocument) {
	unread := g.fetch(ctx, handful)
	texts, err := g.read(ctx, unread)
	all := workflow.NewWaitGroup(ctx)
	for i, d := range unread {
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			if err != nil {
				d.end(ctx, err)
				return
			}
			d.end(ctx, d.summarise(ctx, texts[i]))
		})
	}
	clean, _ := workflow.NewDisconnectedContext(ctx)
	all.Wait(clean)
}

// fetch brings the documents that are at an address into the bucket. Those that cannot be had come
// to their end here; the rest is given back.
func (g *group) fetch(ctx workflow.Context, handful []*groupDocument) []*groupDocument {
	errs := make([]error, len(handful))
	// The errors stand beside their documents.
	_ = each(ctx, len(handful), len(handful), func(ctx workflow.Context, i int) error {
		d := handful[i]
		if slices.Contains(g.Group.URLs, d.index) {
			g.tell(ctx, stepFetch)
			req := activities.DocumentRequest{Task: g.Task, Group: g.GroupStart.Number, Index: d.index}
			errs[i] = workflow.ExecuteActivity(reading(ctx, "fetch "+d.label), call.FetchDocument, req).Get(ctx, nil)
		}
		return errs[i]
	})
	var had []*groupDocument
	for i, d := range handful {
		if errs[i] != nil {
			d.end(ctx, errs[i])
			continue
		}
		had = append(had, d)
	}
	return had
}

// read gets the text out of documents, in one activity.
func (g *group) read(ctx workflow.Context, handful []*groupDocument) (texts []activities.Document, err error) {
	if len(handful) == 0 {
		return nil, nil
	}
	g.tell(ctx, stepExtract)
	req := activities.ReadRequest{Task: g.Task, Group: g.GroupStart.Number}
	for _, d := range handful {
		req.Indexes = append(req.Indexes, d.index)
	}
	about := "read " + handful[0].label
	if n := len(handful); n > 1 {
		about = fmt.Sprintf("read documents %d to %d", handful[0].index+1, handful[n-1].index+1)
	}
	err = workflow.ExecuteActivity(reading(ctx, about), call.ReadDocuments, req).Get(ctx, &texts)
	return texts, err
}

// group is a group at work.
type group struct {
	GroupStart
	GroupReport
	inHand int // calls in flight, waiting for a slot, or expected of documents that are being read
	calls  workflow.Semaphore
	began  time.Time
	news   throttle
}

// tell lets the parent know how the group stands, before long.
func (g *group) tell(ctx workflow.Context, step string) {
	g.Step = max(g.Step, slices.Index(summarySteps, step))
	g.news.soon(ctx, pace(workflow.Now(ctx).Sub(g.began)), func(ctx workflow.Context) {
		// News that gets lost is made up for by the next, or by the group's result.
		workflow.SignalExternalWorkflow(ctx, g.Parent, "", signalGroup, g.GroupReport)
	})
}

// groupDocument is a document on its way to a summary.
type groupDocument struct {
	*group
	index  int
	weight float64
	work   float64 // of the weight, what is done
	places int     // of the window, that it takes
	label  string
	so     activities.ItemSoFar
}

// end counts a document's outcome.
func (d *groupDocument) end(ctx workflow.Context, err error) {
	switch {
	case ctx.Err() != nil && err != nil:
		// It gets its outcome when the books are closed.
		d.Cut = append(d.Cut, activities.Cut{Index: d.index, Usage: d.so.Usage, Calls: d.so.Calls})
	case err != nil:
		d.fail(ctx, reason(err))
		d.Failed++
	default:
		d.Succeeded++
	}
	d.Running--
	d.hold(0)
	d.group.Work += d.weight - d.work
	d.tell(ctx, "")
}

// summarise takes a document that was read to its summary.
func (d *groupDocument) summarise(ctx workflow.Context, read activities.Document) error {
	d.label, d.so.Parts = task.Brief(read.Label), len(read.Ends)
	if read.Error != nil {
		return read.Error
	}
	d.hold(len(read.Ends))
	d.tell(ctx, stepSummarise)
	if len(read.Ends) == 1 {
		return d.short(ctx, read)
	}
	return d.long(ctx, read)
}

// hold sets how many places of the window the document takes: what its size lets expect until it has
// been read, then one for each part that waits for its summary.
func (d *groupDocument) hold(places int) {
	d.inHand += places - d.places
	d.places = places
}

// short summarises a document of one part: the call completes it, unless the part turns out to be
// too long for the model.
func (d *groupDocument) short(ctx workflow.Context, read activities.Document) error {
	part := activities.Part{End: read.Ends[0]}
	so := d.so
	_, err := d.part(ctx, part, 1, 1, &so)
	if !tooLong(err) {
		return err
	}
	answers, err := d.halves(ctx, part, 1, 1, 0, err)
	if err != nil {
		return err
	}
	return d.finish(ctx, answers)
}

// long summarises every part and combines the summaries. A part that cannot be summarised is named
// in the result, as long as others can.
func (d *groupDocument) long(ctx workflow.Context, read activities.Document) error {
	answers := make([][]string, len(read.Ends))
	errs := make([]error, len(read.Ends))
	err := each(ctx, len(read.Ends), len(read.Ends), func(ctx workflow.Context, i int) error {
		defer func() { d.hold(d.places - 1) }()
		part := activities.Part{End: read.Ends[i]}
		if i > 0 {
			part.Start = read.Ends[i-1]
		}
		answers[i], errs[i] = d.mapped(ctx, part, i+1, len(read.Ends), 0)
		d.done(ctx, d.weight/float64(len(read.Ends)+1))
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if err := d.missing(errs); err != nil {
		return err
	}
	return d.finish(ctx, slices.Concat(answers...))
}

// deepest is how often a part is halved: a part of 8,000 tokens comes down to 125.
const deepest = 6

// mapped summarises a part, in halves if it is too long for the model.
func (d *groupDocument) mapped(ctx workflow.Context, part activities.Part, number, of, depth int) ([]string, error) {
	answer, err := d.part(ctx, part, number, of, nil)
	if tooLong(err) {
		return d.halves(ctx, part, number, of, depth, err)
	}
	if err != nil {
		return nil, err
	}
	return []string{answer.Key}, nil
}

func (d *groupDocument) halves(ctx workflow.Context, part activities.Part, number, of, depth int, why error) ([]string, error) {
	if depth == deepest {
		return nil, why
	}
	var halves []activities.Part
	req := activities.HalveRequest{Task: d.Task, Index: d.index, Part: part}
	if err := workflow.ExecuteActivity(reading(ctx, "halve a part of "+d.label), call.HalvePart, req).Get(ctx, &halves); err != nil {
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

// part is one model call for one stretch of text. With so it completes the document.
func (d *groupDocument) part(ctx workflow.Context, part activities.Part, number, of int, so *activities.ItemSoFar) (activities.Answer, error) {
	about := "summarise " + d.label
	if of > 1 {
		about = fmt.Sprintf("%s, part %d of %d", about, number, of)
	}
	return d.call(ctx, about, call.SummarisePart, activities.PartRequest{
		Task: d.Task, Group: d.GroupStart.Number, Index: d.index, Part: part, Number: number, Of: of, Item: so,
	})
}

// finish combines the answers, level by level, into the document's summary.
func (d *groupDocument) finish(ctx workflow.Context, answers []string) error {
	combine := func(ctx workflow.Context, answers []string, last bool) (activities.Answer, error) {
		req := activities.CombineRequest{Task: d.Task, Group: d.GroupStart.Number, Index: d.index, Answers: answers}
		if last {
			so := d.so
			req.Item = &so
		}
		return d.call(ctx, fmt.Sprintf("combine %d summaries of %s", len(answers), d.label), call.CombineAnswers, req)
	}
	_, err := reduce(ctx, d.FanIn, answers, combine)
	return err
}

// call makes one model call when a slot of the window is free, and adds what it used.
func (d *groupDocument) call(ctx workflow.Context, about string, activity, req any) (activities.Answer, error) {
	var answer activities.Answer
	if err := d.calls.Acquire(ctx, 1); err != nil {
		return answer, err
	}
	defer d.calls.Release(1)
	err := workflow.ExecuteActivity(modelCall(ctx, about), activity, req).Get(ctx, &answer)
	if err != nil {
		d.so.Calls += reason(err).Attempts
		return answer, err
	}
	d.so.Usage, d.so.Calls = d.so.Usage.Add(answer.Usage), d.so.Calls+answer.Calls
	d.group.Usage = d.group.Usage.Add(answer.Usage)
	d.Simulated = d.Simulated || answer.Simulated
	return answer, nil
}

// done adds to the work that is done.
func (d *groupDocument) done(ctx workflow.Context, work float64) {
	d.work += work
	d.group.Work += work
	d.tell(ctx, stepSummarise)
}

// missing notes the parts that failed. It gives an error when the document cannot do without them:
// when none succeeded, or when the provider would fail any other part as well.
func (d *groupDocument) missing(errs []error) error {
	var first error
	for i, err := range errs {
		if err == nil {
			continue
		}
		if why := reason(err); ofThePart[why.Code] {
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

// ofThePart are the failures that lie in the text of a part, not in the provider or our account.
var ofThePart = map[task.Code]bool{
	task.ContentFiltered: true, task.ModelRefused: true, task.ContextExceeded: true,
	task.AnswerIncomplete: true, task.BadResponse: true,
}

// fail records the document's failure for those who read its items.
func (d *groupDocument) fail(ctx workflow.Context, why *task.Error) {
	req := activities.FailRequest{
		Task: d.Task, Group: d.GroupStart.Number, Index: d.index, Error: why, Usage: d.so.Usage, Calls: d.so.Calls,
	}
	if err := workflow.ExecuteActivity(keeping(ctx, fmt.Sprintf("record that %s failed: %s", d.label, why.Code)), call.FailItem, req).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Error("failure not recorded", "task", d.Task.ID, "item", d.index, "error", err)
	}
}
