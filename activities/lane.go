package activities

import (
	"context"
	"errors"
	"time"

	"longhaul/internal/lane"
	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// lanePatience is how long a call waits for its turn inside the worker. A longer wait is a timer of
// Temporal's: it holds no slot, and it survives the worker.
const lanePatience = 30 * time.Second

// enter waits for a turn in the lane. A wait that is too long for a worker comes back as an error that
// Temporal tries again after it; no call was made, and none is counted.
func (a *Activities) enter(ctx context.Context, heart *heart, t Task, req llm.Request) (*lane.Pass, error) {
	heart.note(func(b *Beat) { b.Waiting = true })
	pass, err := a.Lane.Enter(ctx, t.Tenant, estimate(req), lanePatience)
	heart.note(func(b *Beat) { b.Waiting = false })
	closed, ok := errors.AsType[*lane.Closed](err)
	if err != nil && !ok {
		return nil, stopped(ctx)
	}
	if !ok {
		return pass, nil
	}
	if refusal, dead := errors.AsType[*llm.Error](closed.Why); dead {
		e := refusal.Task()
		e.Detail += "; no more calls are made with this key for some minutes. When it is mended, run the task again"
		return nil, final(e, heart.now().Calls)
	}
	e := task.Errorf(task.RateLimited, "the provider's limit is used up until %s", closed.Until.UTC().Format(time.RFC3339))
	return nil, again(e, heart.now().Calls, pause(time.Until(closed.Until), 1))
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
func outcome(response llm.Response, err error) lane.Outcome {
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return lane.Outcome{Tokens: int(response.Usage.InputTokens + response.Usage.OutputTokens), Limits: limits(response.Limits)}
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
