package engine

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
)

// A Kept is the end of a packet, or of one copy of it, as the chip keeps it. The packet is one of those dropped last,
// or was watched. The fields shared with [Drop] have the same meaning. Data is the first bytes of the frame and Len its
// length, without a header that the chip added, or with one that it removed.
type Kept struct {
	Drop
	What What // MomentDropped, MomentSent or MomentPunted; Why is valid if it is dropped or Punted
	// Path holds its lookups in tables, as in [Engine.Trace], with the names that entries had then.
	Path []Finding
	// Unkept is the set of parts of Path that are unknown.
	Unkept Unkept
}

// Clone returns a copy with memory of its own.
func (k *Kept) Clone() Kept {
	c := *k
	c.Data, c.Path = bytes.Clone(k.Data), slices.Clone(k.Path)
	return c
}

// Unkept is a set of parts of a path that are not kept, as bits.
type Unkept uint8

// Parts of a path.
const (
	UnkeptProgram Unkept = 1 << iota // some tables of a program, because the chip has seen too many names
	UnkeptEgress                     // tables of the egress pipe, because the frame was dropped after it
	UnkeptMore                       // lookups beyond the first ones, for which there was no space
	UnkeptEntry                      // the FDB entry of the source address
)

// Sizes of kept data.
const (
	keptHead  = 112 // bytes of a frame: tags and an IPv4 header with options, or IPv6 with extensions, and ports
	keptNotes = 20  // lookups; in ACL tables of one pipe at most mostLooks, in those of a program pipe.NotedTables
	keptPiece = 512 // number of ends for which memory is allocated at a time
)

// A note is a [Finding] in compact form. The meaning of a, b, x and y depends on the table.
type note struct {
	table noteTable
	flags noteFlags
	x     uint16
	y     uint32
	a, b  uint64
}

type noteTable uint8

const (
	notePreIngress noteTable = iota
	notePort
	noteTrap
	noteACL
	noteLearning
	noteRoute4
	noteRoute6
	noteNextHop
	noteFDB
	notePolicer
	noteQueue
	noteEgressACL
	noteEncap
	noteDecap
	noteTunnel
	noteIngressProgram
	noteEgressProgram
	noteGroup
	noteTrim
)

func (t noteTable) String() string {
	return [...]string{
		TablePreIngress, describe.Port.String(), describe.Trap.String(), describe.ACL.String(),
		describe.Learning.String(), describe.IPv4Route.String(), describe.IPv6Route.String(),
		describe.NextHop.String(), describe.FDB.String(), TablePolicer, TableQueue, describe.EgressACL.String(),
		TableEncap, TableDecap, TableTunnel,
		"ingress.", "egress.", // prefixes of the table's own name
		TableGroup, TableTrim,
	}[t]
}

type noteFlags uint8

const (
	flagHit noteFlags = 1 << iota
	flagDrop
	flagCopy
	flagCancel
)

func hitIf(hit bool, a actions) (f noteFlags) {
	if !hit {
		return 0
	}
	return flagHit | noteFlags(a&7)<<1
}

// A path holds the notes about one ended packet or copy.
type path struct {
	n      uint8
	unkept Unkept
	hop    [16]byte  // address of the next hop
	vr     config.ID // virtual router of the route
	of     [keptNotes]note
}

func (p *path) add(n note) {
	if p.n == keptNotes {
		p.unkept |= UnkeptMore
		return
	}
	p.of[p.n] = n
	p.n++
}

// note notes the packet's lookups in the ingress pipe.
func (p *path) note(pk *packet, doors *doors, names *tableNames) {
	p.n, p.unkept = 0, 0
	switch {
	case pk.usual && pk.noted == 0 || pk.noted&notedUsual != 0:
		p.noteUsual(pk, doors)
	default:
		p.noteMet(pk, doors, names)
	}
	if pk.group > 0 {
		p.add(note{table: noteGroup, flags: hitIf(pk.why != drop.PriorityGroup, 0), x: uint16(pk.in), y: pk.met.groupCells,
			a: uint64(pk.group - 1)})
	}
}

// noteUsual does note for a packet without notes of its own, because all its lookups were usual.
func (p *path) noteUsual(pk *packet, doors *doors) {
	p.add(note{table: notePort, flags: flagHit, x: pk.vid})
	p.noteKnown(pk, doors)
}

// noteKnown notes learning and the FDB for a packet between known addresses whose headers are unchanged.
func (p *path) noteKnown(pk *packet, doors *doors) {
	from, ok := doors.of(pk.from)
	if !ok {
		p.unkept |= UnkeptEntry
	}
	smac, dmac := binary.BigEndian.Uint64(pk.data[6:])>>16, binary.BigEndian.Uint64(pk.data)>>16
	p.add(note{table: noteLearning, flags: flagHit, x: pk.vid, a: smac, b: uint64(from)})
	p.add(note{table: noteFDB, flags: flagHit, x: pk.vid, a: dmac, b: uint64(pk.to.name)})
}

func (p *path) noteMet(pk *packet, doors *doors, names *tableNames) {
	m := &pk.met
	var ran *programLooks
	if pk.noted&notedProgram != 0 {
		ran = m.ran
	}
	if pk.noted&notedPort != 0 {
		p.noteAdmission(pk, ran, names)
	}
	if pk.noted&notedKnown != 0 {
		p.noteKnown(pk, doors)
	}
	if pk.noted&notedLearning != 0 {
		p.noteAddress(noteLearning, &m.learned, pk.noted&notedLearned != 0)
	}
	late := pk.earlyTraps
	if pk.noted&notedPort != 0 && late < pk.traps && m.traps[late].trap == config.TrapStaticMove {
		p.noteTraps(m.traps[late : late+1])
		late++
	}
	p.noteRouting(pk)
	if pk.noted&notedFDB != 0 {
		p.noteAddress(noteFDB, &m.known, pk.noted&notedAddress != 0)
	}
	if pk.noted&notedPort != 0 {
		p.noteTraps(m.traps[late:pk.traps])
	}
	p.noteProgram(noteIngressProgram, ran, names, partLast, CPUPort)
}

func (p *path) noteAddress(table noteTable, l *addressLook, hit bool) {
	x := note{table: table, x: l.vid, a: l.mac}
	if hit {
		x.flags, x.b = hitIf(true, l.act), uint64(l.to.name)
	}
	p.add(x)
}

// noteAdmission notes the lookups before learning and forwarding.
func (p *path) noteAdmission(pk *packet, ran *programLooks, names *tableNames) {
	m := &pk.met
	p.noteLooks(notePreIngress, m.looks[:pk.early], 0)
	x := note{table: notePort}
	if pk.noted&notedAdmitted != 0 {
		x.flags, x.x, x.a = flagHit, m.vid|m.router.tag(), uint64(m.router.place())
	}
	p.add(x)
	p.noteTraps(m.traps[:pk.earlyTraps])
	p.noteProgram(noteIngressProgram, ran, names, partFirst, CPUPort)
	p.noteLooks(noteACL, m.looks[pk.early:pk.looks], 0)
	p.noteProgram(noteIngressProgram, ran, names, partMiddle, CPUPort)
	if pk.moreLooks {
		p.unkept |= UnkeptMore
	}
	if pk.noted&notedOuter != 0 {
		p.add(m.outer.note(pk.noted&notedOuterDone != 0))
	}
}

func (p *path) noteRouting(pk *packet) {
	m := &pk.met
	if pk.noted&notedEnd != 0 {
		dst := wordsOf(m.end.dst)
		p.add(note{table: noteTunnel, flags: hitIf(pk.noted&notedEndDone != 0, 0), x: uint16(m.end.dst.BitLen()),
			a: dst[0], b: dst[1]})
	}
	if pk.noted&notedRoute != 0 {
		if p.vr = m.router.vr.name; pk.noted&notedEndDone != 0 {
			p.vr = m.end.tunnel.overlay.vr.name
		}
		x := note{table: noteRoute6}
		if m.v4 {
			x.table = noteRoute4
		}
		if pk.noted&notedPrefix != 0 {
			x.flags, x.x = hitIf(true, m.routeAct), uint16(m.dest.prefix.Bits())
			b := m.dest.prefix.Addr().As16()
			x.a, x.b = binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])
		}
		p.add(x)
	}
	if pk.noted&notedHop != 0 {
		p.hop = m.hop.ip.As16()
		x := note{table: noteNextHop, a: uint64(m.hop.rif.place()), x: uint16(m.hop.ip.BitLen()), y: uint32(m.hop.rif.outer)}
		if pk.noted&notedNeighbor != 0 {
			x.flags, x.b = flagHit, m.hopMAC
		}
		p.add(x)
	}
}

// noteProgram notes the lookups in the tables of one part of a pipe. ran is nil if no program ran.
func (p *path) noteProgram(as noteTable, ran *programLooks, names *tableNames, part uint8, out PortID) {
	if ran == nil || ran.program == nil {
		return
	}
	for i, t := range names.tables(ran.program, as == noteEgressProgram) {
		entry, hit, ran := ran.of.At(i)
		switch {
		case t.part != part || !ran:
		case t.name == mostNames:
			p.unkept |= UnkeptProgram
		default:
			p.add(note{table: as, flags: hitIf(hit, 0), x: uint16(out), y: entry, a: uint64(t.name)})
		}
	}
	if part == partLast && ran.of.More() {
		p.unkept |= UnkeptMore
	}
}

func (p *path) noteTraps(traps []trapLook) {
	for _, t := range traps {
		p.add(note{table: noteTrap, flags: hitIf(true, t.act), x: uint16(t.trap)})
	}
}

// noteLooks notes lookups in ACL tables. out is the port of a copy in the egress pipe.
func (p *path) noteLooks(table noteTable, all []aclLook, out PortID) {
	for _, l := range all {
		x := note{table: table, a: uint64(l.table.id), x: uint16(out)}
		if l.entry != nil {
			x.flags, x.b = hitIf(true, l.entry.act), uint64(l.entry.id)
		}
		p.add(x)
	}
}

// noteCopy adds the lookups of one copy: the CPU's policer, its queue, and the tables of the egress pipe. egress is nil
// if there are no egress lookups, or if they are unknown.
func (p *path) noteCopy(cp *copyOf, d *Drop, egress *egressMet, names *tableNames) {
	pk := cp.pk
	if pk.noted&notedPolicer != 0 && d.Why == drop.Policer {
		p.add(note{table: notePolicer, b: uint64(pk.met.policer)})
	}
	if d.Queued {
		x := note{table: noteQueue, flags: hitIf(!d.Why.AtQueue(), 0), x: uint16(d.Port), y: d.Depth, a: uint64(d.Queue)}
		if cp.trimmed && cp.mirror == nil {
			t := &pk.met.trim
			p.add(note{table: noteQueue, x: x.x, y: t.depth, a: uint64(t.queue)})
			x.table, x.b = noteTrim, uint64(t.kept)
		}
		p.add(x)
	}
	if egress == nil {
		return
	}
	p.noteProgram(noteEgressProgram, &egress.ran, names, partFirst, d.Port)
	p.noteLooks(noteEgressACL, egress.of[:egress.n], d.Port)
	if egress.more {
		p.unkept |= UnkeptMore
	}
	p.noteProgram(noteEgressProgram, &egress.ran, names, partLast, d.Port)
}

// finding returns the note as a finding. hop and vr are those of the path, names those of a program's tables.
func (n *note) finding(hop *[16]byte, vr config.ID, names []string) Finding {
	f := Finding{
		Table: n.table.String(), Hit: n.flags&flagHit != 0, Drop: n.flags&flagDrop != 0, Copy: n.flags&flagCopy != 0,
		Cancel: n.flags&flagCancel != 0,
	}
	switch n.table {
	case notePort:
		f.VLAN, f.In = n.x, config.ID(n.a)
	case noteTrap:
		f.Trap = config.Trap(n.x)
	case notePreIngress, noteACL:
		f.In, f.Entry, f.Port = config.ID(n.a), config.ID(n.b), CPUPort
	case noteEgressACL:
		f.In, f.Entry, f.Port = config.ID(n.a), config.ID(n.b), PortID(n.x)
	case noteLearning, noteFDB:
		f.VLAN, f.MAC, f.Entry = n.x, macOf(n.a), config.ID(n.b)
	case noteRoute4, noteRoute6:
		if f.In = vr; f.Hit {
			f.Prefix = n.prefix()
		}
	case noteNextHop:
		f.In, f.MAC, f.VLAN = config.ID(n.a), macOf(n.b), uint16(n.y)
		f.Prefix = netip.PrefixFrom(ipOf(*hop, n.x == 32), int(n.x))
	case noteEncap, noteDecap:
		f.Prefix, f.Number = netip.PrefixFrom(ipOfWords([2]uint64{n.a, n.b}), 128), n.y
	case noteTunnel:
		f.Prefix = n.prefix()
	case noteIngressProgram, noteEgressProgram:
		f.Table, f.Number, f.Port = names[n.a], n.y, PortID(n.x)
	case notePolicer:
		f.Entry = config.ID(n.b)
	case noteGroup:
		f.Port, f.Queue, f.Number = PortID(n.x), uint8(n.a), n.y
	case noteQueue:
		f.Port, f.Queue, f.Bytes = PortID(n.x), uint8(n.a), n.y
	case noteTrim:
		f.Port, f.Queue, f.Bytes, f.Number = PortID(n.x), uint8(n.a), n.y, uint32(n.b)
	}
	return f
}

func (n *note) prefix() netip.Prefix {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], n.a)
	binary.BigEndian.PutUint64(b[8:], n.b)
	return netip.PrefixFrom(ipOf(b, n.table == noteRoute4 || n.table == noteTunnel && n.x == 32), int(n.x))
}

func ipOf(b [16]byte, v4 bool) netip.Addr {
	if v4 {
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return netip.AddrFrom16(b)
}

// note returns the finding of the header in compact form.
func (o *outer) note(done bool) note {
	x := note{table: noteEncap, flags: hitIf(done, 0), y: o.id, a: o.dst[0], b: o.dst[1]}
	if o.ends {
		x.table = noteDecap
	}
	return x
}
