package engine

import (
	"cmp"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// blockedAttempts is how many attempts of a workflow task mean that the task is blocked: a killed worker costs two.
const blockedAttempts = 3

// blocked reports that the running workers cannot continue a task, because its workflow task fails again and again; nil if it does not.
func (w *pendingWork) blocked() *task.Waiting {
	if w.workflowTaskAttempts < blockedAttempts {
		return nil
	}
	return &task.Waiting{Reason: task.WaitBlocked, Detail: fmt.Sprintf("the running workers cannot continue the task and have tried %d times: "+
		"their version does not fit the task, or their code fails. Nothing is lost. Deploy a build that can continue it; the log of the worker has the cause", w.workflowTaskAttempts)}
}

// stalled reports since when a task that should progress has not, once that exceeds StalledAfter; nil otherwise. A task that waits for a
// known reason or for a person is not stalled.
func (e *Engine) stalled(t task.Task, w pendingWork) *task.Stalled {
	running := t.Status == task.Processing || t.Status == task.Cancelling
	if e.StalledAfter <= 0 || !running || t.Waiting != nil || len(t.InputRequests) > 0 {
		return nil
	}
	since := t.UpdatedAt
	last := lastActive(w.activities)
	if last != nil && lastProgress(last).After(since) {
		since = lastProgress(last)
	}
	if time.Since(since) < e.StalledAfter {
		return nil
	}
	return &task.Stalled{Since: since, Detail: stalledDetail(last, w)}
}

// lastActive returns the activity with the most recent progress; nil if none is pending.
func lastActive(pending []*workflowpb.PendingActivityInfo) (last *workflowpb.PendingActivityInfo) {
	for _, p := range pending {
		if last == nil || lastProgress(p).After(lastProgress(last)) {
			last = p
		}
	}
	return last
}

// lastProgress returns when an activity was scheduled or started, reported progress or will be retried, whichever is latest. A heartbeat
// without progress does not count.
func lastProgress(p *workflowpb.PendingActivityInfo) time.Time {
	at := p.GetScheduledTime().AsTime()
	var beat record.Heartbeat
	_ = converter.GetDefaultDataConverter().FromPayloads(p.GetHeartbeatDetails(), &beat) // an unreadable heartbeat counts as none
	for _, other := range []time.Time{p.GetLastStartedTime().AsTime(), p.GetNextAttemptScheduleTime().AsTime(), beat.Moved} {
		if other.After(at) {
			at = other
		}
	}
	return at
}

// stalledDetail describes for a person what a stalled task waits for.
func stalledDetail(p *workflowpb.PendingActivityInfo, w pendingWork) string {
	if p == nil {
		if w.workflowTaskAttempts > 0 {
			return "no worker has taken the next workflow task"
		}
		return "no step runs: the task waits for a timer or a signal"
	}
	step := cmp.Or(record.StepOfActivity(p.GetActivityId()), p.GetActivityType().GetName())
	if p.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
		return fmt.Sprintf("the step %s, attempt %d, waits for a free slot on a worker of its task queue", step, p.GetAttempt())
	}
	return fmt.Sprintf("the step %s, attempt %d, runs on worker %s and reports no progress", step, p.GetAttempt(), p.GetLastWorkerIdentity())
}
