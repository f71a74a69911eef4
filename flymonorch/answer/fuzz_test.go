package answer_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"tamtam/flymonorch/answer"
	"tamtam/flymonorch/plan"
	"tamtam/tam/flymon"
)

// small returns the geometry of a chip with few buckets, so that every task is small.
func small(width int) flymon.Geometry {
	return flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: width, Depth: 512, Partitions: 32,
		MapEntries: 256, Digests: 16}
}

// tasks returns one task for each valid combination of attribute, algorithm, and the keys none and 5-tuple.
func tasks(t testing.TB) []flymon.Task {
	var all []flymon.Task
	for _, attribute := range []string{
		"frequency", "frequency(bytes)", "distinct(src-ip)", "existence(src-ip)", "similarity(src-ip)", "max(queue-length)",
		"max(queue-delay)", "max(size)", "max(interval)",
	} {
		for _, key := range []string{"none", "5-tuple"} {
			task := flymon.Task{Key: parse(t, flymon.ParseKey, key), Attribute: parse(t, flymon.ParseAttribute, attribute),
				Memory: 300, Threshold: 100}
			if task.Attribute.Kind == flymon.MaxQueue || task.Attribute.Kind == flymon.MaxDelay {
				task.Threshold = 1 << 8 // one step of a bucket of 16 bits
			}
			for _, task.Algorithm = range flymon.AlgorithmsOf(task.Attribute, key == "none") {
				if task.Check() == nil {
					all = append(all, task)
				}
			}
		}
	}
	return all
}

// registers returns the registers of a layout, at most 1,024 per unit, filled with a repeated sequence of bytes.
func registers(l *flymon.Layout, words []byte) (all [][]uint32) {
	var w [4]byte
	for i := range l.Units {
		unit := make([]uint32, min(l.Units[i].Size, 1<<10))
		for j := range unit {
			if len(words) > 0 {
				for k := range w {
					w[k] = words[(7*i+4*j+k)%len(words)]
				}
			}
			unit[j] = binary.LittleEndian.Uint32(w[:])
		}
		all = append(all, unit)
	}
	return all
}

// sane fails the test if an estimate is invalid.
func sane(t *testing.T, what string, e flymon.Estimate) {
	t.Helper()
	for _, v := range []float64{e.Value, e.Lower, e.Confidence} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || v > 1e300 {
			t.Fatalf("%s: %+v", what, e)
		}
	}
	if math.IsNaN(e.Upper) || e.Upper < 0 || e.Upper > 1e300 && !math.IsInf(e.Upper, 1) || e.Confidence > 1 ||
		e.Confidence > 0 && (e.Lower > e.Value || e.Value > e.Upper) {
		t.Fatalf("%s: %+v", what, e)
	}
}

// ask requests every kind of answer from a reading, and checks each.
func ask(t *testing.T, r *answer.Reading) {
	t.Helper()
	flows := []flymon.Vector{{}, {1, 2, 3, 4, 5, 6}, {1 << 40, 0, 0, 0, 4 << 16}, {}}
	for _, v := range flows {
		sane(t, "flow", r.Flow(v))
	}
	for name, e := range r.Metrics() {
		sane(t, name, e)
	}
	for _, threshold := range []uint64{0, 1, math.MaxUint64} {
		for _, f := range r.Heavy(flows, threshold) {
			sane(t, "heavy", f.Estimate)
		}
	}
	for _, n := range []int{0, 1, 1 << 20} {
		if e, ok := r.Falsely(n); ok {
			sane(t, "false", e)
		}
		sane(t, "listed", r.Listed(n))
	}
	for _, e := range r.Sizes() {
		sane(t, "size", e)
	}
	for _, f := range r.Decode(flows) {
		sane(t, "decoded", f.Estimate)
	}
	for name, e := range answer.Similarity(r, r) {
		sane(t, name, e)
	}
	for _, b := range r.Distribution() {
		if math.IsNaN(b.Flows) || b.Flows < 0 || b.Size == 0 {
			t.Fatalf("%+v", b)
		}
	}
	if load, full := r.Load(); load < 0 || load > 1 || full < 0 || full > 1 {
		t.Fatalf("load %v, full %v", load, full)
	}
}

// Empty, full and other valid registers all have answers.
func TestEmptyAndFullRegisters(t *testing.T) {
	for _, width := range []int{16, 32} {
		g := small(width)
		for _, task := range tasks(t) {
			placed, err := plan.New(g).Add("t", task)
			if err != nil {
				t.Fatal(err)
			}
			for _, words := range [][]byte{nil, {0xff}, {1, 0, 0, 0}, {0x80}, {3, 1, 4, 1, 5, 9, 2}} {
				d := answer.Dump{Geometry: g, Task: task, Layout: placed.Layout, Sketch: placed.Sketch,
					Registers: registers(&placed.Layout, words)}
				for _, unit := range d.Registers {
					for i := range unit {
						unit[i] &= g.Mask()
					}
				}
				r, err := answer.New(d)
				if err != nil {
					t.Fatalf("%s of %s: %v", task.Algorithm, task.Attribute, err)
				}
				ask(t, r)
				if words == nil && task.Algorithm != flymon.MaxInterArr {
					if e := r.Flow(flymon.Vector{1}); e.Value != 0 || e.Saturated {
						t.Errorf("%s of %s, nothing counted: %+v", task.Algorithm, task.Attribute, e)
					}
				}
			}
		}
	}
}

// Dumps of any layout, sketch and registers are refused or have answers.
func FuzzNew(f *testing.F) {
	all := tasks(f)
	for i, task := range all {
		placed, err := plan.New(small(16)).Add("t", task)
		if err != nil {
			f.Fatal(err)
		}
		layout, err := json.Marshal(placed.Layout)
		if err != nil {
			f.Fatal(err)
		}
		sketch, err := json.Marshal(placed.Sketch)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), layout, sketch, []byte{1, 0, 0, 0, 0, 7, 0, 0}, uint8(0))
	}
	f.Fuzz(func(t *testing.T, task uint8, layout, sketch, words []byte, share uint8) {
		for _, width := range []int{16, 32} {
			d := answer.Dump{Geometry: small(width), Task: all[int(task)%len(all)], Packets: 1000, Bytes: 64_000}
			d.Task.Share = share
			if json.Unmarshal(layout, &d.Layout) != nil || json.Unmarshal(sketch, &d.Sketch) != nil {
				return
			}
			d.Registers = registers(&d.Layout, words)
			if r, err := answer.New(d); err == nil {
				ask(t, r)
			}
		}
	})
}
