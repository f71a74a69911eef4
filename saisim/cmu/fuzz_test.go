package cmu_test

import (
	"encoding/json"
	"slices"
	"testing"

	"tamtam/tam/flymon"
)

// FuzzApply applies any layouts, in JSON as from SAI. Accepted layouts run like the interpreter, and refused layouts
// change nothing.
func FuzzApply(f *testing.F) {
	seed := func(layouts ...flymon.Layout) {
		text, err := json.Marshal(layouts)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	seed(countMin(f, "a", 0, 0, 32), countMin(f, "b", 0, 0, 32), countMin(f, "a", 1, 64, 64))
	seed(spliced(epochs(f)), epochs(f), one(f, "o", 1024, 32))
	l := beauCoupLayout(f)
	for i := range l.Units {
		l.Units[i].Size = 1024
	}
	l.Digest = &flymon.Digest{Threshold: 1, Key: l.Flow}
	froze := l
	froze.Units, froze.Frozen = l.Units[:2], l.Units[2:]
	seed(l, froze)
	chained := one(f, "c", 0, 32)
	chained.Units = append(chained.Units, chained.Units[0])
	chained.Units[1].Group, chained.Units[1].P1, chained.Units[1].From, chained.Units[1].To = 4, of(flymon.Since, 0, 0), 3,
		200
	chained.Masks = append(chained.Masks, flymon.MaskRule{Group: 4, Key: chained.Flow})
	seed(chained)
	f.Add([]byte(
		`[{"task":"t","filter":"src-port=5-9,ip=6","masks":[{"group":0,"unit":0,"key":"none"}],"units":[{"key":{},` +
			`"size":32,"op":"max","p1":{"from":"key","bits":40},"p2":{"from":"least","of":[0]}}],"measures":"frequency"}]`))
	load := newTraffic(5).list(50)
	f.Fuzz(func(t *testing.T, text []byte) {
		var layouts []flymon.Layout
		if json.Unmarshal(text, &layouts) != nil {
			return
		}
		geo := small(16)
		b, in := newBench(t, geo), newInterpreter(geo)
		b.SetOracle(5)
		for _, l := range layouts[:min(len(layouts), 10)] {
			if b.Apply(l) == nil {
				in.apply(normal(l))
			}
			for _, p := range load {
				b.send(p)
				p.Number = b.number
				in.packet(&p)
			}
		}
		compare(b, in)
		for _, task := range slices.Clone(in.tasks) {
			if !b.Remove(task.Task) {
				t.Fatalf("%s cannot be removed", task.Task)
			}
		}
		if b.Busy() {
			t.Fatal("busy without a task")
		}
	})
}

// normal returns the layout without empty lists, which mean the same as missing lists.
func normal(l flymon.Layout) flymon.Layout {
	l.Units, l.Frozen = slices.Clone(l.Units), slices.Clone(l.Frozen)
	for _, units := range [][]flymon.Unit{l.Units, l.Frozen} {
		for i := range units {
			u := &units[i]
			u.Map, u.P1.Of, u.P2.Of = append([]flymon.MapRule(nil), u.Map...), append([]int(nil), u.P1.Of...),
				append([]int(nil), u.P2.Of...)
		}
	}
	return l
}
