package lane

import "time"

// State is the current state of a lane.
type State struct {
	Limits   Limits    // shared by all processes
	InFlight int       // running calls
	Waiting  int       // waiting calls
	Until    time.Time // closed until then; zero if open
	Why      error     // cause of the closing, unless it is throttling
}

// State returns the current state.
func (l *Lane) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := State{Limits: l.limits, InFlight: l.inFlight, Waiting: l.queue.len()}
	if l.closed.After(time.Now()) {
		s.Until, s.Why = l.closed, l.why
	}
	return s
}
