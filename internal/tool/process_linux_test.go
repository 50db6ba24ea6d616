package tool

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ended reports whether a process is gone, or waits for somebody to ask how it ended.
func ended(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// A server ends with a worker that was killed, even if it never looks at its input.
func TestProcess_endsWithItsParent(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	parent := exec.CommandContext(t.Context(), self, "parent")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var pid int
	_, err = fmt.Fscan(out, &pid)
	require.NoError(t, err)
	require.False(t, ended(pid))
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.Eventually(t, func() bool { return ended(pid) }, 30*time.Second, 10*time.Millisecond)
}

// Stop ends those that do not listen, and those that a server left behind.
func TestProcess_stop(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"deaf":   `trap "" TERM; sleep 1000 & echo $!; while true; do sleep 1; done`,
		"polite": `sleep 1000 & echo $!; cat`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := startProcess(Server{Command: "sh", Args: []string{"-c", script}}, slog.New(slog.DiscardHandler), nil)
			require.NoError(t, err)
			var pid int
			_, err = fmt.Fscan(p.out, &pid)
			require.NoError(t, err)
			p.stop()
			require.True(t, ended(p.cmd.Process.Pid))
			require.Eventually(t, func() bool { return ended(pid) }, 30*time.Second, 10*time.Millisecond)
		})
	}
}

func TestProcess_logsWholeLines(t *testing.T) {
	t.Parallel()
	var log buffer
	p, err := startProcess(Server{Name: "files", Command: "sh", Args: []string{"-c", "echo one hush >&2; echo two >&2"}}, logger(&log),
		func(line string) string { return strings.ReplaceAll(line, "hush", "[secret]") })
	require.NoError(t, err)
	<-p.exited
	p.stop()
	require.Contains(t, log.String(), "one [secret]")
	require.Contains(t, log.String(), "two")
}
