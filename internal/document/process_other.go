//go:build !linux

package document

import (
	"os"
	"syscall"
)

// Outside Linux a child is bounded by the timeout, Go's memory limit and the PDF engine's own limit. It exits with its
// parent because its standard input closes.

func ownBinary() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func residentBytes(int) int64 { return 0 }

func limitAddressSpace(int64) error { return nil }

func lockFile(*os.File) {}
