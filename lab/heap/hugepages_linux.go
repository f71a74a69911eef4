package heap

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

const (
	hugePage = 2 << 20
	// collapse is the advice MADV_COLLAPSE: replace the present pages by a huge one at once. Kernels before 6.1 refuse it.
	collapse = 25
)

// UseHugePages moves the part of the heap that contains an address to pages of 2 MB. It returns an error if the kernel
// made no page huge.
func UseHugePages(address uintptr) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(maps) {
		var from, to uintptr
		if _, err := fmt.Sscanf(string(line), "%x-%x", &from, &to); err != nil {
			return fmt.Errorf("/proc/self/maps: %q: want a range of addresses: %w", line, err)
		}
		if from <= address && address < to {
			return makeHuge(from, to)
		}
	}
	return fmt.Errorf("/proc/self/maps: no range contains %#x", address)
}

// makeHuge replaces pages one by one, because the kernel stops at the first that it cannot replace.
func makeHuge(from, to uintptr) (err error) {
	n := 0
	for at := (from + hugePage - 1) &^ (hugePage - 1); at+hugePage <= to; at += hugePage {
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, at, hugePage, collapse); errno == 0 {
			n++
		} else {
			err = os.NewSyscallError("madvise", errno)
		}
	}
	if n > 0 {
		return nil
	}
	return err
}
