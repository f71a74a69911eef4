package engine

import (
	"math/bits"

	"tamtam/tam/record"
)

// MaxPaths is the maximum number of paths that the chip counts.
const MaxPaths = 1024

// A pathTable counts paths: open addressing, linear probing, of fixed size.
type pathTable struct {
	graph *chipGraph // graph of all counted paths
	words int        // number of words of passed.ran that the graph's tables need
	slots []pathSlot // twice MaxPaths; a slot without packets is free
	n     int
	// Number of all packets, and number of packets whose path was beyond the limit.
	packets, other uint64
}

type pathSlot struct {
	passed
	packets uint64
}

// begin clears the counts.
func (t *pathTable) begin(g *chipGraph) {
	if t.slots == nil {
		t.slots = make([]pathSlot, 2*MaxPaths)
	}
	clear(t.slots)
	t.graph, t.words, t.n, t.packets, t.other = g, (len(g.program)+63)/64, 0, 0, 0
}

// find returns the slot of a path. It adds the path if necessary, and returns nil if the table is full.
func (t *pathTable) find(p *passed) *pathSlot {
	h := uint64(p.fixed)
	for i := range t.words {
		h = (h ^ p.ran[i&3] ^ bits.RotateLeft64(p.hit[i&3], 31)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	h *= 0x9e3779b97f4a7c15
	for i := int(h >> 32); ; i++ {
		s := &t.slots[i&(2*MaxPaths-1)]
		if s.packets == 0 {
			if t.n == MaxPaths {
				return nil
			}
			t.n++
			s.passed = *p
			return s
		}
		if s.passed == *p {
			return s
		}
	}
}

// counted returns the number of all packets, and the number of packets whose path was beyond the limit.
func (t *pathTable) counted() (packets, other uint64) { return t.packets, t.other }

// counts returns the counted paths.
func (t *pathTable) counts() []record.PathCount {
	list := []record.PathCount{}
	for i := range t.slots {
		if s := &t.slots[i]; s.packets > 0 {
			list = append(list, record.PathCount{Path: t.graph.path(s.trail(t.graph)), Packets: s.packets})
		}
	}
	return list
}
