package reference

import (
	"fmt"
	"slices"

	"tamtam/saisim"
	"tamtam/tam/record"
)

// maxPaths is the number of paths that a chip counts.
const maxPaths = 1024

// A pathCounter counts the paths of copies while there is a plan.
type pathCounter struct {
	epoch   int // epoch of the counting; zero if nothing is counted
	last    int // the last epoch used
	counted uint64
	other   uint64 // copies whose path was beyond maxPaths
	paths   map[string]*record.PathCount
}

// restart restarts counting at zero, or stops it if on is false.
func (p *pathCounter) restart(on bool) {
	*p = pathCounter{last: p.last, paths: map[string]*record.PathCount{}}
	if on {
		p.last++
		p.epoch = p.last
	}
}

// countPath counts the path of a copy that enters the egress pipe now, or that ended before.
func (c *Chip) countPath(pk *packet, path []record.Step) {
	p := &c.pathCounter
	if p.epoch == 0 || pk.epoch == 0 || pk.in == saisim.CPUPort || pk.graph != c.graphOf(c.version) {
		return
	}
	p.counted++
	path = slices.Clone(path)
	for i := range path {
		path[i].Action = "" // the chip counts without actions
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

// countDropped counts a packet that the ingress pipe has dropped, as of its entry.
func (c *Chip) countDropped(pk *packet) {
	if pk.epoch == c.epoch {
		c.countPath(pk, slices.Clone(pk.tables))
	}
}

// Paths returns the number of counted copies, the number of copies whose path was beyond the limit, and the counts by
// path.
func (c *Chip) Paths() (counted, other uint64, paths []record.PathCount) {
	for _, p := range c.paths {
		paths = append(paths, *p)
	}
	return c.counted, c.other, paths
}
