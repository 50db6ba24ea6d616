package workflows

import (
	"fmt"
	"math"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/task"
)

// Run is a task while its workflow runs: its facts, and the state its readers see.
type Run struct {
	Facts    Facts
	steps    []string
	state    Snapshot
	stopWork workflow.CancelFunc
	halted   *task.Error // why the work was stopped before its end; nil if it was not
	ownUsage task.Usage  // of calls that belong to no item
	news     throttle
	listed   task.State // the state that lists show
}

// pace is how often news of a task is written at the most. Every write is an event of a history,
// so a task that runs for hours writes less often: once in a hundredth of its age, up to ten seconds.
func pace(age time.Duration) time.Duration {
	return min(max(age/100, time.Second), 10*time.Second)
}

// throttle does something now, or as soon as it may be done again.
type throttle struct {
	last    time.Time
	pending bool
}

// soon runs act at once if it has not run within the time, and once at the end of it otherwise.
func (t *throttle) soon(ctx workflow.Context, every time.Duration, act func(workflow.Context)) {
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
func (r *Run) enter(step string) {
	if i := slices.Index(r.steps, step); i+1 > r.state.Progress.StepIndex {
		r.state.Progress.Step, r.state.Progress.StepIndex = step, i+1
	}
}

// advance notes how much of the work is done, from 0 to 1, and shows it soon. The percentage never
// falls, and stays below 100 until the task has ended.
func (r *Run) advance(ctx workflow.Context, fraction float64, counts task.Counts) {
	now := workflow.Now(ctx)
	p := &r.state.Progress
	percent := min(int(math.Floor(fraction*100)), 99)
	if p.Percent == nil || percent > *p.Percent {
		p.Percent = &percent
	}
	p.Counts = counts
	p.ETA = eta(now.Sub(r.state.StartedAt), fraction)
	p.Message = fmt.Sprintf("%d of %d done", counts.Succeeded+counts.Failed, counts.Total)
	if counts.Failed > 0 {
		p.Message += fmt.Sprintf(", %d of them failed", counts.Failed)
	}
	r.publishSoon(ctx)
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
func (r *Run) say(ctx workflow.Context, message string) {
	r.state.Progress.Message = message
	r.publishSoon(ctx)
}

// at reports whether the task has come to a step.
func (r *Run) at(step string) bool { return r.state.Progress.Step == step }

// spend adds what a model call used, whether it gave an answer or not.
func (r *Run) spend(ctx workflow.Context, answer activities.Answer, err error) {
	r.state.Usage = r.state.Usage.Add(spent(answer, err).Usage)
	r.state.Simulated = r.state.Simulated || answer.Simulated
	if err == nil {
		r.publishSoon(ctx)
	}
}

// checkBudget stops the work when the budget is used up. Calls on their way are still paid for.
func (r *Run) checkBudget() {
	if why := r.overBudget(); why != nil {
		r.halt(why)
	}
}

// overBudget says why nothing more may be spent; nil if there is no reason.
func (r *Run) overBudget() *task.Error {
	switch {
	case r.Facts.Budget == 0:
	case r.spentMoney() >= r.Facts.Budget:
		return task.Errorf(task.BudgetExceeded, "the budget of %g is used up", r.Facts.Budget)
	case r.state.Usage.Cost == nil && r.state.Usage.UnmeteredCalls >= mostUnmetered:
		return task.Errorf(task.BudgetExceeded, "the budget of %g cannot be kept: the provider does not tell what calls use", r.Facts.Budget)
	}
	return nil
}

// mostUnmetered is after how many calls without a price a budget is given up, if no call has one.
const mostUnmetered = 5

// left is what is left of the budget; 0 is no limit.
func (r *Run) left() float64 { return rest(r.Facts.Budget, r.spentMoney()) }

// rest is what is left of a budget when something was spent; 0 is no limit.
func rest(budget, spent float64) float64 {
	const least = 1e-12 // a budget that is used up is not none
	if budget == 0 {
		return 0
	}
	return max(budget-spent, least)
}

// nearBudget reports whether little is left of the budget.
func (r *Run) nearBudget() bool {
	const near = 0.9
	return r.Facts.Budget > 0 && r.spentMoney() >= near*r.Facts.Budget
}

// spentMoney is what the task cost, with the tasks that it started.
func (r *Run) spentMoney() float64 { return money(r.state.Usage.Add(r.state.Started)) }

// money is what was spent, as far as it is known.
func money(used task.Usage) float64 {
	if used.Cost == nil {
		return 0
	}
	return used.Cost.Amount
}

// publishSoon writes the memo before long.
func (r *Run) publishSoon(ctx workflow.Context) {
	r.news.soon(ctx, pace(workflow.Now(ctx).Sub(r.state.StartedAt)), func(ctx workflow.Context) {
		if r.state.State.Terminal() {
			return
		}
		if err := r.publish(ctx); err != nil {
			workflow.GetLogger(ctx).Error("progress not published", "error", err)
		}
	})
}

// publish writes the state to the memo, as the next revision.
func (r *Run) publish(ctx workflow.Context) error {
	r.state.Revision++
	if r.state.State.Terminal() {
		r.state.Revision++ // a cancel that was asked for meanwhile was shown with the number before
	}
	if now := workflow.Now(ctx); now.After(r.state.UpdatedAt) { // not so when the API's clock is ahead, or a new run begins by a clock that was put back
		r.state.UpdatedAt = now
	}
	if r.listed != r.state.State {
		r.listed = r.state.State
		if err := workflow.UpsertTypedSearchAttributes(ctx, AttrState.ValueSet(string(r.listed))); err != nil {
			return err
		}
	}
	workflow.SetCurrentDetails(ctx, r.details())
	return workflow.UpsertMemo(ctx, map[string]any{MemoState: r.state})
}

// details is the state in words, for those who look at the workflow in Temporal's own pages.
func (r *Run) details() string {
	p := r.state.Progress
	text := fmt.Sprintf("**%s**, step %d of %d: %s\n\n%s", r.state.State, p.StepIndex, p.StepCount, p.Step, p.Message)
	if r.state.Error != nil {
		text += "\n\n" + r.state.Error.Error()
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
