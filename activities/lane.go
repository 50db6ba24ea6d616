package activities

import (
	"context"
	"errors"
	"time"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/router"
	"longhaul/internal/spell"
	"longhaul/internal/task"
)

// lanePatience is how long a call waits for its turn inside the worker. A longer wait is a timer of
// Temporal's: it holds no slot, and it survives the worker.
const lanePatience = 30 * time.Second

// enter waits for a turn in the lane of the first target that can be asked. One that rests, or whose account
// is used up, is passed by while another can stand in.
func (q *asking) enter(ctx context.Context) (*lane.Pass, error) {
	for {
		if q.target().Rests() && q.handOver() {
			continue
		}
		pass, err := q.wait(ctx, q.heart, door{lane: q.target().Lane, of: q.target().Provider.Name, task: q.task, tokens: q.tokens})
		closed, ok := errors.AsType[*lane.Closed](err)
		switch {
		case err == nil:
			return pass, nil
		case ok && closed.Why != nil && q.handOver():
			continue
		default:
			return nil, turnedAway(ctx, err, q.heart.now())
		}
	}
}

// door is where a call waits for its turn.
type door struct {
	lane   router.Gate
	of     string // the lane's name in numbers
	task   Task
	tokens int // about how many it will use
}

// wait waits for a turn, and tells of it. None is taken while it is likely that the task ends.
func (a *Activities) wait(ctx context.Context, heart diary, d door) (*lane.Pass, error) {
	for rest(ctx, a.endings.left(d.task.ID)) {
		pass, err := a.queue(ctx, heart, d)
		if err != nil || ctx.Err() == nil && a.endings.left(d.task.ID) == 0 {
			return pass, err
		}
		pass.Back() // it was given in the moment of the end
	}
	return nil, ctx.Err()
}

func (a *Activities) queue(ctx context.Context, heart diary, d door) (*lane.Pass, error) {
	heart.note(func(b *Beat) { b.Waiting = true })
	defer heart.note(func(b *Beat) { b.Waiting = false })
	began := time.Now()
	waiting, end := entrance(ctx)
	defer end()
	pass, err := d.lane.Enter(waiting, lane.Caller{Tenant: d.task.Tenant, Task: d.task.ID}, d.tokens, lanePatience)
	if a.Meter != nil {
		a.Meter.Waited(d.of, time.Since(began))
	}
	return pass, err
}

// turnedAway is the error of a call that was not made, for it got no turn. A wait that is too long for a worker is one that
// Temporal tries again after it.
func turnedAway(ctx context.Context, err error, b Beat) error {
	closed, ok := errors.AsType[*lane.Closed](err)
	if !ok {
		return stopped(ctx, b)
	}
	if refusal, dead := errors.AsType[*llm.Error](closed.Why); dead {
		return final(inWordsOf(refusal), b)
	}
	e := task.Errorf(task.RateLimited, "the provider's limit is used up until %s", closed.Until.UTC().Format(time.RFC3339))
	return again(e, b, pause(time.Until(closed.Until), 1))
}

// handOver lets the next target be asked from now on, with a budget of errors of its own, and reports
// whether there is one.
func (q *asking) handOver() bool {
	next := q.heart.now().Target + 1
	if next >= len(q.targets) {
		return false
	}
	q.flaw = nil
	q.heart.note(func(b *Beat) {
		b.Target, b.Before, b.Flaw = next, b.Errors, ""
		b.Asked, b.Away = spell.Spell{}, spell.Spell{}
	})
	return true
}

// estimate is about how many tokens a call will use: four bytes each, and a summary's length for the
// answer. The lane is told what it really was.
func estimate(req llm.Request) int {
	bytes := 0
	for _, m := range req.Messages {
		bytes += len(m.Content)
	}
	return bytes/4 + 500
}

// outcome tells the lane how a call came out.
func outcome(used llm.Usage, told llm.Limits, err error) lane.Outcome {
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return lane.Outcome{Tokens: int(used.InputTokens + used.OutputTokens), Limits: limits(told)}
	}
	o := lane.Outcome{
		Tokens:    int(refusal.Partial.InputTokens + refusal.Partial.OutputTokens),
		Throttled: refusal.Class == llm.Wait, RetryAfter: refusal.RetryAfter,
		Limits: limits(refusal.Limits),
	}
	if refusal.Code == task.ModelQuota || refusal.Code == task.ModelAuth {
		o.Stop = refusal
	}
	return o
}

func limits(told llm.Limits) lane.Limits {
	return lane.Limits{Requests: told.Requests, Tokens: told.Tokens}
}
