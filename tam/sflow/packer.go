package sflow

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// A Packer puts samples of one sub-agent together into datagrams, in the order in which they come, and numbers
// those. An agent address that changes counts from the next datagram on.
type Packer struct {
	Agent    netip.Addr
	SubAgent uint32
	// Most is how long a datagram is at most, without IP and UDP headers.
	Most     int
	sequence uint32
	n        uint32
	bytes    []byte // of the datagram that is filled, its head included
	head     int    // how long that is
}

// headLen is the most that a datagram has in front of its samples.
const headLen = 4 + 20 + 4*4

// Waiting reports whether there are samples that have not been sent.
func (p *Packer) Waiting() bool { return p.n > 0 }

// Add adds a sample. If there is no room for it, send is called with what has been added before. A sample that is
// too long for a datagram of its own is not added, and an error.
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

// Flush calls send with the samples that have been added and not sent. The bytes are valid until the next call.
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

// Sequence is the number of the datagram that was sent last.
func (p *Packer) Sequence() uint32 { return p.sequence }
