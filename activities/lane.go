package activities

import (
	"context"
	"errors"
	"time"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
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
		q.heart.note(func(b *Beat) { b.Waiting = true })
		began := time.Now()
		waiting, end := entrance(ctx)
		pass, err := q.target().Lane.Enter(waiting, lane.Caller{Tenant: q.task.Tenant, Task: q.task.ID}, q.tokens, lanePatience)
		end()
		q.heart.note(func(b *Beat) { b.Waiting = false })
		if q.Meter != nil {
			q.Meter.Waited(q.target().Provider.Name, time.Since(began))
		}
		closed, ok := errors.AsType[*lane.Closed](err)
		switch {
		case err == nil:
			return pass, nil
		case !ok:
			return nil, stopped(ctx, q.heart.now())
		case closed.Why != nil && q.handOver():
			continue
		default:
			return nil, q.turnedAway(closed)
		}
	}
}

// turnedAway is the error of a call that was not made. A wait that is too long for a worker is one that
// Temporal tries again after it.
func (q *asking) turnedAway(closed *lane.Closed) error {
	if refusal, dead := errors.AsType[*llm.Error](closed.Why); dead {
		return final(inWordsOf(refusal), q.heart.now())
	}
	e := task.Errorf(task.RateLimited, "the provider's limit is used up until %s", closed.Until.UTC().Format(time.RFC3339))
	return again(e, q.heart.now(), pause(time.Until(closed.Until), 1))
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
