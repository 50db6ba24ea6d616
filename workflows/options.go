package workflows

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
)

// heartbeat is how long an activity may be silent before it is taken for dead. Every activity beats
// once a second beside its work, so this is what a lost worker costs, and how fast a cancel arrives.
const heartbeat = 4 * time.Second

// TaskTimeout is how long a worker may take over one decision. Decisions take milliseconds; a short
// limit is what makes a task go on soon after its worker was killed in the middle of one.
const TaskTimeout = 5 * time.Second

// retry tries again after half a second, doubled each time up to a limit, as often as it takes: the
// activities say themselves when there is no use. A panic is a bug of ours, which no second attempt
// mends.
func retry(limit time.Duration) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval: 500 * time.Millisecond, MaximumInterval: limit, NonRetryableErrorTypes: []string{"PanicError"},
	}
}

// modelCall is for a call to a model: as long as it takes, and as often as the activity itself says
// (it keeps the budget of errors). A cancel waits for the call to end, so that an answer that has
// been paid for is kept.
func modelCall(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: activities.QueueLLM, StartToCloseTimeout: 2 * time.Hour, HeartbeatTimeout: heartbeat,
		WaitForCancellation: true, Summary: summary,
		RetryPolicy: retry(time.Minute),
	})
}

// reading is for fetching and reading documents.
func reading(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: activities.QueueDocuments, StartToCloseTimeout: 15 * time.Minute, HeartbeatTimeout: heartbeat,
		WaitForCancellation: true, Summary: summary,
		RetryPolicy: retry(30 * time.Second),
	})
}

// keeping is for our own records: until it works, because a task must not lose what it paid for to
// a bucket that is down for an hour.
func keeping(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: activities.QueueDocuments, StartToCloseTimeout: 15 * time.Minute, HeartbeatTimeout: heartbeat,
		WaitForCancellation: true, Summary: summary,
		RetryPolicy: retry(30 * time.Second),
	})
}

// child is for a share of a task. It ends with its task, and a cancel waits for what it finished.
func child(ctx workflow.Context, id, summary string) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, WorkflowTaskTimeout: TaskTimeout, WaitForCancellation: true, StaticSummary: summary,
		ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
	})
}
