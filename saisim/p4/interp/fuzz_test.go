package interp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/p4"
)

// FuzzPacket runs any packet through a program that uses stacks, unions, varbits, recirculation and registers.
func FuzzPacket(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 1, 0, 0, 0, 2, 3, 0, 1, 0, 2})
	f.Add([]byte{2, 0, 0, 0, 9})
	f.Add([]byte{})
	program := func(t *testing.T) *p4.Program {
		return parts{
			parse: []string{toStack, variable(x("&", "h.b", "255")), set("scalars.x", ahead(3, 31))},
			key:   `{"type": "stack_field", "value": ["st", "v"]}`,
			transitions: `{"type": "hexstr", "value": "0x0001", "mask": "0x000f", "next_state": "more"},
				{"type": "default", "value": null, "mask": null, "next_state": null}`,
			ingress: []string{"register_read h.b register_array:reg h.a", "add_to_field h.b 1",
				"register_write register_array:reg h.a h.b", "push header_stack:st h.op", "assign_header header:u.e header:e",
				"add_header header:u.v", "clone_ingress_pkt_to_egress h.op 1", "assign h.a " + x("/", "h.a", "h.op"),
				"assign standard_metadata.mcast_grp h.op", "execute_meter meter_array:bytes h.op h.n"},
			egress: []string{"pop header_stack:st 1", "recirculate " + x("&", "h.a", "1"), "truncate h.b"},
		}.program(t)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sw, err := New(program(t), Config{Trace: func(Event) {}})
		if err != nil {
			t.Fatal(err)
		}
		if err := sw.SetSession(1, Session{Port: 4, Group: 2}); err != nil {
			t.Fatal(err)
		}
		if err := sw.AddMulticastGroup(2); err != nil {
			t.Fatal(err)
		}
		if err := sw.Associate(2, sw.AddNode(Node{RID: 1, Ports: []uint32{1, 2}}), true); err != nil {
			t.Fatal(err)
		}
		if err := sw.Receive(1, 1000, data[:min(len(data), 2000)]); err != nil {
			t.Fatal(err)
		}
		if a := sw.Accounts(); !a.Balanced() {
			t.Errorf("accounts are not balanced: %+v", a)
		}
	})
}

// FuzzProgram runs packets through damaged programs: a program that is read runs, whatever it does.
func FuzzProgram(f *testing.F) {
	text := strings.NewReplacer("INGRESS", "", "EGRESS", "", "PARSE", toStack, "TRANSITIONS",
		`{"type": "default", "value": null, "mask": null, "next_state": null}`, "KEY", "", "KIND", "ternary").Replace(base)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := p4.Read(strings.NewReader(text), "f.json")
		if err != nil {
			return
		}
		sw, err := New(p, Config{Trace: func(Event) {}})
		if err != nil {
			return
		}
		for n := range 4 {
			if err := sw.Receive(uint32(n), uint64(n)*1000, make([]byte, n*20)); err != nil {
				t.Fatal(err)
			}
		}
		if a := sw.Accounts(); !a.Balanced() {
			t.Errorf("accounts are not balanced: %+v", a)
		}
	})
}

// damage replaces a part of a JSON value by another part of it, or by a number.
func damage(rng *rand.Rand, root any) {
	var places []func(any)
	var values []any
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				places, values = append(places, func(n any) { v[k] = n }), append(values, v[k])
				walk(v[k])
			}
		case []any:
			for i := range v {
				places, values = append(places, func(n any) { v[i] = n }), append(values, v[i])
				walk(v[i])
			}
		}
	}
	walk(root)
	at := rng.IntN(len(places))
	switch rng.IntN(10) {
	case 0:
		places[at](float64(rng.IntN(300)))
	case 1:
		places[at](nil)
	default:
		// A value of the same kind is more often accepted. Its size is bounded, so that the program does not grow.
		from := values[rng.IntN(len(values))]
		for n := 0; n < 100 && fmt.Sprintf("%T", from) != fmt.Sprintf("%T", values[at]); n++ {
			from = values[rng.IntN(len(values))]
		}
		if text, err := json.Marshal(from); err == nil && len(text) < 2000 {
			var other any
			if json.Unmarshal(text, &other) == nil {
				places[at](other)
			}
		}
	}
}

// Programs in which parts are exchanged are refused or run. Nothing ends the switch, and the accounts are balanced.
func TestDamagedPrograms(t *testing.T) {
	ingress := []string{"register_read h.b register_array:reg h.a", "push header_stack:st h.op", "add_header header:u.v",
		"assign_union header_union:u header_union:u", "clone_ingress_pkt_to_egress h.op 1", "assign_VL v.data u.v.data",
		"modify_field_with_hash_based_offset h.a h.b calculation:mixed h.op", "execute_meter meter_array:bytes h.op h.n",
		"assign h.a " + x("/", "h.a", x("last_stack_index", "", "header_stack:st"))}
	var list []string
	for _, s := range ingress {
		list = append(list, st(t, s))
	}
	text := strings.NewReplacer("INGRESS", strings.Join(list, ","), "EGRESS", st(t, "count counter_array:count h.n"),
		"PARSE", toStack+","+variable(x("&", "h.b", "24"))+","+set("scalars.x", ahead(3, 31)), "TRANSITIONS",
		`{"type": "hexstr", "value": "0x0001", "mask": "0x000f", "next_state": "more"}`,
		"KEY", `{"type": "stack_field", "value": ["st", "v"]}`, "KIND", "ternary").Replace(base)
	fixed := randtest.Cases{Seed: 1, Count: 400, Short: 100}
	ran := 0
	cases := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var root any
		if err := json.Unmarshal([]byte(text), &root); err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(2) {
			damage(rng, root)
		}
		damaged, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		p, err := p4.Read(bytes.NewReader(damaged), "d.json")
		if err != nil {
			return
		}
		p4.Describe(p)
		sw, err := New(p, Config{Trace: func(Event) {}})
		if err != nil {
			return
		}
		ran++
		if err := sw.SetSession(1, Session{Port: 4, Group: -1}); err != nil {
			t.Fatal(err)
		}
		for n := range 6 {
			data := make([]byte, n*9)
			for i := range data {
				data[i] = byte(rng.IntN(4))
			}
			if err := sw.Receive(uint32(n), uint64(n)*1000, data); err != nil {
				t.Fatal(err)
			}
		}
		if a := sw.Accounts(); !a.Balanced() {
			t.Errorf("accounts are not balanced: %+v", a)
		}
	})
	if cases.Whole(fixed) && ran < fixed.Count/20 {
		t.Errorf("only %d of %d programs ran", ran, fixed.Count)
	}
}
