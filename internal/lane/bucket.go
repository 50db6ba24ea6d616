package lane

import "time"

// burst is the part of the limit per minute that may be used at once. The rest refills evenly, so that no 60-second
// window exceeds the limit.
const burst = 1.0 / 50

// bucket is a token bucket. Its level becomes negative when a call is larger than the burst or uses more than
// estimated.
type bucket struct {
	perSecond float64 // 0 means no limit
	size      float64
	level     float64
	at        time.Time
}

// rate sets the limit per minute and keeps the level.
func (b *bucket) rate(perMinute float64, now time.Time) {
	b.fill(now)
	fresh := b.perSecond == 0
	b.perSecond, b.size = perMinute*(1-burst)/60, max(perMinute*burst, 1)
	if fresh {
		b.level = b.size
	}
	b.level = min(b.level, b.size)
}

func (b *bucket) fill(now time.Time) {
	if !b.at.IsZero() && now.After(b.at) {
		b.level = min(b.level+now.Sub(b.at).Seconds()*b.perSecond, b.size)
	}
	b.at = now
}

// wait returns how long until n may be taken. An n larger than the burst waits for a full bucket.
func (b *bucket) wait(n float64, now time.Time) time.Duration {
	if b.perSecond == 0 {
		return 0
	}
	b.fill(now)
	missing := min(n, b.size) - b.level
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / b.perSecond * float64(time.Second))
}

func (b *bucket) take(n float64, now time.Time) {
	if b.perSecond > 0 {
		b.fill(now)
		b.level -= n
	}
}

// give returns n unused units; a negative n takes n more.
func (b *bucket) give(n float64, now time.Time) {
	if b.perSecond > 0 {
		b.fill(now)
		b.level = min(b.level+n, b.size)
	}
}
