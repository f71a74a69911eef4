package marking

import (
	"slices"

	"tamtam/lab"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/truth"
	"tamtam/tam/altmark"
)

// A markWatch sees the packets of a flow group come to a measurement point. It does not look at marks:
// it identifies packets by the name that their sender gave them, which no packet carries, and periods
// by the clock of the switch.
type markWatch struct {
	node     *markSwitch
	filter   truth.Filter
	interval altmark.Interval

	received [saisim.CPUPort]arrived // by port: on the wire, not yet in the pipe
	passed   []passage               // since the last window
	last     uint64                  // number, in the chip, of the last of passed
}

// arrived are packets of which the MAC has received the beginning, in order.
type arrived struct {
	list []passage
	head int
}

// A passage is a packet at a measurement point.
type passage struct {
	id      uint64   // the sender's name of it
	number  uint64   // the chip's
	at      lab.Time // of its start-of-frame delimiter, exactly
	cycle   saisim.Cycle
	quarter uint64 // of periods, by the switch's clock
}

// Saw takes a moment of the chip. A packet counts where it comes to
// the ingress ACLs: the MAC and the first stage have let it in.
func (w *markWatch) Saw(m saisim.Moment) {
	switch m.What {
	case saisim.MomentReceived:
		if w.filter.Match(m.Data, m.Len, w.node.Port(m.Port), 0) {
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
		q.head++ // the MAC dropped it
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

// Restarted forgets what was in the chip.
func (w *markWatch) Restarted() {
	w.last = 0
	clear(w.received[:])
}

// A markTruth is what became of the packets of one path.
type markTruth struct {
	path *markPath
	// seen has the period of each packet that has passed the initiator, by name; older ones are
	// forgotten when no packet can still be on its way.
	seen, older map[uint64]uint64
	turn, turns lab.Time
	double      bool // links may duplicate packets: one may come again after the last point
	periods     map[uint64]*truePeriod
	current     *truePeriod
}

// A truePeriod is one period of the initiator's clock.
type truePeriod struct {
	number uint64
	passed []uint64   // packets that the initiator saw in this period, by point that they came to
	pulse  uint64     // the packet whose delay is measured, 0: there was none
	at     []lab.Time // of it, by point; -1: it has not come
}

func newMarkTruth(path *markPath, links []*lab.Impairment) *markTruth {
	t := &markTruth{path: path, seen: map[uint64]uint64{}, older: map[uint64]uint64{}, periods: map[uint64]*truePeriod{}}
	t.turns = max(4*length(path.points[0].session.Interval), lab.Second)
	for _, m := range links {
		t.turns = max(t.turns, 16*(m.Delay+m.Jitter.Max+m.Reorder.Delay))
		t.double = t.double || m.Duplicate > 0
	}
	t.turn = t.turns
	return t
}

// follow takes what the points have seen in a window. No packet comes to two points in one window: the
// way between them takes longer.
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

// begin handles a packet at the initiator. That of which the delay is measured is the
// first of its period, for muxed marking the first of its third quarter.
func (t *markTruth) begin(i int, x passage) {
	s := &t.path.points[i].session
	k := x.quarter >> 2
	p := t.period(k)
	p.passed[i]++
	t.seen[x.id] = k
	if s.Method.Delay() && p.pulse == 0 && (s.Method != altmark.Muxed || x.quarter&3 == 2) {
		p.pulse, p.at[i] = x.id, x.at
	}
}

// come handles a packet at a later point.
func (t *markTruth) come(i int, x passage) {
	from := t.seen
	k, ok := from[x.id]
	if !ok {
		from = t.older
		if k, ok = from[x.id]; !ok {
			return // not from the initiator
		}
	}
	p := t.period(k)
	p.passed[i]++
	if p.pulse == x.id && p.at[i] < 0 {
		p.at[i] = x.at
	}
	if !t.double && slices.Contains(t.path.ends, i) {
		delete(from, x.id)
	}
}

func (t *markTruth) period(k uint64) *truePeriod {
	if t.current != nil && t.current.number == k {
		return t.current
	}
	p := t.periods[k]
	if p == nil {
		n := len(t.path.points)
		p = &truePeriod{number: k, passed: make([]uint64, n), at: slices.Repeat([]lab.Time{-1}, n)}
		t.periods[k] = p
	}
	t.current = p
	return p
}

// lost returns how many packets of a period were lost between two points, and
// sent how many came to the first of them.
func (t *markTruth) lost(k uint64, of segment) (sent uint64, lost int64) {
	p := t.periods[k]
	if p == nil {
		return 0, 0
	}
	sent = p.sum(of.from)
	return sent, int64(sent - p.sum(of.to))
}

// sum is how many packets came to some points.
func (p *truePeriod) sum(points []int) (n uint64) {
	for _, i := range points {
		n += p.passed[i]
	}
	return n
}

// delay returns how long the measured packet of a period took from one point to
// another; false: there is none, or it did not come.
func (t *markTruth) delay(k uint64, of segment) (lab.Time, bool) {
	p := t.periods[k]
	if p == nil || p.pulse == 0 {
		return 0, false
	}
	from, to := p.came(of.from), p.came(of.to)
	return to - from, from >= 0 && to >= 0
}

// came is when the measured packet came to the one of some points that it passed; -1: to none, or not to a single one.
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
