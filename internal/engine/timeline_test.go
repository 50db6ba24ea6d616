package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	"longhaul/internal/task"
	"longhaul/workflows"
)

// Children are called what they are, and notices are no part of a timeline, however they end.
func TestTimeline_children(t *testing.T) {
	t.Parallel()
	for child, want := range map[string][]task.EventType{
		"summary.group":      {task.EventGroupStarted, task.EventGroupEnded, task.EventGroupEnded},
		"qa":                 {task.EventTaskStarted, task.EventTaskEnded, task.EventTaskEnded},
		workflows.NotifyType: nil,
	} {
		var lines teller
		for _, event := range childEvents(child) {
			lines.tell(event)
		}
		var types []task.EventType
		for _, e := range lines.events {
			types = append(types, e.Type)
			require.Equal(t, "the-id", e.Summary)
		}
		require.Equal(t, want, types, child)
		if want != nil {
			require.Equal(t, []string{"", "", "the model is gone"}, []string{lines.events[0].Error, lines.events[1].Error, lines.events[2].Error})
		}
	}
}

// childEvents are the start, the end and the failure of a child workflow of a type.
func childEvents(name string) []*historypb.HistoryEvent {
	kind, id := &commonpb.WorkflowType{Name: name}, &commonpb.WorkflowExecution{WorkflowId: "the-id"}
	failure := &failurepb.Failure{Message: "the model is gone", FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
		ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: string(task.ModelUnknown)},
	}}
	return []*historypb.HistoryEvent{
		{EventType: enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED, Attributes: &historypb.HistoryEvent_ChildWorkflowExecutionStartedEventAttributes{
			ChildWorkflowExecutionStartedEventAttributes: &historypb.ChildWorkflowExecutionStartedEventAttributes{WorkflowType: kind, WorkflowExecution: id},
		}},
		{EventType: enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED, Attributes: &historypb.HistoryEvent_ChildWorkflowExecutionCompletedEventAttributes{
			ChildWorkflowExecutionCompletedEventAttributes: &historypb.ChildWorkflowExecutionCompletedEventAttributes{WorkflowType: kind, WorkflowExecution: id},
		}},
		{EventType: enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED, Attributes: &historypb.HistoryEvent_ChildWorkflowExecutionFailedEventAttributes{
			ChildWorkflowExecutionFailedEventAttributes: &historypb.ChildWorkflowExecutionFailedEventAttributes{WorkflowType: kind, WorkflowExecution: id, Failure: failure},
		}},
	}
}
