package e2e

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
)

var jumpClock = flag.Bool("clock-jump", false, "run TestClockJump, which builds all programs with a clock that can be set and takes minutes")

// clockPrograms builds worker, API and Temporal once, with a clock that testdata/clock/shift.go can shift, and returns
// their folder. It overlays package time for these builds only; GOROOT and other builds stay as they are.
var clockPrograms = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../bin/clock")
	if err != nil {
		return "", err
	}
	overlay, err := writeOverlay(dir)
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{{"-C", "..", "./worker", "./api"}, {"-C", "../temporal", "."}} {
		build := append([]string{"build", args[0], args[1], "-overlay", overlay, "-o", dir + "/"}, args[2:]...)
		if said, err := exec.CommandContext(context.Background(), "go", build...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("go %s: %w\n%s", strings.Join(build, " "), err, said)
		}
	}
	return dir, os.Rename(filepath.Join(dir, "temporal"), filepath.Join(dir, localtemporal.ProgramName))
})

// writeOverlay writes the file for go build -overlay. It replaces time.go with a copy whose Now calls shift.go; the
// copy's name keeps other builds from compiling it.
func writeOverlay(dir string) (path string, err error) {
	root, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	library := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		return "", err
	}
	const asks = "sec, nsec, mono := runtimeNow()"
	if strings.Count(string(source), asks) != 1 {
		return "", fmt.Errorf("time.Now in %s has changed: adapt writeOverlay", library)
	}
	shift, err := filepath.Abs("testdata/clock/shift.go")
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(library, "time.go"): filepath.Join(dir, "time.txt"), filepath.Join(library, "shift.go"): shift,
	}})
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		return "", err
	}
	return path, os.WriteFile(filepath.Join(dir, "time.txt"), []byte(strings.Replace(string(source), asks, "sec, nsec, mono := shiftedNow()", 1)), 0o600)
}

// clock is the path of the file that holds the clock offset of a group of processes.
type clock string

func (c clock) set(t testing.TB, off time.Duration) {
	f, err := os.OpenFile(string(c), os.O_WRONLY|os.O_CREATE, 0o600) // not truncated, because processes have it mapped
	require.NoError(t, err)
	_, err = f.Write(binary.NativeEndian.AppendUint64(nil, uint64(off)))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// newClockStack returns a stack whose clocks can be set: ours is the clock of the API and two workers, theirs the clock
// of Temporal.
func newClockStack(t *testing.T) (s *stack, videos *videotest.Provider, ours, theirs clock) {
	built, err := clockPrograms()
	require.NoError(t, err)
	dir := t.TempDir()
	ours, theirs = clock(filepath.Join(dir, "ours")), clock(filepath.Join(dir, "theirs"))
	ours.set(t, 0)
	theirs.set(t, 0)
	for name, c := range map[string]clock{"api": ours, "worker": ours, localtemporal.ProgramName: theirs} {
		script := fmt.Sprintf("#!/bin/sh\nTESTING_CLOCK_SHIFT=%q exec %q \"$@\"\n", c, filepath.Join(built, name))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700)) //nolint:gosec // a program
	}
	s, videos = newVideoStack(t, localtemporal.Options{Program: filepath.Join(dir, localtemporal.ProgramName)}, "LONGHAUL_WORKER_LLM_CONCURRENCY=4")
	s.start("worker")
	return s, videos, ours, theirs
}

// The clock of the machine, or of Temporal alone, is set while tasks run. Every task ends as it must, its states never go
// back, and only calls in flight are paid for twice.
func TestClockJump(t *testing.T) {
	if !*jumpClock {
		t.Skip("make clock-jump")
	}
	for name, jump := range map[string]struct{ ours, theirs time.Duration }{
		"an hour forward": {time.Hour, time.Hour}, "a day forward": {24 * time.Hour, 24 * time.Hour}, "a minute back": {-time.Minute, -time.Minute},
		"Temporal an hour forward": {0, time.Hour}, "Temporal a minute back": {0, -time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s, videos, ours, theirs := newClockStack(t)
			ids := s.startBeforeJump(videos)
			require.NoError(t, s.provider.WaitFor(s.soon(), 20))
			theirs.set(t, jump.theirs)
			ours.set(t, jump.ours)
			ids = append(ids, s.submit(notes(3)), s.begin("summary", notes(3), map[string]any{"delay": "2s"}))
			begun := time.Now()
			for _, id := range ids {
				s.followForward(id)
			}
			t.Logf("all ended %s later; the provider: %+v", time.Since(begun).Round(time.Second), s.provider.Counts())
			require.LessOrEqual(t, s.provider.Counts().Total, 60+8, "the calls, and those in flight once more")
			require.Equal(t, 1, videos.Counts().Jobs)
		})
	}
}

// startBeforeJump starts the tasks that are in progress at the jump: 50 calls, a wait for a rate limit, a start time, a
// deadline, and a video.
func (s *stack) startBeforeJump(videos *videotest.Provider) []string {
	s.provider.Handle(func(c llmtest.Call) llmtest.Reply {
		return llmtest.Reply{}.After(time.Duration(1000+hashOf(c.Hash)%1000) * time.Millisecond)
	})
	s.provider.On("[wait]", llmtest.RateLimit(10), llmtest.Reply{})
	videos.On("[wave-", videotest.Script{Polls: []videotest.Step{videotest.Queued(), videotest.Queued(), videotest.Queued(), videotest.Queued(), {State: "succeeded"}}})
	deadline := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	text := func(text string) task.SummaryInput {
		return task.SummaryInput{Documents: []task.Document{{Text: text}}}
	}
	return []string{
		s.submitVideo(task.VideoInput{Prompts: prompts(1), Seconds: 5}), s.submit(text("[wait] The lamp was lit.")),
		s.begin("summary", text("The keeper came down."), map[string]any{"delay": "15s"}),
		s.begin("summary", text("The keeper climbed up."), map[string]any{"deadline": deadline}), s.submit(notes(50)),
	}
}

// followForward reads a task until it ends and checks that its states and times never go back.
func (s *stack) followForward(id string) {
	s.t.Helper()
	states := sequence{id: id}
	for begun := time.Now(); !states.last.Done; time.Sleep(200 * time.Millisecond) {
		require.Less(s.t, time.Since(begun), 3*time.Minute, "%+v", states.last)
		now, err := s.client.Get(s.soon(), id)
		require.NoError(s.t, err)
		require.False(s.t, now.UpdatedAt.Before(states.last.UpdatedAt), "%s after %s", now.UpdatedAt, states.last.UpdatedAt)
		require.NoError(s.t, states.add(now))
	}
	require.Equal(s.t, task.Full, states.last.Outcome, "%+v", states.last.Error)
	require.False(s.t, states.last.FinishedAt.Before(states.last.UpdatedAt))
}
