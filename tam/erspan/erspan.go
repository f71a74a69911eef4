// Package erspan encodes what SONiC's mirror sessions put between GRE and a mirrored frame. It has GRE's protocol
// types, and the ERSPAN header that two of them require (draft-foschiano-erspan-03).
//
// What belongs here: the bytes between GRE and the frame, and the meaning of the types. What does not: Ethernet, IP,
// and the GRE header itself.
package erspan

import "encoding/binary"

// Protocol types of GRE for mirrored frames.
const (
	GREType         = 0x88be // ERSPAN of type I, or of type II if there is a sequence number
	GRETypeEthernet = 0x6558 // transparent Ethernet bridging: the frame follows directly
	GREType3        = 0x22eb // ERSPAN of type III
)

// Lengths of ERSPAN's headers in bytes.
const (
	SizeII  = 8
	SizeIII = 12
	subSize = 8 // the optional subheader of type III, which the last bit of the header announces
)

// MaxSession is the greatest session id of ERSPAN.
const MaxSession = 1<<10 - 1

// other maps each GRE protocol type whose payload is known not to be an Ethernet frame to the payload's name.
var other = map[uint16]string{
	0x0800: "an IPv4 packet", 0x0806: "a packet of ARP", 0x86dd: "an IPv6 packet", 0x8847: "a packet of MPLS",
	0x8848: "a packet of MPLS", 0x880b: "a frame of PPP", 0x883e: "a packet of WCCP",
	0x894f: "a packet with a network service header", 0x2001: "a packet of NHRP",
}

// Other returns the payload of a GRE header of this protocol type if it is known not to be an Ethernet frame, else "".
// SONiC's mirror sessions allow any type, but with the types in other a receiver would misinterpret the copy.
func Other(greType uint16) string { return other[greType] }

// A Copy holds the content of the ERSPAN header of a mirrored frame.
type Copy struct {
	Session  uint16
	VLAN     uint16 // tag control information of the frame's C-tag, valid if Tagged
	Tagged   bool
	Cut      bool   // true if the copy is truncated
	Egress   bool   // type III only: true if the frame was mirrored at egress
	Received uint32 // type III only: time of arrival in units of 100 ns, modulo 2^32
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

// PutIII writes the header of type III: an intact Ethernet frame, no security group tag, hardware 0, no subheader.
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

// common returns the bits of the header's first word that types II and III share.
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

// Size returns the length of the ERSPAN header in b, and whether an Ethernet frame follows it. b follows a GRE header
// of this protocol type, with or without a sequence number.
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

// Session returns the session id of a header that [Size] has found.
func Session(b []byte) uint16 { return binary.BigEndian.Uint16(b[2:]) & MaxSession }
