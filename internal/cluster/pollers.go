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

// pollAge is how long one who polls counts after it was last seen: a poll lasts up to a minute, and the server notes when it
// begins. One that was killed counts until then.
const pollAge = 70 * time.Second

// WhoPolls asks Temporal who polls a task queue for decisions, as every worker does at all times.
func WhoPolls(ctx context.Context, c client.Client, namespace, queue string) ([]*taskqueuepb.PollerInfo, error) {
	answer, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
	})
	return answer.GetPollers(), err
}

// SeenLately gives when each of the pollers of a queue was last seen, by its identity and Temporal's clock, but for those that may be gone.
func SeenLately(told []*taskqueuepb.PollerInfo) map[string]time.Time {
	live := map[string]time.Time{}
	for _, p := range told {
		if at := p.GetLastAccessTime().AsTime(); time.Since(at) < pollAge {
			live[p.GetIdentity()] = at
		}
	}
	return live
}

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

// Live takes in what Temporal tells of a queue, and gives the identities of those who asked lately.
func (p *Pollers) Live(told []*taskqueuepb.PollerInfo) map[string]bool {
	lately, live := p.Lately(told), map[string]bool{}
	for _, poller := range told {
		if id := poller.GetIdentity(); lately[id] {
			live[id] = true
		}
	}
	return live
}

// Lately is Live with those of whom Temporal does not tell any more: one that was started again, or whose clock was set, forgets who asks.
func (p *Pollers) Lately(told []*taskqueuepb.PollerInfo) map[string]bool {
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
	maps.DeleteFunc(p.seen, func(_ string, s sighting) bool { return now.Sub(s.at) > forget })
	lately := map[string]bool{}
	for id, s := range p.seen {
		if now.Sub(s.at) < pollAge {
			lately[id] = true
		}
	}
	return lately
}
