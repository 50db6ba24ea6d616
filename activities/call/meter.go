package call

import (
	"context"
	"errors"
	"time"

	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/router"
	"longhaul/internal/task"
)

// Meter counts calls for operators. Outcome is an error code, ok or cut_off.
type Meter interface {
	Called(provider, outcome string, took time.Duration)
	Used(provider, model string, u task.Usage)
	Waited(provider string, d time.Duration)
	Lost(calls int)
}

// metered counts a call that has ended.
func (q *PaidCall) metered(ctx context.Context, target router.Target, began time.Time, got Entry, err error) {
	if q.Meter == nil {
		return
	}
	result, used := "ok", got.Used()
	if err != nil {
		refusal, _ := errors.AsType[*llm.Error](err)
		result, used = outcomeOf(ctx, refusal), wasted(refusal, target.Price)
	}
	q.Meter.Called(target.Provider.Name, result, time.Since(began))
	q.Meter.Used(target.Provider.Name, target.Name, used)
}

func outcomeOf(ctx context.Context, refusal *llm.Error) string {
	switch {
	case ctx.Err() != nil:
		return "cut_off"
	case refusal == nil:
		return string(task.ModelUnavailable)
	default:
		return string(refusal.Code)
	}
}

// wasted returns what a call without an answer used, as far as the provider reported.
func wasted(refusal *llm.Error, price *router.Price) task.Usage {
	if refusal == nil || !refusal.Partial.Known {
		return task.Usage{}
	}
	return task.Usage{WastedTokens: refusal.Partial.InputTokens + refusal.Partial.OutputTokens, Cost: price.Cost(refusal.Partial)}
}

// countLost counts the call that a worker left under way when it died. Its answer is not on record.
func (q *PaidCall) countLost() {
	if q.Heartbeat.Call().InFlight == "" {
		return
	}
	q.Heartbeat.UpdateCall(func(s *record.CallState) { s.InFlight, s.Lost = "", s.Lost+1 })
	if q.Meter != nil {
		q.Meter.Lost(1)
	}
}
