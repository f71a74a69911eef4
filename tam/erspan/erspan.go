// Package erspan has what the mirror sessions of SONiC put in front of a frame behind GRE: which protocol types of GRE
// they may have, and the header of ERSPAN that two of these require (draft-foschiano-erspan-03).
//
// What belongs here: the bytes between GRE and the frame, and what types mean. What does not: Ethernet, IP, and the GRE
// header itself.
package erspan

import "encoding/binary"

// Protocol types of GRE that say how a mirrored frame is carried.
const (
	GREType         = 0x88be // ERSPAN, of type I, or with a sequence number of type II
	GRETypeEthernet = 0x6558 // transparent Ethernet bridging: the frame follows
	GREType3        = 0x22eb // ERSPAN of type III
)

// Lengths of the headers of ERSPAN.
const (
	SizeII  = 8
	SizeIII = 12
	subSize = 8 // of the subheader of type III that its last bit announces
)

// MaxSession is the greatest session id of ERSPAN.
const MaxSession = 1<<10 - 1

// other are the protocol types of GRE that say that something other than an Ethernet frame follows.
var other = map[uint16]string{
	0x0800: "an IPv4 packet", 0x0806: "a packet of ARP", 0x86dd: "an IPv6 packet", 0x8847: "a packet of MPLS",
	0x8848: "a packet of MPLS", 0x880b: "a frame of PPP", 0x883e: "a packet of WCCP",
	0x894f: "a packet with a network service header", 0x2001: "a packet of NHRP",
}

// Other returns what a GRE header of this protocol type carries if that is no Ethernet frame, else "". SONiC's mirror
// sessions have any type; with one of these a receiver would take the copy for something else.
func Other(greType uint16) string { return other[greType] }

// A Copy is what the header of ERSPAN says of a mirrored frame.
type Copy struct {
	Session  uint16
	VLAN     uint16 // tag control information of the frame's C-tag, if Tagged
	Tagged   bool
	Cut      bool   // the copy lacks the frame's end
	Egress   bool   // of type III: the frame was mirrored as it left
	Received uint32 // of type III: when the frame came in, in units of 100 ns, modulo 2^32
}

// PutII writes the header of type II.
func (c *Copy) PutII(b *[SizeII]byte) {
	const tagInFrame = 3 << 11
	word := 1<<28 | c.common()
	if c.Tagged {
		word |= tagInFrame
	}
	binary.BigEndian.PutUint32(b[:], word)
	binary.BigEndian.PutUint32(b[4:], 0)
}

// PutIII writes the header of type III: a good frame of Ethernet, no security group tag, hardware 0, no subheader.
func (c *Copy) PutIII(b *[SizeIII]byte) {
	const ethernet, hundredNanoseconds, egress = 1 << 15, 1 << 1, 1 << 3
	binary.BigEndian.PutUint32(b[:], 2<<28|c.common())
	binary.BigEndian.PutUint32(b[4:], c.Received)
	word := uint32(ethernet | hundredNanoseconds)
	if c.Egress {
		word |= egress
	}
	binary.BigEndian.PutUint32(b[8:], word)
}

// common returns what both types have in the same bits of the first word.
func (c *Copy) common() uint32 {
	word := uint32(c.Session & MaxSession)
	if c.Tagged {
		word |= uint32(c.VLAN)&0xfff<<16 | uint32(c.VLAN)>>13<<13
	}
	if c.Cut {
		word |= 1 << 10
	}
	return word
}

// Size returns the length of the header in b, which follows a GRE header of a protocol type with or without a sequence
// number, and whether an Ethernet frame follows it.
func Size(greType uint16, sequence bool, b []byte) (int, bool) {
	n := 0
	switch {
	case greType == GREType3:
		if len(b) < SizeIII {
			return 0, false
		}
		if n = SizeIII; b[n-1]&1 != 0 {
			n += subSize
		}
	case greType == GREType && sequence:
		n = SizeII
	}
	const ethernet = 14
	return n, Other(greType) == "" && len(b) >= n+ethernet
}

// Session returns the session id of a header that [Size] has found to be there.
func Session(b []byte) uint16 { return binary.BigEndian.Uint16(b[2:]) & MaxSession }
