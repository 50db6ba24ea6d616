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

// The hard limits of one attempt at a step. What has not ended half a minute before is cut off (internal/cutoff), whether it
// looks at its context or not. They are far above what a step takes, and no settings: a step that meets one is broken.
const (
	callLimit     = 2 * time.Hour    // a call to a model with its wait in the lane, a shard of rows, a phase of a video
	documentLimit = 15 * time.Minute // fetching, reading and keeping documents; a tool
)

// modelCall is for a call to a task's model: as long as it takes, and as often as the activity itself says
// (it keeps the budget of errors).
func modelCall(ctx workflow.Context, t activities.Task, summary string) workflow.Context {
	queue := t.Queue
	if queue == "" {
		queue = activities.QueueLLM
	}
	return doing(ctx, queue, callLimit, time.Minute, summary)
}

// documentWork is for fetching and reading documents, and for our own records of them.
func documentWork(ctx workflow.Context, summary string) workflow.Context {
	return doing(ctx, activities.QueueDocuments, documentLimit, 30*time.Second, summary)
}

// toolWork is for a tool call of an agent.
func toolWork(ctx workflow.Context, summary string) workflow.Context {
	return doing(ctx, activities.QueueTools, documentLimit, 30*time.Second, summary)
}

// videoWork is for a phase of a video: a download may take an hour.
func videoWork(ctx workflow.Context, summary string) workflow.Context {
	return doing(ctx, activities.QueueVideo, callLimit, time.Minute, summary)
}

// notifying is for telling others, with a fair share for each receiver.
func notifying(ctx workflow.Context, receiver, summary string) workflow.Context {
	ctx = doing(ctx, activities.QueueNotify, 5*time.Minute, time.Minute, summary)
	return workflow.WithPriority(ctx, temporal.Priority{FairnessKey: receiver})
}

// doing is what all activities share. They are tried again after half a second, doubled each time up to a
// limit, as often as it takes: they say themselves when there is no use. A panic is a bug of ours, which
// no second attempt mends. A cancel waits for them to end, so that what has been paid for is kept.
func doing(ctx workflow.Context, queue string, limit, pause time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: limit, HeartbeatTimeout: heartbeat, WaitForCancellation: true, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 500 * time.Millisecond, MaximumInterval: pause, NonRetryableErrorTypes: []string{"PanicError"},
		},
	})
}

// child is for a workflow that works for a task. It ends with its task, and a cancel waits for what it finished.
func child(id, summary string) workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID: id, WorkflowTaskTimeout: TaskTimeout, WaitForCancellation: true, StaticSummary: summary,
		ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
	}
}
