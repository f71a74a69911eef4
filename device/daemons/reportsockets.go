package daemons

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"tamtam/host/reports"
)

// reportSockets holds the host's sockets for reports to collectors that are reached by its management interface. Each
// stream has a socket, and so its own source. The host chooses the port.
type reportSockets struct {
	open map[reportSocket]*net.UDPConn
}

type reportSocket struct {
	from, to netip.AddrPort
	dscp     uint8
}

// send sends a datagram by the host's own routes.
func (s *reportSockets) send(d reports.Datagram) error {
	k := reportSocket{d.From, d.To, d.DSCP}
	c := s.open[k]
	if c == nil {
		if len(s.open) == reports.MaxStreams {
			s.close() // needed sockets are then opened again
		}
		var err error
		if c, err = openReports(k); err != nil {
			return err
		}
		if s.open == nil {
			s.open = map[reportSocket]*net.UDPConn{}
		}
		s.open[k] = c
	}
	if err := c.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	_, err := c.WriteToUDPAddrPort(d.Payload, d.To)
	return err
}

// openReports opens the socket of a stream. With a loopback source, the socket may use any address.
func openReports(k reportSocket) (c *net.UDPConn, err error) {
	network, six := "udp4", k.to.Addr().Is6()
	if six {
		network = "udp6"
	}
	from := k.from.Addr()
	if from.IsLoopback() {
		c, err = net.ListenUDP(network, nil)
	} else {
		c, err = net.ListenUDP(network, net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)))
	}
	if err != nil {
		return nil, fmt.Errorf("a socket at %s: %w", from, err)
	}
	if six {
		err = ipv6.NewConn(c).SetTrafficClass(int(k.dscp) << 2)
	} else {
		err = ipv4.NewConn(c).SetTOS(int(k.dscp) << 2)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("DSCP %d: %w", k.dscp, err), c.Close())
	}
	return c, nil
}

func (s *reportSockets) close() {
	for _, c := range s.open {
		_ = c.Close() // nothing is read
	}
	clear(s.open)
}
