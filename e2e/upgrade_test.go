package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// previous is the commit of the release before this one. Set it with each release.
const previous = "83a73939793f17710e8565a79cec1656429b0ca4"

// buildPrevious builds the worker of the previous release and returns its path. It skips the test if the clone lacks the
// commit.
func buildPrevious(t testing.TB) string {
	dir := t.TempDir()
	run := func(dir, name string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	archive := filepath.Join(dir, "previous.tar")
	if text, err := run("..", "git", "archive", "-o", archive, previous); err != nil {
		t.Skipf("commit %s of the previous release is not in this clone (it may be shallow): %s", previous, text)
	}
	text, err := run(dir, "tar", "xf", archive)
	require.NoError(t, err, "%s", text)
	text, err = run(dir, "go", "build", "-o", filepath.Join(dir, "old-worker"), "./worker")
	require.NoError(t, err, "%s", text)
	return filepath.Join(dir, "old-worker")
}

// This release finishes tasks of all kinds that the previous release began: tasks with calls in flight, a task that
// requires input, and a task whose calls fail. No answer is paid for twice.
func TestUpgrade_finishesTasksOfPreviousRelease(t *testing.T) {
	old := buildPrevious(t)
	s, videos := newVideoStack(t, localtemporal.Options{}, "LONGHAUL_WORKER_STOP_TIMEOUT=1s", "LONGHAUL_WORKER_LLM_CONCURRENCY=8")
	s.worker.kill()
	s.worker = s.startFile(old)
	slow := func(llmtest.Call) time.Duration { return 1500 * time.Millisecond }
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		switch {
		case len(c.Tools) > 0 && len(c.Results) == 0:
			return callWriteArtifact("t.csv")
		case len(c.Tools) > 0:
			return finalAnswer("It is written.")
		case c.Inputs != nil, strings.Contains(c.Prompt, "needs_everything"):
			return answering(slow)(c)
		default:
			return llmtest.Reply{}.After(slow(c))
		}
	})
	failing := llmtest.Fail(http.StatusInternalServerError, "oops")
	s.provider.On("[doc-099]", failing, failing, failing, llmtest.Reply{})

	again := notes(100)
	again.Documents = again.Documents[99:]
	ids := map[string]string{
		"fan-out":  s.submit(notes(30)),
		"retry":    s.submit(again),
		"approval": s.submitAgent(task.AgentInput{Goal: "write", Tools: []task.ToolSpec{{Builtin: "write_artifact", Approval: task.Always}}}),
		"rows":     s.begin("generate", map[string]any{"rows": someRows(40), "template": "Say {{name}}"}, nil),
		"video":    s.submitVideo(task.VideoInput{Prompts: prompts(3)}),
		"qa":       s.submitQA(task.QAInput{Questions: []string{"What happened on day 44?"}, Documents: []task.Document{{Text: story(3000)}}}),
	}
	request := s.waitInput(ids["approval"])
	require.NoError(t, s.provider.WaitFor(s.soon(), 12))
	require.Eventually(t, func() bool { return len(s.provider.CallsWith("[doc-099]")) > 0 }, time.Minute, 20*time.Millisecond)
	require.NoError(t, s.worker.cmd.Process.Signal(syscall.SIGTERM))
	<-s.worker.end

	s.worker = s.start("worker")
	_, err := s.client.Input(s.soon(), ids["approval"], task.Reply{Request: request.ID, Action: task.Approve})
	require.NoError(t, err)
	for what, id := range ids {
		done := s.finish(id)
		require.Equal(t, task.Succeeded, done.Status, "%s: %v", what, done.Error)
		require.Equal(t, task.Full, done.Outcome, what)
	}
	answered := map[string]int{}
	for _, call := range s.provider.Calls() {
		if call.Status == http.StatusOK && !call.Gone {
			answered[call.Hash]++
		}
	}
	inFlight, twice := s.provider.Counts().Gone, 0
	for _, n := range answered {
		twice += n - 1
	}
	t.Logf("%d calls, %d prompts, %d in flight at the upgrade, %d answered twice", s.provider.Counts().Total, len(answered), inFlight, twice)
	require.LessOrEqual(t, twice, inFlight, "only calls in flight are paid for twice")
	require.Equal(t, 3, videos.Counts().Jobs)
}

func someRows(n int) []map[string]any {
	var rows []map[string]any
	for i := range n {
		rows = append(rows, map[string]any{"id": fmt.Sprint(i), "name": fmt.Sprintf("row %d", i)})
	}
	return rows
}

// With a deployment, a task ends on the build that began it although another build is current by then; new tasks start on
// the current build.
func TestUpgrade_tasksStayOnTheirBuild(t *testing.T) {
	s := newStack(t)
	s.worker.kill()
	c := s.cluster()
	defer c.Close()
	start := func(build string) *process {
		p := s.start("worker", "--worker-deployment", "longhaul", "--worker-build-id", build)
		require.Eventually(t, func() bool {
			_, err := c.Client.WorkerDeploymentClient().GetHandle("longhaul").SetCurrentVersion(t.Context(), sdk.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
			return err == nil
		}, time.Minute, 200*time.Millisecond, "SetCurrentVersion fails")
		return p
	}
	start("1")
	s.provider.On("[doc-000]", llmtest.Reply{Delay: 6 * time.Second})
	first := s.submit(notes(1))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	start("2")
	second := s.begin("summary", task.SummaryInput{Documents: append(notes(2).Documents[1:], task.Document{Text: story(3000)})}, nil)
	require.Equal(t, task.Succeeded, s.finish(second).Status)
	require.Equal(t, task.Succeeded, s.finish(first).Status)
	require.Equal(t, []string{"1"}, s.builds(first))
	require.Equal(t, []string{"2"}, s.builds(second))
}

// builds returns the ids of the builds that completed workflow tasks of a task.
func (s *stack) builds(id string) (builds []string) {
	c := s.cluster()
	defer c.Close()
	history := c.Client.GetWorkflowHistory(s.t.Context(), id, "", false, 0)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(s.t, err)
		if done := event.GetWorkflowTaskCompletedEventAttributes(); done != nil {
			builds = append(builds, done.GetDeploymentVersion().GetBuildId())
		}
	}
	slices.Sort(builds)
	return slices.Compact(builds)
}

// A task that the deployed code cannot continue reports that it is blocked, and a metric counts it. It continues when the
// right build is back.
func TestUpgrade_reportsBlockedTask(t *testing.T) {
	s := newStack(t)
	s.provider.On("[doc-000]", llmtest.Reply{Delay: 3 * time.Second})
	id := s.submit(notes(1))
	require.NoError(t, s.provider.WaitFor(s.soon(), 1))
	s.worker.kill()

	c := s.cluster()
	defer c.Close()
	other := worker.New(c.Client, record.QueueWorkflows, worker.Options{})
	for _, kind := range workflows.Kinds() {
		other.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ record.Start[struct{}]) error {
			return workflow.Sleep(ctx, time.Hour)
		}, workflow.RegisterOptions{Name: kind.Name})
	}
	require.NoError(t, other.Start())
	_, err := s.client.Cancel(s.soon(), id) // gives the workflow something to decide
	require.NoError(t, err)
	now := s.waitTask(id, func(now task.Task) bool { return now.Waiting != nil && now.Waiting.Reason == task.WaitBlocked }, "the task reports that it is blocked")
	require.Contains(t, now.Waiting.Detail, "Deploy a build that can continue it")
	require.Eventually(t, func() bool {
		_, numbers := s.get("/metrics")
		return strings.Contains(numbers, "longhaul_tasks_blocked 1\n")
	}, 90*time.Second, time.Second, "the metric counts the task")
	other.Stop()
	s.worker = s.start("worker")
	require.Equal(t, task.Cancelled, s.finish(id).Status)
}
