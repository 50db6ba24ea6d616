package lane

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// Limits are what a key may do. Zero means no limit.
type Limits struct {
	Concurrency int     // calls at a time
	Requests    float64 // a minute
	Tokens      float64 // a minute, input and output
}

// Lane is a gate. It is safe for concurrent use; make one with New.
type Lane struct {
	mu       sync.Mutex
	limits   Limits
	share    float64 // of the limits a minute that is this process's, from 0 to 1
	requests bucket
	tokens   bucket
	habit    habit

	inFlight int
	window   int // calls at a time for now: below Concurrency after a reopening
	queue    queue
	closed   time.Time // until when
	closings int       // how often it was
	why      error     // why it is closed, if there is more to say than "later"
	wake     *time.Timer
}

// New makes an open lane with the whole of the limits.
func New(limits Limits) *Lane {
	l := &Lane{limits: limits, share: 1, window: limits.Concurrency, queue: newQueue()}
	l.set(limits, 1)
	return l
}

// Closed says that a call would have to wait longer than it may. Why is set when waiting alone will
// not help: the account is used up, the key is refused.
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

// Unwrap gives why.
func (c *Closed) Unwrap() error { return c.Why }

// Pass is the right to make one call. Give it back with Done, once.
type Pass struct {
	lane     *Lane
	expected float64 // tokens, by who made the call
	taken    float64 // tokens, by what calls use lately
	closings int     // how often the lane had been closed when it was given
}

// Enter waits until a call of about so many tokens may be made for a tenant, at most for as long as
// patience. Beyond that it gives *Closed at once, when that can be foreseen; the error is ctx's own
// when that ends first.
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

// leave takes a waiter out. One that was admitted in the same moment gives its place back.
func (l *Lane) leave(w *waiter, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.queue.remove(w) {
		if closed := <-w.ready; closed != nil { // or turned away, and had no place
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

// Back gives a pass back unused: no call was made.
func (p *Pass) Back() {
	p.lane.mu.Lock()
	defer p.lane.mu.Unlock()
	p.lane.back(p.taken, time.Now())
}

// back takes an admission back.
func (l *Lane) back(taken float64, now time.Time) {
	l.inFlight--
	l.requests.give(1, now)
	l.tokens.give(taken, now)
	l.admit(now)
}

// Outcome is how a call came out.
type Outcome struct {
	Tokens     int           // really used; 0 when it is not known
	Throttled  bool          // asked to come back later
	RetryAfter time.Duration // when; 0 when it was not said
	Stop       error         // the account is used up or the key refused: no call will do better
	Limits     Limits        // as the provider told them with its answer; zeros were not told
}

// How long a lane stays closed when the provider did not say.
const (
	throttlePause = 2 * time.Second
	stopPause     = 5 * time.Minute
)

// Done gives a pass back and says how the call came out.
func (p *Pass) Done(o Outcome) {
	l := p.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.inFlight--
	l.learn(o.Limits)
	if o.Tokens > 0 {
		l.tokens.give(p.taken-float64(o.Tokens), now) // negative when it used more
		l.habit.note(p.expected, float64(o.Tokens))
	}
	switch {
	case o.Stop != nil:
		l.close(now.Add(max(o.RetryAfter, stopPause)), o.Stop)
	case o.Throttled:
		l.close(now.Add(max(o.RetryAfter, throttlePause)), nil)
	case p.closings < l.closings:
		// It was on its way before the lane closed, and says nothing about now.
	case l.window > 0 && l.window < l.limits.Concurrency:
		l.window++
	}
	l.admit(now)
}

// close shuts the lane for all until a time. It reopens with one call, which finds out whether the
// provider means it; each that succeeds lets one more in beside it.
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

// Share says which part of the limits a minute is this process's: one of n. Several processes with one
// key then keep within the limits together.
func (l *Lane) Share(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(l.limits, 1/float64(max(n, 1)))
}

// learn takes over limits that the provider told, where they are stricter than ours or we have none.
func (l *Lane) learn(told Limits) {
	limits := l.limits
	limits.Requests = stricter(limits.Requests, told.Requests)
	limits.Tokens = stricter(limits.Tokens, told.Tokens)
	if limits != l.limits {
		l.set(limits, l.share)
	}
}

func stricter(ours, told float64) float64 {
	if told > 0 && (ours == 0 || told < ours) {
		return told
	}
	return ours
}

func (l *Lane) set(limits Limits, share float64) {
	now := time.Now()
	l.limits, l.share = limits, share
	l.requests.rate(limits.Requests*share, now)
	l.tokens.rate(limits.Tokens*share, now)
	l.admit(now)
}

// admit lets in who may go in now, and sets the alarm for the next.
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
			return // the end of a call admits the next
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

// wait is how long the next in the queue must wait at least.
func (l *Lane) wait(w *waiter, now time.Time) time.Duration {
	return max(l.closed.Sub(now), l.requests.wait(1, now), l.tokens.wait(l.habit.expect(w.tokens), now))
}
