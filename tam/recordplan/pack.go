package recordplan

import "math"

// maxPacked is up to how many tables their slots are found exactly.
const maxPacked = 6

// A slotful is what shares a slot: tables that exclude each other, and the stages that all
// of them can be in.
type slotful struct {
	lo, hi int
	tables []int
}

// pack puts tables into the cheapest slots, of which each takes tables that exclude each
// other and have a stage in common. No placement is cheaper. Of many tables, those of the
// dearest chain are taken, which need a slot each.
func (x *search) pack(tables []int, price func(lo, hi int) float64) ([]slotful, float64) {
	if x.space.exempt || len(tables) > maxPacked {
		chain := x.dearest(tables, func(t int) float64 { return price(x.space.first[t], x.space.last[t]) })
		var slots []slotful
		cost := 0.0
		for _, t := range chain {
			slots = append(slots, slotful{x.space.first[t], x.space.last[t], []int{t}})
			cost += price(x.space.first[t], x.space.last[t])
		}
		return slots, cost
	}
	p := packer{search: x, price: price, cost: math.Inf(1)}
	p.put(tables, nil)
	return p.best, p.cost
}

type packer struct {
	*search
	price func(lo, hi int) float64
	best  []slotful
	cost  float64
}

// put tries the first table in each slot that it can share, and in one of its own.
func (p *packer) put(tables []int, slots []slotful) {
	cost := 0.0
	for _, s := range slots {
		cost += p.price(s.lo, s.hi)
	}
	if cost >= p.cost {
		return
	}
	if len(tables) == 0 {
		p.cost = cost
		p.best = append([]slotful(nil), slots...)
		return
	}
	t := tables[0]
	lo, hi := p.space.first[t], p.space.last[t]
	for i, s := range slots {
		both := slotful{max(lo, s.lo), min(hi, s.hi), append(s.tables[:len(s.tables):len(s.tables)], t)}
		if both.lo > both.hi || p.competesAny(t, s.tables) {
			continue
		}
		slots[i] = both
		p.put(tables[1:], slots)
		slots[i] = s
	}
	p.put(tables[1:], append(slots[:len(slots):len(slots)], slotful{lo, hi, []int{t}}))
}

func (p *packer) competesAny(t int, others []int) bool {
	for _, o := range others {
		if p.space.competes(o, t) {
			return true
		}
	}
	return false
}

// one counts slots.
func one(int, int) float64 { return 1 }

// slotsFor is how many slots tables take at least.
func (x *search) slotsFor(tables []int) int {
	slots, _ := x.pack(tables, one)
	return len(slots)
}
