package marks

import (
	"fmt"
	"slices"

	"tamtam/tam/altmark"
)

// A countExcess is a period in which more packets, or more pulses, reached a stage than an earlier stage.
type countExcess struct {
	packets bool // true for an excess of packets, false for an excess of pulses
	text    string
}

// split returns reasons if packets of a period reached a later point of the path without passing an earlier one, or
// more than once. Then more packets arrived than were sent, and no difference between points is a loss. Packets missing
// at one point may be those in excess at another, and a duplicate hides a lost packet. Also the pulse may have taken
// another path than the packets.
func (m *Joiner) split(k uint64) (reasons []string) {
	for _, x := range anyExcess(m, k) {
		reasons = append(reasons, fmt.Sprintf("%s: %s", Split, x.text))
	}
	return reasons
}

// anyExcess returns the excesses of a period along the path, or in all clusters of the graph, without duplicates.
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

// excess returns the excesses of a period between the stages of this join.
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

// ordered returns pairs of stages with counts of period k only, where every packet at the second has passed the first.
// On a path, each stage is paired with the last usable one before it. In a graph, the two sides of a cluster are a
// pair. If no packet passes two points of the same side, each side is also paired with the entry of the graph. The pair
// of the whole graph or path is last.
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

// changedColour returns reasons why packets of period k may be counted in an adjacent period. That happens if a node
// between the points rewrites the mark: a packet of k then has the colour of k-1 and k+1. There it is in excess, or
// arrives when the guard condition does not allow it. Likewise, a packet gained from k-1 or k+1 can hide a loss in k.
// If all points counted as many packets in k as the first one, no packet of k is in another period.
//
// A late packet is also out of window. It counts as re-marked if packets of k are missing. The counts of one bit do not
// distinguish a late packet of k-1, in the report of k+1, from a re-marked packet of k.
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
			if x.packets && q != k { // an excess in period k itself is a split
				reasons = append(reasons, fmt.Sprintf("%s: in period %d %s", Recoloured, q, x.text))
			}
		}
		for p := 1; p <= j; p++ { // an earlier point may have counted it, with the packet lost after that point
			if q == k && (p == i || p == j) {
				continue // the flag of the period's own report covers this
			}
			if m.report(q, p).Flags&altmark.OutOfWindow != 0 {
				reasons = append(reasons, fmt.Sprintf("%s: %s counted packets out of window in period %d", Recoloured,
					m.path.Points[p].Switch, q))
			}
		}
	}
	return reasons
}
