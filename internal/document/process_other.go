//go:build !linux

package document

import (
	"os"
	"syscall"
)

// Away from Linux a child is bounded by time, by Go's memory limit and by the PDF engine's own; it
// ends with its parent because its standard input ends.

func ownBinary() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func residentBytes(int) int64 { return 0 }

func limitAddressSpace(int64) error { return nil }

func lockFile(*os.File) {}
