package cluster

import (
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
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	seen, live := map[string]sighting{}, map[string]bool{}
	for _, poller := range told {
		id, last := poller.GetIdentity(), poller.GetLastAccessTime().AsTime()
		s, known := p.seen[id]
		switch {
		case !known:
			s = sighting{last, now.Add(-max(now.Sub(last), 0))}
		case !last.Equal(s.told):
			s = sighting{last, now}
		}
		if seen[id] = s; now.Sub(s.at) < within {
			live[id] = true
		}
	}
	p.seen = seen
	return live
}
