package engine

import (
	"context"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/cluster"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// pendingGrace is how long a task may be pending before the engine checks whether a worker runs.
const pendingGrace = 2 * time.Second

// pendingWork is what Temporal reports as outstanding for a task and its child workflows.
type pendingWork struct {
	activities           []*workflowpb.PendingActivityInfo
	workflowTaskAttempts int32 // the most attempts of a pending workflow task; 0 if none is pending
}

func (w *pendingWork) add(d *workflowservice.DescribeWorkflowExecutionResponse) {
	w.activities = append(w.activities, d.GetPendingActivities()...)
	w.workflowTaskAttempts = max(w.workflowTaskAttempts, d.GetPendingWorkflowTask().GetAttempt())
}

// addDetails sets what a task waits for, which calls it retries and whether it is stalled, and returns its pending activities. It costs a
// Describe for each running child workflow; a child that cannot be read is left out.
func (e *Engine) addDetails(ctx context.Context, t *task.Task, d description) []*workflowpb.PendingActivityInfo {
	ctx, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	switch {
	case t.Status == task.Scheduled, t.Status == task.Pending && recent(d.status.executionTime, pendingGrace):
		return nil
	case e.noWorker(ctx, t.Status):
		t.Waiting = &task.Waiting{Reason: task.WaitWorker, Detail: "no worker is polling for work; the task continues as soon as a worker runs"}
	}
	var work pendingWork
	work.add(d.raw.RawResponse)
	for _, child := range d.raw.RawResponse.GetPendingChildren() {
		described, err := e.Client.DescribeWorkflow(ctx, child.GetWorkflowId(), "")
		if err == nil {
			work.add(described.RawResponse)
		}
	}
	t.Retrying = retrying(work.activities)
	if t.Waiting == nil {
		t.Waiting = work.blocked()
	}
	if t.Waiting == nil {
		t.Waiting = throttled(work.activities)
	}
	t.Stalled = e.stalled(*t, work)
	return work.activities
}

// recent reports whether a time lies within the given span before now. A time in the future, left by a clock that was set back, is not recent.
func recent(at time.Time, within time.Duration) bool {
	since := time.Since(at)
	return since >= 0 && since < within
}

// retrying describes the call with the most attempts among those being retried, and counts all of them; nil if there is none.
func retrying(pending []*workflowpb.PendingActivityInfo) *task.Retrying {
	var worst *workflowpb.PendingActivityInfo
	calls := 0
	for _, p := range pending {
		if p.GetLastFailure() == nil || endedByPause(p.GetLastFailure()) {
			continue
		}
		calls++
		if worst == nil || p.GetAttempt() > worst.GetAttempt() {
			worst = p
		}
	}
	if worst == nil {
		return nil
	}
	r := &task.Retrying{Step: record.StepOfActivity(worst.GetActivityId()), Attempt: int(worst.GetAttempt()), LastError: publicError(worst.GetLastFailure()), Calls: calls}
	if at := worst.GetNextAttemptScheduleTime(); at != nil && worst.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
		r.NextAttempt = new(at.AsTime())
	}
	return r
}

// endedByPause reports whether an attempt ended because its task was paused, which Temporal records as a failure.
func endedByPause(failure *failurepb.Failure) bool {
	return failure.GetMessage() == activity.ErrActivityPaused.Error()
}

// publicError returns the text of a failure that a tenant may read. Unexpected errors are replaced by a fixed text, because
// they may name internal paths and addresses.
func publicError(failure *failurepb.Failure) string {
	switch {
	case failure == nil:
		return ""
	case failure.GetTimeoutFailureInfo() != nil:
		return "the worker was lost or too slow"
	case task.Known(failure.GetApplicationFailureInfo().GetType()):
		return failure.GetMessage()
	default:
		return "internal error; the log of the worker has the cause"
	}
}

// throttled reports that a task waits for a rate limit; nil if any of its calls runs. A call waits if its heartbeat says that it
// is in the lane, or if its last attempt was rate limited.
func throttled(pending []*workflowpb.PendingActivityInfo) *task.Waiting {
	var until *time.Time
	queued := false
	for _, p := range pending {
		if p.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED {
			if !waitsInLane(p) {
				return nil
			}
			queued = true
		}
		failure := p.GetLastFailure().GetApplicationFailureInfo()
		if at := p.GetNextAttemptScheduleTime(); failure.GetType() == string(task.RateLimited) && at != nil {
			if when := at.AsTime(); until == nil || when.Before(*until) {
				until = &when
			}
		}
	}
	if until == nil && !queued {
		return nil
	}
	if until == nil {
		return &task.Waiting{Reason: task.WaitLimit, Detail: "the calls of the task are queued for the model provider, behind other calls or its rate limit"}
	}
	return &task.Waiting{Reason: task.WaitLimit, Until: until, Detail: "the rate limit of the model provider is used up"}
}

// waitsInLane reports whether a running call waits for its turn in the lane of its provider.
func waitsInLane(p *workflowpb.PendingActivityInfo) bool {
	var beat record.Heartbeat
	err := converter.GetDefaultDataConverter().FromPayloads(p.GetHeartbeatDetails(), &beat)
	return err == nil && beat.Waiting
}

// noWorkerGrace is how long no worker may have polled before a task that has begun is said to wait for one: a Temporal server
// that has just started does not know its workers yet.
const noWorkerGrace = 5 * time.Second

// noWorker reports whether a task waits for a worker.
func (e *Engine) noWorker(ctx context.Context, s task.State) bool {
	gone := e.workers.goneSince(ctx, e)
	return !gone.IsZero() && (s == task.Pending || time.Since(gone) > noWorkerGrace)
}

// workerCheck caches for all readers whether any worker polls.
type workerCheck struct {
	mu        sync.Mutex
	live      cluster.Pollers
	checkedAt time.Time
	gone      time.Time // time of the first check that found no worker; zero while there is one
}

const workerCheckTTL = time.Second

// goneSince returns since when no worker has polled; zero means that one polls or that Temporal did not answer.
func (w *workerCheck) goneSince(ctx context.Context, e *Engine) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.checkedAt) >= workerCheckTTL {
		w.check(ctx, e)
	}
	return w.gone
}

func (w *workerCheck) check(ctx context.Context, e *Engine) {
	pollers, err := cluster.WhoPolls(ctx, e.Client, e.Namespace, record.QueueWorkflows)
	w.checkedAt = time.Now()
	switch {
	case err != nil, len(w.live.Live(pollers)) > 0:
		w.gone = time.Time{}
	case w.gone.IsZero():
		w.gone = w.checkedAt
	}
}
