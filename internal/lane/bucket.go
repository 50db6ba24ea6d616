package lane

import "time"

// burst is how much of a minute's limit may be used at once. The rest flows evenly, so that no minute,
// wherever it begins, sees more than the limit.
const burst = 1.0 / 50

// bucket fills evenly up to its burst, and is emptied by what is taken. It may be owed more than is in
// it, by a call larger than its burst or one that used more than was expected.
type bucket struct {
	perSecond float64 // 0 means no limit
	size      float64
	level     float64
	at        time.Time
}

// rate sets the limit a minute. What is in the bucket stays.
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

// wait is how long until so much may be taken. More than the burst waits for a full bucket.
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

// give puts back what was taken and not used; a negative n takes what was used beyond it.
func (b *bucket) give(n float64, now time.Time) {
	if b.perSecond > 0 {
		b.fill(now)
		b.level = min(b.level+n, b.size)
	}
}
