package call

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/router"
	"longhaul/internal/spell"
	"longhaul/internal/task"
)

// handsOver lists the failures where another provider, or another model, may succeed.
var handsOver = map[task.Code]bool{
	task.ModelQuota: true, task.ModelAuth: true, task.ModelUnknown: true, task.ModelUnavailable: true,
	task.RateLimited: true, task.AnswerIncomplete: true, task.BadResponse: true,
}

// failed turns the failure of a call into an error for Temporal. A cancel, a pause and a stopping worker are not
// failures of the call.
func (q *PaidCall) failed(ctx context.Context, err error) error {
	if temporal.IsApplicationError(err) || temporal.IsCanceledError(err) || errors.Is(err, activity.ErrActivityPaused) {
		return err // no call was made
	}
	price := q.target().Price
	if ctx.Err() != nil {
		cut, _ := errors.AsType[*llm.Error](err)
		q.Heartbeat.UpdateCall(func(s *record.CallState) { countCutOff(s, cut, price) })
		return Stopped(ctx, q.Heartbeat.Flush(ctx))
	}
	failure, ok := errors.AsType[*llm.Error](err)
	if !ok {
		failure = &llm.Error{Class: llm.Retry, Code: task.ModelUnavailable, Message: err.Error(), Err: err}
	}
	q.Heartbeat.UpdateCall(func(s *record.CallState) { CountFailure(s, failure, price) })
	next := q.next(ctx, failure)
	s := q.Heartbeat.Flush(ctx)
	q.Log.Info("model call failed", "error", failure, "class", failure.Class, "target", q.target().String(),
		"calls", s.Calls, "errors", s.Errors, "throttled", s.Throttled, "down", s.Down)
	return next
}

// next decides what follows a failed call: a repair, the next target, the same call again, or nothing.
func (q *PaidCall) next(ctx context.Context, failure *llm.Error) error {
	if q.defect != nil && (failure.Code == task.ModelRefused || failure.Code == task.ContextExceeded) { // the repair cannot be asked for
		failure = &llm.Error{
			Class: llm.Final, Code: q.defect.Code, Message: q.defect.Said,
			Provider: failure.Provider, Status: failure.Status, RequestID: failure.RequestID,
		}
	}
	s, cause := q.Heartbeat.Call(), taskError(failure)
	try := TryOf(failure, s)
	retry, after := Decide(ModelCall, try, q.MaxAttempts)
	if s.Defect != "" && defectOf(q.Req, failure) != nil {
		retry = false // the repaired answer has a defect as well
	}
	switch {
	case q.recordDefect(ctx, defectOf(q.Req, failure)):
		return Retry(cause, s, Immediately)
	case (!retry || try.Reason == Outage) && handsOver[failure.Code] && q.handOver():
		if try.Reason == Outage {
			q.Targets[s.Target].Rest()
		}
		return Retry(cause, s, Immediately)
	case !retry:
		return Final(cause, s)
	default:
		return Retry(cause, s, after)
	}
}

// taskError is what the task reports of a failure, with the way out where only a person can take it.
func taskError(failure *llm.Error) *task.Error {
	e := failure.Task()
	if failure.Code == task.ModelQuota || failure.Code == task.ModelAuth {
		e.Detail += "; no more calls are made with this key for some minutes. When it is mended, run the task again"
	}
	return e
}

// countCutOff counts a call that was cut off from our side. What it used is known if the provider told it before.
func countCutOff(s *record.CallState, cut *llm.Error, price *router.Price) {
	s.InFlight = ""
	if cut == nil || !cut.Partial.Known {
		s.Wasted.UnmeteredCalls++
		return
	}
	s.Wasted = s.Wasted.Add(task.Usage{WastedTokens: cut.Partial.InputTokens + cut.Partial.OutputTokens, Cost: price.Cost(cut.Partial)})
}

// CountFailure counts a failed call by its reason, and what it used. A request that is refused with a status costs
// nothing; what a call used that broke later is unknown unless the provider told it.
func CountFailure(s *record.CallState, failure *llm.Error, price *router.Price) {
	s.InFlight = ""
	switch used := failure.Partial; {
	case failure.Class == llm.Final && failure.Status == 0:
		s.Calls-- // it was never sent
		return
	case used.Known:
		s.Wasted = s.Wasted.Add(task.Usage{WastedTokens: used.InputTokens + used.OutputTokens, Cost: price.Cost(used)})
	case failure.Status < http.StatusBadRequest && !unreached(failure):
		s.Wasted.UnmeteredCalls++
	}
	addTry(s, failure)
	reason, now := ReasonOf(failure), time.Now()
	switch reason {
	case Outage:
		s.Down++
		s.Outage.Look(now, MaxGap(failure))
	case Throttled:
		s.Throttled++
		s.Throttling.Look(now, MaxGap(failure))
	default:
		s.Errors++
	}
	if reason != Outage {
		s.Outage = spell.Spell{} // the provider answered: the next outage is another one
	}
}

// MaxGap is the longest time between two failed calls that counts towards the limit of their reason: more than the
// delays. A clock that was set, and a time without workers, do not use up the limit.
func MaxGap(failure *llm.Error) time.Duration { return 5*time.Minute + 2*failure.RetryAfter }

// maxTries is how many failed calls are remembered, the newest of them.
const maxTries = 5

// addTry remembers a failed call, for the person who has to find the cause.
func addTry(s *record.CallState, failure *llm.Error) {
	tries := append(slices.Clone(s.Tries), task.FailedTry{
		At: time.Now().UTC(), Code: failure.Code, Said: task.Brief(failure.Message), Target: failure.Provider,
	})
	s.Tries = tries[max(len(tries)-maxTries, 0):]
}
