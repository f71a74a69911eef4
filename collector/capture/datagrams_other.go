//go:build !linux

package capture

import (
	"errors"
	"syscall"
)

// DatagramsLost returns an error, because only Linux reports the number.
func DatagramsLost(syscall.Conn) (uint64, error) {
	return 0, errors.New("datagrams lost at a socket: only Linux reports their number")
}
