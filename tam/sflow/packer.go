package sflow

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// A Packer packs samples of one sub-agent into datagrams, in the order of arrival, and numbers the datagrams. A change
// of the agent address takes effect with the next datagram.
type Packer struct {
	Agent    netip.Addr
	SubAgent uint32
	// Most is the maximum length of a datagram in bytes, without IP and UDP headers.
	Most     int
	sequence uint32
	n        uint32
	bytes    []byte // the current datagram, including its head
	head     int    // length of the head
}

// headLen is the maximum length of the part before the samples, in bytes.
const headLen = 4 + 20 + 4*4

// Waiting reports whether there are samples that have not been sent.
func (p *Packer) Waiting() bool { return p.n > 0 }

// Add adds a sample. If the sample does not fit, Add first passes the earlier samples to send. Add returns an error for
// a sample that is too long for a datagram of its own, and drops it.
func (p *Packer) Add(s Sample, uptime uint32, send func([]byte)) error {
	if p.n == 0 {
		p.bytes = appendHead(p.bytes[:0], p.Agent, p.SubAgent, 0, 0, 0)
		p.head = len(p.bytes)
	}
	before := len(p.bytes)
	p.bytes = s.append(p.bytes)
	if len(p.bytes) <= p.Most {
		p.n++
		return nil
	}
	if n := len(p.bytes) - before; headLen+n > p.Most {
		p.bytes = p.bytes[:before]
		return fmt.Errorf("sflow: a sample of %d bytes, want at most %d", n, p.Most-headLen)
	}
	p.bytes = p.bytes[:before]
	p.Flush(uptime, send)
	return p.Add(s, uptime, send)
}

// Flush passes the samples that were not sent yet to send. The bytes are valid until the next call.
func (p *Packer) Flush(uptime uint32, send func([]byte)) {
	if p.n == 0 {
		return
	}
	p.sequence++
	for i, v := range []uint32{p.sequence, uptime, p.n} {
		binary.BigEndian.PutUint32(p.bytes[p.head-12+4*i:], v)
	}
	p.n = 0
	send(p.bytes)
}

// Sequence returns the number of the datagram that was sent last.
func (p *Packer) Sequence() uint32 { return p.sequence }
