package saisim

import (
	"bytes"
	"encoding/json"

	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/profile"
)

// A PacketTrace is the predicted history and outcome of a packet.
type PacketTrace = engine.PacketTrace

// A Finding is the result of one lookup of a packet in one table.
type Finding = engine.Finding

// A CountChange is the change of a counter.
type CountChange = engine.CountChange

// Names of tables in findings that the graph does not contain.
const (
	TablePreIngress = engine.TablePreIngress
	TablePolicer    = engine.TablePolicer
	TableQueue      = engine.TableQueue
	TableTrim       = engine.TableTrim
	TableGroup      = engine.TableGroup
	TableEncap      = engine.TableEncap
	TableDecap      = engine.TableDecap
	TableTunnel     = engine.TableTunnel
)

// A Fork is a copy of a chip at an instant, including frames in flight. It predicts the outcome of packets. Predictions
// do not change it, and the chip is not affected.
type Fork struct {
	Now   Cycle
	fork  *engine.Fork
	rows  config.Set
	names map[PortID]string
	prof  *profile.Profile
}

// Fork returns a fork of the chip. The chip is locked during the call.
func (c *Chip) Fork() (*Fork, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := engine.NewFork(c.engine)
	if err != nil {
		return nil, err
	}
	f := &Fork{c.engine.Now(), e, c.objects.Rows(), map[PortID]string{}, &c.profile}
	for _, id := range c.objects.Ports() {
		f.names[id] = c.objects.PortName(id)
	}
	return f, nil
}

// Trace returns the predicted outcome of a frame that arrives at a port's ingress MAC at a cycle, or as soon after it
// as earlier frames allow, if no frames follow it.
func (f *Fork) Trace(id PortID, at Cycle, frame Frame) (*PacketTrace, error) {
	return f.fork.Trace(id, at, &frame)
}

// With returns a copy of the fork with a change of its tables.
func (f *Fork) With(ch config.Change) (*Fork, error) {
	e, err := f.fork.With(ch)
	if err != nil {
		return nil, err
	}
	n := *f
	n.fork, n.rows = e, f.rows.Clone()
	n.rows.Apply(ch)
	return &n, nil
}

// Tables returns the complete configuration of the fixed functions. The rows must not be changed.
func (f *Fork) Tables() config.Tables { return f.rows.Tables() }

// PortName returns the name of a port's host interface, "" if it has none.
func (f *Fork) PortName(id PortID) string { return f.names[id] }

// PortByName returns the port whose host interface has a name, and false if there is none.
func (f *Fork) PortByName(name string) (PortID, bool) {
	for id, n := range f.names {
		if n == name && n != "" {
			return id, true
		}
	}
	return 0, false
}

// History returns the cycles at which the packet of a trace, and its copies, are at each place of the chip. The form is
// that of a [Trace] as JSON.
func (f *Fork) History(t *PacketTrace) (json.RawMessage, error) {
	var text bytes.Buffer
	h := newTrace(f.prof, f.PortName, &text, true)
	for _, m := range t.Moments {
		h.See(m)
	}
	err := h.Flush()
	return bytes.TrimSpace(text.Bytes()), err
}

// TracePacket does [Fork.Trace] with a new fork of the chip.
func (c *Chip) TracePacket(id PortID, at Cycle, frame Frame) (*PacketTrace, error) {
	f, err := c.Fork()
	if err != nil {
		return nil, err
	}
	return f.Trace(id, at, frame)
}
