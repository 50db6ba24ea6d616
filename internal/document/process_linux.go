package document

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// ownBinary returns the path of the running binary; it stays valid after the file was replaced or removed.
func ownBinary() (string, error) { return "/proc/self/exe", nil }

// attributes put a child in its own process group, so that the terminal's Ctrl-C does not reach it, and have the
// kernel kill it when its parent dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// residentBytes returns the resident memory of a process; 0 if it has exited.
func residentBytes(pid int) int64 { return statm(strconv.Itoa(pid), 1) }

// limitAddressSpace lets this process map more bytes in addition to what it has mapped already.
func limitAddressSpace(more int64) error {
	mapped := statm("self", 0)
	if mapped == 0 {
		return nil // without /proc only the other limits apply
	}
	limit := uint64(mapped + more)
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit})
}

// lockFile waits for an exclusive lock on the file; closing the file releases it.
func lockFile(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

// statm reads one field of a process's memory statistics, in bytes.
func statm(process string, field int) int64 {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%s/statm", process))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(line)
	if len(fields) <= field {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[field]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
