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

// queues describes all task queues and returns the workers that poll them. A queue that cannot be described is left out.
func (e *Engine) queues(ctx context.Context) ([]task.Queue, []task.WorkerInfo) {
	providers := e.Queues
	if providers == nil {
		providers = []string{record.QueueLLM}
	}
	names := append([]string{record.QueueWorkflows}, providers...)
	names = append(names, record.QueueDocuments, record.QueueTools, record.QueueVideo, record.QueueNotify)
	answers := make([]*workflowservice.DescribeTaskQueueResponse, len(names))
	var all errgroup.Group
	for i, name := range names {
		all.Go(func() (err error) {
			answers[i], err = e.describeQueue(ctx, name)
			return err
		})
	}
	_ = all.Wait()
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
			addWorker(workers, identity, names[i], at)
		}
	}
	return queues, sortedWorkers(workers)
}

func (e *Engine) describeQueue(ctx context.Context, name string) (*workflowservice.DescribeTaskQueueResponse, error) {
	queueType := enumspb.TASK_QUEUE_TYPE_ACTIVITY
	if name == record.QueueWorkflows {
		queueType = enumspb.TASK_QUEUE_TYPE_WORKFLOW
	}
	return e.Client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: e.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: name}, TaskQueueType: queueType, ReportStats: true,
	})
}

// addWorker records that a worker polled a queue at a time.
func addWorker(workers map[string]*task.WorkerInfo, identity, queue string, at time.Time) *task.WorkerInfo {
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

func sortedWorkers(workers map[string]*task.WorkerInfo) []task.WorkerInfo {
	var all []task.WorkerInfo
	for _, identity := range slices.Sorted(maps.Keys(workers)) {
		all = append(all, *workers[identity])
	}
	return all
}

const (
	// maxHeartbeatAge is how old the last heartbeat of a live worker may be. Workers send one every few seconds: see cluster.Connect.
	maxHeartbeatAge = 20 * time.Second
	// maxWorkers is how many workers are described.
	maxWorkers = 200
)

// workersByHeartbeat describes the workers by their heartbeats, with their slots; nil if the Temporal server has no worker heartbeats, as
// older versions.
func (e *Engine) workersByHeartbeat(ctx context.Context) []task.WorkerInfo {
	service := e.Client.WorkflowService()
	list, err := service.ListWorkers(ctx, &workflowservice.ListWorkersRequest{
		Namespace: e.Namespace, PageSize: maxWorkers, Query: "WorkerStatus = 'Running'",
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
			return nil // a worker that cannot be described is left out
		})
	}
	_ = all.Wait()
	workers := map[string]*task.WorkerInfo{}
	for _, answer := range answers {
		beat := answer.GetWorkerInfo().GetWorkerHeartbeat()
		at := beat.GetHeartbeatTime().AsTime()
		if beat == nil || strings.HasPrefix(beat.GetTaskQueue(), "temporal-sys") || time.Since(at) > maxHeartbeatAge {
			continue
		}
		w, slots := addWorker(workers, beat.GetWorkerIdentity(), beat.GetTaskQueue(), at), beat.GetActivityTaskSlotsInfo()
		w.Used, w.Free = addSlots(w.Used, slots.GetCurrentUsedSlots()), addSlots(w.Free, slots.GetCurrentAvailableSlots())
	}
	return sortedWorkers(workers)
}

// addSlots adds to a sum that is nil at first; a negative number counts as 0.
func addSlots(sum *int, n int32) *int {
	if sum == nil {
		sum = new(int)
	}
	return new(*sum + int(max(n, 0)))
}
