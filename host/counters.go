package host

// A Counter identifies one counter of the stack.
type Counter uint8

// The counters. A received frame counts once as received, and once by its type or the reason of its drop.
const (
	Received Counter = iota
	ARPRequests
	ARPReplies
	Solicitations
	Advertisements
	EchoRequests
	EchoRequests6
	Forwarded // packets that waited for a neighbour, or were too large and have been fragmented
	Waiting   // packets that began to wait for a neighbour
	Answers   // echo replies and ICMP errors that were kept for Messages

	SentARPRequests
	SentARPReplies
	SentSolicitations
	SentAdvertisements
	SentEchoRequests // echo requests of the host's own, of both protocols
	SentEchoReplies
	SentEchoReplies6
	SentErrors
	SentErrors6

	DropShort       // truncated, or shorter than its headers require
	DropEtherType   // neither ARP nor IP
	DropInterface   // on an interface that does not exist, or is down
	DropARP         // ARP that is not for Ethernet and IPv4, or is invalid
	DropARPOther    // ARP for another host
	DropHeader      // a bad IP header or checksum
	DropND          // neighbour discovery that RFC 4861 forbids
	DropNDOther     // neighbour discovery for another host, or of a type that a router ignores
	DropICMP        // ICMP that needs no answer: errors, replies, unknown types
	DropFragment    // a fragment for the stack itself whose packet was never complete
	DropTCP         // a TCP segment for the stack itself
	DropGroup       // an IP packet to a group or broadcast address
	DropNoAnswer    // an error that must not be sent, see mayReport
	DropLimit       // an error beyond the rate limit
	DropNoSource    // an answer that would have no source address
	DropNoRoute     // an answer, or a packet, without a route to its destination
	DropUnresolved  // waited for a neighbour that did not answer
	DropQueue       // too many packets wait for the neighbour
	DropNeighbors   // the neighbour table is full
	DropOtherHost   // a packet between other hosts, of which the CPU gets a copy
	DropConfirmSoon // a neighbour whose MAC address changed less than a second ago

	Conflicts // messages of other hosts with one of the stack's addresses
	numCounters
)

var counterNames = [numCounters]string{
	"received", "arp-requests", "arp-replies", "neighbor-solicitations", "neighbor-advertisements", "echo-requests",
	"echo-requests-v6", "forwarded", "waiting", "icmp-answers",
	"sent-arp-requests", "sent-arp-replies", "sent-neighbor-solicitations", "sent-neighbor-advertisements",
	"sent-echo-requests", "sent-echo-replies", "sent-echo-replies-v6", "sent-icmp-errors", "sent-icmpv6-errors",
	"drop-short", "drop-ethertype", "drop-interface", "drop-arp", "drop-arp-other", "drop-ip-header", "drop-nd",
	"drop-nd-other", "drop-icmp", "drop-fragment", "drop-tcp", "drop-group", "drop-no-answer-allowed",
	"drop-error-limit", "drop-no-source-address", "drop-no-route", "drop-unresolved", "drop-queue",
	"drop-neighbor-table-full", "drop-other-host", "drop-mac-changed-too-soon",
	"address-conflicts",
}

// String returns the counter's name.
func (c Counter) String() string {
	if c < numCounters {
		return counterNames[c]
	}
	return "unknown"
}

// Counters returns all counters by name, since the stack was created.
func (s *sender) Counters() map[string]uint64 {
	all := make(map[string]uint64, numCounters)
	for c, n := range s.counts {
		all[Counter(c).String()] = n
	}
	return all
}

// Count returns one counter.
func (s *sender) Count(c Counter) uint64 { return s.counts[c] }
