package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// description is what one Describe returns of a task.
type description struct {
	facts    record.Facts
	snapshot record.Snapshot
	status   status
	raw      *client.WorkflowExecutionDescription
}

// status is the state of a task's workflow in Temporal, beside its memo.
type status struct {
	temporal        enumspb.WorkflowExecutionStatus
	cancelRequested bool
	executionTime   time.Time
	closeTime       time.Time
}

func (s status) open() bool {
	return s.temporal == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || s.temporal == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED ||
		s.temporal == enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED || s.temporal == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW
}

// Get returns a task. An id that is malformed, unknown or of another tenant is task.NotFound. Repeated reads are served from a cache that a
// watch of the task's history keeps current.
func (e *Engine) Get(ctx context.Context, tenant, id string) (task.Task, error) {
	s, err := e.tenantSnapshot(ctx, tenant, id)
	if err == nil && !s.task.Done {
		e.noteRead(id)
	}
	return s.task, err
}

// temporalTimeout is how long one request to Temporal may take. Without it the client waits for ever while Temporal is down.
const temporalTimeout = 5 * time.Second

// Standing is Get past the cache, without result and details: one Describe.
func (e *Engine) Standing(ctx context.Context, tenant, id string) (task.Task, error) {
	d, err := e.describeForTenant(ctx, tenant, id)
	if err != nil {
		return task.Task{}, err
	}
	return e.build(d.facts, d.snapshot, d.status), nil
}

// describeForTenant describes a task of one tenant. The tasks of others are task.NotFound.
func (e *Engine) describeForTenant(ctx context.Context, tenant, id string) (description, error) {
	d, err := e.describe(ctx, id)
	if err == nil && d.facts.Tenant != tenant {
		return description{}, taskNotFound(id)
	}
	return d, err
}

func taskNotFound(id string) *task.Error { return task.Errorf(task.NotFound, "no task %q", id) }

// describe describes a task of any tenant. A workflow without longhaul's memo is task.NotFound.
func (e *Engine) describe(ctx context.Context, id string) (description, error) {
	if !validID.MatchString(id) {
		return description{}, taskNotFound(id)
	}
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	raw, err := e.Client.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return description{}, translateError(err, id)
	}
	d := description{raw: raw}
	if err := raw.GetMemoValue(record.MemoFacts, &d.facts); err != nil {
		return description{}, taskNotFound(id)
	}
	if err := raw.GetMemoValue(record.MemoState, &d.snapshot); err != nil {
		return description{}, fmt.Errorf("state of %s: %w", id, err)
	}
	info := raw.RawResponse.GetWorkflowExecutionInfo()
	d.status = status{
		temporal:        info.GetStatus(),
		cancelRequested: raw.RawResponse.GetWorkflowExtendedInfo().GetCancelRequested(),
		executionTime:   info.GetExecutionTime().AsTime(),
	}
	if info.GetCloseTime() != nil {
		d.status.closeTime = info.GetCloseTime().AsTime()
	}
	return d, nil
}

// fullTask builds a task with its details, or with its result if that is small enough, and returns the texts that are being written.
func (e *Engine) fullTask(ctx context.Context, d description) (t task.Task, texts []liveText, err error) {
	t = e.build(d.facts, d.snapshot, d.status)
	if !t.Done {
		texts = liveTexts(e.addDetails(ctx, &t, d))
		t.Progress.ETA = e.durations.eta(t)
		return t, texts, nil
	}
	if t.ResultRef == nil || t.ResultRef.Bytes > task.InlineResultLimit {
		return t, nil, nil
	}
	data, err := e.Bucket.Get(ctx, storage.ResultKey(t.ID))
	if errors.Is(err, storage.ErrNotFound) {
		return t, nil, nil // removed from the bucket; the result's own address answers with that error
	}
	if err == nil {
		t.Result, t.ResultRef = data, nil
	}
	return t, nil, err
}

// build builds a task from its memo and the state of its workflow.
func (e *Engine) build(f record.Facts, s record.Snapshot, st status) task.Task {
	t := task.Task{
		ID: f.ID, Object: "task", Kind: f.Kind, Headline: f.Headline, Tenant: f.Tenant, Labels: f.Labels, Priority: f.Priority, Model: f.Model,
		CreatedAt: f.CreatedAt, ScheduledAt: f.StartAt, DeadlineAt: f.Deadline,
		Status: s.State, Outcome: s.Outcome, Revision: s.Revision, UpdatedAt: s.UpdatedAt, Progress: s.Progress,
		Usage: s.Usage, Simulated: s.Simulated, Error: s.Error, URLs: e.urls(f.ID), Parent: f.Parent, InputRequests: s.Requests, DeadLetter: s.DeadLetter, ReplayOf: f.ReplayOf,
	}
	if f.ReplayOf != "" {
		t.Replay = &task.ReplayInfo{Of: f.ReplayOf, Scope: f.Scope, Kept: f.Kept}
	}
	if f.Budget > 0 {
		t.Budget = &f.Budget
	}
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	if !s.StartedAt.IsZero() {
		t.StartedAt = &s.StartedAt
	}
	settleState(&t, s, st)
	switch {
	case t.Status == task.Scheduled:
		t.Waiting = &task.Waiting{Reason: task.WaitStart, Until: t.ScheduledAt}
	case t.Status == task.Paused && s.Held != nil:
		t.Waiting = &task.Waiting{Reason: task.WaitPaused, Detail: pauseDetail(*s.Held)}
	}
	t.Done = t.Status.Terminal()
	if t.Done {
		t.FinishedAt = &st.closeTime
		if st.closeTime.Before(t.UpdatedAt) { // the clock was set back between the two
			t.FinishedAt = &t.UpdatedAt
		}
	}
	if t.InputRequests == nil || t.Done {
		t.InputRequests = map[string]task.InputRequest{}
	}
	if t.Done && s.Result != nil {
		t.ResultRef = &task.ResultRef{Href: t.URLs.Result, ContentType: "application/json", Bytes: s.Result.Bytes, SHA256: s.Result.SHA256}
	}
	return t
}

// settleState advances a task by changes that its workflow has not published: its start time has passed, a cancel was requested,
// or its workflow was ended in Temporal. The rule is record.Snapshot.Observe.
func settleState(t *task.Task, s record.Snapshot, st status) {
	observed := record.Observed{
		Open: st.open(), CancelRequested: st.cancelRequested,
		StartPassed: !st.executionTime.IsZero() && !time.Now().Before(st.executionTime),
	}
	if !observed.Open && !s.State.Terminal() {
		observed.EndedOutside, t.Outcome = endedOutside(t, st), task.None
	}
	t.Status, t.Revision = s.Observe(observed)
	if observed.Open && s.State.Terminal() { // the workflow has published its end, but not closed yet
		t.Outcome, t.Error = "", nil
		if t.Progress.Percent != nil {
			t.Progress.Percent = new(min(*t.Progress.Percent, 99))
		}
	}
}

// endedOutside returns the final state of a task whose workflow was ended in Temporal before it could publish one, and sets its error.
func endedOutside(t *task.Task, st status) task.State {
	if st.temporal == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED {
		return task.Cancelled
	}
	t.Error = task.Errorf(task.Terminated, "the workflow of the task was ended in Temporal (%s); finished items are kept", st.temporal)
	return task.Failed
}

func pauseDetail(h record.Held) string {
	text := "since " + h.Since.UTC().Format(time.RFC3339)
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text + "; resume the task to continue"
}

func (e *Engine) urls(id string) task.URLs {
	self := "/v1/tasks/" + id
	u := task.URLs{
		Self: self, Events: self + "/events", WS: self + "/ws", Cancel: self + "/cancel", Pause: self + "/pause", Resume: self + "/resume",
		Replay: self + "/replay", Input: self + "/input", Deliveries: self + "/deliveries", Result: self + "/result", Items: self + "/items",
		Artifacts: self + "/artifacts", Timeline: self + "/timeline",
	}
	if e.UIURL != "" {
		u.Temporal = e.UIURL + "/namespaces/" + url.PathEscape(e.Namespace) + "/workflows/" + id
	}
	return u
}
