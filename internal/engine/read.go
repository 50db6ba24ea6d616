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

// description is what one Describe tells of a task.
type description struct {
	facts    record.Facts
	snapshot record.Snapshot
	status   status
	raw      *client.WorkflowExecutionDescription
}

// status is what Temporal itself knows of a task beside its memo.
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

// Get tells how a task stands. An id that is malformed, unknown or another tenant's is task.NotFound.
// Who asks again is answered from a watch of the task, for some seconds after the last reader.
func (e *Engine) Get(ctx context.Context, tenant, id string) (task.Task, error) {
	s, err := e.seeOf(ctx, tenant, id)
	if err == nil && !s.task.Done {
		e.noteRead(id)
	}
	return s.task, err
}

// patienceWithTemporal is how long one question to Temporal may take: while it is down, the client
// would wait for ever.
const patienceWithTemporal = 5 * time.Second

// Standing is Get without the result and without what only a closer look tells.
func (e *Engine) Standing(ctx context.Context, tenant, id string) (task.Task, error) {
	d, err := e.describe(ctx, tenant, id)
	if err != nil {
		return task.Task{}, err
	}
	return e.build(d.facts, d.snapshot, d.status), nil
}

// describe looks at a task of a tenant.
func (e *Engine) describe(ctx context.Context, tenant, id string) (description, error) {
	d, err := e.look(ctx, id)
	if err == nil && d.facts.Tenant != tenant {
		return description{}, missing(id)
	}
	return d, err
}

func missing(id string) *task.Error { return task.Errorf(task.NotFound, "no task %q", id) }

// look looks at a task, whoever's it is.
func (e *Engine) look(ctx context.Context, id string) (description, error) {
	if !validID.MatchString(id) {
		return description{}, missing(id)
	}
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	raw, err := e.Client.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return description{}, words(err, id)
	}
	d := description{raw: raw}
	if err := raw.GetMemoValue(record.MemoFacts, &d.facts); err != nil {
		return description{}, missing(id) // a workflow that is no task of ours
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

// whole makes the whole task of a description, with what only a closer look tells, and the texts that are being written.
func (e *Engine) whole(ctx context.Context, d description) (t task.Task, text []growing, err error) {
	t = e.build(d.facts, d.snapshot, d.status)
	if !t.Done {
		text = growingIn(e.lookCloser(ctx, &t, d))
		t.Progress.ETA = e.paces.eta(t)
		return t, text, nil
	}
	if t.ResultRef == nil || t.ResultRef.Bytes > task.InlineResultLimit {
		return t, nil, nil
	}
	data, err := e.Bucket.Get(ctx, storage.ResultKey(t.ID))
	if errors.Is(err, storage.ErrNotFound) {
		return t, nil, nil // removed since: the reference says so when it is followed
	}
	if err == nil {
		t.Result, t.ResultRef = data, nil
	}
	return t, nil, err
}

// build puts a task together from its memo and from what Temporal knows.
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
		t.Waiting = &task.Waiting{Reason: task.WaitPaused, Detail: pausedBecause(*s.Held)}
	}
	t.Done = t.Status.Terminal()
	if t.Done {
		t.FinishedAt = &st.closeTime
		if st.closeTime.Before(t.UpdatedAt) { // by a clock that was put back in between
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

// settleState advances a task by what the workflow has not published: its start time arrived, a cancel was requested,
// or Temporal ended it. record.Snapshot.Observe has the rule.
func settleState(t *task.Task, s record.Snapshot, st status) {
	observed := record.Observed{
		Open: st.open(), CancelRequested: st.cancelRequested,
		StartPassed: !st.executionTime.IsZero() && !time.Now().Before(st.executionTime),
	}
	if !observed.Open && !s.State.Terminal() {
		observed.EndedOutside, t.Outcome = endedOutside(t, st), task.None
	}
	t.Status, t.Revision = s.Observe(observed)
	if observed.Open && s.State.Terminal() { // the end is published an instant before the workflow closes
		t.Outcome, t.Error = "", nil
		if t.Progress.Percent != nil {
			t.Progress.Percent = new(min(*t.Progress.Percent, 99))
		}
	}
}

// endedOutside names the end of a task that could not say its own last words.
func endedOutside(t *task.Task, st status) task.State {
	if st.temporal == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED {
		return task.Cancelled
	}
	t.Error = task.Errorf(task.Terminated, "the task's workflow was ended in Temporal (%s); finished items are kept", st.temporal)
	return task.Failed
}

func pausedBecause(h record.Held) string {
	text := "since " + h.Since.UTC().Format(time.RFC3339)
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text + "; resume it to go on"
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
