package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// TestTimeline_people tells what people said to a task, beside what it did: who reads it later wants to know both. What one task says to another
// is left out.
func TestTimeline_people(t *testing.T) {
	t.Parallel()
	lines := teller{workflow: "w"}
	for _, one := range []struct {
		name string
		said any
	}{
		{record.SignalInput, record.Message{Request: "call-3-1", Action: string(task.Approve)}},
		{record.SignalInput, record.Message{Request: "call-3-2"}}, // of a release that did not tell what was done
		{record.SignalInput, record.Message{Message: "key", Action: string(task.Tell)}},
		{record.SignalPause, record.Pause{On: true, Reason: "lunch"}},
		{record.SignalPause, record.Pause{On: true}},
		{record.SignalPause, record.Pause{}},
		{"progress", 7},
	} {
		input, err := converter.GetDefaultDataConverter().ToPayloads(one.said)
		require.NoError(t, err)
		lines.tell(&historypb.HistoryEvent{
			EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
			Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
				WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: one.name, Input: input},
			},
		})
	}
	var told []string
	for _, e := range lines.events {
		told = append(told, string(e.Type)+": "+e.Summary)
	}
	require.Equal(t, []string{"input: approve call-3-1", "input: answer call-3-2", "input: message", "paused: lunch", "paused: by a person", "resumed: by a person"}, told)
}

// Children are called what they are, and notices are no part of a timeline, however they end.
func TestTimeline_children(t *testing.T) {
	t.Parallel()
	for child, want := range map[string][]task.EventType{
		"summary.group":   {task.EventGroupStarted, task.EventGroupEnded, task.EventGroupEnded},
		"qa":              {task.EventTaskStarted, task.EventTaskEnded, task.EventTaskEnded},
		record.TypeNotify: nil,
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
