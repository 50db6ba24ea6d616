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

// List gives a page of a tenant's tasks: those that run first, then the ended ones, the last ended
// first. What a list says of a task is what Get says. A task accepted a moment ago may be missing
// for some ten milliseconds, until Temporal's visibility has it.
func (e *Engine) List(ctx context.Context, tenant string, f task.Filter) (task.Page[task.Task], error) {
	page := task.Page[task.Task]{Object: "list", Data: []task.Task{}}
	token, ok := readCursor(f.Cursor)
	if !ok {
		return page, badCursor()
	}
	if err := e.prepared(); err != nil {
		return page, err
	}
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	answer, err := e.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: e.Namespace, PageSize: int32(pageSize(f.Limit)), NextPageToken: token, Query: query(tenant, f),
	})
	if err != nil {
		return page, words(err, "")
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
		// Visibility may say of a task what it was a moment ago: then it is not of this list.
		if t != nil && (f.Status == "" || t.Status == f.Status) {
			page.Data = append(page.Data, *t)
		}
	}
	if next := answer.GetNextPageToken(); len(next) > 0 {
		page.NextCursor = new(writeCursor(next))
	}
	return page, nil
}

// listed makes the task of a list entry. Visibility lags behind, so a task that it calls open is
// looked at; what it calls ended has said its last words.
func (e *Engine) listed(ctx context.Context, tenant string, execution *workflowpb.WorkflowExecutionInfo) (task.Task, error) {
	if execution.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		s, err := e.seeOf(ctx, tenant, execution.GetExecution().GetWorkflowId())
		return s.task, err
	}
	if t, ok := e.inList(execution); ok {
		return t, nil
	}
	return e.Get(ctx, tenant, execution.GetExecution().GetWorkflowId())
}

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

// stateQuery finds the tasks that may be in a state. The attribute is written by the workflow, so
// where a task can change state without one, Temporal's own status and times decide.
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
		// A cancel is known to Temporal before the workflow has heard of it.
		return in(task.Scheduled, task.Pending, task.Processing, task.Cancelling)
	default:
		return in(s)
	}
}

// quote makes a string of Temporal's query language.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// A cursor is Temporal's page token with a checksum, so that one that was cut or made up is told apart
// from a Temporal that fails.
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
	return invalid("cursor", "the cursor is none of ours; take next_cursor of the page before, or leave it out")
}
