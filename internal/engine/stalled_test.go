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

// step is one that began an hour ago, and last moved so long ago.
func step(t *testing.T, moved time.Duration) *workflowpb.PendingActivityInfo {
	t.Helper()
	beat, err := converter.GetDefaultDataConverter().ToPayloads(record.Heartbeat{Moved: time.Now().Add(-moved)})
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
	sees := func(steps ...*workflowpb.PendingActivityInfo) findings { return findings{pending: steps} }

	found := e.stalled(processing, sees(step(t, 20*time.Minute)))
	require.NotNil(t, found, "that it lives is no progress")
	require.WithinDuration(t, time.Now().Add(-20*time.Minute), found.Since, time.Second)
	require.Contains(t, found.Detail, "attempt 2, runs on worker 7@host")

	waits := step(t, time.Hour)
	waits.State = enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	require.Contains(t, e.stalled(processing, sees(waits)).Detail, "waits for a worker of its queue")
	require.Contains(t, e.stalled(processing, sees()).Detail, "no step runs")

	require.Nil(t, e.stalled(processing, sees(step(t, time.Minute))))
	require.Nil(t, e.stalled(processing, sees(step(t, time.Hour), step(t, time.Minute))), "one of many moves")
	require.Nil(t, e.stalled(with(func(n *task.Task) { n.UpdatedAt = time.Now() }), sees(step(t, time.Hour))))
	require.Nil(t, e.stalled(with(func(n *task.Task) { n.Waiting = &task.Waiting{Reason: "rate_limit"} }), sees(step(t, time.Hour))))
	require.Nil(t, e.stalled(with(func(n *task.Task) { n.Status = task.Paused }), sees(step(t, time.Hour))))
	require.Nil(t, e.stalled(with(func(n *task.Task) { n.InputRequests = map[string]task.InputRequest{"a": {}} }), sees()))
	require.Nil(t, (&Engine{}).stalled(processing, sees()), "switched off")
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	at := func(attempt int32) *task.Waiting {
		var s findings
		s.decision(&workflowservice.DescribeWorkflowExecutionResponse{})
		s.decision(&workflowservice.DescribeWorkflowExecutionResponse{PendingWorkflowTask: &workflowpb.PendingWorkflowTaskInfo{Attempt: attempt}})
		s.decision(&workflowservice.DescribeWorkflowExecutionResponse{PendingWorkflowTask: &workflowpb.PendingWorkflowTaskInfo{Attempt: 1}})
		return s.blocked()
	}
	require.Nil(t, at(2), "a worker was killed in it")
	require.Equal(t, task.WaitBlocked, at(3).Reason)
	require.Contains(t, at(3).Detail, "Deploy a build that can continue it")
}

func TestJoinLanes(t *testing.T) {
	t.Parallel()
	soon, past := time.Now().Add(time.Minute), time.Now().Add(-time.Minute)
	all := join(nil, task.LaneState{Provider: "p", Open: true, InFlight: 1, Limit: 5})
	all = join(all, task.LaneState{Provider: "p", Open: false, Why: "rate_limited", Until: &soon, Waiting: 2, Limit: 5})
	all = join(all, task.LaneState{Provider: "p", Open: true, InFlight: 1, Limit: 5})
	all = join(all, task.LaneState{Provider: "q", Open: false, Why: "rate_limited", Until: &past})
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
