package engine

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// List returns a page of a tenant's tasks: running tasks, then ended ones, the last ended first. Running tasks are as Get shows them; a new task may be missing
// for some ten milliseconds, until Temporal's visibility has it.
func (e *Engine) List(ctx context.Context, tenant string, f task.Filter) (task.Page[task.Task], error) {
	page := task.Page[task.Task]{Object: "list", Data: []task.Task{}}
	token, ok := readCursor(f.Cursor)
	if !ok {
		return page, badCursor()
	}
	if err := e.checkPrepared(); err != nil {
		return page, err
	}
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	answer, err := e.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: e.Namespace, PageSize: int32(pageSize(f.Limit)), NextPageToken: token, Query: query(tenant, f),
	})
	if err != nil {
		return page, translateError(err, "")
	}
	tasks := make([]*task.Task, len(answer.GetExecutions()))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, execution := range answer.GetExecutions() {
		g.Go(func() error {
			t, err := e.listed(ctx, tenant, execution)
			switch {
			case err == nil:
				tasks[i] = &t
			case task.AsError(err).Code == task.NotFound:
				return nil // deleted in Temporal since it was listed
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return page, err
	}
	for _, t := range tasks {
		// Visibility lags behind: a task that has left the wanted state since is left out.
		if t != nil && (f.Status == "" || t.Status == f.Status) {
			page.Data = append(page.Data, *t)
		}
	}
	if next := answer.GetNextPageToken(); len(next) > 0 {
		page.NextCursor = new(writeCursor(next))
	}
	return page, nil
}

// listed returns the task of a list entry. Visibility lags behind, so a task that it calls running is read again; an ended task
// does not change any more.
func (e *Engine) listed(ctx context.Context, tenant string, execution *workflowpb.WorkflowExecutionInfo) (task.Task, error) {
	if execution.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		s, err := e.tenantSnapshot(ctx, tenant, execution.GetExecution().GetWorkflowId())
		return s.task, err
	}
	if t, ok := e.taskOfExecution(execution); ok {
		return t, nil
	}
	return e.Get(ctx, tenant, execution.GetExecution().GetWorkflowId())
}

// query returns the visibility query for a tenant's tasks that match a filter.
func query(tenant string, f task.Filter) string {
	terms := []string{
		record.AttrTenant.GetName() + " = " + quote(tenant),
		"ExecutionStatus != 'ContinuedAsNew'",
	}
	if f.Kind != "" {
		terms = append(terms, record.AttrKind.GetName()+" = "+quote(f.Kind))
	}
	for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
		terms = append(terms, record.AttrLabels.GetName()+" = "+quote(key+":"+f.Labels[key]))
	}
	if f.Status != "" {
		terms = append(terms, stateQuery(f.Status, time.Now()))
	}
	return strings.Join(terms, " AND ")
}

// stateQuery returns the query for tasks that may be in a state. The workflow writes the search attribute, so changes that happen without the
// workflow are matched by Temporal's own status and times.
func stateQuery(s task.State, now time.Time) string {
	in := func(states ...task.State) string {
		quoted := make([]string, len(states))
		for i, state := range states {
			quoted[i] = quote(string(state))
		}
		return fmt.Sprintf("%s IN (%s) AND ExecutionStatus = 'Running'", record.AttrState.GetName(), strings.Join(quoted, ", "))
	}
	due := quote(now.UTC().Format(time.RFC3339Nano))
	switch s {
	case task.Succeeded:
		return "ExecutionStatus = 'Completed'"
	case task.Failed:
		return "ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut')"
	case task.Cancelled:
		return "ExecutionStatus = 'Canceled'"
	case task.Scheduled:
		return in(task.Scheduled) + " AND ExecutionTime > " + due
	case task.Pending:
		return in(task.Scheduled, task.Pending) + " AND ExecutionTime <= " + due
	case task.Cancelling:
		// A cancel may be requested and not yet be seen by the workflow, so every earlier state is included.
		return in(task.Scheduled, task.Pending, task.Processing, task.Cancelling)
	default:
		return in(s)
	}
}

// quote quotes a string for Temporal's query language.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// writeCursor encodes Temporal's page token with a checksum, so that a truncated or invented cursor is not taken for a failure of Temporal.
func writeCursor(token []byte) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(slices.Clone(token), crc32.ChecksumIEEE(token)))
}

func readCursor(cursor string) (token []byte, ok bool) {
	if cursor == "" {
		return nil, true
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < 5 {
		return nil, false
	}
	token, sum := data[:len(data)-4], data[len(data)-4:]
	return token, binary.BigEndian.Uint32(sum) == crc32.ChecksumIEEE(token)
}

func pageSize(limit int) int {
	if limit <= 0 {
		return task.DefaultPage
	}
	return min(limit, task.MaxPage)
}

func badCursor() *task.Error {
	return invalid("cursor", "invalid cursor; use next_cursor of the previous page, or leave it out for the first page")
}
