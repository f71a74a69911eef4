package cmu

import (
	"math/bits"

	"tamtam/tam/flymon"
)

// digest keeps a flow for the controller, if it is new and the limit allows it.
func (t *task) digest(v *flymon.Vector) {
	kept, b := &t.digests[t.bank&1], &t.banks[t.bank&1]
	flow := v.And(t.layout.Digest.Key)
	at := t.seen[t.bank&1].find(*kept, &flow)
	switch {
	case *at != 0:
	case len(*kept) == cap(*kept):
		b.DigestsLost++
	default:
		*kept = append(*kept, flow)
		*at = uint32(len(*kept))
		b.Digests++
	}
}

// A keySet finds keys in a list. It holds item numbers plus 1, by open addressing; 0 is free. It has at least twice as
// many slots as the list has items.
type keySet []uint32

func newKeySet(items int) keySet { return make(keySet, 2<<bits.Len(uint(items))) }

// find returns the slot that a key has or would have.
func (s keySet) find(keys []flymon.Vector, k *flymon.Vector) *uint32 {
	var h uint64
	for _, w := range k {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for i := h >> 32; ; i++ {
		at := &s[i&uint64(len(s)-1)]
		if *at == 0 || keys[*at-1] == *k {
			return at
		}
	}
}
