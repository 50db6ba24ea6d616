package engine

import (
	"cmp"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// findings is what a closer look found: the steps of a task and its children, and the decision that has failed most often.
type findings struct {
	pending []*workflowpb.PendingActivityInfo
	failing int32 // attempts of that decision; 0 when none is outstanding
}

// decision notes the outstanding decision of a workflow.
func (s *findings) decision(d *workflowservice.DescribeWorkflowExecutionResponse) {
	s.failing = max(s.failing, d.GetPendingWorkflowTask().GetAttempt())
}

// blockedAfter is how often a decision may fail before it is no mishap: a worker that was killed in one costs two.
const blockedAfter = 3

// blocked tells that the code that runs cannot take a task further: its decisions fail again and again.
func (s *findings) blocked() *task.Waiting {
	if s.failing < blockedAfter {
		return nil
	}
	return &task.Waiting{Reason: task.WaitBlocked, Detail: fmt.Sprintf("the workers that run cannot go on with it, and have tried %d times: "+
		"their version does not fit a task that another began, or fails in it. Nothing is lost. Deploy a build that can continue it; the worker's log tells more", s.failing)}
}

// stalled tells since when nothing has moved in a task that should move, nil if that is not long ago.
func (e *Engine) stalled(t task.Task, s findings) *task.Stalled {
	moving := t.Status == task.Processing || t.Status == task.Cancelling
	if e.StalledAfter <= 0 || !moving || t.Waiting != nil || len(t.InputRequests) > 0 {
		return nil
	}
	since := t.UpdatedAt
	last := latest(s.pending)
	if last != nil && movedAt(last).After(since) {
		since = movedAt(last)
	}
	if time.Since(since) < e.StalledAfter {
		return nil
	}
	return &task.Stalled{Since: since, Detail: standstill(t, last, s)}
}

// latest is the step that moved last.
func latest(pending []*workflowpb.PendingActivityInfo) (last *workflowpb.PendingActivityInfo) {
	for _, p := range pending {
		if last == nil || movedAt(p).After(movedAt(last)) {
			last = p
		}
	}
	return last
}

// movedAt is when a step last moved: it began, it made a step forward, or it will be made again. That it lives is not enough.
func movedAt(p *workflowpb.PendingActivityInfo) time.Time {
	at := p.GetScheduledTime().AsTime()
	var beat record.Heartbeat
	_ = converter.GetDefaultDataConverter().FromPayloads(p.GetHeartbeatDetails(), &beat) // none, or of another version: then it says nothing
	for _, other := range []time.Time{p.GetLastStartedTime().AsTime(), p.GetNextAttemptScheduleTime().AsTime(), beat.Moved} {
		if other.After(at) {
			at = other
		}
	}
	return at
}

// standstill says in words what a task waits for.
func standstill(t task.Task, p *workflowpb.PendingActivityInfo, s findings) string {
	if p == nil {
		if s.failing > 0 {
			return "no worker has taken up what comes next"
		}
		return "no step runs: it waits for a time that it set, or for word from outside"
	}
	step := cmp.Or(record.StepOfActivity(p.GetActivityId()), p.GetActivityType().GetName())
	if p.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
		return fmt.Sprintf("the step %s, attempt %d, waits for a worker of its queue that has room", step, p.GetAttempt())
	}
	return fmt.Sprintf("the step %s, attempt %d, runs on worker %s and has told of no progress", step, p.GetAttempt(), p.GetLastWorkerIdentity())
}
