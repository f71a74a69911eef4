package daemons

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"tamtam/host"
	"tamtam/host/ping"
	"tamtam/orch"
	"tamtam/swss/schema"
)

// pingSockets sends echo requests by Linux, whose interfaces are the switch's. It uses raw sockets in the network
// namespace of the process, which are open while a ping or traceroute runs.
type pingSockets struct {
	received func(host.Message) // called by the readers

	four *ipv4.PacketConn
	six  *ipv6.PacketConn
	done sync.WaitGroup // readers
}

// Types of echo requests.
const (
	echoRequest4 = 8
	echoRequest6 = 128
)

// maxICMP is the length of the largest message that is read, in bytes.
const maxICMP = 65535

// serve passes what arrives to a service on a daemon.
func (s *pingSockets) serve(ctx context.Context, d *orch.Daemon, to *ping.Service) {
	s.received = func(m host.Message) {
		_ = d.Do(ctx, func() { to.Received(m) }) // a daemon that has ended needs no message
	}
}

// Hear opens or closes the sockets. It does not wait for the readers, which may wait for the caller.
func (s *pingSockets) Hear(on bool) error {
	if s.four != nil {
		err := errors.Join(s.four.Close(), s.six.Close())
		s.four, s.six = nil, nil
		if err != nil || !on {
			return err
		}
	}
	if !on {
		return nil
	}
	four, err := net.ListenPacket("ip4:icmp", "0.0.0.0")
	if err != nil {
		return fmt.Errorf("a raw socket for ping (hostifd needs CAP_NET_RAW): %w", err)
	}
	six, err := net.ListenPacket("ip6:ipv6-icmp", "::")
	if err != nil {
		return errors.Join(fmt.Errorf("a raw socket for ping of IPv6: %w", err), four.Close())
	}
	s.four, s.six = ipv4.NewPacketConn(four), ipv6.NewPacketConn(six)
	if err := errors.Join(s.four.SetControlMessage(ipv4.FlagTTL|ipv4.FlagDst, true),
		s.six.SetControlMessage(ipv6.FlagHopLimit|ipv6.FlagDst, true)); err != nil {
		return errors.Join(err, s.Hear(false))
	}
	s.done.Add(2)
	go s.read(reader4(s.four))
	go s.read(reader6(s.six))
	return nil
}

// close closes the sockets and waits for the readers. The daemon must not run any more.
func (s *pingSockets) close() {
	_ = s.Hear(false)
	s.done.Wait()
}

// maxReadErrors is the number of errors in a row after which a reader ends.
const maxReadErrors = 100

// read passes on what next returns, until the socket is closed or fails again and again.
func (s *pingSockets) read(next func(b []byte) (n int, from net.Addr, to net.IP, ttl int, err error)) {
	defer s.done.Done()
	b := make([]byte, maxICMP)
	for errs := 0; errs < maxReadErrors; {
		n, from, to, ttl, err := next(b)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			errs++
		default:
			errs = 0
			s.pass(from, to, ttl, b[:n])
		}
	}
}

// reader4 returns the function that reads a message of IPv4.
func reader4(c *ipv4.PacketConn) func(b []byte) (int, net.Addr, net.IP, int, error) {
	return func(b []byte) (int, net.Addr, net.IP, int, error) {
		n, cm, from, err := c.ReadFrom(b)
		if err != nil || cm == nil {
			return 0, nil, nil, 0, err
		}
		return n, from, cm.Dst, cm.TTL, nil
	}
}

// reader6 returns the function that reads a message of IPv6.
func reader6(c *ipv6.PacketConn) func(b []byte) (int, net.Addr, net.IP, int, error) {
	return func(b []byte) (int, net.Addr, net.IP, int, error) {
		n, cm, from, err := c.ReadFrom(b)
		if err != nil || cm == nil {
			return 0, nil, nil, 0, err
		}
		return n, from, cm.Dst, cm.HopLimit, nil
	}
}

func (s *pingSockets) pass(from net.Addr, to net.IP, ttl int, b []byte) {
	is, ok := from.(*net.IPAddr)
	if !ok {
		return
	}
	f, okFrom := netip.AddrFromSlice(is.IP)
	t, okTo := netip.AddrFromSlice(to)
	if okFrom && okTo {
		s.received(host.Message{From: f.Unmap(), To: t.Unmap(), TTL: byte(ttl), Data: append([]byte(nil), b...)})
	}
}

// Source returns the address that Linux sends from.
func (s *pingSockets) Source(p *schema.Ping) (netip.Addr, error) {
	if p.Destination.IsMulticast() || p.Destination.IsUnspecified() {
		return netip.Addr{}, fmt.Errorf("%s is not the address of a single host", p.Destination)
	}
	to, err := zoned(p.Destination, p.Interface)
	if err != nil {
		return netip.Addr{}, err
	}
	var local *net.UDPAddr
	if p.Source.IsValid() {
		local = net.UDPAddrFromAddrPort(netip.AddrPortFrom(p.Source, 0))
		if p.Source.IsLinkLocalUnicast() {
			local.Zone = p.Interface
		}
	}
	c, err := net.DialUDP("udp", local, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 33434)))
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL) && p.Source.IsValid():
		return netip.Addr{}, fmt.Errorf("source %s is no address of the switch: show ip interface lists them", p.Source)
	case errors.Is(err, syscall.EACCES):
		return netip.Addr{}, fmt.Errorf("%s is not the address of a single host", p.Destination)
	case err != nil:
		return netip.Addr{}, sendError(err, p.Destination)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap().WithZone(""), nil
}

// zoned returns a link-local IPv6 address with its interface, and other addresses unchanged.
func zoned(a netip.Addr, on string) (netip.Addr, error) {
	if !a.Is6() || !a.IsLinkLocalUnicast() {
		return a, nil
	}
	if on == "" {
		return a, fmt.Errorf("%s is link-local: name its interface", a)
	}
	if _, err := net.InterfaceByName(on); err != nil {
		return a, fmt.Errorf("there is no interface %s", on)
	}
	return a.WithZone(on), nil
}

// sendError names the cause of an error of Linux.
func sendError(err error, to netip.Addr) error {
	if errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) {
		return fmt.Errorf("no route to %s", to)
	}
	return fmt.Errorf("Linux does not send to %s: %w", to, err)
}

// Send sends an echo request.
func (s *pingSockets) Send(e host.Echo) error {
	b := make([]byte, 8, 8+len(e.Payload))
	b[0] = echoRequest4
	binary.BigEndian.PutUint16(b[4:], e.Ident)
	binary.BigEndian.PutUint16(b[6:], e.Sequence)
	b = append(b, e.Payload...)
	to, err := zoned(e.To, e.Interface)
	if err != nil {
		return err
	}
	dst := &net.IPAddr{IP: to.AsSlice(), Zone: to.Zone()}
	if to.Is4() {
		binary.BigEndian.PutUint16(b[2:], checksum(b))
		if err := s.four.SetTTL(int(e.TTL)); err != nil { // IPv4's control messages have no TTL
			return err
		}
		_, err = s.four.WriteTo(b, &ipv4.ControlMessage{Src: e.From.AsSlice()}, dst)
		if err == nil {
			return nil
		}
		return sendError(err, e.To)
	}
	b[0] = echoRequest6 // Linux fills in the checksum
	if _, err = s.six.WriteTo(b, &ipv6.ControlMessage{HopLimit: int(e.TTL), Src: e.From.AsSlice()}, dst); err != nil {
		return sendError(err, e.To)
	}
	return nil
}

// checksum returns the checksum of RFC 1071 of a message whose own checksum is 0.
func checksum(b []byte) uint16 {
	n := uint32(0)
	for ; len(b) >= 2; b = b[2:] {
		n += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		n += uint32(b[0]) << 8
	}
	for n > 0xffff {
		n = n>>16 + n&0xffff
	}
	return ^uint16(n)
}

// Hints returns what may explain that a request was not answered.
func (s *pingSockets) Hints(*schema.Ping) []string {
	return []string{"the chip drops replies above the rate of their trap group: show copp counts them"}
}

// Drops returns 0: Linux does not report which frames it dropped.
func (s *pingSockets) Drops() uint64 { return 0 }
