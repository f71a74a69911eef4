package daemons

import (
	"time"

	"golang.org/x/sys/unix"
)

// adjtimex reads the kernel's clock status without changing it. NTP maintains that status, and so do daemons that
// discipline the clock by PTP.
func adjtimex() (clockStatus, error) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return clockStatus{}, err
	}
	return clockStatus{
		unsynchronised: t.Status&(unix.STA_UNSYNC|unix.STA_CLOCKERR) != 0,
		maxError:       time.Duration(t.Maxerror) * time.Microsecond,
	}, nil
}
