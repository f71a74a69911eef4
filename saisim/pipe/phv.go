package pipe

// Words of a PHV: fields of the chip, user fields, and internal words of a stage.
const (
	userWords   = 64
	firstUser   = 24
	firstHash   = firstUser + userWords
	maxHashes   = 16 // hashes in one stage
	firstParam  = firstHash + maxHashes
	maxParams   = 8 // parameters of one action
	firstBefore = firstParam + maxParams

	// BridgeWords is the number of 64-bit words of user fields that a packet carries from the ingress pipe to the
	// egress pipe.
	BridgeWords = 4
)

// Lanes is the number of packets that a PHV holds.
const Lanes = 64

// A Set is a set of packets of a PHV: bit i is the packet in lane i. Packets enter the pipe in the order of their
// lanes.
type Set uint64

// A PHV holds the packet header vectors of packets that run together, in the form for a compiled program. Fields are
// slices of 64-bit words, and word w of the packet in lane i is W[w][i]. The chip fills the fixed fields through the
// constants below (word Wxxx). User fields follow. A PHV should be reused.
type PHV struct {
	W [256][Lanes]uint64
	// ran holds the outcome of tables to which gates refer: 0 skipped, 1 miss, 2 hit, each plus 4 times the action's
	// number.
	ran [256][Lanes]uint16
	// Ran and Hit hold, for each lane, a bit for each table. Tables of the ingress pipe are first, in their order, then
	// those of the egress pipe. Tables set them as they run, if Traced is true. A caller that uses them must clear them
	// before a run, and add the tables of [Compiled.Always].
	Ran, Hit [Lanes][TapWords]uint64
	// Acted holds the number of the entry's action, counted from 1, for each table whose bit is set in Hit. It is valid
	// for tables of at most 255 actions, and 0 if the entry has no action.
	Acted  [Lanes][64 * TapWords]uint8
	Traced bool // true if Ran, Hit and Acted are kept
	// Looked holds, for each lane, the notes of its packet's lookups. nil means that lookups are not noted.
	Looked  [Lanes]*Looks
	stopped [Lanes]uint32 // stage after which ctl.drop ended the run
	// Found is called with each lookup in a table with a key, in the order in which tables run. entry is the number of
	// the entry, 0 if none hit. A nil Found means that there is no observer.
	Found func(lane uint8, table string, entry uint32, hit bool)

	// Working memory of a run: the packets of the run, of a table and of an action, the starts of their actions' code,
	// and hashes, one or two in each word.
	all, some, same [Lanes]uint8
	pcs             [Lanes]int32
	sums            [Lanes]uint32
	pairs           [hashesTogether / 2][Lanes]uint64
}

// TapWords is the number of words that suffice for the tables of a program.
const TapWords = 4

// The words of the fixed fields.
const (
	WordEthDst  = iota // dst 48, type 16 above it
	WordEthSrc         // src 48, ip.id 16 above it
	WordSrcHi          // ip.src.hi
	WordSrcLo          // ip.src.lo
	WordDstHi          // ip.dst.hi
	WordDstLo          // ip.dst.lo
	WordL4             // see Fixed
	WordFlags          // see Fixed
	WordFrame          // see Fixed
	WordPorts          // see Fixed
	WordClass          // see Fixed
	WordRxCycle        // rx.cycle
	WordRxSec          // rx.seconds
	WordRxFrac         // rx.fraction 32, rx.nanos 32 above it
	WordRxNs           // rx.ns
	WordCycle          // now.cycle
	WordSec            // now.seconds
	WordFrac           // now.fraction 32, now.nanos 32 above it
	WordNs             // now.ns
	WordQueue          // q.delay 32, q.depth 32 above it
	WordControl        // see Fixed
	fixedWords
)

// An Access defines in which pipes a field may be written.
type Access uint8

// A fixed field can be read in both pipes. In a pipe where the field has no meaning, its value is 0 (ports: 65535).
const (
	ReadOnly     Access = 0
	WriteIngress Access = 1
	WriteEgress  Access = 2
	WriteBoth    Access = 3
)

// A FixedField is a field that every PHV has.
type FixedField struct {
	Name         string
	Word         uint8
	Shift, Width uint8
	Access       Access
	Doc          string
}

// Fixed returns the fixed fields. ipv4.src and ipv4.dst are the low halves of ip.src.lo and ip.dst.lo. No others
// overlap.
func Fixed() []FixedField { return fixed[:] }

var fixed = [...]FixedField{
	{"eth.dst", WordEthDst, 0, 48, WriteBoth, "destination MAC address"},
	{"eth.type", WordEthDst, 48, 16, ReadOnly, "EtherType behind the VLAN tags; 0 for an 802.3 length"},
	{"eth.src", WordEthSrc, 0, 48, WriteBoth, "source MAC address"},
	{"ip.id", WordEthSrc, 48, 16, ReadOnly, "IPv4 identification"},
	{"ip.src.hi", WordSrcHi, 0, 64, ReadOnly, "IPv6 source address, first half; 0 for IPv4"},
	{"ip.src.lo", WordSrcLo, 0, 64, ReadOnly, "IPv6 source address, second half; the IPv4 address"},
	{"ipv4.src", WordSrcLo, 0, 32, ReadOnly, "the low 32 bits of ip.src.lo"},
	{"ip.dst.hi", WordDstHi, 0, 64, ReadOnly, "IPv6 destination address, first half; 0 for IPv4"},
	{"ip.dst.lo", WordDstLo, 0, 64, ReadOnly, "IPv6 destination address, second half; the IPv4 address"},
	{"ipv4.dst", WordDstLo, 0, 32, ReadOnly, "the low 32 bits of ip.dst.lo"},

	{"tcp.flags", WordL4, 0, 8, ReadOnly, "FIN is bit 0 to CWR bit 7"},
	{"ip.ttl", WordL4, 8, 8, WriteBoth, "TTL, hop limit"},
	{"ip.ecn", WordL4, 16, 2, WriteBoth, "ECN field"},
	{"ip.dscp", WordL4, 18, 6, WriteBoth, "DSCP"},
	{"ip.proto", WordL4, 24, 8, ReadOnly, "protocol, behind IPv6 extension headers"},
	{"l4.dst", WordL4, 32, 16, ReadOnly, "destination port of TCP, UDP, UDP-Lite, SCTP or DCCP"},
	{"l4.src", WordL4, 48, 16, ReadOnly, "source port"},

	{"is.ip", WordFlags, 0, 1, ReadOnly, "IPv4 or IPv6 by the packet's header, well-formed"},
	{"is.ipv4", WordFlags, 1, 1, ReadOnly, "IPv4, well-formed"},
	{"is.ipv6", WordFlags, 2, 1, ReadOnly, "IPv6, well-formed"},
	{"is.arp", WordFlags, 3, 1, ReadOnly, "ARP"},
	{"is.l4", WordFlags, 6, 1, ReadOnly, "l4.src and l4.dst are there"},
	{"is.tcp", WordFlags, 7, 1, ReadOnly, "tcp.flags is there"},
	{"is.icmp", WordFlags, 8, 1, ReadOnly, "icmp.type and icmp.code are there, IPv4"},
	{"is.icmpv6", WordFlags, 9, 1, ReadOnly, "icmp.type and icmp.code are there, IPv6"},
	{"is.fragment", WordFlags, 10, 1, ReadOnly, "any fragment"},
	{"is.tail", WordFlags, 12, 1, ReadOnly, "a fragment that is not the first"},
	{"is.tagged", WordFlags, 13, 1, ReadOnly, "at least one VLAN tag"},
	{"is.twotags", WordFlags, 14, 1, ReadOnly, "at least two VLAN tags"},
	{"ip.mf", WordFlags, 20, 1, ReadOnly, "IPv4 more fragments"},
	{"ip.df", WordFlags, 21, 1, ReadOnly, "IPv4 don't fragment"},
	{"ip.reserved", WordFlags, 22, 1, WriteBoth, "IPv4 reserved flag"},
	{"ip.flow", WordFlags, 24, 20, ReadOnly, "IPv6 flow label"},
	{"icmp.code", WordFlags, 48, 8, ReadOnly, "ICMP code"},
	{"icmp.type", WordFlags, 56, 8, ReadOnly, "ICMP type"},

	{"vlan.outer", WordFrame, 0, 16, ReadOnly, "outer tag control information, as received"},
	{"vlan.inner", WordFrame, 16, 16, ReadOnly, "inner tag control information"},
	{"vlan.id", WordFrame, 32, 12, ReadOnly, "the VLAN that the frame is in"},
	{"pkt.length", WordFrame, 44, 20, ReadOnly, "bytes, as received, without FCS, before a capture cut it"},

	{"acl.meta", WordPorts, 0, 32, WriteIngress, "ACL user metadata: ACL entries match it and set it"},
	{"out.port", WordPorts, 32, 16, ReadOnly, "egress: the port, by its first lane; ingress: 65535"},
	{"in.port", WordPorts, 48, 16, ReadOnly,
		"the port that received the frame, by its first lane; 65535: injected by the CPU"},

	{"flow.hash", WordClass, 0, 32, ReadOnly, "the hash by which LAGs and ECMP choose"},
	{"pkt.tc", WordClass, 32, 8, WriteIngress,
		"traffic class, as the QoS maps of the ingress port and ACLs have it; it chooses the queue"},
	{"q.id", WordClass, 40, 8, ReadOnly, "egress: the queue that the copy was in"},

	{"rx.cycle", WordRxCycle, 0, 64, ReadOnly, "ingress timestamp point, in cycles"},
	{"rx.seconds", WordRxSec, 0, 48, ReadOnly, "ingress timestamp, seconds"},
	{"rx.fraction", WordRxFrac, 0, 32, ReadOnly, "floor(rx.nanos * 2^32 / 10^9): binary fraction of the second"},
	{"rx.nanos", WordRxFrac, 32, 32, ReadOnly, "ingress timestamp, nanoseconds of the second"},
	{"rx.ns", WordRxNs, 0, 64, ReadOnly, "rx.seconds * 10^9 + rx.nanos mod 2^64"},
	{"now.cycle", WordCycle, 0, 64, ReadOnly, "when the packet entered this pipe, in cycles"},
	{"now.seconds", WordSec, 0, 48, ReadOnly, "time of day then, seconds"},
	{"now.fraction", WordFrac, 0, 32, ReadOnly, "floor(now.nanos * 2^32 / 10^9)"},
	{"now.nanos", WordFrac, 32, 32, ReadOnly, "nanoseconds of the second"},
	{"now.ns", WordNs, 0, 64, ReadOnly, "now.seconds * 10^9 + now.nanos mod 2^64"},

	{"q.delay", WordQueue, 0, 32, ReadOnly, "egress: cycles from the queue's entry to this pipe's, at most 2^32-1"},
	{"q.depth", WordQueue, 32, 32, ReadOnly, "egress: bytes in the queue when the copy came, without it, at most 2^32-1"},

	{"ctl.drop", WordControl, 0, 1, WriteBoth, "1: the packet goes no further than this stage"},
	{"ctl.punt", WordControl, 1, 1, WriteIngress, "1: a copy goes to the CPU"},
	{"ctl.port", WordControl, 16, 16, WriteIngress,
		"leave at this port instead; 65535, its first value: as forwarding says"},
}

// HeaderBits is the part of Limits.PHVBits that the fixed fields use.
const HeaderBits = fixedWords * 64
