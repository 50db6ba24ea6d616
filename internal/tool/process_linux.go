package tool

import (
	"os/exec"
	"syscall"
)

// attributes put a server in a group of its own, out of reach of the terminal's Ctrl-C, and have the kernel kill it when
// its parent is gone.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ask tells a server and those that it started to end.
func ask(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends a server and those that it started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
