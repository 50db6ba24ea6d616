//go:build !linux

package localtemporal

import "syscall"

// ownProcessGroup keeps the terminal's Ctrl-C from the child, which must stop after its clients. The child exits when its
// standard input is closed, which happens when this process ends.
func ownProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
