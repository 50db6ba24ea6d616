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

// laneWait is how long a call waits for its turn inside the worker. A longer wait is a timer of Temporal: it holds no
// slot, and it survives the worker.
const laneWait = 30 * time.Second

// admit waits for a turn in the lane of the first target that can be asked. A target that rests, or whose account is
// used up, is skipped while another can take over.
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

// Gate is the lane that a call waits in.
type Gate struct {
	Lane   router.Gate
	Of     string // the lane's name in numbers
	Task   record.TaskRef
	Tokens int // about how many it will use
}

// Admit waits for a turn and shows that it waits. No turn is taken while the task is likely to end.
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

// NotAdmitted is the error of a call that got no turn. Temporal retries it after a wait that is too long for a worker.
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

// handOver makes the next target the one to ask, with an error budget of its own. It reports whether there is one.
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

// EstimateTokens estimates the tokens of a call: a token for four bytes, and a summary's length for the answer. The
// lane learns the real number afterwards.
func EstimateTokens(req llm.Request) int {
	bytes := 0
	for _, m := range req.Messages {
		bytes += len(m.Content)
	}
	return bytes/4 + 500
}

// LaneOutcome tells the lane how a call ended.
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
