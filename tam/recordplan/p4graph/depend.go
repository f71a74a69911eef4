package p4graph

import (
	"math/bits"
	"strings"

	"tamtam/tam/record"
)

// kinds lists the kinds of dependencies, in the order of reports.
func kinds() []string {
	return []string{
		record.DepMatch, record.DepViaCond, record.DepActionRW, record.DepWrite, record.DepControl, record.DepAnti,
	}
}

func isKind(k string) bool {
	for _, known := range kinds() {
		if k == known {
			return true
		}
	}
	return false
}

// Dependencies returns the dependencies between tables of a graph that [Check] accepts. These are the given ones, or
// those that follow from reads and writes. Only tables that one packet can run depend on each other.
//
// All actions of a table count as one, and a table that sometimes decides another counts as one that decides it. So
// there may be more dependencies than a compiler would find, but never fewer. Counters impose no order.
func Dependencies(g *record.Graph) []record.Dep {
	if g.Deps != nil {
		return g.Deps
	}
	x, err := record.NewIndex(g)
	if err != nil {
		return nil
	}
	d := newDepender(g, x)
	deps := []record.Dep{}
	// Most lists of kinds are equal, so they are shared.
	lists := map[[6]bool][]string{}
	for _, a := range x.Order {
		if g.Nodes[a].Kind != record.Table {
			continue
		}
		by := d.of(a)
		for _, b := range x.Order {
			var has [6]bool
			for i := range by {
				has[i] = by[i].has(b)
			}
			if has == [6]bool{} || g.Nodes[b].Kind != record.Table {
				continue
			}
			if lists[has] == nil {
				for i, kind := range kinds() {
					if has[i] {
						lists[has] = append(lists[has], kind)
					}
				}
			}
			deps = append(deps, record.Dep{From: g.Nodes[a].ID, To: g.Nodes[b].ID, Kinds: lists[has]})
		}
	}
	return deps
}

// A depender finds the tables that depend on a table, as one set per kind.
type depender struct {
	g *record.Graph
	x *record.Index
	// after holds the nodes that can follow each node, and decided the nodes whose execution each node decides.
	after, decided []bitset
	// The nodes that use each field, by the kind of use.
	keys, reads, writes, conditions *users
}

func newDepender(g *record.Graph, x *record.Index) *depender {
	d := &depender{g: g, x: x, keys: newUsers(), reads: newUsers(), writes: newUsers(), conditions: newUsers()}
	for i, n := range g.Nodes {
		if n.Kind == record.Condition {
			d.conditions.add(i, n.Reads)
			continue
		}
		d.keys.add(i, n.KeyReads)
		d.reads.add(i, n.ActionReads)
		d.writes.add(i, n.ActionWrites)
	}
	d.decide()
	return d
}

// decide computes for every node the nodes that can follow it, and the nodes whose execution its outcome decides. A
// node is decided if one successor leads to it and one can avoid it.
func (d *depender) decide() {
	n := len(d.g.Nodes)
	d.after, d.decided = make([]bitset, n+1), make([]bitset, n+1)
	must := make([]bitset, n+1) // nodes on all paths from each node, including itself
	d.after[n], must[n] = newBitset(n), newBitset(n)
	for i := len(d.x.Order) - 1; i >= 0; i-- {
		a := d.x.Order[i]
		d.after[a], d.decided[a] = newBitset(n), newBitset(n)
		for j, b := range d.x.Next[a] {
			if b < n {
				d.after[a].set(b)
			}
			d.after[a].or(d.after[b])
			if j == 0 {
				must[a] = must[b].clone()
			} else {
				must[a].and(must[b])
			}
		}
		if len(d.x.Next[a]) > 1 {
			d.decided[a].or(d.after[a])
			d.decided[a].not(must[a])
		}
		must[a].set(a)
	}
}

// of returns the nodes that depend on table a, in the order of kinds.
func (d *depender) of(a int) [6]bitset {
	var by [6]bitset
	for i := range by {
		by[i] = newBitset(len(d.g.Nodes))
	}
	match, viaCond, actionRW, write, control, anti := by[0], by[1], by[2], by[3], by[4], by[5]
	n := &d.g.Nodes[a]
	conditions := newBitset(len(d.g.Nodes))
	for _, f := range n.ActionWrites {
		d.keys.of(f, match)
		d.reads.of(f, actionRW)
		d.writes.of(f, write)
		d.conditions.of(f, conditions)
	}
	for _, fields := range [][]string{n.KeyReads, n.ActionReads} {
		for _, f := range fields {
			d.writes.of(f, anti)
		}
	}
	conditions.and(d.after[a])
	conditions.each(func(c int) { viaCond.or(d.decided[c]) })
	control.or(d.decided[a])
	for _, set := range by {
		set.and(d.after[a])
	}
	return by
}

// users maps fields to the nodes that use them, where h.* means all fields of header h.
type users struct {
	exact, wild, under map[string][]int
}

func newUsers() *users {
	return &users{exact: map[string][]int{}, wild: map[string][]int{}, under: map[string][]int{}}
}

func (u *users) add(node int, fields []string) {
	for _, f := range fields {
		switch header, ok := strings.CutSuffix(f, whole); {
		case strings.HasPrefix(f, "ctr:"): // counters impose no order
		case ok:
			u.wild[header] = append(u.wild[header], node)
			prefixes(f, func(h string) { u.under[h] = append(u.under[h], node) })
		default:
			u.exact[f] = append(u.exact[f], node)
			prefixes(f, func(h string) { u.under[h] = append(u.under[h], node) })
		}
	}
}

// of adds the nodes that use a field that overlaps f.
func (u *users) of(f string, to bitset) {
	add := func(nodes []int) {
		for _, i := range nodes {
			to.set(i)
		}
	}
	if header, ok := strings.CutSuffix(f, whole); ok {
		add(u.under[header])
	} else {
		add(u.exact[f])
	}
	prefixes(f, func(h string) { add(u.wild[h]) })
}

// prefixes calls do with every possible header of a field. Names of fields and headers may contain dots.
func prefixes(f string, do func(header string)) {
	const most = 8
	from := 0
	for range most {
		dot := strings.IndexByte(f[from:], '.')
		if dot < 0 {
			return
		}
		do(f[:from+dot])
		from += dot + 1
	}
}

// A bitset is a set of nodes.
type bitset []uint64

func newBitset(n int) bitset    { return make(bitset, n/64+1) }
func (s bitset) set(i int)      { s[i/64] |= 1 << (i % 64) }
func (s bitset) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s bitset) clone() bitset  { return append(bitset(nil), s...) }
func (s bitset) or(o bitset)    { s.with(o, func(a, b uint64) uint64 { return a | b }) }
func (s bitset) and(o bitset)   { s.with(o, func(a, b uint64) uint64 { return a & b }) }
func (s bitset) not(o bitset)   { s.with(o, func(a, b uint64) uint64 { return a &^ b }) }
func (s bitset) each(f func(int)) {
	for w, set := range s {
		for ; set != 0; set &= set - 1 {
			f(w*64 + bits.TrailingZeros64(set))
		}
	}
}

func (s bitset) with(o bitset, f func(a, b uint64) uint64) {
	for i := range s {
		s[i] = f(s[i], o[i])
	}
}
