package call

import (
	"context"
	"log/slog"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"

	"longhaul/internal/record"
)

// Pauser pauses the activities of a workflow.
type Pauser struct{ Log *slog.Logger }

// PauseCalls pauses the scheduled calls of the workflow that asks, or resumes them. Running calls are finished; calls
// that wait for a worker, a turn in the lane or their next attempt stay where they are. Records are written all the
// same. A retry does the same again. A Temporal server that cannot pause activities lets scheduled calls run.
func (a *Pauser) PauseCalls(ctx context.Context, on bool) error {
	heart := StartHeartbeat(ctx, "holding calls")
	defer heart.Stop()
	info := activity.GetInfo(ctx)
	h := callPauser{
		service: activity.GetClient(ctx).WorkflowService(), namespace: info.Namespace,
		workflow: &commonpb.WorkflowExecution{WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID},
	}
	pending, err := h.pending(ctx)
	if err != nil {
		return err
	}
	for _, p := range pending {
		if p.GetActivityOptions().GetTaskQueue().GetName() == record.QueueDocuments || on == isPausedActivity(p) {
			continue
		}
		err := h.set(ctx, p.GetActivityId(), on)
		switch err.(type) { //nolint:errorlint // the client gives them as they are
		case nil, *serviceerror.NotFound: // it ended in the meantime
		case *serviceerror.Unimplemented, *serviceerror.PermissionDenied:
			a.Log.Warn("Temporal cannot pause activities; calls that were scheduled go on", "error", err)
			return nil
		default:
			return err
		}
	}
	return nil
}

func isPausedActivity(p *workflowpb.PendingActivityInfo) bool {
	return p.GetPaused() || p.GetState() == enumspb.PENDING_ACTIVITY_STATE_PAUSED || p.GetState() == enumspb.PENDING_ACTIVITY_STATE_PAUSE_REQUESTED
}

// holder pauses activities of one workflow.
type callPauser struct {
	service   workflowservice.WorkflowServiceClient
	namespace string
	workflow  *commonpb.WorkflowExecution
}

func (h callPauser) pending(ctx context.Context) ([]*workflowpb.PendingActivityInfo, error) {
	answer, err := h.service.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: h.namespace, Execution: h.workflow})
	return answer.GetPendingActivities(), err
}

// set pauses an activity or lets it go on. The names that replace these calls are not known to the servers of today.
func (h callPauser) set(ctx context.Context, id string, on bool) error {
	if on {
		_, err := h.service.PauseActivity(ctx, &workflowservice.PauseActivityRequest{
			Namespace: h.namespace, Execution: h.workflow, Activity: &workflowservice.PauseActivityRequest_Id{Id: id}, Reason: "the task is paused",
		})
		return err
	}
	_, err := h.service.UnpauseActivity(ctx, &workflowservice.UnpauseActivityRequest{
		Namespace: h.namespace, Execution: h.workflow, Activity: &workflowservice.UnpauseActivityRequest_Id{Id: id},
	})
	return err
}

// Queues lists the activities by task queue.
func (a *Pauser) Queues() map[string][]any {
	return map[string][]any{record.QueueDocuments: {a.PauseCalls}}
}
