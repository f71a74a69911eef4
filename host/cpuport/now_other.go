//go:build !unix

package cpuport

import (
	"errors"
	"net"
	"os"
)

// writeFile fails: a message cannot carry a file here.
func writeFile(*net.UnixConn, []byte, *os.File) error { return errors.ErrUnsupported }

// roomForFile returns the number of bytes that a file needs in addition to a message.
func roomForFile() int { return 0 }

// fileOf returns nil, since no file can arrive.
func fileOf([]byte) *os.File { return nil }

func writeNow(c *net.UnixConn, b []byte) error {
	if _, err := c.Write(b); err != nil {
		return errors.Join(ErrClosed, err)
	}
	return nil
}
