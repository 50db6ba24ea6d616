package videotest

import (
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
	call.Number, call.At = len(p.Log)+1, time.Now()
	p.Log = append(p.Log, call)
	count := map[string]*int{
		"start": &p.Sum.Starts, "poll": &p.Sum.Polls, "content": &p.Sum.Downloads, "delete": &p.Sum.Deletes, "list": &p.Sum.Lists,
	}[call.Kind]
	*count++
	p.Changed()
}

// Starts is the part of the journal that submits jobs with this fence, or with this in their prompt.
func (p *Provider) Starts(key string) []Call {
	return slices.DeleteFunc(p.Calls(), func(c Call) bool { return c.Kind != "start" || c.Fence != key && !strings.Contains(c.Prompt, key) })
}

// Jobs are those that were made with this fence, or with this in their prompt, in order; "" is all.
func (p *Provider) Jobs(key string) []Job {
	p.Mu.Lock()
	defer p.Mu.Unlock()
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
