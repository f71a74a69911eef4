package reference

import (
	"maps"
	"slices"
	"strings"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/tam/record"
)

// Table recording: a packet carries the list of the tables that it ran, and each copy has its own list after that. The
// bits of a record are looked up in the list when the record is made, by the marks of the plan at the packet's entry.

// A recorder is a session of a plan.
type recorder struct {
	config.RecordSession
	plan *config.RecordPlan
	*RecordCounts
}

// RecordCounts holds the counters of a session, in the order of a [record.ObjectCounters] register read.
type RecordCounts struct{ Matched, NotSampled, Made, Lost uint64 }

// A recorderName is the key by which counters survive when a plan is set again.
type recorderName struct {
	plan  config.ID
	label string
}

// A recording is a session that records a packet, with the index of its mirror session.
type recording struct {
	index int
	*recorder
}

// setPlans gives a configuration the sessions of its plans. A plan that is no longer in effect may return, with its
// counters.
func (c *Chip) setPlans(conf *settings) {
	for i := range conf.RecordPlans {
		plan := &conf.RecordPlans[i]
		had := maps.Clone(c.recordCounts)
		maps.DeleteFunc(c.recordCounts, func(n recorderName, _ *RecordCounts) bool { return n.plan == plan.Object })
		for _, s := range plan.Sessions {
			counts := had[recorderName{plan.Object, s.Label}]
			if counts == nil {
				counts = &RecordCounts{}
			}
			c.recordCounts[recorderName{plan.Object, s.Label}] = counts
			conf.recorders[s.Label] = &recorder{s, plan, counts}
		}
	}
}

// RecordCounts returns the counters of the session with a label. It returns false if no plan has it.
func (c *Chip) RecordCounts(label string) (RecordCounts, bool) {
	if r := c.conf.recorders[label]; r != nil {
		return *r.RecordCounts, true
	}
	return RecordCounts{}, false
}

// records reports whether a mirror session makes records instead of copies.
func records(m config.Mirror) bool { return strings.HasPrefix(m.Label, record.LabelPrefix) }

// graphOf returns the graph version of the chip with a program.
func (c *Chip) graphOf(v *version) uint64 {
	if v == nil {
		return c.bareGraph
	}
	return v.graph
}

// ran records that the packet ran a table in the ingress pipe.
func (pk *packet) ran(table string, hit bool) {
	pk.tables = append(pk.tables, record.Step{Table: table, Hit: hit})
}

// ranTable records that the packet ran a table of the program in the ingress pipe.
func (pk *packet) ranTable(table string, o outcome) { pk.tables = append(pk.tables, stepOf(table, o)) }

// ranTableToo records that a copy ran a table of the program in the egress pipe.
func (o *outgoing) ranTableToo(table string, x outcome) {
	o.egressTables = append(o.egressTables, stepOf(table, x))
}

// stepOf returns the step of a program table that ran. It holds an action only if an entry was hit.
func stepOf(table string, o outcome) record.Step {
	s := record.Step{Table: table, Hit: o.hit}
	if o.hit {
		s.Action = o.action
	}
	return s
}

// ranToo records that a copy ran a table in the egress pipe.
func (o *outgoing) ranToo(table string, hit bool) {
	o.egressTables = append(o.egressTables, record.Step{Table: table, Hit: hit})
}

// path returns every table that the copy ran.
func (o *outgoing) path() []record.Step { return slices.Concat(o.tables, o.egressTables) }

// choose starts the recordings of a packet among the sessions to which pre-ingress entries mirror it. It returns the
// other sessions.
func (c *Chip) choose(pk *packet, set []int) (mirrors []int) {
	for _, m := range pk.conf.mirrorsByIndex {
		if !slices.Contains(set, m.Index) {
			continue
		}
		if !records(m) {
			mirrors = append(mirrors, m.Index)
			continue
		}
		r := pk.conf.recorders[m.Label]
		if r == nil {
			c.Recording("a session without plan")
			continue
		}
		r.Matched++
		switch {
		case pk.graph != r.plan.Graph:
			r.NotSampled++
			c.Recording("a plan of another program")
			continue
		case (r.Matched-1)%uint64(r.Sample) != 0:
			r.NotSampled++
			c.Recording("not sampled")
			continue
		}
		pk.recordings = append(pk.recordings, recording{m.Index, r})
	}
	return mirrors
}

// recordBits returns the containers of a plan for a path, in wire format.
func recordBits(p *config.RecordPlan, path []record.Step) (b []byte) {
	set := map[int]bool{}
	for _, m := range p.Marks {
		for _, s := range path {
			if s.Table == m.Table && (s.Hit || !m.Hit) && (m.Of == nil || slices.Contains(m.Of, s.Action)) {
				set[m.Bit] = true
			}
		}
	}
	first := 0
	for _, width := range p.PHV {
		for at := first + int(width) - 1; at > first; at -= 8 { // most significant byte first
			x := byte(0)
			for i := range 8 {
				if x <<= 1; set[at-i] {
					x++
				}
			}
			b = append(b, x)
		}
		first += int(width)
	}
	return b
}

// recordCopy makes the records of a copy at the time when it is, or would be, through the egress pipe. p is the port
// that sends or drops it, and nil for the copy to the CPU.
func (c *Chip) recordCopy(o *outgoing, p *port, why drop.Reason) {
	if o.made() || len(o.recordings) == 0 {
		return
	}
	path, e := o.path(), fate{why: why, out: record.NoPort, lane: saisim.CPUPort, queue: record.NoQueue}
	switch {
	case p != nil:
		e.out, e.lane = p.Number, p.Port.Port
		if o.asked {
			e.queue = o.queue
		}
	case why == 0: // the copy goes to the CPU
		e.trap, e.queue = o.trap, o.queue
	default:
		e.trap = o.trapBehind(why)
	}
	e.identities, e.left = c.identities(o)
	c.later(func() { c.makeRecords(o.packet, path, e) })
}

// A fate is where a copy, or a packet without copies, ends.
type fate struct {
	why   drop.Reason
	out   uint16 // number of the port
	lane  saisim.PortID
	queue uint8
	trap  config.Trap
	// identities holds the identities of entries and of the queue. left is true if some are left out.
	identities []byte
	left       bool
}

// makeRecords queues the record copies of a packet with its path.
func (c *Chip) makeRecords(pk *packet, path []record.Step, e fate) {
	for _, r := range pk.recordings {
		i := slices.IndexFunc(c.conf.Mirrors, func(m config.Mirror) bool { return m.Index == r.index && m.Label == r.Label })
		if i >= 0 && c.conf.Mirrors[i].Kind == config.MirrorSFlow && r.Tunnel == nil {
			c.Recording("there is no tunnel")
			continue
		}
		if i < 0 {
			c.Recording("the mirror session is gone")
			continue
		}
		m := c.conf.Mirrors[i]
		rec := record.Record{
			Bits: recordBits(r.plan, path), Switch: r.plan.Switch, Plan: r.plan.ID,
			In: record.Time(c.timeOfDay(pk.rx)), At: record.Time(c.timeOfDay(c.now)),
			InPort: pk.number, OutPort: e.out, Length: uint32(pk.length), Why: uint8(e.why),
			Trap: uint8(e.trap), Queue: e.queue, InLane: uint16(pk.in), OutLane: uint16(e.lane),
			Unsynchronised: !c.clockAt(pk.rx).synchronised || !c.clockAt(c.now).synchronised,
			ClockSet:       c.setBetween(pk.rx, c.now),
		}
		if r.Identities {
			rec.Identities, rec.NoRoom = e.identities, e.left
		}
		r.Made++
		c.noteRecord(pk, &m, &rec, r, path)
		c.mirrorTo(&m, outgoing{packet: pk, raw: true, trailer: rec.Append(nil), recorder: r.recorder})
	}
}

// noteRecord reports the events of a record.
func (c *Chip) noteRecord(pk *packet, m *config.Mirror, rec *record.Record, r recording, path []record.Step) {
	var say []string
	add := func(is bool, what string) {
		if is {
			say = append(say, what)
		}
	}
	switch {
	case rec.Why != 0:
		say = append(say, "dropped: "+drop.Reason(rec.Why).String())
		add(rec.Trap != 0, "dropped by the trap "+config.Trap(rec.Trap).String())
	case rec.OutLane == record.NoPort:
		say = append(say, "to the CPU")
		add(rec.Trap != 0, "to the CPU by a trap")
	case rec.OutPort == record.NoPort:
		say = append(say, "to a port without number")
	default:
		say = append(say, "sent")
	}
	udp := m.Kind == config.MirrorSFlow
	add(r.Identities && len(rec.Identities) == 0, "with no identity to tell")
	add(rec.NoRoom, "without some identities")
	known, _ := rec.Known()
	for _, x := range known {
		add(true, "with identity: "+x.Kind.String())
	}
	add(udp && r.Tunnel.Src.Is4(), "by UDP over IPv4")
	add(udp && r.Tunnel.Src.Is6(), "by UDP over IPv6")
	add(!udp && m.Tunnel.ERSPAN == 2, "by ERSPAN type II")
	add(!udp && m.Tunnel.ERSPAN == 3, "by ERSPAN type III")
	add(!udp && m.Tunnel.ERSPAN == 0, "by GRE")
	add(m.Truncate > 0 && pk.length > m.Truncate, "truncated")
	add(pk.kind == toVLAN, "of a flood")
	add(len(pk.recordings) > 1, "by two sessions")
	add(c.conf.recorders[r.Label] == nil || c.conf.recorders[r.Label].plan.ID != r.plan.ID, "of a plan that is no more")
	add(rec.Unsynchronised, "unsynchronised")
	add(rec.ClockSet, "the clock was set")
	for _, mark := range r.plan.Marks {
		for _, s := range path {
			program := strings.HasPrefix(s.Table, "ingress.") || strings.HasPrefix(s.Table, "egress.")
			if s.Table == mark.Table && (s.Hit || !mark.Hit) {
				what := map[bool]string{false: "ran", true: "hit"}[mark.Hit]
				if mark.Of != nil {
					what = "action"
					add(slices.Contains(mark.Of, s.Action), "bit of an action, set")
					add(slices.Contains(mark.Of, s.Action) && s.Action == "", "bit of no action, set")
				}
				if program {
					add(true, "bit of a program's table: "+what+" "+strings.Split(s.Table, ".")[0])
				} else {
					add(true, "bit: "+what+" "+s.Table)
				}
			}
		}
	}
	for _, s := range say {
		c.Recording(s)
	}
}

// A doing is work for a later cycle. It is done for copies when they are, or would be, through the egress pipe, in the
// order of their arrival there.
type doing struct {
	at saisim.Cycle
	do func()
}

// later schedules do for len(c.egress) cycles from now.
func (c *Chip) later(do func()) {
	c.doings = append(c.doings, doing{c.now + saisim.Cycle(len(c.egress)), do})
}

// doLater does the work scheduled for this cycle.
func (c *Chip) doLater() {
	for len(c.doings) > 0 && c.doings[0].at == c.now {
		do := c.doings[0].do
		c.doings = c.doings[1:]
		do()
	}
}

// An Ending is where a copy, or a packet without copies, ended, with the tables that it ran. Copies for mirror sessions
// have none.
type Ending struct {
	ID    uint64
	In    saisim.PortID
	Port  saisim.PortID // port at which it was sent or dropped; CPUPort means the CPU
	Sent  bool          // true if it was sent or punted
	Why   drop.Reason
	Trap  config.Trap // trap by which the CPU got the copy, or that dropped the packet
	Graph uint64      // version of the graph at the packet's entry
	Path  []record.Step
}

// A faults holds the injected faults of the chip. They imitate a compiler's bugs.
type faults struct {
	skip     []string          // tables that never run
	misplace map[string]string // by program table, the table under whose gate it runs
}

// with returns the faults after another change.
func (f *faults) with(more pipe.Fault) *faults {
	g := &faults{slices.Clone(f.skip), maps.Clone(f.misplace)}
	switch more.Do {
	case "heal":
		return &faults{}
	case "skip":
		g.skip = append(g.skip, more.Table)
	case "misplace":
		if g.misplace == nil {
			g.misplace = map[string]string{}
		}
		g.misplace[more.Table] = more.Into
	}
	return g
}

func (f *faults) skips(table string) bool { return slices.Contains(f.skip, table) }
