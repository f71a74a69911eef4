package lab

import (
	"time"

	"tamtam/device"
	"tamtam/saisim"
	"tamtam/saisim/truth"
)

// Epoch returns the time of day at time 0 of every run.
func Epoch() time.Time { return epoch }

// A Tap lets a study watch one switch of a lab.
type Tap struct{ node *node }

// A Watcher receives the events of flow groups' frames in a chip, in order.
type Watcher interface {
	Saw(saisim.Moment)
	// Restarted reports that the chip was replaced, and its contents are lost.
	Restarted()
}

// Tap returns the tap of a switch, or nil if there is no such switch.
func (l *Lab) Tap(name string) *Tap {
	if n := l.byName[name]; n != nil {
		return &n.tap
	}
	return nil
}

// Config returns the configuration with which the switch began.
func (l *Lab) Config(name string) (device.ConfigDB, error) { return l.t.ConfigOf(l.byName[name].s) }

// Topology returns the topology that the lab was built from.
func (l *Lab) Topology() *Topology { return l.t }

// Watch makes w receive the events from now on.
func (p *Tap) Watch(w Watcher) {
	p.node.watchers = append(p.node.watchers, w)
	p.node.watch(p.node.sim.Chip)
}

// Name returns the switch's name.
func (p *Tap) Name() string { return p.node.s.Name }

// Sim returns the switch with its control plane.
func (p *Tap) Sim() *device.Sim { return p.node.sim }

// Port returns the name of a port.
func (p *Tap) Port(id saisim.PortID) string { return p.node.portName(id) }

// Time returns when a cycle begins, rounded down to picoseconds.
func (p *Tap) Time(c saisim.Cycle) Time { return p.node.time(c) }

// Arrival returns the exact arrival time of a received frame's start-of-frame delimiter. It lies within the cycle in
// which the chip saw it.
func (p *Tap) Arrival(m saisim.Moment) Time {
	if m.Early == 0 {
		return p.node.time(m.At)
	}
	t := truth.At(uint64(m.At), m.Early, m.Byte.Den, p.node.hz)
	return p.node.base + Time(t.Sec)*Second + Time(t.Ps)
}
