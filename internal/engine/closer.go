package engine

import (
	"context"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/cluster"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// patience is how long a task may be pending before it is worth looking whether anybody works.
const patience = 2 * time.Second

// lookCloser finds out why a task does not move and what is being tried again. It costs a Describe
// for each child at work; what it cannot find out it leaves open. It gives the activities that are pending.
func (e *Engine) lookCloser(ctx context.Context, t *task.Task, d description) []*workflowpb.PendingActivityInfo {
	ctx, cancel := context.WithTimeout(ctx, patienceWithTemporal)
	defer cancel()
	switch {
	case t.Status == task.Scheduled, t.Status == task.Pending && recent(d.status.executionTime, patience):
		return nil
	case e.noWorker(ctx, t.Status):
		t.Waiting = &task.Waiting{Reason: task.WaitWorker, Detail: "no worker asks for work; the task goes on when one does"}
	}
	found := findings{pending: d.raw.RawResponse.GetPendingActivities()}
	found.decision(d.raw.RawResponse)
	for _, child := range d.raw.RawResponse.GetPendingChildren() {
		described, err := e.Client.DescribeWorkflow(ctx, child.GetWorkflowId(), "")
		if err == nil {
			found.pending = append(found.pending, described.RawResponse.GetPendingActivities()...)
			found.decision(described.RawResponse)
		}
	}
	t.Retrying = retrying(found.pending)
	if t.Waiting == nil {
		t.Waiting = found.blocked()
	}
	if t.Waiting == nil {
		t.Waiting = throttled(found.pending)
	}
	t.Stalled = e.stalled(*t, found)
	return found.pending
}

// recent reports whether a time was within a span before now. One that is still to come, by a clock that was put back, was not.
func recent(at time.Time, within time.Duration) bool {
	since := time.Since(at)
	return since >= 0 && since < within
}

// retrying tells of the call that has been tried most often.
func retrying(pending []*workflowpb.PendingActivityInfo) *task.Retrying {
	var worst *workflowpb.PendingActivityInfo
	calls := 0
	for _, p := range pending {
		if p.GetLastFailure() == nil || leftForPause(p.GetLastFailure()) {
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
	r := &task.Retrying{Step: record.StepOfActivity(worst.GetActivityId()), Attempt: int(worst.GetAttempt()), LastError: told(worst.GetLastFailure()), Calls: calls}
	if at := worst.GetNextAttemptScheduleTime(); at != nil && worst.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
		r.NextAttempt = new(at.AsTime())
	}
	return r
}

// leftForPause reports whether an attempt ended because its task was paused. Temporal counts it as one that failed; nothing did.
func leftForPause(failure *failurepb.Failure) bool {
	return failure.GetMessage() == activity.ErrActivityPaused.Error()
}

// told is what a tenant may read of a failure: our own words, but not those of a fault that we did
// not expect, which may name folders and addresses of ours.
func told(failure *failurepb.Failure) string {
	switch {
	case failure == nil:
		return ""
	case failure.GetTimeoutFailureInfo() != nil:
		return "the worker was lost or too slow"
	case task.Known(failure.GetApplicationFailureInfo().GetType()):
		return failure.GetMessage()
	default:
		return "a fault on our side; the worker's log tells more"
	}
}

// throttled tells when a task waits for a rate limit: when none of its calls is made at the moment and
// one waits for its turn in the lane, or was asked to come back later.
func throttled(pending []*workflowpb.PendingActivityInfo) *task.Waiting {
	var until *time.Time
	queued := false
	for _, p := range pending {
		if p.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED {
			if !inLane(p) {
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
		return &task.Waiting{Reason: task.WaitLimit, Detail: "its calls wait for their turn at the model provider, behind others or for its limit"}
	}
	return &task.Waiting{Reason: task.WaitLimit, Until: until, Detail: "the model provider's limit is used up for the moment"}
}

// noWorker reports whether a task waits for a worker. A Temporal that was just started has not heard of
// its workers yet, so of a task that somebody began it must have been so for a while.
func (e *Engine) noWorker(ctx context.Context, s task.State) bool {
	gone := e.workers.goneSince(ctx, e)
	return !gone.IsZero() && (s == task.Pending || time.Since(gone) > 5*time.Second)
}

// inLane reports whether a running call waits for its turn.
func inLane(p *workflowpb.PendingActivityInfo) bool {
	var beat record.Heartbeat
	err := converter.GetDefaultDataConverter().FromPayloads(p.GetHeartbeatDetails(), &beat)
	return err == nil && beat.Waiting
}

// workerWatch remembers for a moment whether a worker asks for work, for all readers.
type workerWatch struct {
	mu    sync.Mutex
	live  cluster.Pollers
	asked time.Time
	gone  time.Time // since when there has been none; zero while there is one
}

const workerMemory = time.Second

// goneSince tells since when no worker has been seen; zero means that there is one, or that it cannot
// be known.
func (w *workerWatch) goneSince(ctx context.Context, e *Engine) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.asked) >= workerMemory {
		w.look(ctx, e)
	}
	return w.gone
}

func (w *workerWatch) look(ctx context.Context, e *Engine) {
	told, err := cluster.WhoPolls(ctx, e.Client, e.Namespace, record.QueueWorkflows)
	w.asked = time.Now()
	switch {
	case err != nil, len(w.live.Live(told)) > 0: // unknown: say nothing rather than something wrong
		w.gone = time.Time{}
	case w.gone.IsZero():
		w.gone = w.asked
	}
}
