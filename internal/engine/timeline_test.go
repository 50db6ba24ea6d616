package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/task"
	"longhaul/workflows"
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
		{workflows.SignalInput, workflows.Said{Request: "call-3-1", Action: string(task.Approve)}},
		{workflows.SignalInput, workflows.Said{Request: "call-3-2"}}, // of a release that did not tell what was done
		{workflows.SignalInput, workflows.Said{Message: "key", Action: string(task.Tell)}},
		{workflows.SignalPause, workflows.Pause{On: true, Reason: "lunch"}},
		{workflows.SignalPause, workflows.Pause{On: true}},
		{workflows.SignalPause, workflows.Pause{}},
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
		told = append(told, e.Type+": "+e.Summary)
	}
	require.Equal(t, []string{"input: approve call-3-1", "input: answer call-3-2", "input: message", "paused: lunch", "paused: by a person", "resumed: by a person"}, told)
}
