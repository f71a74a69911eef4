package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/tam/flymon"
)

// fuzzed creates an object from an ENTRY. If the chip refuses the object, fuzzed returns false and checks that the
// ENTRY is the reason.
func (s sketcher) fuzzed(name string, entry []byte) (oid sai.OID, ok bool) {
	s.Helper()
	oid, err := s.extend(name, entry)
	if err == nil {
		return oid, true
	}
	if st, ok := sai.StatusOf(err); !ok || st != sai.StatusInvalidParameter || len(err.Error()) > 2000 {
		s.Fatal(err)
	}
	return 0, false
}

// acceptsOwnOutput checks that an object accepts its own output, and removes it.
func (s sketcher) acceptsOwnOutput(oid sai.OID) {
	s.Helper()
	if text := s.entryOf(oid); len(text) > 0 {
		s.set(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry, text)
	}
	s.remove(sai.ObjectTypeGenericProgrammable, oid)
}

// entryOf returns the ENTRY of an object.
func (s sketcher) entryOf(oid sai.OID) sai.Bytes {
	s.Helper()
	got, err := s.Get(s.Context(), sai.Obj(sai.ObjectTypeGenericProgrammable, oid),
		[]sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, 1<<20)})
	if err != nil {
		s.Fatal(err)
	}
	return got[0].Value.(sai.Bytes)
}

// Any ENTRY results in a possible task, or in none.
func FuzzFlyMonTask(f *testing.F) {
	good := counting(f, "t", "src-ip", 0, 0, 0, 32)
	chained := counting(f, "t", "5-tuple", 0, 0, 0, 32)
	u := counting(f, "t", "dst-ip/24", 4, 1, 64, 32)
	chained.Masks = append(chained.Masks, u.Masks...)
	chained.Units = append(chained.Units, u.Units...)
	chained.Units[1].P1, chained.Units[1].Map = flymon.Param{From: flymon.Result, Of: []int{0}},
		[]flymon.MapRule{{Mask: 1, Out: 2}}
	chained.Epoch, chained.Digest = 1_000_000, &flymon.Digest{Unit: 1, Threshold: 3, Key: flowKey(f, "src-ip")}
	spliced := filtered(f, counting(f, "t", "src-ip", 7, 2, 992, 32), "dst-port=1-5,protocol=17")
	for _, l := range []flymon.Layout{good, chained, spliced} {
		f.Add([]byte(entryOf(f, "task", l)))
	}
	f.Add([]byte(`{"attributes":[{"task":{"value":null}}, null]}`))
	f.Add([]byte(`{"attributes":[{"task":{"value":{"units":[{"base":4294967295,"size":2147483648}]}}}]}`))
	s := newSketcher(f)
	frame := udpFrame(1, 2, 60)
	f.Fuzz(func(t *testing.T, entry []byte) {
		s.TB = t
		oid, ok := s.fuzzed(flymon.ObjectTask, entry)
		if !ok {
			if n := len(s.Tables().Sketches); n != 0 {
				t.Fatalf("%d tasks after a refusal", n)
			}
			return
		}
		l := s.Tables().Sketches
		if len(l) != 1 {
			t.Fatalf("%d tasks, want 1", len(l))
		}
		s.send(0, frame)
		for unit, u := range append(l[0].Units, l[0].Frozen...) {
			s.buckets(l[0].Task, unit, 0, min(u.Size, 64))
		}
		s.remove(sai.ObjectTypeGenericProgrammable, oid)
	})
}

// Any ENTRY results in a valid register read, or is refused. Its output is accepted again.
func FuzzFlyMonWindow(f *testing.F) {
	names := []string{flymon.ObjectGroups, flymon.ObjectStatus, flymon.ObjectRegisters, flymon.ObjectClear,
		flymon.ObjectDigests, flymon.ObjectTruth}
	for i, value := range []string{`{"groups":{"value":{}}}`, `{"tasks":{"value":["t","u"]}}`,
		`{"read":{"value":{"task":"t","unit":1,"bank":1,"from":8,"count":24}}}`,
		`{"clear":{"value":{"task":"t","bank":1}}}`, `{"read":{"value":{"task":"t","bank":0,"from":1}}}`,
		`{"read":{"value":{"task":"t","bank":0,"flows":[]}}}`} {
		f.Add(uint8(i), []byte(`{"attributes":[`+value+`]}`))
	}
	f.Add(uint8(3),
		[]byte(`{"attributes":[{"clear":{"value":{"task":"t","unit":-1,"bank":-1,"from":4294967295,"count":4294967295}}}]}`))
	f.Add(uint8(2), []byte(`{"attributes":[{"read":{"value":null}}, null, {"read":{}}]}`))
	s := newSketcher(f)
	l := counting(f, "t", "src-ip", 0, 0, 0, 32)
	l.Epoch, l.Digest = 1_000_000, &flymon.Digest{Threshold: 1, Key: flowKey(f, "src-ip")}
	l.Frozen = counting(f, "t", "src-ip", 1, 0, 0, 32).Units
	s.task(l)
	s.send(0, udpFrame(1, 2, 60))
	f.Fuzz(func(t *testing.T, which uint8, entry []byte) {
		s.TB = t
		if oid, ok := s.fuzzed(names[int(which)%len(names)], entry); ok {
			s.acceptsOwnOutput(oid)
		}
	})
}
