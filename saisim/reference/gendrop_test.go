package reference_test

import (
	"fmt"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A dropped is what an engine tells of a drop, but for what the reference has no name for.
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

// drops are those that the fast engine has told oftener than the reference.
type drops map[dropped]int

func (d drops) add(x saisim.Drop, n int) {
	k := dropped{x.At, x.ID, x.In, x.Port, x.Why, x.Trap, x.Punted, x.Mirror, x.Queued, x.Queue, x.Depth, string(x.Data), x.Len}
	if d[k] += n; d[k] == 0 {
		delete(d, k)
	}
}

// tellDrops has both tell their drops.
func (p *pair) tellDrops() {
	p.told = drops{}
	p.chip.SetDropped(func(d *saisim.Drop) {
		p.told.add(*d, 1)
		if d.Punted {
			p.saw["to the CPU alone"]++
		}
		if d.Queued {
			p.saw["dropped behind the question for room"]++
		}
	})
	p.ref.Dropped = func(d saisim.Drop) { p.told.add(d, -1) }
}

// dropsDiffer says which drop the two tell otherwise.
func (p *pair) dropsDiffer() error {
	for d, n := range p.told {
		others := ""
		for e, m := range p.told {
			if e.id == d.id && e != d {
				others += fmt.Sprintf("\n%+d %+v", m, e)
			}
		}
		return fmt.Errorf("a drop that the fast engine tells oftener than the reference, by %+d: %+v%s", n, d, others)
	}
	return nil
}
