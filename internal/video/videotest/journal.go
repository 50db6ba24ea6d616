package videotest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Call is one request, in the order in which they came.
type Call struct {
	Number  int    // from 1, over all calls
	Kind    string // start, poll, list, delete or content
	Dialect string
	Job     string // "" when there is none, or not yet
	Prompt  string
	Fence   string
	Body    []byte // of a start
	Query   string
	Header  http.Header
	At      time.Time
}

// Job is a job that was made, which is what a provider charges for.
type Job struct {
	ID, Model, Prompt, Fence string
	Created                  time.Time
	Told                     string // its state, in the words of Ark, as it was told last; "" is not told yet
	Polls, Downloads         int

	script  Script
	step    int
	deleted bool
}

// Counts sums the journal up.
type Counts struct {
	Starts, Jobs, Polls, Downloads, Deletes, Lists int
}

// note writes a call into the journal. The lock is held.
func (p *Provider) note(call Call) {
	call.Number, call.At = len(p.calls)+1, time.Now()
	p.calls = append(p.calls, call)
	count := map[string]*int{
		"start": &p.counts.Starts, "poll": &p.counts.Polls, "content": &p.counts.Downloads, "delete": &p.counts.Deletes, "list": &p.counts.Lists,
	}[call.Kind]
	*count++
	p.change()
}

// change wakes everyone who waits for something. The lock is held.
func (p *Provider) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Calls is the journal so far.
func (p *Provider) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Starts is the part of the journal that submits jobs with this fence, or with this in their prompt.
func (p *Provider) Starts(key string) []Call {
	return slices.DeleteFunc(p.Calls(), func(c Call) bool { return c.Kind != "start" || c.Fence != key && !strings.Contains(c.Prompt, key) })
}

// Jobs are those that were made with this fence, or with this in their prompt, in order; "" is all.
func (p *Provider) Jobs(key string) []Job {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Job
	for _, j := range p.jobs {
		if j.Fence == key || strings.Contains(j.Prompt, key) {
			found = append(found, *j)
		}
	}
	return found
}

// Repeats gives the fences that more than one job was made with, with how many.
func (p *Provider) Repeats() map[string]int {
	repeats := map[string]int{}
	for _, j := range p.Jobs("") {
		if j.Fence != "" {
			repeats[j.Fence]++
		}
	}
	for fence, n := range repeats {
		if n < 2 {
			delete(repeats, fence)
		}
	}
	return repeats
}

// Counts sums the journal up.
func (p *Provider) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Wait returns once the counts are as wanted; the error is the context's.
func (p *Provider) Wait(ctx context.Context, wanted func(Counts) bool) error {
	for {
		p.mu.Lock()
		counts, changed := p.counts, p.changed
		p.mu.Unlock()
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
