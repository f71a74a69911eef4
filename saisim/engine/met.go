package engine

import "tamtam/saisim/config"

// looked notes a lookup of a packet in an ACL table.
func (pk *packet) looked(t *aclTable, e *aclEntry) {
	if pk.looks == mostLooks {
		pk.moreLooks = true
		return
	}
	pk.met.looks[pk.looks] = aclLook{t, e}
	pk.looks++
}

func (l *looks) add(t *aclTable, e *aclEntry) {
	if l.n == mostLooks {
		l.more = true
		return
	}
	l.of[l.n] = aclLook{t, e}
	l.n++
}

func (pk *packet) noteTrap(t config.Trap, act actions) {
	if pk.traps < mostTraps {
		pk.met.traps[pk.traps] = trapLook{t, act}
		pk.traps++
	}
}

// note begins the notes of a packet that a shortcut has admitted. r is its router interface, nil if there is none.
func (pk *packet) note(r *rif) {
	pk.met.router, pk.met.vid, pk.noted = r, pk.vid, notedPort|notedAdmitted
}

func (pk *packet) noteAdmission() {
	pk.met.router, pk.met.vid = pk.router, pk.vid
	if pk.noted = notedPort; !pk.barred {
		pk.noted = notedPort | notedAdmitted
	}
}

func (pk *packet) noteLearning(e *fdbEntry) {
	x := &pk.met.learned
	x.vid, x.mac = pk.vid, pk.h.smac
	if pk.noted |= notedLearning; e != nil {
		pk.noted |= notedLearned
		x.to, x.act = e.to, e.act
	}
}

func (pk *packet) noteFDB(vid uint16, mac uint64, e *fdbEntry) {
	x := &pk.met.known
	x.vid, x.mac = vid, mac
	if pk.noted |= notedFDB; e != nil {
		pk.noted |= notedAddress
		x.to, x.act = e.to, e.act
	}
}

// noteRouted does noteRoute and noteHop for an IPv4 packet that takes a shortcut to a known neighbour.
func (pk *packet) noteRouted(d *dest, hop *adjacency) {
	m := &pk.met
	m.v4, m.dest, m.routeAct, m.hop, m.hopMAC = true, d, d.act, hop, hop.mac
	pk.noted |= notedRoute | notedPrefix | notedHop | notedNeighbor
}

// noteLearnt does noteLearning for a packet that takes a shortcut, and whose source address has an entry.
func (pk *packet) noteLearnt(e *fdbEntry, mac uint64) {
	pk.met.learned = addressLook{vid: pk.vid, mac: mac, to: e.to, act: e.act}
	pk.noted |= notedLearning | notedLearned
}

// noteKnown does noteLearning and noteFDB for a packet that takes a shortcut.
func (pk *packet) noteKnown(from, to *bridgePort) {
	m := &pk.met
	m.learned = addressLook{vid: pk.vid, mac: pk.h.smac, to: from}
	m.known = addressLook{vid: pk.vid, mac: pk.h.dmac, to: to}
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
