package dropreport

import "tamtam/tam/ipfix"

// A Group is fields that are known together. A record has those of a set of groups, and its template's number says
// which: bit n is group n.
type Group uint8

// The groups. A collector may keep a template for longer than a chip its version: a number keeps its meaning, and a new
// group takes the next.
const (
	In    Group = 0 // the port that it came in at
	Out   Group = 1 // the port that it was to leave by
	Queue Group = 2 // that had no room, or did not want it
	Flow  Group = 3 // a flow with a threshold
	Frame Group = 4 // as it came in
	IPv4  Group = 5 // addresses and protocol
	IPv6  Group = 6 // likewise
	L4    Group = 7 // ports
	MAC   Group = 8 // addresses and EtherType, of flows

	NumGroups Group = 9
)

// Masks is how many sets of groups there are.
const Masks = 1 << NumGroups

// InfoMask is a set that no record has; the number of its template is that of type information (RFC 5610).
const InfoMask = 1<<IPv4 | 1<<IPv6

// FirstTemplate is the number of the template without groups, of the first event. Each event has Masks numbers.
const FirstTemplate = 256

// IFATemplate is the number of the template of [IFA], behind those of all events.
const IFATemplate = 0xff00

// Fillers is how many ports stand in a record that says what fills a queue.
const Fillers = 3

// Always are the fields of every record, in the order of the wire.
func Always() []*ipfix.Element {
	return []*ipfix.Element{
		ipfix.Standard("observationTimeNanoseconds"), ipfix.Standard("droppedPacketDeltaCount"),
		ipfix.Standard("forwardingStatus"), ipfix.OwnElement("tamtamDropEvent"), ipfix.OwnElement("tamtamDropReason"),
		ipfix.OwnElement("tamtamDropStage"), ipfix.OwnElement("tamtamDropFlags"),
	}
}

// Fields are those of a group, in the order of the wire. Groups follow each other by number, but Frame is the last.
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

// Fixed are the fields of the layout that sonic-mgmt's tests read, in the order of the wire.
func Fixed() []*ipfix.Element {
	return []*ipfix.Element{
		ipfix.Standard("observationTimeNanoseconds"), ipfix.OwnElement("tamtamSwitchId"),
		ipfix.Standard("egressInterface"), ipfix.Standard("ingressInterface"),
		ipfix.OwnElement("tamtamDropReasonIngress"), ipfix.OwnElement("tamtamDropReasonEgress"),
		ipfix.OwnElement("tamtamUserMetadata"), ipfix.OwnElement("tamtamClassOfService"),
		ipfix.Standard("dataLinkFrameSection"),
	}
}

// IFA are the fields of a report of a packet that left without its IFA, in the order of the wire: the frame is as it
// would have left with it. All are standard, so that the template is one for all.
func IFA() []*ipfix.Element {
	return []*ipfix.Element{
		ipfix.Standard("observationTimeNanoseconds"), ipfix.Standard("forwardingStatus"), ipfix.Standard("ingressInterface"),
		ipfix.Standard("egressInterface"), ipfix.Standard("dataLinkFrameSize"), ipfix.Standard("dataLinkFrameSection"),
	}
}

// StatusForwarded is the forwardingStatus of a packet that left (RFC 7270).
const StatusForwarded = 64

// FixedLength is how many bytes an element has in the layout of [Fixed]: interfaces have two there.
func FixedLength(e *ipfix.Element) uint16 {
	if e.Name == "egressInterface" || e.Name == "ingressInterface" {
		return 2
	}
	return Length(e)
}

// Length is how many bytes an element has in a record; [ipfix.Variable]: the value says it, in three bytes. The status
// has one, as RFC 7270 has it.
func Length(e *ipfix.Element) uint16 {
	if e.Name == "forwardingStatus" {
		return 1
	}
	return e.Size()
}

// An Event says why there is a record, as tamtamDropEvent.
type Event uint8

// The events.
const (
	EventPacket  Event = 1 // this packet
	EventBegun   Event = 2 // the first packet of a flow
	EventGoesOn  Event = 3 // the flow's interval has ended, and there were more
	EventEnded   Event = 4 // an interval without a packet has ended: the flow is over
	EventEvicted Event = 5 // the flow made room for another
)

// A Stage says where a packet was dropped, as tamtamDropStage.
type Stage uint8

// The stages.
const (
	StageIngress Stage = 1 // in front of the queues
	StageMMU     Stage = 2 // it was not let into its queue
	StageEgress  Stage = 3 // behind
)

// Flags of tamtamDropFlags.
const (
	FlagUnsynchronised = 1  // the clock was not synchronised
	FlagNoTime         = 2  // the clock had no time that NTP's format has; times are 0
	FlagMirror         = 4  // a copy for a mirror session was dropped, not the packet
	FlagCPU            = 8  // a copy for the CPU was dropped, by its policer
	FlagPunted         = 16 // nothing was dropped: the CPU has the packet, and nobody else
	FlagCut            = 32 // the frame was longer than its section
)

// AnyInterface stands for what fills a queue and came in at no port, or at one that is gone.
const AnyInterface = 1<<32 - 1

// Names of the extension object by which counters are read.
const (
	ObjectReports = "tamtam.tam.reports"
	AttrStreams   = "streams"
	AttrCounters  = "counters"
	// MaxStreams is how many streams a window names.
	MaxStreams = 32
)

// Words of a stream in AttrCounters. The first are of the events that report to it, added up. Orchagent and syncd may
// be of two versions: a word keeps its place, and a new one is the last.
const (
	WordDrops        = 0 // drops that were selected
	WordPunted       = 1 // packets selected that the CPU alone has
	WordSampledOut   = 2 // of both: left out by sampling
	WordRateLimited  = 3 // reports that the rate did not let pass
	WordReports      = 4 // reports that it did
	WordFlowsBegun   = 5
	WordFlowsEnded   = 6
	WordFlowsEvicted = 7
	WordSent         = 8  // messages with a record that went to a queue, or to the CPU
	WordNotSendable  = 9  // messages that were not made: nobody knows where to
	WordLost         = 10 // messages that the chip itself dropped
	WordTemplates    = 11 // messages with templates and type information

	NumWords = 12
)
