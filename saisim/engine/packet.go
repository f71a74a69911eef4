package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/altmark"
	"tamtam/tam/ifa"
	"tamtam/tam/record"
)

// A packet is a frame in the chip. Copies of it (floods, punts) share it. It waits hundreds of cycles
// between two places, and its memory is fetched again at each: what every place wants is together, and
// what only the ingress pipe wants of most packets is elsewhere.
type packet struct {
	data []byte // as received, maybe cut
	*passing
	flight
	lateBy Cycle // if late; else what it was of another packet
}

// A flight is what a packet is on its way; the next one begins without anything of it.
type flight struct {
	id     uint64 // the sender's name for it
	number uint64 // the chip's own
	rx     Cycle  // ingress timestamp point
	length int    // before it was cut
	refs   int16
	in     PortID
	inN    uint16      // number of the ingress port in records
	vid    uint16      // VLAN that the frame is in
	copies uint16      // made so far
	tagged bool        // carries the tag of vid (or a priority tag)
	tc     uint8       // traffic class
	why    drop.Reason // if it goes nowhere
	edited bool        // edit changes something
	// plain says that it goes to one bridge port only, no program runs and no trail is kept.
	plain bool
	// usual says that it is plain and no station of the ingress pipe has looked at its headers: what is in passing
	// is empty. Whoever wants it calls [packet.whole] before.
	usual bool
	origin

	to  *bridgePort // that a plain packet goes to
	own copyOf      // the first copy
}

// An origin is what is kept of where a packet comes from.
type origin struct {
	late bool // rx is later than the packet came, by lateBy
	ecn  bool // its IP header has a codepoint of ECN
	// pushPriority is the priority of a tag that the egress adds.
	pushPriority uint8
	chosen       bool   // it is watched
	from         uint32 // number of the bridge port that a usual packet came from
}

// A passing is what the ingress pipe knows of a packet that passes, and what it has met there, which is not emptied.
type passing struct {
	transit
	met met
}

// A transit is what the ingress pipe knows of a packet that passes; the next one begins without anything of it.
type transit struct {
	verdict verdict
	asked
	run     *passage   // of a program; nil: there is none
	graph   *chipGraph // that it met; nil: its trail is not kept
	counted bool       // it met a plan, so that its path is counted
	askers
	marked
	act actions // traps and ACLs together
	trapping
	barred  bool // its port may not send it
	aclDrop bool
	noLearn bool

	source   *bridgePort
	lag      *lag      // ingress LAG
	router   *rif      // it came in at; nil: bridged only
	redirect *aclEntry // where an ACL sends it; nil: nowhere
	meta     uint32    // ACL user metadata
	edit     edit      // of the copies that are forwarded
	h        headers
}

// marked are the fixed functions that a packet has run, and what of its [met] is said.
type marked struct {
	fixed             describe.Marks
	noted             noted
	looks, early      uint8 // into ACL tables, and how many of them were in front of chip.port
	traps, earlyTraps uint8 // all, and those at admission
	moreLooks         bool  // there were others behind
}

// noted says which parts of met are said of a packet.
type noted uint16

const (
	notedPort noted = 1 << iota
	notedAdmitted
	notedLearning
	notedLearned // the source address was known
	notedRoute
	notedPrefix // there is one
	notedHop
	notedNeighbor // it is known
	notedFDB
	notedAddress // there is an entry
	notedProgram
	notedPolicer
	notedKnown     // it came from and goes to addresses that are known, and its headers are as they were: see origin
	notedUsual     // it was usual, and has noted nothing
	notedOuter     // it has met a header that is put around packets; noted whoever wants to know
	notedOuterDone // and has got it, or had it taken off
)

// A met is what a packet has met in the tables of the ingress pipe, as cheap to write as may be: what it points to are
// things whose names never change. It is read when the packet, or a copy of it, ends. What most packets write is in one
// cache line, with the end of transit.
type met struct {
	router         *rif // at chip.port
	dest           *dest
	hop            *adjacency
	hopMAC         uint64
	vid            uint16
	routeAct       actions
	v4             bool
	traps          [mostTraps]trapLook
	outerGrew      int16 // bytes that it is longer for a header, if notedOuterDone
	looks          [mostLooks]aclLook
	learned, known addressLook
	policer        config.ID
	outer          *outer
	outerCounts    *altmark.OuterCounts
	ran            *programLooks   // made with the first program
	outerCame      *[keptHead]byte // first bytes before outerGrew
}

// received is a packet without a header that it has got here, or with one that was taken off: the first bytes, which
// may be marked, and how long it was.
func (pk *packet) received() (data []byte, length int) {
	if pk.noted&notedOuterDone == 0 {
		return pk.data, pk.length
	}
	length = pk.length - int(pk.met.outerGrew)
	return pk.met.outerCame[:min(len(pk.data)-int(pk.met.outerGrew), keptHead)], length
}

// An addressLook is one for an address in the FDB; to and act mean something if it is there.
type addressLook struct {
	vid uint16
	act actions
	mac uint64
	to  *bridgePort
}

// Bounds of what is noted. A packet meets at most two traps at admission, one of learning and one of routing.
const (
	mostTraps = 4
	mostLooks = 5
)

type trapLook struct {
	trap config.Trap
	act  actions
}

// looks are those of a copy into egress ACL tables, the first ones.
type looks struct {
	n    uint8
	more bool // there were others behind
	of   [mostLooks]aclLook
}

// programLooks are what a packet, or a copy in the egress pipe, has found in the tables of a program.
type programLooks struct {
	program *pipe.Compiled // nil: none ran
	of      pipe.Looks
}

// begin has the tables of a program note what they find.
func (l *programLooks) begin(program *pipe.Compiled) *pipe.Looks {
	l.program = program
	l.of.Begin()
	return &l.of
}

// An egressMet is what a copy has met in the tables of the egress pipe.
type egressMet struct {
	looks
	ran programLooks
}

func (m *egressMet) empty() { m.n, m.more, m.ran.program = 0, false, nil }

type aclLook struct {
	table *aclTable
	entry *aclEntry // nil: none hits
}

// trapping are the traps of a packet, the first of each kind.
type trapping struct {
	trap config.Trap // wants a copy
	took config.Trap // takes it out of forwarding
}

// asked is what entries want of the copies of a packet.
type asked struct {
	stamp *stampAction
	ifa   ifaMatch
	ipMTU uint32 // of the router interface that it leaves by; 0: it is not routed
}

// askers are who else wants a packet, or to hear of it.
type askers struct {
	mirrors uint64     // ingress mirror sessions, by index
	due     *sampleDue // the CPU, by samplers; nil: none has chosen it
	record  *choice    // sessions that record it; nil: none
	// events are those to which an ACL entry has its drops reported; eventsOf is which they were.
	events   eventSet
	eventsOf uint32
}

// sampled reports whether a sampler has chosen it; then it is neither plain nor usual.
func (p *passing) sampled() bool { return p.due != nil }

// whole fills what is in passing of a usual packet that meets something unusual after the ingress pipe.
func (p *packet) whole() {
	if p.usual {
		p.usual, p.noted = false, notedUsual
		p.h.parse(p.data, p.length) // TCP or UDP
	}
}

// cut reports whether a capture left some of the frame out.
func (p *packet) cut() bool { return len(p.data) < p.length }

// endUnknown reports whether a packet's end is not known, so that nothing is put into it or behind it: it is cut, or
// the length in its IP header cannot be right.
func (p *packet) endUnknown() bool { return p.cut() || p.h.flags&flagNoLength != 0 }

// An entering packet enters the ingress pipe at a cycle.
type entering struct {
	at Cycle
	pk *packet
	p  *port
	on bool // it is admitted
	// usual says that it has taken the shortcut through admission.
	usual bool
}

// A verdict is what the ingress pipe decides to do with a packet.
type verdict struct {
	kind destination
	cpu  bool        // a copy goes to the CPU as well
	to   *bridgePort // toBridgePort
	port *port       // toPort: redirected
	lag  *lag        // toLAG: redirected
	vlan *vlan       // toVLAN
}

type destination uint8

const (
	toNobody     destination = iota
	toBridgePort             // known unicast
	toVLAN                   // flood
	toPort
	toLAG
)

// A copyOf is one copy of a packet on its way to one port; the first is in the packet itself. Before that it is the
// packet on its way to the ingress pipe.
type copyOf struct {
	pk *packet
	// next is the link of the list that the copy is in: of a wheel, where it is due at a cycle, at a lane.
	next    *copyOf
	at      Cycle
	queued  Cycle        // when it was
	session *stampAction // that stamps it; nil: none
	depth   uint32       // bytes in its queue when it was queued, without it
	lane    PortID
	number  uint16 // 1 for the first copy made
	tag     tagAction
	queue   uint8
	result  stampResult // what the session did
	asked   bool        // queue was asked for room
	raw     bool        // leaves as it came in
	ce      bool        // to be marked: congestion experienced
	watched bool        // the port has its trail, for an observer
	same    bool        // leaves as it came in, but for a record, and with all of the packet

	frac   uint64       // at is the timestamp point, frac/den cycles after the cycle before; 0: at it
	mirror *mirrorEncap // it is a copy for a mirror session
	luggage
}

// luggage is what few copies take along.
type luggage struct {
	head *heading   // header fields as it leaves; nil: as the packet and its edit have them
	ifa  *ifaWork   // nil: nothing is done
	met  *egressMet // of a watched packet behind the egress pipe; nil: it is not kept
}

// taggedLen is the length of a copy once its tag is as it shall be.
func (cp *copyOf) taggedLen() int {
	switch cp.tag.op {
	case tagStrip:
		return cp.pk.length - 4
	case tagPush:
		return cp.pk.length + 4
	}
	return cp.pk.length
}

// leavingLen is the length of the frame that leaves, without a record.
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

// buffered is what a copy takes of the buffer: its length as it came in, that of
// a mirror copy as it leaves.
func (cp *copyOf) buffered() int {
	if cp.mirror != nil {
		return cp.leavingLen()
	}
	return cp.pk.length
}

// changes reports whether a copy leaves otherwise than it came in, without a record.
func (cp *copyOf) changes() bool {
	return cp.pk.edited || cp.ifa != nil || cp.tag.op != tagKeep || cp.mirror != nil || cp.head != nil || cp.ce
}

// A tagAction says what the egress does to a copy's VLAN tag.
type tagAction struct {
	op  tagOp
	vid uint16
}

type tagOp uint8

const (
	tagKeep  tagOp = iota
	tagStrip       // remove the outer tag
	tagPush        // insert one
	tagSet         // replace the outer tag's VLAN id
)

// An edit is what the egress pipe changes in a packet, apart from its VLAN tag.
type edit struct {
	dmac, smac uint64 // routed
	routed     bool   // MAC addresses replaced, TTL one less
	prefix     uint8  // length of that by which it is routed; 0: an ACL entry sends it
	hop        *adjacency
	setDSCP    bool
	dscp       uint8
	marks      marks // of alternate marking
	mss        mssEdit
}

// marks are the bits that a copy leaves with: those in the masks.
type marks struct {
	dscpMask, dscp         uint8
	reservedMask, reserved bool
	optionMask, option     uint8
}

// An mssEdit is an MSS that is lowered; its value is 0 if none is. at and tcp are as in mssOption.
type mssEdit struct{ value, at, tcp uint16 }

// What became of a copy that a tail-stamping session matched; the order is that
// of the words in a counter window.
type stampResult uint8

const (
	stampDone         stampResult              = iota // left with a record
	stampNotTCPUDP                                    // not TCP or UDP
	stampNotEthernet2                                 // 802.3 with a length field
	stampCut                                          // cut by a capture
	stampMTU                                          // with the record it would exceed the MTU
	NumStampResults   = tailstamp.CounterWords        // the last ones are not of copies
)

// A stampAction is the tail-stamping that an ACL entry asks for. It does not
// change once it is made; packets in the chip keep the one they met.
type stampAction struct {
	switchID uint32
	counter  *aclCounter // nil: not counted
}

func (s *stampAction) count(r stampResult) {
	if s.counter != nil {
		s.counter.stamps[r]++
	}
}

// A passage is what a packet carries of its program.
type passage struct {
	program   *pipe.Compiled
	bridge    [pipe.BridgeWords]uint64
	rewritten bool // the ingress pipe has written header fields, which are in the packet's headers
	// ran and hit are what the ingress pipe leaves of them in the PHV, if the packet's
	// trail is kept.
	ran, hit [pipe.TapWords]uint64
	acted    acted // in the ingress pipe, if a plan that records the packet asks for it
}

// A heading holds the header fields of a copy as it leaves.
type heading struct {
	dmac, smac uint64
	tos, ttl   uint8
	reserved   bool
}

// A choice are the sessions that record a packet, by the index of their mirror
// session.
type choice struct {
	n        int
	acts     bool // the plan of one of them asks for actions
	identify bool // one of them wants identities
	of       [profile.MaxMirrors]struct {
		mirror  int
		session *recordSession
	}
}

// A taken is what a record says of where its packet, or copy, ended.
type taken struct {
	passed
	out   uint16 // number of the port
	lane  PortID // its lane; CPUPort: the CPU or none
	queue uint8  // of the port; record.NoQueue: none
	trap  config.Trap
	why   drop.Reason
	// inside says that it has been in the egress pipe.
	inside bool
}

// acted are the actions of tables, as [pipe.PHV.Acted] has them.
type acted [64 * pipe.TapWords]uint8

// A recorded is a taken with the identities of what the packet, or copy, has met, if a session wants them.
type recorded struct {
	taken
	acted      acted // if a plan asks for it
	identities record.Identities
}

// nowhere is where a packet ends that the ingress pipe drops.
func (pk *packet) nowhere(why drop.Reason) taken {
	return taken{
		passed: pk.sofar(), out: record.NoPort, lane: CPUPort, queue: record.NoQueue, trap: pk.trapOf(why), why: why,
	}
}

// trapOf is the trap that took a packet out of forwarding which is dropped for some reason, or that wanted the copy for
// the CPU which is.
func (pk *packet) trapOf(why drop.Reason) config.Trap {
	switch {
	case why.OfTrap():
		return pk.took
	case why == drop.Policer:
		return pk.trap
	}
	return config.TrapNone
}

// atCPU is where a copy for the CPU ends.
func (pk *packet) atCPU(queue uint8, why drop.Reason) taken {
	return taken{passed: pk.sofar(), out: record.NoPort, lane: CPUPort, queue: queue, trap: pk.trap, why: why}
}

// endsAt is where a copy ends at a port.
func (cp *copyOf) endsAt(p *port, was passed, why drop.Reason) taken {
	t := taken{passed: was, out: p.number, lane: p.id, queue: record.NoQueue, why: why}
	if cp.asked {
		t.queue = cp.queue
	}
	return t
}

// A passed is a trail as the packet path has it: tables of the program are numbered
// by [pipe.PHV]'s Ran.
type passed struct {
	fixed    describe.Marks
	ran, hit [pipe.TapWords]uint64
}

// sofar is what a packet, or a copy of it in a queue, has passed by now.
func (pk *packet) sofar() passed {
	p := passed{fixed: pk.fixed}
	if pk.run != nil {
		p.ran, p.hit = pk.run.ran, pk.run.hit
	}
	return p
}

// A mirroring is a copy in the egress pipe of which mirror sessions and samplers take copies
// at its end, or one of which there are record copies.
type mirroring struct {
	at    Cycle
	set   uint64
	copy  copyOf
	due   *sampleDue
	why   drop.Reason // it is dropped in the pipe, and samplers have chosen it all the same; 0: it is not
	taken *recorded   // record copies; nil: mirror copies, and samples
}

// tos returns a traffic class with the marks in its DSCP.
func (m *marks) tos(tos uint8) uint8 { return tos&^(m.dscpMask<<2) | m.dscp<<2 }

// sfd is the exact timestamp point of a copy that is leaving.
func (cp *copyOf) sfd() instant {
	if cp.frac > 0 {
		return instant{cp.at - 1, cp.frac}
	}
	return instant{cycle: cp.at}
}

// An ifaMatch is what a packet keeps of the entry that it has hit.
type ifaMatch struct {
	action *ifaAction // nil: none
	values *ifaValues
}

// An ifaWork is what is done to a copy.
type ifaWork struct {
	values  *ifaValues
	of      *ifaInt    // of what is stripped
	counts  *IFACounts // nil: not counted
	result  ifa.Count
	place   ifa.Place // of its parts; to initiate: of the transport header, and behind that
	longer  int       // bytes
	reports uint64    // mirror sessions that get it with the stack, by index
	out     uint16    // number of the port that it leaves by
	speed   ifa.Speed // of that
	queue   uint8     // there, and the bytes that were in it
	depth   uint32
	leaves  Cycle
}

// cameIn is the VLAN that the packet came in, 0 at a router interface of a port or LAG. One that is routed has another
// by now.
func (pk *packet) cameIn() uint16 {
	switch {
	case pk.router == nil:
		return pk.vid
	case pk.router.vlan != nil:
		return pk.router.vlan.id
	}
	return 0
}

// tooLong counts a copy that is too long with the header that its packet has got.
func (cp *copyOf) tooLong() {
	if cp.mirror == nil {
		cp.pk.tooLong()
	}
}

// tooLong counts a packet that is too long with the header that it has got.
func (pk *packet) tooLong() {
	if pk.noted&(notedOuter|notedOuterDone) == notedOuter|notedOuterDone && !pk.met.outer.ends {
		pk.met.outerCounts.TooLong++
	}
}

// An outer is a header of an index. It does not change once it is made.
type outer struct {
	ends     bool
	src, dst [2]uint64
	id       uint32
	header   [outerSize]byte // as it is put in front, lengths and what comes next left out
}
