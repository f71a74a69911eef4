package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
	"tamtam/saisim/tm"
	"tamtam/tam/altmark"
	"tamtam/tam/ifa"
	"tamtam/tam/record"
)

// A packet is a frame in the chip. Copies of it (floods, punts) share it. A packet waits hundreds of cycles between two
// stations, so at the next station its memory is no longer in the CPU's cache. Therefore the data needed everywhere is
// contiguous, and data that usually only the ingress pipe needs is elsewhere.
type packet struct {
	data []byte // as received, possibly cut
	*passing
	flight
	lateBy Cycle // valid only if late; otherwise left over from another packet
}

// A flight is the state of a packet while it is in the chip. It is empty for the next packet.
type flight struct {
	id     uint64 // the sender's id for the frame
	number uint64 // the chip's own number for the packet
	rx     Cycle  // ingress timestamp point
	length int    // length before a capture cut the frame
	refs   int16
	in     PortID
	inN    uint16      // number of the ingress port in records
	vid    uint16      // VLAN of the frame
	copies uint16      // number of copies made so far
	tagged bool        // true if it carries the tag of vid, or a priority tag
	tc     uint8       // traffic class
	why    drop.Reason // reason if it has no destination
	edited bool        // true if edit changes something
	// plain is true if the packet's only destination is one port or bridge port, no program runs and no trail is kept.
	plain bool
	// usual is true if the packet is plain and no station of the ingress pipe has parsed its headers. passing is then
	// empty, but for notes and the edit of a routed packet. [packet.whole] must be called before passing is used.
	usual bool
	// untaggedIPv4 is true if usualIPv4 accepted the frame, so that its IP header is at ethernetHeader.
	untaggedIPv4 bool
	colour       tm.Colour
	group        uint8 // number of the ingress priority group that was asked, from 1; zero if there is none
	origin
	held uint16 // copies in queues, and a station, that hold the charge to the group; zero if it is not charged
	// shrunk is true if the charge is that of its trimmed copy.
	shrunk bool

	to  *bridgePort // destination of a plain packet; nil means out
	out *port
	own copyOf // the first copy
}

// An origin holds data on the packet's source.
type origin struct {
	late bool // rx is later by lateBy than the packet's arrival
	ecn  bool // its IP header has a codepoint of ECN
	// pushPriority is the priority of a tag that the egress adds.
	pushPriority uint8
	chosen       bool   // true if it is watched
	from         uint32 // number of the bridge port where a usual packet arrived
}

// A passing is a packet's state in the ingress pipe, with its lookups there. The lookups are not cleared for the next
// packet.
type passing struct {
	transit
	met met
}

// A transit is a packet's state in the ingress pipe. It is empty for the next packet.
type transit struct {
	verdict verdict
	asked
	run     *passage   // state of its program; nil if there is none
	graph   *chipGraph // graph at its entry; nil if its trail is not kept
	counted bool       // a plan existed at its entry, so its path is counted
	askers
	marked
	act actions // actions of traps and ACLs together
	trapping
	barred  bool // true if its port may not send it
	aclDrop bool
	noTrim  bool // true if an ACL entry forbids trimming
	noLearn bool

	source   *bridgePort
	lag      *lag      // ingress LAG
	router   *rif      // router interface where it arrived; nil if it is only bridged
	redirect *aclEntry // entry that redirects it; nil if there is none
	meta     uint32    // ACL user metadata
	edit     edit      // edits of the forwarded copies
	h        headers
}

// marked holds the fixed functions that a packet has run, and the set of valid parts of its [met].
type marked struct {
	fixed             describe.Marks
	noted             noted
	looks, early      uint8 // number of lookups in ACL tables, and how many of them were before chip.port
	traps, earlyTraps uint8 // number of traps, and how many of them were at admission
	moreLooks         bool  // true if there were more lookups than noted
}

// noted is the set of valid parts of met.
type noted uint32

const (
	notedPort noted = 1 << iota
	notedAdmitted
	notedLearning
	notedLearned // the source address was known
	notedRoute
	notedPrefix // a prefix was found
	notedHop
	notedNeighbor // the neighbour is known
	notedFDB
	notedAddress // an FDB entry was found
	notedProgram
	notedPolicer
	notedKnown     // source and destination addresses are known and the headers are unchanged: see origin
	notedUsual     // the packet was usual, and has no notes
	notedOuter     // an added or removed header was found; noted even without an observer
	notedOuterDone // the outer header was added or removed
	notedEnd       // the packet's tunnel ends here
	notedEndDone   // it was taken out of its outer header
)

// A met holds a packet's lookups in the tables of the ingress pipe. To be cheap to write, it points to objects whose
// names never change. It is read when the packet, or a copy of it, ends. The part that most packets write is in one
// cache line, with the end of transit.
type met struct {
	router         *rif // router interface at chip.port
	dest           *dest
	hop            *adjacency
	hopMAC         uint64
	vid            uint16
	routeAct       actions
	v4             bool
	traps          [mostTraps]trapLook
	outerGrew      int16 // bytes by which it is longer than received, if notedOuterDone or notedEndDone
	looks          [mostLooks]aclLook
	learned, known addressLook
	policer        config.ID
	trim           trimming // valid if a copy is trimmed
	groupCells     uint32   // cells that the packet's ingress priority group held before it; valid if there is a group
	outer          *outer
	end            *tunnelEnd
	outerCounts    *altmark.OuterCounts
	ran            *programLooks   // allocated with the first program
	outerCame      *[keptHead]byte // first bytes before the header was added or removed
}

// received returns a packet as received: without an added header, or with a removed one. data is its first bytes, which
// may be marked, and length its length.
func (pk *packet) received() (data []byte, length int) {
	if pk.noted&(notedOuterDone|notedEndDone) == 0 {
		return pk.data, pk.length
	}
	length = pk.length - int(pk.met.outerGrew)
	return pk.met.outerCame[:min(len(pk.data)-int(pk.met.outerGrew), keptHead)], length
}

// An addressLook is the lookup of an address in the FDB. to and act are valid if it was found.
type addressLook struct {
	vid uint16
	act actions
	mac uint64
	to  *bridgePort
}

// Limits of noted lookups. A packet meets at most two traps at admission, one of learning and one of routing.
const (
	mostTraps = 4
	mostLooks = 5
)

type trapLook struct {
	trap config.Trap
	act  actions
}

// looks holds the first lookups of a copy in egress ACL tables.
type looks struct {
	n    uint8
	more bool // true if there were more lookups
	of   [mostLooks]aclLook
}

// programLooks holds the lookups of a packet, or of a copy in the egress pipe, in the tables of a program.
type programLooks struct {
	program *pipe.Compiled // nil if none ran
	of      pipe.Looks
}

// begin starts new notes for the tables of a program, and returns them.
func (l *programLooks) begin(program *pipe.Compiled) *pipe.Looks {
	l.program = program
	l.of.Begin()
	return &l.of
}

// An egressMet holds the lookups of a copy in the tables of the egress pipe.
type egressMet struct {
	looks
	ran programLooks
}

func (m *egressMet) empty() { m.n, m.more, m.ran.program = 0, false, nil }

type aclLook struct {
	table *aclTable
	entry *aclEntry // nil if none hits
}

// trapping holds the traps of a packet, the first of each kind.
type trapping struct {
	trap      config.Trap // trap that requests a copy
	removedBy config.Trap // trap that removes the packet from forwarding
}

// asked holds the requests of entries for the copies of a packet.
type asked struct {
	stamp *stampAction
	ifa   ifaMatch
	ipMTU uint32 // MTU of the router interface out; zero if it is not routed
}

// askers holds the other receivers of a packet or of its copies.
type askers struct {
	mirrors uint64     // ingress mirror sessions, by index
	due     *sampleDue // samples for the CPU; nil if no sampler has chosen it
	record  *choice    // sessions that record it; nil if there are none
	// events is the set of events to which ACL entries report its drops. eventsOf is the age of their numbers.
	events   eventSet
	eventsOf uint32
}

// sampled reports whether a sampler has chosen the packet. It is then neither plain nor usual.
func (p *passing) sampled() bool { return p.due != nil }

// whole fills in passing for a usual packet. It must be called before work after the ingress pipe that needs passing.
func (p *packet) whole() {
	if p.usual {
		if p.usual = false; p.noted != 0 {
			p.router = p.met.router
		} else {
			p.noted = notedUsual
		}
		p.stamp = p.own.session
		p.h.usual(p.data)
	}
}

// cut reports whether a capture left out a part of the frame.
func (p *packet) cut() bool { return len(p.data) < p.length }

// endUnknown reports whether a packet's end is unknown, so that nothing may be inserted or appended. That is so if it
// is cut, or the length in its IP header cannot be right.
func (p *packet) endUnknown() bool { return p.cut() || p.h.flags&flagNoLength != 0 }

// An entering packet enters the ingress pipe at a cycle.
type entering struct {
	at Cycle
	pk *packet
	p  *port
	on bool // true if it is admitted
	// usual is true if it took the shortcut through admission.
	usual bool
}

// A verdict is the ingress pipe's decision on a packet.
type verdict struct {
	kind destination
	cpu  bool        // true if the CPU also receives a copy
	to   *bridgePort // set for toBridgePort
	port *port       // set for toPort: redirected
	lag  *lag        // set for toLAG: redirected
	vlan *vlan       // set for toVLAN
}

type destination uint8

const (
	noDestination destination = iota
	toBridgePort              // known unicast
	toVLAN                    // flood
	toPort
	toLAG
)

// A copyOf is one copy of a packet, for one port. The first copy is in the packet itself. Until the packet enters the
// ingress pipe, that copy represents the packet.
type copyOf struct {
	pk *packet
	// next links the copies of a list. For example, a wheel has a list of the copies that are due at each cycle.
	next    *copyOf
	at      Cycle
	queued  Cycle        // cycle at which it was queued
	session *stampAction // session that stamps it; nil if there is none
	depth   uint32       // bytes in its queue when it was queued, without it
	lane    PortID
	number  uint16 // 1 for the first copy made
	tag     tagAction
	queue   uint8
	result  stampResult // result of tail-stamping
	asked   bool        // true if it has reached queue, even if not admitted
	raw     bool        // true if it leaves as received
	ce      bool        // true if it will be marked with congestion experienced
	watched bool        // true if the port has its trail, for an observer
	same    bool        // leaves as received except for the packet's edit and a record, and completely
	trimmed bool        // true if a queue has trimmed it: see the packet's trim; also for mirror copies of such a copy

	frac   uint64       // exact time is frac/den cycles after cycle at-1; zero means cycle at
	mirror *mirrorEncap // set if it is a copy for a mirror session
	copyExtras
}

// copyExtras holds the state that only a small set of copies needs.
type copyExtras struct {
	head *heading   // header fields as it leaves; nil means those of the packet with its edit
	ifa  *ifaWork   // nil if there is no IFA work
	met  *egressMet // set for a watched packet after the egress pipe; nil if not kept
}

// taggedLen returns the length of a copy after its tag action.
func (cp *copyOf) taggedLen() int {
	switch cp.tag.op {
	case tagStrip:
		return cp.stored() - 4
	case tagPush:
		return cp.stored() + 4
	}
	return cp.stored()
}

// leavingLen returns the length of the frame that leaves, without a record.
func (cp *copyOf) leavingLen() int {
	n := cp.taggedLen()
	if cp.ifa != nil {
		n += cp.ifa.longer
	}
	if cp.mirror != nil {
		return cp.mirror.length(n)
	}
	return n
}

// buffered returns the number of bytes that a copy occupies in the buffer. That is its length as received, less what
// trimming removed, or, for a mirror copy, its length as it leaves.
func (cp *copyOf) buffered() int {
	if cp.mirror != nil || cp.trimmed {
		return cp.bufferedOther()
	}
	return cp.pk.length // the compiler inlines the function only if the other cases are elsewhere
}

// bufferedOther does buffered for trimmed copies, and those of mirror sessions.
func (cp *copyOf) bufferedOther() int {
	if cp.mirror != nil {
		return cp.leavingLen()
	}
	return cp.stored()
}

// changes reports whether a copy, without a record, leaves different from its received form.
func (cp *copyOf) changes() bool {
	return cp.pk.edited || cp.ifa != nil || cp.tag.op != tagKeep || cp.mirror != nil || cp.head != nil || cp.ce ||
		cp.trimmed
}

// A tagAction is the egress pipe's action on a copy's VLAN tag.
type tagAction struct {
	op  tagOp
	vid uint16
}

type tagOp uint8

const (
	tagKeep  tagOp = iota
	tagStrip       // remove the outer tag
	tagPush        // insert an outer tag
	tagSet         // replace the outer tag's VLAN id
)

// An edit holds the egress pipe's changes of a packet, apart from its VLAN tag.
type edit struct {
	dmac, smac uint64 // new addresses of a routed packet
	routed     bool   // true if MAC addresses are replaced and the TTL is decremented
	prefix     uint8  // length of the prefix by which it is routed; zero if an ACL entry sends it
	hop        *adjacency
	setDSCP    bool
	dscp       uint8
	marks      marks // written by alternate marking
	dscpKept   uint8 // bits of the DSCP with which it leaves that carry marks
	mss        mssEdit
}

// marks holds the bits with which a copy leaves. Only bits in the masks are set.
type marks struct {
	dscpMask, dscp         uint8
	reservedMask, reserved bool
	optionMask, option     uint8
}

// An mssEdit is a lowered MSS. value is 0 if there is none. at and tcp are as in mssOption.
type mssEdit struct{ value, at, tcp uint16 }

// stampResult is the result for a copy that a tail-stamping session matched. The order is that of the words in a
// register read.
type stampResult uint8

const (
	stampDone         stampResult              = iota // left with a record
	stampNotTCPUDP                                    // not TCP or UDP
	stampNotEthernet2                                 // 802.3 with a length field
	stampCut                                          // cut by a capture
	stampMTU                                          // with the record it would exceed the MTU
	NumStampResults   = tailstamp.CounterWords        // the last ones do not count copies
)

// A stampAction is the tail-stamping action of an ACL entry. It does not change once it is created. Packets in the chip
// keep the stampAction that they hit.
type stampAction struct {
	switchID uint32
	counter  *aclCounter // nil if results are not counted
}

func (s *stampAction) count(r stampResult) {
	if s.counter != nil {
		s.counter.stamps[r]++
	}
}

// A passage is a packet's state of its program.
type passage struct {
	program   *pipe.Compiled
	bridge    [pipe.BridgeWords]uint64
	rewritten bool // the ingress pipe has written header fields, which are in the packet's headers
	// ran and hit are the PHV's Ran and Hit at the end of the ingress pipe, if the packet's trail is kept.
	ran, hit [pipe.TapWords]uint64
	acted    acted // actions in the ingress pipe, if a plan that records the packet requires them
}

// A heading holds the header fields of a copy as it leaves.
type heading struct {
	dmac, smac uint64
	tos, ttl   uint8
	reserved   bool
}

// A choice holds the sessions that record a packet, by the index of their mirror session.
type choice struct {
	n        int
	acts     bool // true if a session's plan requires actions
	identify bool // true if a session requires identities
	of       [profile.MaxMirrors]struct {
		mirror  int
		session *recordSession
	}
}

// A recordEnd describes, for a record, where its packet or copy ended.
type recordEnd struct {
	passed
	out   uint16 // number of the port
	lane  PortID // its lane; CPUPort for the CPU or no port
	queue uint8  // queue of the port; record.NoQueue if there is none
	trap  config.Trap
	why   drop.Reason
	// inside is true if the packet or copy has been in the egress pipe.
	inside bool
}

// acted holds the actions of tables, in the form of [pipe.PHV.Acted].
type acted [64 * pipe.TapWords]uint8

// A recorded is a taken with the identities of the lookups of the packet, or copy, if a session requires them.
type recorded struct {
	recordEnd
	acted      acted // empty if no plan requires actions
	identities record.Identities
}

// nowhere returns the end of a packet that the ingress pipe drops.
func (pk *packet) nowhere(why drop.Reason) recordEnd {
	return recordEnd{
		passed: pk.sofar(), out: record.NoPort, lane: CPUPort, queue: record.NoQueue, trap: pk.trapOf(why), why: why,
	}
}

// trapOf returns the trap of a drop with the given reason: the trap that removed the packet from forwarding. If a
// policer dropped the packet, it is the trap that requested the CPU's copy.
func (pk *packet) trapOf(why drop.Reason) config.Trap {
	switch {
	case why.OfTrap():
		return pk.removedBy
	case why == drop.Policer:
		return pk.trap
	}
	return config.TrapNone
}

// atCPU returns the end of a copy for the CPU.
func (pk *packet) atCPU(queue uint8, why drop.Reason) recordEnd {
	return recordEnd{passed: pk.sofar(), out: record.NoPort, lane: CPUPort, queue: queue, trap: pk.trap, why: why}
}

// endsAt returns the end of a copy at a port.
func (cp *copyOf) endsAt(p *port, was passed, why drop.Reason) recordEnd {
	t := recordEnd{passed: was, out: p.number, lane: p.id, queue: record.NoQueue, why: why}
	if cp.asked {
		t.queue = cp.queue
	}
	return t
}

// A passed is a trail in the form of the packet path: tables of the program are numbered by [pipe.PHV]'s Ran.
type passed struct {
	fixed    describe.Marks
	ran, hit [pipe.TapWords]uint64
}

// sofar returns the tables that a packet, or a copy of it in a queue, has run so far.
func (pk *packet) sofar() passed {
	p := passed{fixed: pk.fixed}
	if pk.run != nil {
		p.ran, p.hit = pk.run.ran, pk.run.hit
	}
	return p
}

// A mirroring is a copy in the egress pipe that is copied at its end: for mirror sessions and samplers, or for records.
type mirroring struct {
	at     Cycle
	set    uint64
	copy   copyOf
	due    *sampleDue
	why    drop.Reason // reason if the pipe drops a copy that samplers have chosen; otherwise zero
	record *recorded   // set for record copies; nil for mirror copies and samples
}

// tos returns a traffic class with the marks in its DSCP.
func (m *marks) tos(tos uint8) uint8 { return tos&^(m.dscpMask<<2) | m.dscp<<2 }

// sfd returns the exact timestamp point of a copy that is leaving.
func (cp *copyOf) sfd() instant {
	if cp.frac > 0 {
		return instant{cp.at - 1, cp.frac}
	}
	return instant{cycle: cp.at}
}

// An ifaMatch is a packet's state of the IFA entry that it has hit.
type ifaMatch struct {
	action *ifaAction // nil if there is none
	values *ifaValues
}

// An ifaWork is IFA's work on a copy.
type ifaWork struct {
	values  *ifaValues
	of      *ifaInt    // object of a stripped copy
	counts  *IFACounts // nil if results are not counted
	result  ifa.Count
	place   ifa.Place // place of its parts; to initiate, that of the transport header and of the bytes after it
	longer  int       // bytes by which the copy becomes longer
	reports uint64    // mirror sessions that get it with the stack, by index
	out     uint16    // number of the egress port
	speed   ifa.Speed // speed of the egress port
	queue   uint8     // queue of the port out; depth is the number of bytes in it
	depth   uint32
	leaves  Cycle
}

// cameIn returns the VLAN in which the packet arrived, 0 at a router interface of a port or LAG. vid does not suffice,
// because routing changes it.
func (pk *packet) cameIn() uint16 {
	switch {
	case pk.router == nil:
		return pk.vid
	case pk.router.vlan != nil:
		return pk.router.vlan.id
	}
	return 0
}

// tooLong counts a copy that is too long because of the header added to its packet.
func (cp *copyOf) tooLong() {
	if cp.mirror == nil {
		cp.pk.tooLong()
	}
}

// tooLong counts a packet that is too long because of its added header.
func (pk *packet) tooLong() {
	if pk.noted&(notedOuter|notedOuterDone) == notedOuter|notedOuterDone && !pk.met.outer.ends {
		pk.met.outerCounts.TooLong++
	}
}

// An outer is the outer header of a flow index. It does not change once it is created.
type outer struct {
	ends     bool
	src, dst [2]uint64
	id       uint32
	header   [outerSize]byte // the header as added, without lengths and next header
}
