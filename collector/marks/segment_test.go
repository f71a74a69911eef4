package marks

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"tamtam/tam/altmark"
)

// A delay beyond its bounds shows that the guard condition does not hold, so the loss is void too.
func TestAltMarkSyncMargin(t *testing.T) {
	for after, want := range map[time.Duration]string{
		5*ms - ms: "ok lost 0 delay 4ms",
		5*ms - ms - 1: "flagged: sync-margin-low: delay 3.999999ms from mp1 to mp3, want 4ms to 21ms: the guard " +
			"condition does not hold",
		20*ms + ms: "ok lost 0 delay 21ms",
		20*ms + ms +
			1: "flagged: sync-margin-low: delay 21.000001ms from mp1 to mp3, want 4ms to 21ms: the guard condition does not " +
			"hold",
		-400 * ms: "flagged: sync-margin-low: delay -400ms from mp1 to mp3, want 4ms to 21ms: the guard condition " +
			"does not hold",
		5*ms - ms + 100: "ok lost 0 delay 4.0001ms",
	} {
		m := newTestJoiner(t, twoPoints(altmark.Double))
		var got []Result
		for k := uint64(10); k < 13; k++ {
			add(m, 0, report(k, 9, 0))
			got = append(got, add(m, 1, report(k, 9, after))...)
		}
		wantLines(t, got, "10 mp1>mp3 "+want)
	}
}

// A late pulse of the previous period may be counted as a packet of this one. A packet outside its window may belong to
// the previous or next period of the same colour.
func TestAltMarkNeighbours(t *testing.T) {
	run := func(method altmark.Method, change func(i int, p *altmark.Period)) (got []Result) {
		m := newTestJoiner(t, twoPoints(method))
		for k := uint64(10); k < 16; k++ {
			for i := range 2 {
				p := report(k, 9, 6*ms*time.Duration(i))
				change(i, &p)
				got = append(got, add(m, i, p)...)
			}
		}
		return got
	}
	wantLines(t, run(altmark.Muxed, func(i int, p *altmark.Period) {
		if i == 0 && p.Number == 12 {
			p.Flags = altmark.LatePulse
		}
	}), "10 mp1>mp3 flagged delay 6ms: mp1: no report of period 9, which shows its pulse",
		"11 mp1>mp3 ok lost 0 delay 6ms jitter 0s",
		"12 mp1>mp3 flagged: mp1: late-pulse", "13 mp1>mp3 flagged delay 6ms: mp1: late-pulse in period 12")
	wantLines(t, run(altmark.Step, func(i int, p *altmark.Period) {
		if i == 1 && p.Number == 13 {
			p.Flags = altmark.OutOfWindow
		}
	}), "10 mp1>mp3 ok lost 0", "11 mp1>mp3 flagged: mp3: out-of-window in period 13", "12 mp1>mp3 ok lost 0",
		"13 mp1>mp3 flagged: mp3: out-of-window")
	wantLines(t, run(altmark.Muxed, func(i int, p *altmark.Period) {
		if i == 0 {
			p.Captures = 0
		} else if p.Number != 11 {
			p.Captures = 0
		}
	})[1:4], "11 mp1>mp3 flagged: pulses-differ: mp3 had 1 pulses in period 11, and mp1 0",
		"12 mp1>mp3 flagged: pulses-differ: mp3 had 1 pulses in period 11, and mp1 0", "13 mp1>mp3 ok lost 0")
	wantLines(t, run(altmark.Double, func(i int, p *altmark.Period) { // a lost pulse gives no sample
		if i == 1 {
			p.Captures, p.Packets = 0, 8
		}
	})[:1], "10 mp1>mp3 ok lost 1")
}

// A point that starts over before it reads the next period of the colour loses late packets. Here, an out-of-window
// packet of period 10 arrives between the point's reading and the reset of its counters.
func TestAltMarkBegunAnew(t *testing.T) {
	run := func(change func(p *altmark.Period)) string {
		m := newTestJoiner(t, twoPoints(altmark.Double))
		var got []Result
		for k := uint64(10); k < 13; k++ {
			got = append(got, add(m, 0, report(k, 9, 0))...)
			p := report(k, 9, 6*ms)
			change(&p)
			got = append(got, add(m, 1, p)...)
		}
		return line(got[0])
	}
	for flag, word := range map[altmark.Flags]string{altmark.First: "first", altmark.ClockStep: "clock-step",
		altmark.CounterReset: "counter-reset"} {
		for _, at := range []uint64{11, 12} {
			want := fmt.Sprintf("10 mp1>mp3 flagged delay 6ms: mp3: period %d, which shows late packets, is flagged %s", at,
				word)
			got := run(func(p *altmark.Period) {
				if p.Number == at {
					p.Flags = flag
				}
			})
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
	if got := run(func(*altmark.Period) {}); got != "10 mp1>mp3 ok lost 0 delay 6ms" {
		t.Error(got)
	}
}

// A late muxed pulse is counted in the next period: its own period lacks one packet, and the next period has one too
// many. A packet that is so late that it arrives among the pulses of the next period is counted there, too. Both
// periods are flagged. It is unknown whether a missing pulse was lost or late.
func TestAltMarkMuxedLate(t *testing.T) {
	run := func(late func(k uint64, p *altmark.Period)) (got []Result) {
		m := newTestJoiner(t, threePoints(altmark.Muxed))
		for k := uint64(9); k < 17; k++ {
			for i := range 3 {
				p := report(k, 9, 4*ms*time.Duration(i))
				if i == 2 {
					late(k, &p)
				}
				got = append(got, add(m, i, p)...)
			}
		}
		return slices.DeleteFunc(got[:18], func(r Result) bool { return r.To != "mp3" || r.From != "mp1" || r.Period == 9 })
	}
	const pulse = "pulses-differ: mp3 had 0 pulses in period 11, and mp1 1"
	wantLines(t, run(func(k uint64, p *altmark.Period) {
		switch k {
		case 11:
			p.Captures, p.Packets = 0, 8
		case 12:
			p.Packets = 10
		}
	}), "10 mp1>mp3 ok lost 0 delay 8ms jitter 0s",
		"11 mp1>mp3 flagged: colour-changed: in period 12 mp3 counted 10 packets, and mp2 9; "+
			"colour-changed: in period 12 mp3 counted 10 packets, and mp1 9; "+pulse,
		"12 mp1>mp3 flagged: split-or-duplicated: mp3 counted 10 packets, and mp2 9; split-or-duplicated: mp3 counted 10 "+
			"packets, and mp1 9; "+pulse,
		"13 mp1>mp3 ok lost 0 delay 8ms", "14 mp1>mp3 ok lost 0 delay 8ms jitter 0s")
	const taken = "pulses-differ: mp3 had 2 pulses in period 12, and mp1 1"
	wantLines(t, run(func(k uint64, p *altmark.Period) {
		switch k {
		case 11:
			p.Packets = 8
		case 12: // one packet was lost as well
			p.Captures, p.Flags = 2, altmark.ManyPulses
		}
	}), "10 mp1>mp3 ok lost 0 delay 8ms jitter 0s", "11 mp1>mp3 flagged delay 8ms jitter 0s: "+taken,
		"12 mp1>mp3 flagged: mp3: many-pulses; "+taken,
		"13 mp1>mp3 flagged delay 8ms: "+taken, "14 mp1>mp3 ok lost 0 delay 8ms jitter 0s")
}

// A late packet in place of a lost pulse is not the pulse, and its time is not the pulse's. The digests reveal that,
// although numbers and times are plausible. With double marking the counts are certain nevertheless.
func TestAltMarkAnotherPacket(t *testing.T) {
	run := func(method altmark.Method) (got []Result) {
		m := newTestJoiner(t, threePoints(method))
		for k := uint64(9); k < 16; k++ {
			for i := range 3 {
				p := report(k, 9, 4*ms*time.Duration(i))
				if p.Digest = uint32(k); i > 0 && k == 11 {
					p.Digest = 7 // both points have the same digest
				}
				got = append(got, add(m, i, p)...)
			}
		}
		return slices.DeleteFunc(got, func(r Result) bool {
			return r.To != "mp3" || r.From != "mp2" || r.Period < 10 ||
				r.Period > 13
		})
	}
	const taken = "pulses-differ: mp2 took another packet for the pulse of period 11 than mp1; pulses-differ: mp3 took " +
		"another packet for the pulse of period 11 than mp1"
	wantLines(t, run(altmark.Muxed), "10 mp2>mp3 flagged delay 4ms jitter 0s: "+taken, "11 mp2>mp3 flagged: "+taken,
		"12 mp2>mp3 flagged delay 4ms: "+taken,
		"13 mp2>mp3 ok lost 0 delay 4ms jitter 0s")
	wantLines(t, run(altmark.Double), "10 mp2>mp3 ok lost 0 delay 4ms jitter 0s",
		"11 mp2>mp3 flagged lost 0: pulses-differ: mp2 took another packet for the pulse of period 11 than mp1",
		"12 mp2>mp3 ok lost 0 delay 4ms",
		"13 mp2>mp3 ok lost 0 delay 4ms jitter 0s")
}

// If a flow splits and merges again, the point on one branch misses packets, which are an excess at the next point. No
// number of that period is ok, not even the loss of the whole path: it may be a loss with duplicates. A loss of the
// previous period is not ok either, because its missing packets may be the excess here.
func TestAltMarkSplit(t *testing.T) {
	m := newTestJoiner(t, threePoints(altmark.Double))
	var got []Result
	for k := uint64(10); k < 14; k++ {
		add(m, 0, report(k, 250, 0))
		on := uint64(250)
		if k == 11 {
			on = 139
		}
		add(m, 1, report(k, on, 4*ms))
		got = append(got, add(m, 2, report(k, 244, 8*ms))...)
	}
	const split = " flagged: split-or-duplicated: mp3 counted 244 packets, and mp2 139"
	const beside = ": colour-changed: in period 11 mp3 counted 244 packets, and mp2 139"
	wantLines(t, got, "10 mp1>mp2 ok lost 0 delay 4ms", "10 mp2>mp3 flagged delay 4ms"+beside,
		"10 mp1>mp3 flagged delay 8ms"+beside,
		"11 mp1>mp2"+split, "11 mp2>mp3"+split, "11 mp1>mp3"+split)
	m = newTestJoiner(t, twoPoints(altmark.Double))
	got = nil
	for k := uint64(10); k < 13; k++ { // two pulses arrive where one was sent: duplicates, which hide losses
		add(m, 0, report(k, 16, 0))
		p := report(k, 12, 8*ms)
		if p.Captures = 2; k == 11 {
			p.Captures = 1
		}
		p.Flags = map[uint32]altmark.Flags{2: altmark.ManyPulses}[p.Captures]
		got = append(got, add(m, 1, p)...)
	}
	wantLines(t, got, "10 mp1>mp3 flagged: mp3: many-pulses; split-or-duplicated: mp3 had 2 pulses, and mp1 1")
}

// If the clock of the first point was set, packets with one mark belong to several periods, at all points. So a segment
// between two other points is not ok either.
func TestAltMarkClockOfFirstPointSet(t *testing.T) {
	m := newTestJoiner(t, threePoints(altmark.Step))
	var got []Result
	for k := uint64(10); k < 14; k++ {
		first := report(k, 250, 0)
		if k == 11 {
			first.Flags = altmark.ClockStep
		}
		add(m, 0, first)
		add(m, 1, report(k, 250, 4*ms))
		got = append(got, add(m, 2, report(k, 244, 8*ms))...)
	}
	wantLines(t, got, "10 mp1>mp2 ok lost 0", "10 mp2>mp3 ok lost 6", "10 mp1>mp3 ok lost 6",
		"11 mp1>mp2 flagged: mp1: clock-step", "11 mp2>mp3 flagged: mp1: clock-step", "11 mp1>mp3 flagged: mp1: clock-step")
}

// If the first point sent no pulse, later points may agree on a packet that is not a pulse.
func TestAltMarkNoPulse(t *testing.T) {
	m := newTestJoiner(t, threePoints(altmark.Muxed))
	for k := uint64(9); k < 14; k++ {
		first := report(k, 9, 0)
		if k == 11 {
			first.Captures, first.Timestamp = 0, altmark.Time{}
		}
		add(m, 0, first)
		add(m, 1, report(k, 9, 4*ms))
		for _, r := range add(m, 2, report(k, 9, 8*ms)) {
			if r.Period == 11 && r.DelayValid {
				t.Errorf("%s: a delay of a packet that is no pulse", line(r))
			}
		}
	}
}

// Without slots a packet after a gap in the traffic may be counted as a pulse of the previous period. So both
// neighbours of a period with packets out of window are uncertain, not only the next one of its colour.
func TestAltMarkGapsWithoutSlots(t *testing.T) {
	points := twoPoints(altmark.Muxed)
	for i := range points.Points {
		points.Points[i].Settings.SlotSync = false
	}
	m := newTestJoiner(t, points)
	var got []Result
	for k := uint64(9); k < 15; k++ {
		add(m, 0, report(k, 80, 0))
		last := report(k, 80, 8*ms)
		if k == 12 {
			last.Flags = altmark.OutOfWindow
		}
		got = append(got, add(m, 1, last)...)
	}
	if len(got) < 3 || got[2].Period != 11 || got[2].LossValid ||
		!slices.Contains(got[2].Reasons, "mp3: out-of-window in period 12") {
		t.Errorf("%+v, want period 11 without a loss", got)
	}
}

// Pulses are matched by time: the pulse of period 11 leaves at the end of 11 and arrives in 12.
func TestAltMarkPulses(t *testing.T) {
	type pulse struct{ sent, received time.Duration } // since the begin of the period; negative if there is none
	run := func(pulses ...pulse) (got []Result) {
		m := newTestJoiner(t, twoPoints(altmark.Pulse))
		reports := map[uint64][2]*altmark.Period{}
		at := func(k uint64, d time.Duration) altmark.Time {
			return altmark.At(time.Unix(int64(k), d.Nanoseconds()))
		}
		last := 10 + uint64(len(pulses)) + 2
		for k := uint64(9); k <= last; k++ {
			a, b := report(k, 9, 0), report(k, 9, 0)
			a.Captures, b.Captures = 0, 0
			reports[k] = [2]*altmark.Period{&a, &b}
		}
		for i, p := range pulses {
			k := 10 + uint64(i)
			for point, d := range []time.Duration{p.sent, p.received} {
				if d >= 0 {
					ts := at(k, d)
					r := reports[ts.Seconds][point]
					r.Captures, r.Timestamp = r.Captures+1, ts
				}
			}
		}
		for k := uint64(9); k <= last; k++ {
			add(m, 0, *reports[k][0])
			got = append(got, add(m, 1, *reports[k][1])...)
		}
		return got[1 : 1+len(pulses)]
	}
	wantLines(t, run(pulse{0, 6 * ms}, pulse{995 * ms, 1003 * ms}, pulse{500 * ms, 510 * ms}),
		"10 mp1>mp3 ok delay 6ms", "11 mp1>mp3 ok", "12 mp1>mp3 ok") // 12 has two captures: the last counts
	wantLines(t, run(pulse{0, 6 * ms}, pulse{995 * ms, 1003 * ms}), "10 mp1>mp3 ok delay 6ms",
		"11 mp1>mp3 ok delay 8ms jitter 2ms")
	// The capture at 1010 ms may belong to 11 or 12.
	wantLines(t, run(pulse{0, 6 * ms}, pulse{995 * ms, -1}, pulse{2 * ms, 10 * ms}), "10 mp1>mp3 ok delay 6ms",
		"11 mp1>mp3 ok", "12 mp1>mp3 ok")
	// No pulse explains this capture.
	wantLines(t, run(pulse{0, 300 * ms}),
		"10 mp1>mp3 flagged: sync-margin-low: delay 300ms from mp1 to mp3, want 4ms to 21ms: the guard condition does not "+
			"hold")
}

// Frames that a switch received late void the periods that its reports flag, even after an amendment. They also void
// the counts of the points after it.
func TestAltMarkLateFrames(t *testing.T) {
	run := func(path Path, late func(i int, k uint64) bool, after ...altmark.Period) (got []Result) {
		m := newTestJoiner(t, path)
		for k := uint64(10); k < 17; k++ {
			for i := range path.Points {
				p := report(k, 9, 6*ms*time.Duration(i))
				if late(i, k) {
					p.Flags = altmark.LateFrames
				}
				got = append(got, add(m, i, p)...)
			}
		}
		for _, p := range after {
			got = append(got, add(m, 1, p)...)
		}
		if s := m.Stats(); s.Amended != uint64(len(after)) || s.Conflicts > 0 {
			t.Errorf("%+v, want %d amended", s, len(after))
		}
		return got
	}
	amended := report(12, 9, 6*ms)
	amended.Flags = altmark.LateFrames
	wantLines(t, run(twoPoints(altmark.Step), func(i int, k uint64) bool { return i == 1 && k == 14 }, amended),
		"10 mp1>mp3 ok lost 0", "11 mp1>mp3 ok lost 0", "12 mp1>mp3 ok lost 0", "13 mp1>mp3 ok lost 0",
		"14 mp1>mp3 flagged: mp3: late-frames", "12 mp1>mp3 flagged revised: mp3: late-frames")
	var words []string
	for _, r := range run(threePoints(altmark.Step), func(i int, k uint64) bool { return i == 1 && k == 14 }) {
		if r.Period == 14 {
			words = append(words, line(r))
		}
	}
	if want := []string{"14 mp1>mp2 flagged: mp2: late-frames", "14 mp2>mp3 flagged: mp2: late-frames",
		"14 mp1>mp3 flagged: mp2: late-frames"}; !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
}

// Points that received different packets are not compared, on a path and in a graph. Points are compared only with
// those of their own kind, because initiators that encapsulate match inner headers.
func TestAltMarkUnlike(t *testing.T) {
	const web, narrow = "IP_PROTOCOL 17", "IP_PROTOCOL 17, L4_SRC_PORT 5001"
	says := func(name, match, other, otherMatch string) string {
		return fmt.Sprintf("flagged delay 6ms: %s: it matches %s, and %s matches %s: want the same packets", name, match,
			other, otherMatch)
	}
	for _, c := range []struct {
		encap           bool
		first, last     string
		ofPath, ofGraph string
	}{
		{false, web, web, "ok lost 0 delay 6ms", "ok lost 0 delay 6ms"},
		{false, web, narrow, says("mp3", narrow, "mp1", web), says("mp3", narrow, "mp1", web)},
		{false, narrow, web, says("mp3", web, "mp1", narrow), says("mp3", web, "mp1", narrow)},
		{false, web, "", says("mp3", "packets that it does not report", "mp1", web),
			says("mp3", "packets that it does not report", "mp1", web)},
		{true, narrow, web, "ok lost 0 delay 6ms", "ok lost 0 delay 6ms"},
	} {
		path := twoPoints(altmark.Double)
		if c.encap {
			path.Points[0].Settings.Encap.Dst = netip.MustParseAddr("2001:db8::2")
		}
		graph := Graph{Name: path.Name, Points: path.Points, Links: []Link{{"mp1", "mp3"}}}
		m, mesh := newTestJoiner(t, path), newMesh(t, graph)
		var got, inGraph []Result
		for k := uint64(10); k < 13; k++ {
			for i, match := range []string{c.first, c.last} {
				p := report(k, 9, 6*ms*time.Duration(i))
				p.Match = match
				got, inGraph = append(got, add(m, i, p)...), append(inGraph, mesh.Add(i, p, p.ReadAt.Std())...)
			}
		}
		wantLines(t, got[:1], "10 mp1>mp3 "+c.ofPath)
		wantLines(t, inGraph[:1], "10 mp1>mp3 "+c.ofGraph)
	}
}

// If no packet arrived through the interfaces of a flow group, packets may have arrived through others, unless no
// packet was sent.
func TestAltMarkInterfaces(t *testing.T) {
	for sent, want := range map[uint64]string{0: "ok lost 0", 9: "flagged: mp3: interfaces"} {
		m := newTestJoiner(t, twoPoints(altmark.Step))
		var got []Result
		for k := uint64(10); k < 13; k++ {
			last := report(k, 0, 6*ms)
			last.Flags = altmark.Interfaces
			got = append(append(got, add(m, 0, report(k, sent, 0))...), add(m, 1, last)...)
		}
		wantLines(t, got[:1], "10 mp1>mp3 "+want)
	}
}
