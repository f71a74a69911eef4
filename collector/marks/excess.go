package marks

import (
	"fmt"
	"slices"

	"tamtam/tam/altmark"
)

// A countExcess is a period in which more packets, or more pulses, came to a stage than to one before it.
type countExcess struct {
	packets bool // else pulses
	text    string
}

// split returns where packets of a period came to a later point of the path without having met an earlier
// one, or more than once: more came than were sent. Then no difference between points is a loss:
// packets missing at one of them may be those in excess at another, and a duplicate hides a lost
// packet. Nor need the pulse have taken the path of the packets.
func (m *Joiner) split(k uint64) (reasons []string) {
	for _, x := range anyExcess(m, k) {
		reasons = append(reasons, fmt.Sprintf("%s: %s", Split, x.text))
	}
	return reasons
}

// anyExcess returns the excesses of a period along the path, or in all clusters of the graph, each once.
func anyExcess(m *Joiner, k uint64) (all []countExcess) {
	if m.beside == nil {
		return m.excess(k)
	}
	for _, b := range m.beside {
		for _, x := range b.excess(k) {
			if !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	return all
}

// excess returns the excesses of a period that the stages of this join show.
func (m *Joiner) excess(k uint64) (all []countExcess) {
	for _, s := range ordered(m, k) {
		a, b := m.report(k, s[0]), m.report(k, s[1])
		from, to := m.path.Points[s[0]].Switch, m.path.Points[s[1]].Switch
		if m.method().Loss() && b.Packets > a.Packets {
			text := fmt.Sprintf("%s counted %d packets, and %s %d", to, b.Packets, from, a.Packets)
			all = append(all, countExcess{true, text})
		}
		if m.method() == altmark.Double && b.Captures > a.Captures {
			text := fmt.Sprintf("%s had %d pulses, and %s %d", to, b.Captures, from, a.Captures)
			all = append(all, countExcess{false, text})
		}
	}
	return all
}

// ordered returns pairs of stages, the second of which gets no packet that does not pass the first, where both counts
// are of period k alone: each stage of a path with the last one before it whose count is, and both sides of a cluster
// with each other and, if no packet passes two of their points, with where the packets enter. The whole comes last.
func ordered(m *Joiner, k uint64) (pairs [][2]int) {
	const void = altmark.First | altmark.LateRead | altmark.ClockStep | altmark.CounterReset
	sound := func(p int) bool {
		r := m.report(k, p)
		return r.has && !r.conflict && r.Flags&void == 0
	}
	add := func(i, j int) {
		if i < j && sound(i) && sound(j) && !slices.Contains(pairs, [2]int{i, j}) {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	if m.graph {
		from, to := m.cluster[0], m.cluster[1]
		if m.once[0] {
			add(0, from)
		}
		if add(from, to); m.once[1] {
			add(0, to)
		}
		return pairs
	}
	last, before := len(m.stages)-1, 0
	for j := 1; j <= last; j++ {
		if add(before, j); sound(j) {
			before = j
		}
	}
	add(0, last)
	return pairs
}

// changedColour returns why packets of period k may have been counted in a period beside it. That happens if something
// between the points writes the mark: a packet of k then has the colour of k-1 and k+1. In those periods it is in
// excess, or it comes at a time that the guard condition does not allow. A packet of k-1 or k+1 that k has gained makes
// up for a lost one of k likewise. Where all points counted as many packets in k as the first one, none of k is in
// another period.
//
// A late packet is out of window as well, and is taken for a re-marked one where packets of k are missing. The counts
// of one bit do not distinguish a late packet of k-1, in the report of k+1, from a packet of k that was re-marked.
func changedColour(m *Joiner, k uint64, i, j int) (reasons []string) {
	first, a, b := m.report(k, 0), m.report(k, i), m.report(k, j)
	if !m.method().Loss() {
		return nil
	}
	near := []uint64{k - 1, k, k + 1}
	if first.has && first.Packets == a.Packets && a.Packets == b.Packets {
		near = []uint64{k}
	}
	for _, q := range near {
		for _, x := range anyExcess(m, q) {
			if x.packets && q != k { // one of k is a split
				reasons = append(reasons, fmt.Sprintf("%s: in period %d %s", Recoloured, q, x.text))
			}
		}
		for p := 1; p <= j; p++ { // one further up may have it, and the packet is lost behind it
			if q == k && (p == i || p == j) {
				continue // its own flag says so
			}
			if m.report(q, p).Flags&altmark.OutOfWindow != 0 {
				reasons = append(reasons, fmt.Sprintf("%s: %s counted packets out of window in period %d", Recoloured,
					m.path.Points[p].Switch, q))
			}
		}
	}
	return reasons
}
