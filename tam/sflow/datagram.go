package sflow

import "net/netip"

// Port is the default UDP port of collectors.
const Port = 6343

// MaxHeader is the default maximum number of frame bytes in a sample.
const MaxHeader = 128

// Values of counters that are not counted.
const (
	Unknown32 = 1<<32 - 1
	Unknown64 = 1<<64 - 1
)

// A Datagram is an sFlow datagram.
type Datagram struct {
	Agent    netip.Addr
	SubAgent uint32
	Sequence uint32 // sequence number among the datagrams of this sub-agent
	Uptime   uint32 // milliseconds since the agent's start
	Samples  []Sample
	// Unread is the number of samples of a damaged datagram that [Decode] omitted. Behind is the number of bytes after
	// the last sample.
	Unread, Behind int
}

// A Sample is a [*FlowSample], a [*CounterSample], a [*Discarded] or an [*Other].
type Sample interface{ append([]byte) []byte }

// A Source is the source of samples. Class 0 is an interface, by its ifIndex, class 1 a VLAN, class 2 a physical
// entity, class 3 a logical entity.
type Source struct{ Class, Index uint32 }

// LogicalEntity is the class of sources outside the hardware. sFlow.org leaves LocalEntities of their indexes to each
// agent, starting with FirstLocalEntity.
const (
	LogicalEntity    = 3
	FirstLocalEntity = 65536
	LocalEntities    = 34464
)

// An Interface is the ingress or egress of a packet.
type Interface struct {
	Format InterfaceFormat
	Value  uint32 // ifIndex (zero if unknown), a drop reason, or a number of interfaces (zero if unknown)
}

// An InterfaceFormat is the meaning of the value of an [Interface].
type InterfaceFormat uint8

// The formats.
const (
	Single    InterfaceFormat = iota // the value is an ifIndex
	Discard                          // the packet was dropped; the value is a Reason
	Multiple                         // the packet left through several interfaces
	internal  = 0x3fffffff
	fewest    = 1 << 24 // the lowest ifIndex that does not fit in the short form of a sample
	noFormats = 4
)

// Internal returns the egress of a packet that is for the switch itself.
func Internal() Interface { return Interface{Single, internal} }

// A FlowSample is a sampled packet.
type FlowSample struct {
	Sequence      uint32 // sequence number among the flow samples of this source
	Source        Source
	Rate          uint32 // one in Rate packets is sampled
	Pool          uint32 // number of packets that could have been sampled
	Drops         uint32 // number of samples that were lost for lack of resources
	Input, Output Interface
	Packet
}

// A Packet holds the known properties of a packet.
type Packet struct {
	Header *Header
	Switch *Switch // nil if unknown
	Router *Router // nil if the packet was not routed, or if that is unknown
	Queue  *Queue  // nil if the packet was in no queue, or if the queue is unknown
	Trap   *Trap   // nil if unknown
	Others []Other
}

// A Header contains the first bytes of a frame.
type Header struct {
	Protocol uint32 // usually EthernetHeader
	Length   uint32 // length of the frame in bytes, including the FCS
	Stripped uint32 // number of the frame's bytes that were removed, including the FCS
	Bytes    []byte
}

// EthernetHeader is the header protocol of Ethernet frames.
const EthernetHeader = 1

// A Switch holds the VLANs and priorities of a packet by 802.1Q.
type Switch struct{ InVLAN, InPriority, OutVLAN, OutPriority uint32 }

// A Router holds the next hop and the prefix lengths of a routed packet.
type Router struct {
	NextHop              netip.Addr // invalid if unknown
	SourceMask, DestMask uint32
}

// A Queue is the egress queue that a packet was in, or was meant for.
type Queue struct {
	Number uint32
	Depth  *uint32 // bytes in the queue when the packet arrived; nil if unknown
}

// A Trap is the hardware's name for the reason why it passed a packet to the CPU.
type Trap struct{ Group, Name string }

// A CounterSample contains the counters of an interface.
type CounterSample struct {
	Sequence uint32 // sequence number among the counter samples of this source
	Source   Source
	Generic  *Generic
	Ethernet *Ethernet
	Others   []Other
}

// Generic contains the counters that every interface has (RFC 2233).
type Generic struct {
	Index, Type                              uint32
	Speed                                    uint64 // bits per second
	Direction                                uint32 // 1 means full duplex
	Status                                   uint32 // bit 0 means administratively up, bit 1 operationally up
	InOctets                                 uint64
	InUnicast, InMulticast, InBroadcast      uint32
	InDiscards, InErrors, InUnknownProtocols uint32
	OutOctets                                uint64
	OutUnicast, OutMulticast, OutBroadcast   uint32
	OutDiscards, OutErrors, Promiscuous/* 1: it is */ uint32
}

// The type of an Ethernet interface, the direction, and the bits of the status.
const (
	TypeEthernet = 6
	FullDuplex   = 1
	AdminUp      = 1
	OperUp       = 2
)

// Ethernet contains the counters of dot3StatsTable (RFC 2358).
type Ethernet struct {
	Alignment, FCS, SingleCollision, MultipleCollision, SQETest, Deferred, LateCollision, ExcessiveCollisions,
	InternalTransmit, CarrierSense, TooLong, InternalReceive, Symbol uint32
}

// A Discarded is a notification of a dropped packet.
type Discarded struct {
	Sequence      uint32 // sequence number among the notifications of this source
	Source        Source
	Drops         uint32 // number of notifications that were not sent
	Input, Output uint32 // ifIndex, or zero if unknown
	Reason        Reason
	Packet
}

// An Other is a sample or a record of any other format.
type Other struct {
	Enterprise, Format uint32
	Bytes              []byte
}
