package cluster

import (
	"context"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// pollAge is how long one who polls counts after it was last seen: a poll lasts up to a minute, and the server notes when it
// begins. One that was killed counts until then.
const pollAge = 70 * time.Second

// Pollers are those who asked a task queue for decisions lately, as every worker does at all times: when each was last seen, by
// its identity.
func Pollers(ctx context.Context, c client.Client, namespace, queue string) (map[string]time.Time, error) {
	answer, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: enums.TASK_QUEUE_TYPE_WORKFLOW,
	})
	return SeenLately(answer), err
}

// SeenLately gives the pollers of a task queue that has been described already.
func SeenLately(queue *workflowservice.DescribeTaskQueueResponse) map[string]time.Time {
	live := map[string]time.Time{}
	for _, p := range queue.GetPollers() {
		if at := p.GetLastAccessTime().AsTime(); time.Since(at) < pollAge {
			live[p.GetIdentity()] = at
		}
	}
	return live
}
