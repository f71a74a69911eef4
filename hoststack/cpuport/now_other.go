//go:build !unix

package cpuport

import (
	"errors"
	"net"
)

// writeNow writes a message.
func writeNow(c *net.UnixConn, b []byte) error {
	if _, err := c.Write(b); err != nil {
		return errors.Join(ErrClosed, err)
	}
	return nil
}
