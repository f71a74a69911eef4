package sflow

import "net/netip"

// Port is the UDP port of collectors, unless said otherwise.
const Port = 6343

// MaxHeader is how many bytes of a frame a sample has at most, unless said otherwise.
const MaxHeader = 128

// Counters that nobody counts.
const (
	Unknown32 = 1<<32 - 1
	Unknown64 = 1<<64 - 1
)

// A Datagram is what an agent sends at once.
type Datagram struct {
	Agent    netip.Addr
	SubAgent uint32
	Sequence uint32 // of the datagrams of this sub-agent
	Uptime   uint32 // milliseconds since the agent started
	Samples  []Sample
	// Unread is how many samples of a damaged datagram [Decode] has left out, and Behind how many bytes stand behind the
	// last one.
	Unread, Behind int
}

// A Sample is a [*FlowSample], a [*CounterSample], a [*Discarded] or an [*Other].
type Sample interface{ append([]byte) []byte }

// A Source is what has been sampled: of class 0 an interface, by its ifIndex, of class 1 a VLAN, of class 2 a physical
// entity, of class 3 a logical one.
type Source struct{ Class, Index uint32 }

// LogicalEntity is the class of sources that are no part of the hardware, and LocalEntities are the first of their
// indexes that sFlow.org leaves to each agent, and how many they are.
const (
	LogicalEntity    = 3
	FirstLocalEntity = 65536
	LocalEntities    = 34464
)

// An Interface is where a packet came in or left.
type Interface struct {
	Format InterfaceFormat
	Value  uint32 // ifIndex (0: not known), why it was discarded, or how many interfaces (0: not known)
}

// An InterfaceFormat says what the value of an [Interface] is.
type InterfaceFormat uint8

// The formats.
const (
	Single    InterfaceFormat = iota // ifIndex
	Discard                          // the packet was discarded: a Reason
	Multiple                         // the packet left by several interfaces
	internal  = 0x3fffffff
	fewest    = 1 << 24 // the first ifIndex that the short form of a sample has no room for
	noFormats = 4
)

// Internal is the output of a packet that the switch itself takes.
func Internal() Interface { return Interface{Single, internal} }

// A FlowSample is a packet that was sampled.
type FlowSample struct {
	Sequence      uint32 // of the flow samples of this source
	Source        Source
	Rate          uint32 // one in so many packets
	Pool          uint32 // packets that could have been sampled
	Drops         uint32 // samples that were lost for want of resources
	Input, Output Interface
	Packet
}

// A Packet is what is known of one.
type Packet struct {
	Header *Header
	Switch *Switch // nil: not known
	Router *Router // nil: not routed, or not known
	Queue  *Queue  // nil: it was in none, or which is not known
	Trap   *Trap   // nil: not known
	Others []Other
}

// A Header is the first bytes of a frame.
type Header struct {
	Protocol uint32 // EthernetHeader, mostly
	Length   uint32 // of the frame, with FCS
	Stripped uint32 // bytes of those that were taken off, FCS included
	Bytes    []byte
}

// EthernetHeader says that a header is that of an Ethernet frame.
const EthernetHeader = 1

// A Switch is what 802.1Q makes of a packet.
type Switch struct{ InVLAN, InPriority, OutVLAN, OutPriority uint32 }

// A Router is where a routed packet goes.
type Router struct {
	NextHop              netip.Addr // not valid: not known
	SourceMask, DestMask uint32
}

// A Queue is the egress queue that a packet was in, or was to be in.
type Queue struct {
	Number uint32
	Depth  *uint32 // bytes in it when the packet came; nil: not known
}

// A Trap is what the hardware calls why it hands a packet over.
type Trap struct{ Group, Name string }

// A CounterSample is the counters of an interface.
type CounterSample struct {
	Sequence uint32 // of the counter samples of this source
	Source   Source
	Generic  *Generic
	Ethernet *Ethernet
	Others   []Other
}

// Generic are the counters that every interface has (RFC 2233).
type Generic struct {
	Index, Type                              uint32
	Speed                                    uint64 // bits per second
	Direction                                uint32 // 1: full duplex
	Status                                   uint32 // bit 0: administratively up; bit 1: operationally
	InOctets                                 uint64
	InUnicast, InMulticast, InBroadcast      uint32
	InDiscards, InErrors, InUnknownProtocols uint32
	OutOctets                                uint64
	OutUnicast, OutMulticast, OutBroadcast   uint32
	OutDiscards, OutErrors, Promiscuous/* 1: it is */ uint32
}

// The type of an Ethernet interface, and what its status is made of.
const (
	TypeEthernet = 6
	FullDuplex   = 1
	AdminUp      = 1
	OperUp       = 2
)

// Ethernet are the counters of dot3StatsTable (RFC 2358).
type Ethernet struct {
	Alignment, FCS, SingleCollision, MultipleCollision, SQETest, Deferred, LateCollision, ExcessiveCollisions,
	InternalTransmit, CarrierSense, TooLong, InternalReceive, Symbol uint32
}

// A Discarded is a packet that was dropped.
type Discarded struct {
	Sequence      uint32 // of the notifications of this source
	Source        Source
	Drops         uint32 // notifications that were not sent
	Input, Output uint32 // ifIndex; 0: not known
	Reason        Reason
	Packet
}

// An Other is a sample or a record that is not one of those above.
type Other struct {
	Enterprise, Format uint32
	Bytes              []byte
}
