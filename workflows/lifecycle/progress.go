package lifecycle

import (
	"fmt"
	"math"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities/call"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Run is a task while its workflow runs: its facts, and the state that readers see.
type Run struct {
	Facts    record.Facts
	steps    []string
	State    record.Snapshot
	stopWork workflow.CancelFunc
	halted   *task.Error // why the work was stopped before its end; nil if it was not
	OwnUsage task.Usage  // of calls that belong to no item
	news     Throttle
	listed   task.State // the state that lists show
}

// NewsInterval is the shortest time between two publications of progress. Each is an event of the history, so a long
// task publishes less often: every hundredth of its age, from one to ten seconds.
func NewsInterval(age time.Duration) time.Duration {
	return min(max(age/100, time.Second), 10*time.Second)
}

// Throttle runs an action now, or as soon as it may run again.
type Throttle struct {
	last    time.Time
	pending bool
}

// Soon runs act at once if it has not run within the interval, and once at the end of the interval otherwise.
func (t *Throttle) Soon(ctx workflow.Context, every time.Duration, act func(workflow.Context)) {
	if t.pending {
		return
	}
	now := workflow.Now(ctx)
	wait := every - now.Sub(t.last)
	if wait <= 0 {
		t.last = now
		act(ctx)
		return
	}
	t.pending = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{Summary: "next news"}).Get(ctx, nil)
		t.pending = false
		if err == nil {
			t.last = workflow.Now(ctx)
			act(ctx)
		}
	})
}

// Enter moves the task to a step. Steps only move forward.
func (r *Run) Enter(step string) {
	if i := slices.Index(r.steps, step); i+1 > r.State.Progress.StepIndex {
		r.State.Progress.Step, r.State.Progress.StepIndex = step, i+1
	}
}

// Advance publishes soon how much of the work is done, from 0 to 1. The percentage never falls, and stays below 100
// until the task has ended.
func (r *Run) Advance(ctx workflow.Context, fraction float64, counts task.Counts) {
	now := workflow.Now(ctx)
	p := &r.State.Progress
	percent := min(int(math.Floor(fraction*100)), 99)
	if p.Percent == nil || percent > *p.Percent {
		p.Percent = &percent
	}
	p.Counts = counts
	p.ETA = eta(now.Sub(r.State.StartedAt), fraction)
	p.Message = fmt.Sprintf("%d of %d done", counts.Succeeded+counts.Failed, counts.Total)
	if counts.Failed > 0 {
		p.Message += fmt.Sprintf(", %d of them failed", counts.Failed)
	}
	r.PublishSoon(ctx)
}

// eta estimates the time left from the speed so far; nil in the first seconds.
func eta(elapsed time.Duration, fraction float64) *task.ETA {
	if fraction < 0.02 || elapsed < 3*time.Second {
		return nil
	}
	left := elapsed.Seconds() * (1 - fraction) / fraction
	return &task.ETA{Seconds: int64(math.Ceil(left))}
}

// Say publishes soon what is being done.
func (r *Run) Say(ctx workflow.Context, message string) {
	r.State.Progress.Message = message
	r.PublishSoon(ctx)
}

// At reports whether the task is at a step.
func (r *Run) At(step string) bool { return r.State.Progress.Step == step }

// Spend adds what a model call used, with or without an answer.
func (r *Run) Spend(ctx workflow.Context, answer call.Answer, err error) {
	r.State.Usage = r.State.Usage.Add(Spent(answer, err).Usage)
	r.State.Simulated = r.State.Simulated || answer.Simulated
	if err == nil {
		r.PublishSoon(ctx)
	}
}

// CheckBudget stops the work when the budget is used up. Calls under way are still paid for.
func (r *Run) CheckBudget() {
	if why := r.OverBudget(); why != nil {
		r.Halt(why)
	}
}

// OverBudget returns why no more may be spent; nil if more may.
func (r *Run) OverBudget() *task.Error {
	switch {
	case r.Facts.Budget == 0:
	case r.SpentMoney() >= r.Facts.Budget:
		return task.Errorf(task.BudgetExceeded, "the budget of %g is used up", r.Facts.Budget)
	case r.State.Usage.Cost == nil && r.State.Usage.UnmeteredCalls >= mostUnmetered:
		return task.Errorf(task.BudgetExceeded, "the budget of %g cannot be kept: the provider does not tell what calls use", r.Facts.Budget)
	}
	return nil
}

// mostUnmetered is the number of calls without a price after which a budget cannot be kept, if no call has a price.
const mostUnmetered = 5

// BudgetLeft returns what is left of a budget after spending; 0 means no limit.
func (r *Run) BudgetLeft() float64 { return BudgetLeft(r.Facts.Budget, r.SpentMoney()) }

// BudgetLeft returns what is left of a budget after spending; 0 means no limit.
func BudgetLeft(budget, spent float64) float64 {
	const least = 1e-12 // a budget that is used up is not none
	if budget == 0 {
		return 0
	}
	return max(budget-spent, least)
}

// NearBudget reports whether little is left of the budget.
func (r *Run) NearBudget() bool {
	const near = 0.9
	return r.Facts.Budget > 0 && r.SpentMoney() >= near*r.Facts.Budget
}

// SpentMoney returns what the task cost, with the tasks that it started.
func (r *Run) SpentMoney() float64 { return Money(r.State.Usage.Add(r.State.Started)) }

// Money returns the amount of a usage, as far as it is known.
func Money(used task.Usage) float64 {
	if used.Cost == nil {
		return 0
	}
	return used.Cost.Amount
}

// PublishSoon publishes the state within the news interval.
func (r *Run) PublishSoon(ctx workflow.Context) {
	r.news.Soon(ctx, NewsInterval(workflow.Now(ctx).Sub(r.State.StartedAt)), func(ctx workflow.Context) {
		if r.State.State.Terminal() {
			return
		}
		if err := r.publish(ctx); err != nil {
			workflow.GetLogger(ctx).Error("progress not published", "error", err)
		}
	})
}

// publish writes the state to the memo under the next revision.
func (r *Run) publish(ctx workflow.Context) error {
	r.State.Next()
	if now := workflow.Now(ctx); now.After(r.State.UpdatedAt) { // not so when the API's clock is ahead, or a new run begins by a clock that was put back
		r.State.UpdatedAt = now
	}
	if r.listed != r.State.State {
		r.listed = r.State.State
		if err := workflow.UpsertTypedSearchAttributes(ctx, record.AttrState.ValueSet(string(r.listed))); err != nil {
			return err
		}
	}
	workflow.SetCurrentDetails(ctx, r.details())
	return workflow.UpsertMemo(ctx, map[string]any{record.MemoState: r.State})
}

// details describes the state in Markdown for the Temporal Web UI.
func (r *Run) details() string {
	p := r.State.Progress
	text := fmt.Sprintf("**%s**, step %d of %d: %s\n\n%s", r.State.State, p.StepIndex, p.StepCount, p.Step, p.Message)
	if r.State.Error != nil {
		text += "\n\n" + r.State.Error.Error()
	}
	return text
}

// closing is the last message of a task.
func closing(state task.State, c task.Counts) string {
	text := fmt.Sprintf("%d of %d done", c.Succeeded, c.Total)
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.Cancelled > 0 {
		text += fmt.Sprintf(", %d left undone", c.Cancelled)
	}
	switch {
	case c.Total == 0:
		return string(state)
	case state == task.Succeeded:
		return text
	default:
		return string(state) + "; " + text
	}
}
