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

// rateWindow is the time over which rates are measured.
const rateWindow = 5 * time.Minute

// tenantLoad counts the tasks and dead letters of a tenant. After an error it has a time and nothing else.
func (e *Engine) tenantLoad(ctx context.Context, tenant string) task.System {
	s := task.System{At: time.Now().UTC()}
	kinds := workflows.Kinds()
	loads := make([]task.KindLoad, len(kinds))
	var ended, failed int64
	since := time.Now().Add(-rateWindow)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(4)
	for i, kind := range kinds {
		all.Go(func() (err error) {
			loads[i], err = e.kindLoad(ctx, query(tenant, task.Filter{Kind: kind.Name}), kind.Name)
			return err
		})
	}
	countEnded := func(into *int64, condition string) {
		all.Go(func() error {
			answer, err := e.count(ctx, query(tenant, task.Filter{})+" AND CloseTime > "+quote(since.UTC().Format(time.RFC3339Nano))+condition)
			*into = answer.GetCount()
			return err
		})
	}
	countEnded(&ended, "")
	countEnded(&failed, " AND ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut')")
	all.Go(func() error {
		open, recent, err := e.letters().Count(ctx, tenant, since)
		s.Dead = &task.DeadLoad{Open: open, PerMinute: float64(recent) / rateWindow.Minutes()}
		return err
	})
	if all.Wait() != nil {
		return task.System{At: s.At}
	}
	s.Kinds, s.Throughput = loads, &task.Throughput{PerMinute: float64(ended) / rateWindow.Minutes(), FailedPerMinute: float64(failed) / rateWindow.Minutes()}
	return s
}

func (e *Engine) count(ctx context.Context, query string) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	return e.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: e.Namespace, Query: query})
}

// kindLoad counts the tasks of a query by their state, and measures how long the last hundred that succeeded ran.
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
	var seconds []float64
	for _, w := range list.GetExecutions() {
		seconds = append(seconds, w.GetCloseTime().AsTime().Sub(w.GetExecutionTime().AsTime()).Seconds())
	}
	load.P50, load.P95 = quantile(seconds, 0.5), quantile(seconds, 0.95)
	return load, err
}

// quantile returns the q-th quantile, q from 0 to 1, and sorts values; nil for no values.
func quantile(values []float64, q float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	return &values[int(q*float64(len(values)-1)+0.5)]
}

// maxBlocked is how many blocked workflows are counted.
const maxBlocked = 1000

// Blocked counts the tasks of all tenants that the running workers cannot continue, because a workflow task of the task or of a child fails
// again and again. Temporal marks them with a search attribute.
func (e *Engine) Blocked(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	list, err := e.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: e.Namespace, PageSize: maxBlocked,
		Query: "TemporalReportedProblems IN ('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut') AND ExecutionStatus = 'Running'",
	})
	tasks := map[string]bool{}
	for _, w := range list.GetExecutions() {
		id, _, _ := strings.Cut(w.GetExecution().GetWorkflowId(), ".") // the id of a child workflow is the task's id, a dot and its name
		tasks[id] = true
	}
	return len(tasks), err
}
