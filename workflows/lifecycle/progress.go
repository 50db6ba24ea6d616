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

// Run is a task while its workflow runs: its facts, and the state its readers see.
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

// pace is how often news of a task is written at the most. Every write is an event of a history,
// so a task that runs for hours writes less often: once in a hundredth of its age, up to ten seconds.
func NewsInterval(age time.Duration) time.Duration {
	return min(max(age/100, time.Second), 10*time.Second)
}

// throttle does something now, or as soon as it may be done again.
type Throttle struct {
	last    time.Time
	pending bool
}

// soon runs act at once if it has not run within the time, and once at the end of it otherwise.
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

// enter goes on to a step. Steps only go forward, whatever order their news arrives in.
func (r *Run) Enter(step string) {
	if i := slices.Index(r.steps, step); i+1 > r.State.Progress.StepIndex {
		r.State.Progress.Step, r.State.Progress.StepIndex = step, i+1
	}
}

// advance notes how much of the work is done, from 0 to 1, and shows it soon. The percentage never
// falls, and stays below 100 until the task has ended.
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

// eta is a guess from the speed so far; there is none in the first seconds.
func eta(elapsed time.Duration, fraction float64) *task.ETA {
	if fraction < 0.02 || elapsed < 3*time.Second {
		return nil
	}
	left := elapsed.Seconds() * (1 - fraction) / fraction
	return &task.ETA{Seconds: int64(math.Ceil(left))}
}

// say tells readers what is being done.
func (r *Run) Say(ctx workflow.Context, message string) {
	r.State.Progress.Message = message
	r.PublishSoon(ctx)
}

// at reports whether the task has come to a step.
func (r *Run) At(step string) bool { return r.State.Progress.Step == step }

// spend adds what a model call used, whether it gave an answer or not.
func (r *Run) Spend(ctx workflow.Context, answer call.Answer, err error) {
	r.State.Usage = r.State.Usage.Add(Spent(answer, err).Usage)
	r.State.Simulated = r.State.Simulated || answer.Simulated
	if err == nil {
		r.PublishSoon(ctx)
	}
}

// checkBudget stops the work when the budget is used up. Calls on their way are still paid for.
func (r *Run) CheckBudget() {
	if why := r.OverBudget(); why != nil {
		r.Halt(why)
	}
}

// overBudget says why nothing more may be spent; nil if there is no reason.
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

// mostUnmetered is after how many calls without a price a budget is given up, if no call has one.
const mostUnmetered = 5

// left is what is left of the budget; 0 is no limit.
func (r *Run) BudgetLeft() float64 { return BudgetLeft(r.Facts.Budget, r.SpentMoney()) }

// rest is what is left of a budget when something was spent; 0 is no limit.
func BudgetLeft(budget, spent float64) float64 {
	const least = 1e-12 // a budget that is used up is not none
	if budget == 0 {
		return 0
	}
	return max(budget-spent, least)
}

// nearBudget reports whether little is left of the budget.
func (r *Run) NearBudget() bool {
	const near = 0.9
	return r.Facts.Budget > 0 && r.SpentMoney() >= near*r.Facts.Budget
}

// spentMoney is what the task cost, with the tasks that it started.
func (r *Run) SpentMoney() float64 { return Money(r.State.Usage.Add(r.State.Started)) }

// money is what was spent, as far as it is known.
func Money(used task.Usage) float64 {
	if used.Cost == nil {
		return 0
	}
	return used.Cost.Amount
}

// publishSoon writes the memo before long.
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

// publish writes the state to the memo, as the next revision.
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

// details is the state in words, for those who look at the workflow in Temporal's own pages.
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
