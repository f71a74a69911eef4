package saisim_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

// byProtocol returns a table that looks protocols up. Entries have the actions of names, "" for none. Their operations
// are visible only in the record.
func byProtocol(name string, stage uint8, miss string, actions []string, entries map[uint64]string) pipe.Table {
	t := pipe.Table{Name: name, Stage: stage, Match: "exact", Key: []pipe.Input{{Field: "ip.proto"}}, Size: 8,
		Default: pipe.Choice{Action: miss}}
	for _, a := range actions {
		t.Actions = append(t.Actions, pipe.Action{Name: a})
	}
	for proto := range uint64(256) {
		if a, ok := entries[proto]; ok {
			t.Entries = append(t.Entries, pipe.Entry{ID: uint32(proto), Key: []pipe.Match{{Value: proto}},
				Choice: pipe.Choice{Action: a}})
		}
	}
	return t
}

// acting returns a program with actions in both pipes, which number them differently.
func acting() *pipe.Program {
	return &pipe.Program{
		Name: "acting",
		Ingress: pipe.Pipe{Tables: []pipe.Table{
			byProtocol("class", 1, "gold", []string{"silver", "gold", "lead"},
				map[uint64]string{6: "silver", 17: "gold", 1: ""}),
			byProtocol("port", 2, "", []string{"x", "y"}, map[uint64]string{17: "x", 6: "y", 1: "y"}),
		}},
		Egress: pipe.Pipe{Tables: []pipe.Table{byProtocol("out", 2, "up", []string{"up", "down"},
			map[uint64]string{6: "down", 17: "up", 47: "down"})}},
	}
}

// An entry's action sets only its own bit. It sets neither the bit of the default action, nor of the previous packet's
// action, nor of the other pipe's table.
func TestRecordsOfActions(t *testing.T) {
	r := newRecorder(t, erspanTo1)
	r.load(acting())
	act := func(table string, bit int, of ...string) record.ChipMark {
		return record.ChipMark{Table: table, When: record.MarkAction, Bit: bit, Actions: of}
	}
	r.plan.Graph = r.Describe().Version
	r.plan.Marks = []record.ChipMark{
		{Table: "ingress.class", When: "ran", Bit: 0}, {Table: "ingress.class", When: "hit", Bit: 1},
		act("ingress.class", 2, "gold"),
		act("ingress.class", 3, "silver"), act("ingress.class", 4, ""), act("ingress.class", 5, "lead", "silver"),
		act("ingress.port", 6, "x"), act("ingress.port", 7, "y"), act("egress.out", 40, "up"), act("egress.out", 41, "down"),
	}
	r.set(sai.ObjectTypeGenericProgrammable, r.object, sai.GenericProgrammableAttrEntry, planEntry(t, r.plan))
	c := need(record.ParseContainers(r.plan.PHV))(t)
	says := func(x record.Record) string {
		var all []string
		for _, m := range r.plan.Marks {
			if c.Bit(x.Bits, m.Bit) {
				_, table, _ := strings.Cut(m.Table, ".")
				all = append(all, strings.Join(append([]string{table, m.When}, m.Actions...), " "))
			}
		}
		return strings.Join(all, ", ")
	}
	want := map[byte]string{
		17: "class ran, class hit, class action gold, port action x, out action up",
		6:  "class ran, class hit, class action silver, class action lead silver, port action y, out action down",
		1:  "class ran, class hit, class action , port action y",
		47: "class ran, out action down",
		99: "class ran",
	}
	order := []byte{17, 1, 6, 47, 17, 99, 6, 1, 99, 17, 6, 6, 1}
	frame := func(proto byte) []byte { return eth(host(2), host(1), ip4(1, 2, proto, 0, make([]byte, 60))) }
	var one, all []sent
	for _, proto := range order {
		one = append(one, r.send(6, frame(proto))...)
	}
	r.SetVector(64)
	at := r.Now()
	for i, proto := range order { // close together in time
		noError(t, r.Receive(6, at+saisim.Cycle(200*i), saisim.Frame{Data: frame(proto)}))
	}
	all = r.drain()
	for how, outs := range map[string][]sent{"one by one": one, "together": all} {
		list, _ := r.records(outs)
		if len(list) != len(order) {
			t.Fatalf("%s: %d records, want %d", how, len(list), len(order))
		}
		for i, x := range list {
			if got := says(x); got != want[order[i]] {
				t.Errorf("%s, packet %d of protocol %d: %s\nwant %s", how, i, order[i], got, want[order[i]])
			}
		}
	}
}

// A plan with actions is read by the chip exactly as it was written.
func TestMarksOfActionsText(t *testing.T) {
	prof := profile.Small()
	r := newRig(t, prof)
	r.load(acting())
	g := r.Describe()
	acts := g.Acts()
	randtest.Run(t, randtest.Cases{Seed: 4, Count: 60}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		p := &record.Plan{PHV: "32+32"}
		bits := rnd.Perm(32)
		next := func() *int { b := bits[0]; bits = bits[1:]; return &b }
		for _, table := range slices.Sorted(maps.Keys(acts)) {
			has := acts[table]
			x := record.Recorded{Table: table, Container: strings.Count(table, "egress"), Hit: next()}
			for range 1 + rnd.IntN(3) {
				of := slices.Clone(has)
				rnd.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
				x.Actions = append(x.Actions, record.ActionBit{Bit: *next(), Of: of[:1+rnd.IntN(len(of))]})
			}
			p.Recorded = append(p.Recorded, x)
		}
		want := need(p.Marks())(t)
		text := need(json.Marshal(p))(t)
		q, err := record.ReadPlan(text)
		if err != nil || !reflect.DeepEqual(q, p) {
			t.Fatalf("%s is read as %+v, %v", text, q, err)
		}
		marks := need(q.ChipMarks())(t)
		oid := r.extension(record.ObjectPlan, planEntry(t, record.ChipPlan{ID: 1, PHV: q.PHV, Graph: g.Version,
			Marks: marks}))
		if rows := r.Tables().RecordPlans; len(rows) != 1 || !reflect.DeepEqual(rows[0].Marks, want) {
			t.Errorf("the chip has %+v, want marks %+v", rows, want)
		}
		r.remove(sai.ObjectTypeGenericProgrammable, oid)
	})
}
