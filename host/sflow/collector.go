package sflow

import (
	"net/netip"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A collector is a destination of datagrams, with its counters.
type collector struct {
	name   string
	to     netip.AddrPort
	socket Socket // nil if there is none
	gone   bool   // true if it was removed from the configuration

	datagrams, bytes, errors uint64
	failed                   time.Time // time of the last failure
	last                     string    // reason of the last failure; "" if there is none
}

// errorHolds is the minimum time for which an error is shown, since a collector that refuses datagrams does not report
// each.
const errorHolds = 3 * time.Second

func (c *collector) open(dial func(netip.AddrPort) (Socket, error), now time.Time) (err error) {
	if c.socket == nil {
		if c.socket, err = dial(c.to); err != nil {
			c.socket = nil
			c.wrong(err, now)
		}
	}
	return err
}

func (c *collector) wrong(err error, now time.Time) {
	c.errors, c.failed, c.last = c.errors+1, now, err.Error()
}

// send sends a datagram. On an error it retries once with a new socket: the error may be about an earlier datagram, and
// the route may have changed.
func (c *collector) send(dial func(netip.AddrPort) (Socket, error), b []byte, now time.Time) {
	for range 2 {
		if c.open(dial, now) != nil {
			return
		}
		err := c.socket.Send(b)
		if err == nil {
			c.datagrams, c.bytes = c.datagrams+1, c.bytes+uint64(len(b))
			break
		}
		c.wrong(err, now)
		c.close()
	}
	if c.socket != nil && now.Sub(c.failed) >= errorHolds {
		c.last = ""
	}
}

// received records errors that arrived for sent datagrams.
func (c *collector) received(now time.Time) {
	if c.socket == nil {
		return
	}
	if err := c.socket.Refused(); err != nil {
		c.wrong(err, now)
	}
}

func (c *collector) close() {
	if c.socket != nil {
		_ = c.socket.Close() // nothing is read from it
		c.socket = nil
	}
}

func (c *collector) row() swss.FieldValues {
	return swss.FieldValues{
		schema.SFlowDatagrams: utoa(c.datagrams), "bytes": utoa(c.bytes), "errors": utoa(c.errors),
		schema.SFlowLastError: c.last,
	}
}
