package collector

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/altmark"
	"tamtam/internal/randtest"
)

const ms = time.Millisecond

// threePoints is a path with intervals of a second: A of 1 ms, 2 to 10 ms to the second switch,
// 5 to 20 ms to the third.
func threePoints(method altmark.Method) AltMarkPath {
	s := func(role altmark.Role, low, high time.Duration) altmark.Session {
		s := altmark.Session{Role: role, Method: method, Mark: altmark.DSCP0, SlotSync: true, ClockError: ms, MinDelay: low, MaxDelay: high}
		if method == altmark.Double {
			s.Mark2 = altmark.DSCP1
		}
		return s
	}
	return AltMarkPath{Name: "p", Points: []AltMarkPoint{
		{"mp1", "s", s(altmark.Initiator, 0, 20*ms)}, {"mp2", "s", s(altmark.Transit, 2*ms, 10*ms)}, {"mp3", "s", s(altmark.Terminator, 5*ms, 20*ms)}}}
}

func twoPoints(method altmark.Method) AltMarkPath {
	p := threePoints(method)
	p.Points = []AltMarkPoint{p.Points[0], p.Points[2]}
	return p
}

// report has a pulse in the middle of its period, and after.
func report(k, packets uint64, after time.Duration) altmark.Period {
	return altmark.Period{Number: k, Colour: uint8(k & 1), Packets: packets, Bytes: 100 * packets, Captures: 1, ReadAt: altmark.Time{Seconds: k + 1, Nanoseconds: 5e8},
		Timestamp: altmark.Time{Seconds: k, Nanoseconds: uint32(5e8 + after.Nanoseconds())}}
}

// add gives a report to a join when it was made, by a clock that agrees with all.
func add(m *AltMark, point int, p altmark.Period) []AltMarkResult {
	return m.Add(point, p, p.ReadAt.Std())
}

func newAltMark(t *testing.T, p AltMarkPath) *AltMark {
	t.Helper()
	m, err := NewAltMark(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// line says the most of a result.
func line(r AltMarkResult) string {
	s := fmt.Sprintf("%d %s>%s %s", r.Period, r.From, r.To, r.Status)
	if r.LossValid {
		s += fmt.Sprintf(" lost %d", r.Lost)
	}
	if r.DelayValid {
		s += fmt.Sprintf(" delay %v", r.Delay)
	}
	if r.JitterValid {
		s += fmt.Sprintf(" jitter %v", r.Jitter)
	}
	if r.Revised {
		s += " revised"
	}
	if len(r.Reasons) > 0 {
		s += ": " + strings.Join(r.Reasons, "; ")
	}
	return s
}

func wantLines(t *testing.T, got []AltMarkResult, want ...string) {
	t.Helper()
	var lines []string
	for _, r := range got {
		lines = append(lines, line(r))
	}
	if !slices.Equal(lines, want) {
		t.Errorf("results\n\t%s\nwant\n\t%s", strings.Join(lines, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// Loss and delay per segment and end to end, and jitter from the second period on.
func TestAltMarkPath(t *testing.T) {
	m := newAltMark(t, threePoints(altmark.Double))
	var got []AltMarkResult
	for k := uint64(10); k < 14; k++ {
		got = append(got, add(m, 0, report(k, 1000, 0))...)
		got = append(got, add(m, 1, report(k, 990, 3*ms))...)
		got = append(got, add(m, 2, report(k, 989, time.Duration(k)*ms))...)
	}
	wantLines(t, got,
		"10 mp1>mp2 ok lost 10 delay 3ms", "10 mp2>mp3 ok lost 1 delay 7ms", "10 mp1>mp3 ok lost 11 delay 10ms",
		"11 mp1>mp2 ok lost 10 delay 3ms jitter 0s", "11 mp2>mp3 ok lost 1 delay 8ms jitter 1ms", "11 mp1>mp3 ok lost 11 delay 11ms jitter 1ms")
	if w := got[5].Window; w != (AltMarkDelays{2, 10 * ms, 10500 * time.Microsecond, 11 * ms}) {
		t.Errorf("delays of two periods: %+v", w)
	}
	if r := got[5]; r.Sent != 1000 || r.Received != 989 || r.SentBytes != 100000 || r.ReceivedBytes != 98900 || r.Start != (altmark.Time{Seconds: 11}) {
		t.Errorf("%+v", r)
	}
}

// A missing report is no loss of zero, nor of everything. When it comes late the result is
// given again, and that of the jitter that follows.
func TestAltMarkMissing(t *testing.T) {
	m := newAltMark(t, twoPoints(altmark.Double))
	var got []AltMarkResult
	for k := uint64(10); k < 16; k++ {
		got = append(got, add(m, 0, report(k, 5, 0))...)
		if k != 11 {
			got = append(got, add(m, 1, report(k, 5, 7*ms))...)
		}
	}
	wantLines(t, got, "12 mp1>mp3 ok lost 0 delay 7ms",
		"10 mp1>mp3 flagged delay 7ms: mp3: no report of period 11, which tells of late packets", "13 mp1>mp3 ok lost 0 delay 7ms jitter 0s")
	wantLines(t, add(m, 0, report(16, 5, 0)), "11 mp1>mp3 missing: mp3: no report")
	got = add(m, 1, report(11, 4, 9*ms))
	wantLines(t, got[:3], "10 mp1>mp3 ok lost 0 delay 7ms revised", "11 mp1>mp3 ok lost 1 delay 9ms jitter 2ms revised", "12 mp1>mp3 ok lost 0 delay 7ms jitter -2ms revised")
	if m.Stats().Late != 1 {
		t.Errorf("%+v", m.Stats())
	}
}

// Periods of which no point reports are missing as well, if one tells that time goes on.
func TestAltMarkSilence(t *testing.T) {
	m := newAltMark(t, twoPoints(altmark.Step))
	add(m, 0, report(10, 5, 0))
	add(m, 1, report(10, 5, 0))
	got := append(m.Advance(12), m.Advance(16)...)
	wantLines(t, got, "10 mp1>mp3 flagged: mp3: no report of period 11, which tells of late packets", "11 mp1>mp3 missing: mp1: no report; mp3: no report")
	got = add(m, 1, report(14, 5, 0))
	wantLines(t, append(got, m.Flush()...), "12 mp1>mp3 missing: mp1: no report; mp3: no report", "13 mp1>mp3 missing: mp1: no report; mp3: no report",
		"14 mp1>mp3 missing: mp1: no report", "15 mp1>mp3 missing: mp1: no report; mp3: no report")
}

// Each flag, by what it leaves valid.
func TestAltMarkFlags(t *testing.T) {
	for bit := range 9 {
		flag := altmark.Flags(1 << bit)
		for point := range 2 {
			m := newAltMark(t, twoPoints(altmark.Double))
			for k := uint64(10); k < 13; k++ {
				for i := range 2 {
					p := report(k, 9, 6*ms*time.Duration(i))
					if k == 10 && i == point {
						p.Flags = flag
					}
					add(m, i, p)
				}
			}
			r := m.entries[0].given[0]
			if r.Status != AltMarkFlagged || r.LossValid == flag.VoidsLoss() || r.DelayValid == flag.VoidsDelay() || len(r.Reasons) != 1 || !strings.Contains(r.Reasons[0], flag.String()) {
				t.Errorf("%s at %d: %s", flag, point, line(r))
			}
		}
	}
}

// What cannot be compared never is.
func TestAltMarkSettings(t *testing.T) {
	for _, tt := range []struct {
		change func(p []AltMarkPoint)
		want   string
	}{
		{func(p []AltMarkPoint) { p[0].Settings.Role = altmark.Terminator }, "mp1: role is terminator, want initiator"},
		{func(p []AltMarkPoint) { p[1].Settings.Role = altmark.Initiator }, "mp2: role is initiator, want transit"},
		{func(p []AltMarkPoint) { p[2].Settings.Role = altmark.Transit }, "mp3: role is transit, want terminator"},
		{func(p []AltMarkPoint) { p[1].Settings.Method = altmark.Step }, "mp2: method is step, and double at mp1"},
		{func(p []AltMarkPoint) { p[2].Settings.Interval = 1 }, "mp3: interval is 2s, and 1s at mp1"},
		{func(p []AltMarkPoint) { p[2].Settings.Mark = altmark.DSCP2 }, "mp3: marks are dscp2 and dscp1, and dscp0 and dscp1 at mp1"},
		{func(p []AltMarkPoint) { p[2].Settings = altmark.Session{} }, "mp3: the settings of session s are not known"},
	} {
		p := threePoints(altmark.Double)
		tt.change(p.Points)
		m := newAltMark(t, p)
		var got []AltMarkResult
		for k := uint64(10); k < 13; k++ {
			for i := range 3 {
				got = append(got, add(m, i, report(k, 9, 4*ms*time.Duration(i)))...)
			}
		}
		if len(got) != 3 {
			t.Fatalf("%s: %d results", tt.want, len(got))
		}
		for _, r := range got {
			if r.Status != AltMarkFlagged || r.LossValid || r.DelayValid || r.RawDelayValid || r.Reasons[0] != tt.want {
				t.Errorf("want %q: %s", tt.want, line(r))
			}
		}
	}
	for want, p := range map[string]AltMarkPath{
		"has no name":                   {Points: threePoints(altmark.Step).Points},
		"1 points, want two or more":    {Name: "p", Points: threePoints(altmark.Step).Points[:1]},
		"switch mp1 is twice on it":     {Name: "p", Points: append(threePoints(altmark.Step).Points, threePoints(altmark.Step).Points[0])},
		`switch "" and session "s"`:     {Name: "p", Points: []AltMarkPoint{{"", "s", altmark.Session{}}, {"mp2", "s", altmark.Session{}}}},
		"wait is 9, want 1 to 8 period": {Name: "p", Points: threePoints(altmark.Step).Points, Wait: 9},
	} {
		if _, err := NewAltMark(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Settings that change end what was before.
func TestAltMarkSettingsChange(t *testing.T) {
	p := twoPoints(altmark.Step)
	known := p.Points[1].Settings
	p.Points[1].Settings = altmark.Session{}
	m := newAltMark(t, p)
	add(m, 0, report(10, 5, 0))
	wantLines(t, m.Settings(1, known), "10 mp1>mp3 flagged: mp3: the settings of session s are not known; mp3: no report")
	wantLines(t, m.Settings(1, known))
	var got []AltMarkResult
	for k := uint64(11); k < 14; k++ {
		add(m, 0, report(k, 6, 0))
		got = append(got, add(m, 1, report(k, 5, 0))...)
	}
	wantLines(t, got, "11 mp1>mp3 ok lost 1")
}

// A delay beyond its bounds says that the guard condition does not hold: the loss is void too.
func TestAltMarkSyncMargin(t *testing.T) {
	for after, want := range map[time.Duration]string{
		5*ms - ms:       "ok lost 0 delay 4ms",
		5*ms - ms - 1:   "flagged: sync-margin-low: delay 3.999999ms from mp1 to mp3, want 4ms to 21ms: the guard condition does not hold",
		20*ms + ms:      "ok lost 0 delay 21ms",
		20*ms + ms + 1:  "flagged: sync-margin-low: delay 21.000001ms from mp1 to mp3, want 4ms to 21ms: the guard condition does not hold",
		-400 * ms:       "flagged: sync-margin-low: delay -400ms from mp1 to mp3, want 4ms to 21ms: the guard condition does not hold",
		5*ms - ms + 100: "ok lost 0 delay 4.0001ms",
	} {
		m := newAltMark(t, twoPoints(altmark.Double))
		var got []AltMarkResult
		for k := uint64(10); k < 13; k++ {
			add(m, 0, report(k, 9, 0))
			got = append(got, add(m, 1, report(k, 9, after))...)
		}
		wantLines(t, got, "10 mp1>mp3 "+want)
	}
}

// A late pulse of the period before may be a packet of this one, and a packet out of window one
// of the period before or behind with the same colour.
func TestAltMarkNeighbours(t *testing.T) {
	run := func(method altmark.Method, change func(i int, p *altmark.Period)) (got []AltMarkResult) {
		m := newAltMark(t, twoPoints(method))
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
	}), "10 mp1>mp3 flagged delay 6ms: mp1: no report of period 9, which tells of its pulse", "11 mp1>mp3 ok lost 0 delay 6ms jitter 0s",
		"12 mp1>mp3 flagged: mp1: late-pulse", "13 mp1>mp3 flagged delay 6ms: mp1: late-pulse in period 12")
	wantLines(t, run(altmark.Step, func(i int, p *altmark.Period) {
		if i == 1 && p.Number == 13 {
			p.Flags = altmark.OutOfWindow
		}
	}), "10 mp1>mp3 ok lost 0", "11 mp1>mp3 flagged: mp3: out-of-window in period 13", "12 mp1>mp3 ok lost 0", "13 mp1>mp3 flagged: mp3: out-of-window")
	wantLines(t, run(altmark.Muxed, func(i int, p *altmark.Period) {
		if i == 0 {
			p.Captures = 0
		} else if p.Number != 11 {
			p.Captures = 0
		}
	})[1:4], "11 mp1>mp3 flagged: pulses-differ: mp3 had 1 pulses in period 11, and mp1 0",
		"12 mp1>mp3 flagged: pulses-differ: mp3 had 1 pulses in period 11, and mp1 0", "13 mp1>mp3 ok lost 0")
	wantLines(t, run(altmark.Double, func(i int, p *altmark.Period) { // a pulse that was lost is no sample
		if i == 1 {
			p.Captures, p.Packets = 0, 8
		}
	})[:1], "10 mp1>mp3 ok lost 1")
}

// A point that begins anew before it has read the next period of the colour has lost what came late: an
// out-of-window packet of period 10 that came after its reading, and before the counters were zeroed.
func TestAltMarkBegunAnew(t *testing.T) {
	run := func(change func(p *altmark.Period)) string {
		m := newAltMark(t, twoPoints(altmark.Double))
		var got []AltMarkResult
		for k := uint64(10); k < 13; k++ {
			got = append(got, add(m, 0, report(k, 9, 0))...)
			p := report(k, 9, 6*ms)
			change(&p)
			got = append(got, add(m, 1, p)...)
		}
		return line(got[0])
	}
	for flag, word := range map[altmark.Flags]string{altmark.First: "first", altmark.ClockStep: "clock-step", altmark.CounterReset: "counter-reset"} {
		for _, at := range []uint64{11, 12} {
			want := fmt.Sprintf("10 mp1>mp3 flagged delay 6ms: mp3: period %d, which tells of late packets, is flagged %s", at, word)
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

// A muxed pulse that is late is counted in the period behind: one packet is missing in its own, and
// one too many there. A packet that is late so that it comes among the pulses of the period behind
// is counted there, too. Both periods say so; and nobody knows whether a pulse that is missing was
// lost or late.
func TestAltMarkMuxedLate(t *testing.T) {
	run := func(late func(k uint64, p *altmark.Period)) (got []AltMarkResult) {
		m := newAltMark(t, threePoints(altmark.Muxed))
		for k := uint64(9); k < 17; k++ {
			for i := range 3 {
				p := report(k, 9, 4*ms*time.Duration(i))
				if i == 2 {
					late(k, &p)
				}
				got = append(got, add(m, i, p)...)
			}
		}
		return slices.DeleteFunc(got[:18], func(r AltMarkResult) bool { return r.To != "mp3" || r.From != "mp1" || r.Period == 9 })
	}
	const pulse = "pulses-differ: mp3 had 0 pulses in period 11, and mp1 1"
	wantLines(t, run(func(k uint64, p *altmark.Period) {
		switch k {
		case 11:
			p.Captures, p.Packets = 0, 8
		case 12:
			p.Packets = 10
		}
	}), "10 mp1>mp3 ok lost 0 delay 8ms jitter 0s", "11 mp1>mp3 flagged: "+pulse,
		"12 mp1>mp3 flagged: split-or-duplicated: mp3 counted 10 packets, and mp2 9; split-or-duplicated: mp3 counted 10 packets, and mp1 9; "+pulse,
		"13 mp1>mp3 ok lost 0 delay 8ms", "14 mp1>mp3 ok lost 0 delay 8ms jitter 0s")
	const taken = "pulses-differ: mp3 had 2 pulses in period 12, and mp1 1"
	wantLines(t, run(func(k uint64, p *altmark.Period) {
		switch k {
		case 11:
			p.Packets = 8
		case 12: // a packet was lost as well
			p.Captures, p.Flags = 2, altmark.ManyPulses
		}
	}), "10 mp1>mp3 ok lost 0 delay 8ms jitter 0s", "11 mp1>mp3 flagged delay 8ms jitter 0s: "+taken, "12 mp1>mp3 flagged: mp3: many-pulses; "+taken,
		"13 mp1>mp3 flagged delay 8ms: "+taken, "14 mp1>mp3 ok lost 0 delay 8ms jitter 0s")
}

// A late packet in the place of a pulse that was lost is not the pulse, nor is its time that of the
// pulse: the digests say so, though numbers and times are as they should be.
func TestAltMarkAnotherPacket(t *testing.T) {
	run := func(method altmark.Method) (got []AltMarkResult) {
		m := newAltMark(t, threePoints(method))
		for k := uint64(9); k < 16; k++ {
			for i := range 3 {
				p := report(k, 9, 4*ms*time.Duration(i))
				if p.Digest = uint32(k); i > 0 && k == 11 {
					p.Digest = 7 // both points have it
				}
				got = append(got, add(m, i, p)...)
			}
		}
		return slices.DeleteFunc(got, func(r AltMarkResult) bool { return r.To != "mp3" || r.From != "mp2" || r.Period < 10 || r.Period > 13 })
	}
	const taken = "pulses-differ: mp2 took another packet for the pulse of period 11 than mp1; pulses-differ: mp3 took another packet for the pulse of period 11 than mp1"
	wantLines(t, run(altmark.Muxed), "10 mp2>mp3 flagged delay 4ms jitter 0s: "+taken, "11 mp2>mp3 flagged: "+taken, "12 mp2>mp3 flagged delay 4ms: "+taken,
		"13 mp2>mp3 ok lost 0 delay 4ms jitter 0s")
	wantLines(t, run(altmark.Double), "10 mp2>mp3 ok lost 0 delay 4ms jitter 0s", "11 mp2>mp3 ok lost 0", "12 mp2>mp3 ok lost 0 delay 4ms",
		"13 mp2>mp3 ok lost 0 delay 4ms jitter 0s")
}

// Where a flow splits and meets again, the point on one way misses packets that the one behind
// it has too many. No number of that period is ok, not even the loss of the whole path: it may be
// a loss with duplicates.
func TestAltMarkSplit(t *testing.T) {
	m := newAltMark(t, threePoints(altmark.Double))
	var got []AltMarkResult
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
	wantLines(t, got, "10 mp1>mp2 ok lost 0 delay 4ms", "10 mp2>mp3 ok lost 6 delay 4ms", "10 mp1>mp3 ok lost 6 delay 8ms",
		"11 mp1>mp2"+split, "11 mp2>mp3"+split, "11 mp1>mp3"+split)
	m = newAltMark(t, twoPoints(altmark.Double))
	got = nil
	for k := uint64(10); k < 13; k++ { // two pulses where one was sent: duplicates, which make up for losses
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

// Where the clock of the first point was set, packets of one mark are of several periods for all
// points: what lies between two others is not ok either.
func TestAltMarkClockOfFirstPointSet(t *testing.T) {
	m := newAltMark(t, threePoints(altmark.Step))
	var got []AltMarkResult
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

// Where the first point sent no pulse, later points may agree about a packet that is none.
func TestAltMarkNoPulse(t *testing.T) {
	m := newAltMark(t, threePoints(altmark.Muxed))
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

// Without slots a packet behind a gap in the traffic may be counted as a pulse of the period before
// its own: a period beside one with packets out of window is doubtful, not only the next of its colour.
func TestAltMarkGapsWithoutSlots(t *testing.T) {
	points := twoPoints(altmark.Muxed)
	for i := range points.Points {
		points.Points[i].Settings.SlotSync = false
	}
	m := newAltMark(t, points)
	var got []AltMarkResult
	for k := uint64(9); k < 15; k++ {
		add(m, 0, report(k, 80, 0))
		last := report(k, 80, 8*ms)
		if k == 12 {
			last.Flags = altmark.OutOfWindow
		}
		got = append(got, add(m, 1, last)...)
	}
	if len(got) < 3 || got[2].Period != 11 || got[2].LossValid || !slices.Contains(got[2].Reasons, "mp3: out-of-window in period 12") {
		t.Errorf("%+v, want period 11 without a loss", got)
	}
}

// Pulses are matched by time: the one of period 11 leaves at its end and comes in 12.
func TestAltMarkPulses(t *testing.T) {
	type pulse struct{ sent, received time.Duration } // since the beginning of its period; below 0: none
	run := func(pulses ...pulse) (got []AltMarkResult) {
		m := newAltMark(t, twoPoints(altmark.Pulse))
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
		"10 mp1>mp3 ok delay 6ms", "11 mp1>mp3 ok", "12 mp1>mp3 ok") // two captures in 12: the time is of the last
	wantLines(t, run(pulse{0, 6 * ms}, pulse{995 * ms, 1003 * ms}), "10 mp1>mp3 ok delay 6ms", "11 mp1>mp3 ok delay 8ms jitter 2ms")
	// The capture at 1010 ms is of 11 or of 12: nobody knows.
	wantLines(t, run(pulse{0, 6 * ms}, pulse{995 * ms, -1}, pulse{2 * ms, 10 * ms}), "10 mp1>mp3 ok delay 6ms", "11 mp1>mp3 ok", "12 mp1>mp3 ok")
	// A capture that no pulse explains.
	wantLines(t, run(pulse{0, 300 * ms}), "10 mp1>mp3 flagged: sync-margin-low: delay 300ms from mp1 to mp3, want 4ms to 21ms: the guard condition does not hold")
}

// Of opposite paths the clocks' difference cancels out: 40 ms here.
func TestAltMarkTwoWay(t *testing.T) {
	path := func(name, from, to string) AltMarkPath {
		p := twoPoints(altmark.Double)
		p.Name, p.Points[0].Switch, p.Points[1].Switch = name, from, to
		return p
	}
	there, back := path("there", "a", "b"), path("back", "b", "a")
	w, err := NewAltMarkTwoWay(there, back)
	if err != nil {
		t.Fatal(err)
	}
	const off = 40 * ms
	var got []AltMarkResult
	both := func(m *AltMark, i int, p altmark.Period) {
		if p.Flags |= altmark.Unsynchronised; p.Number == 12 && i == 1 {
			p.Flags |= altmark.ClockStep
		}
		for _, r := range add(m, i, p) {
			if r.DelayValid || r.LossValid {
				t.Errorf("clocks are not synchronised: %s", line(r))
			}
			if sum, ok := w.Add(r); ok {
				got = append(got, sum)
			}
		}
	}
	a, b := newAltMark(t, there), newAltMark(t, back)
	for k := uint64(10); k < 15; k++ {
		both(a, 0, report(k, 9, 0))
		both(a, 1, report(k, 9, 6*ms+off))
		both(b, 0, report(k, 9, 100*ms+off))
		both(b, 1, report(k, 9, 100*ms+time.Duration(k)*ms))
	}
	var delays []string
	for _, r := range got {
		r.Reasons = nil
		delays = append(delays, line(r))
	}
	if want := []string{"10 a>a flagged delay 16ms", "11 a>a flagged delay 17ms jitter 1ms", "12 a>a flagged"}; !slices.Equal(delays, want) {
		t.Errorf("%q, want %q", delays, want)
	}
	for _, p := range []AltMarkPath{there, path("other", "b", "c"), path("back", "a", "b")} {
		if _, err := NewAltMarkTwoWay(there, p); err == nil {
			t.Errorf("there and %v are opposite", p)
		}
	}
}

// Two different reports of one period: neither is believed. An equal one changes nothing.
func TestAltMarkConflicts(t *testing.T) {
	m := newAltMark(t, twoPoints(altmark.Step))
	for _, packets := range []uint64{5, 5, 6} {
		add(m, 0, report(10, packets, 0))
	}
	add(m, 1, report(10, 5, 0))
	add(m, 1, altmark.Period{Number: 10, Colour: 1})
	add(m, 1, altmark.Period{Number: 1 << 60})
	wantLines(t, m.Flush(), "10 mp1>mp3 flagged: mp1: two reports that differ; mp3: no report of period 11, which tells of late packets")
	if s := m.Stats(); s != (AltMarkStats{Reports: 6, Duplicates: 1, Conflicts: 1, Refused: 2}) {
		t.Errorf("%+v", s)
	}
}

// JSON and CSV leave out what is not known.
func TestAltMarkFormats(t *testing.T) {
	m := newAltMark(t, twoPoints(altmark.Step))
	var results []AltMarkResult
	for k := uint64(10); k < 13; k++ {
		if k != 11 {
			add(m, 0, report(k, 9, 0))
		}
		results = append(results, add(m, 1, report(k, 7, 0))...)
	}
	results = append(results, m.Flush()...)[:2]
	js, err := json.Marshal(results)
	const want = `[{"path":"p","from":"mp1","to":"mp3","period":10,"start":"10.000000000","status":"ok","sent":9,"received":7,"sent_bytes":900,"received_bytes":700,"lost":2},` +
		`{"path":"p","from":"mp1","to":"mp3","period":11,"start":"11.000000000","status":"missing","reasons":["mp1: no report"]}]`
	if err != nil || string(js) != want {
		t.Errorf("%s, %v", js, err)
	}
	var b bytes.Buffer
	if err := NewAltMarkCSV(&b).Write(results...); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 3 || rows[1][12] != "2" || rows[2][12] != "" || rows[2][5] != "missing" {
		t.Errorf("%q, %v", rows, err)
	}
}

// random gives reports of all points for some periods, some of them missing, twice or with flags,
// in the order of their periods.
type pointReport struct {
	point int
	altmark.Period
	arrived time.Time
}

func randomReports(rnd *rand.Rand, points, periods int) (all []pointReport) {
	first := 1000 + rnd.Uint64N(1<<40)
	for k := first; k < first+uint64(periods); k++ {
		sent := 100 + rnd.Uint64N(100)
		for i := range points {
			p := report(k, sent, time.Duration(i)*ms*time.Duration(5+rnd.IntN(4)))
			p.Captures = [...]uint32{0, 1, 1, 1, 1, 1, 1, 2}[rnd.IntN(8)]
			if rnd.IntN(6) == 0 {
				p.Flags = altmark.Flags(1 << rnd.IntN(9))
			}
			sent -= rnd.Uint64N(10)
			came := [...]time.Time{{}, p.ReadAt.Std().Add(700 * ms), p.ReadAt.Std()}[min(rnd.IntN(12), 2)]
			if rnd.IntN(6) > 0 {
				all = append(all, pointReport{i, p, came})
			}
			if rnd.IntN(6) == 0 {
				all = append(all, pointReport{i, p, came})
				if rnd.IntN(6) == 0 {
					all[len(all)-1].Packets++
				}
			}
		}
	}
	return all
}

// lastResults joins reports and returns the last result for every period and segment.
func lastResults(t *testing.T, path AltMarkPath, reports []pointReport) map[string]AltMarkResult {
	m := newAltMark(t, path)
	last := map[string]AltMarkResult{}
	take := func(results []AltMarkResult) {
		for _, r := range results {
			key := fmt.Sprint(r.Period, r.From, r.To)
			if old, ok := last[key]; ok != r.Revised {
				t.Fatalf("%s was given before: %v, as %s", line(r), ok, line(old))
			}
			r.Revised = false
			last[key] = r
		}
	}
	for _, r := range reports {
		take(m.Add(r.point, r.Period, r.arrived))
		if len(m.entries) > altMarkKeep || len(m.gone) > 2*altMarkKeep {
			t.Fatalf("%d periods are remembered, %d forgotten", len(m.entries), len(m.gone))
		}
	}
	take(m.Flush())
	return last
}

// Whatever comes, in whatever order: losses are differences of unflagged reports of one period,
// periods without a report are missing, none is left out, and order changes nothing.
func TestAltMarkRandom(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		path := [...]func(altmark.Method) AltMarkPath{twoPoints, threePoints}[rnd.IntN(2)](altmark.Method(1 + rnd.IntN(4)))
		path.Wait = rnd.IntN(9)
		reports := randomReports(rnd, len(path.Points), 20)
		if len(reports) == 0 {
			return
		}
		results := lastResults(t, path, reports)
		checkRandom(t, path, reports, results)
		rnd.Shuffle(len(reports), func(i, j int) {
			if max(i, j)-min(i, j) < 30 {
				reports[i], reports[j] = reports[j], reports[i]
			}
		})
		// Of two reports that differ the first is shown: results with one are compared without its numbers.
		again := lastResults(t, path, reports)
		for key, r := range again {
			was, ok := results[key]
			if !ok {
				continue // the first and last period reported first or last decide what is in between
			}
			if strings.Contains(strings.Join(r.Reasons, ""), "differ") {
				continue
			}
			if !reflect.DeepEqual(was, r) && !conflictNear(reports, r.Period) {
				t.Fatalf("%s, and in another order %s", line(was), line(r))
			}
		}
		for key, r := range results {
			if _, ok := again[key]; !ok && r.Counted {
				t.Fatalf("%s: not there in another order", line(r))
			}
		}
	})
}

// conflictNear says whether there are two reports that differ in the window of period k.
func conflictNear(reports []pointReport, k uint64) bool {
	seen := map[[2]uint64]altmark.Period{}
	for _, r := range reports {
		key := [2]uint64{uint64(r.point), r.Number}
		if p, ok := seen[key]; ok && p != r.Period && r.Number+AltMarkWindow+2 >= k {
			return true
		}
		seen[key] = r.Period
	}
	return false
}

func checkRandom(t *testing.T, path AltMarkPath, reports []pointReport, results map[string]AltMarkResult) {
	said := map[string]map[uint64][]altmark.Period{}
	for _, p := range path.Points {
		said[p.Switch] = map[uint64][]altmark.Period{}
	}
	low, high := reports[0].Number, reports[0].Number
	for _, r := range reports {
		low, high = min(low, r.Number), max(high, r.Number)
		of := said[path.Points[r.point].Switch]
		if !slices.Contains(of[r.Number], r.Period) {
			of[r.Number] = append(of[r.Number], r.Period)
		}
	}
	segments := len(path.Points)*2 - 3 // of two or three points
	if want := int(high-low+1) * segments; len(results) != want {
		t.Fatalf("%d results of periods %d to %d, want %d", len(results), low, high, want)
	}
	for _, r := range results {
		a, b := said[r.From][r.Period], said[r.To][r.Period]
		switch {
		case (len(a) == 0 || len(b) == 0) != (r.Status == AltMarkMissing), r.Counted == (r.Status == AltMarkMissing):
			t.Fatalf("reports %v and %v: %s", a, b, line(r))
		case r.Status == AltMarkMissing && (r.LossValid || r.DelayValid || r.RawDelayValid || r.JitterValid):
			t.Fatalf("nothing can be known: %s", line(r))
		case (r.Status == AltMarkOK) != (len(r.Reasons) == 0):
			t.Fatalf("status and reasons: %s", line(r))
		case r.LossValid && (len(a) != 1 || len(b) != 1 || (a[0].Flags | b[0].Flags).VoidsLoss() || r.Lost != int64(a[0].Packets)-int64(b[0].Packets)):
			t.Fatalf("reports %v and %v: %s", a, b, line(r))
		case r.DelayValid && (len(a) != 1 || len(b) != 1 || (a[0].Flags | b[0].Flags).VoidsDelay() || a[0].Captures != 1 || b[0].Captures != 1 || r.Delay != b[0].Timestamp.Sub(a[0].Timestamp)):
			t.Fatalf("reports %v and %v: %s", a, b, line(r))
		case r.Status == AltMarkOK && path.Points[0].Settings.Method.Loss() != r.LossValid:
			t.Fatalf("complete, but no loss: %s", line(r))
		}
	}
}
