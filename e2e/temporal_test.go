package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"longhaul/internal/cluster"
	"longhaul/internal/localtemporal"
	"longhaul/internal/record"
)

// describe returns Temporal's description of a workflow.
func (s *stack) describe(id string) (*sdk.WorkflowExecutionDescription, error) {
	c := s.cluster()
	defer c.Close()
	return c.Client.DescribeWorkflow(s.t.Context(), id, "")
}

// cluster connects to the Temporal of the stack. The caller closes the connection.
func (s *stack) cluster() *cluster.Connection {
	c, err := cluster.Connect(cluster.Options{Address: s.temporal.Address})
	require.NoError(s.t, err)
	return c
}

// pending returns the pending activities of a workflow; nil if the workflow does not exist yet.
func (s *stack) pending(id string) []*workflowpb.PendingActivityInfo {
	d, err := s.describe(id)
	if err != nil {
		return nil // the workflow does not exist yet
	}
	return d.RawResponse.GetPendingActivities()
}

// beat returns the details of the last heartbeat of a workflow's only pending activity.
func (s *stack) beat(id string) (b record.Heartbeat) {
	d, err := s.describe(id)
	require.NoError(s.t, err)
	pending := d.RawResponse.GetPendingActivities()
	require.Len(s.t, pending, 1)
	require.NoError(s.t, converter.GetDefaultDataConverter().FromPayloads(pending[0].GetHeartbeatDetails(), &b))
	b.Moved = time.Time{} // differs between runs
	return b
}

// countRuns counts the runs of a workflow.
func (s *stack) countRuns(id string) int {
	c := s.cluster()
	defer c.Close()
	count := 0
	require.Eventually(s.t, func() bool {
		answer, err := c.Client.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: c.Namespace, Query: fmt.Sprintf("WorkflowId = '%s'", id),
		})
		count = int(answer.GetCount())
		return err == nil && count > 0
	}, 30*time.Second, 100*time.Millisecond)
	return count
}

// countSignals counts the signals of a workflow.
func (s *stack) countSignals(id string) (n int) {
	c := s.cluster()
	defer c.Close()
	for events := c.Client.GetWorkflowHistory(s.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(s.t, err)
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			n++
		}
	}
	return n
}

// historyLength returns the number of events in the last run of a task.
func (s *stack) historyLength(id string) int64 {
	d, err := s.describe(id)
	require.NoError(s.t, err)
	info := d.RawResponse.GetWorkflowExecutionInfo()
	require.Equal(s.t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, info.GetStatus())
	return info.GetHistoryLength()
}

// historyEvents counts the history events of a workflow over all its runs.
func (s *stack) historyEvents(id string) (n int) {
	c := s.cluster()
	defer c.Close()
	for run, more := "", true; more; more = run != "" {
		history := c.Client.GetWorkflowHistory(s.t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for first := true; history.HasNext(); n++ {
			event, err := history.Next()
			require.NoError(s.t, err)
			if first {
				run, first = event.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(), false
			}
		}
	}
	return n
}

// killTemporal kills the server with SIGKILL and waits until it serves again. The new server does not know its pollers
// yet.
func (s *stack) killTemporal() {
	text, err := os.ReadFile(filepath.Join(s.temporal.Data, "LOCK"))
	require.NoError(s.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(s.t, err)
	require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(s.t, func() bool {
		text, err := os.ReadFile(filepath.Join(s.temporal.Data, "LOCK"))
		now, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && now != 0 && now != pid
	}, time.Minute, 20*time.Millisecond)
	c := s.cluster()
	defer c.Close()
	require.NoError(s.t, c.Wait(s.soon()))
}

// sigkillTemporal kills Temporal without waiting for its restart.
func (s *stack) sigkillTemporal() {
	if pid := temporalPID(s.dir); pid > 0 {
		require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// temporalPID returns the process id of the Temporal with its data below dir; 0 if it does not run, or without /proc.
func temporalPID(dir string) int {
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range processes {
		line, err := os.ReadFile(p)
		if err == nil && strings.Contains(string(line), localtemporal.ProgramName) && strings.Contains(string(line), dir) {
			pid, _ := strconv.Atoi(strings.Split(p, "/")[2])
			return pid
		}
	}
	return 0
}
