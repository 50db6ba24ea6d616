package fakeserver

import (
	"context"
	"slices"
	"sync"
)

// Journal lists the calls of a server and sums them up. Servers embed it; the zero value is empty.
type Journal[Call, Counts any] struct {
	Mu  sync.Mutex // guards the journal and whatever else the server keeps
	Log []Call     // in the order in which the calls came
	Sum Counts

	changed chan struct{} // closed at the next change; nil while nothing waits
}

// Changed wakes everything that waits. Mu is held.
func (j *Journal[Call, Counts]) Changed() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// Calls returns the calls so far, in order.
func (j *Journal[Call, Counts]) Calls() []Call {
	j.Mu.Lock()
	defer j.Mu.Unlock()
	return slices.Clone(j.Log)
}

// Counts returns the sums so far.
func (j *Journal[Call, Counts]) Counts() Counts {
	j.Mu.Lock()
	defer j.Mu.Unlock()
	return j.Sum
}

// Wait returns once the counts are as wanted; the error is the context's.
func (j *Journal[Call, Counts]) Wait(ctx context.Context, wanted func(Counts) bool) error {
	for {
		counts, changed := j.next()
		if wanted(counts) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// next returns the sums so far, and a channel that the next change closes.
func (j *Journal[Call, Counts]) next() (Counts, <-chan struct{}) {
	j.Mu.Lock()
	defer j.Mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.Sum, j.changed
}
