//go:build !linux

package tool

import (
	"os"
	"os/exec"
	"syscall"
)

// Away from Linux a server ends with its parent because its standard input ends.

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func ask(cmd *exec.Cmd) { _ = cmd.Process.Signal(os.Interrupt) }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
