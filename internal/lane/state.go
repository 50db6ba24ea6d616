package lane

import "time"

// State is how a lane stands at the moment.
type State struct {
	Limits   Limits    // of all processes together
	InFlight int       // calls
	Waiting  int       // calls
	Until    time.Time // it is closed until then; zero means that it is open
	Why      error     // why it is closed, if there is more to say than "later"
}

// State tells how the lane stands.
func (l *Lane) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := State{Limits: l.limits, InFlight: l.inFlight, Waiting: l.queue.len()}
	if l.closed.After(time.Now()) {
		s.Until, s.Why = l.closed, l.why
	}
	return s
}
