package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"longhaul/internal/record"
	"longhaul/internal/task"
)

// runningStep returns an activity that started an hour ago and last reported progress the given time ago.
func runningStep(t *testing.T, progress time.Duration) *workflowpb.PendingActivityInfo {
	t.Helper()
	beat, err := converter.GetDefaultDataConverter().ToPayloads(record.Heartbeat{Moved: time.Now().Add(-progress)})
	require.NoError(t, err)
	began := timestamppb.New(time.Now().Add(-time.Hour))
	return &workflowpb.PendingActivityInfo{
		ActivityId: "work.3", ActivityType: &commonpb.ActivityType{Name: "RunTool"}, State: enumspb.PENDING_ACTIVITY_STATE_STARTED, Attempt: 2,
		ScheduledTime: began, LastStartedTime: began, LastHeartbeatTime: timestamppb.Now(), HeartbeatDetails: beat, LastWorkerIdentity: "7@host",
	}
}

func TestStalled(t *testing.T) {
	t.Parallel()
	e := &Engine{Parts: Parts{StalledAfter: 10 * time.Minute}}
	old := time.Now().Add(-time.Hour)
	processing := task.Task{Kind: "agent", Status: task.Processing, UpdatedAt: old}
	with := func(change func(*task.Task)) task.Task {
		now := processing
		change(&now)
		return now
	}
	pending := func(steps ...*workflowpb.PendingActivityInfo) pendingWork { return pendingWork{activities: steps} }

	found := e.stalled(processing, pending(runningStep(t, 20*time.Minute)))
	require.NotNil(t, found, "a heartbeat is no progress")
	require.WithinDuration(t, time.Now().Add(-20*time.Minute), found.Since, time.Second)
	require.Contains(t, found.Detail, "attempt 2, runs on worker 7@host")

	waits := runningStep(t, time.Hour)
	waits.State = enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	require.Contains(t, e.stalled(processing, pending(waits)).Detail, "waits for a free slot on a worker of its task queue")
	require.Contains(t, e.stalled(processing, pending()).Detail, "no step runs")

	require.Nil(t, e.stalled(processing, pending(runningStep(t, time.Minute))))
	require.Nil(t, e.stalled(processing, pending(runningStep(t, time.Hour), runningStep(t, time.Minute))), "one of several steps progresses")
	require.Nil(t, e.stalled(with(func(n *task.Task) { n.UpdatedAt = time.Now() }), pending(runningStep(t, time.Hour))))
	require.Nil(t, e.stalled(with(func(n *task.Task) { n.Waiting = &task.Waiting{Reason: "rate_limit"} }), pending(runningStep(t, time.Hour))))
	require.Nil(t, e.stalled(with(func(n *task.Task) { n.Status = task.Paused }), pending(runningStep(t, time.Hour))))
	require.Nil(t, e.stalled(with(func(n *task.Task) { n.InputRequests = map[string]task.InputRequest{"a": {}} }), pending()))
	require.Nil(t, (&Engine{}).stalled(processing, pending()), "no StalledAfter")
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	at := func(attempt int32) *task.Waiting {
		var w pendingWork
		w.add(&workflowservice.DescribeWorkflowExecutionResponse{})
		w.add(&workflowservice.DescribeWorkflowExecutionResponse{PendingWorkflowTask: &workflowpb.PendingWorkflowTaskInfo{Attempt: attempt}})
		w.add(&workflowservice.DescribeWorkflowExecutionResponse{PendingWorkflowTask: &workflowpb.PendingWorkflowTaskInfo{Attempt: 1}})
		return w.blocked()
	}
	require.Nil(t, at(2), "one worker was killed during a workflow task")
	require.Equal(t, task.WaitBlocked, at(3).Reason)
	require.Contains(t, at(3).Detail, "Deploy a build that can continue it")
}

func TestMergeLane(t *testing.T) {
	t.Parallel()
	soon, past := time.Now().Add(time.Minute), time.Now().Add(-time.Minute)
	all := mergeLane(nil, task.LaneState{Provider: "p", Open: true, InFlight: 1, Limit: 5})
	all = mergeLane(all, task.LaneState{Provider: "p", Open: false, Why: "rate_limited", Until: &soon, Waiting: 2, Limit: 5})
	all = mergeLane(all, task.LaneState{Provider: "p", Open: true, InFlight: 1, Limit: 5})
	all = mergeLane(all, task.LaneState{Provider: "q", Open: false, Why: "rate_limited", Until: &past})
	require.Equal(t, []task.LaneState{
		{Provider: "p", Open: false, Why: "rate_limited", Until: &soon, InFlight: 2, Waiting: 2, Limit: 15},
		{Provider: "q", Open: true},
	}, all)
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	require.Nil(t, quantile(nil, 0.5))
	require.InDelta(t, 2, *quantile([]float64{3, 1, 2}, 0.5), 0)
	require.InDelta(t, 3, *quantile([]float64{3, 1, 2}, 0.95), 0)
}
