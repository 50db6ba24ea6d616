package rows

import (
	"math"
	"sync"
	"time"
)

const (
	// Up to slow records a second each is written at once; from fast on a write waits mostPatience for others.
	slow, fast   = 1_000, 4_000
	mostPatience = 25 * time.Millisecond
	// recent is how far back a pace remembers, about.
	recent = 250 * time.Millisecond
)

// Pace knows how fast records come to all journals that share it, and so how long a write should wait for others to join
// it: what writes cost is their sum, however many journals they go to. The zero value is ready, and safe for concurrent use.
type Pace struct {
	mu   sync.Mutex
	rate float64 // records a second, the newest counting most
	at   time.Time
}

// wrote notes a write of n records.
func (p *Pace) wrote(now time.Time, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fade(now)
	p.rate += float64(n) / recent.Seconds()
}

// patience is how long the next write should wait.
func (p *Pace) patience(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fade(now)
	return patience(p.rate)
}

// fade forgets what was long ago.
func (p *Pace) fade(now time.Time) {
	if since := now.Sub(p.at); since > 0 {
		p.rate *= math.Exp(-since.Seconds() / recent.Seconds())
		p.at = now
	}
}

// patience grows evenly from nothing at slow to mostPatience at fast.
func patience(rate float64) time.Duration {
	share := (rate - slow) / (fast - slow)
	return time.Duration(min(max(share, 0), 1) * float64(mostPatience))
}
