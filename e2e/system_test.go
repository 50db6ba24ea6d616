package e2e

import (
	"encoding/json"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// /v1/system reports workers, queues, lanes, kinds and dead letters, and API and worker serve metrics.
func TestSystem_reportsWorkersLanesAndKinds(t *testing.T) {
	s := newStack(t, "LONGHAUL_WORKER_STOP_TIMEOUT=1s")
	health := freeAddress(t)
	second := s.start("worker", "--worker-listen", health)
	s.provider.On("[doc-000]", llmtest.Reply{Delay: 4 * time.Second})
	s.provider.On("[doc-001]", llmtest.Fail(http.StatusPaymentRequired, `{"error":{"message":"sk-test-secret-marker has no money","code":"insufficient_quota"}}`))
	require.Equal(t, task.Succeeded, s.finish(s.submit(notes(1))).Status)
	require.Equal(t, task.Failed, s.finish(s.begin("summary", task.SummaryInput{Documents: notes(2).Documents[1:]}, nil)).Status)

	var sys task.System
	read := func() bool {
		_, text := s.get("/v1/system")
		sys = task.System{}
		require.NotContains(t, text, "sk-test-secret-marker")
		return json.Unmarshal([]byte(text), &sys) == nil
	}
	require.Eventually(t, func() bool {
		closed := read() && len(sys.Lanes) == 2 && !sys.Lanes[0].Open
		return closed && len(sys.Workers) == 2 && sys.Workers[0].Free != nil
	}, time.Minute, 300*time.Millisecond, "%+v", &sys)
	require.Equal(t, string(task.ModelQuota), sys.Lanes[0].Why)
	require.Equal(t, 100, sys.Lanes[0].Limit, "two workers of fifty")
	require.Equal(t, task.LaneState{Provider: "video/simulated", Open: true, Limit: 40}, sys.Lanes[1])
	require.Len(t, sys.Workers[0].Queues, 6)
	require.Len(t, sys.Queues, 6)
	require.Eventually(t, func() bool { // the list lags behind the tasks
		i := 0
		for ; read() && i < len(sys.Kinds) && sys.Kinds[i].Kind != "summary"; i++ {
		}
		return i < len(sys.Kinds) && sys.Kinds[i].Succeeded == 1 && sys.Kinds[i].Failed == 1 && *sys.Kinds[i].P50 >= 4
	}, 30*time.Second, 300*time.Millisecond, "%+v", &sys)
	require.InDelta(t, 0.4, sys.Throughput.PerMinute, 0.01)
	require.InDelta(t, 0.2, sys.Throughput.FailedPerMinute, 0.01)
	require.Equal(t, 1, sys.Dead.Open)
	require.InDelta(t, 0.2, sys.Dead.PerMinute, 0.01)

	_, numbers := s.get("/metrics")
	require.Contains(t, numbers, `longhaul_http_requests_total{method="GET",route="/v1/system",status="200"}`)
	_, more := httpGet(t, "http://"+health+"/metrics")
	for _, want := range []string{"temporal_num_pollers", "longhaul_lane_limit{provider=", `longhaul_lane_limit{provider="video/simulated"} 20`, "temporal_worker_task_slots_available"} {
		require.Contains(t, more, want)
	}
	require.NotContains(t, numbers+more, "sk-test-secret-marker")

	require.NoError(t, second.cmd.Process.Signal(syscall.SIGTERM))
	<-second.end
	require.Eventually(t, func() bool { return read() && len(sys.Workers) == 1 && sys.Lanes[0].Limit == 50 }, 30*time.Second, 300*time.Millisecond,
		"a worker that stopped in order is gone at once")
}

// A task whose model is silent for long reports that it has stalled, and on what.
func TestStalled_isReported(t *testing.T) {
	s := newStack(t, "LONGHAUL_API_STALLED_AFTER=3s")
	s.provider.On("[doc-000]", llmtest.Reply{End: llmtest.Silence}, llmtest.Reply{})
	id := s.submit(notes(1))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	now := s.waitTask(id, func(now task.Task) bool { return now.Stalled != nil }, "the task reports that it stalled")
	require.Contains(t, now.Stalled.Detail, "attempt 1, runs on worker")
	require.WithinDuration(t, s.provider.Calls()[0].Began, now.Stalled.Since, 10*time.Second)
	_, err := s.client.Cancel(s.soon(), id)
	require.NoError(t, err)
	require.Nil(t, s.finish(id).Stalled)
}
