//go:build !unix

package cpuport

import (
	"errors"
	"net"
	"os"
)

// writeFile fails: no file can go with a message.
func writeFile(*net.UnixConn, []byte, *os.File) error { return errors.ErrUnsupported }

// roomForFile returns how many bytes a file needs beside a message.
func roomForFile() int { return 0 }

// fileOf returns nil: no file came.
func fileOf([]byte) *os.File { return nil }

// writeNow writes a message.
func writeNow(c *net.UnixConn, b []byte) error {
	if _, err := c.Write(b); err != nil {
		return errors.Join(ErrClosed, err)
	}
	return nil
}
