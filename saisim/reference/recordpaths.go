package reference

import (
	"fmt"
	"slices"

	"tamtam/saisim"
	"tamtam/tam/record"
)

// maxPaths is how many paths a chip counts.
const maxPaths = 1024

// A pathCounter counts the paths of copies while there is a plan.
type pathCounter struct {
	epoch   int // of counting; 0: nothing is counted
	last    int // epoch that there was
	counted uint64
	other   uint64 // copies whose path found no room
	paths   map[string]*record.PathCount
}

// restart begins to count at 0, or ends it.
func (p *pathCounter) restart(on bool) {
	*p = pathCounter{last: p.last, paths: map[string]*record.PathCount{}}
	if on {
		p.last++
		p.epoch = p.last
	}
}

// countPath counts the path of a copy that the egress pipe takes now, or that ends
// before.
func (c *Chip) countPath(pk *packet, path []record.Step) {
	p := &c.pathCounter
	if p.epoch == 0 || pk.epoch == 0 || pk.in == saisim.CPUPort || pk.graph != c.graphOf(c.version) {
		return
	}
	p.counted++
	path = slices.Clone(path)
	for i := range path {
		path[i].Action = "" // the chip counts none
	}
	key := fmt.Sprint(path)
	if p.paths[key] == nil {
		if len(p.paths) == maxPaths {
			p.other++
			return
		}
		p.paths[key] = &record.PathCount{Path: path}
	}
	p.paths[key].Packets++
}

// countDropped counts a packet that the ingress pipe has dropped: from its entry on.
func (c *Chip) countDropped(pk *packet) {
	if pk.epoch == c.epoch {
		c.countPath(pk, slices.Clone(pk.tables))
	}
}

// Paths returns how many copies were counted, of those the ones whose path found no
// room, and the others by path.
func (c *Chip) Paths() (counted, other uint64, paths []record.PathCount) {
	for _, p := range c.paths {
		paths = append(paths, *p)
	}
	return c.counted, c.other, paths
}
