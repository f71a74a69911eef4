package saisim

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"tamtam/sai"
	"tamtam/tam/altmark"
)

// apply makes the profile that of its lane. One that is changed takes a lane from
// the profile that has it: where syncd brings the chip from one view to another, two
// may exchange theirs, one after the other.
func (p *markProfile) apply(c *store, text []byte) error {
	next, err := c.parseMarkProfile(text)
	if err != nil {
		return err
	}
	m := &c.marking
	if created := p.lane < 0; created && m.lanes[next.lane] != nil {
		return fmt.Errorf("lane is %d, want one that no other profile has", next.lane)
	}
	p.leave(c)
	*p = next
	if m.lanes[p.lane] == nil {
		m.used++
	}
	m.lanes[p.lane] = p
	return nil
}

// leave frees the lane, unless another profile has taken it.
func (p *markProfile) leave(c *store) {
	if p.lane >= 0 && c.marking.lanes[p.lane] == p {
		c.marking.lanes[p.lane] = nil
		c.marking.used--
	}
	p.lane = -1
}

func (p *markProfile) read(*store) sai.Value { return nil }

// parseMarkProfile reads a profile's ENTRY and says all that is wrong with it.
func (c *store) parseMarkProfile(text []byte) (markProfile, error) {
	const missing = math.MinInt
	v := altmark.ChipProfile{Lane: missing, Interval: missing}
	given, err := readExtension(text, altmark.AttrProfile, &v)
	if err != nil {
		return markProfile{}, err
	}
	if given == nil {
		return markProfile{}, errors.New("profile is missing, want the profile's settings")
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if v.Drop && v.Role != altmark.Initiator.String() {
		bad("drop-marked is true, but the role is %s: only an initiator drops what comes marked", v.Role)
	}
	p := markProfile{s: altmark.Session{Clear: v.Clear, SlotSync: v.SlotSync}, guard: time.Duration(v.GuardNS), early: time.Duration(v.EarlyNS)}
	shown := func(n int) string {
		if n == missing {
			return "missing"
		}
		return strconv.Itoa(n)
	}
	if v.Lane < 0 || v.Lane >= int(c.prof.AltMark.Profiles) {
		bad("lane is %s, want 0 to %d", shown(v.Lane), c.prof.AltMark.Profiles-1)
	} else {
		p.lane = v.Lane
	}
	if v.Interval < int(altmark.MinInterval) || v.Interval > int(altmark.MaxInterval) {
		bad("interval is %s, want %d to %d", shown(v.Interval), altmark.MinInterval, altmark.MaxInterval)
	} else if p.s.Interval = altmark.Interval(v.Interval); c.tod.Load().cycleAt(p.s.Interval.Duration()/4) < 16 {
		bad("interval is %d, want one with a quarter of at least 16 cycles of %d Hz", v.Interval, c.prof.ClockHz)
	}
	word := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	p.s.Role, err = altmark.ParseRole(v.Role)
	word(err)
	p.s.Method, err = altmark.ParseMethod(v.Method)
	word(err)
	p.s.Mark, err = altmark.ParseMark(v.Mark)
	word(err)
	if v.Mark2 != "" {
		p.s.Mark2, err = altmark.ParseMark(v.Mark2)
		word(err)
	}
	if v.GuardNS < 0 || p.guard > altmark.MaxInterval.Duration() {
		bad("guard-ns is %d, want 0 to %d", v.GuardNS, altmark.MaxInterval.Duration())
	}
	if v.EarlyNS < 0 || p.early > altmark.MaxInterval.Duration() {
		bad("early-ns is %d, want 0 to %d", v.EarlyNS, altmark.MaxInterval.Duration())
	}
	if len(errs) == 0 {
		word(p.s.Check())
	}
	if v.Drop {
		p.s.Foreign = altmark.DropForeign
	}
	p.gap, _ = eighths(p.s.Interval, 1)
	_, p.step = eighths(p.s.Interval, 6)
	return p, errors.Join(errs...)
}

// A markWindow reads flows. It is no configuration.
type markWindow struct {
	entry map[string]json.RawMessage
	flows []uint32
}

func (w *markWindow) apply(c *store, text []byte) error {
	next := markWindow{}
	if len(text) > 0 {
		var err error
		if next.entry, err = readExtension(text, altmark.AttrFlows, &next.flows); err != nil {
			return err
		}
	}
	if len(next.flows) > altmark.MaxChipFlows {
		return fmt.Errorf("flows: %d, want at most %d", len(next.flows), altmark.MaxChipFlows)
	}
	for _, i := range next.flows {
		if i >= c.prof.AltMark.Flows {
			return fmt.Errorf("flows: index %d, want 0 to %d", i, c.prof.AltMark.Flows-1)
		}
	}
	*w = next
	return nil
}

func (w *markWindow) leave(*store) {}

func (w *markWindow) read(c *store) sai.Value {
	generations := make([]uint64, 0, len(w.flows))
	values := []uint64{}
	for _, i := range w.flows {
		f := &markFlow{}
		if int(i) < len(c.marking.flows) {
			f = &c.marking.flows[i]
		}
		generations = append(generations, f.generation)
		for colour := range f.of {
			packets, bytes := f.counts(uint32(colour))
			x := &f.of[colour]
			values = altmark.ChipCounts{
				Packets: packets, Bytes: bytes, Captures: x.captures, Captured: x.at, Unsynchronised: x.unsync,
				Outside: x.outside, PulseBytes: x.pulseBytes, Foreign: x.foreign, ForeignBytes: x.foreignBytes, Digest: x.digest,
			}.Words(values)
		}
	}
	names := []string{altmark.AttrTime, altmark.AttrGenerations, altmark.AttrCounters}
	lists := [][]uint64{c.clockNumbers(), generations, values}
	if c.cfg.Kernel != nil {
		names, lists = append(names, altmark.AttrKernel), append(lists, c.cfg.Kernel().Words())
	}
	return writeExtension(w.entry, names, lists)
}

// clockNumbers is the attribute "time" of windows.
func (c *store) clockNumbers() []uint64 {
	tod := c.tod.Load()
	t, unsync := tod.read(c.now)
	return altmark.ChipClock{At: altmark.Time(t), Synchronised: !unsync, Steps: tod.steps, Started: uint64(c.cfg.Start.UnixNano())}.Words()
}
