package capture

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"
)

// A UnixSocket receives datagrams by a Unix socket. Its packets have their payloads; From is the unspecified address.
type UnixSocket struct {
	conn *net.UnixConn
	path string
	data []byte
}

// unixDatagram is the maximum size of a datagram in bytes. Linux by default lets no socket send more.
const unixDatagram = 1 << 18

// ListenUnix makes a Unix socket for datagrams at a path. A socket that is there already is replaced, because a process
// that was killed leaves its socket behind. Other files are not.
func ListenUnix(path string) (*UnixSocket, error) {
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	_ = conn.SetReadBuffer(socketBuffer) // buffer as large as the kernel grants
	return &UnixSocket{conn: conn, path: path, data: make([]byte, unixDatagram)}, nil
}

// Next waits for the next datagram, until ctx ends. A longer datagram than Linux lets sockets send by default is cut.
func (s *UnixSocket) Next(ctx context.Context) (Packet, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	n, _, err := s.conn.ReadFromUnix(s.data)
	if err := ctx.Err(); err != nil {
		return Packet{}, err
	}
	if err != nil {
		return Packet{}, fmt.Errorf("unix socket %s: %w", s.path, err)
	}
	return Packet{Data: slices.Clone(s.data[:n]), Len: n, From: netip.AddrPortFrom(netip.IPv4Unspecified(), 0)}, nil
}

// Lost returns zero: a sender whose datagram has no room in the socket knows it, and waits or counts it.
func (s *UnixSocket) Lost() (uint64, error) { return 0, nil }

// Close closes the socket and removes it.
func (s *UnixSocket) Close() error { return errors.Join(s.conn.Close(), os.Remove(s.path)) }
