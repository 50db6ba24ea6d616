package engine

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// Timeline tells what happened to a task, from the histories that Temporal keeps: the first page is
// the task's own, each further page that of one of its groups, in their order.
func (e *Engine) Timeline(ctx context.Context, tenant, id, cursor string) (task.Page[task.Event], error) {
	page := task.Page[task.Event]{Object: "list", Data: []task.Event{}}
	ctx, cancel := context.WithTimeout(ctx, patienceWithHistory)
	defer cancel()
	d, err := e.describe(ctx, tenant, id)
	if err != nil {
		return page, err
	}
	group, workflowID := -1, id
	if cursor != "" {
		if group, err = strconv.Atoi(cursor); err != nil || group < 0 {
			return page, badCursor()
		}
		workflowID = record.GroupID(id, group)
	}
	lines := teller{workflow: workflowID, calls: map[int64]*historypb.HistoryEvent{}}
	if group < 0 {
		lines.add(task.Event{At: d.facts.CreatedAt, Type: task.EventAccepted, Summary: "accepted"})
	}
	if err := e.history(ctx, workflowID, lines.tell); err != nil {
		return page, words(err, id)
	}
	page.Data = lines.events
	_, err = e.Client.DescribeWorkflow(ctx, record.GroupID(id, group+1), "")
	switch {
	case err == nil:
		page.NextCursor = new(strconv.Itoa(group + 1))
	case !is[*serviceerror.NotFound](err):
		return page, words(err, id)
	}
	return page, nil
}

// patienceWithHistory is how long the reading of a history may take: it has many pages.
const patienceWithHistory = 30 * time.Second

// history tells every event of a workflow, over all its runs from the first on.
func (e *Engine) history(ctx context.Context, workflowID string, tell func(*historypb.HistoryEvent)) error {
	runs := []string{""} // the latest
	for {
		it := e.Client.GetWorkflowHistory(ctx, workflowID, runs[0], false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		if !it.HasNext() {
			break
		}
		started, err := it.Next()
		if err != nil {
			return err
		}
		before := started.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		if before == "" {
			break
		}
		runs = append([]string{before}, runs...)
	}
	for _, run := range runs {
		it := e.Client.GetWorkflowHistory(ctx, workflowID, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for it.HasNext() {
			event, err := it.Next()
			if err != nil {
				return err
			}
			tell(event)
		}
	}
	return nil
}

// teller turns the events of one history into lines for a person.
type teller struct {
	workflow string
	events   []task.Event
	calls    map[int64]*historypb.HistoryEvent // scheduled activities, by event id
	attempts map[int64]int
}

func (t *teller) add(e task.Event) {
	e.Workflow = t.workflow
	t.events = append(t.events, e)
}

// tell adds the line of an event, if it is one that a person cares about.
func (t *teller) tell(event *historypb.HistoryEvent) {
	at := event.GetEventTime().AsTime()
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		if event.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId() == "" {
			t.add(task.Event{At: at, Type: task.EventStarted, Summary: "handed to the workers"})
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		t.calls[event.GetEventId()] = event
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		a := event.GetActivityTaskStartedEventAttributes()
		if t.attempts == nil {
			t.attempts = map[int64]int{}
		}
		t.attempts[a.GetScheduledEventId()] = int(a.GetAttempt())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		t.ended(event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId(), at, task.EventCallSucceeded, nil)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := event.GetActivityTaskFailedEventAttributes()
		t.ended(a.GetScheduledEventId(), at, task.EventCallFailed, a.GetFailure())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := event.GetActivityTaskTimedOutEventAttributes()
		t.ended(a.GetScheduledEventId(), at, task.EventCallFailed, a.GetFailure())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		t.ended(event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), at, task.EventCallCancelled, nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
		t.child(event.GetChildWorkflowExecutionStartedEventAttributes(), at, task.EventGroupStarted, task.EventTaskStarted, nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		t.child(event.GetChildWorkflowExecutionCompletedEventAttributes(), at, task.EventGroupEnded, task.EventTaskEnded, nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
		a := event.GetChildWorkflowExecutionFailedEventAttributes()
		t.child(a, at, task.EventGroupEnded, task.EventTaskEnded, a.GetFailure())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		t.add(task.Event{At: at, Type: task.EventCancelRequested, Summary: "asked to stop"})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		t.said(event.GetWorkflowExecutionSignaledEventAttributes(), at)
	default:
		t.close(event, at)
	}
}

// said adds the line of what a person said.
func (t *teller) said(signal *historypb.WorkflowExecutionSignaledEventAttributes, at time.Time) {
	var input record.Message
	var pause record.Pause
	read := func(into any) bool {
		return converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), into) == nil
	}
	switch name := signal.GetSignalName(); {
	case name == record.SignalInput && read(&input):
		t.add(task.Event{At: at, Type: task.EventInput, Summary: strings.TrimSpace(cmp.Or(input.Action, "answer") + " " + input.Request)})
	case name == record.SignalPause && read(&pause) && pause.On:
		t.add(task.Event{At: at, Type: task.EventPaused, Summary: cmp.Or(pause.Reason, "by a person")})
	case name == record.SignalPause && read(&pause):
		t.add(task.Event{At: at, Type: task.EventResumed, Summary: "by a person"})
	}
}

func (t *teller) close(event *historypb.HistoryEvent, at time.Time) {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		t.add(task.Event{At: at, Type: task.EventEnded, Summary: "succeeded"})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		failure := event.GetWorkflowExecutionFailedEventAttributes().GetFailure()
		t.add(task.Event{At: at, Type: task.EventEnded, Summary: "failed", Error: told(failure)})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		t.add(task.Event{At: at, Type: task.EventEnded, Summary: "cancelled"})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		t.add(task.Event{At: at, Type: task.EventEnded, Summary: "ended in Temporal"})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		t.add(task.Event{At: at, Type: task.EventContinued, Summary: "goes on in a new run, to keep the history short"})
	}
}

// child is what every event of a child workflow says of it.
type child interface {
	GetWorkflowType() *commonpb.WorkflowType
	GetWorkflowExecution() *commonpb.WorkflowExecution
}

// child adds the line of a child workflow: a group of this task, or a task of its own. What is told to others is in the
// list of deliveries.
func (t *teller) child(c child, at time.Time, group, own task.EventType, failure *failurepb.Failure) {
	name := c.GetWorkflowType().GetName()
	if name == record.TypeNotify {
		return
	}
	what := group
	if _, ok := workflows.Find(name); ok {
		what = own
	}
	t.add(task.Event{At: at, Type: what, Summary: c.GetWorkflowExecution().GetWorkflowId(), Error: told(failure)})
}

// ended adds the line of an activity that came to an end.
func (t *teller) ended(scheduled int64, at time.Time, what task.EventType, failure *failurepb.Failure) {
	call, ok := t.calls[scheduled]
	if !ok {
		return
	}
	delete(t.calls, scheduled)
	name := call.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()
	e := task.Event{
		At: at, Type: what, Activity: name, Summary: summary(call.GetUserMetadata(), name),
		Attempt: t.attempts[scheduled], Duration: at.Sub(call.GetEventTime().AsTime()).Seconds(), Error: told(failure),
	}
	t.add(e)
}

// summary is what an activity was called for a person, or else its name.
func summary(m *sdkpb.UserMetadata, name string) string {
	var text string
	if payload := m.GetSummary(); payload != nil && payloadText(payload, &text) == nil {
		return text
	}
	return name
}

func payloadText(p *commonpb.Payload, into *string) error {
	return converter.GetDefaultDataConverter().FromPayload(p, into)
}
