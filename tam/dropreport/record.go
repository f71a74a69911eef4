package dropreport

import "tamtam/tam/ipfix"

// A Group is a set of fields that are either all known or all unknown. A record has the fields of a set of groups. The
// number of its template encodes the set: bit n is group n.
type Group uint8

// The groups. A group keeps its number, because a collector may keep a template longer than a chip keeps its version. A
// new group gets the next number.
const (
	In    Group = 0 // ingress port
	Out   Group = 1 // chosen egress port
	Queue Group = 2 // queue that rejected the packet
	Flow  Group = 3 // number of the flow and its drops
	Frame Group = 4 // frame as received
	IPv4  Group = 5 // IPv4 addresses and protocol
	IPv6  Group = 6 // IPv6 addresses and protocol
	L4    Group = 7 // L4 ports
	MAC   Group = 8 // MAC addresses and EtherType of flows

	NumGroups Group = 9
)

// Masks is the number of possible combinations of groups in a record.
const Masks = 1 << NumGroups

// InfoMask is a set that no record has. Its template number is used for type information (RFC 5610).
const InfoMask = 1<<IPv4 | 1<<IPv6

// FirstTemplate is the number of the template without groups of the first event. Each event has Masks template numbers.
const FirstTemplate = 256

// IFATemplate is the template number of [IFA], after those of all events.
const IFATemplate = 0xff00

// Fillers is the maximum number of ports that a record lists as those that fill a queue.
const Fillers = 3

// Always returns the fields of every record, in wire order.
func Always() []*ipfix.Element {
	return []*ipfix.Element{
		ipfix.Standard("observationTimeNanoseconds"), ipfix.Standard("droppedPacketDeltaCount"),
		ipfix.Standard("forwardingStatus"), ipfix.OwnElement("tamtamDropEvent"), ipfix.OwnElement("tamtamDropReason"),
		ipfix.OwnElement("tamtamDropStage"), ipfix.OwnElement("tamtamDropFlags"),
	}
}

// Fields returns the fields of a group, in wire order. Groups are in the order of their numbers, except that Frame is
// the last.
func (g Group) Fields() []*ipfix.Element {
	standard := func(names ...string) (all []*ipfix.Element) {
		for _, n := range names {
			all = append(all, ipfix.Standard(n))
		}
		return all
	}
	switch g {
	case In:
		return standard("ingressInterface")
	case Out:
		return standard("egressInterface")
	case Queue:
		return []*ipfix.Element{
			ipfix.OwnElement("tamtamQueue"), ipfix.OwnElement("tamtamQueueDepth"),
			ipfix.OwnElement("tamtamQueueFiller1"), ipfix.OwnElement("tamtamQueueFilled1"),
			ipfix.OwnElement("tamtamQueueFiller2"), ipfix.OwnElement("tamtamQueueFilled2"),
			ipfix.OwnElement("tamtamQueueFiller3"), ipfix.OwnElement("tamtamQueueFilled3"),
		}
	case Flow:
		return standard("flowStartNanoseconds", "flowEndNanoseconds", "droppedPacketTotalCount")
	case Frame:
		return standard("dataLinkFrameSize", "dataLinkFrameSection")
	case IPv4:
		return standard("protocolIdentifier", "sourceIPv4Address", "destinationIPv4Address")
	case IPv6:
		return standard("protocolIdentifier", "sourceIPv6Address", "destinationIPv6Address")
	case L4:
		return standard("sourceTransportPort", "destinationTransportPort")
	case MAC:
		return standard("sourceMacAddress", "destinationMacAddress", "ethernetType")
	}
	return nil
}

// Fixed returns, in wire order, the fields of the layout that the tests of sonic-mgmt read.
func Fixed() []*ipfix.Element {
	return []*ipfix.Element{
		ipfix.Standard("observationTimeNanoseconds"), ipfix.OwnElement("tamtamSwitchId"),
		ipfix.Standard("egressInterface"), ipfix.Standard("ingressInterface"),
		ipfix.OwnElement("tamtamDropReasonIngress"), ipfix.OwnElement("tamtamDropReasonEgress"),
		ipfix.OwnElement("tamtamUserMetadata"), ipfix.OwnElement("tamtamClassOfService"),
		ipfix.Standard("dataLinkFrameSection"),
	}
}

// IFA returns the fields of a report of a packet whose IFA was removed, in wire order. The frame section shows the
// frame as it would be with IFA. All elements are standard, so one template is enough.
func IFA() []*ipfix.Element {
	return []*ipfix.Element{
		ipfix.Standard("observationTimeNanoseconds"), ipfix.Standard("forwardingStatus"), ipfix.Standard("ingressInterface"),
		ipfix.Standard("egressInterface"), ipfix.Standard("dataLinkFrameSize"), ipfix.Standard("dataLinkFrameSection"),
	}
}

// StatusForwarded is the forwardingStatus of a packet that was forwarded (RFC 7270).
const StatusForwarded = 64

// FixedLength returns the length of an element in the layout of [Fixed] in bytes. Interfaces have two there.
func FixedLength(e *ipfix.Element) uint16 {
	if e.Name == "egressInterface" || e.Name == "ingressInterface" {
		return 2
	}
	return Length(e)
}

// Length returns the length of an element in a record in bytes. [ipfix.Variable] means that the value carries its
// length, in three bytes. The status has one byte, as in RFC 7270.
func Length(e *ipfix.Element) uint16 {
	if e.Name == "forwardingStatus" {
		return 1
	}
	return e.Size()
}

// An Event is the reason for a record, as in tamtamDropEvent.
type Event uint8

// The events.
const (
	EventPacket  Event = 1 // a single packet was dropped
	EventBegun   Event = 2 // a flow's first packet was dropped
	EventGoesOn  Event = 3 // the flow's interval ended, with further drops
	EventEnded   Event = 4 // an interval ended without a drop: the flow is over
	EventEvicted Event = 5 // the flow was evicted by another flow
)

// A Stage is the place of a drop, as in tamtamDropStage.
type Stage uint8

// The stages.
const (
	StageIngress Stage = 1 // before the queues
	StageMMU     Stage = 2 // at admission to its queue
	StageEgress  Stage = 3 // after the queues
)

// Flags of tamtamDropFlags.
const (
	FlagUnsynchronised = 1  // the clock was not synchronised
	FlagNoTime         = 2  // the clock's time does not fit NTP's format; times are 0
	FlagMirror         = 4  // a copy for a mirror session was dropped, not the packet
	FlagCPU            = 8  // the policer dropped a copy for the CPU
	FlagPunted         = 16 // nothing was dropped: the packet went to the CPU only
	FlagCut            = 32 // the frame was longer than its section
)

// AnyInterface is the ingress port of queued packets that have none, or whose ingress port was removed.
const AnyInterface = 1<<32 - 1

// Names of the extension object with the counters.
const (
	ObjectReports = "tamtam.tam.reports"
	AttrStreams   = "streams"
	AttrCounters  = "counters"
	// MaxStreams is the maximum number of streams in one read.
	MaxStreams = 32
)

// Words of a stream in AttrCounters. The first ones are sums over the events that report to the stream. A word keeps
// its index, and a new one becomes the last, because orchagent and syncd may have different versions.
const (
	WordDrops        = 0 // selected drops
	WordPunted       = 1 // selected packets that went to the CPU only
	WordSampledOut   = 2 // selected drops and punted packets that sampling left out
	WordRateLimited  = 3 // reports that the rate limit suppressed
	WordReports      = 4 // reports that were made
	WordFlowsBegun   = 5
	WordFlowsEnded   = 6
	WordFlowsEvicted = 7
	WordSent         = 8  // messages with a record that were sent to a queue or to the CPU
	WordNotSendable  = 9  // messages that were not made because the destination is unresolved
	WordLost         = 10 // messages that the chip itself dropped
	WordTemplates    = 11 // messages with templates and type information

	NumWords = 12
)
