package interp

import (
	"strings"
	"testing"

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
			t.Fatal(err)
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
