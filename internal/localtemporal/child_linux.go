package localtemporal

import "syscall"

// ownProcessGroup keeps the terminal's Ctrl-C from the child, which must stop after its clients. The kernel kills the child
// when the thread that started it ends, so that thread must live as long as the child.
func ownProcessGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
