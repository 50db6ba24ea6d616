package rows

import "time"

const (
	// Below slow records a second each is written at once; from fast on a write waits mostPatience for others.
	slow, fast   = 200, 2_000
	mostPatience = 25 * time.Millisecond
	// lull is how long nobody comes when nobody else will.
	lull = 4 * time.Millisecond
	// afterVain is how many writes go at once after one waited in vain: a recorder that is alone never has company.
	afterVain = 32
)

// pace knows how fast records come, and so how long a write should wait for others to join it.
type pace struct {
	rate   float64 // records a second, the newest counting most
	before time.Time
	vain   int // writes that do not wait
}

// wrote notes a write of n records.
func (p *pace) wrote(now time.Time, n int) {
	const newest = 0.25
	if !p.before.IsZero() {
		took := max(now.Sub(p.before), time.Microsecond)
		p.rate += newest * (float64(n)/took.Seconds() - p.rate)
	}
	p.before = now
	p.vain = max(p.vain-1, 0)
}

// waited notes whether a wait brought another record.
func (p *pace) waited(company bool) {
	if !company {
		p.vain = afterVain
	}
}

// patience is how long the next write should wait.
func (p *pace) patience() time.Duration {
	if p.vain > 0 {
		return 0
	}
	return patience(p.rate)
}

// patience grows evenly from nothing at slow to mostPatience at fast.
func patience(rate float64) time.Duration {
	share := (rate - slow) / (fast - slow)
	return time.Duration(min(max(share, 0), 1) * float64(mostPatience))
}
