package cmu_test

import (
	"math/bits"
	"reflect"
	"slices"

	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// An interpreter follows the comment of package flymon literally. It keeps only registers from one packet to the next.
type interpreter struct {
	geo       flymon.Geometry
	registers [][]uint32 // by group and CMU
	tasks     []*interpreted
}

type interpreted struct {
	flymon.Layout
	packets, bytes [2]uint64
	digests        [2][]flymon.Vector
	digestsLost    [2]uint64
}

func newInterpreter(geo flymon.Geometry) *interpreter {
	in := &interpreter{geo: geo}
	for range geo.All() * geo.CMUs {
		in.registers = append(in.registers, make([]uint32, geo.Depth))
	}
	return in
}

func (in *interpreter) bank(u *flymon.Unit, bank int) []uint32 {
	first := u.Base + uint32(bank)*u.Size
	return in.registers[u.Group*in.geo.CMUs+u.CMU][first : first+u.Size]
}

// apply applies a layout that fits.
func (in *interpreter) apply(l flymon.Layout) {
	t := &interpreted{Layout: l}
	old := in.remove(l.Task)
	kept := true
	for i := range l.Units {
		if !old.counts(&l, &l.Units[i]) {
			kept = false
			in.zero(&l.Units[i], l.Banks())
		}
	}
	for i := range l.Frozen {
		if !old.owns(&l.Frozen[i], l.Banks()) {
			in.zero(&l.Frozen[i], l.Banks())
		}
	}
	if kept {
		t.packets, t.bytes = old.packets, old.bytes
		if reflect.DeepEqual(l.Digest, old.Digest) {
			t.digests, t.digestsLost = old.digests, old.digestsLost
		}
	}
	in.tasks = append(in.tasks, t)
}

func (in *interpreter) zero(u *flymon.Unit, banks uint32) {
	for bank := range banks {
		clear(in.bank(u, int(bank)))
	}
}

// counts reports whether the task counted in an identical unit.
func (t *interpreted) counts(l *flymon.Layout, u *flymon.Unit) bool {
	if t == nil || t.Epoch != l.Epoch {
		return false
	}
	for i := range t.Units {
		if reflect.DeepEqual(&t.Units[i], u) {
			return reflect.DeepEqual(keysOf(&t.Layout, u), keysOf(l, u))
		}
	}
	return false
}

// keysOf returns the masks of a unit's compressed keys.
func keysOf(l *flymon.Layout, u *flymon.Unit) (keys []flymon.Key) {
	refs := []flymon.Ref{u.Key}
	for _, p := range []*flymon.Param{&u.P1, &u.P2} {
		if p.From == flymon.Compressed {
			refs = append(refs, p.Key)
		}
	}
	for _, r := range refs {
		for _, unit := range []int{r.A, r.B - 1} {
			for _, m := range l.Masks {
				if m.Group == u.Group && m.Unit == unit {
					keys = append(keys, m.Key)
				}
			}
		}
	}
	return keys
}

func (t *interpreted) owns(u *flymon.Unit, banks uint32) bool {
	if t == nil || t.Banks() != banks {
		return false
	}
	for _, list := range [][]flymon.Unit{t.Units, t.Frozen} {
		for _, o := range list {
			if o.Group == u.Group && o.CMU == u.CMU && o.Base == u.Base && o.Size == u.Size {
				return true
			}
		}
	}
	return false
}

func (in *interpreter) remove(task string) *interpreted {
	for i, t := range in.tasks {
		if t.Task == task {
			in.tasks = append(in.tasks[:i], in.tasks[i+1:]...)
			return t
		}
	}
	return nil
}

func (in *interpreter) clear(task string, bank int) {
	for _, t := range in.tasks {
		if t.Task != task {
			continue
		}
		for i := range t.Units {
			clear(in.bank(&t.Units[i], bank))
		}
		for i := range t.Frozen {
			clear(in.bank(&t.Frozen[i], bank))
		}
		t.packets[bank], t.bytes[bank], t.digests[bank], t.digestsLost[bank] = 0, 0, nil, 0
	}
}

// packet runs both passes in one step.
func (in *interpreter) packet(p *cmu.Packet) {
	for _, t := range in.tasks {
		if t.Filter.Matches(&p.Vector, p.Ports) {
			in.task(t, p)
		}
	}
}

func (in *interpreter) task(t *interpreted, p *cmu.Packet) {
	bank := 0
	if t.Epoch > 0 {
		bank = int(p.Vector[5] / t.Epoch % 2)
	}
	ran := false
	results := make([]uint32, len(t.Units))
	for i := range t.Units {
		u := &t.Units[i]
		if coin := cmu.Coin(p.Number); u.To != 0 && (coin < u.From || coin >= u.To) {
			continue
		}
		ran = true
		raw := t.Compressed(u.Group, u.Key, p.Vector) % uint32(in.geo.Depth)
		addr := raw % u.Size
		if u.Shifted {
			addr = raw >> (bits.Len(uint(in.geo.Depth)) - bits.Len32(u.Size))
		}
		word := &in.bank(u, bank)[addr]
		before := *word
		p1 := in.translate(u.Map, in.param(t, u, &u.P1, p, results)) & in.geo.Mask()
		p2 := in.param(t, u, &u.P2, p, results) & in.geo.Mask()
		*word, results[i] = in.operate(u.Op, before, p1, p2)
		if d := t.Digest; d != nil && d.Unit == i && in.reached(u.Op, *word, p1) >= d.Threshold &&
			!slices.Contains(t.digests[bank], p.Vector.And(d.Key)) {
			if len(t.digests[bank]) < in.geo.Digests {
				t.digests[bank] = append(t.digests[bank], p.Vector.And(d.Key))
			} else {
				t.digestsLost[bank]++
			}
		}
	}
	if ran {
		t.packets[bank]++
		t.bytes[bank] += uint64(p.Size)
	}
}

func (in *interpreter) operate(op flymon.Op, reg, p1, p2 uint32) (word, result uint32) {
	switch op {
	case flymon.CondAdd:
		if reg < p2 {
			reg = (reg + p1) & in.geo.Mask()
			return reg, reg
		}
		return reg, 0
	case flymon.Max:
		if reg < p1 {
			return p1, p1
		}
		return reg, 0
	case flymon.AndOr:
		if p2 == 0 {
			return reg & p1, reg & p1
		}
		return reg | p1, p1 &^ reg
	default:
		if p2 == 0 {
			return reg ^ p1, reg
		}
		return p1, reg
	}
}

func (in *interpreter) translate(rules []flymon.MapRule, p uint32) uint32 {
	for _, r := range rules {
		if p&r.Mask == r.Value&r.Mask {
			return r.Out
		}
	}
	if len(rules) > 0 {
		return 0
	}
	return p
}

func (in *interpreter) param(t *interpreted, u *flymon.Unit, s *flymon.Param, p *cmu.Packet, results []uint32) uint32 {
	most := uint64(in.geo.Mask())
	switch s.From {
	case flymon.Const:
		return s.Value
	case flymon.Size:
		return uint32(min(uint64(p.Size), most))
	case flymon.Timestamp:
		return in.time(p, s)
	case flymon.QueueLength:
		return uint32(min(uint64(p.QueueBytes)>>s.Scale, most))
	case flymon.QueueDelay:
		return uint32(min(p.QueueNS>>s.Scale, most))
	case flymon.Compressed:
		c := t.Compressed(u.Group, s.Key, p.Vector)
		if s.Bits > 0 {
			c &= uint32(1<<s.Bits - 1)
		}
		return c
	case flymon.Result:
		return results[s.Of[0]]
	case flymon.Least:
		var all []uint32
		if s.Value != 0 {
			all = append(all, s.Value)
		}
		for _, i := range s.Of {
			if results[i] != 0 {
				all = append(all, results[i])
			}
		}
		if len(all) == 0 {
			return ^uint32(0)
		}
		return slices.Min(all)
	default: // since
		if results[s.Of[0]] == 0 || results[s.Of[1]] != 0 {
			return 0
		}
		return (in.time(p, s) - results[s.Of[0]]) & in.geo.Mask()
	}
}

func (in *interpreter) time(p *cmu.Packet, s *flymon.Param) uint32 {
	if at := uint32(p.Vector[5]>>s.Scale) & in.geo.Mask(); at != 0 {
		return at
	}
	return 1
}

// reached returns the value that is compared with a digest's threshold.
func (in *interpreter) reached(op flymon.Op, word, p1 uint32) uint32 {
	if op == flymon.Max {
		return p1
	}
	return word
}
