package engine

import (
	"tamtam/saisim/config"
)

func newFlowTable() *flowTable {
	t := new(flowTable)
	for i := config.DropFlows; i > 0; i-- {
		t.flows[i].next, t.free = t.free, int32(i)
	}
	return t
}

func (k *flowKey) hash() uint32 {
	h := uint64(0)
	for _, w := range [...]uint64{
		k.src[0], k.src[1], k.dst[0], k.dst[1], k.dmac, k.smac, uint64(k.in)<<32 | uint64(k.out),
		uint64(k.l4src)<<48 | uint64(k.l4dst)<<32 | uint64(k.etherType)<<16 | uint64(k.why)<<8 | uint64(k.proto),
		uint64(k.mask)<<8 | uint64(k.flags),
	} {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return uint32(h>>32) % (2 * config.DropFlows)
}

// find returns the flow with a key, 0 if there is none.
func (t *flowTable) find(k *flowKey) int32 {
	i := t.buckets[k.hash()]
	for i != 0 && t.flows[i].key != *k {
		i = t.flows[i].next
	}
	return i
}

// add adds a flow. The table must not be full.
func (t *flowTable) add(k *flowKey, now Cycle) int32 {
	i := t.free
	f := &t.flows[i]
	t.free = f.next
	h := k.hash()
	*f = dropFlow{key: *k, next: t.buckets[h]}
	t.buckets[h] = i
	t.n++
	t.lately(i)
	t.begin(i, now)
	return i
}

// remove deletes a flow.
func (t *flowTable) remove(i int32) {
	f := &t.flows[i]
	at := &t.buckets[f.key.hash()]
	for *at != i {
		at = &t.flows[*at].next
	}
	*at = f.next
	t.unlinkTime(i)
	t.unlinkUse(i)
	f.next, t.free = t.free, i
	t.n--
}

// lately moves a flow to the end of the order by last drop.
func (t *flowTable) lately(i int32) {
	f := &t.flows[i]
	last := t.flows[0].older
	f.newer, f.older = 0, last
	t.flows[last].newer, t.flows[0].older = i, i
}

func (t *flowTable) unlinkUse(i int32) {
	f := &t.flows[i]
	t.flows[f.newer].older, t.flows[f.older].newer = f.older, f.newer
}

// stalest returns the flow whose last drop is the oldest.
func (t *flowTable) stalest() int32 { return t.flows[0].newer }

// begin begins a flow's interval. The interval does not end before any interval that began earlier.
func (t *flowTable) begin(i int32, now Cycle) {
	f, last := &t.flows[i], t.flows[0].sooner
	f.until = now + t.aging
	if last != 0 {
		f.until = max(f.until, t.flows[last].until)
	}
	f.sooner, f.later = last, 0
	t.flows[last].later, t.flows[0].sooner = i, i
}

func (t *flowTable) unlinkTime(i int32) {
	f := &t.flows[i]
	t.flows[f.sooner].later, t.flows[f.later].sooner = f.later, f.sooner
}

// soonest returns the flow whose interval ends first, 0 if there is none.
func (t *flowTable) soonest() int32 { return t.flows[0].later }
