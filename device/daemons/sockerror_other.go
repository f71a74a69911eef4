//go:build !linux

package daemons

import "syscall"

// pendingError returns nil: only Linux reports the error here. Elsewhere the next datagram's send returns it.
func pendingError(syscall.Conn) error { return nil }
