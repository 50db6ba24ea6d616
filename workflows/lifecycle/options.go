package lifecycle

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"longhaul/internal/record"
)

// heartbeatTimeout is how long an activity may be silent before Temporal considers it dead. Every activity sends a
// heartbeat each second beside its work, so this is what a lost worker costs, and how fast a cancel arrives.
const heartbeatTimeout = 4 * time.Second

// Limits of one attempt. internal/cutoff ends an attempt half a minute before, even if it ignores its context. They
// are far above what a step takes, and no settings: a step that meets one is broken.
const (
	callLimit     = 2 * time.Hour    // a model call with its wait in the lane, a shard of rows, a phase of a video
	documentLimit = 15 * time.Minute // fetching, reading and storing documents; a tool
	notifyLimit   = 5 * time.Minute
)

// ModelCall gives the options for a paid call to a task's model. The activity itself counts its errors.
func ModelCall(ctx workflow.Context, step string, t record.TaskRef, summary string) workflow.Context {
	queue := t.Queue
	if queue == "" {
		queue = record.QueueLLM
	}
	return activityOptions(ctx, step, queue, callLimit, time.Minute, summary)
}

// DocumentWork gives the options for fetching and reading documents, and for writing records.
func DocumentWork(ctx workflow.Context, step, summary string) workflow.Context {
	return activityOptions(ctx, step, record.QueueDocuments, documentLimit, 30*time.Second, summary)
}

// ToolWork gives the options for a tool call of an agent.
func ToolWork(ctx workflow.Context, step, summary string) workflow.Context {
	return activityOptions(ctx, step, record.QueueTools, documentLimit, 30*time.Second, summary)
}

// VideoWork gives the options for a phase of a video: a download may take an hour.
func VideoWork(ctx workflow.Context, step, summary string) workflow.Context {
	return activityOptions(ctx, step, record.QueueVideo, callLimit, time.Minute, summary)
}

// NotifyWork gives the options for a notification, with a fair share for each receiver.
func NotifyWork(ctx workflow.Context, receiver, summary string) workflow.Context {
	ctx = activityOptions(ctx, "", record.QueueNotify, notifyLimit, time.Minute, summary)
	return workflow.WithPriority(ctx, temporal.Priority{FairnessKey: receiver})
}

// activityOptions are shared by all activities. Temporal retries after half a second, doubled up to maxWait, without
// an end: activities say themselves when a retry is useless. A panic is a bug that no retry repairs. A cancel waits
// for the activity to end, so that what was paid for is kept.
func activityOptions(ctx workflow.Context, step, queue string, limit, maxWait time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: nextActivityID(ctx, step), TaskQueue: queue, StartToCloseTimeout: limit, HeartbeatTimeout: heartbeatTimeout,
		WaitForCancellation: true, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 500 * time.Millisecond, MaximumInterval: maxWait, NonRetryableErrorTypes: []string{"PanicError"},
		},
	})
}

type activityCountKey struct{}

// WithActivityIDs gives the activities of a workflow ids that name their step. It is called once, at the start of a
// workflow.
func WithActivityIDs(ctx workflow.Context) workflow.Context {
	return workflow.WithValue(ctx, activityCountKey{}, new(int))
}

// nextActivityID returns the id of the next activity; "" leaves the choice to the SDK.
func nextActivityID(ctx workflow.Context, step string) string {
	count, ok := ctx.Value(activityCountKey{}).(*int)
	if !ok || step == "" {
		return ""
	}
	*count++
	return record.ActivityID(step, *count)
}
