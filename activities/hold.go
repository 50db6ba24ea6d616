package activities

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
)

// HoldCalls holds the calls of the workflow that asks, or lets them go on. Those that run are finished; those that wait, for a worker, for
// their turn or for their next attempt, stay where they are. Our own records are not held. Run again it does the same again. A Temporal that
// cannot pause activities lets those that were scheduled go on.
func (a *Activities) HoldCalls(ctx context.Context, on bool) error {
	heart := startHeart(ctx, "holding calls")
	defer heart.Stop()
	info := activity.GetInfo(ctx)
	h := holder{
		service: activity.GetClient(ctx).WorkflowService(), namespace: info.Namespace,
		workflow: &commonpb.WorkflowExecution{WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID},
	}
	pending, err := h.pending(ctx)
	if err != nil {
		return err
	}
	for _, p := range pending {
		if p.GetActivityOptions().GetTaskQueue().GetName() == QueueDocuments || on == onHold(p) {
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

func onHold(p *workflowpb.PendingActivityInfo) bool {
	return p.GetPaused() || p.GetState() == enumspb.PENDING_ACTIVITY_STATE_PAUSED || p.GetState() == enumspb.PENDING_ACTIVITY_STATE_PAUSE_REQUESTED
}

// holder pauses activities of one workflow.
type holder struct {
	service   workflowservice.WorkflowServiceClient
	namespace string
	workflow  *commonpb.WorkflowExecution
}

func (h holder) pending(ctx context.Context) ([]*workflowpb.PendingActivityInfo, error) {
	answer, err := h.service.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: h.namespace, Execution: h.workflow})
	return answer.GetPendingActivities(), err
}

// set pauses an activity or lets it go on. The names that replace these calls are not known to the servers of today.
func (h holder) set(ctx context.Context, id string, on bool) error {
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
