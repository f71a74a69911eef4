package config

import (
	"net/netip"

	"tamtam/tam/record"
)

// A Router is the virtual router.
type Router struct {
	ID       ID
	Up4, Up6 bool // it routes IPv4, IPv6
}

// An Interface is a router interface.
type Interface struct {
	ID       ID
	On       ID // port, LAG or VLAN; none: a loopback
	MAC      MAC
	MTU      uint32 // of the IP packet
	Up4, Up6 bool
	// Missed is the packet action for packets to somebody who is no neighbour;
	// a rule of the trap neighbor_miss takes its place.
	Missed   PacketAction
	Loopback bool // what came in here may leave here
}

// A Neighbor is a neighbour.
type Neighbor struct {
	Interface ID
	IP        netip.Addr
	MAC       MAC
	Action    PacketAction
	HostRoute bool // its address leads to it, unless there is a route for the whole address
}

// A NextHop is a next hop: the neighbour with this address, if it is one.
type NextHop struct {
	ID, Interface ID
	IP            netip.Addr
}

// A HopGroup is a group of next hops, in the order in which the hash counts.
type HopGroup struct {
	ID      ID
	Members []HopMember
}

// A HopMember is a next hop in a group.
type HopMember struct {
	NextHop ID
	Weight  uint32
}

// A Route is a route. Neighbours with a host route have none here.
type Route struct {
	Prefix netip.Prefix
	Action PacketAction
	// NextHop is a next hop, a group, a router interface (the subnet is connected)
	// or the CPU port (the address is the switch's own); none: nowhere.
	NextHop ID
}

// A Mirror is a mirror session. What has no meaning for its kind is as set.
type Mirror struct {
	ID       ID
	Index    int // copies are made in this order
	Kind     MirrorKind
	Monitor  ID  // port or LAG
	Truncate int // bytes of the frame that are kept; 0: all
	TC       uint8
	TPID     uint16
	TCI      uint16 // priority, CFI and VLAN
	Tunnel   MirrorTunnel
	// UDP ports of sFlow.
	UDPSrc, UDPDst uint16
	Label          string
}

// A MirrorTunnel is what ERSPAN puts before the frame; sFlow too has a tag and a TTL.
type MirrorTunnel struct {
	Tagged   bool  // the outer frame has the tag
	ERSPAN   uint8 // type of the header behind GRE, 2 or 3, each with a sequence number; 0: GRE alone
	Src, Dst netip.Addr
	SMAC     MAC
	DMAC     MAC
	TOS, TTL uint8
	GREFlags uint16 // first 16 bits of the GRE header
	GREType  uint16
	Session  uint16
}

// A MirrorKind says in which form copies leave.
type MirrorKind uint8

// The kinds of mirror sessions, in the order of SAI.
const (
	MirrorLocal  MirrorKind = iota
	MirrorRemote            // RSPAN
	MirrorERSPAN
	MirrorSFlow
)

// A RecordPlan is a plan of table recording.
type RecordPlan struct {
	Object ID
	// Idle: another plan has taken its bits or a label. It has no effect, but what its sessions have
	// counted stays.
	Idle       bool
	ID, Switch uint32
	PHV        record.Containers
	Offset     int
	Graph      uint64 // version
	Marks      []record.Mark
	Sessions   []RecordSession
}

// A RecordSession is a session of a plan.
type RecordSession struct {
	Label  string
	Sample uint32 // at least 1
	// Identities has records carry those of entries, and of the queue.
	Identities bool
	Tunnel     *RecordTunnel
}

// A RecordTunnel says from whom to whom a session by UDP sends; both addresses are of one family.
type RecordTunnel struct {
	Src, Dst   netip.Addr
	SMAC, DMAC MAC
	TOS        uint8
}
