package reference_test

import (
	"fmt"
	"hash/maphash"
	"strings"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A dropped is a drop as an engine reports it, without the fields that the reference does not have.
type dropped struct {
	at                     saisim.Cycle
	id                     uint64
	in, port               saisim.PortID
	why                    drop.Reason
	trap                   config.Trap
	punted, mirror, queued bool
	queue                  uint8
	depth                  uint32
	data                   string
	length                 int
}

// drops holds the drops that the fast engine has reported more often than the reference.
type drops map[dropped]int

func (d drops) add(x saisim.Drop, n int) {
	k := asDropped(x)
	if d[k] += n; d[k] == 0 {
		delete(d, k)
	}
}

func asDropped(x saisim.Drop) dropped {
	return dropped{x.At, x.ID, x.In, x.Port, x.Why, x.Trap, x.Punted, x.Mirror, x.Queued, x.Queue, x.Depth, string(x.Data),
		x.Len}
}

// An end is the kept form of where a packet, or a copy of it, ended.
type end struct {
	dropped
	what   saisim.What
	unkept saisim.Unkept
	path   uint64 // hash of the findings
}

// ends holds the kept ends that the fast engine has more often than the reference.
type ends struct {
	more  map[end]int
	paths map[uint64]string // by hash
	seed  maphash.Seed
}

const keptHead = 112

func (e ends) add(k *saisim.Kept, n int) {
	d := k.Drop
	d.Data = d.Data[:min(keptHead, len(d.Data))]
	path := uint64(0)
	for _, f := range k.Path {
		path = path*31 + maphash.Comparable(e.seed, f)
	}
	if e.paths[path] == "" {
		e.paths[path] = fmt.Sprintf("%+v", k.Path)
	}
	x := end{asDropped(d), k.What, k.Unkept, path}
	if e.more[x] += n; e.more[x] == 0 {
		delete(e.more, x)
	}
}

// lacks reports whether the only difference is that the fast engine has evicted n of the ends that the reference has
// kept.
func (e ends) lacks(n uint64) bool {
	sum := uint64(0)
	for _, more := range e.more {
		if more > 0 {
			return false
		}
		sum += uint64(-more)
	}
	return sum == n
}

// keepEnds makes the reference report what is kept: drops always, and other ends if all is true.
func (p *pair) keepEnds(all bool) {
	p.kept, p.all = ends{map[end]int{}, map[uint64]string{}, maphash.MakeSeed()}, all
	p.ref.Kept = func(k saisim.Kept) {
		p.kept.add(&k, -1)
		for _, f := range k.Path {
			table := f.Table
			if pipe, _, _ := strings.Cut(table, "."); pipe == "ingress" || pipe == "egress" {
				table = "tables of a program, " + pipe
			}
			p.saw["kept: "+table]++
		}
	}
	if all {
		p.chip.WatchAll(true)
		p.ref.KeptEnd = func(k saisim.Kept) {
			p.kept.add(&k, -1)
			p.saw["kept: "+k.What.String()]++
		}
	}
}

// endsKeptDiffer returns an error for an end that the two have kept differently.
func (p *pair) endsKeptDiffer() error {
	if p.kept.more == nil {
		return nil
	}
	missing := uint64(0)
	var state [2]saisim.RingState
	p.chip.Why(func(v *saisim.WhyView) {
		state = [2]saisim.RingState{v.Drops, v.Ends}
		if v.Drops.Forgotten+v.Ends.Forgotten > 0 {
			p.saw["rings run over"]++
		}
		all, _ := v.Dropped()
		for _, n := range all {
			missing += n
		}
		missing -= v.Drops.Kept
	})
	note := func(k *saisim.Kept) bool {
		p.kept.add(k, 1)
		return true
	}
	p.chip.EachDrop(0, state[0].Kept, note)
	p.chip.EachEnd(0, state[1].Kept, note)
	if missing != 0 {
		return fmt.Errorf("%d drops more in the books than kept", int64(missing))
	}
	if forgotten := state[0].Forgotten + state[1].Forgotten; forgotten > 0 && p.kept.lacks(forgotten) {
		return nil
	}
	for e, n := range p.kept.more {
		others := ""
		for f, m := range p.kept.more {
			if f.id == e.id && f != e {
				others += fmt.Sprintf("\n%+d %+v %s", m, f, p.kept.paths[f.path])
			}
		}
		return fmt.Errorf("an end that the fast engine keeps oftener than the reference, by %+d: %+v %s%s", n, e,
			p.kept.paths[e.path], others)
	}
	return nil
}

// reportDrops makes both engines report their drops.
func (p *pair) reportDrops() {
	p.reported = drops{}
	p.chip.OnDrop(func(d *saisim.Drop) {
		p.reported.add(*d, 1)
		if d.Punted {
			p.saw["to the CPU alone"]++
		}
		if d.Queued {
			p.saw["dropped behind the question for room"]++
		}
	})
	p.ref.Dropped = func(d saisim.Drop) { p.reported.add(d, -1) }
}

// dropsDiffer returns an error for a drop that the two report differently.
func (p *pair) dropsDiffer() error {
	for d, n := range p.reported {
		others := ""
		for e, m := range p.reported {
			if e.id == d.id && e != d {
				others += fmt.Sprintf("\n%+d %+v", m, e)
			}
		}
		return fmt.Errorf("a drop that the fast engine tells oftener than the reference, by %+d: %+v%s", n, d, others)
	}
	return nil
}
