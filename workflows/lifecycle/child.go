package lifecycle

import (
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"longhaul/internal/record"
)

// ChildOptions are for a workflow that works for a task. It ends with its task; a cancel waits for what it finished.
func ChildOptions(id, summary string) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID: id, WorkflowTaskTimeout: record.WorkflowTaskTimeout, WaitForCancellation: true, StaticSummary: summary,
		ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
	}
}

// TaskOptions are for a child workflow that is a task of its own. Steps is the number of steps of its kind.
func TaskOptions(f record.Facts, steps int) workflow.ChildWorkflowOptions {
	first := record.FirstSnapshot(steps, f)
	options := ChildOptions(f.ID, f.Headline)
	options.Memo = map[string]any{record.MemoFacts: f, record.MemoState: first}
	options.TypedSearchAttributes = f.Attributes(first)
	return options
}

// StartTask starts a task on behalf of another and waits for its end. A cancel and a pause of the parent reach it. The
// ending tells what the task cost, also when there is an error.
func StartTask(ctx workflow.Context, facts record.Facts, steps int) (ending record.Ending, err error) {
	err = RunChild(ctx, TaskOptions(facts, steps), facts.Kind, record.Start[struct{}]{Facts: facts}, &ending)
	if err != nil {
		ending = EndingOf(err)
	}
	return ending, err
}

// RunChild runs a child workflow to its end. A pause reaches it.
func RunChild(ctx workflow.Context, options workflow.ChildWorkflowOptions, workflowType string, start, result any) error {
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), workflowType, start)
	if g, ok := ctx.Value(pauseGateKey{}).(*PauseGate); ok {
		g.children[options.WorkflowID] = child
		defer delete(g.children, options.WorkflowID)
	}
	return child.Get(ctx, result)
}

// StartAbandoned starts a workflow that outlives the one that starts it, once for an id.
func StartAbandoned(ctx workflow.Context, id, workflowType, summary string, in any) error {
	clean, _ := workflow.NewDisconnectedContext(ctx)
	started := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(clean, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: record.QueueWorkflows, WorkflowTaskTimeout: record.WorkflowTaskTimeout, StaticSummary: summary,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}), workflowType, in).GetChildWorkflowExecution()
	err := started.Get(clean, nil)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return nil
	}
	return err
}
