package hostd

import (
	"errors"
	"fmt"
	"net/netip"

	"tamtam/host"
	"tamtam/swss/schema"
)

// A network sends echo requests by the host's stack.
type network struct{ h *Host }

// errNoLine is the error for sending while the CPU port is not connected.
var errNoLine = errors.New("the switch cannot send: hostd is not connected to the CPU port, because syncd does not run")

// Hear makes the stack keep messages, or drop them.
func (n network) Hear(on bool) error { n.h.stack.Hear(on); return nil }

// Source returns the source of requests.
func (n network) Source(p *schema.Ping) (netip.Addr, error) {
	if n.h.line == nil {
		return netip.Addr{}, errNoLine
	}
	return n.h.stack.EchoSource(n.h.now(), p.Source, p.Destination, p.Interface)
}

// Send sends a request.
func (n network) Send(e host.Echo) error {
	if n.h.line == nil {
		return errNoLine
	}
	err := n.h.stack.SendEcho(n.h.now(), e)
	n.h.flush()
	return err
}

// Hints returns what may explain that a request was not answered.
func (n network) Hints(p *schema.Ping) (hints []string) {
	if why := n.h.stack.EchoHint(p.Destination, p.Interface); why != "" {
		hints = append(hints, why)
	}
	if limit := n.h.traps.Limit("ip2me"); limit != "" {
		hints = append(hints, fmt.Sprintf("the switch drops replies above the rate of %s: show copp counts them", limit))
	}
	return hints
}

// Drops returns the number of frames that were dropped between chip and host.
func (n network) Drops() uint64 {
	c, _ := n.h.cpu()
	return c.Full + c.NoClient
}
