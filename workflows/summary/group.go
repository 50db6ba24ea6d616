package summary

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	docs "longhaul/activities/documents"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/workflows/documents"
	"longhaul/workflows/lifecycle"
)

// The names a group goes by in histories. They are for ever.
const (
	summaryGroup = "summary.group"
)

// GroupStart is the input of a group. Done is set when it continued as new.
type GroupStart struct {
	Task   record.TaskRef `json:"task,omitzero"`
	Number int            `json:"number,omitempty"`
	Group  docs.Group     `json:"group,omitzero"`
	FanIn  int            `json:"fan_in,omitempty"`
	Budget float64        `json:"budget,omitempty"` // of this run; 0: unlimited
	Done   GroupReport    `json:"done,omitzero"`
	Shut   bool           `json:"shut,omitempty"` // the task was paused when the run before ended
}

// budgetWindow is how many calls are in flight where money is counted: what they cost may go beyond the budget.
const budgetWindow = 8

// window is how many calls a group keeps in flight.
func (s GroupStart) window() int {
	if s.Budget > 0 {
		return budgetWindow
	}
	return lifecycle.MaxCalls
}

// GroupReport is the progress of a group while it runs, and its result in the end.
type GroupReport struct {
	Number    int           `json:"number,omitempty"`
	Succeeded int           `json:"succeeded,omitempty"`
	Failed    int           `json:"failed,omitempty"`
	Running   int           `json:"running,omitempty"`
	Work      float64       `json:"work,omitempty"` // of the weights, what is done
	Usage     task.Usage    `json:"usage,omitzero"`
	Step      int           `json:"step,omitempty"` // the furthest any document has come, an index of summarySteps
	Simulated bool          `json:"simulated,omitempty"`
	Cut       []results.Cut `json:"cut,omitempty"` // documents that a cancel or the deadline cut off, in the end
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

// RunGroup summarises the documents of one group. It takes documents, small ones together, as its window has room;
// every model call is an activity. It ends without an error even when it is cancelled: what it finished counts.
func RunGroup(ctx workflow.Context, start GroupStart) (GroupReport, error) {
	ctx, stop := workflow.WithCancel(ctx) // for the budget alone: a group that ends by itself leaves nothing to be cancelled
	g := &group{start: start, report: start.Done, window: start.window(), stop: stop, began: workflow.Now(ctx)}
	ctx = lifecycle.WithActivityIDs(ctx)
	gate, ctx := lifecycle.NewPauseGate(ctx, start.Shut, func(workflow.Context, record.Pause) {})
	g.calls = workflow.NewSemaphore(ctx, int64(g.window))
	g.report.Number = start.Number
	weights := start.Group.Weights
	next := g.report.Succeeded + g.report.Failed // documents are taken in order, and none is left open between runs
	batches := lifecycle.Window{Room: func() bool { return g.inHand < g.window }}
	batches.Run(ctx, func(workflow.Context) func(workflow.Context) {
		if next == len(weights) {
			return nil
		}
		batch := g.batch(next)
		next += len(batch)
		batch = g.dropKept(batch)
		g.report.Running += len(batch)
		return func(ctx workflow.Context) { g.take(ctx, batch) }
	})
	if next < len(weights) && ctx.Err() == nil && lifecycle.DrainSignals(ctx) == nil {
		start.Done, start.Shut, start.Budget = g.report, gate.Closed, lifecycle.BudgetLeft(start.Budget, lifecycle.Money(g.spent))
		return GroupReport{}, workflow.NewContinueAsNewError(ctx, summaryGroup, start)
	}
	return g.report, nil
}

// group is a group at work.
type group struct {
	start  GroupStart
	report GroupReport
	spent  task.Usage // by this run
	window int
	stop   workflow.CancelFunc // ends it with what it has
	inHand int                 // calls in flight, waiting for a slot, or expected of documents that are being read
	calls  workflow.Semaphore
	began  time.Time
	news   lifecycle.Throttle
}

// batch returns the documents from an index on that are read together.
func (g *group) batch(from int) []*groupDocument {
	var docs []*groupDocument
	for i := from; i < from+documents.BatchSize(g.start.Group.Weights[from:]); i++ {
		d := &groupDocument{group: g, index: g.start.Group.From + i, weight: float64(g.start.Group.Weights[i])}
		d.label = fmt.Sprintf("document %d", d.index+1)
		d.hold(g.start.Group.Weights[i])
		docs = append(docs, d)
	}
	return docs
}

// dropKept leaves out the documents that are kept of the replayed task: they have their outcome.
func (g *group) dropKept(batch []*groupDocument) (left []*groupDocument) {
	for _, d := range batch {
		if d.weight == 0 {
			g.report.Succeeded++
		} else {
			left = append(left, d)
		}
	}
	return left
}

// take fetches and reads a handful of documents, and takes each all the way to its outcome.
func (g *group) take(ctx workflow.Context, handful []*groupDocument) {
	had := g.fetch(ctx, handful)
	texts, err := g.read(ctx, had)
	lifecycle.Each(ctx, len(had), len(had), func(ctx workflow.Context, i int) error {
		if err != nil {
			had[i].end(ctx, err)
		} else {
			had[i].end(ctx, had[i].summarise(ctx, texts[i]))
		}
		return nil
	})
}

// fetch brings the documents that are at an address into the bucket. Those that cannot be had come
// to their end here; the rest is given back.
func (g *group) fetch(ctx workflow.Context, handful []*groupDocument) (had []*groupDocument) {
	errs := lifecycle.Each(ctx, len(handful), len(handful), func(ctx workflow.Context, i int) error {
		d := handful[i]
		if !slices.Contains(g.start.Group.URLs, d.index) {
			return nil
		}
		g.tell(ctx, lifecycle.StepFetch)
		return documents.Fetch(ctx, readingSteps, docs.DocumentRequest{Task: g.start.Task, Group: g.start.Number, Index: d.index})
	})
	for i, d := range handful {
		if errs[i] != nil {
			d.end(ctx, errs[i])
			continue
		}
		had = append(had, d)
	}
	return had
}

// read gets the text out of documents.
func (g *group) read(ctx workflow.Context, handful []*groupDocument) ([]docs.Document, error) {
	if len(handful) == 0 {
		return nil, nil
	}
	g.tell(ctx, lifecycle.StepExtract)
	req := docs.ReadRequest{Task: g.start.Task, Group: g.start.Number}
	for _, d := range handful {
		req.Indexes = append(req.Indexes, d.index)
	}
	return documents.Read(ctx, readingSteps, req)
}

// tell lets the parent know how the group stands, before long.
func (g *group) tell(ctx workflow.Context, step string) {
	g.report.Step = max(g.report.Step, slices.Index(steps, step))
	g.news.Soon(ctx, lifecycle.NewsInterval(workflow.Now(ctx).Sub(g.began)), func(ctx workflow.Context) {
		// News that gets lost is made up for by the next, or by the group's result.
		workflow.SignalExternalWorkflow(ctx, g.start.Task.ID, "", record.SignalGroup, g.report)
	})
}
