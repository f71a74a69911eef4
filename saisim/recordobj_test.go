package saisim_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

// Errors of a plan are reported by name, and nothing changes.
func TestPlanRefusals(t *testing.T) {
	mark := func(table, when string, bit int) record.ChipMark {
		return record.ChipMark{Table: table, When: when, Bit: bit}
	}
	marks := func(list ...record.ChipMark) func(*record.ChipPlan) {
		return func(p *record.ChipPlan) { p.Marks = list }
	}
	sessions := func(list ...record.ChipSession) func(*record.ChipPlan) {
		return func(p *record.ChipPlan) { p.Sessions = list }
	}
	tunnel := func(src, dst, mac string) func(*record.ChipPlan) {
		a, _ := netip.ParseAddr(src)
		b, _ := netip.ParseAddr(dst)
		return sessions(record.ChipSession{Label: "tr:a", Tunnel: &record.ChipTunnel{SrcIP: a, DstIP: b,
			SrcMAC: "02:00:00:00:00:01", DstMAC: mac}})
	}
	good := "02:00:00:00:00:02"
	for _, tt := range []struct {
		name   string
		change func(*record.ChipPlan)
		want   string // part of the error; empty if the plan is valid
	}{
		{"good", func(*record.ChipPlan) {}, ""},
		{"no id", func(p *record.ChipPlan) { p.ID = 0 }, "id is 0, want"},
		{"odd containers", func(p *record.ChipPlan) { p.PHV = "12" }, `phv: containers "12"`},
		{"too wide", func(p *record.ChipPlan) { p.PHV = "32+32+8" },
			"phv 32+32+8 from bit 0, want all of it in the 64 bits of the record word"},
		{"too far", func(p *record.ChipPlan) { p.Offset = 49 }, "phv 8+8 from bit 49, want"},
		{"before the first bit", func(p *record.ChipPlan) { p.Offset = -1 }, "from bit -1"},
		{"bits of another plan", func(p *record.ChipPlan) { p.Offset = 39 },
			"bits 39 to 54 of the record word are in use from 40 to 47 by plan 9, want others"},
		{"next to another plan", func(p *record.ChipPlan) { p.Offset = 24 }, ""},
		{"another graph", func(p *record.ChipPlan) { p.Graph++ }, "that of the chip's pipes now: plan again"},

		{"no such table", marks(mark("ingress.x", "ran", 0)), `marks[0]: table "ingress.x": the chip has none of that name`},
		{"a condition", marks(mark("chip.queued", "ran", 0)), `table "chip.queued": the chip has none`},
		{"when", marks(mark("chip.acl", "miss", 0)), `marks[0]: when is "miss", want ran, hit or action`},
		{"a hit without a key", marks(mark("chip.flymon", "hit", 0)), `table "chip.flymon" has no key: it never hits`},
		{"an action of an ACL", marks(record.ChipMark{Table: "chip.acl", When: "action", Bit: 1, Actions: []string{"drop"}}),
			`marks[0]: table "chip.acl": it is the chip's own, whose actions no plan records: want ran or hit, or an action ` +
				`of a table of the program`},
		{"an action of a route", marks(record.ChipMark{Table: "chip.ipv4_route", When: "action", Bit: 1}),
			`table "chip.ipv4_route": it is the chip's own`},
		{"an action of a table that has none", marks(record.ChipMark{Table: "ingress.a", When: "action",
			Actions: []string{"x"}}),
			`marks[0]: table "ingress.a": its entries have no two actions to tell apart`},
		{"a bit below", marks(mark("chip.acl", "ran", -1)), "marks[0]: bit is -1, want 0 to 15"},
		{"a bit above", marks(mark("chip.acl", "ran", 16)), "marks[0]: bit is 16, want 0 to 15"},
		{"a bit twice", marks(mark("chip.acl", "ran", 3), mark("chip.fdb", "ran", 3)),
			`marks[1]: bit 3 is set by table "chip.acl" already`},
		{"all that is wrong", marks(mark("x", "ran", 3), mark("chip.fdb", "never", 3)), "marks[1]: when"},
		{"ran and hit", marks(mark("chip.acl", "ran", 3), mark("chip.acl", "hit", 4)), ""},
		{"one unit in one container", marks(mark("chip.fdb", "ran", 3), mark("chip.learning", "ran", 4)), ""},
		{"one container, different stages", marks(mark("chip.fdb", "ran", 3), mark("chip.acl", "ran", 4)), ""},
		{"one stage, one container", marks(mark("ingress.a", "ran", 3), mark("chip.acl", "ran", 4)),
			`tables "ingress.a" and "chip.acl" of stage 2 both write container 0, want tables that no packet runs both, or ` +
				`two containers`},
		{"one stage, two containers", marks(mark("ingress.a", "ran", 3), mark("chip.acl", "ran", 8)), ""},
		{"tables that exclude each other", marks(mark("ingress.b", "ran", 3), mark("ingress.c", "ran", 4)), ""},

		{"a label without prefix", sessions(record.ChipSession{Label: "s"}),
			`sessions[0]: label is "s", want one that begins with "tr:"`},
		{"a label twice", sessions(record.ChipSession{Label: "tr:a"}, record.ChipSession{Label: "tr:a"}),
			`sessions[1]: label "tr:a" is there twice`},
		{"another plan's label", sessions(record.ChipSession{Label: "tr:o"}),
			`label "tr:o" is in plan 9 too, want each once on the chip`},
		{"too many", sessions(record.ChipSession{Label: "tr:1"}, record.ChipSession{Label: "tr:2"},
			record.ChipSession{Label: "tr:3"}), "4 sessions in all plans, want at most 3"},
		{"a tunnel of two families", tunnel("192.0.2.1", "2001:db8::1", good),
			"sessions[0]: tunnel: from 192.0.2.1 to 2001:db8::1, want two addresses"},
		{"a tunnel from nowhere", tunnel("", "192.0.2.1", good), "tunnel: from"},
		{"a tunnel to no MAC address", tunnel("192.0.2.1", "192.0.2.2", "x"),
			`tunnel: MAC address "x", want one as 02:00:00:00:00:01`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			prof := profile.Small()
			prof.TableRecord.Sessions = 3
			r := newRig(t, prof)
			either := func(name, is string) pipe.Table {
				x := does(name, 3, op("set", "ip.ecn", constant(1)))
				x.Gate = [][]pipe.Term{{{Table: "a", Is: is}}}
				return x
			}
			a := pipe.Table{Name: "a", Stage: 2, Match: "exact", Key: []pipe.Input{{Field: "ip.proto"}}, Size: 4}
			c := either("c", "miss")
			c.Actions[0].Ops[0].To = "ip.dscp"
			r.load(&pipe.Program{Name: "p", Ingress: pipe.Pipe{Tables: []pipe.Table{a, either("b", "hit"), c}}})
			v := r.Describe().Version
			r.extension(record.ObjectPlan, planEntry(t, record.ChipPlan{ID: 9, PHV: "8", Offset: 40, Graph: v,
				Sessions: []record.ChipSession{{Label: "tr:o"}}}))
			p := record.ChipPlan{ID: 10, PHV: "8+8", Graph: v, Sessions: []record.ChipSession{{Label: "tr:a"}}}
			tt.change(&p)
			_, err := r.Create(context.Background(), sai.ObjectTypeGenericProgrammable,
				attrs(sai.GenericProgrammableAttrObjectName,
					sai.Bytes(record.ObjectPlan), sai.GenericProgrammableAttrEntry, planEntry(t, p)))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			plans := 1
			if tt.want == "" {
				plans = 2
			}
			if rows := r.Tables().RecordPlans; len(rows) != plans || rows[0].ID != 9 {
				t.Errorf("%d plans: %+v", len(rows), rows)
			}
		})
	}
}

// Text that is no plan, and chips without recording, are refused.
func TestPlanText(t *testing.T) {
	r := newRig(t, profile.Small())
	for _, tt := range []struct{ text, want string }{
		{``, "entry: unexpected end"},
		{`{"attributes":[]}`, "plan is missing, want a plan"},
		{`{"attributes":[{"plan":{"value":{"id":1,"speed":2}}}]}`, `unknown field "speed"`},
		{`{"attributes":[{"plan":{"value":{"id":"x"}}}]}`, "id is a string"},
		{`{"attributes":[{"plan":{"value":{"id":1,"marks":[{"bit":99999999999999999999}]}}}]}`, "plan: "},
	} {
		_, err := r.Create(context.Background(), sai.ObjectTypeGenericProgrammable,
			attrs(sai.GenericProgrammableAttrObjectName,
				sai.Bytes(record.ObjectPlan), sai.GenericProgrammableAttrEntry, sai.Bytes(tt.text)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
	for name, want := range map[string]uint64{"small": 8, "fixed": 0} {
		prof := need(profile.Load(name))(t)
		r := newRig(t, prof)
		n, err := r.Availability(context.Background(), sai.ObjectTypeGenericProgrammable,
			attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes(record.ObjectPlan)))
		if err != nil || n != want {
			t.Errorf("%s: %d plans, %v, want %d", name, n, err, want)
		}
		if want == 0 {
			for _, x := range []string{record.ObjectPlan, record.ObjectCounters, record.ObjectGraph} {
				r.refused(sai.StatusNotSupported, sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName,
					sai.Bytes(x),
					sai.GenericProgrammableAttrEntry, sai.Bytes(`{"attributes":[]}`))
			}
		}
	}
}

// The profile limits the number of plans. The bits of all plans are in the PHV besides the program's fields, in either
// order of creation.
func TestPlansUsePHV(t *testing.T) {
	prof := profile.Small()
	prof.PHVBits = pipe.HeaderBits + 48
	prof.TableRecord.Plans = 2
	r := newRig(t, prof)
	program := func(bits uint8) *pipe.Program {
		return &pipe.Program{Name: "p", Fields: []pipe.Field{{Name: "f", Width: bits}}}
	}
	plan := func(i, bits int) (sai.OID, error) {
		return r.Create(context.Background(), sai.ObjectTypeGenericProgrammable,
			attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes(record.ObjectPlan),
				sai.GenericProgrammableAttrEntry, planEntry(t, record.ChipPlan{ID: 1, PHV: fmt.Sprint(bits), Offset: 16 * i,
					Graph: r.Describe().Version})))
	}
	wants := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	r.load(program(32))
	first, err := plan(0, 16)
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan(1, 8)
	wants(err, fmt.Sprintf("PHV: 24 bits of plans beside %d that the program takes, have %d", pipe.HeaderBits+32,
		prof.PHVBits))
	wants(r.Control(r.Now(), saisim.Batch{Batch: pipe.Batch{Program: program(64)}}), "PHV: need")
	r.load(program(16)) // another program with the same graph
	if _, err := plan(1, 16); err != nil {
		t.Error(err)
	}
	_, err = plan(2, 8)
	r.wantStatus(err, sai.StatusInsufficientResources)
	r.remove(sai.ObjectTypeGenericProgrammable, first)
	r.control(r.Now()+100, pipe.Batch{Program: program(32)}) // still pending
	_, err = plan(2, 8)
	wants(err, "PHV: 24 bits of plans beside")
}

// A plan takes over bits and labels from other plans when it is set. The other plans have no effect until they are set
// again. So two plans can be exchanged.
func TestPlansAreExchanged(t *testing.T) {
	r := newRig(t, profile.Small())
	plan := func(id uint32, offset int, label string) sai.Bytes {
		return planEntry(t, record.ChipPlan{ID: id, PHV: "16", Offset: offset, Graph: r.Describe().Version,
			Sessions: []record.ChipSession{{Label: label}}})
	}
	a, b := r.extension(record.ObjectPlan, plan(1, 0, "tr:a")), r.extension(record.ObjectPlan, plan(2, 16, "tr:b"))
	rows := func() (ids []uint32) {
		for _, x := range r.Tables().RecordPlans {
			ids = append(ids, x.ID)
		}
		return ids
	}
	entry := func(oid sai.OID, text sai.Bytes) {
		r.set(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry, text)
	}
	entry(a, plan(2, 16, "tr:b"))
	if got := rows(); !slices.Equal(got, []uint32{2}) {
		t.Errorf("plans %d, want one that has taken the place of the other", got)
	}
	entry(b, plan(1, 0, "tr:a"))
	if got := rows(); !slices.Equal(got, []uint32{2, 1}) {
		t.Errorf("plans %d", got)
	}
	entry(a, plan(3, 32, "tr:a")) // takes over only a label
	if got := rows(); !slices.Equal(got, []uint32{3}) {
		t.Errorf("plans %d", got)
	}
	r.remove(sai.ObjectTypeGenericProgrammable, b)
	r.remove(sai.ObjectTypeGenericProgrammable, a)
	if got := rows(); len(got) != 0 {
		t.Errorf("plans %d", got)
	}
}

// Invalid register reads are refused.
func TestRecordWindowRefusals(t *testing.T) {
	r := newRig(t, profile.Small())
	labels := make([]string, 129)
	for name, entry := range map[string]sai.Bytes{
		record.ObjectCounters: entryOf(t, "labels", labels),
		record.ObjectGraph:    entryOf(t, "describe", map[string]bool{"colour": true}),
	} {
		r.refused(sai.StatusInvalidParameter, sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName,
			sai.Bytes(name),
			sai.GenericProgrammableAttrEntry, entry)
	}
}
