package lane

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// Limits are the limits of a key. Zero means no limit.
type Limits struct {
	Concurrency int     // concurrent calls
	Requests    float64 // per minute
	Tokens      float64 // per minute, input and output
}

// Lane is the gate of one key. It is safe for concurrent use; create it with New.
type Lane struct {
	mu       sync.Mutex
	limits   Limits
	share    float64 // this process's part of the limits per minute, from 0 to 1
	requests bucket
	tokens   bucket
	habit    habit

	inFlight int
	window   int // current limit of concurrent calls; below Concurrency after reopening
	queue    queue
	closed   time.Time // closed until then
	closings int       // how often the lane was closed
	why      error     // cause of the closing, unless it is throttling
	wake     *time.Timer
}

// New returns an open lane with the full limits.
func New(limits Limits) *Lane {
	l := &Lane{limits: limits, share: 1, window: limits.Concurrency, queue: newQueue()}
	l.set(limits, 1)
	return l
}

// Closed is the error of a call that would wait longer than its patience. Why is set if waiting does not help: the
// quota is used up or the key is refused.
type Closed struct {
	Until time.Time
	Why   error
}

func (c *Closed) Error() string {
	if c.Why != nil {
		return fmt.Sprintf("the lane is closed until %s: %v", c.Until.Format(time.RFC3339), c.Why)
	}
	return "the lane is closed until " + c.Until.Format(time.RFC3339)
}

// Unwrap returns Why.
func (c *Closed) Unwrap() error { return c.Why }

// Pass is the admission of one call. Return it once, with Done or Back.
type Pass struct {
	lane     *Lane
	expected float64 // tokens estimated by the caller
	taken    float64 // tokens taken from the bucket, corrected by habit
	closings int     // Lane.closings at admission
}

// Enter waits for the admission of a call with an estimated number of tokens, for at most patience. If the wait would
// be longer it returns *Closed, at once if that is foreseeable. The error is ctx.Err() if ctx ends first.
func (l *Lane) Enter(ctx context.Context, of Caller, tokens int, patience time.Duration) (*Pass, error) {
	l.mu.Lock()
	now := time.Now()
	if until, why := l.closed, l.why; until.Sub(now) > patience || why != nil && until.After(now) {
		l.mu.Unlock()
		return nil, &Closed{Until: until, Why: why}
	}
	w := &waiter{caller: of, tokens: float64(tokens), ready: make(chan *Closed, 1)}
	l.queue.push(w)
	l.admit(now)
	l.mu.Unlock()

	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case closed := <-w.ready:
		if closed != nil {
			return nil, closed
		}
		return &Pass{lane: l, expected: w.tokens, taken: w.taken, closings: w.closings}, nil
	case <-ctx.Done():
		return nil, l.leave(w, ctx.Err())
	case <-timeout.C:
		return nil, l.leave(w, nil)
	}
}

// leave removes a waiter. A waiter admitted at the same moment returns its admission.
func (l *Lane) leave(w *waiter, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.queue.remove(w) {
		if closed := <-w.ready; closed != nil { // rejected at the same moment, so there is no admission to return
			return cmp.Or[error](err, closed)
		}
		l.back(w.taken, now)
	}
	if err != nil {
		return err
	}
	until := l.closed
	if !until.After(now) {
		until = now.Add(l.wait(w, now))
	}
	return &Closed{Until: until}
}

// Back returns an unused pass: no call was made.
func (p *Pass) Back() {
	p.lane.mu.Lock()
	defer p.lane.mu.Unlock()
	p.lane.back(p.taken, time.Now())
}

// back undoes an admission.
func (l *Lane) back(taken float64, now time.Time) {
	l.inFlight--
	l.requests.give(1, now)
	l.tokens.give(taken, now)
	l.admit(now)
}

// Outcome is the outcome of a call.
type Outcome struct {
	Tokens     int           // tokens used; 0 if unknown
	Throttled  bool          // the provider asked to retry later
	RetryAfter time.Duration // delay requested by the provider; 0 if none
	Stop       error         // the quota is used up or the key is refused: further calls would fail too
	Limits     Limits        // limits reported by the provider; 0 if not reported
}

// How long a lane stays closed if the provider names no delay.
const (
	throttlePause = 2 * time.Second
	stopPause     = 5 * time.Minute
)

// Done returns a pass with the outcome of the call.
func (p *Pass) Done(o Outcome) {
	l := p.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.inFlight--
	l.learn(o.Limits)
	if o.Tokens > 0 {
		l.tokens.give(p.taken-float64(o.Tokens), now) // negative if it used more
		l.habit.add(p.expected, float64(o.Tokens))
	}
	switch {
	case o.Stop != nil:
		l.close(now.Add(max(o.RetryAfter, stopPause)), o.Stop)
	case o.Throttled:
		l.close(now.Add(max(o.RetryAfter, throttlePause)), nil)
	case p.closings < l.closings:
		// The call started before the lane was closed and says nothing about the present.
	case l.window > 0 && l.window < l.limits.Concurrency:
		l.window++
	}
	l.admit(now)
}

// close closes the lane for all callers until a time. It reopens with one concurrent call; each success admits one
// more.
func (l *Lane) close(until time.Time, why error) {
	l.closings++
	if until.After(l.closed) {
		l.closed = until
	}
	if why != nil {
		l.why = why
	}
	if l.limits.Concurrency > 0 {
		l.window = 1
	}
}

// Share sets this process's part of the limits per minute to 1/n, so that n processes with one key keep the limits
// together.
func (l *Lane) Share(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(l.limits, 1/float64(max(n, 1)))
}

// learn adopts limits reported by the provider that are stricter than the configured limits.
func (l *Lane) learn(reported Limits) {
	limits := l.limits
	limits.Requests = stricter(limits.Requests, reported.Requests)
	limits.Tokens = stricter(limits.Tokens, reported.Tokens)
	if limits != l.limits {
		l.set(limits, l.share)
	}
}

func stricter(configured, reported float64) float64 {
	if reported > 0 && (configured == 0 || reported < configured) {
		return reported
	}
	return configured
}

func (l *Lane) set(limits Limits, share float64) {
	now := time.Now()
	l.limits, l.share = limits, share
	l.requests.rate(limits.Requests*share, now)
	l.tokens.rate(limits.Tokens*share, now)
	l.admit(now)
}

// admit admits waiting calls and sets the timer for the next.
func (l *Lane) admit(now time.Time) {
	if l.wake != nil {
		l.wake.Stop()
	}
	if !l.closed.After(now) {
		l.why = nil
	}
	for l.queue.len() > 0 {
		if l.why != nil {
			l.queue.pop().ready <- &Closed{Until: l.closed, Why: l.why}
			continue
		}
		if l.window > 0 && l.inFlight >= l.window {
			return // the end of a running call admits the next
		}
		w := l.queue.next()
		if wait := l.wait(w, now); wait > 0 {
			l.wake = time.AfterFunc(wait, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.admit(time.Now())
			})
			return
		}
		l.queue.pop()
		l.requests.take(1, now)
		w.taken = l.habit.expect(w.tokens)
		l.tokens.take(w.taken, now)
		l.inFlight++
		w.closings = l.closings
		w.ready <- nil
	}
}

// wait returns the minimum wait of the next waiter.
func (l *Lane) wait(w *waiter, now time.Time) time.Duration {
	return max(l.closed.Sub(now), l.requests.wait(1, now), l.tokens.wait(l.habit.expect(w.tokens), now))
}
