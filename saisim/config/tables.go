package config

import (
	"net/netip"
	"time"

	"tamtam/saisim/tm"
	"tamtam/tam/altmark"
	"tamtam/tam/flymon"
)

// Tables is the complete configuration of a chip's fixed functions: the rows as configured, not their compiled form.
//
// The slices are sorted by ID unless a field's comment differs. Ports are sorted by PortID, VLANs by number, the FDB by
// VLAN and address, and profiles of alternate marking by lane.
type Tables struct {
	Switch      Switch
	Ports       []Port // front-panel ports
	LAGs        []LAG
	BridgePorts []BridgePort
	VLANs       []VLAN
	FDB         []FDBEntry // entries made by control calls
	Policers    []Policer
	Counters    []Counter
	Traps       []TrapRule
	TrapDefault TrapDefault
	TAMInts     []TAMInt
	Samplers    []Sampler
	Readouts    []Readout
	ACLs
	Routing
	Mirrors []Mirror
	Reporting
	Pools []Pool // all but the first, which has the cells of no other pool
	Marking
	Sketches    []Sketch // by name
	RecordPlans []RecordPlan
	MSSClamps   []MSSClamp
}

// Marking is the configuration of alternate marking.
type Marking struct {
	AltMarks      []AltMark
	AltMarkOuters []AltMarkOuter // by index
}

// ACLs holds the tables of all ACL stages.
type ACLs struct {
	ACLTables   []ACLTable
	ACLEntries  []ACLEntry // by table, then in the order of precedence: the first that matches is the hit
	ACLGroups   []ACLGroup
	ACLRanges   []ACLRange
	ACLCounters []ACLCounter
}

// Reporting is the configuration of drop reports.
type Reporting struct {
	TAMCollectors []TAMCollector
	TAMEvents     []TAMEvent
	TAMs          []TAM
}

// Routing is the configuration of the virtual routers.
type Routing struct {
	Routers    []Router
	Interfaces []Interface
	Neighbors  []Neighbor // by interface, then address
	NextHops   []NextHop
	HopGroups  []HopGroup
	Routes     []Route // by virtual router; then IPv4 first; then by address and length
	Tunnels    []Tunnel
	TunnelEnds []TunnelEnd
}

// A Switch is the switch object. It is zero before it is created.
type Switch struct {
	ID                    ID
	MAC                   MAC    // never a group address; zero if there is none
	AgingSeconds          uint32 // ageing time of the FDB; zero means that entries do not age
	NoFlood               Flood
	IngressACL, EgressACL ID // table or group
	PreIngressACL         ID // table or group; only the switch has one
	LAGHash, ECMPHash     Hashing
	CPU                   ID // the CPU port
	Trim                  Trim
	TAMs                  []ID // they report all drops, and define whether the switch is a transit of IFA
}

// Trim defines what packets become that their queue does not admit, if the queue trims.
type Trim struct {
	Size   int   // bytes, without FCS, with which they leave; shorter ones keep their length
	DSCP   uint8 // their new DSCP, unless FromTC
	FromTC bool  // the new DSCP is that of TC in the map of the port where they leave
	TC     uint8
	Queue  uint8 // queue of that port for them, unless Dynamic
	// Dynamic means that the queue is that of their traffic class: TC if FromTC, otherwise that of the new DSCP, by the
	// maps of the port where they leave.
	Dynamic bool
}

// A Hashing is how LAGs, or next hop groups, hash a packet's flow.
type Hashing struct {
	Seed      uint32
	Without   HashFields // fields that it leaves out; zero means none
	InPort    bool       // true if it also covers the port where the packet arrived
	Algorithm HashAlgorithm
}

// A HashAlgorithm is SAI's sai_hash_algorithm_t. The text of saisim/engine/hash.go defines each of them.
type HashAlgorithm uint8

// The algorithms, by SAI's numbers. HashRandom is not among those that the chip has.
const (
	HashCRC HashAlgorithm = iota
	HashXOR
	HashRandom
	HashCRC32Low
	HashCRC32High
	HashCRCCCITT
	HashCRCXOR
)

// HashFields is a set of fields of the flow hash, as bits.
type HashFields uint8

// The fields of the flow hash.
const (
	HashSrcIP HashFields = 1 << iota
	HashDstIP
	HashProtocol
	HashL4Src
	HashL4Dst
	HashEtherType
	HashSrcMAC
	HashDstMAC
)

// A Flood selects packets that are not flooded.
type Flood struct{ Unknown, Multicast, Broadcast bool }

// A Port is a front-panel port.
type Port struct {
	ID                       ID
	Port                     PortID
	Mbps                     uint32
	Admin, Link              bool   // the port is up when both are true
	MTU                      uint32 // maximum length of a frame with FCS
	StampMTU                 uint32 // maximum length of a frame with a record and FCS, if that is less; zero means MTU
	PVID                     uint16
	Priority                 uint8 // priority of tags that the egress adds to untagged frames from here
	DropTagged, DropUntagged bool
	Number                   uint16 // N of EthernetN, its host interface; 65535 if it has none
	IngressACL, EgressACL    ID
	// Mirror sessions of all frames that enter the pipe from here, and of all frames that leave here.
	IngressMirrors, EgressMirrors []ID
	TAMs                          []ID // they report drops of packets that arrive here
	// Samplers of all frames that enter the pipe from here, and of all frames that leave here. None means no sampler.
	IngressSampler, EgressSampler ID
	QoS                           QoS
	FlowControl                   FlowControl
}

// FlowControl is the priority flow control of a port. A nil map maps each priority to itself. Arrays never change.
type FlowControl struct {
	TX, RX uint8     // priorities that the port pauses at its peer, and those that the peer may pause, as bits
	Group  *[8]uint8 // priority group of each priority
	Queue  *[8]uint8 // queue of each priority
}

// A QoS defines how a port sorts frames into traffic classes and queues, and how its queues are served. A nil map is
// not configured. Arrays never change.
type QoS struct {
	DSCP      *[64]uint8 // traffic class of received IP packets
	Dot1p     *[8]uint8  // traffic class of tagged frames, if DSCP does not decide
	DefaultTC uint8      // traffic class of all other frames
	// Colours of received IP packets, and of tagged frames if the first does not decide, by DSCP and priority. All
	// other frames are green.
	DSCPColour  *[64]uint8
	Dot1pColour *[8]uint8
	Queue       *[16]uint8 // queue of each traffic class of leaving frames; a chip with fewer queues uses its last
	Queues      []tm.Settings
	TrimDSCP    *TrimDSCP  // DSCP of trimmed packets; nil means that they keep theirs
	Shaper      tm.Shaper  // shaper of the port
	Group       *[16]uint8 // ingress priority group of each traffic class of received frames; nil means group 0
	Groups      [PriorityGroups]tm.GroupSettings
}

// TrimDSCP holds the DSCP of trimmed packets by traffic class and colour. KeepDSCP means that packets keep theirs.
type TrimDSCP [16][tm.NumColours]uint8

// KeepDSCP is no DSCP.
const KeepDSCP = 0xff

// PriorityGroups is the number of ingress priority groups of a port, one for each priority of flow control.
const PriorityGroups = 8

// A LAG is a link aggregation group. Bridging uses its VLAN settings, not its ports' settings.
type LAG struct {
	ID                       ID
	PVID                     uint16
	Priority                 uint8
	DropTagged, DropUntagged bool
	IngressACL, EgressACL    ID
	Members                  []LAGMember // in the order of ports
}

// First returns the lowest port of the LAG, or CPUPort if the LAG has no members.
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

// A Learning defines what a bridge port does with unknown source addresses.
type Learning uint8

// The learning modes.
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

// A Tagging defines how frames of a VLAN leave.
type Tagging uint8

// The tagging modes, in the order of SAI.
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
	Static     bool // true if it does not age
	Action     PacketAction
	Moves      bool   // static, but may be learned elsewhere like a dynamic address
	Fresh      uint64 // cycle at which it was last learned or refreshed, as far as control calls know
}

// A TrapRule overrides the default action of a trap.
type TrapRule struct {
	ID       ID
	Trap     Trap
	Action   PacketAction
	Priority uint32
	ToCPU
}

// A ToCPU holds the policer, the queue and the counter of packets for the CPU.
type ToCPU struct {
	Policer ID    // None means no limit
	Queue   uint8 // queue of the CPU port, 0..NumCPUQueues-1
	Counter ID    // counts the packets of a trap before they are policed; None means no counter
}

// A Counter counts the packets for the CPU of the traps that name it.
type Counter struct{ ID ID }

// NumCPUQueues is the number of queues of the CPU port.
const NumCPUQueues = 8

// TrapDefault is for packets to the CPU that no rule traps. They are sent by a trap without a rule, an ACL entry, a
// route, a neighbour, an FDB entry or a program.
type TrapDefault struct{ ToCPU }

// A PolicerMode is the algorithm by which a policer assigns colours to packets.
type PolicerMode uint8

// The modes, in the order of SAI.
const (
	SingleRate   PolicerMode = iota // RFC 2697: CIR, CBS, and PBS as the excess burst size
	TwoRate                         // RFC 2698: CIR, CBS, PIR, PBS
	StormControl                    // green within CIR and CBS, otherwise red
)

// A Colour is a policer's result for a packet.
type Colour uint8

// The colours.
const (
	Green Colour = iota
	Yellow
	Red
	NumColours
)

// A Policer passes packets of the colours that it does not drop. Rates are in packets, or bytes of frames with FCS, per
// second. Burst sizes are in packets or bytes.
type Policer struct {
	ID                 ID
	Mode               PolicerMode
	Bytes              bool // true for bytes, false for packets
	CIR, CBS, PIR, PBS uint64
	Drop               [NumColours]bool
}

// A TAMInt is a TAM INT object.
type TAMInt struct {
	ID       ID
	SwitchID uint32
	IFA      IFA
}

// An IFA holds the IFA settings of an object. It is zero for an object of tail-stamping.
type IFA struct {
	On                  bool
	Request, Action     uint8 // request vector and action vector of IFA
	HopLimit, MaxLength uint8
	Sample              uint32 // an initiator chooses one of this many packets
	// Reports defines how a terminator reports the IFA data that it strips. Without collectors it does not report. The
	// ID in Reports is that of the object with these settings.
	Reports TAMEvent
}

// A Sampler samples frames for the CPU: it chooses one of Rate frames at random, separately at each port and ACL entry.
type Sampler struct {
	ID   ID
	Rate uint32 // one of this many frames; at least 1
	// Shared is true if ports and entries are not sampled separately. The frames of all its ports in one direction are
	// then treated like those of one port, and so are those of all its entries.
	Shared   bool
	Truncate int // bytes of the frame for the CPU; zero means all
}

// A Readout makes the chip read out counters at regular cycles: From, From + Every, From + 2 Every and so on, each
// after all events of the cycle. The rows do not say which counters they are.
type Readout struct {
	ID    ID
	From  uint64
	Every uint64 // at least 1
}

// An MSSClamp lowers the MSS in TCP segments with SYN that match a filter as received. The segments limited by this MSS
// leave by the port where the SYN arrived. They then leave space for Records tail-stamp records.
type MSSClamp struct {
	ID      ID
	Label   string // name by which its counters are read
	Records int
	Filter  flymon.Filter
}

// A Pool is a pool of the packet memory.
type Pool struct {
	Index    int // all pools have different ones, from 1
	Cells    uint64
	Ingress  bool   // true if the pool is for priority groups, whose packets are also in a pool of queues
	Headroom uint64 // cells of the headroom that priority groups share, beside Cells; zero if each has its own
}

// An AltMark is a profile of alternate marking.
type AltMark struct {
	Lane         int
	Guard, Early time.Duration
	Encap        bool // for initiators: packets are marked in the header that is put around them
	altmark.Session
}

// An AltMarkOuter is the IPv6 header, with an AltMark option, that is added to packets of a flow, or removed from them
// (Ends).
type AltMarkOuter struct {
	Index     uint32 // index of the flow
	Ends      bool
	Src, Dst  netip.Addr
	FlowMonID uint32
	HopByHop  bool  // the option is in a header of hop-by-hop options, otherwise of destination options
	HopLimit  uint8 // hop limit with which packets leave
}

// A Sketch is a task of FlyMon.
type Sketch struct{ flymon.Layout }
