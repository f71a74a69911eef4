package daemons

import (
	"errors"
	"syscall"
)

// pendingError takes the error of a socket that the kernel has noted since, such as that nobody listens where datagrams
// were sent; nil: there is none.
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
