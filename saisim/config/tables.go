package config

import (
	"net/netip"
	"time"

	"tamtam/saisim/tm"
	"tamtam/tam/altmark"
	"tamtam/tam/flymon"
)

// Tables is everything that the fixed functions of a chip are configured with: what was asked for,
// not what the packet path makes of it.
//
// The slices are sorted by ID, ports by PortID, VLANs by their number and
// the FDB by VLAN and address, profiles of alternate marking by lane, unless a field says otherwise.
type Tables struct {
	Switch      Switch
	Ports       []Port // front-panel ports
	LAGs        []LAG
	BridgePorts []BridgePort
	VLANs       []VLAN
	FDB         []FDBEntry // those that control has made
	Policers    []Policer
	Traps       []TrapRule
	TrapDefault TrapDefault
	TAMInts     []TAMInt
	Samplers    []Sampler
	ACLs
	Routing
	Mirrors []Mirror
	Reporting
	Pools []Pool // all but the first, which has the cells that no other has
	Marking
	Sketches    []Sketch // by name
	RecordPlans []RecordPlan
	MSSClamps   []MSSClamp
}

// Marking is alternate marking.
type Marking struct {
	AltMarks      []AltMark
	AltMarkOuters []AltMarkOuter // by index
}

// ACLs are the tables of both ACL stages.
type ACLs struct {
	ACLTables   []ACLTable
	ACLEntries  []ACLEntry // by table, then in their order of precedence: the first that matches is the hit
	ACLGroups   []ACLGroup
	ACLRanges   []ACLRange
	ACLCounters []ACLCounter
}

// Reporting is what has drops reported.
type Reporting struct {
	TAMCollectors []TAMCollector
	TAMEvents     []TAMEvent
	TAMs          []TAM
}

// Routing is the configuration of the virtual router.
type Routing struct {
	Router     Router
	Interfaces []Interface
	Neighbors  []Neighbor // by interface, then address
	NextHops   []NextHop
	HopGroups  []HopGroup
	Routes     []Route // IPv4 first; by address, then length
}

// A Switch is the switch object; zero before it is created.
type Switch struct {
	ID                    ID
	MAC                   MAC    // zero: none
	AgingSeconds          uint32 // of the FDB; 0: entries do not age
	NoFlood               Flood
	IngressACL, EgressACL ID     // table or group
	PreIngressACL         ID     // likewise: nothing else has one
	LAGSeed, ECMPSeed     uint32 // of the flow hash
	CPU                   ID     // the CPU port
	TAMs                  []ID   // that have all drops reported, and say whether it is transit of IFA
}

// A Flood says which packets are not flooded.
type Flood struct{ Unknown, Multicast, Broadcast bool }

// A Port is a front-panel port.
type Port struct {
	ID                       ID
	Port                     PortID
	Mbps                     uint32
	Admin, Link              bool   // up when both are
	MTU                      uint32 // frame with FCS
	StampMTU                 uint32 // frame with a record and FCS, where that is less; 0: MTU
	PVID                     uint16
	Priority                 uint8 // of tags that the egress adds to untagged frames from here
	DropTagged, DropUntagged bool
	Number                   uint16 // N of EthernetN, its host interface; 65535: none
	IngressACL, EgressACL    ID
	// Mirror sessions of all frames that enter the pipe from here, and of all
	// that leave here.
	IngressMirrors, EgressMirrors []ID
	TAMs                          []ID // that have drops reported of what comes in here
	// Samplers of all frames that enter the pipe from here, and of all that leave here; none: none.
	IngressSampler, EgressSampler ID
	QoS                           QoS
}

// A QoS says how a port sorts frames into traffic classes and queues, and how
// its queues are served. A nil map is not configured; arrays never change.
type QoS struct {
	DSCP      *[64]uint8 // traffic class of IP packets that come in
	Dot1p     *[8]uint8  // of tagged frames, where DSCP does not say it
	DefaultTC uint8      // of the rest
	Queue     *[16]uint8 // of each traffic class of frames that go out; a chip with fewer queues takes its last
	Queues    []tm.Settings
}

// A LAG is a link aggregation group. Its VLAN settings count for bridging,
// not those of its ports.
type LAG struct {
	ID                       ID
	PVID                     uint16
	Priority                 uint8
	DropTagged, DropUntagged bool
	IngressACL, EgressACL    ID
	Members                  []LAGMember // in the order of ports
}

// First returns the lowest port of the LAG, CPUPort if it has none.
func (l LAG) First() PortID {
	if len(l.Members) == 0 {
		return CPUPort
	}
	return l.Members[0].Port
}

// A LAGMember is a port in a LAG.
type LAGMember struct {
	Port                            PortID
	IngressDisabled, EgressDisabled bool
}

// A BridgePort is a port or LAG in the 802.1Q bridge.
type BridgePort struct {
	ID       ID
	On       ID // port or LAG
	Admin    bool
	Learning Learning
}

// A Learning says what a bridge port does with unknown source addresses.
type Learning uint8

// The ways of learning.
const (
	Learn Learning = iota
	LearnNot
	LearnDrop // drop frames from unknown addresses
)

// A VLAN is a VLAN with its members.
type VLAN struct {
	ID                    ID
	VID                   uint16
	LearnDisable          bool
	NoFlood               Flood
	IngressACL, EgressACL ID
	Members               []VLANMember
}

// A VLANMember is a bridge port in a VLAN.
type VLANMember struct {
	BridgePort ID
	Tagging    Tagging
}

// A Tagging says how frames of a VLAN leave.
type Tagging uint8

// The ways of tagging, in the order of SAI.
const (
	Untagged Tagging = iota
	Tagged
	PriorityTagged
)

// An FDBEntry is an address in a VLAN.
type FDBEntry struct {
	VLAN       ID
	VID        uint16
	MAC        MAC
	BridgePort ID
	Static     bool // it does not age
	Action     PacketAction
	Moves      bool   // static, but learned elsewhere like others
	Fresh      uint64 // the cycle when it was last learned or made as fresh, as control knows
}

// A TrapRule says what a trap does, in place of its default.
type TrapRule struct {
	ID       ID
	Trap     Trap
	Action   PacketAction
	Priority uint32
	ToCPU
}

// ToCPU says how packets go to the CPU.
type ToCPU struct {
	Policer ID    // None: however many
	Queue   uint8 // of the CPU port, 0..NumCPUQueues-1
}

// NumCPUQueues is how many queues the CPU port has.
const NumCPUQueues = 8

// TrapDefault is for packets to the CPU that no rule traps: those that a trap without a rule has there, an ACL
// entry, a route, a neighbour, an FDB entry or a program.
type TrapDefault struct{ ToCPU }

// A PolicerMode is how a policer gives packets their colours.
type PolicerMode uint8

// The modes, in the order of SAI.
const (
	SingleRate   PolicerMode = iota // RFC 2697: CIR, CBS, and PBS as the excess burst size
	TwoRate                         // RFC 2698: CIR, CBS, PIR, PBS
	StormControl                    // green within CIR and CBS, else red
)

// A Colour is what a policer finds a packet to be.
type Colour uint8

// The colours.
const (
	Green Colour = iota
	Yellow
	Red
	NumColours
)

// A Policer lets packets of the colours pass that it does not drop. Rates are in packets, or bytes of frames with
// FCS, per second; burst sizes in packets or bytes.
type Policer struct {
	ID                 ID
	Mode               PolicerMode
	Bytes              bool // else packets
	CIR, CBS, PIR, PBS uint64
	Drop               [NumColours]bool
}

// A TAMInt is a TAM INT object.
type TAMInt struct {
	ID       ID
	SwitchID uint32
	IFA      IFA
}

// An IFA is what an object of Inband Flow Analyzer says; the zero IFA is of an object of tail-stamping.
type IFA struct {
	On                  bool
	Request, Action     uint8 // vectors
	HopLimit, MaxLength uint8
	Sample              uint32 // an initiator takes one packet in so many
	// Reports says how a terminator reports what it takes out; without collectors it does not. Its ID is the object's.
	Reports TAMEvent
}

// A Sampler has the CPU given one of so many frames, which it chooses at random, at each port and ACL entry by itself.
type Sampler struct {
	ID   ID
	Rate uint32 // one in so many; at least 1
	// Shared: not by itself. The frames of all its ports, in one direction, are as those of one, and so are those of
	// all its entries.
	Shared   bool
	Truncate int // bytes of the frame that the CPU is given; 0: all
}

// An MSSClamp lowers the MSS in TCP segments with SYN that a filter matches, as they came in, so that the segments
// which it limits leave by the port that the SYN came in at with room for so many tail-stamp records.
type MSSClamp struct {
	ID      ID
	Label   string // by which its counters are read
	Records int
	Filter  flymon.Filter
}

// A Pool is a pool of the packet memory.
type Pool struct {
	Index int
	Cells uint64
}

// An AltMark is a profile of alternate marking.
type AltMark struct {
	Lane         int
	Guard, Early time.Duration
	Encap        bool // an initiator's: packets are marked in the header that is put around them
	altmark.Session
}

// An AltMarkOuter is the IPv6 header, with an AltMark option, that packets of a flow get around them, or that is taken
// off again (Ends).
type AltMarkOuter struct {
	Index     uint32 // of the flow
	Ends      bool
	Src, Dst  netip.Addr
	FlowMonID uint32
	HopByHop  bool  // the option is in a header of hop-by-hop options, else of destination options
	HopLimit  uint8 // with which packets leave
}

// A Sketch is a task of FlyMon.
type Sketch struct{ flymon.Layout }
