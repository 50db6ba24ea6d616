package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"longhaul/internal/task"
	"longhaul/workflows"
)

// window is the time over which rates are measured.
const window = 5 * time.Minute

// load tells how the tasks of a tenant fare.
func (e *Engine) load(ctx context.Context, tenant string) task.System {
	s := task.System{At: time.Now().UTC()}
	kinds := workflows.Kinds()
	loads := make([]task.KindLoad, len(kinds))
	var ended, failed int64
	since := time.Now().Add(-window)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(4)
	for i, kind := range kinds {
		all.Go(func() (err error) {
			loads[i], err = e.kindLoad(ctx, query(tenant, task.Filter{Kind: kind.Name}), kind.Name)
			return err
		})
	}
	lately := func(into *int64, which string) {
		all.Go(func() error {
			answer, err := e.count(ctx, query(tenant, task.Filter{})+" AND CloseTime > "+quote(since.UTC().Format(time.RFC3339Nano))+which)
			*into = answer.GetCount()
			return err
		})
	}
	lately(&ended, "")
	lately(&failed, " AND ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut')")
	all.Go(func() error {
		open, fresh, err := e.letters().Count(ctx, tenant, since)
		s.Dead = &task.DeadLoad{Open: open, PerMinute: float64(fresh) / window.Minutes()}
		return err
	})
	if all.Wait() != nil {
		return task.System{At: s.At}
	}
	s.Kinds, s.Throughput = loads, &task.Throughput{PerMinute: float64(ended) / window.Minutes(), FailedPerMinute: float64(failed) / window.Minutes()}
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

// mostBlocked is how far blocked tasks are counted: by then what matters is that there are many.
const mostBlocked = 1000

// Blocked counts the tasks that the workers that run cannot go on with, or with a part of them, as far as Temporal has marked them.
func (e *Engine) Blocked(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	list, err := e.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: e.Namespace, PageSize: mostBlocked,
		Query: "TemporalReportedProblems IN ('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut') AND ExecutionStatus = 'Running'",
	})
	tasks := map[string]bool{}
	for _, w := range list.GetExecutions() {
		id, _, _ := strings.Cut(w.GetExecution().GetWorkflowId(), ".") // a part's id is its task's, a dot, and which it is
		tasks[id] = true
	}
	return len(tasks), err
}
