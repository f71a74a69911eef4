//go:build unix

package cpuport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// writeFile writes a message with the descriptor of a file. The reader then also has the file open.
func writeFile(c *net.UnixConn, b []byte, f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { _, _, failed = c.WriteMsgUnix(b, syscall.UnixRights(int(fd)), nil) })
	return errors.Join(err, failed)
}

// roomForFile returns the size of the ancillary data that carries the descriptor of one file.
func roomForFile() int { return syscall.CmsgSpace(4) }

// fileOf returns the file that arrived with a message, nil if there is none.
func fileOf(beside []byte) (f *os.File) {
	list, err := syscall.ParseSocketControlMessage(beside)
	if err != nil {
		return nil
	}
	for i := range list {
		fds, err := syscall.ParseUnixRights(&list[i])
		for _, fd := range fds {
			if f != nil || err != nil {
				syscall.Close(fd)
				continue
			}
			f = os.NewFile(uintptr(fd), "device")
		}
	}
	return f
}

// writeNow writes a message if there is space for it, and does not wait.
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
