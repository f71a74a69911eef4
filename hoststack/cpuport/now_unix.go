//go:build unix

package cpuport

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// writeNow writes a message if there is room for it, and does not wait.
func writeNow(c *net.UnixConn, b []byte) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return errors.Join(ErrClosed, err)
	}
	var failed error
	if err := raw.Write(func(fd uintptr) bool {
		for {
			if _, failed = syscall.Write(int(fd), b); failed != syscall.EINTR {
				return true
			}
		}
	}); err != nil {
		return errors.Join(ErrClosed, err)
	}
	switch {
	case failed == nil:
		return nil
	case errors.Is(failed, syscall.EAGAIN), errors.Is(failed, syscall.ENOBUFS):
		return fmt.Errorf("the socket is full: %w", failed)
	}
	return errors.Join(ErrClosed, failed)
}
