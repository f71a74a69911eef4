package marks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/tam/altmark"
)

// arrived returns the arrival time, by the collector's clock, of a report from a point whose clock is ahead by some
// seconds. The report is made in the middle of the next period.
func arrived(k uint64, ahead float64) time.Time {
	return time.UnixMilli(int64(k*1000+1500) - int64(ahead*1000))
}

// shifted returns the report for period k of a point whose clock is two periods ahead: the counts of two periods
// before.
func shifted(k uint64) altmark.Period { return report(k, 100+k-2, 7*ms) }

// The colours of clocks that are 2L apart agree. The arrival times of reports reveal the difference: no period is
// complete, and the path has one notice with the reason.
func TestAltMarkClocksApart(t *testing.T) {
	m := newTestJoiner(t, twoPoints(altmark.Double))
	var got []Result
	for k := uint64(10); k < 16; k++ {
		got = append(got, m.Add(1, shifted(k+2), arrived(k+2, 2))...)
		got = append(got, m.Add(0, report(k, 100+k, 0), arrived(k, 0))...)
	}
	got = append(got, m.Flush()...)
	compared := 0
	for _, r := range got {
		if r.Status == OK || r.LossValid || r.DelayValid || r.RawDelayValid || r.Window.Count > 0 {
			t.Errorf("%s", line(r))
		}
		if r.Counted {
			compared++
			want := "clocks-apart: reports of mp3 and mp1 came 2s apart, want at most L/2 = 500ms"
			if !slices.Equal(r.Reasons, []string{want}) {
				t.Errorf("%s, want the reason %q", line(r), want)
			}
		}
	}
	if compared != 4 {
		t.Errorf("%d periods were compared, want 4", compared)
	}
	want := []string{"an offset of 2L = 2s between the clocks of mp1 and mp3 cannot be excluded: " +
		"their reports of a period come more than L/2 = 500ms apart"}
	if !slices.Equal(m.Notices(), want) {
		t.Errorf("the path says %q, want %q", m.Notices(), want)
	}
}

// Reports may be late by up to half a period, through a slow connection or counters that are read early.
func TestAltMarkReportsLate(t *testing.T) {
	for _, tt := range []struct {
		late float64
		want Status
	}{{0.5, OK}, {0.501, Flagged}} {
		m := newTestJoiner(t, twoPoints(altmark.Double))
		var got []Result
		for k := uint64(10); k < 14; k++ {
			got = append(got, m.Add(0, report(k, 9, 0), arrived(k, 0))...)
			got = append(got, m.Add(1, report(k, 9, 7*ms), arrived(k, -tt.late))...)
		}
		if len(got) != 2 || got[0].Status != tt.want || got[1].Status != tt.want {
			t.Errorf("late by %v s: %d results, the first %v, want 2 that are %v", tt.late, len(got), got, tt.want)
		}
	}
}

// The clock of the second of three points is set two periods ahead during the run. From then on the segments to and
// from it are flagged, and the segment that skips it is not.
func TestAltMarkClockStepsByTwoPeriods(t *testing.T) {
	m := newTestJoiner(t, threePoints(altmark.Double))
	results := map[string]Result{}
	collect := func(list []Result) {
		for _, r := range list {
			results[fmt.Sprintf("%d %s>%s", r.Period, r.From, r.To)] = r
		}
	}
	for k := uint64(10); k < 30; k++ {
		collect(m.Add(0, report(k, 100, 0), arrived(k, 0)))
		collect(m.Add(2, report(k, 100, 7*ms), arrived(k, 0)))
		p := report(k, 100, 4*ms)
		ahead := 0.0
		if k >= 20 {
			p, ahead = report(k+2, 100, 4*ms), 2
			if k < 22 {
				p.Flags = altmark.ClockStep
			}
		}
		collect(m.Add(1, p, arrived(p.Number, ahead)))
	}
	for k := uint64(10); k < 28; k++ {
		for _, path := range []string{"mp1>mp2", "mp2>mp3"} {
			r := results[fmt.Sprintf("%d %s", k, path)]
			if (r.Status == OK) != (k < 18) { // periods 20 and 21 reveal the late packets
				t.Errorf("%s", line(r))
			}
			if k >= 24 && !strings.Contains(strings.Join(r.Reasons, ";"), "clocks-apart") {
				t.Errorf("%s, want that the clocks are apart", line(r))
			}
		}
		if r := results[fmt.Sprintf("%d mp1>mp3", k)]; r.Status != OK {
			t.Errorf("%s, want it ok: both clocks agree", line(r))
		}
	}
}

// Reports from before the collector's start arrive together, and reveal nothing about clocks. They wait for the first
// period that is reported afterwards.
func TestAltMarkHistory(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ahead uint64 // number of periods by which the second point's clock is ahead
		step  bool   // true if the clock was set in between
		want  string
	}{
		{"clocks agree", 0, false, "ok"},
		{"two periods apart", 2, false, "clocks-apart"},
		{"set in between", 0, true, "clocks-unchecked"},
	} {
		m := newTestJoiner(t, twoPoints(altmark.Double))
		var got []Result
		for k := uint64(10); k < 20; k++ { // in the order of their numbers, as they are held back
			if k >= 10+tt.ahead {
				got = append(got, m.Add(0, report(k-tt.ahead, 9, 0), time.Time{})...)
			}
			p := report(k, 9, 7*ms)
			if k == 18 && tt.step {
				p.Flags = altmark.ClockStep
			}
			got = append(got, m.Add(1, p, time.Time{})...)
		}
		if len(got) > 0 {
			t.Errorf("%s: %s, before anything was heard of the clocks", tt.name, line(got[0]))
		}
		for k := 20 - tt.ahead; k < 26; k++ {
			got = append(got, m.Add(1, report(k+tt.ahead, 9, 7*ms), arrived(k, 0))...)
			got = append(got, m.Add(0, report(k, 9, 0), arrived(k, 0))...)
		}
		seen := map[uint64]bool{}
		for _, r := range got {
			if r.Period < 12 || r.Period >= 16 {
				continue
			}
			seen[r.Period] = true
			said := strings.Join(r.Reasons, ";")
			if (r.Status == OK) != (tt.want == "ok") || tt.want != "ok" && !strings.Contains(said, tt.want) {
				t.Errorf("%s: %s, want %s", tt.name, line(r), tt.want)
			}
		}
		if len(seen) != 4 {
			t.Errorf("%s: results of %d of the periods 12 to 15", tt.name, len(seen))
		}
	}
}

// A connection stalls for as long as its switch's clock is ahead, so that reports of different times arrive together.
// The stalled reports arrive together with later ones, which reveals the difference.
func TestAltMarkHeldUp(t *testing.T) {
	m := newTestJoiner(t, twoPoints(altmark.Step))
	last := map[uint64]Result{}
	collect := func(list []Result) {
		for _, r := range list {
			last[r.Period] = r
		}
	}
	for k := uint64(10); k < 30; k++ {
		collect(m.Add(0, report(k, 100+k, 0), arrived(k, 0)))
	}
	for k := uint64(12); k < 32; k++ { // two periods ahead
		when := arrived(k, 2)
		if k >= 20 && k < 24 {
			when = arrived(23, 2)
		}
		collect(m.Add(1, shifted(k), when))
	}
	for k, r := range last {
		if r.Status == OK {
			t.Errorf("%d: %s", k, line(r))
		}
	}
}
