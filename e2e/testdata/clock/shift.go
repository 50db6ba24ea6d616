package time

import (
	"syscall"
	"unsafe"
)

// shift points to the offset of the wall clock in nanoseconds: the first eight bytes of the file that TESTING_CLOCK_SHIFT
// names, which may change at any time. nil means no offset.
var shift = openShift()

func openShift() *int64 {
	name, ok := syscall.Getenv("TESTING_CLOCK_SHIFT")
	if !ok {
		return nil
	}
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("TESTING_CLOCK_SHIFT: " + err.Error())
	}
	page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("TESTING_CLOCK_SHIFT: " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&page[0]))
}

// shiftedNow is runtimeNow with the offset added to the wall clock. The monotonic clock stays as it is, as when the clock of
// a machine is set.
func shiftedNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	if shift == nil {
		return sec, nsec, mono
	}
	wall := int64(nsec) + *shift%1e9
	sec += *shift/1e9 + wall/1e9
	if wall %= 1e9; wall < 0 {
		wall, sec = wall+1e9, sec-1
	}
	return sec, int32(wall), mono
}
