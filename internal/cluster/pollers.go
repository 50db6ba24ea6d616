package cluster

import (
	"maps"
	"sync"
	"time"

	taskqueuepb "go.temporal.io/api/taskqueue/v1"
)

// Pollers tells who asks for work, by having seen them ask again. When they asked is a time of Temporal's clock, which may differ from ours,
// and either may be set: so that is believed of those alone who are seen for the first time. The zero value has seen nobody; it is safe for
// concurrent use.
type Pollers struct {
	mu   sync.Mutex
	seen map[string]sighting // by identity
}

type sighting struct {
	told time.Time // when they asked last, as Temporal tells it
	at   time.Time // the same by our clock
}

// Live takes in what Temporal tells of a queue, and gives the identities of those who asked within a time.
func (p *Pollers) Live(told []*taskqueuepb.PollerInfo, within time.Duration) map[string]bool {
	lately, live := p.Lately(told, within), map[string]bool{}
	for _, poller := range told {
		if id := poller.GetIdentity(); lately[id] {
			live[id] = true
		}
	}
	return live
}

// Lately is Live with those of whom Temporal does not tell any more: one that was started again, or whose clock was set, forgets who asks.
func (p *Pollers) Lately(told []*taskqueuepb.PollerInfo, within time.Duration) map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]sighting{}
	}
	now := time.Now()
	for _, poller := range told {
		id, last := poller.GetIdentity(), poller.GetLastAccessTime().AsTime()
		switch s, known := p.seen[id]; {
		case !known:
			p.seen[id] = sighting{last, now.Add(-max(now.Sub(last), 0))}
		case !last.Equal(s.told):
			p.seen[id] = sighting{last, now}
		}
	}
	const forget = time.Hour // one that asked last so long ago is told of no more, by any Temporal
	maps.DeleteFunc(p.seen, func(_ string, s sighting) bool { return now.Sub(s.at) > max(within, forget) })
	lately := map[string]bool{}
	for id, s := range p.seen {
		if now.Sub(s.at) < within {
			lately[id] = true
		}
	}
	return lately
}
