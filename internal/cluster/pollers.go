package cluster

import (
	"context"
	"maps"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// pollAge is how long a poller counts as alive after it was last seen: a poll lasts up to a minute, and the server
// records its start. A killed poller counts until then.
const pollAge = 70 * time.Second

// WhoPolls returns the pollers of workflow tasks on a task queue; every worker always polls for them.
func WhoPolls(ctx context.Context, c client.Client, namespace, queue string) ([]*taskqueuepb.PollerInfo, error) {
	answer, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
	})
	return answer.GetPollers(), err
}

// SeenLately returns the time when each live poller was last seen, by identity and Temporal's clock.
func SeenLately(pollers []*taskqueuepb.PollerInfo) map[string]time.Time {
	live := map[string]time.Time{}
	for _, p := range pollers {
		if at := p.GetLastAccessTime().AsTime(); time.Since(at) < pollAge {
			live[p.GetIdentity()] = at
		}
	}
	return live
}

// Pollers decides which pollers are alive by observing that their last access time changes. Temporal's clock may
// differ from ours, and either may be set, so an access time is only compared with our clock at the first observation.
// The zero value has no observations; it is safe for concurrent use.
type Pollers struct {
	mu   sync.Mutex
	seen map[string]sighting // by identity
}

type sighting struct {
	reported time.Time // last access time by Temporal's clock
	at       time.Time // when that access was observed by our clock
}

// Live records the pollers reported by Temporal and returns the identities of those that are alive.
func (p *Pollers) Live(pollers []*taskqueuepb.PollerInfo) map[string]bool {
	lately, live := p.Lately(pollers), map[string]bool{}
	for _, poller := range pollers {
		if id := poller.GetIdentity(); lately[id] {
			live[id] = true
		}
	}
	return live
}

// Lately is Live plus live pollers that Temporal no longer reports: a restarted Temporal forgets its pollers.
func (p *Pollers) Lately(pollers []*taskqueuepb.PollerInfo) map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]sighting{}
	}
	now := time.Now()
	for _, poller := range pollers {
		id, last := poller.GetIdentity(), poller.GetLastAccessTime().AsTime()
		switch s, known := p.seen[id]; {
		case !known:
			p.seen[id] = sighting{last, now.Add(-max(now.Sub(last), 0))}
		case !last.Equal(s.reported):
			p.seen[id] = sighting{last, now}
		}
	}
	const forget = time.Hour // longer than Temporal reports an absent poller
	maps.DeleteFunc(p.seen, func(_ string, s sighting) bool { return now.Sub(s.at) > forget })
	lately := map[string]bool{}
	for id, s := range p.seen {
		if now.Sub(s.at) < pollAge {
			lately[id] = true
		}
	}
	return lately
}
