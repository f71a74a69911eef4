package reference_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/saisim/reference"
	"tamtam/tam/flymon"
)

// A sketcher makes tasks of FlyMon.
type sketcher struct {
	sketching       bool
	tasks           map[string]sai.OID
	salt            int                  // salt of masks
	taskGenerations map[string][2]uint64 // generations of tasks, of the fast engine and the reference
}

// groups gives a profile random groups of CMUs.
func (g *gen) groups(p *profile.Profile) {
	f := &p.FlyMon
	f.Groups, f.Spliced, f.Units, f.CMUs = 1+g.Uint32N(9), g.Uint32N(4), 1+g.Uint32N(3), 1+g.Uint32N(4)
	f.Width, f.Depth = 8+g.Uint32N(25), 32<<g.IntN(3)
	f.Partitions, f.MapEntries, f.Digests = 1<<g.IntN(5), g.Uint32N(6), g.Uint32N(8)
	f.RecirculationMbps = pick[uint32](g, 1000, 10_000, 25_000)
	if g.slow {
		f.RecirculationMbps = 1
	}
}

// furnishSketches makes some tasks.
func (p *pair) furnishSketches() error {
	p.sketcher = sketcher{sketching: p.prof.FlyMon.Groups > 0 && p.chance(35), tasks: map[string]sai.OID{},
		taskGenerations: map[string][2]uint64{}, salt: p.IntN(8)}
	for range p.IntN(8) {
		if err := p.sketchOp(); err != nil {
			return err
		}
	}
	return nil
}

// layout returns a layout that fits most chips.
func (g *gen) layout(name string, salt int) flymon.Layout {
	f := &g.prof.FlyMon
	l := flymon.Layout{Task: name, Filter: g.filter(), Flow: g.flowKey(), Measures: "frequency",
		Epoch: pick[uint64](g, 0, 0, flymon.MinEpoch, 3*flymon.MinEpoch)}
	if g.slow {
		l.Epoch *= 1000
	}
	banks := min(2, 1+uint32(l.Epoch))
	from, to := 0, int(f.Groups)
	if f.Spliced > 0 && g.chance(35) {
		from, to = to, to+int(f.Spliced)
	}
	masked := map[[2]int]bool{}
	group := from + g.IntN(to-from)
	for i := range 1 + g.IntN(4) {
		if i > 0 && g.chance(60) {
			group = min(group+flymon.Apart*g.IntN(2), to-1)
		}
		size := f.Depth / f.Partitions << g.IntN(1+bits.TrailingZeros32(f.Partitions))
		size = min(size, f.Depth/banks)
		u := flymon.Unit{
			Group: group, CMU: g.IntN(int(f.CMUs)), Key: g.ref(), Size: size,
			Base:    size * banks * g.Uint32N(f.Depth/(size*banks)),
			Shifted: g.chance(30), Op: pick(g, flymon.CondAdd, flymon.CondAdd, flymon.Max, flymon.AndOr, flymon.XorSwap),
		}
		u.P1, u.P2 = g.param(l.Units, group, i), g.param(l.Units, group, i)
		if g.chance(40) {
			u.P2 = flymon.Param{From: flymon.Const, Value: pick[uint32](g, 0, 1, 3, 1<<32-1)}
		}
		for range pick(g, 0, 0, 1, 4) {
			u.Map = append(u.Map, flymon.MapRule{Value: g.Uint32N(4), Mask: pick[uint32](g, 0, 1, 3, 0xff),
				Out: g.Uint32() >> g.IntN(32)})
		}
		if g.chance(15) {
			u.From = uint16(g.IntN(256))
			u.To = u.From + 1 + uint16(g.IntN(256-int(u.From)))
		}
		for _, r := range []flymon.Ref{u.Key, u.P1.Key, u.P2.Key} {
			for _, unit := range []int{r.A, r.B - 1} {
				if at := [2]int{group, unit}; unit >= 0 && !masked[at] {
					masked[at] = true
					l.Masks = append(l.Masks, flymon.MaskRule{Group: group, Unit: unit, Key: g.unitMask(group, unit, salt)})
				}
			}
		}
		l.Units = append(l.Units, u)
	}
	if g.chance(50) {
		l.Digest = &flymon.Digest{Unit: g.IntN(len(l.Units)), Threshold: 1 + g.Uint32N(20), Key: g.flowKey()}
	}
	return l
}

func (g *gen) flowKey() flymon.Key { return g.unitMask(g.IntN(3), g.IntN(3), g.IntN(8)) }

// unitMask returns the mask of a hash unit. It is mostly the same for all tasks.
func (g *gen) unitMask(group, unit, salt int) flymon.Key {
	words := []string{"src-ip", "5-tuple", "dst-ip/24", "src-port,dst-port", "src-ip,dst-ip,timestamp", "none",
		"protocol,src-ip&0x0000ff0f", "timestamp"}
	n := 3*group + 5*unit + salt
	if g.chance(5) {
		n++
	}
	k, err := flymon.ParseKey(words[n%len(words)])
	if err != nil {
		panic(err) // cannot happen: the words are constant
	}
	return k
}

func (g *gen) ref() flymon.Ref {
	units := int(g.prof.FlyMon.Units)
	r := flymon.Ref{A: g.IntN(units), Shift: uint8(g.IntN(32))}
	if b := g.IntN(units); g.chance(30) && b != r.A {
		r.B = b + 1
	}
	return r
}

// param returns a parameter of a unit that comes after others.
func (g *gen) param(before []flymon.Unit, group, i int) flymon.Param {
	var of []int // units whose results the parameter may use
	for k := range before {
		if before[k].Group <= group-flymon.Apart {
			of = append(of, k)
		}
	}
	if len(of) > 0 && g.chance(60) {
		switch g.IntN(3) {
		case 0:
			return flymon.Param{From: flymon.Result, Of: []int{pick(g, of...)}}
		case 1:
			return flymon.Param{From: flymon.Least, Of: of, Value: pick(g, 0, 1, 3, g.Uint32())}
		}
		return flymon.Param{From: flymon.Since, Of: []int{pick(g, of...), pick(g, of...)}, Scale: uint8(g.IntN(24))}
	}
	switch g.IntN(8) {
	case 0:
		return flymon.Param{From: flymon.Size}
	case 1:
		return flymon.Param{From: flymon.Timestamp, Scale: uint8(g.IntN(24))}
	case 2:
		return flymon.Param{From: flymon.QueueLength, Scale: uint8(g.IntN(3))}
	case 3:
		return flymon.Param{From: flymon.QueueDelay, Scale: uint8(g.IntN(3))}
	case 4:
		return flymon.Param{From: flymon.Compressed, Key: g.ref(), Bits: uint8(g.IntN(33))}
	}
	return flymon.Param{From: flymon.Const, Value: pick(g, 1, 1, 2, g.Uint32())}
}

func (g *gen) filter() flymon.Filter {
	f, err := flymon.ParseFilter(pick(g, "any", "any", "ip=4", "ip=6", "src-ip=10.0.0.2", "dst-ip=10.0.0.0/30,protocol=17",
		"src-ip=2001:db8::2/127", "protocol=6",
		"src-port=1000-1001", "dst-port=443,ip=6", "src-port=0-65535,dst-port=0-2000", "protocol=0"))
	if err != nil {
		panic(err) // cannot happen: the words are constant
	}
	return f
}

// sketchOp makes, changes or removes a task, or clears its counts, in both engines.
func (p *pair) sketchOp() error {
	if !p.sketching {
		return nil
	}
	tasks := p.chip.Tables().Sketches
	if len(tasks) == 0 || p.chance(25) {
		return p.setTask(p.layout(pick(&p.gen, "a", "b", "c", "d", "e"), p.salt))
	}
	l := pick(&p.gen, tasks...).Layout
	switch p.IntN(9) {
	case 0, 1:
		l.Filter = p.filter()
	case 2: // the old units are frozen in place
		l.Frozen = l.Units
		next := p.layout(l.Task, p.salt)
		l.Units, l.Masks, l.Digest = next.Units, next.Masks, next.Digest
		if p.chance(80) {
			next.Epoch = l.Epoch
		}
		l.Epoch = next.Epoch
	case 3:
		l.Frozen = nil
	case 4:
		l.Digest = p.layout(l.Task, p.salt).Digest
	case 5:
		_ = p.chip.Remove(context.Background(), sai.Obj(sai.ObjectTypeGenericProgrammable, p.tasks[l.Task]))
		delete(p.tasks, l.Task)
		p.configure()
		return nil
	case 6, 7:
		return p.clear(l)
	default:
		l.Units = slices.Clone(l.Units)
		p.Shuffle(len(l.Units), func(i, j int) { l.Units[i], l.Units[j] = l.Units[j], l.Units[i] })
		l.Digest = nil
	}
	return p.setTask(l)
}

// sketchInTraffic changes tasks, or the clock, or compares, while packets are in transit.
func (p *pair) sketchInTraffic() error {
	if p.chance(40) {
		if err := p.sketchOp(); err != nil {
			return err
		}
	}
	if !p.marking && p.chance(20) {
		if err := p.stepWithinPeriods(); err != nil {
			return err
		}
	}
	if p.chance(20) {
		return p.sketchesDiffer()
	}
	return nil
}

// setTask makes or changes a task. The chip may refuse it.
func (p *pair) setTask(l flymon.Layout) error {
	text, err := entryWith("task", l)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if oid, ok := p.tasks[l.Task]; ok {
		err = p.chip.Set(ctx, sai.Obj(sai.ObjectTypeGenericProgrammable, oid),
			sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: text})
	} else if oid, err = p.chip.Create(ctx, sai.ObjectTypeGenericProgrammable, attrs(sai.GenericProgrammableAttrObjectName,
		sai.Bytes(flymon.ObjectTask), sai.GenericProgrammableAttrEntry, text)); err == nil {
		p.tasks[l.Task] = oid
	}
	if err == nil {
		p.saw["sketch: tasks"]++
	}
	p.configure()
	return nil
}

func entryWith(attr string, value any) (sai.Bytes, error) {
	text, err := json.Marshal(map[string]any{"attributes": []any{map[string]any{attr: map[string]any{"value": value}}}})
	return text, err
}

// clear clears a bank, or a part of it.
func (p *pair) clear(l flymon.Layout) error {
	bank := p.IntN(int(l.Banks()))
	if p.chance(60) {
		p.ref.ClearSketch(l.Task, bank)
		return p.window(flymon.ObjectClear, "clear", map[string]any{"task": l.Task, "bank": bank}, nil)
	}
	unit := p.IntN(len(l.Units) + len(l.Frozen))
	size := slices.Concat(l.Units, l.Frozen)[unit].Size
	from := p.Uint32N(size)
	n := p.Uint32N(size - from + 1)
	p.ref.ClearSketchRange(l.Task, unit, bank, from, n)
	return p.window(flymon.ObjectClear, "clear", map[string]any{"task": l.Task, "unit": unit, "bank": bank, "from": from,
		"count": n}, nil)
}

// window makes a register read, stores its result in into, and removes the read's object.
func (p *pair) window(name, attr string, question any, into map[string]any) error {
	text, err := entryWith(attr, question)
	if err != nil {
		return err
	}
	ctx := context.Background()
	oid, err := p.chip.Create(ctx, sai.ObjectTypeGenericProgrammable,
		attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes(name), sai.GenericProgrammableAttrEntry, text))
	if err != nil {
		return err
	}
	key := sai.Obj(sai.ObjectTypeGenericProgrammable, oid)
	got, err := p.chip.Get(ctx, key, []sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, 1<<14)})
	if s, _ := sai.StatusOf(err); s == sai.StatusBufferOverflow {
		got, err = p.chip.Get(ctx, key, []sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, 1<<20)})
	}
	if err != nil {
		return err
	}
	var entry struct {
		Attributes []map[string]struct{ Value json.RawMessage }
	}
	if err := json.Unmarshal(got[0].Value.(sai.Bytes), &entry); err != nil {
		return err
	}
	for _, a := range entry.Attributes {
		for name, v := range a {
			if into[name] != nil {
				if err := json.Unmarshal(v.Value, into[name]); err != nil {
					return fmt.Errorf("%s of %s: %w", name, v.Value, err)
				}
			}
		}
	}
	return p.chip.Remove(ctx, key)
}

// sketchesDiffer returns an error if a task differs. It may be called at any time.
func (p *pair) sketchesDiffer() error {
	if !p.sketching {
		return nil
	}
	for _, r := range p.chip.Tables().Sketches {
		l := r.Layout
		p.saw["sketch: tasks compared"]++
		var status []reference.SketchStatus
		if err := p.window(flymon.ObjectStatus, "tasks", []string{l.Task}, map[string]any{"status": &status}); err != nil {
			return err
		}
		want, keys := p.ref.Sketch(l.Task)
		fast, ref := status[0].Generation, want.Generation // each engine has its own numbers, but they change together
		if was, known := p.taskGenerations[l.Task]; known && (was[0] != fast) != (was[1] != ref) {
			return fmt.Errorf("generations of task %s: fast from %d to %d, reference from %d to %d", l.Task, was[0], fast,
				was[1], ref)
		}
		p.taskGenerations[l.Task] = [2]uint64{fast, ref}
		status[0].Generation = ref
		if status[0] != want {
			return fmt.Errorf("task %s at cycle %d:\n     fast %+v\nreference %+v\n%+v", l.Task, p.chip.Now(), status[0], want,
				l)
		}
		if err := p.bucketsDiffer(l, keys); err != nil {
			return err
		}
		for _, b := range want.Banks {
			if b.Dirty {
				p.saw["sketch: a dirty bank"]++
			}
			if b.Lost > 0 {
				p.saw["sketch: a bank with lost packets"]++
			}
		}
	}
	return nil
}

func (p *pair) bucketsDiffer(l flymon.Layout, keys [2][]flymon.Vector) error {
	for bank := range int(l.Banks()) {
		for unit, u := range slices.Concat(l.Units, l.Frozen) {
			var text string
			if err := p.window(flymon.ObjectRegisters, "read", map[string]any{"task": l.Task, "unit": unit, "bank": bank,
				"count": u.Size}, map[string]any{"words": &text}); err != nil {
				return err
			}
			var want []byte
			for _, w := range p.ref.SketchWords(l.Task, unit, bank) {
				want = binary.LittleEndian.AppendUint32(want, w)
			}
			if text != base64.StdEncoding.EncodeToString(want) {
				got, _ := base64.StdEncoding.DecodeString(text)
				return fmt.Errorf("task %s, unit %d, bank %d at cycle %d:\n     fast %x\nreference %x\n%+v", l.Task, unit, bank,
					p.chip.Now(), got, want, l)
			}
			if unit >= len(l.Units) {
				p.saw["sketch: frozen units compared"]++
			}
		}
		var text string
		if err := p.window(flymon.ObjectDigests, "read", map[string]any{"task": l.Task, "bank": bank},
			map[string]any{"keys": &text}); err != nil {
			return err
		}
		var want []byte
		for _, v := range keys[bank] {
			for _, w := range v {
				want = binary.BigEndian.AppendUint64(want, w)
			}
		}
		if text != base64.StdEncoding.EncodeToString(want) {
			return fmt.Errorf("digests of task %s, bank %d:\n     fast %s\nreference %x\n%+v", l.Task, bank, text, want, l)
		}
	}
	return nil
}

// sketchings returns the events that the reference must have reported, and the comparisons that the test must have
// made.
func sketchings() (all []string) {
	for _, what := range []string{"tasks", "tasks compared", "counted", "counted behind the recirculation port", "lost",
		"a bank with lost packets",
		"on its way as the task began", "a coin that is not the unit's", "shifted", "map", "a digest", "a digest lost",
		"a dirty bank", "frozen", "frozen units compared",
		"replaced, it goes on", "op cond-add", "op cond-add, not", "op max", "op and-or", "op xor-swap", "parameter const",
		"parameter size", "parameter timestamp",
		"parameter queue-length", "parameter queue-delay", "parameter key", "parameter result", "parameter least",
		"parameter since", "since nothing"} {
		all = append(all, "sketch: "+what)
	}
	return all
}
