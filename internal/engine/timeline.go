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

// Timeline returns the events of a task from its Temporal histories. The first page holds the history of the task, each
// further page the history of one of its groups, in their order.
func (e *Engine) Timeline(ctx context.Context, tenant, id, cursor string) (task.Page[task.Event], error) {
	page := task.Page[task.Event]{Object: "list", Data: []task.Event{}}
	ctx, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	d, err := e.describeForTenant(ctx, tenant, id)
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
	timeline := timelineBuilder{workflow: workflowID, calls: map[int64]*historypb.HistoryEvent{}}
	if group < 0 {
		timeline.add(task.Event{At: d.facts.CreatedAt, Type: task.EventAccepted, Summary: "accepted"})
	}
	if err := e.visitHistory(ctx, workflowID, timeline.addHistoryEvent); err != nil {
		return page, translateError(err, id)
	}
	page.Data = timeline.events
	_, err = e.Client.DescribeWorkflow(ctx, record.GroupID(id, group+1), "")
	switch {
	case err == nil:
		page.NextCursor = new(strconv.Itoa(group + 1))
	case !is[*serviceerror.NotFound](err):
		return page, translateError(err, id)
	}
	return page, nil
}

// historyTimeout is how long reading the history of a workflow may take; it has many pages.
const historyTimeout = 30 * time.Second

// visitHistory calls visit with every event of a workflow, from its first run to its last.
func (e *Engine) visitHistory(ctx context.Context, workflowID string, visit func(*historypb.HistoryEvent)) error {
	runs := []string{""} // "" is the latest run
	for {
		it := e.Client.GetWorkflowHistory(ctx, workflowID, runs[0], false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		if !it.HasNext() {
			break
		}
		started, err := it.Next()
		if err != nil {
			return err
		}
		previous := started.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		if previous == "" {
			break
		}
		runs = append([]string{previous}, runs...)
	}
	for _, run := range runs {
		it := e.Client.GetWorkflowHistory(ctx, workflowID, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for it.HasNext() {
			event, err := it.Next()
			if err != nil {
				return err
			}
			visit(event)
		}
	}
	return nil
}

// timelineBuilder builds timeline events from the history events of one workflow.
type timelineBuilder struct {
	workflow string
	events   []task.Event
	calls    map[int64]*historypb.HistoryEvent // scheduled activities, by event id
	attempts map[int64]int
}

func (b *timelineBuilder) add(e task.Event) {
	e.Workflow = b.workflow
	b.events = append(b.events, e)
}

// addHistoryEvent adds the timeline event of a history event; events without meaning for a person are skipped.
func (b *timelineBuilder) addHistoryEvent(event *historypb.HistoryEvent) {
	at := event.GetEventTime().AsTime()
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		if event.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId() == "" {
			b.add(task.Event{At: at, Type: task.EventStarted, Summary: "workflow started"})
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		b.calls[event.GetEventId()] = event
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		a := event.GetActivityTaskStartedEventAttributes()
		if b.attempts == nil {
			b.attempts = map[int64]int{}
		}
		b.attempts[a.GetScheduledEventId()] = int(a.GetAttempt())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		b.addCall(event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId(), at, task.EventCallSucceeded, nil)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := event.GetActivityTaskFailedEventAttributes()
		b.addCall(a.GetScheduledEventId(), at, task.EventCallFailed, a.GetFailure())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := event.GetActivityTaskTimedOutEventAttributes()
		b.addCall(a.GetScheduledEventId(), at, task.EventCallFailed, a.GetFailure())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		b.addCall(event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), at, task.EventCallCancelled, nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
		b.addChild(event.GetChildWorkflowExecutionStartedEventAttributes(), at, task.EventGroupStarted, task.EventTaskStarted, nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		b.addChild(event.GetChildWorkflowExecutionCompletedEventAttributes(), at, task.EventGroupEnded, task.EventTaskEnded, nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
		a := event.GetChildWorkflowExecutionFailedEventAttributes()
		b.addChild(a, at, task.EventGroupEnded, task.EventTaskEnded, a.GetFailure())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		b.add(task.Event{At: at, Type: task.EventCancelRequested, Summary: "cancel requested"})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		b.addSignal(event.GetWorkflowExecutionSignaledEventAttributes(), at)
	default:
		b.addEnd(event, at)
	}
}

// addSignal adds the input of a person, a pause or a resume. Other signals come from workflows and are skipped.
func (b *timelineBuilder) addSignal(signal *historypb.WorkflowExecutionSignaledEventAttributes, at time.Time) {
	var input record.Message
	var pause record.Pause
	decode := func(into any) bool {
		return converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), into) == nil
	}
	switch name := signal.GetSignalName(); {
	case name == record.SignalInput && decode(&input):
		b.add(task.Event{At: at, Type: task.EventInput, Summary: strings.TrimSpace(cmp.Or(input.Action, "answer") + " " + input.Request)})
	case name == record.SignalPause && decode(&pause) && pause.On:
		b.add(task.Event{At: at, Type: task.EventPaused, Summary: cmp.Or(pause.Reason, "by a person")})
	case name == record.SignalPause && decode(&pause):
		b.add(task.Event{At: at, Type: task.EventResumed, Summary: "by a person"})
	}
}

// addEnd adds the end of a run.
func (b *timelineBuilder) addEnd(event *historypb.HistoryEvent, at time.Time) {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		b.add(task.Event{At: at, Type: task.EventEnded, Summary: "succeeded"})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		failure := event.GetWorkflowExecutionFailedEventAttributes().GetFailure()
		b.add(task.Event{At: at, Type: task.EventEnded, Summary: "failed", Error: publicError(failure)})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		b.add(task.Event{At: at, Type: task.EventEnded, Summary: "cancelled"})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		b.add(task.Event{At: at, Type: task.EventEnded, Summary: "terminated in Temporal"})
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		b.add(task.Event{At: at, Type: task.EventContinued, Summary: "continued as a new run, to keep the history short"})
	}
}

// childEvent is common to all history events of child workflows.
type childEvent interface {
	GetWorkflowType() *commonpb.WorkflowType
	GetWorkflowExecution() *commonpb.WorkflowExecution
}

// addChild adds an event of a child workflow: asGroup if the child is a part of this task, asTask if it is a task itself. Notify
// workflows are skipped, because the deliveries of the task list them.
func (b *timelineBuilder) addChild(child childEvent, at time.Time, asGroup, asTask task.EventType, failure *failurepb.Failure) {
	name := child.GetWorkflowType().GetName()
	if name == record.TypeNotify {
		return
	}
	eventType := asGroup
	if _, ok := workflows.Find(name); ok {
		eventType = asTask
	}
	b.add(task.Event{At: at, Type: eventType, Summary: child.GetWorkflowExecution().GetWorkflowId(), Error: publicError(failure)})
}

// addCall adds the end of the activity that was scheduled by the given event.
func (b *timelineBuilder) addCall(scheduled int64, at time.Time, eventType task.EventType, failure *failurepb.Failure) {
	call, ok := b.calls[scheduled]
	if !ok {
		return
	}
	delete(b.calls, scheduled)
	name := call.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()
	b.add(task.Event{
		At: at, Type: eventType, Activity: name, Summary: summary(call.GetUserMetadata(), name),
		Attempt: b.attempts[scheduled], Duration: at.Sub(call.GetEventTime().AsTime()).Seconds(), Error: publicError(failure),
	})
}

// summary returns the static summary of an activity, or its name if it has none.
func summary(m *sdkpb.UserMetadata, name string) string {
	var text string
	if payload := m.GetSummary(); payload != nil && converter.GetDefaultDataConverter().FromPayload(payload, &text) == nil {
		return text
	}
	return name
}
