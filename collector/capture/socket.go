package capture

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// A Socket receives datagrams by UDP. Its packets have their payloads, and From.
type Socket struct {
	conn *net.UDPConn
	data []byte
	lost uint64 // number of datagrams lost up to the last call of Lost
}

// socketBuffer is the size in bytes of the buffer for datagrams that arrive while others are read.
const socketBuffer = 8 << 20

// ListenUDP listens at an address, HOST:PORT.
func ListenUDP(ctx context.Context, address string) (*Socket, error) {
	conn, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", address)
	if err != nil {
		return nil, err
	}
	udp := conn.(*net.UDPConn)          // every network that is called udp has this type of connection
	_ = udp.SetReadBuffer(socketBuffer) // buffer as large as the kernel grants
	return &Socket{conn: udp, data: make([]byte, 1<<16)}, nil
}

// Addr returns the address at which the socket listens.
func (s *Socket) Addr() net.Addr { return s.conn.LocalAddr() }

// Next waits for the next datagram, until ctx ends.
func (s *Socket) Next(ctx context.Context) (Packet, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	n, from, err := s.conn.ReadFromUDPAddrPort(s.data)
	if err := ctx.Err(); err != nil {
		return Packet{}, err
	}
	if err != nil {
		return Packet{}, fmt.Errorf("UDP at %s: %w", s.Addr(), err)
	}
	return Packet{Data: slices.Clone(s.data[:n]), Len: n, From: netip.AddrPortFrom(from.Addr().Unmap(), from.Port())}, nil
}

// Lost returns the number of datagrams that the kernel dropped since the last call, because this process was too slow.
func (s *Socket) Lost() (uint64, error) {
	all, err := DatagramsLost(s.conn)
	if err != nil {
		return 0, err
	}
	n := all - s.lost
	s.lost = all
	return n, nil
}

// Close closes the socket.
func (s *Socket) Close() error { return s.conn.Close() }
