package ipfix

import (
	"fmt"
	"slices"
)

// A Type is an abstract data type of RFC 7012, by its number in RFC 5610.
type Type uint8

// The data types of RFC 7012.
const (
	OctetArray Type = iota
	Unsigned8
	Unsigned16
	Unsigned32
	Unsigned64
	Signed8
	Signed16
	Signed32
	Signed64
	Float32
	Float64
	Boolean
	MACAddress
	String
	DateTimeSeconds
	DateTimeMilliseconds
	DateTimeMicroseconds
	DateTimeNanoseconds
	IPv4Address
	IPv6Address
	numTypes
)

// names holds the type names of RFC 7012.
var names = [numTypes]string{"octetArray", "unsigned8", "unsigned16", "unsigned32", "unsigned64", "signed8", "signed16",
	"signed32", "signed64", "float32", "float64", "boolean", "macAddress", "string",
	"dateTimeSeconds", "dateTimeMilliseconds",
	"dateTimeMicroseconds", "dateTimeNanoseconds", "ipv4Address", "ipv6Address"}

// String returns the name of the type, or its number if it is unknown.
func (t Type) String() string {
	if t < numTypes {
		return names[t]
	}
	return fmt.Sprint(uint8(t))
}

// sizes holds the length of each type in bytes. Zero means any length.
var sizes = [numTypes]uint16{0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1, 6, 0, 4, 8, 8, 8, 4, 16}

// fits reports whether a field of this type may have this length. Integers and float64 may be shorter than their type
// (RFC 7011, section 6.2).
func (t Type) fits(length uint16) bool {
	switch {
	case t >= numTypes || sizes[t] == 0 || length == sizes[t]:
		return true
	case t >= Unsigned8 && t <= Signed64:
		return length > 0 && length < sizes[t]
	case t == Float64:
		return length == 4
	}
	return false
}

// Semantics are the data type semantics of RFC 5610.
type Semantics uint8

// The semantics that tamtam uses.
const (
	Default      Semantics = 0
	Quantity     Semantics = 1
	TotalCounter Semantics = 2
	DeltaCounter Semantics = 3
	Identifier   Semantics = 4
	Flags        Semantics = 5
)

// Units are the units of RFC 5610.
type Units uint16

// The units that tamtam uses.
const (
	None         Units = 0
	Octets       Units = 2
	Packets      Units = 3
	Flows        Units = 4
	Milliseconds Units = 6
	Nanoseconds  Units = 8
	Messages     Units = 10
	Frames       Units = 13
)

// An Element is an information element.
type Element struct {
	ID        uint16 // element number without the enterprise bit
	Own       bool   // true for tamtam's elements, whose enterprise number is a parameter of encoder and decoder
	Name      string
	Type      Type
	Semantics Semantics
	Units     Units
	Text      string // description, for tamtam's own elements only
}

// Variable is the length of a field whose values carry their own length.
const Variable = 0xffff

// Size returns the length of a field of e in bytes, or [Variable] if its values carry their own length.
func (e *Element) Size() uint16 {
	if n := sizes[e.Type]; n > 0 {
		return n
	}
	return Variable
}

// standard holds the IANA elements that tamtam writes, or that often occur beside them, by number.
var standard = []Element{
	{ID: 1, Name: "octetDeltaCount", Type: Unsigned64, Semantics: DeltaCounter, Units: Octets},
	{ID: 2, Name: "packetDeltaCount", Type: Unsigned64, Semantics: DeltaCounter, Units: Packets},
	{ID: 4, Name: "protocolIdentifier", Type: Unsigned8, Semantics: Identifier},
	{ID: 5, Name: "ipClassOfService", Type: Unsigned8, Semantics: Identifier},
	{ID: 6, Name: "tcpControlBits", Type: Unsigned16, Semantics: Flags},
	{ID: 7, Name: "sourceTransportPort", Type: Unsigned16, Semantics: Identifier},
	{ID: 8, Name: "sourceIPv4Address", Type: IPv4Address, Semantics: Default},
	{ID: 10, Name: "ingressInterface", Type: Unsigned32, Semantics: Identifier},
	{ID: 11, Name: "destinationTransportPort", Type: Unsigned16, Semantics: Identifier},
	{ID: 12, Name: "destinationIPv4Address", Type: IPv4Address, Semantics: Default},
	{ID: 14, Name: "egressInterface", Type: Unsigned32, Semantics: Identifier},
	{ID: 21, Name: "flowEndSysUpTime", Type: Unsigned32, Units: Milliseconds},
	{ID: 22, Name: "flowStartSysUpTime", Type: Unsigned32, Units: Milliseconds},
	{ID: 27, Name: "sourceIPv6Address", Type: IPv6Address, Semantics: Default},
	{ID: 28, Name: "destinationIPv6Address", Type: IPv6Address, Semantics: Default},
	{ID: 31, Name: "flowLabelIPv6", Type: Unsigned32, Semantics: Identifier},
	{ID: 32, Name: "icmpTypeCodeIPv4", Type: Unsigned16, Semantics: Identifier},
	{ID: 41, Name: "exportedMessageTotalCount", Type: Unsigned64, Semantics: TotalCounter, Units: Messages},
	{ID: 42, Name: "exportedFlowRecordTotalCount", Type: Unsigned64, Semantics: TotalCounter, Units: Flows},
	{ID: 56, Name: "sourceMacAddress", Type: MACAddress, Semantics: Default},
	{ID: 58, Name: "vlanId", Type: Unsigned16, Semantics: Identifier},
	{ID: 60, Name: "ipVersion", Type: Unsigned8, Semantics: Identifier},
	{ID: 80, Name: "destinationMacAddress", Type: MACAddress, Semantics: Default},
	{ID: 82, Name: "interfaceName", Type: String},
	{ID: 89, Name: "forwardingStatus", Type: Unsigned32, Semantics: Identifier}, // RFC 7270; mostly one byte
	{ID: 130, Name: "exporterIPv4Address", Type: IPv4Address, Semantics: Default},
	{ID: 133, Name: "droppedPacketDeltaCount", Type: Unsigned64, Semantics: DeltaCounter, Units: Packets},
	{ID: 135, Name: "droppedPacketTotalCount", Type: Unsigned64, Semantics: TotalCounter, Units: Packets},
	{ID: 136, Name: "flowEndReason", Type: Unsigned8, Semantics: Identifier},
	{ID: 138, Name: "observationPointId", Type: Unsigned64, Semantics: Identifier},
	{ID: 144, Name: "exportingProcessId", Type: Unsigned32, Semantics: Identifier},
	{ID: 145, Name: "templateId", Type: Unsigned16, Semantics: Identifier},
	{ID: 148, Name: "flowId", Type: Unsigned64, Semantics: Identifier},
	{ID: 149, Name: "observationDomainId", Type: Unsigned32, Semantics: Identifier},
	{ID: 150, Name: "flowStartSeconds", Type: DateTimeSeconds},
	{ID: 151, Name: "flowEndSeconds", Type: DateTimeSeconds},
	{ID: 152, Name: "flowStartMilliseconds", Type: DateTimeMilliseconds},
	{ID: 153, Name: "flowEndMilliseconds", Type: DateTimeMilliseconds},
	{ID: 154, Name: "flowStartMicroseconds", Type: DateTimeMicroseconds},
	{ID: 155, Name: "flowEndMicroseconds", Type: DateTimeMicroseconds},
	{ID: 156, Name: "flowStartNanoseconds", Type: DateTimeNanoseconds},
	{ID: 157, Name: "flowEndNanoseconds", Type: DateTimeNanoseconds},
	{ID: 160, Name: "systemInitTimeMilliseconds", Type: DateTimeMilliseconds},
	{ID: 166, Name: "notSentFlowTotalCount", Type: Unsigned64, Semantics: TotalCounter, Units: Flows},
	{ID: 210, Name: "paddingOctets", Type: OctetArray},
	{ID: 211, Name: "collectorIPv4Address", Type: IPv4Address, Semantics: Default},
	{ID: 252, Name: "ingressPhysicalInterface", Type: Unsigned32, Semantics: Identifier},
	{ID: 253, Name: "egressPhysicalInterface", Type: Unsigned32, Semantics: Identifier},
	{ID: 256, Name: "ethernetType", Type: Unsigned16, Semantics: Identifier},
	{ID: 258, Name: "collectionTimeMilliseconds", Type: DateTimeMilliseconds},
	{ID: 287, Name: "informationElementIndex", Type: Unsigned16, Semantics: Identifier},
	{ID: 303, Name: "informationElementId", Type: Unsigned16, Semantics: Identifier},
	{ID: 304, Name: "selectorAlgorithm", Type: Unsigned16, Semantics: Identifier},
	{ID: 312, Name: "dataLinkFrameSize", Type: Unsigned16, Semantics: Quantity, Units: Octets},
	{ID: 313, Name: "ipHeaderPacketSection", Type: OctetArray},
	{ID: 314, Name: "ipPayloadPacketSection", Type: OctetArray},
	{ID: 315, Name: "dataLinkFrameSection", Type: OctetArray},
	{ID: 323, Name: "observationTimeMilliseconds", Type: DateTimeMilliseconds},
	{ID: 324, Name: "observationTimeMicroseconds", Type: DateTimeMicroseconds},
	{ID: 325, Name: "observationTimeNanoseconds", Type: DateTimeNanoseconds},
	{ID: 326, Name: "digestHashValue", Type: Unsigned64, Semantics: Quantity},
	{ID: 339, Name: "informationElementDataType", Type: Unsigned8, Semantics: Default},
	{ID: 340, Name: "informationElementDescription", Type: String},
	{ID: 341, Name: "informationElementName", Type: String},
	{ID: 344, Name: "informationElementSemantics", Type: Unsigned8, Semantics: Default},
	{ID: 345, Name: "informationElementUnits", Type: Unsigned16, Semantics: Default},
	{ID: 346, Name: "privateEnterpriseNumber", Type: Unsigned32, Semantics: Identifier},
	{ID: 352, Name: "layer2OctetDeltaCount", Type: Unsigned64, Semantics: DeltaCounter, Units: Octets},
	{ID: 408, Name: "dataLinkFrameType", Type: Unsigned16, Semantics: Flags},
	{ID: 409, Name: "sectionOffset", Type: Unsigned16, Semantics: Quantity, Units: Octets},
	{ID: 410, Name: "sectionExportedOctets", Type: Unsigned16, Semantics: Quantity, Units: Octets},
}

// own holds tamtam's elements, by number. A number never changes its meaning.
var own = []Element{
	{Own: true, ID: 1, Name: "tamtamSwitchId", Type: Unsigned32, Semantics: Identifier, Text: "switch of a hop"},
	{Own: true, ID: 2, Name: "tamtamHopIndex", Type: Unsigned16, Semantics: Identifier,
		Text: "place of the hop on the path, from 1"},
	{Own: true, ID: 3, Name: "tamtamHopCount", Type: Unsigned16, Semantics: Quantity,
		Text: "hops that stamped the frame"},
	{Own: true, ID: 4, Name: "tamtamHopFlags", Type: Unsigned32, Semantics: Flags,
		Text: "1 no egress time, 2 clock not synchronised, 4 no residence, 8 no link delay, " +
			"16 no ingress time, 32 no usable egress time, 64 clock set while the frame was in the switch, " +
			"128 found by search"},
	{Own: true, ID: 5, Name: "tamtamResidence", Type: Signed64, Semantics: Quantity, Units: Nanoseconds,
		Text: "departure minus arrival at the hop"},
	{Own: true, ID: 6, Name: "tamtamLinkDelay", Type: Signed64, Semantics: Quantity, Units: Nanoseconds,
		Text: "arrival minus departure at the hop before"},
	{Own: true, ID: 7, Name: "tamtamFrameNumber", Type: Unsigned64, Semantics: Identifier,
		Text: "number of the frame among those read, from 1"},
	{Own: true, ID: 16, Name: "tamtamPath", Type: String, Text: "path of alternate marking"},
	{Own: true, ID: 17, Name: "tamtamFrom", Type: String, Text: "switch that the segment begins at"},
	{Own: true, ID: 18, Name: "tamtamTo", Type: String,
		Text: "switch that the segment ends at; as the first: there and back"},
	{Own: true, ID: 19, Name: "tamtamPeriod", Type: Unsigned64, Semantics: Identifier, Text: "time of day / interval"},
	{Own: true, ID: 20, Name: "tamtamPeriodStatus", Type: Unsigned8, Semantics: Identifier,
		Text: "1 ok, 2 flagged, 3 missing"},
	{Own: true, ID: 21, Name: "tamtamReasons", Type: String, Text: "why the period is not ok"},
	{Own: true, ID: 22, Name: "tamtamRevised", Type: Boolean,
		Text: "takes the place of an earlier record of the period"},
	{Own: true, ID: 23, Name: "tamtamSentPackets", Type: Unsigned64, Semantics: DeltaCounter, Units: Packets,
		Text: "packets at the segment's begin"},
	{Own: true, ID: 24, Name: "tamtamSentOctets", Type: Unsigned64, Semantics: DeltaCounter, Units: Octets,
		Text: "octets of frames at the segment's begin"},
	{Own: true, ID: 25, Name: "tamtamLostPackets", Type: Signed64, Semantics: Quantity, Units: Packets,
		Text: "sent minus received"},
	{Own: true, ID: 26, Name: "tamtamDelay", Type: Signed64, Semantics: Quantity, Units: Nanoseconds,
		Text: "of the marked packet, by synchronised clocks"},
	{Own: true, ID: 27, Name: "tamtamRawDelay", Type: Signed64, Semantics: Quantity, Units: Nanoseconds,
		Text: "of the marked packet, with the difference of the clocks"},
	{Own: true, ID: 28, Name: "tamtamJitter", Type: Signed64, Semantics: Quantity, Units: Nanoseconds,
		Text: "delay minus that of the period before"},
	{Own: true, ID: 29, Name: "tamtamWindowDelays", Type: Unsigned32, Semantics: Quantity, Text: "delays in the window"},
	{Own: true, ID: 30, Name: "tamtamWindowMinDelay", Type: Signed64, Semantics: Quantity, Units: Nanoseconds,
		Text: "least delay of the window"},
	{Own: true, ID: 31, Name: "tamtamWindowMeanDelay", Type: Signed64, Semantics: Quantity, Units: Nanoseconds,
		Text: "mean delay of the window"},
	{Own: true, ID: 32, Name: "tamtamWindowMaxDelay", Type: Signed64, Semantics: Quantity, Units: Nanoseconds,
		Text: "greatest delay of the window"},
	{Own: true, ID: 48, Name: "tamtamDropEvent", Type: Unsigned8, Semantics: Identifier,
		Text: "1 a packet, 2 a flow begins, 3 goes on, 4 has ended, 5 made room"},
	{Own: true, ID: 49, Name: "tamtamDropReason", Type: Unsigned8, Semantics: Identifier, Text: "why it was dropped"},
	{Own: true, ID: 50, Name: "tamtamDropStage", Type: Unsigned8, Semantics: Identifier,
		Text: "1 ingress, 2 at its queue, 3 egress"},
	{Own: true, ID: 51, Name: "tamtamDropFlags", Type: Unsigned8, Semantics: Flags,
		Text: "1 clock not synchronised, 2 no time, 4 mirror copy, 8 copy for the CPU, 16 the CPU has it, 32 frame cut"},
	{Own: true, ID: 52, Name: "tamtamQueue", Type: Unsigned8, Semantics: Identifier, Text: "queue of the egress port"},
	{Own: true, ID: 53, Name: "tamtamQueueDepth", Type: Unsigned32, Semantics: Quantity, Units: Octets,
		Text: "octets that stood in the queue"},
	{Own: true, ID: 54, Name: "tamtamQueueFiller1", Type: Unsigned32, Semantics: Identifier,
		Text: "interface with most octets in the queue; 0 none, 4294967295 no port's"},
	{Own: true, ID: 55, Name: "tamtamQueueFilled1", Type: Unsigned32, Semantics: Quantity, Units: Octets,
		Text: "octets of that in the queue"},
	{Own: true, ID: 56, Name: "tamtamQueueFiller2", Type: Unsigned32, Semantics: Identifier, Text: "the second"},
	{Own: true, ID: 57, Name: "tamtamQueueFilled2", Type: Unsigned32, Semantics: Quantity, Units: Octets,
		Text: "octets of the second"},
	{Own: true, ID: 58, Name: "tamtamQueueFiller3", Type: Unsigned32, Semantics: Identifier, Text: "the third"},
	{Own: true, ID: 59, Name: "tamtamQueueFilled3", Type: Unsigned32, Semantics: Quantity, Units: Octets,
		Text: "octets of the third"},
	{Own: true, ID: 60, Name: "tamtamDropReasonIngress", Type: Unsigned8, Semantics: Identifier,
		Text: "why it was dropped in front of its queue, plus 1; 0 it was not"},
	{Own: true, ID: 61, Name: "tamtamDropReasonEgress", Type: Unsigned8, Semantics: Identifier,
		Text: "why it was dropped at its queue or behind, plus 1; 0 it was not"},
	{Own: true, ID: 62, Name: "tamtamUserMetadata", Type: Unsigned16, Semantics: Identifier, Text: "not in use, 0"},
	{Own: true, ID: 63, Name: "tamtamClassOfService", Type: Unsigned8, Semantics: Identifier,
		Text: "queue that it asked for room, or 0"},
	{Own: true, ID: 64, Name: "tamtamObjectName", Type: String, Text: "object whose statistic the field is"},
	{Own: true, ID: 65, Name: "tamtamObjectLabel", Type: Unsigned16, Semantics: Identifier,
		Text: "label of the object in its stream"},
	{Own: true, ID: 66, Name: "tamtamSampleInterval", Type: Unsigned64, Semantics: Quantity, Units: Nanoseconds,
		Text: "time between two records of the template; 0 unknown"},
	{Own: true, ID: 67, Name: "tamtamReplacedTemplate", Type: Unsigned16, Semantics: Identifier,
		Text: "template whose place in the stream this one takes; 0 none"},
}

// DefaultEnterprise is the private enterprise number of tamtam's elements unless another is configured. It is the
// number for examples (RFC 5612).
const DefaultEnterprise = 32473

// Own returns tamtam's elements, by number.
func Own() []Element { return slices.Clone(own) }

// Standard returns the standard element of this name. It panics for an unknown name, because names are constants of the
// program.
func Standard(name string) *Element { return named(standard, name) }

// OwnElement returns tamtam's element of this name. It panics as [Standard] does.
func OwnElement(name string) *Element { return named(own, name) }

func named(table []Element, name string) *Element {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	panic(fmt.Sprintf("ipfix: no element %q", name))
}

// lookup returns the element with this number, or nil if it is unknown.
func lookup(table []Element, id uint16) *Element {
	i, ok := slices.BinarySearchFunc(table, id, func(e Element, id uint16) int { return int(e.ID) - int(id) })
	if !ok {
		return nil
	}
	return &table[i]
}
