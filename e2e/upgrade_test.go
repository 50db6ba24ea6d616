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

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
)

// previous is the commit that was deployed before this one. Set it anew with each release.
const previous = "084e4adeaab090ae5068f15f002b63fad3905fa5"

// buildPrevious builds the worker of the release before, and gives its path.
func buildPrevious(t testing.TB) string {
	dir := t.TempDir()
	run := func(dir, name string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	archive := filepath.Join(dir, "previous.tar")
	if text, err := run("..", "git", "archive", "-o", archive, previous); err != nil {
		t.Skipf("the code of the release before, %s, is not in this clone (a shallow one has too little): %s", previous, text)
	}
	text, err := run(dir, "tar", "xf", archive)
	require.NoError(t, err, "%s", text)
	text, err = run(dir, "go", "build", "-o", filepath.Join(dir, "old-worker"), "./worker")
	require.NoError(t, err, "%s", text)
	return filepath.Join(dir, "old-worker")
}

// Tasks of all kinds that the release before began are finished by this one: those in the middle of their calls, one that waits for
// a person, one whose calls fail and are made again. No answer is paid for twice.
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
	t.Logf("%d calls, %d prompts, %d in flight at the swap, %d answered twice", s.provider.Counts().Total, len(answered), inFlight, twice)
	require.LessOrEqual(t, twice, inFlight, "an answer was paid for twice")
	require.Equal(t, 3, videos.Counts().Jobs)
}

func someRows(n int) []map[string]any {
	var rows []map[string]any
	for i := range n {
		rows = append(rows, map[string]any{"id": fmt.Sprint(i), "name": fmt.Sprintf("row %d", i)})
	}
	return rows
}

// With a deployment, a task ends on the build that began it, also when another is current by then; new tasks go to that one.
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
		}, time.Minute, 200*time.Millisecond, "the build cannot be made current")
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

// builds are those that decided on a task.
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
