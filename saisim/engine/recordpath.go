package engine

import (
	"math/bits"

	"tamtam/tam/record"
)

// MaxPaths is how many paths the chip counts.
const MaxPaths = 1024

// A pathTable counts paths: open addressing, linear probing, of a size that it never
// grows beyond.
type pathTable struct {
	graph *chipGraph // of all that is counted
	words int        // of passed.ran that the graph's tables need
	slots []pathSlot // twice MaxPaths; no packets: free
	n     int
	// All packets, and those whose path found no room.
	packets, other uint64
}

type pathSlot struct {
	passed
	packets uint64
}

// begin forgets what was counted.
func (t *pathTable) begin(g *chipGraph) {
	if t.slots == nil {
		t.slots = make([]pathSlot, 2*MaxPaths)
	}
	clear(t.slots)
	t.graph, t.words, t.n, t.packets, t.other = g, (len(g.program)+63)/64, 0, 0, 0
}

// find returns the slot of a path, a new one if need be; nil: there is no room.
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

// counted are all packets, and those of them whose path found no room.
func (t *pathTable) counted() (packets, other uint64) { return t.packets, t.other }

// counts returns the paths that were counted.
func (t *pathTable) counts() []record.PathCount {
	list := []record.PathCount{}
	for i := range t.slots {
		if s := &t.slots[i]; s.packets > 0 {
			list = append(list, record.PathCount{Path: t.graph.path(s.trail(t.graph)), Packets: s.packets})
		}
	}
	return list
}
