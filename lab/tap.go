package lab

import (
	"time"

	"tamtam/device"
	"tamtam/saisim"
	"tamtam/saisim/truth"
)

// Epoch is the time of day at time 0 of every run.
func Epoch() time.Time { return epoch }

// A Tap lets a study watch one switch of a lab.
type Tap struct{ node *node }

// A Watcher hears what happens to frames of flow groups in a chip, in order.
type Watcher interface {
	Saw(saisim.Moment)
	// Restarted says that the chip was replaced, and what was in it is lost.
	Restarted()
}

// Tap returns the tap of a switch; nil if there is no such switch.
func (l *Lab) Tap(name string) *Tap {
	if n := l.byName[name]; n != nil {
		return &n.tap
	}
	return nil
}

// Config is the configuration that the switch began with.
func (l *Lab) Config(name string) (device.ConfigDB, error) { return l.t.ConfigOf(l.byName[name].s) }

// Topology is what the lab was built from.
func (l *Lab) Topology() *Topology { return l.t }

// Watch tells w what happens from now on.
func (p *Tap) Watch(w Watcher) {
	p.node.watchers = append(p.node.watchers, w)
	p.node.watch(p.node.sim.Chip)
}

// Name is the switch's.
func (p *Tap) Name() string { return p.node.s.Name }

// Sim is the switch with its control plane.
func (p *Tap) Sim() *device.Sim { return p.node.sim }

// Port names a port.
func (p *Tap) Port(id saisim.PortID) string { return p.node.portName(id) }

// Time returns when a cycle begins, rounded down to picoseconds.
func (p *Tap) Time(c saisim.Cycle) Time { return p.node.time(c) }

// Arrival returns when the start-of-frame delimiter of a received frame came, exactly: within the cycle
// in which the chip saw it.
func (p *Tap) Arrival(m saisim.Moment) Time {
	if m.Early == 0 {
		return p.node.time(m.At)
	}
	t := truth.At(uint64(m.At), m.Early, m.Byte.Den, p.node.hz)
	return p.node.base + Time(t.Sec)*Second + Time(t.Ps)
}
