package saisim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/tam/flymon"
)

// extend makes an extension object that may be refused.
func (s *sketcher) extend(name string, entry []byte) (sai.OID, error) {
	return s.Create(context.Background(), sai.ObjectTypeGenericProgrammable, attrs(sai.GenericProgrammableAttrObjectName,
		sai.Bytes(name), sai.GenericProgrammableAttrEntry, sai.Bytes(entry)))
}

// An impossible task is refused with its errors. No task is created, and existing tasks do not change.
func TestTaskRefusals(t *testing.T) {
	good := func(change func(*flymon.Layout)) sai.Bytes {
		l := counting(t, "new", "src-ip", 1, 1, 64, 32)
		change(&l)
		return entryOf(t, "task", l)
	}
	for _, tt := range []struct {
		name  string
		entry sai.Bytes
		want  string
	}{
		{"good", good(func(*flymon.Layout) {}), ""},
		{"no JSON", sai.Bytes(`task`), "entry: invalid character 'a'"},
		{"nothing", sai.Bytes(``), "entry: unexpected end of JSON input"},
		{"no task", sai.Bytes(`{"attributes":[]}`), "task is missing, want a layout"},
		{"no value", sai.Bytes(`{"attributes":[{"task":{}}]}`), `task "", want a name of 1 to 64 bytes`},
		{"an unknown field", sai.Bytes(`{"attributes":[{"task":{"value":{"tasks":"x"}}}]}`), `unknown field "tasks"`},
		{"another type", sai.Bytes(`{"attributes":[{"task":{"value":{"task":7}}}]}`), "task: task is a number, want string"},
		{"a filter that is none", sai.Bytes(`{"attributes":[{"task":{"value":{"task":"x","filter":"src-mac=1"}}}]}`),
			`filter field "src-mac", want`},
		{"a group that the chip has not", good(func(l *flymon.Layout) { l.Units[0].Group = 8 }), "group is 8, want 0 to 7"},
		{"a bucket out of the CMU", good(func(l *flymon.Layout) { l.Units[0].Base = 1024 }),
			"base is 1024, want a multiple of 32 below 1024"},
		{"no units", good(func(l *flymon.Layout) { l.Units = nil }), "units: 0, want 1 to 24"},
		{"an operation", good(func(l *flymon.Layout) { l.Units[0].Op = "min" }), `op "min", want`},
		{"buckets of another task", good(func(l *flymon.Layout) {
			l.Units[0].Group, l.Units[0].CMU, l.Masks[0].Group, l.Units[0].Base = 0, 0, 0, 0
		}), `task "old"`},
		{"another mask in a hash unit in use", good(func(l *flymon.Layout) {
			l.Units[0].Group, l.Masks[0].Group = 0, 0
			l.Masks[0].Key = flowKey(t, "dst-ip")
		}), `task "old"`},
		{"a filter that meets another in one CMU", good(func(l *flymon.Layout) {
			l.Units[0].Group, l.Units[0].CMU,
				l.Masks[0].Group = 0, 0, 0
		}), `task "old"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSketcher(t)
			s.task(counting(t, "old", "src-ip", 0, 0, 0, 32))
			other := s.task(counting(t, "other", "src-ip", 3, 0, 0, 32))
			s.send(0, udpFrame(1, 2, 60))
			before, _ := json.Marshal(s.status("other"))
			if _, err := s.extend(flymon.ObjectTask, tt.entry); tt.want == "" && err != nil ||
				tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v\nwant %q", err, tt.want)
			} else if tt.want == "" {
				return
			} else {
				s.wantStatus(err, sai.StatusInvalidParameter)
			}
			err := s.Set(t.Context(), sai.Obj(sai.ObjectTypeGenericProgrammable, other),
				sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: tt.entry})
			s.wantStatus(err, sai.StatusInvalidParameter)
			if after, _ := json.Marshal(s.status("other")); !bytes.Equal(before, after) {
				t.Errorf("%s\nthen\n%s", before, after)
			}
			if l := s.Tables().Sketches; len(l) != 2 || l[0].Task != "old" || l[1].Task != "other" {
				t.Errorf("tasks %+v", l)
			}
			s.send(0, udpFrame(1, 2, 60))
			if b := s.status("other").Banks[0]; b.Packets != 14 {
				t.Errorf("%d packets, want 14", b.Packets)
			}
		})
	}
}

// A task has one object. An object that is set to another name releases its task, and takes over the other object's
// task. Two objects may exchange their tasks.
func TestTaskNames(t *testing.T) {
	s := newSketcher(t)
	a, b := counting(t, "a", "src-ip", 0, 0, 0, 32), counting(t, "b", "src-ip", 0, 1, 0, 32)
	x, y := s.task(a), s.task(b)
	_, err := s.extend(flymon.ObjectTask, entryOf(t, "task", a))
	s.wantStatus(err, sai.StatusInvalidParameter)
	if err == nil || !strings.Contains(err.Error(), `task is "a", want a name that no other object has`) {
		t.Error(err)
	}
	names := func(want string) {
		t.Helper()
		var got []string
		for _, l := range s.Tables().Sketches {
			got = append(got, l.Task)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("tasks %v, want %s", got, want)
		}
	}
	s.change(x, b)
	names("[b]")
	s.change(y, a)
	names("[a b]")
	s.send(0, udpFrame(1, 2, 60))
	if p, q := s.status("a").Banks[0].Packets, s.status("b").Banks[0].Packets; p != 7 || q != 7 {
		t.Errorf("%d and %d packets, want 7 each", p, q)
	}
	s.remove(sai.ObjectTypeGenericProgrammable, x)
	names("[a]")
	s.change(y, b)
	names("[b]")
	if s.status("a") != nil {
		t.Error("a is still there")
	}
	s.remove(sai.ObjectTypeGenericProgrammable, y)
	names("[]")
}

// The capacity does not depend on the current use.
func TestSketchAvailability(t *testing.T) {
	fixed := profile.Small()
	fixed.FlyMon = profile.FlyMonCapacity{}
	for _, tt := range []struct {
		name         string
		profile      profile.Profile
		oracle       int
		groups, task uint64
		window       bool
		truth        bool
	}{
		{"with an oracle", profile.Small(), 10, 8, 8 * 96, true, true},
		{"without", profile.Small(), 0, 8, 8 * 96, true, false},
		{"no groups", fixed, 10, 0, 0, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &sketcher{newRigOf(t, saisim.Config{Profile: tt.profile, Start: start, Oracle: tt.oracle})}
			check := func() {
				t.Helper()
				if n := s.available(flymon.ObjectGroups); n != tt.groups {
					t.Errorf("%d groups, want %d", n, tt.groups)
				}
				if n := s.available(flymon.ObjectTask); n != tt.task {
					t.Errorf("%d tasks, want %d", n, tt.task)
				}
				for _, name := range []string{flymon.ObjectStatus, flymon.ObjectRegisters, flymon.ObjectClear,
					flymon.ObjectDigests} {
					if n := s.available(name); n > 0 != tt.window {
						t.Errorf("%s: %d", name, n)
					}
				}
				if n := s.available(flymon.ObjectTruth); n > 0 != tt.truth {
					t.Errorf("%s: %d", flymon.ObjectTruth, n)
				}
			}
			check()
			if tt.task == 0 {
				_, err := s.extend(flymon.ObjectTask, entryOf(t, "task", counting(t, "t", "src-ip", 0, 0, 0, 32)))
				s.wantStatus(err, sai.StatusNotSupported)
				return
			}
			s.task(counting(t, "t", "src-ip", 0, 0, 0, 32))
			for range 3 {
				s.extension(flymon.ObjectGroups, entryOf(t, "groups", struct{}{}))
			}
			check()
			var g flymon.Geometry
			s.ask(flymon.ObjectGroups, "groups", struct{}{}, "geometry", &g)
			if g != tt.profile.FlyMon.Geometry() || g.All() != 8 {
				t.Errorf("geometry %+v", g)
			}
		})
	}
}

// Invalid register reads, or clears, are refused. The value of a get may be set again.
func TestSketchWindows(t *testing.T) {
	s := newSketcher(t)
	l := counting(t, "t", "src-ip", 0, 0, 0, 32)
	l.Frozen = []flymon.Unit{counting(t, "t", "src-ip", 1, 0, 0, 64).Units[0]}
	task := s.task(l)
	many := `["t"` + strings.Repeat(`,"t"`, 128) + `]`
	flows := `[` + strings.Repeat(`"",`, 256) + `""]`
	for _, tt := range []struct{ object, attr, value, want string }{
		{flymon.ObjectGroups, "groups", `{"of":1}`, `unknown field "of"`},
		{flymon.ObjectStatus, "tasks", `"t"`, "cannot unmarshal string"},
		{flymon.ObjectStatus, "tasks", many, "tasks: 129, want at most 128"},
		{flymon.ObjectRegisters, "write", `{}`, "read is missing, want a task and bank"},
		{flymon.ObjectRegisters, "read", `{"task":"t"}`, "want a unit, and a count of at most 8192 buckets"},
		{flymon.ObjectRegisters, "read", `{"task":"t","unit":0,"count":8193}`,
			"want a unit, and a count of at most 8192 buckets"},
		{flymon.ObjectRegisters, "read", `{"task":"u","unit":0,"count":1}`, `read: no task "u"`},
		{flymon.ObjectRegisters, "read", `{"task":"t","unit":2,"count":1}`, "unit is 2, want 0 to 1"},
		{flymon.ObjectRegisters, "read", `{"task":"t","unit":0,"bank":1,"count":1}`, "bank is 1, want 0 to 0"},
		{flymon.ObjectRegisters, "read", `{"task":"t","unit":0,"from":30,"count":3}`, "3 buckets from 30, want some of 32"},
		{flymon.ObjectRegisters, "read", `{"task":"t","unit":0,"from":4294967295,"count":2}`, "2 buckets from 4294967295"},
		{flymon.ObjectRegisters, "read", `{"task":"t","unit":-1,"count":1}`, "unit is -1"},
		{flymon.ObjectRegisters, "read", `{"task":"t","unit":0,"from":-1,"count":1}`, "read: "},
		{flymon.ObjectClear, "clear", `{"task":"t","bank":2}`, "bank is 2, want 0 to 0"},
		{flymon.ObjectClear, "clear", `{"task":"t","unit":0}`, "want unit, from and count, or none of them"},
		{flymon.ObjectClear, "clear", `{"task":"t","unit":0,"from":0,"count":33}`, "33 buckets from 0"},
		{flymon.ObjectClear, "clear", `{"task":"u"}`, `clear: no task "u"`},
		{flymon.ObjectDigests, "read", `{"task":"t","from":1}`, "from 1, want some of 0"},
		{flymon.ObjectDigests, "read", `{"task":"t","count":1}`, "want a task, a bank, and from"},
		{flymon.ObjectDigests, "read", `{"task":"t","from":4294967295}`, "want a task, a bank, and from"},
		{flymon.ObjectTruth, "read", `{"task":"t","flows":["AAAA"]}`, "flows[0] has 3 bytes, want 48"},
		{flymon.ObjectTruth, "read", `{"task":"t","flows":` + flows + `}`, "257 flows, want at most 256"},
		{flymon.ObjectTruth, "read", `{"task":"u"}`, `read: no task "u"`},
	} {
		_, err := s.extend(tt.object, []byte(`{"attributes":[{"`+tt.attr+`":{"value":`+tt.value+`}}]}`))
		s.wantStatus(err, sai.StatusInvalidParameter)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %.60s: %v, want %q", tt.object, tt.value, err, tt.want)
		}
	}

	s.send(0, udpFrame(1, 2, 60))
	whole := map[string]any{"task": "t", "unit": 0, "bank": 0, "from": 0, "count": 32}
	w := s.extension(flymon.ObjectRegisters, entryOf(t, "read", whole))
	first := s.get(sai.ObjectTypeGenericProgrammable, w, sai.GenericProgrammableAttrEntry)
	s.set(sai.ObjectTypeGenericProgrammable, w, sai.GenericProgrammableAttrEntry, first)
	if again := s.get(sai.ObjectTypeGenericProgrammable, w, sai.GenericProgrammableAttrEntry); !bytes.Equal(
		first.(sai.Bytes), again.(sai.Bytes)) {
		t.Errorf("%s\nthen\n%s", first, again)
	}
	// A register read object that is set to a frozen unit reads that unit. After a partial clear, the counts stay.
	if n := total(s.buckets("t", 1, 0, 64)); n != 0 {
		t.Errorf("frozen buckets have %d", n)
	}
	s.extension(flymon.ObjectClear, entryOf(t, "clear", whole))
	if n, b := total(s.buckets("t", 0, 0, 32)), s.status("t").Banks[0]; n != 0 || b.Packets != 7 {
		t.Errorf("%d in buckets, %+v; want 0 and 7 packets", n, b)
	}
	// A register read object exists longer than its task, and then returns nothing.
	s.remove(sai.ObjectTypeGenericProgrammable, task)
	var words []byte
	s.answer(w, "words", &words)
	if words != nil {
		t.Errorf("read %x of a task that is gone", words)
	}
}

// Digests are read 512 at a time.
func TestDigestPages(t *testing.T) {
	p := profile.Small()
	p.FlyMon.Digests = 600
	p.FlyMon.Width = 32
	s := &sketcher{newRigOf(t, saisim.Config{Profile: p, Start: start})}
	l := counting(t, "t", "src-port", 0, 0, 0, 1024)
	l.Digest = &flymon.Digest{Threshold: 1, Key: flowKey(t, "src-port")}
	s.task(l)
	geometry := p.FlyMon.Geometry()
	taken, want := map[uint32]bool{}, []uint16{}
	for port := uint16(1); len(want) < 610; port++ {
		v := flymon.Vector{4: uint64(port) << 48}
		if b := l.Bucket(&geometry, 0, v); !taken[b] {
			taken[b] = true
			want = append(want, port)
		}
	}
	for _, port := range want {
		noError(t, s.Inject(0, saisim.Frame{Data: eth(host(2), host(1), ip4(1, 2, 17, 0, udp(port, 1, 20)))}))
		s.drain()
	}
	var keys, more []byte
	s.ask(flymon.ObjectDigests, "read", map[string]any{"task": "t", "bank": 0, "from": 0}, "keys", &keys)
	s.ask(flymon.ObjectDigests, "read", map[string]any{"task": "t", "bank": 0, "from": 512}, "keys", &more)
	if len(keys) != 512*48 || len(more) != 88*48 {
		t.Fatalf("%d and %d bytes, want 512 and 88 keys of 48", len(keys), len(more))
	}
	keys = append(keys, more...)
	for i, port := range want[:600] {
		v := make([]byte, 48)
		v[32], v[33] = byte(port>>8), byte(port)
		if !bytes.Equal(keys[48*i:48*i+48], v) {
			t.Fatalf("key %d is %x, want %x", i, keys[48*i:48*i+48], v)
		}
	}
	if b := s.status("t").Banks[0]; b.Digests != 600 || b.DigestsLost != 10 {
		t.Errorf("%+v, want 600 digests and 10 lost", b)
	}
}

// A task is replaced between two packets, completely. No packet is counted partly by the old and partly by the new
// task. Unchanged units keep counting.
func TestReplacedInTraffic(t *testing.T) {
	s := newSketcher(t)
	s.send(1, udpFrame(2, 9, 60))
	rows := func(name string, group int, base uint32) flymon.Layout {
		l := counting(t, name, "src-ip", group, 0, base, 32)
		for cmu := 1; cmu < 3; cmu++ {
			u := l.Units[0]
			u.CMU, u.Key.Shift = cmu, uint8(8*cmu)
			l.Units = append(l.Units, u)
		}
		return l
	}
	a, b := rows("t", 0, 0), rows("t", 1, 32)
	b.Frozen = a.Units
	stays := s.task(rows("stays", 2, 0))
	task := s.task(a)
	now := s.Now()
	const packets = 400
	for i := range packets {
		noError(t, s.Receive(0, now+saisim.Cycle(i), saisim.Frame{Data: udpFrame(byte(3+i%7), 2, 60)}))
	}
	s.Advance(now + 84*packets/2)
	s.change(task, b)
	s.change(stays, filtered(t, rows("stays", 2, 0), "src-ip=10.0.0.0/8"))
	s.drain()
	var sums [6]uint32
	for unit := range sums {
		sums[unit] = total(s.buckets("t", unit, 0, 32))
	}
	status := s.status("t")
	before, after := uint32(status.Frozen[0].Packets), uint32(status.Banks[0].Packets)
	if want := [6]uint32{after, after, after, before, before, before}; sums != want || before+after != packets ||
		before < 150 || after < 150 {
		t.Errorf("rows have %v, want %v: new and frozen, %d in all", sums, want, packets)
	}
	if n := s.status("stays").Banks[0].Packets; n != packets {
		t.Errorf("%d packets, want %d: only its filter was another", n, packets)
	}
}

// A chip whose switch object is created again has no tasks, and numbers copies from 1 on: the coins are the same again.
func TestSketchesOfANewSwitch(t *testing.T) {
	s := newSketcher(t)
	var first []uint32
	for range 2 {
		if s.Tables().Sketches != nil || s.status("t") != nil {
			t.Fatal("there are tasks at the start")
		}
		l := counting(t, "t", "src-ip", 0, 0, 0, 32)
		l.Units[0].To = 128
		s.task(l)
		for i := range 40 {
			s.send(saisim.PortID(i%8), udpFrame(byte(i), 99, 60))
		}
		got := s.buckets("t", 0, 0, 32)
		if n := total(got); n < 80 || n > 200 {
			t.Errorf("%d packets of 280, want about half", n)
		}
		if first == nil {
			first = got
		} else if fmt.Sprint(first) != fmt.Sprint(got) {
			t.Errorf("%v\nthen\n%v", first, got)
		}
		noError(t, s.Remove(t.Context(), sai.Obj(sai.ObjectTypeSwitch, s.sw)))
		s.sw = s.create(sai.ObjectTypeSwitch, sai.SwitchAttrInitSwitch, sai.Bool(true), sai.SwitchAttrSrcMACAddress,
			sai.MAC{2, 0, 0, 0, 0, 0xaa})
		for _, id := range s.Ports() {
			s.up(id)
		}
	}
}
