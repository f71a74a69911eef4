package marking

import (
	"slices"

	"tamtam/lab"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/truth"
	"tamtam/tam/altmark"
)

// A markWatch observes packets at a measurement point. It uses no mark, and a rule only where packets enter the path.
// It identifies a packet by the name that its sender gave it, which no packet carries and no header hides. It
// identifies periods by the clock of the switch.
type markWatch struct {
	node     *markSwitch
	flow     *markFlow // flow of the path, where its packets enter; nil at later points
	interval altmark.Interval

	received [saisim.CPUPort]arrived // packets on the wire and not yet in the pipe, by port
	passed   []passage               // packets that came to the point since the last window
	last     uint64                  // the chip's number of the last packet in passed
}

// A markFlow selects the packets whose loss is measured when they come to the first point. These are the packets of
// some traffic sources, or those that match that point's flow group as configured at the start. Later changes of the
// rule have no effect.
type markFlow struct {
	traffic map[int]bool // numbers of traffic sources; if nil, filter selects
	filter  truth.Filter
}

func (f *markFlow) has(m *saisim.Moment, in string) bool {
	if f.traffic != nil {
		return f.traffic[lab.FlowOf(m.ID)]
	}
	return f.filter.Match(m.Data, m.Len, in, 0)
}

// arrived holds packets whose beginning the MAC has received, in order.
type arrived struct {
	list []passage
	head int
}

// A passage is a packet at a measurement point.
type passage struct {
	id      uint64   // the name that the sender gave it
	number  uint64   // the number that the chip gave it
	at      lab.Time // exact time of its start-of-frame delimiter
	cycle   saisim.Cycle
	quarter uint64 // number of quarter periods, by the switch's clock
}

// Saw processes a moment of the chip. A packet counts when it reaches the ingress ACLs, after the MAC and the first
// stage have accepted it.
func (w *markWatch) Saw(m saisim.Moment) {
	switch m.What {
	case saisim.MomentReceived:
		if !w.node.mirrors.passing[m.Number] && (w.flow == nil || w.flow.has(&m, w.node.Port(m.Port))) {
			w.receive(m)
		}
	case saisim.MomentEntered:
		w.enter(m)
	case saisim.MomentDropped:
		if n := len(w.passed); n > 0 && w.last == m.Number && refused(m.Why) {
			w.passed, w.last = w.passed[:n-1], 0
		}
	}
}

// refused reports whether a packet was dropped for a reason of the first stage.
func refused(why drop.Reason) bool {
	switch why {
	case drop.TagFilter, drop.NoVLAN, drop.NotMember, drop.SourceAddress, drop.NoLAGMember:
		return true
	}
	return false
}

func (w *markWatch) receive(m saisim.Moment) {
	q := &w.received[m.Port]
	if q.head > 0 && q.head >= len(q.list)/2 {
		q.list = q.list[:copy(q.list, q.list[q.head:])]
		q.head = 0
	}
	q.list = append(q.list, passage{id: m.ID, number: m.Number, at: w.node.Arrival(m), cycle: m.At})
}

func (w *markWatch) enter(m saisim.Moment) {
	if m.In >= saisim.CPUPort {
		return
	}
	q := &w.received[m.In]
	for q.head < len(q.list) && q.list[q.head].number < m.Number {
		q.head++ // skips frames that the MAC dropped
	}
	if q.head == len(q.list) || q.list[q.head].number != m.Number {
		return
	}
	p := q.list[q.head]
	q.head++
	t := w.node.Sim().Chip.Timestamp(p.cycle)
	p.quarter = w.interval.Quarter(altmark.Time{Seconds: t.Seconds, Nanoseconds: t.Nanoseconds})
	w.passed, w.last = append(w.passed, p), m.Number
}

// Restarted forgets the chip's contents.
func (w *markWatch) Restarted() {
	w.last = 0
	clear(w.received[:])
}

// A markTruth is the fate of the packets of one path. Each packet counts once at each point, however often it arrives.
type markTruth struct {
	path *markPath
	// seen holds the packets that have passed a first point, by name. Older ones are forgotten once no packet can still
	// be on its way.
	seen, older map[uint64]*markedPacket
	turn, turns lab.Time
	double      bool // true if links may duplicate packets, so that one may come again after the last point
	periods     map[period]*truePeriod
	current     *truePeriod
}

// A period is identified by its number, by the clock of the first point. If that clock is set back, a number is used
// again for another time. era counts how often the clock was set.
type period struct{ number, era uint64 }

// A markedPacket is a packet on the path.
type markedPacket struct {
	period *truePeriod
	marked
}

// marked holds the properties by which the packets of a period are counted.
type marked struct {
	flow int       // number of the traffic source
	came pointsSet // the points that the packets reached
}

// A pointsSet is a set of points of a path, by index.
type pointsSet [4]uint64

func pointsOf(list []int) (s pointsSet) {
	for _, i := range list {
		s.add(i)
	}
	return s
}

func (s *pointsSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *pointsSet) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

func (s *pointsSet) meets(o *pointsSet) bool {
	for i, w := range s {
		if w&o[i] != 0 {
			return true
		}
	}
	return false
}

// A truePeriod is one period of the initiator's clock.
type truePeriod struct {
	period
	packets map[marked]uint64 // packets that the initiator saw in this period
	doubled []uint64          // number of repeated arrivals, by point
	pulse   uint64            // the packet whose delay is measured; 0 if there was none
	at      []lab.Time        // its arrival, by point; -1 until it arrives
}

func newMarkTruth(path *markPath, links []*lab.Impairment) *markTruth {
	t := &markTruth{path: path, seen: map[uint64]*markedPacket{}, older: map[uint64]*markedPacket{},
		periods: map[period]*truePeriod{}}
	t.turns = max(4*length(path.points[0].session.Interval), lab.Second)
	for _, m := range links {
		t.turns = max(t.turns, 16*(m.Delay+m.Jitter.Max+m.Reorder.Delay))
		t.double = t.double || m.Duplicate > 0
	}
	t.turn = t.turns
	return t
}

// follow processes what the points have seen in a window. No packet comes to two points in one window, since the path
// between them takes longer.
func (t *markTruth) follow(now lab.Time) {
	for _, i := range t.path.begins {
		for _, x := range t.path.points[i].watch.passed {
			t.begin(i, x)
		}
	}
	for i, p := range t.path.points {
		if slices.Contains(t.path.begins, i) {
			continue
		}
		for _, x := range p.watch.passed {
			t.come(i, x)
		}
	}
	if now >= t.turn {
		t.turn = now + t.turns
		t.seen, t.older = t.older, t.seen
		clear(t.seen)
	}
}

// begin handles a packet at the initiator. The delay is measured with the first packet of a period; for muxed marking
// with the first of its third quarter.
func (t *markTruth) begin(i int, x passage) {
	if p := t.find(x.id); p != nil {
		t.pass(p, i)
		return
	}
	s := &t.path.points[i].session
	p := t.period(period{x.quarter >> 2, t.path.points[i].era(x.at)})
	if s.Method.Delay() && p.pulse == 0 && (s.Method != altmark.Muxed || x.quarter&3 == 2) {
		p.pulse, p.at[i] = x.id, x.at
	}
	one := &markedPacket{p, marked{flow: lab.FlowOf(x.id)}}
	one.came.add(i)
	p.packets[one.marked]++
	t.seen[x.id] = one
}

// come handles a packet at a later point.
func (t *markTruth) come(i int, x passage) {
	one := t.find(x.id)
	if one == nil {
		return // the initiator has not seen the packet
	}
	t.pass(one, i)
	if p := one.period; p.pulse == x.id && p.at[i] < 0 {
		p.at[i] = x.at
	}
	if !t.double && slices.Contains(t.path.ends, i) {
		delete(t.seen, x.id)
		delete(t.older, x.id)
	}
}

func (t *markTruth) find(id uint64) *markedPacket {
	if p := t.seen[id]; p != nil {
		return p
	}
	return t.older[id]
}

// pass counts a packet at a point. If it was there before, it is a duplicate.
func (t *markTruth) pass(one *markedPacket, i int) {
	p := one.period
	if one.came.has(i) {
		p.doubled[i]++
		return
	}
	if p.packets[one.marked]--; p.packets[one.marked] == 0 {
		delete(p.packets, one.marked)
	}
	one.came.add(i)
	p.packets[one.marked]++
}

func (t *markTruth) period(k period) *truePeriod {
	if t.current != nil && t.current.period == k {
		return t.current
	}
	p := t.periods[k]
	if p == nil {
		n := len(t.path.points)
		p = &truePeriod{period: k, packets: map[marked]uint64{}, doubled: make([]uint64, n),
			at: slices.Repeat([]lab.Time{-1}, n)}
		t.periods[k] = p
	}
	t.current = p
	return p
}

// numbered returns a period by its number, or nil if there is none. If a clock was set back there may be several. Then
// it returns the one in which the first points saw as many packets as was measured.
func (t *markTruth) numbered(k uint64, of segment, measured *uint64) (found *truePeriod) {
	for era := range uint64(t.path.eras()) {
		p := t.periods[period{k, era}]
		if p == nil {
			continue
		}
		sent, _, _ := p.account(of, anySource)
		if found == nil || measured != nil && sent == *measured {
			found = p
		}
	}
	return found
}

// anySource selects all traffic sources.
func anySource(int) bool { return true }

// account returns the fate of the packets of some traffic sources between two points. sent counts those that came to
// the first point, lost those that were lost, and received those that came to the second. A packet that is seen at a
// point after the second is not lost.
func (p *truePeriod) account(of segment, source func(flow int) bool) (sent uint64, lost int64, received uint64) {
	from, to, reached := pointsOf(of.from), pointsOf(of.to), pointsOf(slices.Concat(of.to, of.behind))
	for m, n := range p.packets {
		if !source(m.flow) {
			continue
		}
		if m.came.meets(&to) {
			received += n
		}
		if m.came.meets(&from) {
			sent += n
			if !m.came.meets(&reached) {
				lost += int64(n)
			}
		}
	}
	return sent, lost, received
}

// again returns how often packets of a period arrived again at some points.
func (p *truePeriod) again(points []int) (n uint64) {
	for _, i := range points {
		n += p.doubled[i]
	}
	return n
}

// delay returns the time of the measured packet from one point to another. It returns false if there is no such packet,
// or it did not arrive.
func (p *truePeriod) delay(of segment) (lab.Time, bool) {
	if p.pulse == 0 {
		return 0, false
	}
	from, to := p.came(of.from), p.came(of.to)
	return to - from, from >= 0 && to >= 0
}

// came returns when the measured packet came to the one of these points that it passed. It returns -1 if it passed none
// of them, or more than one.
func (p *truePeriod) came(points []int) lab.Time {
	at := lab.Time(-1)
	for _, i := range points {
		switch {
		case p.at[i] < 0:
		case at >= 0:
			return -1
		default:
			at = p.at[i]
		}
	}
	return at
}
