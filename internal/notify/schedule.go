package notify

import (
	"math/rand/v2"
	"time"
)

// Schedule is how long to wait after each failed attempt; when it is over, the message is given up.
type Schedule []time.Duration

// After is how long to wait after so many failed attempts, up to a fifth longer so that what failed together does not
// come back together, and never less than the receiver asked for; ok is false when there is to be no other attempt.
func (s Schedule) After(failures int, asked time.Duration) (wait time.Duration, ok bool) {
	if failures < 1 || failures > len(s) {
		return 0, false
	}
	wait = max(s[failures-1], asked)
	return wait + time.Duration(rand.Float64()*float64(wait)/5), true
}
