package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// meter holds the CPU time and the memory of the processes of a stack: since their start, or between measure and since.
type meter struct {
	s                           *stack
	temporal, worker, api, test time.Duration // CPU
	peakMB                      float64       // of the worker's memory
}

// measure starts a measurement; since ends it.
func (s *stack) measure() meter {
	// This resets the peak of memory on Linux, and fails elsewhere.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.worker.cmd.Process.Pid), []byte("5"), 0)
	return meter{s: s}.now()
}

func (m meter) now() meter {
	worker := m.s.worker.cmd.Process.Pid
	m.temporal, m.worker = processCPU(temporalPID(m.s.dir)), processCPU(worker)
	m.api, m.test = processCPU(m.s.api.cmd.Process.Pid), processCPU(os.Getpid())
	m.peakMB = highWater(worker)
	return m
}

func (m meter) since() meter {
	now := m.now()
	return meter{
		temporal: now.temporal - m.temporal, worker: now.worker - m.worker, api: now.api - m.api, test: now.test - m.test, peakMB: now.peakMB,
	}
}

// processCPU returns the user and kernel time that a process has used; 0 without /proc.
func processCPU(pid int) time.Duration {
	const tick = 10 * time.Millisecond // on every Linux that Go supports
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(text), ") ") // skips the name of the program, which may contain spaces
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	kernel, _ := strconv.Atoi(fields[12])
	return time.Duration(user+kernel) * tick
}

// highWater returns the peak memory of a process since measure reset it, in MB.
func highWater(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kb, _, _ := strings.Cut(after, "kB")
	n, _ := strconv.Atoi(strings.TrimSpace(kb))
	return float64(n) / 1000
}
