package document

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// ownBinary is this very binary, even when its file has been replaced or removed since it started.
func ownBinary() (string, error) { return "/proc/self/exe", nil }

// attributes put a child in a group of its own, out of reach of the terminal's Ctrl-C, and have
// the kernel kill it when its parent is gone.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// residentBytes is the memory a process holds; 0 when it is gone.
func residentBytes(pid int) int64 { return statm(strconv.Itoa(pid), 1) }

// limitAddressSpace lets this process map so much more memory than it has mapped already.
func limitAddressSpace(more int64) error {
	mapped := statm("self", 0)
	if mapped == 0 {
		return nil // no /proc here: the other limits must do
	}
	limit := uint64(mapped + more)
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit})
}

// lockFile waits until this process alone holds the file; closing it lets go.
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
