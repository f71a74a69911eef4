package join

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/stream"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
)

// answering returns a network whose switches answer sketch tasks, and the expected rows by their keys.
func answering(t *testing.T, r *rand.Rand) (*network, map[string]result.Sketch) {
	n, want := &network{}, map[string]result.Sketch{}
	for i := range 1 + r.IntN(3) {
		name := fmt.Sprint("leaf", i)
		w, err := event.NewWriter(result.Sketches, name)
		if err != nil {
			t.Fatal(err)
		}
		s, at := &sender{}, 1000*second
		for range 1 + r.IntN(12) {
			for range r.IntN(10) {
				e := event.Sketch{Start: r.Int64N(2) * at, Switch: name, Task: "cms", Key: fmt.Sprint(len(want)),
					Estimate: r.Float64()}
				row := result.Sketch{Start: e.Start, Time: at + r.Int64N(3*second), Switch: name, Task: e.Task, Key: e.Key,
					Estimate: e.Estimate}
				if r.IntN(2) == 0 {
					low := e.Estimate - 1
					e.Low, row.Bounded, row.Low, row.High = &low, true, low, math.Inf(1)
				}
				want[e.Key] = row
				if ok, err := w.AddSketch(row.Time, &e); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			at += r.Int64N(2 * second)
			s.batches = append(s.batches, slices.Clone(w.Finish(at)))
		}
		s.batches = append(s.batches, slices.Clone(w.Finish(event.Ended)))
		n.names, n.senders = append(n.names, name), append(n.senders, s)
	}
	return n, want
}

// Whichever workers end and whatever is delivered twice: each answer is a row once, unchanged.
func TestSketchesOnce(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 60}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 9))
		n, want := answering(t, r)
		o := Options{Window: time.Duration(1+r.IntN(3)) * time.Second, Silence: time.Hour, Expect: n.names}
		log := stream.NewMemory(0)
		messages, _ := n.deliver(t, r, log, 0)
		got := map[string]result.Sketch{}
		err := work(t, r, log, o, messages).Each(t.Context(), 0, event.MaxTime, func(b *result.Batch) bool {
			for _, s := range b.Sketches {
				if _, twice := got[s.Key]; twice || s != want[s.Key] {
					t.Errorf("%+v, there already: %v; want %+v once", s, twice, want[s.Key])
				}
				got[s.Key] = s
			}
			return true
		})
		if err != nil || len(got) != len(want) {
			t.Errorf("%d answers, %v: want %d", len(got), err, len(want))
		}
	})
}

// Answers beyond the capacity are reported by a flag on the others.
func TestSketchesOverflow(t *testing.T) {
	now := time.Unix(0, 0)
	p := New("sketch-0", Options{Rows: 1}, result.Position{}, now)
	w, err := event.NewWriter(result.Sketches, "leaf1")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if ok, err := w.AddSketch(7, &event.Sketch{Switch: "leaf1", Task: "hll", Estimate: 5}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if err := p.Consume(1, w.Finish(event.Ended), now); err != nil {
		t.Fatal(err)
	}
	b := p.Cut(now, true)
	if len(b.Sketches) != 1 || b.Sketches[0].Flags != leftOut || b.Sources[0].LeftOut != 1 {
		t.Errorf("%+v, %+v: want one answer that says that others were left out, and one that was", b.Sketches, b.Sources)
	}
}
