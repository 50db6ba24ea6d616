package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"longhaul/internal/cluster"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// queues tells of the queues, and of those who poll them.
func (e *Engine) queues(ctx context.Context) ([]task.Queue, []task.WorkerInfo) {
	models := e.Queues
	if models == nil {
		models = []string{record.QueueLLM}
	}
	names := append([]string{record.QueueWorkflows}, models...)
	names = append(names, record.QueueDocuments, record.QueueTools, record.QueueVideo, record.QueueNotify)
	answers := make([]*workflowservice.DescribeTaskQueueResponse, len(names))
	var all errgroup.Group
	for i, name := range names {
		all.Go(func() (err error) {
			answers[i], err = e.queue(ctx, name)
			return err
		})
	}
	_ = all.Wait() // one that did not answer is left out
	var queues []task.Queue
	workers := map[string]*task.WorkerInfo{}
	for i, answer := range answers {
		if answer == nil {
			continue
		}
		stats := answer.GetStats()
		queues = append(queues, task.Queue{
			Name: names[i], Backlog: stats.GetApproximateBacklogCount(), Oldest: stats.GetApproximateBacklogAge().AsDuration().Seconds(),
		})
		for identity, at := range cluster.SeenLately(answer.GetPollers()) {
			seen(workers, identity, names[i], at)
		}
	}
	return queues, sorted(workers)
}

func (e *Engine) queue(ctx context.Context, name string) (*workflowservice.DescribeTaskQueueResponse, error) {
	sort := enumspb.TASK_QUEUE_TYPE_ACTIVITY
	if name == record.QueueWorkflows {
		sort = enumspb.TASK_QUEUE_TYPE_WORKFLOW
	}
	return e.Client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: e.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: name}, TaskQueueType: sort, ReportStats: true,
	})
}

// seen notes that a worker was seen at a queue.
func seen(workers map[string]*task.WorkerInfo, identity, queue string, at time.Time) *task.WorkerInfo {
	w := workers[identity]
	if w == nil {
		w = &task.WorkerInfo{Identity: identity}
		workers[identity] = w
	}
	if !slices.Contains(w.Queues, queue) {
		w.Queues = append(w.Queues, queue)
		slices.Sort(w.Queues)
	}
	if at.After(w.LastSeen) {
		w.LastSeen = at
	}
	return w
}

func sorted(workers map[string]*task.WorkerInfo) []task.WorkerInfo {
	var all []task.WorkerInfo
	for _, identity := range slices.Sorted(maps.Keys(workers)) {
		all = append(all, *workers[identity])
	}
	return all
}

// Heartbeats of workers come every few seconds: see cluster.Connect. One that was silent for as long is gone. More than so many
// are not asked for.
const (
	heartbeatAge = 20 * time.Second
	mostWorkers  = 200
)

// heartbeats tells of the workers by the heartbeats that they send; nil when the server knows of none, as older ones do.
func (e *Engine) heartbeats(ctx context.Context) []task.WorkerInfo {
	service := e.Client.WorkflowService()
	list, err := service.ListWorkers(ctx, &workflowservice.ListWorkersRequest{
		Namespace: e.Namespace, PageSize: mostWorkers, Query: "WorkerStatus = 'Running'",
	})
	if err != nil {
		return nil
	}
	answers := make([]*workflowservice.DescribeWorkerResponse, len(list.GetWorkers()))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(8)
	for i, w := range list.GetWorkers() {
		all.Go(func() error {
			answers[i], _ = service.DescribeWorker(ctx, &workflowservice.DescribeWorkerRequest{Namespace: e.Namespace, WorkerInstanceKey: w.GetWorkerInstanceKey()})
			return nil // one that is gone by now is left out
		})
	}
	_ = all.Wait()
	workers := map[string]*task.WorkerInfo{}
	for _, answer := range answers {
		beat := answer.GetWorkerInfo().GetWorkerHeartbeat()
		at := beat.GetHeartbeatTime().AsTime()
		if beat == nil || strings.HasPrefix(beat.GetTaskQueue(), "temporal-sys") || time.Since(at) > heartbeatAge {
			continue
		}
		w, slots := seen(workers, beat.GetWorkerIdentity(), beat.GetTaskQueue(), at), beat.GetActivityTaskSlotsInfo()
		w.Used, w.Free = plus(w.Used, slots.GetCurrentUsedSlots()), plus(w.Free, slots.GetCurrentAvailableSlots())
	}
	return sorted(workers)
}

func plus(sum *int, n int32) *int {
	if sum == nil {
		sum = new(int)
	}
	return new(*sum + int(max(n, 0)))
}
