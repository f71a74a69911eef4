package cmu

import "tamtam/flymon"

// A Truth is what a task's bank would say if it forgot nothing. It is for tests and
// experiments: it costs memory and time for each packet.
type Truth struct {
	// Flows has the exact value of each flow of the task's key: packets, bytes, distinct
	// elements, or the greatest value; of tasks for which that key is none there is one flow.
	Flows map[flymon.Vector]uint64
	// Elements are the distinct elements of all flows (distinct, existence, similarity),
	// with the number of their packets.
	Elements map[flymon.Vector]uint64
	Overflow bool // there were more flows or elements than are counted: nothing of it is exact

	kind  flymon.Kind
	of    flymon.Key
	pairs map[[2]flymon.Vector]struct{} // of flow and element
	last  map[flymon.Vector]uint64      // arrivals, for intervals
	most  int
}

// SetOracle has tasks that are applied from now on be counted exactly too, at most
// so many flows and elements for each; 0: no more.
func (g *Groups) SetOracle(most int) { g.oracle = most }

// Truth returns the exact values of a task's bank; false: they are not known. It is
// the oracle's own: a caller must not change it, nor keep it while packets come.
func (g *Groups) Truth(name string, bank int) (*Truth, bool) {
	t, err := g.taskOf(name, bank)
	if err != nil || t.truth[bank] == nil {
		return nil, false
	}
	return t.truth[bank], true
}

func (t *task) openTruth(most int) {
	if most == 0 {
		return
	}
	a, err := flymon.ParseAttribute(t.layout.Measures)
	if err != nil {
		return // Check has refused it
	}
	for b := range t.layout.Banks() {
		t.truth[b] = &Truth{kind: a.Kind, of: a.Of, most: most}
		t.truth[b].reset()
	}
}

func (x *Truth) reset() {
	x.Flows, x.Elements, x.Overflow = map[flymon.Vector]uint64{}, map[flymon.Vector]uint64{}, false
	x.pairs, x.last = map[[2]flymon.Vector]struct{}{}, map[flymon.Vector]uint64{}
}

// count takes a packet.
func (x *Truth) count(t *task, p *Packet) {
	flow := p.Vector.And(t.layout.Flow)
	if _, known := x.Flows[flow]; !known && len(x.Flows) >= x.most {
		x.Overflow = true
		return
	}
	greatest := func(v uint64) { x.Flows[flow] = max(x.Flows[flow], v) }
	switch x.kind {
	case flymon.Packets:
		x.Flows[flow]++
	case flymon.Bytes:
		x.Flows[flow] += uint64(p.Size)
	case flymon.MaxQueue:
		greatest(uint64(p.QueueBytes))
	case flymon.MaxDelay:
		greatest(p.QueueNS)
	case flymon.MaxSize:
		greatest(uint64(p.Size))
	case flymon.MaxInterval:
		since := uint64(0)
		if last, known := x.last[flow]; known && p.Vector[5] > last {
			since = p.Vector[5] - last
		}
		x.last[flow] = p.Vector[5]
		greatest(since)
	default:
		x.element(flow, p.Vector.And(x.of))
	}
}

func (x *Truth) element(flow, e flymon.Vector) {
	if len(x.pairs) >= x.most {
		x.Overflow = true
		return
	}
	x.Elements[e]++
	if _, known := x.pairs[[2]flymon.Vector{flow, e}]; !known {
		x.pairs[[2]flymon.Vector{flow, e}] = struct{}{}
		x.Flows[flow]++
	}
}
