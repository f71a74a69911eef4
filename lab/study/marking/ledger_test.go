package marking

import (
	"math/big"

	"tamtam/lab"
	"tamtam/saisim"
	"tamtam/tam/altmark"
)

// A bookkeeper keeps a ledger of the packets of all networks of a fabric: when each came to which switch. It identifies
// a packet by the name that its sender gave it. It uses no mark and no counter, and shares nothing with the
// measurement.
type bookkeeper struct {
	lab   *lab.Lab
	byID  []*ledger // ledgers by number of the flow group; nil if the group is not measured
	wires []map[uint64]onWire
	taps  []*lab.Tap
}

// onWire is a packet whose beginning the MAC has received.
type onWire struct {
	at    lab.Time
	cycle saisim.Cycle
	late  lab.Time // the late part of at, which the switch is aware of
	clock *big.Int // the switch's clock at that time, minus late: ns since 1970
}

// ledger are the ledger of one network.
type ledger struct {
	net     *network
	packets map[uint64]*ledgerEntry
	order   []uint64 // names of packets, in the order of arrival at the first point
	// latest is the maximum time from the beginning of its period to a packet's arrival at a point, by the clock of the
	// point. latestTruly is the same by the clock of the first point. least and most are the delays from the first
	// point to any other.
	latest, latestTruly lab.Time
	least, most         lab.Time
	doubled             bool // true if a packet came twice to a point
}

// ledgerEntry is the ledger entry of a packet. A time is -1 if the switch did not see it.
type ledgerEntry struct {
	period
	pulse bool     // true if it may be the packet whose delay is measured
	phase lab.Time // time since the start of its period, at the first point
	at    [maxFabric]lab.Time
	clock [maxFabric]*big.Int // reading of the switch's clock at that time
}

func newBookkeeper(l *lab.Lab, nets []*network) *bookkeeper {
	k := &bookkeeper{lab: l, byID: make([]*ledger, len(l.Topology().Traffic)+1)}
	for _, n := range nets {
		n.ledger = &ledger{net: n, packets: map[uint64]*ledgerEntry{}, least: forever}
		for _, flow := range n.flows {
			k.byID[flow] = n.ledger
		}
	}
	for i := range l.Topology().Switches {
		tap := l.Tap(l.Topology().Switches[i].Name)
		k.wires, k.taps = append(k.wires, map[uint64]onWire{}), append(k.taps, tap)
		tap.Watch(&ledgerWatch{k, i})
	}
	return k
}

// A ledgerWatch passes the moments of one switch to the bookkeeper.
type ledgerWatch struct {
	keeper *bookkeeper
	i      int
}

func (w *ledgerWatch) Saw(m saisim.Moment) { w.keeper.saw(w.i, m) }
func (w *ledgerWatch) Restarted()          {}

// setUntil returns how often a switch's clock was set, or lost, until some time of the run.
func setUntil(l *lab.Lab, name string, now lab.Time) (times uint64) {
	for _, e := range l.Topology().Events {
		if e.Switch == name && e.At <= now && (e.Do == "step-clock" || e.What == "syncd") {
			times++
		}
	}
	return times
}

// saw processes a moment of a chip. A packet has come to a point when it enters the pipe; before that the MAC may drop
// it.
func (k *bookkeeper) saw(i int, m saisim.Moment) {
	b := k.byID[lab.FlowOf(m.ID)]
	if b == nil {
		return
	}
	n := k.taps[i]
	switch m.What {
	case saisim.MomentReceived:
		came := n.Sim().Chip.Timestamp(m.At - m.Late)
		k.wires[i][m.Number] = onWire{n.Arrival(m), m.At, n.Time(m.At) - n.Time(m.At-m.Late),
			sinceEpoch(came.Seconds, came.Nanoseconds)}
	case saisim.MomentEntered:
		if w, ok := k.wires[i][m.Number]; ok && m.In < saisim.CPUPort {
			delete(k.wires[i], m.Number)
			t := n.Sim().Chip.Timestamp(w.cycle)
			b.came(i, m.ID, w, altmark.Time{Seconds: t.Seconds, Nanoseconds: t.Nanoseconds},
				setUntil(k.lab, n.Name(), n.Time(w.cycle)))
		}
	}
}

// came records a packet at switch i. now is the clock's time when the chip received it, in an era of that clock. A
// packet that was delivered late counts in the period in which it was marked, and cannot be the pulse. Its delay ends
// when it came.
func (b *ledger) came(i int, id uint64, w onWire, now altmark.Time, era uint64) {
	p := b.packets[id]
	if p == nil {
		if i != b.net.first() {
			return // the packet never came to the first point
		}
		p = &ledgerEntry{}
		for j := range p.at {
			p.at[j] = -1
		}
		p.number, p.phase = periodOf(b.net.session.Interval, now)
		p.era = era
		b.packets[id] = p
		quarter := 4 * p.phase / length(b.net.session.Interval)
		p.pulse = w.late == 0 && (b.net.session.Method != altmark.Muxed || quarter == 2)
		b.order = append(b.order, id)
	}
	if p.at[i] >= 0 {
		b.doubled = true
		return
	}
	at := w.at - w.late
	p.at[i], p.clock[i] = at, w.clock
	if i != b.net.first() {
		d := at - p.at[b.net.first()]
		b.least, b.most = min(b.least, d), max(b.most, d)
		b.latestTruly = max(b.latestTruly, p.phase+d)
		b.latest = max(b.latest, lab.Time(now.Sub(b.net.session.Interval.Start(p.number)))*lab.Nanosecond-w.late)
	}
}

// periodOf returns the number of the period that a time is in, and the time since its start.
func periodOf(n altmark.Interval, t altmark.Time) (k uint64, phase lab.Time) {
	ns := sinceEpoch(t.Seconds, t.Nanoseconds)
	q, r := new(big.Int).QuoRem(ns.Mul(ns, big.NewInt(1000)), big.NewInt(int64(length(n))), new(big.Int))
	return q.Uint64(), lab.Time(r.Int64())
}

// sinceEpoch returns a time in ns since 1970.
func sinceEpoch(seconds uint64, nanoseconds uint32) *big.Int {
	ns := new(big.Int).Mul(new(big.Int).SetUint64(seconds), big.NewInt(1e9))
	return ns.Add(ns, big.NewInt(int64(nanoseconds)))
}

// An account is the ledger's result for one period between two points.
type account struct {
	sent, lost int64
	// delays is the sum of the delays of packets that arrived at both sides, by the clocks of the switches, in ns.
	// truly is the same by true time, in ps.
	came          int64
	delays, truly *big.Int
	pulse         *ledgerEntry // the packet whose delay is measured; nil if there is none
}

// between returns the accounts of all periods between groups of parallel switches of the path, for the packets of some
// traffic sources. A packet that was at one of the first group is lost if it was at none of the second, nor at any
// switch beyond.
func (b *ledger) between(from, to []int, sources map[int]bool) map[period]*account {
	list := map[period]*account{}
	for _, id := range b.order {
		p := b.packets[id]
		if !sources[lab.FlowOf(id)] {
			continue
		}
		a := list[p.period]
		if a == nil {
			a = &account{delays: new(big.Int), truly: new(big.Int)}
			list[p.period] = a
		}
		if p.pulse && a.pulse == nil {
			a.pulse = p
		}
		if p.came(from) < 0 {
			continue
		}
		a.sent++
		if p.came(to) >= 0 {
			a.came++
			a.delays.Sub(a.delays.Add(a.delays, p.read(to)), p.read(from))
			a.truly.Add(a.truly, big.NewInt(int64(p.came(to)-p.came(from))))
		}
		if !b.beyond(p, to[0]) {
			a.lost++
		}
	}
	return list
}

func (b *ledger) beyond(p *ledgerEntry, to int) bool {
	for i, at := range p.at {
		if at >= 0 && b.net.rank(i) >= b.net.rank(to) {
			return true
		}
	}
	return false
}

// delay returns the delay of the measured packet. ok is false if the packet did not arrive at both sides.
func (a *account) delay(from, to []int) (d lab.Time, ok bool) {
	p := a.pulse
	if p == nil || p.came(from) < 0 || p.came(to) < 0 {
		return 0, false
	}
	return p.came(to) - p.came(from), true
}

// read returns the clock reading of the switch that the packet passed, among some switches. It returns nil if it passed
// none of them.
func (p *ledgerEntry) read(switches []int) *big.Int {
	for _, i := range switches {
		if p.at[i] >= 0 {
			return p.clock[i]
		}
	}
	return nil
}

// came returns when a packet came to the one of these switches that it passed, or -1 if it passed none of them.
func (p *ledgerEntry) came(switches []int) lab.Time {
	for _, i := range switches {
		if p.at[i] >= 0 {
			return p.at[i]
		}
	}
	return -1
}
