package call

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Operation is something that is retried when it fails.
type Operation string

// Operations. Rows make model calls.
const (
	ModelCall     Operation = "model call"
	VideoSubmit   Operation = "video submit"   // that was refused; an unanswered submit is never repeated
	VideoPoll     Operation = "video poll"     // ends with the timeout of the job
	VideoDownload Operation = "video download" // the video is paid for, so it is tried for long
	VideoMoved    Operation = "video moved"    // a download from an address where the video is not
	VideoCancel   Operation = "video cancel"
	Document      Operation = "document" // fetching or reading one
	SafeTool      Operation = "safe tool"
)

// Reason says why an operation failed.
type Reason int

// Reasons. Each is counted and limited by itself: waiting for a rate limit uses up no attempts.
const (
	Permanent Reason = iota // a retry cannot help
	Throttled               // the provider says to wait
	Outage                  // nothing that works was reached
	Fault                   // anything else
)

// policy limits the retries of an operation.
type policy struct {
	attempts  int           // faults until it fails for good; 0 means no limit
	throttled time.Duration // from the first throttled try on; 0 means no limit
	outage    time.Duration // from the first try of an outage on; 0 means no limit
}

// configured stands for the attempts that the configuration sets: llm.max_attempts.
const configured = -1

// policies is the one answer to "retry, when, or never?". Six hours outlast the rate limits that providers set by the
// hour, a quarter of an hour outlasts a restart of a provider, and videos wait an hour since they are paid for.
var policies = map[Operation]policy{
	ModelCall:     {attempts: configured, throttled: 6 * time.Hour, outage: 15 * time.Minute},
	VideoSubmit:   {attempts: configured, throttled: 6 * time.Hour, outage: 15 * time.Minute},
	VideoPoll:     {},
	VideoDownload: {throttled: time.Hour, outage: time.Hour},
	VideoMoved:    {attempts: 6, throttled: time.Hour, outage: time.Hour},
	VideoCancel:   {attempts: 4},
	Document:      {attempts: 5},
	SafeTool:      {attempts: 3},
}

// Try is a failed try of an operation.
type Try struct {
	Reason Reason
	Count  int           // failed tries for the reason so far, this one included
	Lasted time.Duration // since the first of them; for Throttled and Outage
	Hint   time.Duration // how long the provider says to wait; 0 if it says nothing
	Limit  int           // fewer attempts than the policy allows; 0 means none
}

// Decide reports whether a failed operation is tried again, and after how long. Attempts are those that the
// configuration sets.
func Decide(op Operation, try Try, attempts int) (retry bool, after time.Duration) {
	p := policies[op]
	if p.attempts == configured {
		p.attempts = attempts
	}
	if try.Limit > 0 && (p.attempts == 0 || try.Limit < p.attempts) {
		p.attempts = try.Limit
	}
	switch {
	case try.Reason == Permanent,
		try.Reason == Throttled && p.throttled > 0 && try.Lasted >= p.throttled,
		try.Reason == Outage && p.outage > 0 && try.Lasted >= p.outage,
		try.Reason == Fault && p.attempts > 0 && try.Count >= p.attempts:
		return false, 0
	}
	return true, RetryDelay(try.Hint, try.Count)
}

// TryOf describes the last failed call of a state, as CountFailure counted it.
func TryOf(e *llm.Error, s record.CallState) Try {
	try := Try{Reason: ReasonOf(e), Hint: e.RetryAfter, Limit: e.Tries}
	switch try.Reason {
	case Throttled:
		try.Count, try.Lasted = s.Throttled, s.Throttling.Lasted
	case Outage:
		try.Count, try.Lasted = s.Down, s.Outage.Lasted
	default:
		try.Count = s.Errors - s.ErrorsBefore
	}
	return try
}

// ReasonOf returns why a call failed.
func ReasonOf(e *llm.Error) Reason {
	switch {
	case e.Class == llm.Final:
		return Permanent
	case isOutage(e):
		return Outage
	case e.Class == llm.Wait:
		return Throttled
	default:
		return Fault
	}
}

// isOutage reports whether a call reached no model that works: the connection was refused, or a gateway reported
// that nothing is behind it.
func isOutage(e *llm.Error) bool {
	if e.Class != llm.Retry || e.Code != task.ModelUnavailable {
		return false
	}
	return unreached(e) || e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable
}

// unreached reports whether the connection failed before the call could be sent.
func unreached(e *llm.Error) bool {
	dial, ok := errors.AsType[*net.OpError](e.Err)
	return ok && dial.Op == "dial"
}

// Immediately is the delay of an attempt that does something else than the failed one.
const Immediately = time.Millisecond

// RetryDelay returns the delay of the next attempt: the hint of the provider and up to a tenth more, so that calls
// that failed together do not return together. Without a hint it is a backoff after the nth failure.
func RetryDelay(hint time.Duration, n int) time.Duration {
	if hint <= 0 {
		return backoff(n)
	}
	return hint + time.Duration(rand.Float64()*float64(hint)/10)
}

// backoff returns the delay after the nth failure: a second, doubled each time up to a minute, with a fifth of jitter.
func backoff(n int) time.Duration {
	wait := min(time.Second<<min(max(n-1, 0), 6), time.Minute)
	return time.Duration(float64(wait) * (0.9 + 0.2*rand.Float64()))
}
