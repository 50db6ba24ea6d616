package notify

import "sync"

// How many messages one receiver is sent at a time by one worker: enough for a quick one to be served at speed, and few
// enough that a slow one leaves room for the others. One that did not answer in time so often in a row gets one at a time.
const (
	atOnce   = 4
	slowOnce = 1
	slowRow  = 3
)

// Gate keeps one receiver from taking what all share. The zero value is ready; it is safe for concurrent use.
type Gate struct {
	mu        sync.Mutex
	receivers map[string]*presence
}

// presence is what is known of a receiver; one at rest that answers is forgotten.
type presence struct{ running, slow int }

func (p *presence) most() int {
	if p.slow >= slowRow {
		return slowOnce
	}
	return atOnce
}

// Enter lets a message to a receiver pass, if not too many are on their way: call leave when it was answered, with
// whether the time was over before. Otherwise dead tells whether the receiver seems not to answer at all.
func (g *Gate) Enter(receiver string) (leave func(slow bool), ok, dead bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.receivers == nil {
		g.receivers = map[string]*presence{}
	}
	p := g.receivers[receiver]
	if p == nil {
		p = &presence{}
		g.receivers[receiver] = p
	}
	if p.running >= p.most() {
		return nil, false, p.slow >= slowRow
	}
	p.running++
	return func(slow bool) { g.leave(receiver, p, slow) }, true, false
}

func (g *Gate) leave(receiver string, p *presence, slow bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.running--
	p.slow++
	if !slow {
		p.slow = 0
	}
	if p.running == 0 && p.slow == 0 {
		delete(g.receivers, receiver)
	}
}
