//go:build !linux

package main

import "syscall"

// apart keeps the terminal's Ctrl-C from the child, which we stop ourselves, last of all. The end of
// its standard input tells it when we are gone.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
