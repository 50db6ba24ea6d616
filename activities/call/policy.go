package call

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/cutoff"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/router"
	"longhaul/internal/spell"
	"longhaul/internal/task"
)

// How long a call goes on being turned away before its task is told: asked to wait, or by a provider that
// is down. These are budgets of time, apart from the budget of errors, and nothing is paid meanwhile.
const (
	ThrottleLimit = 6 * time.Hour
	OutageLimit   = 15 * time.Minute
)

// handsOver are the failures that another provider, or another model, may do better at.
var handsOver = map[task.Code]bool{
	task.ModelQuota: true, task.ModelAuth: true, task.ModelUnknown: true, task.ModelUnavailable: true,
	task.RateLimited: true, task.AnswerIncomplete: true, task.BadResponse: true,
}

// failed tells Temporal whether calling again can help, and when. A rate limit does not use up the
// attempts; a cancel and a worker that stops are no failures of the call at all.
func (q *PaidCall) failed(ctx context.Context, err error) error {
	if temporal.IsApplicationError(err) || temporal.IsCanceledError(err) || errors.Is(err, activity.ErrActivityPaused) {
		return err // no call was made
	}
	if ctx.Err() != nil {
		cut, _ := errors.AsType[*llm.Error](err)
		price := q.target().Price
		q.Heartbeat.UpdateCall(func(s *record.CallState) { countCutOff(s, cut, price) })
		return Stopped(ctx, q.Heartbeat.Flush(ctx))
	}
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok {
		refusal = &llm.Error{Class: llm.Retry, Code: task.ModelUnavailable, Message: err.Error(), Err: err}
	}
	price := q.target().Price
	q.Heartbeat.UpdateCall(func(s *record.CallState) { CountFailure(s, refusal, price) })
	told := q.verdict(ctx, refusal)
	b := q.Heartbeat.Flush(ctx)
	q.Log.Info("model call failed", "error", refusal, "class", refusal.Class, "target", q.target().String(),
		"calls", b.Calls, "errors", b.Errors, "throttled", b.Throttled, "down", b.Down)
	return told
}

// atOnce is the wait before an attempt that does something else than the one before.
const Immediately = time.Millisecond

// verdict decides what comes after a call that failed: the same again, the same mended, the next target,
// or nothing.
func (q *PaidCall) verdict(ctx context.Context, refusal *llm.Error) error {
	if q.defect != nil && (refusal.Code == task.ModelRefused || refusal.Code == task.ContextExceeded) { // what would mend the answer is not to be had
		refusal = &llm.Error{Class: llm.Final, Code: q.defect.Code, Message: q.defect.Said, Provider: refusal.Provider, Status: refusal.Status, RequestID: refusal.RequestID}
	}
	down, cause := IsOutage(refusal), taskError(refusal)
	b := q.Heartbeat.Call()
	over := q.over(refusal, b)
	switch {
	case q.recordDefect(ctx, defectOf(q.Req, refusal)):
		return Retry(cause, b, Immediately)
	case (over || down) && handsOver[refusal.Code] && q.handOver():
		if down {
			q.Targets[b.Target].Rest()
		}
		return Retry(cause, b, Immediately)
	case over:
		return Final(cause, b)
	case down:
		return Retry(cause, b, RetryDelay(refusal.RetryAfter, b.Down))
	case refusal.Class == llm.Wait:
		return Retry(cause, b, RetryDelay(refusal.RetryAfter, b.Throttled))
	default:
		return Retry(cause, b, RetryDelay(refusal.RetryAfter, b.Errors-b.ErrorsBefore))
	}
}

// inWordsOf is what a task is told of a refusal, with the way out where only a person can take it.
func taskError(refusal *llm.Error) *task.Error {
	e := refusal.Task()
	if refusal.Code == task.ModelQuota || refusal.Code == task.ModelAuth {
		e.Detail += "; no more calls are made with this key for some minutes. When it is mended, run the task again"
	}
	return e
}

// over reports whether the target that failed has failed for good.
func (q *PaidCall) over(refusal *llm.Error, b record.CallState) bool {
	most := q.MaxAttempts
	if refusal.Tries > 0 {
		most = min(most, refusal.Tries)
	}
	switch {
	case refusal.Class == llm.Final:
		return true
	case IsOutage(refusal):
		return b.Outage.Lasted >= OutageLimit
	case refusal.Class == llm.Wait:
		return b.Throttling.Lasted >= ThrottleLimit
	default:
		return b.Errors-b.ErrorsBefore >= most || b.Defect != "" && defectOf(q.Req, refusal) != nil
	}
}

// outage reports whether a call never reached a model that works: nobody listened, or a gateway said
// that nobody is behind it.
func IsOutage(e *llm.Error) bool {
	if e.Class != llm.Retry || e.Code != task.ModelUnavailable {
		return false
	}
	return unreached(e) || e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable
}

// unreached reports whether there was nobody to send the call to.
func unreached(e *llm.Error) bool {
	dial, ok := errors.AsType[*net.OpError](e.Err)
	return ok && dial.Op == "dial"
}

// cutOff notes a call that was broken off from here. What it used is known if the provider told it on the way.
func countCutOff(b *record.CallState, cut *llm.Error, price *router.Price) {
	b.InFlight = ""
	if cut == nil || !cut.Partial.Known {
		b.Wasted.UnmeteredCalls++
		return
	}
	b.Wasted = b.Wasted.Add(task.Usage{WastedTokens: cut.Partial.InputTokens + cut.Partial.OutputTokens, Cost: price.Cost(cut.Partial)})
}

// count notes a failed call: of what sort it was, and what it used. Whoever refuses a request with a status
// charges nothing for it; of a call that broke later it is not known unless the provider said.
func CountFailure(b *record.CallState, refusal *llm.Error, price *router.Price) {
	b.InFlight = ""
	switch used := refusal.Partial; {
	case refusal.Class == llm.Final && refusal.Status == 0:
		b.Calls-- // it was never sent
		return
	case used.Known:
		b.Wasted = b.Wasted.Add(task.Usage{WastedTokens: used.InputTokens + used.OutputTokens, Cost: price.Cost(used)})
	case refusal.Status < http.StatusBadRequest && !unreached(refusal):
		b.Wasted.UnmeteredCalls++
	}
	addTry(b, refusal)
	down, now := IsOutage(refusal), time.Now()
	switch {
	case down:
		b.Down++
		b.Outage.Look(now, MaxGap(refusal))
	case refusal.Class == llm.Wait:
		b.Throttled++
		b.Throttling.Look(now, MaxGap(refusal))
	default:
		b.Errors++
	}
	if !down {
		b.Outage = spell.Spell{} // the provider answered: the next outage is another one
	}
}

// between is the longest that is believed to lie between two calls that failed alike: more than the pauses, and what the provider asks for.
// A clock that was set, or a time without workers, uses up no patience beyond that.
func MaxGap(refusal *llm.Error) time.Duration { return 5*time.Minute + 2*refusal.RetryAfter }

// mostTries is how many failed calls are remembered, the newest of them.
const mostTries = 5

// try remembers a failed call, for the person who has to find out what went wrong.
func addTry(b *record.CallState, refusal *llm.Error) {
	tries := append(slices.Clone(b.Tries), task.FailedTry{At: time.Now().UTC(), Code: refusal.Code, Said: task.Brief(refusal.Message), Target: refusal.Provider})
	b.Tries = tries[max(len(tries)-mostTries, 0):]
}

// pause is how long to wait before the next attempt: what the provider asked for and up to a tenth more,
// so that calls that were turned away together do not come back together; without a hint, a backoff.
func RetryDelay(hint time.Duration, n int) time.Duration {
	if hint <= 0 {
		return backoff(n)
	}
	return hint + time.Duration(rand.Float64()*float64(hint)/10)
}

// backoff is the wait after the nth failure in a row: a second, doubled each time up to a minute,
// with a fifth of jitter so that calls that failed together do not come back together.
func backoff(n int) time.Duration {
	wait := min(time.Second<<min(max(n-1, 0), 6), time.Minute)
	return time.Duration(float64(wait) * (0.9 + 0.2*rand.Float64()))
}

// stopped is what an interrupted activity returns. When its worker stops, another one goes on at
// once; when the task is paused, it goes on after that; when it was cancelled, the cancel is passed on, with what was
// used by then.
func Stopped(ctx context.Context, b record.CallState) error {
	if isPaused(ctx) {
		return activity.ErrActivityPaused
	}
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return cutoff.HandBack()
	default:
		return temporal.NewCanceledError(b.Spent())
	}
}

// final makes an error that ends the step.
func Final(e *task.Error, b record.CallState) error {
	e.Tries = b.Tries
	return Failure(e, b.Spent(), temporal.ApplicationErrorOptions{NonRetryable: true})
}

// again makes an error after which Temporal tries again, no earlier than the wait; 0 leaves it to the
// retry policy. A rate limit is business as usual: Temporal does not log it as a failure.
func Retry(e *task.Error, b record.CallState, wait time.Duration) error {
	options := temporal.ApplicationErrorOptions{NextRetryDelay: wait}
	if e.Code == task.RateLimited {
		options.Category = temporal.ApplicationErrorCategoryBenign
	}
	return Failure(e, b.Spent(), options)
}

func Failure(e *task.Error, spent record.Spent, options temporal.ApplicationErrorOptions) error {
	e.Attempts = spent.Calls
	options.Details = []any{e, spent}
	return temporal.NewApplicationErrorWithOptions(e.Error(), string(e.Code), options)
}

// fetchAttempts is how often a document is fetched before it is at fault itself.
const fetchAttempts = 5

// documentError tells Temporal about a document that could not be had or read. A task.Error says itself
// whether trying again may help, and that has an end. Anything else is a fault of ours, such as a
// bucket that is down: it is tried until it is mended.
func DocumentError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return Stopped(ctx, record.CallState{})
	}
	attempt := int(activity.GetInfo(ctx).Attempt)
	e, ok := errors.AsType[*task.Error](err)
	switch {
	case !ok:
		return err
	case e.Retryable && attempt < fetchAttempts:
		return Retry(e, record.CallState{Calls: attempt, Errors: attempt}, 0)
	default:
		return Final(e, record.CallState{Calls: attempt, Errors: attempt})
	}
}
