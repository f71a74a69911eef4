package marking

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/lab"
)

// lossyPair returns a marked pair whose link loses one packet in twenty. There are 50 packets in a period of 1/128 s.
func lossyPair(t *testing.T, method, more string) *lab.Topology {
	t.Helper()
	top := markedPair(t, method, -7, `
traffic:
- {name: marked, from: h1, to: h2, dst_port: 5000, pps: 6400, start: 0s}
`+more)
	top.Links[1].Loss = 1_000_000_000 / 20
	return top
}

// Delays cannot be measured by a clock that drifts undisciplined, from the beginning or since some time. They are
// flagged. For losses the clock need only be within A.
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
		_, r := runTruth(t, top, 20*lab.Second/128) // A is 122 us; the drift takes 61 ms to reach it
		for i, p := range reportOf(r)["p"].Segments[0].Periods {
			drifts := !event || p.Start >= 79*lab.Millisecond
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

// Clocks that are a multiple of 2L apart agree about every colour, whether from the beginning or since one was set.
// Their periods cannot be compared, and the path reports that once.
func TestClocksTwoPeriodsApart(t *testing.T) {
	const two = 2 * lab.Second / 128
	// There are 30 periods. The first two are flagged as first periods, the last is not read, and the two before it
	// lack a report that would show late packets. The clock is set in period 15, before 14 is read. So 14 and 15 are
	// missing or wrong, and the two before 14 are not complete either.
	const all, untilSet = 30 - 2 - 3, 12 - 2
	for _, tt := range []struct {
		offset, step lab.Time
		good         int64 // number of complete periods
		methods      []string
	}{
		{0, 0, all, []string{"double"}},
		{two, 0, 0, []string{"step", "pulse", "double", "muxed"}},
		{-2 * two, 0, 0, []string{"step"}},
		{0, two, untilSet, []string{"double"}},
		{0, -two, untilSet, []string{"step"}},
	} {
		if testing.Short() && tt.step <= 0 {
			continue
		}
		for _, method := range tt.methods {
			events := ""
			if tt.step != 0 {
				events = fmt.Sprintf("events: [{at: 120ms, do: step-clock, switch: s2, by: %v}]\n", tt.step)
			}
			top := lossyPair(t, method, events)
			top.Switches[1].Clock.Offset = tt.offset
			_, r := runTruth(t, top, 30*lab.Second/128)
			s := reportOf(r)["p"].Segments[0]
			for _, p := range s.Periods {
				if p.Lost != nil && *p.Lost != p.TrueLost {
					t.Errorf("%s, %v and %v: %s with %d lost, truly %d", method, tt.offset, tt.step, p.Status, *p.Lost, p.TrueLost)
				}
				if p.Delay != nil && (p.TrueDelay == nil || abs(int64(lab.Time(*p.Delay)*lab.Nanosecond-*p.TrueDelay)) > 1800) {
					t.Errorf("%s, %v and %v: %s with a delay of %v, truly %v", method, tt.offset, tt.step, p.Status, *p.Delay,
						p.TrueDelay)
				}
			}
			if n := s.Numbers["complete"]; n != tt.good {
				t.Errorf("%s, %v and %v: %d periods are complete, want %d", method, tt.offset, tt.step, n, tt.good)
			}
			said := strings.Join(reportOf(r)["p"].Notices, "\n")
			apart := tt.offset != 0 || tt.step != 0
			want := "an offset of 2L = 15.625ms between the clocks of s1 and s2 cannot be excluded"
			if apart != strings.Contains(said, want) || strings.Count(said, "\n") > 0 {
				t.Errorf("%s, %v and %v: the path says %q", method, tt.offset, tt.step, said)
			}
		}
	}
}
