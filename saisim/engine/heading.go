package engine

import (
	"encoding/binary"

	"tamtam/saisim/pipe"
)

const noPort = 0xffff // value of ctl.port and out.port if there is no port

const (
	headerWords = 1<<pipe.WordEthDst | 1<<pipe.WordEthSrc | 1<<pipe.WordL4 | 1<<pipe.WordFlags
	rxWords     = 1<<pipe.WordRxSec | 1<<pipe.WordRxFrac | 1<<pipe.WordRxNs
	nowWords    = 1<<pipe.WordSec | 1<<pipe.WordFrac | 1<<pipe.WordNs
)

// into writes the fields to the packet's headers, as far as the packet has them.
func (f *heading) into(pk *packet) {
	h := &pk.h
	h.dmac, h.smac = f.dmac, f.smac
	if h.flags&flagIP != 0 {
		h.tos, h.ttl = f.tos, f.ttl
	}
	if h.flags&flagIPv4 != 0 {
		h.ipFlags &= 3
		if f.reserved {
			h.ipFlags |= 4
		}
	}
}

// heading returns the heading that the ingress pipe has left in the packet's headers.
func (pk *packet) heading() heading {
	h := &pk.h
	return heading{h.dmac, h.smac, h.tos, h.ttl, h.ipFlags&4 != 0}
}

// headingOf reads the heading of the packet at an index from the PHV.
func headingOf(v *pipe.PHV, i int) heading {
	w := &v.W
	return heading{
		dmac: w[pipe.WordEthDst][i] & (1<<48 - 1), smac: w[pipe.WordEthSrc][i] & (1<<48 - 1),
		tos: uint8(w[pipe.WordL4][i] >> 16), ttl: uint8(w[pipe.WordL4][i] >> 8), reserved: w[pipe.WordFlags][i]>>22&1 != 0,
	}
}

// to writes the heading to the PHV.
func (h *heading) to(v *pipe.PHV, i int) {
	w := &v.W
	w[pipe.WordEthDst][i] = w[pipe.WordEthDst][i]&^(1<<48-1) | h.dmac
	w[pipe.WordEthSrc][i] = w[pipe.WordEthSrc][i]&^(1<<48-1) | h.smac
	w[pipe.WordL4][i] = w[pipe.WordL4][i]&^0xffff00 | uint64(h.tos)<<16 | uint64(h.ttl)<<8
	w[pipe.WordFlags][i] &^= 1 << 22
	if h.reserved {
		w[pipe.WordFlags][i] |= 1 << 22
	}
}

// edit applies the edits of routing, ACLs and the queue.
func (h *heading) edit(cp *copyOf) {
	pk := cp.pk
	if e := &pk.edit; e.routed {
		h.dmac, h.smac = e.dmac, e.smac
		h.ttl--
	}
	if pk.edit.setDSCP {
		h.tos = pk.edit.dscp<<2 | h.tos&3
	}
	m := &pk.edit.marks
	h.tos = m.tos(h.tos)
	if m.reservedMask {
		h.reserved = m.reserved
	}
	if cp.ce {
		h.tos |= 3
	}
}

// apply writes the heading to a frame. If flags contain an IP version, the IP header is at l3.
func (h *heading) apply(b []byte, l3 int, flags uint32) {
	putMAC(b, h.dmac)
	putMAC(b[6:], h.smac)
	switch {
	case flags&flagIPv4 != 0:
		ip := b[l3:]
		changeWord(ip, 0, uint16(ip[0])<<8|uint16(h.tos))
		changeWord(ip, 8, uint16(h.ttl)<<8|uint16(ip[9]))
		frag := binary.BigEndian.Uint16(ip[6:]) &^ 0x8000
		if h.reserved {
			frag |= 0x8000
		}
		changeWord(ip, 6, frag)
	case flags&flagIPv6 != 0:
		b[l3] = b[l3]&0xf0 | h.tos>>4
		b[l3+1] = h.tos<<4 | b[l3+1]&0xf
		b[l3+7] = h.ttl
	}
}
