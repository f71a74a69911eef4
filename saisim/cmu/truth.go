package cmu

import (
	"maps"
	"slices"

	"tamtam/tam/flymon"
	"tamtam/tam/libm"
)

// Truth has the exact values of the packets of a bank. It is the oracle that a chip can have for tests and labs. It
// includes packets that were lost on the path to spliced groups.
type Truth struct {
	// Flows has the exact value of each flow under Layout.Flow, by Layout.Measures. It counts packets, bytes, or
	// distinct elements (existence and similarity too). Otherwise it is the greatest size or queue length in bytes, or
	// the greatest delay or interval in ns. The interval of a flow with one packet is 0.
	Flows map[flymon.Vector]uint64
	// Elements has the values of the attribute's key in packets of all flows, if the attribute has a key. Each has the
	// number of these packets.
	Elements       map[flymon.Vector]uint64
	Packets, Bytes uint64
	// Overflow means that there were more flows, elements, or pairs of them than the oracle may keep. Flows and
	// Elements do not contain the later ones.
	Overflow bool

	epoch  uint64 // epoch of the counted packets
	before epochSet

	flow      flymon.Key
	attribute flymon.Attribute
	most      int
	pairs     map[[2]flymon.Vector]struct{} // pairs of flow and element
	last      map[flymon.Vector]uint64      // last arrival of each flow
}

// An epochSet is the similarity set of an epoch whose bank was cleared.
type epochSet struct {
	epoch    uint64
	elements map[flymon.Vector]uint64
}

// SetOracle makes the chip keep exact values of up to maxFlows flows per task and bank. Zero turns the oracle off. Old
// values are dropped.
func (g *Groups) SetOracle(maxFlows int) {
	g.flush()
	g.maxFlows = max(0, maxFlows)
	for _, t := range g.tasks {
		t.truth, t.frozen.truth = nil, nil
		if g.maxFlows > 0 {
			t.truth = newTruths(&t.layout, g.maxFlows)
		}
	}
}

// Truth returns the exact values for a bank. It returns false if there is no such task or bank, or if the oracle is
// off. While the task has frozen partitions, the values include the counts in these partitions. The values belong to
// the oracle and are valid until the next packet.
func (g *Groups) Truth(task string, bank int) (*Truth, bool) {
	t, err := g.bank(task, bank)
	if err != nil || t.truth == nil {
		return nil, false
	}
	if t.frozen.truth != nil {
		return &t.frozen.truth[bank], true
	}
	return &t.truth[bank], true
}

func newTruths(l *flymon.Layout, most int) *[2]Truth {
	a, _ := flymon.ParseAttribute(l.Measures) // Check has validated it
	both := new([2]Truth)
	for i := range both {
		both[i] = Truth{flow: l.Flow, attribute: a, most: most}
		both[i].clear()
	}
	return both
}

func (t *Truth) clear() {
	if t.attribute.Kind == flymon.Similarity && len(t.Elements) > 0 {
		t.before = epochSet{t.epoch, t.Elements}
	}
	t.Flows, t.Elements = map[flymon.Vector]uint64{}, map[flymon.Vector]uint64{}
	t.pairs, t.last = map[[2]flymon.Vector]struct{}{}, map[flymon.Vector]uint64{}
	t.Packets, t.Bytes, t.Overflow = 0, 0, false
}

// exact counts a packet in the current bank.
func (t *task) exact(p *Packet) {
	for _, both := range []*[2]Truth{t.truth, t.frozen.truth} {
		if both != nil {
			both[t.bank].epoch = t.banks[t.bank].Epoch
			both[t.bank].count(p)
		}
	}
}

// Before returns the number of elements of a similarity set in the epoch before that of a bank, as far as the oracle
// has it. shared is the number of these that occurred again. The bank of that epoch may have been cleared since.
func (g *Groups) Before(task string, bank int) (elements, shared int) {
	a, ok := g.Truth(task, bank)
	if !ok || a.attribute.Kind != flymon.Similarity || len(a.Elements) == 0 {
		return 0, 0
	}
	b, ok := g.Truth(task, 1-bank)
	if !ok {
		return 0, 0
	}
	set := b.before
	if len(b.Elements) > 0 && b.epoch == a.epoch-1 {
		set = epochSet{b.epoch, b.Elements}
	}
	if set.epoch != a.epoch-1 {
		return 0, 0
	}
	for v := range set.elements {
		if _, again := a.Elements[v]; again {
			shared++
		}
	}
	return len(set.elements), shared
}

func (t *Truth) count(p *Packet) {
	t.Packets++
	t.Bytes += uint64(p.Size)
	f := p.Vector.And(t.flow)
	value, known := t.Flows[f]
	if !known && len(t.Flows) >= t.most {
		t.Overflow = true
		return
	}
	switch t.attribute.Kind {
	case flymon.Packets:
		value++
	case flymon.Bytes:
		value += uint64(p.Size)
	case flymon.Distinct, flymon.Existence, flymon.Similarity:
		if t.element(f, p.Vector.And(t.attribute.Of)) {
			value++
		}
	case flymon.MaxQueue:
		value = max(value, uint64(p.QueueBytes))
	case flymon.MaxDelay:
		value = max(value, p.QueueNS)
	case flymon.MaxSize:
		value = max(value, uint64(p.Size))
	case flymon.MaxInterval:
		at := p.Vector[5]
		if last, ok := t.last[f]; ok && at > last {
			value = max(value, at-last)
		}
		t.last[f] = at
	}
	t.Flows[f] = value
}

// element reports whether the element is new to the flow.
func (t *Truth) element(flow, e flymon.Vector) bool {
	pair := [2]flymon.Vector{flow, e}
	_, known := t.pairs[pair]
	if !known && len(t.pairs) >= t.most {
		t.Overflow = true
		return false
	}
	t.pairs[pair] = struct{}{}
	t.Elements[e]++
	return !known
}

// Entropy returns the entropy of the values of flows in bits. If the values are packets, this is the entropy of a
// packet's flow.
func (t *Truth) Entropy() float64 {
	values := slices.Sorted(maps.Values(t.Flows)) // a floating-point sum depends on the order
	var sum, h float64
	for _, v := range values {
		sum += float64(v)
	}
	for _, v := range values {
		if v > 0 {
			p := float64(v) / sum
			h -= float64(p * libm.Log2(p))
		}
	}
	return h
}
