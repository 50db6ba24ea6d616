package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"longhaul/activities"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// systemMemory is how long what System found is told again: dashboards ask often, and each look costs Temporal some twenty questions.
const systemMemory = 3 * time.Second

// systemCache remembers, for a moment, the installation under "" and the load of each tenant under its name.
type systemCache struct {
	mu    sync.Mutex
	found map[string]task.System
}

// System tells how the installation stands, and how the tasks of a tenant fare.
func (e *Engine) System(ctx context.Context, tenant string) (task.System, error) {
	if err := e.prepared(); err != nil {
		return task.System{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	s := e.Installation(ctx)
	own := e.system.remember(tenant, func() task.System { return e.load(ctx, tenant) })
	s.Kinds, s.Throughput = own.Kinds, own.Throughput
	return s, nil
}

// Installation is System without what belongs to a tenant.
func (e *Engine) Installation(ctx context.Context) task.System {
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	return e.system.remember("", func() task.System { return e.installation(ctx) })
}

// remember gives what was found a moment ago, or looks. Two who come together may both look.
func (c *systemCache) remember(of string, look func() task.System) task.System {
	c.mu.Lock()
	was, ok := c.found[of]
	c.mu.Unlock()
	if ok && time.Since(was.At) < systemMemory {
		return was
	}
	s := look()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[string]task.System{}
	}
	maps.DeleteFunc(c.found, func(_ string, old task.System) bool { return time.Since(old.At) >= systemMemory })
	c.found[of] = s
	return s
}

// installation is what all tenants share.
func (e *Engine) installation(ctx context.Context) task.System {
	s := task.System{Object: "system", At: time.Now().UTC()}
	var pollers []task.WorkerInfo
	var all sync.WaitGroup
	all.Go(func() { s.Queues, pollers = e.queues(ctx) })
	all.Go(func() { s.Workers = e.heartbeats(ctx) })
	all.Go(func() { s.Lanes = e.lanes(ctx) })
	all.Wait()
	if s.Workers == nil {
		s.Workers = pollers
	}
	return s
}

// queues tells of the queues, and of those who poll them.
func (e *Engine) queues(ctx context.Context) ([]task.Queue, []task.WorkerInfo) {
	names := e.Queues
	if names == nil {
		names = []string{activities.QueueDocuments, activities.QueueLLM, activities.QueueTools, activities.QueueVideo}
	}
	names = append([]string{activities.QueueWorkflows}, names...)
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
		for _, p := range answer.GetPollers() {
			seen(workers, p.GetIdentity(), names[i], p.GetLastAccessTime().AsTime(), pollAge)
		}
	}
	return queues, sorted(workers)
}

func (e *Engine) queue(ctx context.Context, name string) (*workflowservice.DescribeTaskQueueResponse, error) {
	sort := enumspb.TASK_QUEUE_TYPE_ACTIVITY
	if name == activities.QueueWorkflows {
		sort = enumspb.TASK_QUEUE_TYPE_WORKFLOW
	}
	return e.Client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: e.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: name}, TaskQueueType: sort, ReportStats: true,
	})
}

// seen notes that a worker was seen at a queue, unless that is too long ago. It gives nil then.
func seen(workers map[string]*task.WorkerInfo, identity, queue string, at time.Time, within time.Duration) *task.WorkerInfo {
	if time.Since(at) > within {
		return nil
	}
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
		if beat == nil || strings.HasPrefix(beat.GetTaskQueue(), "temporal-sys") {
			continue
		}
		if w := seen(workers, beat.GetWorkerIdentity(), beat.GetTaskQueue(), beat.GetHeartbeatTime().AsTime(), heartbeatAge); w != nil {
			slots := beat.GetActivityTaskSlotsInfo()
			w.Used, w.Free = plus(w.Used, slots.GetCurrentUsedSlots()), plus(w.Free, slots.GetCurrentAvailableSlots())
		}
	}
	return sorted(workers)
}

func plus(sum *int, n int32) *int {
	if sum == nil {
		sum = new(int)
	}
	return new(*sum + int(max(n, 0)))
}

// ReportAge is how old the report of a worker may be: one that was killed could not take it away.
const ReportAge = 45 * time.Second

// lanes puts together what the workers report of their lanes: one is open if it is so everywhere.
func (e *Engine) lanes(ctx context.Context) []task.LaneState {
	entries, err := e.Bucket.List(ctx, storage.WorkersPrefix)
	if err != nil {
		return nil
	}
	var all []task.LaneState
	for _, entry := range entries {
		var report task.WorkerReport
		if time.Since(entry.ModTime) > ReportAge || e.Bucket.GetJSON(ctx, storage.WorkersPrefix+entry.Name, &report) != nil {
			continue
		}
		for _, l := range report.Lanes {
			all = join(all, l)
		}
	}
	return all
}

func join(all []task.LaneState, l task.LaneState) []task.LaneState {
	if l.Until != nil && !l.Until.After(time.Now()) {
		l.Open, l.Why, l.Until = true, "", nil // it opened since
	}
	i := slices.IndexFunc(all, func(other task.LaneState) bool { return other.Provider == l.Provider })
	if i < 0 {
		return append(all, l)
	}
	sum := &all[i]
	sum.InFlight, sum.Waiting, sum.Limit = sum.InFlight+l.InFlight, sum.Waiting+l.Waiting, sum.Limit+l.Limit
	if !l.Open && (sum.Open || l.Until.After(*sum.Until)) {
		sum.Open, sum.Why, sum.Until = false, l.Why, l.Until
	}
	return all
}

// load tells how the tasks of a tenant fare.
func (e *Engine) load(ctx context.Context, tenant string) task.System {
	s := task.System{At: time.Now().UTC()}
	kinds := workflows.Kinds()
	loads := make([]task.KindLoad, len(kinds))
	var lately int64
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(4)
	for i, kind := range kinds {
		all.Go(func() (err error) {
			loads[i], err = e.kindLoad(ctx, query(tenant, task.Filter{Kind: kind.Name}), kind.Name)
			return err
		})
	}
	const window = 5 * time.Minute
	all.Go(func() error {
		since := quote(time.Now().Add(-window).UTC().Format(time.RFC3339Nano))
		answer, err := e.count(ctx, query(tenant, task.Filter{})+" AND CloseTime > "+since)
		lately = answer.GetCount()
		return err
	})
	if all.Wait() == nil {
		s.Kinds, s.Throughput = loads, &task.Throughput{PerMinute: float64(lately) / window.Minutes()}
	}
	return s
}

func (e *Engine) count(ctx context.Context, query string) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	return e.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: e.Namespace, Query: query})
}

// kindLoad counts the tasks that a query finds, and measures the last of them.
func (e *Engine) kindLoad(ctx context.Context, query, kind string) (task.KindLoad, error) {
	load := task.KindLoad{Kind: kind}
	answer, err := e.count(ctx, query+" GROUP BY ExecutionStatus")
	if err != nil {
		return load, err
	}
	for _, group := range answer.GetGroups() {
		var status string
		if len(group.GetGroupValues()) == 0 || converter.GetDefaultDataConverter().FromPayload(group.GetGroupValues()[0], &status) != nil {
			return load, fmt.Errorf("count tasks by status: no status in %v", group)
		}
		switch status {
		case "Running", "Paused":
			load.Running += group.GetCount()
		case "Completed":
			load.Succeeded += group.GetCount()
		case "Failed", "Terminated", "TimedOut":
			load.Failed += group.GetCount()
		}
	}
	if load.Succeeded == 0 {
		return load, nil
	}
	list, err := e.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: e.Namespace, PageSize: 100, Query: query + " AND ExecutionStatus = 'Completed'",
	})
	var took []float64
	for _, w := range list.GetExecutions() {
		took = append(took, w.GetCloseTime().AsTime().Sub(w.GetExecutionTime().AsTime()).Seconds())
	}
	load.P50, load.P95 = quantile(took, 0.5), quantile(took, 0.95)
	return load, err
}

// quantile is nil for none.
func quantile(all []float64, q float64) *float64 {
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return &all[int(q*float64(len(all)-1)+0.5)]
}

// Blocked counts the tasks that the workers that run cannot go on with, as far as Temporal has marked them.
func (e *Engine) Blocked(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	answer, err := e.count(ctx, "TemporalReportedProblems IN ('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut') AND ExecutionStatus = 'Running'")
	return answer.GetCount(), err
}
