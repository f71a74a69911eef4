package engine

import (
	"tamtam/saisim/config"
)

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
	notedUsual // it was usual, and has noted nothing
)

// A met is what a packet has met in the tables of the ingress pipe, as cheap to write as may be: what it points to are
// things whose names never change. It is read when the packet, or a copy of it, ends.
type met struct {
	router             *rif // at chip.port
	vid                uint16
	learnVID, fdbVID   uint16
	early              uint8 // looks in front of chip.port
	earlyTraps, nTraps uint8 // at admission; all
	learnAct, fdbAct   actions
	routeAct           actions
	v4                 bool
	traps              [mostTraps]trapping
	learnMAC, fdbMAC   uint64
	learnAt, fdbTo     *bridgePort
	dest               *dest
	hop                *adjacency
	hopMAC             uint64
	policer            config.ID
	looks              looks
}

// Bounds of what is noted of a packet. A packet meets at most two traps at admission, one of learning and one of routing.
const (
	mostTraps = 4
	mostLooks = 6
)

type trapping struct {
	trap config.Trap
	act  actions
}

// looks are those into ACL tables, the first ones.
type looks struct {
	n    uint8
	more bool // there were others behind
	of   [mostLooks]aclLook
}

type aclLook struct {
	table *aclTable
	entry *aclEntry // nil: none hits
}

func (l *looks) add(t *aclTable, e *aclEntry) {
	if l.n == mostLooks {
		l.more = true
		return
	}
	l.of[l.n] = aclLook{t, e}
	l.n++
}

// begin forgets what is not said of a packet by [noted].
func (m *met) begin() { m.early, m.earlyTraps, m.nTraps, m.looks.n, m.looks.more = 0, 0, 0, 0, false }

func (m *met) addTrap(t config.Trap, act actions) {
	if m.nTraps < mostTraps {
		m.traps[m.nTraps] = trapping{t, act}
		m.nTraps++
	}
}

// note begins the notes of a packet that a calm port has admitted.
func (pk *packet) note() {
	pk.met.begin()
	pk.met.router, pk.met.vid, pk.noted = nil, pk.vid, notedPort|notedAdmitted
}

func (pk *packet) noteAdmission() {
	pk.met.router, pk.met.vid = pk.router, pk.vid
	if pk.noted = notedPort; !pk.barred {
		pk.noted = notedPort | notedAdmitted
	}
}

func (pk *packet) noteLearning(e *fdbEntry) {
	m := &pk.met
	m.learnVID, m.learnMAC = pk.vid, pk.h.smac
	if pk.noted |= notedLearning; e != nil {
		pk.noted |= notedLearned
		m.learnAt, m.learnAct = e.to, e.act
	}
}

func (pk *packet) noteFDB(vid uint16, mac uint64, e *fdbEntry) {
	m := &pk.met
	m.fdbVID, m.fdbMAC = vid, mac
	if pk.noted |= notedFDB; e != nil {
		pk.noted |= notedAddress
		m.fdbTo, m.fdbAct = e.to, e.act
	}
}

// noteKnown is noteLearning and noteFDB for a packet in the short ways.
func (pk *packet) noteKnown(from, to *bridgePort) {
	m := &pk.met
	m.learnVID, m.learnMAC, m.learnAt, m.learnAct = pk.vid, pk.h.smac, from, 0
	m.fdbVID, m.fdbMAC, m.fdbTo, m.fdbAct = pk.vid, pk.h.dmac, to, 0
	pk.noted |= notedLearning | notedLearned | notedFDB | notedAddress
}

func (pk *packet) noteRoute(v4 bool, d *dest) {
	pk.met.v4 = v4
	if pk.noted |= notedRoute; d != nil {
		pk.noted |= notedPrefix
		pk.met.dest, pk.met.routeAct = d, d.act
	}
}

func (pk *packet) noteHop(hop *adjacency) {
	pk.met.hop = hop
	if pk.noted |= notedHop; hop.known {
		pk.noted |= notedNeighbor
		pk.met.hopMAC = hop.mac
	}
}

// doors are the names of bridge ports by their numbers, the last ones. A packet that keeps a number is long gone when
// so many bridge ports have been made.
type doors struct {
	n     uint32
	names [numDoors]door
}

const numDoors = 256

type door struct {
	number uint32
	name   config.ID
}

// of returns the name of a bridge port, false if it is not known any more.
func (d *doors) of(number uint32) (config.ID, bool) {
	x := &d.names[number%numDoors]
	return x.name, x.number == number && number != 0
}
