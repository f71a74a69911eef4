package saisim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/engine"
	"tamtam/saisim/profile"
	"tamtam/saisim/truth"
)

// A burstRig is a chip whose port 1 gets the frames of all others, in queue 0, with an oracle of its bursts.
type burstRig struct {
	*rig
	truth            *truth.Bursts
	queue, threshold sai.OID
	tam              sai.OID
}

func newBurstRig(t *testing.T, p profile.Profile) *burstRig {
	r := &burstRig{rig: newRig(t, p), truth: truth.NewBursts()}
	r.send(1, udpFrame(9, 8, 60)) // the address of port 1 is known
	r.queue = r.get(sai.ObjectTypePort, r.oid(1), sai.PortAttrQoSQueueList).(sai.OIDs)[0]
	r.SetObserver(r.truth.See)
	return r
}

// limit gives the queue limits, as microburstorch does.
func (r *burstRig) limit(to saisim.BurstLimits) {
	r.Helper()
	r.truth.Limit(1, 0, r.Now(), to)
	if to.High == 0 {
		r.set(sai.ObjectTypeQueue, r.queue, sai.QueueAttrTAMObject, sai.OIDs{})
		return
	}
	threshold := r.create(sai.ObjectTypeTAMEventThreshold, sai.TAMEventThresholdAttrUnit,
		sai.TAMEventThresholdUnitBytes, sai.TAMEventThresholdAttrHighWatermark, sai.Uint(to.High),
		sai.TAMEventThresholdAttrLowWatermark, sai.Uint(to.Low))
	event := r.create(sai.ObjectTypeTAMEvent, sai.TAMEventAttrType, sai.TAMEventTypeQueueThreshold,
		sai.TAMEventAttrActionList, sai.OIDs{}, sai.TAMEventAttrCollectorList, sai.OIDs{},
		sai.TAMEventAttrThreshold, threshold)
	tam := r.create(sai.ObjectTypeTAM, sai.TAMAttrEventObjectsList, sai.OIDs{event},
		sai.TAMAttrTAMBindPointTypeList, sai.Enums{sai.TAMBindPointTypeQueue})
	r.set(sai.ObjectTypeQueue, r.queue, sai.QueueAttrTAMObject, sai.OIDs{tam})
	if r.tam != 0 {
		r.remove(sai.ObjectTypeTAM, r.tam)
	}
	r.tam, r.threshold = tam, threshold
}

// A calibration counts how often the tables of bursts were not exact, and by how much.
type calibration struct {
	bursts, evicted, entries, over int
	bytes, worst                   float64
}

// check compares all bursts with the truth.
func (r *burstRig) check(c *calibration) {
	r.Helper()
	got := r.Bursts(0, engine.MaxBursts)
	all, want := append(slices.Clone(got.List), got.Open...), r.truth.Of(1, 0)
	if lost := int(got.First); lost > 0 {
		want = want[lost:]
	}
	if len(all) != len(want) {
		r.Fatalf("%d bursts, want %d", len(all), len(want))
	}
	for i, b := range all {
		w := want[i]
		if w.Open {
			w.End = r.Now()
		}
		if b.Begin != w.Begin || b.End != w.End || b.Peak != w.Peak || b.PeakAt != w.PeakAt || b.Open != w.Open ||
			b.Cut != w.Cut || b.Packets != w.Packets || b.Bytes != w.Bytes || b.Standing != w.Standing {
			r.Fatalf("burst %d:\n got %+v\nwant %+v", i, b, w)
		}
		r.checkFlows(&b, &w, c)
	}
}

// checkFlows checks that each flow is right within the error that the burst states.
func (r *burstRig) checkFlows(b *saisim.Burst, w *truth.Burst, c *calibration) {
	r.Helper()
	c.bursts++
	if b.Rest > 0 {
		c.evicted++
	} else if len(b.Flows) != len(w.Flows) {
		r.Fatalf("%d flows without error, want %d", len(b.Flows), len(w.Flows))
	}
	listed := map[saisim.FlowID]bool{}
	for _, f := range b.Flows {
		n := w.Flows[f.FlowID]
		if listed[f.FlowID] || f.Bytes < n || f.Bytes-f.Over > n || f.Over > b.Rest {
			r.Fatalf("flow %+v has %d bytes, the rest at most %d", f, n, b.Rest)
		}
		listed[f.FlowID] = true
		if c.entries++; f.Bytes > n {
			c.over++
			c.worst = max(c.worst, float64(f.Bytes-n)/float64(b.Bytes))
		}
	}
	for f, n := range w.Flows {
		if !listed[f] && n > b.Rest {
			r.Fatalf("flow %+v of %d bytes is not listed, the rest has at most %d", f, n, b.Rest)
		}
	}
}

// burstLoads are the loads of the gate. TAMTAM_CASES=10000 runs the long test.
var burstLoads = randtest.Cases{Seed: 1, Count: 200, Short: 40}

// Begin, end and peak of each burst are those of the depth in every cycle, and each flow is right within the error that
// the burst states. In one load of eight, the depth of every cycle is compared with that of the queue.
func TestBurstsAreTrue(t *testing.T) {
	var c calibration
	loads := randtest.Run(t, burstLoads, func(t *testing.T, seed uint64) {
		g := rand.New(rand.NewPCG(seed, 7))
		p := profile.Small()
		p.Buffer.Cells = 200 + g.Uint32N(3000)
		r := newBurstRig(t, p)
		limits := func() (l saisim.BurstLimits) {
			l.High = 1 + g.Uint64N([]uint64{100, 3000, 20_000, 60_000}[g.IntN(4)])
			l.Low = 1 + g.Uint64N(l.High)
			if g.IntN(3) == 0 {
				l.Low = (l.High + 1) / 2
			}
			return l
		}
		r.limit(limits())
		flows, everyCycle := 1+g.IntN([]int{3, 16, 60}[g.IntN(3)]), g.IntN(8) == 0
		frames, gap := 20+g.IntN(200), 1+g.Uint64N(3000)
		at := [4]saisim.Cycle{}
		for range frames {
			from := []saisim.PortID{0, 2, 3}[g.IntN(3)]
			now := max(r.Now(), at[from]) + saisim.Cycle(g.Uint64N(gap))
			src := byte(10 + g.IntN(flows))
			noError(t, r.Receive(from, now, saisim.Frame{Data: udpFrame(src, 9, 60+g.IntN(1400))}))
			at[from] = now
			if g.IntN(60) == 0 {
				gap = 1 + g.Uint64N(3000)
			}
			if g.IntN(80) == 0 {
				r.limit([]saisim.BurstLimits{{}, limits()}[g.IntN(2)])
			}
			to := r.Now() + saisim.Cycle(g.Uint64N(gap))
			for everyCycle && r.Now() < to {
				r.Advance(r.Now() + 1)
				s, _ := r.QueueState(1, 0)
				if want := r.truth.Depth(1, 0, r.Now()); s.Bytes != want {
					t.Fatalf("%d bytes at cycle %d, want %d", s.Bytes, r.Now(), want)
				}
			}
			r.Advance(to)
			if g.IntN(50) == 0 {
				r.check(&calibration{})
			}
		}
		r.drain()
		r.check(&c)
	})
	t.Logf("%d bursts, %d with more flows than the table has; %d of %d entries are too large, at most by %.1f %% of "+
		"the burst", c.bursts, c.evicted, c.over, c.entries, 100*c.worst)
	if os.Getenv("TAMTAM_SEED") == "" && loads.Whole(burstLoads) && (c.bursts < 200 || c.evicted < 20 || c.over < 20) {
		t.Errorf("too few bursts: %+v", c)
	}
}

// Bursts survive what ends them: changed limits, no limits, and the removal of the port.
func TestBurstIsCut(t *testing.T) {
	r := newBurstRig(t, profile.Small())
	load := func() {
		for i := range 20 {
			for _, from := range []saisim.PortID{0, 2, 3} {
				noError(t, r.Receive(from, r.Now()+saisim.Cycle(1000*i), saisim.Frame{Data: udpFrame(byte(20+from), 9, 900)}))
			}
		}
		r.Advance(r.Now() + 20_000)
	}
	r.limit(saisim.BurstLimits{High: 5000, Low: 2500})
	load()
	r.limit(saisim.BurstLimits{High: 6000, Low: 3000})
	r.Advance(r.Now() + 1000)
	r.limit(saisim.BurstLimits{})
	r.check(new(calibration))
	got := r.Bursts(0, 10)
	if s := states(got); s != "1 cut, 2 cut" {
		t.Errorf("%s", s)
	}
	r.drain()
	r.limit(saisim.BurstLimits{High: 6000, Low: 3000})
	load()
	if s := states(r.Bursts(0, 10)); s != "1 cut, 2 cut, 3 open" {
		t.Errorf("%s", s)
	}
	r.remove(sai.ObjectTypeHostif, r.hostifs[1])
	r.clearVLAN1()
	r.remove(sai.ObjectTypePort, r.oid(1))
	if s := states(r.Bursts(0, 10)); s != "1 cut, 2 cut, 3 cut" {
		t.Errorf("after the port: %s", s)
	}
}

func states(r saisim.BurstReading) (s string) {
	for i, b := range append(slices.Clone(r.List), r.Open...) {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(b.Index, " ", map[bool]string{true: "open"}[b.Open]+map[bool]string{true: "cut"}[b.Cut])
	}
	return s
}

// SAI's objects for bursts are refused where the chip would not do what they request.
func TestBurstObjectsAreRefused(t *testing.T) {
	const bad, unsupported = sai.StatusInvalidParameter, sai.StatusNotSupported
	r := newBurstRig(t, profile.Small())
	const unit, th = sai.TAMEventThresholdAttrUnit, sai.ObjectTypeTAMEventThreshold
	const high, low = sai.TAMEventThresholdAttrHighWatermark, sai.TAMEventThresholdAttrLowWatermark
	r.refused(bad, th, unit, sai.TAMEventThresholdUnitBytes, high, sai.Uint(10), low, sai.Uint(11))
	r.refused(bad, th, unit, sai.TAMEventThresholdUnitBytes, high, sai.Uint(10), low, sai.Uint(0))
	r.refused(unsupported, th, unit, sai.TAMEventThresholdUnitBytes, sai.TAMEventThresholdAttrAbsValue, sai.Uint(100))
	r.refused(unsupported, th, unit, sai.TAMEventThresholdUnitMsec, sai.TAMEventThresholdAttrAbsValue, sai.Uint(5),
		high, sai.Uint(20))
	interval := r.create(th, unit, sai.TAMEventThresholdUnitMsec, sai.TAMEventThresholdAttrAbsValue, sai.Uint(5))
	event := func(with ...any) []any {
		return append([]any{sai.TAMEventAttrType, sai.TAMEventTypeQueueThreshold, sai.TAMEventAttrActionList, sai.OIDs{},
			sai.TAMEventAttrCollectorList, sai.OIDs{}}, with...)
	}
	r.refused(bad, sai.ObjectTypeTAMEvent, event()...)
	r.refused(bad, sai.ObjectTypeTAMEvent, event(sai.TAMEventAttrThreshold, interval)...)
	r.limit(saisim.BurstLimits{High: 100, Low: 50})
	e := r.get(sai.ObjectTypeTAM, r.tam, sai.TAMAttrEventObjectsList)
	r.refused(unsupported, sai.ObjectTypeTAM, sai.TAMAttrEventObjectsList, e)
	r.refused(unsupported, sai.ObjectTypeTAM, sai.TAMAttrEventObjectsList, e, sai.TAMAttrTAMBindPointTypeList,
		sai.Enums{sai.TAMBindPointTypeQueue, sai.TAMBindPointTypePort})
	other := r.create(sai.ObjectTypeTAM, sai.TAMAttrTAMBindPointTypeList, sai.Enums{sai.TAMBindPointTypePort})
	for _, tams := range []sai.OIDs{{other}, {r.tam, other}} {
		err := r.Set(t.Context(), sai.Obj(sai.ObjectTypeQueue, r.queue), sai.Attr{ID: sai.QueueAttrTAMObject, Value: tams})
		if err == nil {
			t.Errorf("%v bound to a queue", tams)
		}
	}
	err := r.Set(t.Context(), sai.Obj(th, r.threshold), sai.Attr{ID: unit, Value: sai.TAMEventThresholdUnitMsec})
	if err == nil {
		t.Error("a threshold of a queue became an interval")
	}
}
