package record

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"tamtam/internal/randtest"
)

func TestContainers(t *testing.T) {
	c, err := ParseContainers("16+8+32")
	if err != nil || c.Bits() != 56 || c.Offset(2) != 24 || c.Bytes() != 7 || c.String() != "16+8+32" {
		t.Fatalf("%v %v", c, err)
	}
	for _, bad := range []string{"", "12", "16+", "+8", "16 + 16", "-8", "8+0x8", "016"} {
		if _, err := ParseContainers(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// The bits of a record on the wire are those of the word that the chip has.
func TestRecordBits(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 500}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := Containers{}
		for c.Bits() < 33 && (len(c) == 0 || r.IntN(3) > 0) {
			c = append(c, []uint8{8, 16, 32}[r.IntN(3)])
		}
		if c.Bits() > 64 {
			return
		}
		w, b := r.Uint64(), make([]byte, c.Bytes())
		c.Put(b, w)
		for i := range c.Bits() {
			if c.Bit(b, i) != (w>>i&1 != 0) {
				t.Fatalf("%s %x: bit %d of % x", c, w, i, b)
			}
		}
	})
}

func TestRecordOnTheWire(t *testing.T) {
	want := Record{
		Bits: []byte{1, 2, 3, 4}, Switch: 7, Plan: 0xdeadbeef, In: Time{1<<48 - 1, 999999999}, At: Time{1, 2},
		InPort: 4, OutPort: NoPort, Length: 1500, Why: 3, Unsynchronised: true,
		Trap: 2, Queue: 7, InLane: 65, OutLane: NoPort, NoRoom: true, Identities: []byte{1, 2, 9},
	}
	old := Record{Bits: []byte{5}, Switch: 7, Plan: 1, InPort: 4, OutPort: NoPort, Why: 3, Old: true}
	if got, frame, err := Decode(old.Append([]byte("frame"))); err != nil || !reflect.DeepEqual(got, old) || string(frame) != "frame" {
		t.Fatalf("%+v %q %v", got, frame, err)
	}
	b := want.Append([]byte("frame"))
	if len(b) != 5+Len(4)+3 {
		t.Fatalf("%d bytes", len(b))
	}
	got, frame, err := Decode(b)
	if err != nil || !reflect.DeepEqual(got, want) || string(frame) != "frame" {
		t.Fatalf("%+v %q %v", got, frame, err)
	}
	for n := range len(b) - 4 {
		if _, _, err := Decode(b[5+n:]); n > 0 && err == nil && len(b)-5-n < Len(4)+3 {
			t.Errorf("%d bytes of a record were taken", len(b)-5-n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	r := Record{Bits: []byte{1}}
	f.Add(r.Append(nil))
	r.Identities = []byte{1, 1, 5}
	f.Add(r.Append([]byte{9}))
	r.Old, r.Identities = true, nil
	f.Add(r.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, frame, err := Decode(b)
		if err != nil {
			return
		}
		again := r.Append(bytes.Clone(frame))
		again[len(again)-1] |= b[len(b)-1] & 15 // flags that are ignored
		if !bytes.Equal(again, b) {
			t.Fatalf("% x read as %+v", b, r)
		}
	})
}

func TestGraphJSON(t *testing.T) {
	text := `{"pipeline":"ingress","init":"a","nodes":[{"id":"a","kind":"table"}],"edges":[["a","EXIT","x"],["a",null,"y"]],"deps":[["a","b",["match","anti"]]]}`
	var g Graph
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		t.Fatal(err)
	}
	if g.Edges[1] != (Edge{"a", Exit, "y"}) || !g.Deps[0].Strict() {
		t.Fatalf("%+v", g)
	}
	for _, bad := range []string{`{"edges":[["a"]]}`, `{"edges":[[null,"b"]]}`, `{"deps":[["a","b"]]}`, `{"deps":[[1,"b",[]]]}`} {
		if err := json.Unmarshal([]byte(bad), &g); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestMarks(t *testing.T) {
	at := func(i int) *int { return &i }
	p := Plan{PHV: "8+16", Recorded: []Recorded{{Table: "a", Ran: at(7)}, {Table: "b", Container: 1, Ran: at(0), Hit: at(1)}}}
	marks, err := p.Marks()
	if want := []Mark{{"a", false, 7, nil}, {"b", false, 8, nil}, {"b", true, 9, nil}}; err != nil || !reflect.DeepEqual(marks, want) {
		t.Fatalf("%v %v", marks, err)
	}
	id := func() uint32 { p.Seal(); return p.ID }
	was := id()
	p.Recorded[0].Ran = at(6)
	if id() == was {
		t.Error("the id does not depend on the bits")
	}
	p.Recorded[1].Container, p.Recorded[1].Ran = 0, at(6)
	if _, err := p.Marks(); err == nil {
		t.Error("two tables in one bit")
	}
}

// A condition that asks for ports, queues and lengths is true or not, as far as a record tells.
func TestOutcomes(t *testing.T) {
	term := func(field, is string, value uint64) Term { return Term{Field: field, Is: is, Value: value} }
	port, queue, other := term(FieldOut, "eq", 4), term(FieldQueue, "ge", 3), Term{}
	g := &Graph{Tests: []Test{
		{"a", [][]Term{{port}}}, {"b", [][]Term{{port, queue}}}, {"c", [][]Term{{port, other}}}, {"d", [][]Term{{port}, {other}}},
		{"e", [][]Term{{term(FieldIn, "ne", 4)}, {term(FieldLength, "lt", 100)}}}, {"f", [][]Term{{{FieldLength, 0xf0, "eq", 0x60}}}},
		{"g", [][]Term{{term(FieldIn, "le", 4), term(FieldLength, "gt", 99)}}}, {"h", [][]Term{{term(FieldIn, "is", 4)}}},
	}}
	for _, tt := range []struct {
		r    Record
		want string
	}{
		{Record{InLane: 4, OutLane: 4, Queue: 3, Length: 100}, "tt?tftt?"},
		{Record{InLane: 4, OutLane: 4, Queue: 2, Length: 99}, "tf?tttf?"},
		{Record{InLane: 5, OutLane: 8, Queue: NoQueue, Length: 1}, "fff?tff?"},
		{Record{InLane: 4, OutLane: NoPort, Queue: 7, Length: 112}, "????fft?"},
		{Record{Old: true}, ""},
	} {
		if got := g.Outcomes(&tt.r); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.r, got, tt.want)
		}
	}
}
