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

// The timeline shows the input, pauses and resumes of people, and no signals between workflows.
func TestTimeline_signalsOfPeople(t *testing.T) {
	t.Parallel()
	timeline := timelineBuilder{workflow: "w"}
	for _, signal := range []struct {
		name  string
		input any
	}{
		{record.SignalInput, record.Message{Request: "call-3-1", Action: string(task.Approve)}},
		{record.SignalInput, record.Message{Request: "call-3-2"}}, // from a release that did not record the action
		{record.SignalInput, record.Message{Message: "key", Action: string(task.Tell)}},
		{record.SignalPause, record.Pause{On: true, Reason: "lunch"}},
		{record.SignalPause, record.Pause{On: true}},
		{record.SignalPause, record.Pause{}},
		{"progress", 7},
	} {
		input, err := converter.GetDefaultDataConverter().ToPayloads(signal.input)
		require.NoError(t, err)
		timeline.addHistoryEvent(&historypb.HistoryEvent{
			EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
			Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
				WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: signal.name, Input: input},
			},
		})
	}
	var got []string
	for _, e := range timeline.events {
		got = append(got, string(e.Type)+": "+e.Summary)
	}
	require.Equal(t, []string{"input: approve call-3-1", "input: answer call-3-2", "input: message", "paused: lunch", "paused: by a person", "resumed: by a person"}, got)
}

// Child workflows appear as groups or as tasks, and notify workflows do not appear.
func TestTimeline_children(t *testing.T) {
	t.Parallel()
	for child, want := range map[string][]task.EventType{
		"summary.group":   {task.EventGroupStarted, task.EventGroupEnded, task.EventGroupEnded},
		"qa":              {task.EventTaskStarted, task.EventTaskEnded, task.EventTaskEnded},
		record.TypeNotify: nil,
	} {
		var timeline timelineBuilder
		for _, event := range childEvents(child) {
			timeline.addHistoryEvent(event)
		}
		var types []task.EventType
		for _, e := range timeline.events {
			types = append(types, e.Type)
			require.Equal(t, "the-id", e.Summary)
		}
		require.Equal(t, want, types, child)
		if want != nil {
			require.Equal(t, []string{"", "", "the model is gone"}, []string{timeline.events[0].Error, timeline.events[1].Error, timeline.events[2].Error})
		}
	}
}

// childEvents returns the start, the completion and the failure of a child workflow.
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
