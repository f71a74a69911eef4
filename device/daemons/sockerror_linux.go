package daemons

import (
	"errors"
	"syscall"
)

// pendingError returns and clears a socket's error that the kernel has recorded, nil if there is none. For example,
// no program listens where datagrams were sent.
func pendingError(s syscall.Conn) error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	var code int
	var asked error
	err = raw.Control(func(fd uintptr) {
		code, asked = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
	})
	if err = errors.Join(err, asked); err == nil && code != 0 {
		err = syscall.Errno(code)
	}
	return err
}
