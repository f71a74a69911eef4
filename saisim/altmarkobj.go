package saisim

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tamtam/sai"
	"tamtam/tam/altmark"
)

// AltMarkProfile is the name of the extension object that is a profile of
// alternate marking: what a lane's sessions have in common. Its ENTRY is
//
//	{"attributes":[{"profile":{"sai_metadata":{...},"value":{"lane":0,"role":"terminator",
//	 "method":"muxed","interval":0,"mark":"dscp0","mark2":"","clear":true,"slot-sync":true,"guard-ns":12500000,"early-ns":1000000,
//	 "drop-marked":false}}}]}
const AltMarkProfile = "tamtam.altmark.profile"

// AltMarkWindow is the name of the extension object that reads flows of alternate
// marking. Its ENTRY is
//
//	{"attributes":[{"flows":{"sai_metadata":{...},"value":[index,...]}}]}
//
// and a get adds three attributes, all of one instant:
//
//   - "time", five numbers: the time of day in seconds and nanoseconds, 1 if the clock
//     is synchronised, how often it was set, and when the chip started, in nanoseconds
//     since 1970
//   - "generations", a number for each flow, another one whenever its state was zeroed
//   - "counters", 11 numbers for colour 0 and then 11 for colour 1 of each flow: packets,
//     bytes, captures, seconds and nanoseconds of the last, 1 if the clock was not
//     synchronised at it, packets out of window, bytes of pulses, packets with a foreign
//     mark, their bytes, digest of the last captured packet
//
// A chip whose clock follows a kernel's adds a fourth:
//
//   - "kernel", six numbers: both halves of the kernel's boot ID, 0 if it is not known; 1 if what
//     follows is known; 1 if the kernel's clock is synchronised; its greatest error in nanoseconds;
//     how far the chip's is ahead of it, in nanoseconds, as a number of 64 bits with a sign
const AltMarkWindow = "tamtam.altmark.flows"

// Bounds of a window of flows, and what it gives of each.
const (
	maxWindowFlows = 128
	markWords      = 11
)

// A markSettings is the value of a profile's ENTRY.
type markSettings struct {
	Lane     *int   `json:"lane"`
	Role     string `json:"role"`
	Method   string `json:"method"`
	Interval *int   `json:"interval"`
	Mark     string `json:"mark"`
	Mark2    string `json:"mark2"`
	Clear    bool   `json:"clear"`
	SlotSync bool   `json:"slot-sync"`
	GuardNS  int64  `json:"guard-ns"`
	EarlyNS  int64  `json:"early-ns"`
	Drop     bool   `json:"drop-marked"`
}

// apply makes the profile that of its lane. One that is changed takes a lane from
// the profile that has it: where syncd brings the chip from one view to another, two
// may exchange theirs, one after the other.
func (p *markProfile) apply(c *Chip, text []byte) error {
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
func (p *markProfile) leave(c *Chip) {
	if p.lane >= 0 && c.marking.lanes[p.lane] == p {
		c.marking.lanes[p.lane] = nil
		c.marking.used--
	}
	p.lane = -1
}

func (p *markProfile) read(*Chip) sai.Value { return nil }

// parseMarkProfile reads a profile's ENTRY and says all that is wrong with it.
func (c *Chip) parseMarkProfile(text []byte) (markProfile, error) {
	var v markSettings
	given, err := readExtension(text, "profile", &v)
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
	if v.Lane == nil || *v.Lane < 0 || *v.Lane >= int(c.prof.AltMark.Profiles) {
		bad("lane is %s, want 0 to %d", shown(v.Lane), c.prof.AltMark.Profiles-1)
	} else {
		p.lane = *v.Lane
	}
	if v.Interval == nil || *v.Interval < int(altmark.MinInterval) || *v.Interval > int(altmark.MaxInterval) {
		bad("interval is %s, want %d to %d", shown(v.Interval), altmark.MinInterval, altmark.MaxInterval)
	} else if p.s.Interval = altmark.Interval(*v.Interval); c.CycleAt(p.s.Interval.Duration()/4) < 16 {
		bad("interval is %d, want one with a quarter of at least 16 cycles of %d Hz", *v.Interval, c.prof.ClockHz)
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

func shown(v *int) string {
	if v == nil {
		return "missing"
	}
	return fmt.Sprint(*v)
}

// A markWindow reads flows. It is no configuration.
type markWindow struct {
	entry map[string]json.RawMessage
	flows []uint32
}

func (w *markWindow) apply(c *Chip, text []byte) error {
	next := markWindow{}
	if len(text) > 0 {
		var err error
		if next.entry, err = readExtension(text, "flows", &next.flows); err != nil {
			return err
		}
	}
	if len(next.flows) > maxWindowFlows {
		return fmt.Errorf("flows: %d, want at most %d", len(next.flows), maxWindowFlows)
	}
	for _, i := range next.flows {
		if i >= c.prof.AltMark.Flows {
			return fmt.Errorf("flows: index %d, want 0 to %d", i, c.prof.AltMark.Flows-1)
		}
	}
	*w = next
	return nil
}

func (w *markWindow) leave(*Chip) {}

func (w *markWindow) read(c *Chip) sai.Value {
	generations := make([]uint64, 0, len(w.flows))
	values := make([]uint64, 0, 2*markWords*len(w.flows))
	for _, i := range w.flows {
		f := &markFlow{}
		if int(i) < len(c.marking.flows) {
			f = &c.marking.flows[i]
		}
		generations = append(generations, f.generation)
		for colour := range f.of {
			packets, bytes := f.counts(uint32(colour))
			x := &f.of[colour]
			values = append(values, packets, bytes, x.captures, x.at.Seconds, uint64(x.at.Nanoseconds), one(x.unsync), x.outside, x.pulseBytes,
				x.foreign, x.foreignBytes, uint64(x.digest))
		}
	}
	names, lists := []string{"time", "generations", "counters"}, [][]uint64{c.clockNumbers(), generations, values}
	if c.cfg.Kernel != nil {
		names, lists = append(names, "kernel"), append(lists, kernelNumbers(c.cfg.Kernel()))
	}
	return writeExtension(w.entry, names, lists)
}

// kernelNumbers is the attribute "kernel" of windows.
func kernelNumbers(k altmark.KernelClock) []uint64 {
	return []uint64{k.Boot[0], k.Boot[1], one(k.Known), one(k.Synchronised), uint64(k.MaxError), uint64(k.Ahead)}
}

// clockNumbers is the attribute "time" of windows.
func (c *Chip) clockNumbers() []uint64 {
	tod := c.tod.Load()
	t, unsync := tod.read(c.now)
	return []uint64{t.Seconds, uint64(t.Nanoseconds), one(!unsync), tod.steps, uint64(c.cfg.Start.UnixNano())}
}

func one(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
