package call

import (
	"context"
	"errors"
	"time"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/router"
	"longhaul/internal/spell"
	"longhaul/internal/task"
)

// lanePatience is how long a call waits for its turn inside the worker. A longer wait is a timer of
// Temporal's: it holds no slot, and it survives the worker.
const laneWait = 30 * time.Second

// enter waits for a turn in the lane of the first target that can be asked. One that rests, or whose account
// is used up, is passed by while another can stand in.
func (q *PaidCall) admit(ctx context.Context) (*lane.Pass, error) {
	for {
		if q.target().Rests() && q.handOver() {
			continue
		}
		pass, err := q.Admit(ctx, q.Heartbeat, Gate{Lane: q.target().Lane, Of: q.target().Provider.Name, Task: q.Task, Tokens: q.Tokens})
		closed, ok := errors.AsType[*lane.Closed](err)
		switch {
		case err == nil:
			return pass, nil
		case ok && closed.Why != nil && q.handOver():
			continue
		default:
			return nil, NotAdmitted(ctx, err, q.Heartbeat.Call())
		}
	}
}

// door is where a call waits for its turn.
type Gate struct {
	Lane   router.Gate
	Of     string // the lane's name in numbers
	Task   record.TaskRef
	Tokens int // about how many it will use
}

// wait waits for a turn, and tells of it. None is taken while it is likely that the task ends.
func (a *Caller) Admit(ctx context.Context, heart Recorder, d Gate) (*lane.Pass, error) {
	for Sleep(ctx, a.cancels.remaining(d.Task.ID)) {
		pass, err := a.enterLane(ctx, heart, d)
		if err != nil || ctx.Err() == nil && a.cancels.remaining(d.Task.ID) == 0 {
			return pass, err
		}
		pass.Back() // it was given in the moment of the end
	}
	return nil, ctx.Err()
}

func (a *Caller) enterLane(ctx context.Context, heart Recorder, d Gate) (*lane.Pass, error) {
	heart.SetWaiting(true)
	defer heart.SetWaiting(false)
	began := time.Now()
	waiting, end := admission(ctx)
	defer end()
	pass, err := d.Lane.Enter(waiting, lane.Caller{Tenant: d.Task.Tenant, Task: d.Task.ID}, d.Tokens, laneWait)
	if a.Meter != nil {
		a.Meter.Waited(d.Of, time.Since(began))
	}
	return pass, err
}

// turnedAway is the error of a call that was not made, for it got no turn. A wait that is too long for a worker is one that
// Temporal tries again after it.
func NotAdmitted(ctx context.Context, err error, b record.CallState) error {
	closed, ok := errors.AsType[*lane.Closed](err)
	if !ok {
		return Stopped(ctx, b)
	}
	if refusal, dead := errors.AsType[*llm.Error](closed.Why); dead {
		return Final(taskError(refusal), b)
	}
	e := task.Errorf(task.RateLimited, "the provider's limit is used up until %s", closed.Until.UTC().Format(time.RFC3339))
	return Retry(e, b, RetryDelay(time.Until(closed.Until), 1))
}

// handOver lets the next target be asked from now on, with a budget of errors of its own, and reports
// whether there is one.
func (q *PaidCall) handOver() bool {
	next := q.Heartbeat.Call().Target + 1
	if next >= len(q.Targets) {
		return false
	}
	q.defect = nil
	q.Heartbeat.UpdateCall(func(b *record.CallState) {
		b.Target, b.ErrorsBefore, b.Defect = next, b.Errors, ""
		b.Throttling, b.Outage = spell.Spell{}, spell.Spell{}
	})
	return true
}

// estimate is about how many tokens a call will use: four bytes each, and a summary's length for the
// answer. The lane is told what it really was.
func EstimateTokens(req llm.Request) int {
	bytes := 0
	for _, m := range req.Messages {
		bytes += len(m.Content)
	}
	return bytes/4 + 500
}

// outcome tells the lane how a call came out.
func LaneOutcome(used llm.Usage, told llm.Limits, err error) lane.Outcome {
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
