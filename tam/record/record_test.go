package record

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
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

// The bits of an encoded record are those of the chip's word.
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
	if got, frame, err := Decode(old.Append([]byte("frame"))); err != nil || !reflect.DeepEqual(got, old) ||
		string(frame) != "frame" {
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
		again[len(again)-1] |= b[len(b)-1] & 15 // ignored flags
		if !bytes.Equal(again, b) {
			t.Fatalf("% x read as %+v", b, r)
		}
	})
}

func TestGraphJSON(t *testing.T) {
	text := `{"pipeline":"ingress","init":"a","nodes":[{"id":"a","kind":"table"}],"edges":[["a","EXIT","x"],["a",null,` +
		`"y"]],"deps":[["a","b",["match","anti"]]]}`
	var g Graph
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		t.Fatal(err)
	}
	if g.Edges[1] != (Edge{"a", Exit, "y"}) || !g.Deps[0].Strict() {
		t.Fatalf("%+v", g)
	}
	for _, bad := range []string{`{"edges":[["a"]]}`, `{"edges":[[null,"b"]]}`, `{"deps":[["a","b"]]}`,
		`{"deps":[[1,"b",[]]]}`} {
		if err := json.Unmarshal([]byte(bad), &g); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestMarks(t *testing.T) {
	at := func(i int) *int { return &i }
	p := Plan{PHV: "8+16", Recorded: []Recorded{{Table: "a", Ran: at(7)},
		{Table: "b", Container: 1, Ran: at(0), Hit: at(1)}}}
	marks, err := p.Marks()
	if want := []Mark{{"a", false, 7, nil}, {"b", false, 8, nil}, {"b", true, 9, nil}}; err != nil ||
		!reflect.DeepEqual(marks, want) {
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

// A condition on ports, queues and lengths is evaluated as far as the record contains these.
func TestOutcomes(t *testing.T) {
	term := func(field, is string, value uint64) Term { return Term{Field: field, Is: is, Value: value} }
	port, queue, other := term(FieldOut, "eq", 4), term(FieldQueue, "ge", 3), Term{}
	g := &Graph{Tests: []Test{
		{"a", [][]Term{{port}}}, {"b", [][]Term{{port, queue}}}, {"c", [][]Term{{port, other}}},
		{"d", [][]Term{{port}, {other}}},
		{"e", [][]Term{{term(FieldIn, "ne", 4)}, {term(FieldLength, "lt", 100)}}},
		{"f", [][]Term{{{FieldLength, 0xf0, "eq", 0x60}}}},
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

// The error for invalid bits names table and bit, the error for invalid text names field and value.
func TestPlanRefused(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: `plan: it is a JSON array, want an object`, ``: "unexpected end of JSON input",
		`{"recorded":7}`: `plan: "recorded" is a JSON number, want a list`,
		`{"recorded":[{"actions":[{"bit":"x"}]}]}`: `"recorded.actions.bit" is a JSON string, want a whole number`,
		`{"recorded":[{"actions":[{"bit":1.5}]}]}`: `"recorded.actions.bit" is a JSON number 1.5, want a whole number`,
		`{"recorded":[{"actions":[{"of":"x"}]}]}`:  `"recorded.actions.of" is a JSON string, want a list`,
		`{"recorded":[{"actions":[{"of":[{}]}]}]}`: `"recorded.actions.of" is a JSON object, want a string`,
		`{"phv":"8","recorded":[{"actions":[{}]}]}`: `table "": bit 0 of container 0 is of no action, want some of the ` +
			`table's`,
		`{"phv":"12"}`: `containers "12", want widths of 8, 16 or 32`,
		`{"phv":"8","recorded":[{"container":1}]}`: `table "" ` +
			`is in container 1, want 0 to 0`,
		`{"phv":"8","recorded":[{"container":-1}]}`: `table "" ` +
			`is in container -1, want 0 to 0`,
		`{"recorded":[{"container":1e99}]}`: `"recorded.container" is a JSON number 1e99, want a ` +
			`whole number`,
		`{"recorded":[{"table":"t","stage":9223372036854775808}]}`: `"recorded.stage" is a JSON number 9223372036854775808`,
		`{"phv":"8","recorded":[{"table":"t","actions":[{"bit":8,"of":["a"]}]}]}`: `table "t" ` +
			`writes bit 8 of container 0, which has 8`,
		`{"phv":"8","recorded":[{"table":"t","actions":[{"bit":-9223372036854775808,` +
			`"of":["a"]}]}]}`: `writes bit -9223372036854775808 of container 0`,
		`{"phv":"8","recorded":[{"table":"t","actions":[{"bit":3,"of":["a","b","a"]}]}]}`: `table "t": ` +
			`bit 3 of container 0 is of action "a" twice`,
		`{"phv":"8","recorded":[{"table":"t","hit":3,"actions":[{"bit":3,"of":["a"]}]}]}`: `tables "t" ` +
			`and "t" both write bit 3 of container 0`,
		`{"phv":"8","recorded":[{"table":"t","hit":1,"actions":[{"bit":3,"of":["a"]},{"bit":2,"of":[""]}]}]}`: "",
	} {
		p, err := ReadPlan([]byte(text))
		if err == nil {
			_, err = p.Marks()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A plan is either refused or valid: each bit belongs to one table and fits in the record.
func FuzzPlan(f *testing.F) {
	f.Add([]byte(
		`{"id":7,"phv":"8+16","mode":"exec+action","recorded":[{"table":"t","bits":4,"container":1,"stage":2,"ran":0,` +
			`"hit":1,"actions":[{"bit":2,"of":["a","b"]},{"bit":15,"of":["","c"]}]}]}`))
	f.Add([]byte(
		`{"phv":"8","recorded":[{"table":"t","actions":[{"bit":0,"of":[]}]},{"table":"u","actions":null,"hit":-1}]}`))
	f.Add([]byte(
		`{"phv":"32","recorded":[{"actions":[{"bit":4294967296,"of":["\u0000"]}]}],"graph":{"nodes":[],"edges":[["a",` +
			`null]]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadPlan(text)
		if err != nil {
			return
		}
		marks, err := p.Marks()
		if err != nil {
			return
		}
		c, err := p.Containers()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for _, m := range marks {
			if m.Bit < 0 || m.Bit >= c.Bits() || seen[m.Bit] || m.Of != nil && (!m.Hit || len(m.Of) == 0) {
				t.Fatalf("mark %+v of %v", m, marks)
			}
			seen[m.Bit] = true
		}
		list, err := p.ChipMarks()
		if err != nil || len(list) != len(marks) {
			t.Fatalf("%+v, %v", list, err)
		}
		for i, m := range list {
			if (m.When == MarkAction) != (marks[i].Of != nil) || (m.When == MarkRan) == marks[i].Hit ||
				!slices.Equal(m.Actions, marks[i].Of) {
				t.Fatalf("mark %+v is %+v to the chip", marks[i], m)
			}
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := ReadPlan(again)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := q.Marks(); err != nil || !reflect.DeepEqual(got, marks) {
			t.Fatalf("written and read again: %+v, %v, want %+v", got, err, marks)
		}
	})
}
