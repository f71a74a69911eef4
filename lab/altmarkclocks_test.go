package lab

import (
	"fmt"
	"strings"
	"testing"
)

// lossyPair is a marked pair whose link loses one packet in twenty, of 50 in a period of
// 1/128 s.
func lossyPair(t *testing.T, method, more string) *Topology {
	t.Helper()
	top := markedPair(t, method, -7, `
traffic:
- {name: marked, from: h1, to: h2, dst_port: 5000, pps: 6400, start: 0s}
`+more)
	top.Links[1].Loss = certain / 20
	return top
}

// A clock that drifts, from the beginning or since some time, and that nothing keeps, is none by which
// delays can be told: they are flagged. Losses need no more of it than that it is within A.
func TestFreeRunningClock(t *testing.T) {
	for _, event := range []bool{false, true} {
		events, free := "", uint64(0)
		if event {
			events = "events: [{at: 79ms, do: drift, switch: s2, drift_ppb: 2000000}]\n"
		}
		top := lossyPair(t, "double", events)
		if !event {
			top.Switches[1].Clock.Drift = 2_000_000
		}
		_, r := runTruth(t, top, 20*Second/128) // A is 122 us; the drift takes 61 ms to it
		for i, p := range r.AltMark["p"].Segments[0].Periods {
			drifts := !event || p.Start >= 79*Millisecond
			if p.Lost != nil && *p.Lost != p.TrueLost {
				t.Errorf("period %d: %d lost, truly %d", i, *p.Lost, p.TrueLost)
			}
			if drifts && (p.Delay != nil || p.Status == "ok") {
				t.Errorf("period %d at %v is %s with a delay of %v by a clock that runs free", i, p.Start, p.Status, p.Delay)
			}
			if drifts && p.Lost != nil {
				free++
			}
		}
		if free == 0 {
			t.Errorf("drift by an event is %v: no period has a loss", event)
		}
	}
}

// Clocks that are a multiple of 2L apart, from the beginning or since one of them was set, agree
// about every colour. Their periods are none that can be compared, and the path says so once.
func TestClocksTwoPeriodsApart(t *testing.T) {
	const two = 2 * Second / 128
	for _, tt := range []struct {
		offset, step Time
		good         [2]int64 // how many periods are complete, at least and at most
		methods      []string
	}{
		{0, 0, [2]int64{25, 29}, []string{"double"}},
		{two, 0, [2]int64{0, 0}, []string{"step", "pulse", "double", "muxed"}},
		{-2 * two, 0, [2]int64{0, 0}, []string{"step"}},
		{0, two, [2]int64{9, 14}, []string{"double"}}, // set in the 16th of 30 periods
		{0, -two, [2]int64{9, 14}, []string{"step"}},
	} {
		for _, method := range tt.methods {
			events := ""
			if tt.step != 0 {
				events = fmt.Sprintf("events: [{at: 120ms, do: step-clock, switch: s2, by: %v}]\n", tt.step)
			}
			top := lossyPair(t, method, events)
			top.Switches[1].Clock.Offset = tt.offset
			_, r := runTruth(t, top, 30*Second/128)
			s := r.AltMark["p"].Segments[0]
			for _, p := range s.Periods {
				if p.Lost != nil && *p.Lost != p.TrueLost {
					t.Errorf("%s, %v and %v: %s with %d lost, truly %d", method, tt.offset, tt.step, p.Status, *p.Lost, p.TrueLost)
				}
				if p.Delay != nil && (p.TrueDelay == nil || abs(int64(Time(*p.Delay)*Nanosecond-*p.TrueDelay)) > 1800) {
					t.Errorf("%s, %v and %v: %s with a delay of %v, truly %v", method, tt.offset, tt.step, p.Status, *p.Delay, p.TrueDelay)
				}
			}
			if n := s.Numbers["complete"]; n < tt.good[0] || n > tt.good[1] {
				t.Errorf("%s, %v and %v: %d periods are complete, want %d to %d", method, tt.offset, tt.step, n, tt.good[0], tt.good[1])
			}
			said := strings.Join(r.AltMark["p"].Notices, "\n")
			apart := tt.offset != 0 || tt.step != 0
			want := "an offset of 2L = 15.625ms between the clocks of s1 and s2 cannot be excluded"
			if apart != strings.Contains(said, want) || strings.Count(said, "\n") > 0 {
				t.Errorf("%s, %v and %v: the path says %q", method, tt.offset, tt.step, said)
			}
		}
	}
}
