package saisim

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/tam/altmark"
)

// A markObject is what the store keeps of a profile.
type markObject struct{ lane int } // -1: another object has taken it, or it is new

// apply makes the profile that of its lane. One that is changed takes a lane from
// the profile that has it: where syncd brings the chip from one view to another, two
// may exchange theirs, one after the other.
func (p *markObject) apply(c *store, text []byte) error {
	next, err := c.parseMarkProfile(text)
	if err != nil {
		return err
	}
	if created := p.lane < 0; created && c.markLanes[next.Lane] != nil {
		return fmt.Errorf("lane is %d, want one that no other profile has", next.Lane)
	}
	p.leave(c)
	if other := c.markLanes[next.Lane]; other != nil {
		other.lane = -1
	}
	p.lane, c.markLanes[next.Lane] = next.Lane, p
	c.put(next)
	return nil
}

// leave frees the lane.
func (p *markObject) leave(c *store) {
	if p.lane >= 0 {
		c.markLanes[p.lane] = nil
		c.drop(config.AltMark{Lane: p.lane})
	}
	p.lane = -1
}

func (p *markObject) read(*store) sai.Value { return nil }

// missing is a number that ENTRY does not have.
const missing = math.MinInt

// parseMarkProfile reads a profile's ENTRY and says all that is wrong with it.
func (c *store) parseMarkProfile(text []byte) (config.AltMark, error) {
	v := altmark.ChipProfile{Lane: missing, Interval: missing}
	given, err := readExtension(text, altmark.AttrProfile, &v)
	if err != nil {
		return config.AltMark{}, err
	}
	if given == nil {
		return config.AltMark{}, errors.New("profile is missing, want the profile's settings")
	}
	session, err := markSession(&v)
	err = errors.Join(checkDrop(&v), c.checkLane(v.Lane), c.checkInterval(v.Interval), err,
		checkMargin("guard-ns", v.GuardNS), checkMargin("early-ns", v.EarlyNS))
	if err == nil {
		err = session.Check()
	}
	if v.Drop {
		session.Foreign = altmark.DropForeign
	}
	return config.AltMark{
		Lane: v.Lane, Guard: time.Duration(v.GuardNS), Early: time.Duration(v.EarlyNS), Session: session,
	}, err
}

// markSession reads the words of a profile; its interval is as it stands there.
func markSession(v *altmark.ChipProfile) (altmark.Session, error) {
	s := altmark.Session{Interval: altmark.Interval(v.Interval), Clear: v.Clear, SlotSync: v.SlotSync}
	var role, method, mark, mark2 error
	s.Role, role = altmark.ParseRole(v.Role)
	s.Method, method = altmark.ParseMethod(v.Method)
	s.Mark, mark = altmark.ParseMark(v.Mark)
	if v.Mark2 != "" {
		s.Mark2, mark2 = altmark.ParseMark(v.Mark2)
	}
	return s, errors.Join(role, method, mark, mark2)
}

func checkDrop(v *altmark.ChipProfile) error {
	if v.Drop && v.Role != altmark.Initiator.String() {
		return fmt.Errorf("drop-marked is true, but the role is %s: only an initiator drops what comes marked", v.Role)
	}
	return nil
}

func (c *store) checkLane(lane int) error {
	if lane < 0 || lane >= int(c.prof.AltMark.Profiles) {
		return fmt.Errorf("lane is %s, want 0 to %d", numberOrMissing(lane), c.prof.AltMark.Profiles-1)
	}
	return nil
}

func (c *store) checkInterval(n int) error {
	if n < int(altmark.MinInterval) || n > int(altmark.MaxInterval) {
		return fmt.Errorf("interval is %s, want %d to %d", numberOrMissing(n), altmark.MinInterval, altmark.MaxInterval)
	}
	if c.tod.Load().cycleAt(altmark.Interval(n).Duration()/4) < 16 {
		return fmt.Errorf("interval is %d, want one with a quarter of at least 16 cycles of %d Hz", n, c.prof.ClockHz)
	}
	return nil
}

// checkMargin refuses the time at an end of a period.
func checkMargin(name string, ns int64) error {
	if most := altmark.MaxInterval.Duration(); ns < 0 || time.Duration(ns) > most {
		return fmt.Errorf("%s is %d, want 0 to %d", name, ns, most)
	}
	return nil
}

func numberOrMissing(n int) string {
	if n == missing {
		return "missing"
	}
	return strconv.Itoa(n)
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
				Outside: x.outside, PulseBytes: x.pulseBytes,
				Foreign: x.foreign, ForeignBytes: x.foreignBytes, Digest: x.digest,
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
	return altmark.ChipClock{
		At: altmark.Time(t), Synchronised: !unsync, Steps: tod.steps, Started: uint64(c.cfg.Start.UnixNano()),
	}.Words()
}
