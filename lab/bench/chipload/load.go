package chipload

import (
	"encoding/binary"
	"time"
)

// A Load is a chip and the traffic through it. The zero value is VLAN forwarding between 32 hosts, of frames of 64
// bytes on the wire.
type Load struct {
	Rules  int // ACL entries that no packet hits, of four masks
	Stamp  bool
	Sketch bool // the chip has three count-min rows of a match-action program
	Flows  int  // number of hosts; zero means one per port
	Size   int  // bytes per frame, with FCS; zero means 64
	Pause  int  // extra cycles between two packets
	Ports  int  // number of ports; zero means 32

	Routes int  // number of routes; the ports are then router interfaces, and packets go to each route
	ECMP   bool // the routes lead to all ports

	Accounts bool // each port has a priority group with a profile, which all packets are charged to

	Options   bool // packets have IPv4 options, which disable the shortcut through the ingress pipe
	EgressACL bool // an egress ACL matches all packets

	Dropped int     // one packet in this many is tagged with a VLAN that does not exist; zero means none
	Monitor Monitor // mode of the drop monitor; reports leave by the last port

	Streamed time.Duration // interval of a stream of statistics of all ports; zero means none

	OneIn    uint32 // one packet in this many is sampled as it comes in; zero means no port is sampled
	Reported bool   // a listener receives each drop, as with sFlow

	Marked  bool   // each flow has a session of muxed marking
	Table   bool   // an ACL table matches all packets
	Plan    bool   // the chip has a plan of table recording
	Sample  uint32 // one packet in this many is recorded, in another queue of the first port; zero means none
	Groups  int    // number of CMU groups, each with a task of three rows for all packets
	Coupons bool   // the tasks of Groups count distinct values instead of packets
	Tasks   int    // number of tasks of one row in one CMU group, three for each of 32 hosts
}

// octets returns the size of frames without FCS.
func (l Load) octets() int {
	if l.Size == 0 {
		return 60
	}
	return l.Size - 4
}

// Frame returns a packet, UDP over IPv4, from one host to another.
func (l Load) Frame(from, to int) []byte { return l.frame(from, to, false) }

// frame returns the same packet, tagged with a VLAN that does not exist if it is to be dropped.
func (l Load) frame(from, to int, dropped bool) []byte {
	f := append(make([]byte, 0, l.octets()), 2, 0)
	dst := 10<<24 | uint32(to)
	if l.Routes > 0 {
		f, dst = append(f, routerMAC[2:]...), routedTo(to)
	} else {
		f = binary.BigEndian.AppendUint32(f, uint32(to)+1)
	}
	f = append(f, 2, 0)
	f = binary.BigEndian.AppendUint32(f, uint32(from)+1)
	if dropped {
		f = append(f, 0x81, 0, 0, 99)
	}
	length := l.octets() - 14
	header := byte(5) // length in words of 4 bytes
	if l.Options {
		header++
	}
	f = append(f, 0x08, 0, 4<<4|header, 0)
	f = binary.BigEndian.AppendUint16(f, uint16(length))
	f = append(f, 0, 0, 0, 0, 64, 17, 0, 0)
	f = binary.BigEndian.AppendUint32(f, 10<<24|uint32(from))
	f = binary.BigEndian.AppendUint32(f, dst)
	if l.Options {
		f = append(f, 1, 1, 1, 0) // three times nothing, and the end of options
	}
	if l.Routes > 0 { // a router checks the header checksum
		binary.BigEndian.PutUint16(f[24:], checksum(f[14:14+4*header]))
	}
	f = binary.BigEndian.AppendUint16(f, uint16(1024+from%50_000))
	f = append(f, 0x12, 0xb5)
	f = binary.BigEndian.AppendUint16(f, uint16(length-4*int(header)))
	return f[:l.octets()]
}

// checksum returns the checksum of an IPv4 header whose checksum field is 0.
func checksum(header []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
