package host

// A Counter counts one kind of thing.
type Counter uint8

// What is counted. A received frame counts once as received, and once as what it was or why it was dropped.
const (
	Received Counter = iota
	ARPRequests
	ARPReplies
	Solicitations
	Advertisements
	EchoRequests
	EchoRequests6
	Forwarded // packets that waited for a neighbour, or were too large and have been cut
	Waiting   // packets that began to wait for a neighbour

	SentARPRequests
	SentARPReplies
	SentSolicitations
	SentAdvertisements
	SentEchoReplies
	SentEchoReplies6
	SentErrors
	SentErrors6

	DropShort       // cut, or shorter than its headers say
	DropEtherType   // neither ARP nor IP
	DropInterface   // of an interface that is not there, or down
	DropARP         // ARP that is not Ethernet and IPv4, or senseless
	DropARPOther    // ARP that is for another
	DropHeader      // a bad IP header or checksum
	DropND          // neighbour discovery that RFC 4861 forbids
	DropNDOther     // neighbour discovery that is for another, or that a router ignores
	DropICMP        // ICMP that needs no answer: errors, replies, unknown types
	DropFragment    // a part of a packet for the stack itself that was never whole
	DropTCP         // a TCP segment for the stack itself
	DropGroup       // an IP packet to a group or broadcast address
	DropNoAnswer    // about which nobody may be told
	DropLimit       // an error beyond the limit
	DropNoSource    // an answer that would have no source address
	DropNoRoute     // an answer, or a packet, whose destination no route leads to
	DropUnresolved  // waited for a neighbour that did not answer
	DropQueue       // too many wait for the neighbour
	DropNeighbors   // the table of neighbours is full
	DropOtherHost   // a packet of others, of which the CPU has a copy
	DropConfirmSoon // a neighbour that has another MAC address than a second ago

	Conflicts // messages of others that have one of the stack's addresses
	numCounters
)

var counterNames = [numCounters]string{
	"received", "arp-requests", "arp-replies", "neighbor-solicitations", "neighbor-advertisements", "echo-requests",
	"echo-requests-v6", "forwarded", "waiting",
	"sent-arp-requests", "sent-arp-replies", "sent-neighbor-solicitations", "sent-neighbor-advertisements",
	"sent-echo-replies", "sent-echo-replies-v6", "sent-icmp-errors", "sent-icmpv6-errors",
	"drop-short", "drop-ethertype", "drop-interface", "drop-arp", "drop-arp-other", "drop-ip-header", "drop-nd",
	"drop-nd-other", "drop-icmp", "drop-fragment", "drop-tcp", "drop-group", "drop-no-answer-allowed",
	"drop-error-limit", "drop-no-source-address", "drop-no-route", "drop-unresolved", "drop-queue",
	"drop-neighbor-table-full", "drop-other-host", "drop-mac-changed-too-soon",
	"address-conflicts",
}

// String returns the word for it.
func (c Counter) String() string {
	if c < numCounters {
		return counterNames[c]
	}
	return "unknown"
}

// Counters returns all counters, since the stack began.
func (s *sender) Counters() map[string]uint64 {
	all := make(map[string]uint64, numCounters)
	for c, n := range s.counts {
		all[Counter(c).String()] = n
	}
	return all
}

// Count returns one counter.
func (s *sender) Count(c Counter) uint64 { return s.counts[c] }
