package llmtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxKept is how much of a prompt the journal keeps, in bytes. Markers and hashes see all of it.
const maxKept = 16 << 10

// Call is one request for an answer, or for embeddings.
type Call struct {
	Number  int    // from 1, over all calls
	Attempt int    // from 1, over the calls with this prompt
	Marker  string // the one that matched; "" if none did
	Nth     int    // from 1, over the calls with this marker; 0 without one
	Model   string
	Prompt  string // the contents of all messages, or all inputs, a blank line between them; whole in Handle, cut in the journal
	Hash    string // of the whole prompt
	Stream  bool
	Body    []byte // the request as it came; nil in the journal
	Header  http.Header

	Inputs     []string // of a call for embeddings; nil for any other
	Dimensions int      // that it asked for
	Base64     bool     // that it asked for

	Tools   []string // the names of the tools that it offered
	Results []string // of tools: the contents of the tool messages at the end of the conversation

	// IdempotencyKey is the header of that name; "" if there was none.
	IdempotencyKey string

	Began  time.Time
	Ended  time.Time // when the reply was through, or the client was gone; zero while it runs
	Status int       // what it was answered with; 0 while it is not
	Gone   bool      // the client closed its socket before the reply was through
	Told   Usage     // what the reply said it used, as far as that was written; zero if it was not
}

// Counts sums the journal up.
type Counts struct {
	Total, InFlight, MaxInFlight int
	Answered                     int // replies that went through to their end, errors and cuts included
	Gone                         int // calls whose client closed its socket before that
}

// Hash is the name of a prompt in the default answer and in the journal.
func Hash(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return hex.EncodeToString(sum[:6])
}

// begin writes a call into the journal and chooses its reply.
func (p *Provider) begin(call Call) (int, Reply) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.attempts[call.Hash]++
	call.Number, call.Attempt, call.Began = len(p.Log)+1, p.attempts[call.Hash], time.Now()
	reply := p.choose(&call)
	call.Prompt, call.Body = strings.Clone(call.Prompt[:min(len(call.Prompt), maxKept)]), nil
	p.Log = append(p.Log, call)
	p.Sum.Total++
	p.Sum.InFlight++
	p.Sum.MaxInFlight = max(p.Sum.MaxInFlight, p.Sum.InFlight)
	p.Changed()
	return len(p.Log) - 1, reply
}

// end notes how a call ended.
func (p *Provider) end(index, status int, told Usage, gone bool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	call := &p.Log[index]
	call.Ended, call.Status, call.Gone, call.Told = time.Now(), status, gone, told
	p.Sum.InFlight--
	if gone {
		p.Sum.Gone++
	} else {
		p.Sum.Answered++
	}
	p.Changed()
}

// CallsWith is the part of the journal whose marker is this, or whose kept prompt holds it.
func (p *Provider) CallsWith(marker string) []Call {
	return slices.DeleteFunc(p.Calls(), func(c Call) bool { return c.Marker != marker && !strings.Contains(c.Prompt, marker) })
}

// Spent is what all replies so far said they used. A client that left in the middle may not have read all
// that was written to it.
func (p *Provider) Spent() Usage {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	var sum Usage
	for _, call := range p.Log {
		sum.Input += call.Told.Input
		sum.Output += call.Told.Output
		sum.Cached += call.Told.Cached
	}
	return sum
}

// Repeats gives the hashes of the prompts that were asked more than once, with how often.
func (p *Provider) Repeats() map[string]int {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	repeats := map[string]int{}
	for hash, n := range p.attempts {
		if n > 1 {
			repeats[hash] = n
		}
	}
	return repeats
}

// WaitFor returns once n calls have come in.
func (p *Provider) WaitFor(ctx context.Context, n int) error {
	return p.Wait(ctx, func(c Counts) bool { return c.Total >= n })
}

// WaitGone returns once the clients of n calls have closed their sockets before the end.
func (p *Provider) WaitGone(ctx context.Context, n int) error {
	return p.Wait(ctx, func(c Counts) bool { return c.Gone >= n })
}

// Reset empties the journal and lets every marker start anew. There must be no call in flight.
func (p *Provider) Reset() {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.Sum.InFlight > 0 {
		panic("llmtest: the journal was reset with calls in flight")
	}
	p.Log, p.attempts, p.Sum = nil, map[string]int{}, Counts{}
	p.scripts.Restart()
}
