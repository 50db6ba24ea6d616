// Package spell measures how long something goes on that outlives the process that measures it.
//
// Within a process the monotonic clock does. What the next process must know is a time of the wall clock, and that one may be
// set while it waits: a clock that goes on by an hour must not use up an hour's patience, and one that goes back must not
// double it.
package spell

import "time"

// Spell is how long something has gone on, as far as it was looked at. It is plain data; the zero value has not begun.
type Spell struct {
	Lasted time.Duration `json:"lasted,omitempty"`
	Seen   time.Time     `json:"seen,omitzero"` // when it was looked at last
}

// Since is a spell that was noted to have begun at a time, at its first look. A start that is still to come is one of now.
func Since(start, now time.Time) Spell { return Spell{max(now.Sub(start), 0), now} }

// Begun reports whether it was ever looked at.
func (s Spell) Begun() bool { return !s.Seen.IsZero() }

// Look goes on with a spell, or begins it, and gives how long it has lasted. What went by since the look before counts, but as most at
// the most: more is not known to be true.
func (s *Spell) Look(now time.Time, most time.Duration) time.Duration {
	if s.Begun() {
		s.Lasted += min(max(now.Sub(s.Seen), 0), most)
	}
	s.Seen = now
	return s.Lasted
}
