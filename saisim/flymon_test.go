package saisim_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/tam/flymon"
)

// A sketcher is a rig whose chip has wide buckets and an oracle.
type sketcher struct{ *rig }

func newSketcher(t testing.TB) *sketcher {
	t.Helper()
	p := profile.Small()
	p.FlyMon.Width = 32
	return &sketcher{newRigOf(t, saisim.Config{Profile: p, Start: start, Oracle: 1000})}
}

func flowKey(t testing.TB, s string) flymon.Key {
	t.Helper()
	k := need(flymon.ParseKey(s))(t)
	return k
}

func always(n uint32) flymon.Param { return flymon.Param{From: flymon.Const, Value: n} }

// counting returns a task of one row that counts packets by flows of a key.
func counting(t testing.TB, name, key string, group, cmu int, base, size uint32) flymon.Layout {
	k := flowKey(t, key)
	return flymon.Layout{
		Task: name, Flow: k, Measures: "frequency", Masks: []flymon.MaskRule{{Group: group, Key: k}},
		Units: []flymon.Unit{{Group: group, CMU: cmu, Base: base, Size: size, Op: flymon.CondAdd, P1: always(1),
			P2: always(^uint32(0))}},
	}
}

// filtered returns the layout with a filter.
func filtered(t testing.TB, l flymon.Layout, filter string) flymon.Layout {
	t.Helper()
	f := need(flymon.ParseFilter(filter))(t)
	l.Filter = f
	return l
}

// entryOf returns an ENTRY with one attribute.
func entryOf(t testing.TB, name string, value any) sai.Bytes {
	t.Helper()
	v, err := json.Marshal(map[string]any{"attributes": []any{map[string]any{name: map[string]any{
		"sai_metadata": map[string]any{"sai_attr_value_type": "SAI_ATTR_VALUE_TYPE_JSON"}, "value": value,
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (s *sketcher) task(l flymon.Layout) sai.OID {
	s.Helper()
	return s.extension(flymon.ObjectTask, entryOf(s, "task", l))
}

func (s *sketcher) change(task sai.OID, l flymon.Layout) {
	s.Helper()
	s.set(sai.ObjectTypeGenericProgrammable, task, sai.GenericProgrammableAttrEntry, entryOf(s, "task", l))
}

// ask reads an attribute through a register read object, which it removes afterwards.
func (s *sketcher) ask(name, attr string, question any, answer string, into any) {
	s.Helper()
	w := s.extension(name, entryOf(s, attr, question))
	s.answer(w, answer, into)
	s.remove(sai.ObjectTypeGenericProgrammable, w)
}

func (s *sketcher) answer(window sai.OID, answer string, into any) {
	s.Helper()
	got, err := s.Get(s.Context(), sai.Obj(sai.ObjectTypeGenericProgrammable, window),
		[]sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, 1<<16)})
	if err != nil {
		s.Fatal(err)
	}
	text := got[0].Value.(sai.Bytes)
	var all struct {
		Attributes []map[string]struct{ Value json.RawMessage }
	}
	if err := json.Unmarshal(text, &all); err != nil {
		s.Fatal(err)
	}
	for _, a := range all.Attributes {
		if v, ok := a[answer]; ok {
			if err := json.Unmarshal(v.Value, into); err != nil {
				s.Fatalf("%s: %v", v.Value, err)
			}
			return
		}
	}
	s.Fatalf("no %s in %s", answer, text)
}

func (s *sketcher) status(task string) (status *flymon.ChipStatus) {
	s.Helper()
	var all []*flymon.ChipStatus
	s.ask(flymon.ObjectStatus, "tasks", []string{task}, "status", &all)
	return all[0]
}

// buckets returns all n buckets in a bank of a unit.
func (s *sketcher) buckets(task string, unit, bank int, n uint32) []uint32 {
	s.Helper()
	var text []byte
	s.ask(flymon.ObjectRegisters, "read", map[string]any{"task": task, "unit": unit, "bank": bank, "from": 0, "count": n},
		"words", &text)
	words := make([]uint32, len(text)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(text[4*i:])
	}
	return words
}

// total returns the sum of buckets.
func total(words []uint32) (n uint32) {
	for _, w := range words {
		n += w
	}
	return n
}

// A task counts each flow in the bucket defined by flymon, and register reads return it.
func TestSketchTask(t *testing.T) {
	s := newSketcher(t)
	geometry := s.Profile().FlyMon.Geometry()
	l := counting(t, "t", "src-ip,dst-port", 1, 2, 64, 64)
	s.task(l)
	s.send(1, udpFrame(2, 1, 60)) // the source is learned, so frames to it are not flooded below
	want := make([]uint32, 64)
	flow := func(a byte) flymon.Vector {
		return flymon.Make(netipFrom4([4]byte{10, 0, 0, a}), netipFrom4([4]byte{10, 0, 0, 2}), 1000, 2000, 17, 0)
	}
	want[l.Bucket(&geometry, 0, flow(2))] += 7 // the frame was flooded to seven ports
	for i := range 100 {
		a := byte(10 + i%9)
		s.send(0, udpFrame(a, 2, 60))
		want[l.Bucket(&geometry, 0, flow(a))]++
	}
	if got := s.buckets("t", 0, 0, 64); !slices.Equal(got, want) {
		t.Errorf("buckets %v, want %v", got, want)
	}
	b := s.status("t").Banks[0]
	if b.Packets != 107 || b.Bytes != 107*64 || !b.Used || b.Dirty {
		t.Errorf("%+v, want 107 packets of 64 bytes", b)
	}
	var truth struct {
		Flows    int
		Packets  uint64
		Overflow bool
		Values   []uint64
		Heavy    []struct {
			Flow  []byte
			Value uint64
		}
	}
	var key bytes.Buffer
	noError(t, binary.Write(&key, binary.BigEndian, flow(2).And(l.Flow)))
	s.ask(flymon.ObjectTruth, "read", map[string]any{"task": "t", "bank": 0,
		"flows": []string{base64.StdEncoding.EncodeToString(key.Bytes())}}, "truth", &truth)
	if truth.Flows != 10 || truth.Packets != 107 || truth.Overflow || truth.Values[0] != 7 || len(truth.Heavy) != 10 ||
		truth.Heavy[0].Value != 12 {
		t.Errorf("truth %+v", truth)
	}
}
