package summary

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities/call"
	"longhaul/activities/results"
	activities "longhaul/activities/summary"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/workflows/documents"
	"longhaul/workflows/lifecycle"
)

// The steps of a summary task, as its readers see them.
const (
	stepSummarise = "summarise"
	stepDigest    = "digest"
)

var steps = []string{lifecycle.StepFetch, lifecycle.StepExtract, stepSummarise, stepDigest, lifecycle.StepStore}

var do *activities.Activities // names activities; never called

// readingSteps are the steps that fetching and reading belong to.
var readingSteps = documents.Steps{Fetch: lifecycle.StepFetch, Read: lifecycle.StepExtract}

// Kind describes the kind.
func Kind() lifecycle.Kind {
	return lifecycle.Kind{
		Name: "summary", Title: "Summarise documents",
		Description: "Reads documents (PDF, DOCX, HTML, EPUB, Markdown, text, CSV) of any length and writes a summary of each, and a digest over all of them if asked.",
		Steps:       steps,
		Input:       func() lifecycle.Input { return new(task.SummaryInput) },
		Example:     `{"kind":"summary","input":{"documents":[{"name":"note","text":"The harbour was rebuilt in 1911. It is deeper now, and larger ships call."}],"words":100}}`,
		Workflow:    Run,
		Activities:  activities.New,
		Children:    map[string]any{summaryGroup: RunGroup},
	}
}

// groupsAtOnce is how many groups run side by side. One group is enough to fill the workers; the others fill the gap
// while it ends.
const groupsAtOnce = 4

// Carry is the progress that a task takes into its next run.
type Carry struct {
	Plan activities.Plan `json:"plan,omitzero"`
	Next int             `json:"next,omitempty"` // the first group that has not been started
	Done GroupReport     `json:"done,omitzero"`
}

// Run summarises a batch of documents: it plans groups, keeps a few of them at work, and writes a digest over all if
// asked.
func Run(ctx workflow.Context, start record.Start[Carry]) (record.Ending, error) {
	return lifecycle.Execute(ctx, start, steps, func(run *lifecycle.Run) lifecycle.Work {
		s := &summary{run: run, live: map[int]GroupReport{}}
		if start.Carry != nil {
			s.Carry = *start.Carry
		}
		return s
	})
}

// summary is a task at work.
type summary struct {
	Carry
	run  *lifecycle.Run
	live map[int]GroupReport // the latest news of each group that runs

	answer   call.Answer // the digest
	noDigest *task.Error // why there is none although it was asked for
}

func (s *summary) Do(ctx workflow.Context) error {
	if len(s.Plan.Groups) == 0 {
		if err := s.plan(ctx); err != nil {
			return err
		}
	}
	if err := s.groups(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	s.digest(ctx)
	return nil
}

func (s *summary) Finish(ctx workflow.Context, why *task.Error) (finished results.Finished, err error) {
	books := activities.FinishRequest{
		Task: s.run.Facts.Ref(), Documents: s.Plan.Documents, Groups: len(s.Plan.Groups),
		Rest: why, Cut: s.Done.Cut, Digest: s.answer.Key, NoDigest: s.noDigest,
	}
	err = workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, lifecycle.StepStore, "store the result"), do.FinishSummary, books).Get(ctx, &finished)
	return finished, err
}

func (s *summary) plan(ctx workflow.Context) error {
	req := record.PlanRequest{Task: s.run.Facts.Ref(), InputKey: s.run.Facts.InputKey}
	err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, lifecycle.StepFetch, "share out the documents"), do.PlanSummary, req).Get(ctx, &s.Plan)
	if err != nil {
		return err
	}
	if len(s.Plan.Groups) > 0 && len(s.Plan.Groups[0].URLs) == 0 {
		s.run.Enter(lifecycle.StepExtract)
	}
	s.show(ctx)
	return nil
}

// groups keeps a window of groups at work until all are done. A run whose history grows long starts
// no more of them, and goes on in a new run when those at work have ended.
func (s *summary) groups(ctx workflow.Context) error {
	lifecycle.Listen(ctx, record.SignalGroup, func(report GroupReport) { s.hear(ctx, report) })
	window := lifecycle.Window{}
	window.Room = func() bool { return window.Running < s.groupsAtOnce() }
	window.Run(ctx, func(workflow.Context) func(workflow.Context) {
		if s.Next == len(s.Plan.Groups) {
			return nil
		}
		n := s.Next
		s.Next++
		return func(ctx workflow.Context) {
			if lifecycle.WaitUnpaused(ctx) == nil {
				s.group(ctx, n)
			}
		}
	})
	if s.Next < len(s.Plan.Groups) && ctx.Err() == nil {
		return lifecycle.ContinueAsNew(ctx, s.run, &s.Carry)
	}
	return nil
}

// groupsAtOnce is one where money is counted, so that no two spend the same rest of it.
func (s *summary) groupsAtOnce() int {
	if s.run.Facts.Budget > 0 {
		return 1
	}
	return groupsAtOnce
}

// group runs one group as a child and adds what it did. A group that breaks loses its unfinished
// documents only: they are accounted for when the books are closed.
func (s *summary) group(ctx workflow.Context, n int) {
	g := s.Plan.Groups[n]
	id := record.GroupID(s.run.Facts.ID, n)
	about := fmt.Sprintf("documents %d to %d of %d", g.From+1, g.From+len(g.Weights), s.Plan.Documents)
	in := GroupStart{Task: s.run.Facts.Ref(), Number: n, Group: g, FanIn: s.Plan.FanIn, Budget: s.run.BudgetLeft()}
	s.live[n] = GroupReport{Number: n}
	var report GroupReport
	if err := lifecycle.RunChild(ctx, lifecycle.ChildOptions(id, about), summaryGroup, in, &report); err != nil {
		workflow.GetLogger(ctx).Error("group ended badly", "task", s.run.Facts.ID, "group", n, "error", err)
		report = s.live[n]
	}
	delete(s.live, n)
	s.Done = s.Done.add(report)
	s.show(ctx)
}

// hear takes in the news of a group. That of one that has ended by now is old.
func (s *summary) hear(ctx workflow.Context, report GroupReport) {
	if _, runs := s.live[report.Number]; runs {
		s.live[report.Number] = report
		s.show(ctx)
	}
}

// show puts the sum of all groups before the readers.
func (s *summary) show(ctx workflow.Context) {
	all := s.Done
	for n := range s.Next { // in order: a sum of floats must replay to the same bits
		if report, ok := s.live[n]; ok {
			all = all.add(report)
		}
	}
	work := 0
	for _, g := range s.Plan.Groups {
		for _, w := range g.Weights {
			work += w
		}
	}
	if s.Plan.Digest {
		work += 1 + s.Plan.Documents/s.Plan.FanIn
	}
	s.run.Enter(steps[all.Step])
	s.run.State.Usage = all.Usage.Add(s.run.OwnUsage)
	s.run.CheckBudget()
	s.run.State.Simulated = all.Simulated
	s.run.Advance(ctx, all.Work/float64(max(work, 1)), task.Counts{
		Total: s.Plan.Documents, Succeeded: all.Succeeded, Failed: all.Failed, Running: all.Running,
		Pending: s.Plan.Documents - all.Succeeded - all.Failed - all.Running,
	})
}

// digest writes one summary over all that succeeded. A digest that cannot be had leaves the
// summaries as they are, and its reason in the result.
func (s *summary) digest(ctx workflow.Context) {
	if !s.Plan.Digest || s.Done.Succeeded == 0 {
		return
	}
	s.run.Enter(stepDigest)
	s.run.PublishSoon(ctx)
	var err error
	if s.answer, err = s.overAll(ctx); err != nil {
		s.noDigest = lifecycle.Reason(err)
	}
}

// overAll combines the summaries of all documents, level by level.
func (s *summary) overAll(ctx workflow.Context) (call.Answer, error) {
	fanIn := s.Plan.FanIn
	answers := make([]call.Answer, (s.Plan.Documents+fanIn-1)/fanIn)
	errs := lifecycle.Each(ctx, lifecycle.MaxCalls, len(answers), func(ctx workflow.Context, i int) (err error) {
		req := activities.DigestRequest{Task: s.run.Facts.Ref(), From: i * fanIn, To: min((i+1)*fanIn, s.Plan.Documents), Last: len(answers) == 1}
		answers[i], err = s.ask(ctx, stepDigest, fmt.Sprintf("digest of documents %d to %d", req.From+1, req.To), do.DigestItems, req)
		return err
	})
	if err := lifecycle.FirstError(errs); err != nil {
		return call.Answer{}, err
	}
	found := lifecycle.Keys(answers)
	if len(found) == 1 {
		return call.Answer{Key: found[0]}, nil
	}
	return lifecycle.Reduce(ctx, fanIn, found, func(ctx workflow.Context, answers []string, last bool) (call.Answer, error) {
		req := activities.CombineRequest{Task: s.run.Facts.Ref(), Answers: answers, Digest: true, Last: last}
		return s.ask(ctx, stepDigest, fmt.Sprintf("digest of %d digests", len(answers)), do.CombineAnswers, req)
	})
}

// ask makes one model call that belongs to no document, and adds what it used to the task.
func (s *summary) ask(ctx workflow.Context, step, about string, activity, req any) (call.Answer, error) {
	var answer call.Answer
	err := lifecycle.RunPaid(ctx, lifecycle.ModelCall(ctx, step, s.run.Facts.Ref(), about), activity, req, &answer)
	s.run.OwnUsage = s.run.OwnUsage.Add(lifecycle.Spent(answer, err).Usage)
	s.run.Spend(ctx, answer, err)
	s.run.CheckBudget()
	return answer, err
}
