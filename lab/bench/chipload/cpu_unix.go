//go:build unix

package chipload

import (
	"syscall"
	"time"
)

// ProcessorTime returns the processor time that this process has used, on all cores together.
func ProcessorTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
