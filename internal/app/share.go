package app

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"longhaul/activities"
)

// How often a worker counts the workers, and how long one counts after it was last seen: a poll lasts
// up to a minute. One that has stopped, however, keeps its share until then: that Temporal does not tell of it any more may be for
// another reason.
const (
	countEvery = time.Second
	seenWithin = 70 * time.Second
)

// supposed is how many workers there may be as long as nobody has counted them: those that begin
// together must not use the whole limit each.
const supposed = 10

// share divides the limits a minute by the number of workers that live, until ctx ends: they all use
// the same keys. A share shrinks at once, and grows when two counts in a row allow it. Limits that nobody
// configured are shared as well: the provider may tell them.
func (a *App) share(ctx context.Context, gates []gate) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	counted, sharing := supposed, supposed
	shareAmong(gates, sharing)
	for {
		if n := a.countWorkers(ctx); n > 0 {
			if most := max(n, counted); most != sharing {
				sharing = most
				shareAmong(gates, sharing)
				a.Log.Debug("limits a minute are shared", "workers", sharing)
			}
			counted = n
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func shareAmong(gates []gate, n int) {
	for _, gate := range gates {
		gate.Share(n)
	}
}

// countWorkers counts the processes that poll for decisions, as every worker does at all times; 0 when it
// cannot be known.
func (a *App) countWorkers(ctx context.Context) int {
	told, err := a.pollers(ctx)
	if err != nil {
		return 0
	}
	return len(a.workers.Lately(told, seenWithin))
}

// pollers are those who asked for decisions, as Temporal tells of them.
func (a *App) pollers(ctx context.Context) ([]*taskqueuepb.PollerInfo, error) {
	answer, err := a.Temporal.Client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: a.Temporal.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: activities.QueueWorkflows},
		TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
	})
	return answer.GetPollers(), err
}
