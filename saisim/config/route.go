package config

import (
	"net/netip"

	"tamtam/tam/record"
)

// A Router is a virtual router.
type Router struct {
	ID       ID
	Up4, Up6 bool // true if it routes IPv4 and IPv6, respectively
}

// An Interface is a router interface.
type Interface struct {
	ID     ID
	Router ID // virtual router; it never changes
	On     ID // port, LAG or VLAN; None for a loopback
	// OuterVLAN is the VLAN of the outer tag of a sub-port of a port or LAG, 1 to 4094. It is 0 for other interfaces,
	// and never changes.
	OuterVLAN uint16
	MAC       MAC    // never a group address
	MTU       uint32 // maximum length of the IP packet
	Up4, Up6  bool
	// Missed is the packet action for packets to an address without a neighbour. A rule of the trap neighbor_miss
	// overrides it.
	Missed   PacketAction
	Loopback bool // true if packets that arrived here may leave here
}

// A Neighbor is the MAC address of an IP neighbour at a router interface.
type Neighbor struct {
	Interface ID
	IP        netip.Addr
	MAC       MAC
	Action    PacketAction
	HostRoute bool // packets to its address go to it, unless there is a route for exactly this address
}

// A NextHop is the neighbour with address IP on Interface, if there is such a neighbour.
type NextHop struct {
	ID, Interface ID
	IP            netip.Addr
}

// A HopGroup is a group of next hops, in the order used by the hash.
type HopGroup struct {
	ID      ID
	Members []HopMember
}

// A HopMember is a next hop in a group.
type HopMember struct {
	NextHop ID
	Weight  uint32
}

// A Route is a route. Host routes of neighbours have no rows here.
type Route struct {
	Router ID // virtual router
	Prefix netip.Prefix
	Action PacketAction
	// NextHop is a next hop, a group, a router interface (the subnet is connected) or the CPU port (the address is the
	// switch's own). None means that there is no next hop. Next hops and interfaces may be those of another virtual
	// router, whose neighbours have no host routes in this one.
	NextHop ID
}

// A Tunnel is a tunnel of IP in IP that ends at the chip.
type Tunnel struct {
	ID      ID
	Overlay ID // router interface where the inner packets continue; it never changes
	// TTLPipe and DSCPPipe are true if the inner header keeps its TTL or DSCP. Otherwise it gets that of the outer one.
	TTLPipe, DSCPPipe bool
	// CopyECN is true if the inner header gets the ECN codepoint of the outer one. Otherwise both are merged (RFC 6040).
	CopyECN bool
}

// A TunnelEnd is an address where a tunnel ends. It never changes.
type TunnelEnd struct {
	ID     ID
	Router ID // virtual router where the outer packets arrive
	Tunnel ID
	Dst    netip.Addr // destination of the outer header
	Src    netip.Addr // its source, of the same IP version; the zero value means any
}

// A Mirror is a mirror session. Fields without a meaning for its kind are as set.
type Mirror struct {
	ID       ID
	Index    int // copies are made in the order of Index
	Kind     MirrorKind
	Monitor  ID  // port or LAG
	Truncate int // bytes of the frame that are kept; zero means all
	TC       uint8
	TPID     uint16
	TCI      uint16 // priority, CFI and VLAN
	Tunnel   MirrorTunnel
	// UDP ports of sFlow.
	UDPSrc, UDPDst uint16
	Label          string
}

// A MirrorTunnel holds the headers that ERSPAN adds before the frame. sFlow also uses the tag and the TTL.
type MirrorTunnel struct {
	Tagged   bool  // true if the outer frame has the tag
	ERSPAN   uint8 // type of the header after GRE, 2 or 3, with a sequence number; zero means only GRE
	Src, Dst netip.Addr
	SMAC     MAC
	DMAC     MAC
	TOS, TTL uint8
	GREFlags uint16 // first 16 bits of the GRE header
	GREType  uint16
	Session  uint16
}

// A MirrorKind is the form in which copies leave.
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
	// Idle is true if another plan now uses its bits or a label. The plan then has no effect, but its sessions keep
	// their counts.
	Idle       bool
	ID, Switch uint32
	PHV        record.Containers
	Offset     int
	Graph      uint64 // version of the graph
	Marks      []record.Mark
	Sessions   []RecordSession
}

// A RecordSession is a session of a plan.
type RecordSession struct {
	Label  string
	Sample uint32 // at least 1
	// Identities is true if records carry the identities of entries and of the queue.
	Identities bool
	Tunnel     *RecordTunnel
}

// A RecordTunnel holds the source and destination of a session whose records are sent by UDP. Both addresses are of one
// family.
type RecordTunnel struct {
	Src, Dst   netip.Addr
	SMAC, DMAC MAC
	TOS        uint8
}
