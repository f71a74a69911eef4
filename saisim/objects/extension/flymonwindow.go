package extension

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// groupsOf returns the groups, or an error if no task of that name exists.
func (sk *sketches) groupsOf(attr, task string) (*cmu.Groups, error) {
	g := sk.Engine.Groups()
	if g == nil || sk.owners[task] == nil {
		return nil, fmt.Errorf("%s: no task %q", attr, task)
	}
	return g, nil
}

// readRange reads an attribute with a range, which must exist.
func readRange(text []byte, name string) (map[string]json.RawMessage, flymon.ChipRange, error) {
	var r flymon.ChipRange
	given, err := readExtension(text, name, &r)
	if err == nil && given == nil {
		err = fmt.Errorf("%s is missing, want a task and bank", name)
	}
	return given, r, err
}

// A registerWindow reads buckets.
type registerWindow struct {
	of    *sketches
	entry map[string]json.RawMessage
	flymon.ChipRange
}

func (w *registerWindow) Apply(text []byte) (err error) {
	next := registerWindow{of: w.of}
	if next.entry, next.ChipRange, err = readRange(text, flymon.AttrRead); err != nil {
		return err
	}
	if next.Unit == nil || next.Count == nil || *next.Count > flymon.MaxChipWords {
		return fmt.Errorf("read: want a unit, and a count of at most %d buckets", flymon.MaxChipWords)
	}
	if _, err := next.words(); err != nil {
		return err
	}
	*w = next
	return nil
}

func (w *registerWindow) Leave() {}

func (w *registerWindow) words() ([]uint32, error) {
	g, err := w.of.groupsOf("read", w.Task)
	if err != nil {
		return nil, err
	}
	words, err := g.Read(w.Task, *w.Unit, w.Bank, w.From, *w.Count)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return words, nil
}

// Read returns the current words. They are null if the task is gone, or has changed since the window was set.
func (w *registerWindow) Read() sai.Value {
	var bytes []byte // base64 in JSON
	if words, err := w.words(); err == nil {
		bytes = make([]byte, 0, 4*len(words))
		for _, x := range words {
			bytes = binary.LittleEndian.AppendUint32(bytes, x)
		}
	}
	return writeValues(w.entry, extensionValue{flymon.AttrWords, valueJSON, bytes})
}

// A clearWindow clears a bank, or a part of one of its units, whenever it is set.
type clearWindow struct{ of *sketches }

func (w *clearWindow) Apply(text []byte) error {
	_, r, err := readRange(text, flymon.AttrClear)
	if err != nil {
		return err
	}
	g, err := w.of.groupsOf("clear", r.Task)
	switch {
	case err != nil:
		return err
	case r.Unit != nil && r.Count != nil:
		err = g.ClearRange(r.Task, *r.Unit, r.Bank, r.From, *r.Count)
	case r.Unit == nil && r.Count == nil && r.From == 0:
		err = g.Clear(r.Task, r.Bank)
	default:
		err = errors.New("want unit, from and count, or none of them")
	}
	if err != nil {
		return fmt.Errorf("clear: %w", err)
	}
	return nil
}

func (*clearWindow) Leave() {}

func (*clearWindow) Read() sai.Value { return nil }

// A digestWindow reads the keys that a task has sent.
type digestWindow struct {
	of    *sketches
	entry map[string]json.RawMessage
	flymon.ChipRange
}

func (w *digestWindow) Apply(text []byte) (err error) {
	next := digestWindow{of: w.of}
	if next.entry, next.ChipRange, err = readRange(text, flymon.AttrRead); err != nil {
		return err
	}
	if next.Unit != nil || next.Count != nil || next.From > math.MaxInt32 {
		return errors.New("read: want a task, a bank, and from")
	}
	if _, err := next.keys(); err != nil {
		return err
	}
	*w = next
	return nil
}

func (w *digestWindow) Leave() {}

func (w *digestWindow) keys() ([]flymon.Vector, error) {
	g, err := w.of.groupsOf("read", w.Task)
	if err != nil {
		return nil, err
	}
	keys, err := g.Digests(w.Task, w.Bank, int(w.From), flymon.MaxChipDigests)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return keys, nil
}

func (w *digestWindow) Read() sai.Value {
	var bytes []byte
	if keys, err := w.keys(); err == nil {
		bytes = make([]byte, 0, flymon.VectorBytes*len(keys))
		for i := range keys {
			bytes = keys[i].Append(bytes)
		}
	}
	return writeValues(w.entry, extensionValue{flymon.AttrKeys, valueJSON, bytes})
}

// A truthWindow reads the exact counts of the oracle.
type truthWindow struct {
	of    *sketches
	entry map[string]json.RawMessage
	flymon.TruthQuestion
}

func (w *truthWindow) Apply(text []byte) (err error) {
	next := truthWindow{of: w.of}
	if next.entry, err = readExtension(text, flymon.AttrRead, &next.TruthQuestion); err != nil {
		return err
	}
	if len(next.Flows) > flymon.MaxChipTruths {
		return fmt.Errorf("read: %d flows, want at most %d", len(next.Flows), flymon.MaxChipTruths)
	}
	if next.Heavy != nil && (*next.Heavy < 0 || *next.Heavy > flymon.MaxChipTruths) {
		return fmt.Errorf("read: heavy is %d, want 0 to %d", *next.Heavy, flymon.MaxChipTruths)
	}
	for i, f := range next.Flows {
		if len(f) != flymon.VectorBytes {
			return fmt.Errorf("read: flows[%d] has %d bytes, want %d", i, len(f), flymon.VectorBytes)
		}
	}
	if _, err := w.of.groupsOf("read", next.Task); err != nil {
		return err
	}
	*w = next
	return nil
}

func (w *truthWindow) Leave() {}

func (w *truthWindow) Read() sai.Value {
	var answer *flymon.TruthAnswer
	if g, err := w.of.groupsOf("read", w.Task); err == nil {
		if t, ok := g.Truth(w.Task, w.Bank); ok {
			answer = w.answer(t)
			before, shared := g.Before(w.Task, w.Bank)
			answer.Before, answer.Shared = uint64(before), uint64(shared)
			if l, ok := g.Layout(w.Task); ok && l.Flow.IsZero() { // the flows in the query are elements of its set
				for i, f := range w.Flows {
					answer.Values[i] = min(t.Elements[flymon.VectorOf(f)], 1)
				}
			}
		}
	}
	return writeValues(w.entry, extensionValue{flymon.AttrTruth, valueJSON, answer})
}

func (w *truthWindow) answer(t *cmu.Truth) *flymon.TruthAnswer {
	a := &flymon.TruthAnswer{
		Flows: uint64(len(t.Flows)), Elements: uint64(len(t.Elements)), Packets: t.Packets, Overflow: t.Overflow,
		Entropy: t.Entropy(), Values: make([]uint64, len(w.Flows)),
	}
	for i, f := range w.Flows {
		a.Values[i] = t.Flows[flymon.VectorOf(f)]
	}
	for _, n := range t.Flows {
		a.Largest = max(a.Largest, n)
		if n >= w.Threshold {
			a.Reaching++
		}
	}
	most := flymon.MaxChipTruths
	if w.Heavy != nil {
		most = *w.Heavy
	}
	if most == 0 {
		return a
	}
	keys := slices.AppendSeq(make([]flymon.Vector, 0, len(t.Flows)), maps.Keys(t.Flows))
	slices.SortFunc(keys, func(a, b flymon.Vector) int {
		if x, y := t.Flows[a], t.Flows[b]; x != y {
			if x > y {
				return -1
			}
			return 1
		}
		return slices.Compare(a[:], b[:])
	})
	for _, v := range keys[:min(len(keys), most)] {
		a.Heavy = append(a.Heavy, flymon.TruthFlow{Flow: v.Append(nil), Value: t.Flows[v]})
	}
	return a
}
