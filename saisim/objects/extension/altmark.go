package extension

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

// marks holds the profiles of alternate marking.
type marks struct {
	*Chip
	lanes [profile.MarkLanes]*markProfile // profile of each lane; nil if it has none
}

// A markProfile is the state that the store keeps for a profile.
type markProfile struct {
	of   *marks
	lane int // -1 if the profile is new, or if another object now uses its lane
}

// Apply puts the profile into its lane. A changed profile displaces the profile that uses the lane: when syncd brings
// the chip from one view to another, two may swap lanes, one after the other.
func (p *markProfile) Apply(text []byte) error {
	next, err := p.of.parseProfile(text)
	if err != nil {
		return err
	}
	if created := p.lane < 0; created && p.of.lanes[next.Lane] != nil {
		return fmt.Errorf("lane is %d, want one that no other profile has", next.Lane)
	}
	p.Leave()
	if other := p.of.lanes[next.Lane]; other != nil {
		other.lane = -1
	}
	p.lane, p.of.lanes[next.Lane] = next.Lane, p
	p.of.Put(next)
	return nil
}

// Leave frees the lane.
func (p *markProfile) Leave() {
	if p.lane >= 0 {
		p.of.lanes[p.lane] = nil
		p.of.Drop(config.AltMark{Lane: p.lane})
	}
	p.lane = -1
}

func (p *markProfile) Read() sai.Value { return nil }

// missing represents a number that is not in ENTRY.
const missing = math.MinInt

// parseProfile parses a profile's ENTRY. The error contains everything that is wrong with it.
func (ms *marks) parseProfile(text []byte) (config.AltMark, error) {
	v := altmark.ChipProfile{Lane: missing, Interval: missing}
	given, err := readExtension(text, altmark.AttrProfile, &v)
	if err != nil {
		return config.AltMark{}, err
	}
	if given == nil {
		return config.AltMark{}, errors.New("profile is missing, want the profile's settings")
	}
	session, err := markSession(&v)
	err = errors.Join(checkDrop(&v), checkEncap(&v), ms.checkLane(v.Lane), ms.checkInterval(v.Interval), err,
		checkMargin("guard-ns", v.GuardNS), checkMargin("early-ns", v.EarlyNS))
	if err == nil {
		err = session.Check()
	}
	if v.Drop {
		session.Foreign = altmark.DropForeign
	}
	return config.AltMark{
		Lane: v.Lane, Guard: time.Duration(v.GuardNS), Early: time.Duration(v.EarlyNS), Encap: v.Encap, Session: session,
	}, err
}

// markSession parses the words of a profile. It does not check the interval.
func markSession(v *altmark.ChipProfile) (altmark.Session, error) {
	s := altmark.Session{Interval: altmark.Interval(v.Interval), Clear: v.Clear, SlotSync: v.SlotSync,
		MeanDelay: v.MeanDelay}
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

// checkEncap rejects marks that are not in the outer header.
func checkEncap(v *altmark.ChipProfile) error {
	option := func(mark string) bool {
		return mark == "" || mark == altmark.IPv6Loss.String() || mark == altmark.IPv6Delay.String()
	}
	switch {
	case !v.Encap:
	case v.Role != altmark.Initiator.String():
		return fmt.Errorf("encap is true, but the role is %s: only an initiator puts headers around packets", v.Role)
	case !option(v.Mark) || !option(v.Mark2):
		return fmt.Errorf("encap is true and mark is %s, mark2 %q: want %s and %s, which are in the header",
			v.Mark, v.Mark2, altmark.IPv6Loss, altmark.IPv6Delay)
	}
	return nil
}

func (ms *marks) checkLane(lane int) error {
	if lane < 0 || lane >= int(ms.Profile.AltMark.Profiles) {
		return fmt.Errorf("lane is %s, want 0 to %d", numberOrMissing(lane), ms.Profile.AltMark.Profiles-1)
	}
	return nil
}

func (ms *marks) checkInterval(n int) error {
	if n < int(altmark.MinInterval) || n > int(altmark.MaxInterval) {
		return fmt.Errorf("interval is %s, want %d to %d", numberOrMissing(n), altmark.MinInterval, altmark.MaxInterval)
	}
	if ms.Engine.Clock().CycleAt(altmark.Interval(n).Duration()/4) < 16 {
		return fmt.Errorf("interval is %d, want one with a quarter of at least 16 cycles of %d Hz", n, ms.Profile.ClockHz)
	}
	return nil
}

// checkMargin rejects a time at an end of a period that is out of range.
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

// A markWindow reads flows. It is not configuration.
type markWindow struct {
	of    *marks
	entry map[string]json.RawMessage
	flows []uint32
}

func (w *markWindow) Apply(text []byte) error {
	next := markWindow{of: w.of}
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
		if i >= w.of.Profile.AltMark.Flows {
			return fmt.Errorf("flows: index %d, want 0 to %d", i, w.of.Profile.AltMark.Flows-1)
		}
	}
	*w = next
	return nil
}

func (w *markWindow) Leave() {}

func (w *markWindow) Read() sai.Value {
	generations := make([]uint64, 0, len(w.flows))
	values, late, isLate := []uint64{}, []uint64{}, false
	outer, isOuter := []uint64{}, false
	arrivals, summed := []uint64{}, false
	for _, i := range w.flows {
		f := w.of.Engine.MarkFlow(i)
		generations = append(generations, f.Generation)
		for _, x := range f.Of {
			values, arrivals = x.Words(values), x.Arrivals.Words(arrivals)
			summed = summed || x.Arrivals != altmark.ChipArrivals{}
		}
		late = append(late, f.Late.First, f.Late.Last)
		isLate = isLate || f.Late != altmark.LatePeriods{}
		outer, isOuter = f.Outer.Words(outer), isOuter || f.Outer != altmark.OuterCounts{}
	}
	names := []string{altmark.AttrTime, altmark.AttrGenerations, altmark.AttrCounters}
	lists := [][]uint64{w.of.clockNumbers(), generations, values}
	if isLate {
		names, lists = append(names, altmark.AttrLate), append(lists, late)
	}
	if isOuter {
		names, lists = append(names, altmark.AttrOuter), append(lists, outer)
	}
	if summed {
		names, lists = append(names, altmark.AttrArrivals), append(lists, arrivals)
	}
	if w.of.Engine.Program() != nil {
		names, lists = append(names, altmark.AttrProgram), append(lists, []uint64{1})
	}
	if w.of.Kernel != nil {
		names, lists = append(names, altmark.AttrKernel), append(lists, w.of.Kernel().Words())
	}
	return writeExtension(w.entry, names, lists)
}
