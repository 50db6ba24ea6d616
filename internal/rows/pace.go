package rows

import (
	"math"
	"sync"
	"time"
)

const (
	// Below slow records per second each record is written at once; from fast on, a write waits for mostPatience.
	slow, fast   = 1_000, 4_000
	mostPatience = 25 * time.Millisecond
	// recent is the averaging time of a pace.
	recent = 250 * time.Millisecond
)

// Pace measures the rate of records over all journals that share it, and derives how long a write should wait for more
// records: the cost of writes is their total number. The zero value is ready; it is safe for concurrent use.
type Pace struct {
	mu   sync.Mutex
	rate float64 // records per second, exponentially weighted
	at   time.Time
}

// wrote counts a write of n records.
func (p *Pace) wrote(now time.Time, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fade(now)
	p.rate += float64(n) / recent.Seconds()
}

// patience returns how long the next write should wait.
func (p *Pace) patience(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fade(now)
	return patience(p.rate)
}

// fade reduces the weight of old records.
func (p *Pace) fade(now time.Time) {
	if since := now.Sub(p.at); since > 0 {
		p.rate *= math.Exp(-since.Seconds() / recent.Seconds())
		p.at = now
	}
}

// patience grows linearly from 0 at slow to mostPatience at fast.
func patience(rate float64) time.Duration {
	share := (rate - slow) / (fast - slow)
	return time.Duration(min(max(share, 0), 1) * float64(mostPatience))
}
