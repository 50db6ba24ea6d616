package main

import "syscall"

// apart keeps the terminal's Ctrl-C from the child, which we stop ourselves, last of all. The kernel
// kills it when the thread that started it ends, so that thread must live as long as the child.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
