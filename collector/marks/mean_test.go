package marks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/tam/altmark"
)

// asking makes the points of a path add up arrivals.
func asking(p Path) Path {
	for i := range p.Points {
		p.Points[i].Settings.MeanDelay = true
	}
	return p
}

// sumOfDelays returns a number of nanoseconds as a Sum.
func sumOfDelays(ns int64) altmark.Sum {
	s := altmark.Sum{Lo: uint64(ns)}
	if ns < 0 {
		s.Hi = 1<<64 - 1
	}
	return s
}

// summed returns a report with a sum of arrival offsets of ns.
func summed(k, packets uint64, ns int64) altmark.Period {
	p := report(k, packets, 0)
	p.Captures, p.Timestamp = 0, altmark.Time{}
	p.Arrivals = altmark.Arrivals{Summed: true, Packets: packets, Sum: sumOfDelays(ns)}
	return p
}

// The mean delay of period 10 is known, or has the expected reason.
func TestAltMarkMean(t *testing.T) {
	const packets = 1000
	fine := func() []altmark.Period { // delays after mp1: mp2 3 ms, mp3 10 ms, one packet 1 ns more
		return []altmark.Period{summed(10, packets, -packets*1000), summed(10, packets, 3e9-packets*1000),
			summed(10, packets, 10e9-packets*1000+1)}
	}
	for _, tt := range []struct {
		name   string
		change func(path *Path, of []altmark.Period)
		want   [3]string // results for mp1>mp2, mp2>mp3 and mp1>mp3
	}{
		{"all is well", func(*Path, []altmark.Period) {}, [3]string{
			"ok 3ms of 3000000000", "ok 7ms of 7000000001", "ok 10ms of 10000000001"}},
		{"a packet was lost on the second link", func(_ *Path, of []altmark.Period) {
			of[2].Packets--
			of[2].Arrivals.Packets--
		}, [3]string{
			"ok 3ms of 3000000000", "ok unknown: 1 of 1000 packets were lost: the sums are not of the same packets",
			"ok unknown: 1 of 1000 packets were lost: the sums are not of the same packets"}},
		{"more came than were sent", func(_ *Path, of []altmark.Period) { of[2].Packets++; of[2].Arrivals.Packets++ },
			[3]string{
				"flagged unknown: the result is flagged, so the packets may not be the same at both points",
				"flagged unknown: the result is flagged, so the packets may not be the same at both points",
				"flagged unknown: the result is flagged, so the packets may not be the same at both points"}},
		{"a report without the sum", func(_ *Path, of []altmark.Period) { of[1].Arrivals = altmark.Arrivals{} }, [3]string{
			"ok unknown: mp2 summed up 0 of 1000 packets", "ok unknown: mp2 summed up 0 of 1000 packets",
			"ok 10ms of 10000000001"}},
		{"a point that is not asked", func(p *Path, _ []altmark.Period) { p.Points[2].Settings.MeanDelay = false }, [3]string{
			"ok 3ms of 3000000000", "ok unknown: mean-delay is not true at mp3", "ok unknown: mean-delay is not true at mp3"}},
		{"nobody is asked", func(p *Path, _ []altmark.Period) {
			for i := range p.Points {
				p.Points[i].Settings.MeanDelay = false
			}
		}, [3]string{"ok", "ok", "ok"}},
		{"no packets", func(_ *Path, of []altmark.Period) {
			for i := range of {
				of[i].Packets, of[i].Arrivals = 0, altmark.Arrivals{Summed: true}
			}
		}, [3]string{"ok unknown: no packets", "ok unknown: no packets", "ok unknown: no packets"}},
		{"a clock that nothing vouches for", func(_ *Path, of []altmark.Period) { of[2].Flags = altmark.Unsynchronised },
			[3]string{
				"ok 3ms of 3000000000", "flagged unknown: mp3: unsynchronised", "flagged unknown: mp3: unsynchronised"}},
		{"clocks of one kernel", func(_ *Path, of []altmark.Period) {
			for i := range of {
				of[i].Flags, of[i].Clock = altmark.Unsynchronised, altmark.Clock{Says: "no", Kernel: "k"}
			}
		}, [3]string{"ok 3ms of 3000000000", "ok 7ms of 7000000001", "ok 10ms of 10000000001"}},
		{"kernels that err by more than A", func(_ *Path, of []altmark.Period) {
			of[0].Clock, of[1].Clock = altmark.Clock{Says: "a", Kernel: "k", Error: ms},
				altmark.Clock{Says: "b", Kernel: "l", Error: 1}
		}, [3]string{
			"ok unknown: unsynchronised: by their kernels' reports the clocks of mp1 and mp2 may differ by 1.000001ms, A is 1ms",
			"ok 7ms of 7000000001", "ok 10ms of 10000000001"}},
		{"a clock that was set", func(_ *Path, of []altmark.Period) { of[2].Flags = altmark.ClockStep }, [3]string{
			"ok 3ms of 3000000000", "flagged unknown: the result is flagged, so the packets may not be the same at both points",
			"flagged unknown: the result is flagged, so the packets may not be the same at both points"}},
		{"a mean that the settings exclude", func(_ *Path, of []altmark.Period) { of[2].Arrivals.Sum = sumOfDelays(30e9) },
			[3]string{
				"ok 3ms of 3000000000", "flagged unknown: it does not match the settings",
				"flagged unknown: it does not match the settings"}},
		{"a sum that is no time", func(_ *Path, of []altmark.Period) { of[2].Arrivals.Sum = altmark.Sum{Hi: 1 << 62} },
			[3]string{
				"ok 3ms of 3000000000", "flagged unknown: it does not match the settings",
				"flagged unknown: it does not match the settings"}},
	} {
		path, of := asking(threePoints(altmark.Step)), fine()
		tt.change(&path, of)
		m := newTestJoiner(t, path)
		got := map[string]string{}
		for k := uint64(10); k < 13; k++ {
			for i := range path.Points {
				p := summed(k, packets, 0)
				if k == 10 {
					p = of[i]
				}
				for _, r := range add(m, i, p) {
					if r.Period == 10 {
						got[r.From+">"+r.To] = meanLine(r)
					}
				}
			}
		}
		for i, segment := range []string{"mp1>mp2", "mp2>mp3", "mp1>mp3"} {
			if got[segment] != tt.want[i] {
				t.Errorf("%s: %s: %q, want %q", tt.name, segment, got[segment], tt.want[i])
			}
		}
	}
}

func meanLine(r Result) string {
	s := r.Status.String()
	switch {
	case r.Mean.Valid:
		s += fmt.Sprintf(" %v of %v", r.Mean.Delay, r.Mean.Sum)
	case r.Mean.Unknown != "":
		s += " unknown: " + r.Mean.Unknown
	case r.Mean != Mean{}:
		s += fmt.Sprintf(" %+v", r.Mean)
	}
	return s
}

// A missing report leaves the mean delay unknown, with a reason.
func TestAltMarkMeanMissing(t *testing.T) {
	m := newTestJoiner(t, asking(twoPoints(altmark.Step)))
	add(m, 0, summed(10, 5, 0))
	got := m.Flush()
	if len(got) != 1 || meanLine(got[0]) != "missing unknown: a report is missing" {
		t.Errorf("%+v", got)
	}
	text, err := got[0].MarshalJSON()
	if err != nil || !strings.Contains(string(text), `"mean_delay_unknown":"a report is missing"`) ||
		strings.Contains(string(text), "mean_delay_ns") {
		t.Errorf("%s, %v", text, err)
	}
}

// In a round trip the difference of the clocks cancels out, even without evidence for their accuracy. The two paths may
// have different numbers of packets.
func TestAltMarkMeanTwoWay(t *testing.T) {
	ahead := 700 * time.Microsecond // within A, on which the guard is based
	forward, back := asking(twoPoints(altmark.Step)), asking(twoPoints(altmark.Step))
	back.Name = "q"
	back.Points[0].Switch, back.Points[1].Switch = back.Points[1].Switch, back.Points[0].Switch
	both, err := NewTwoWay(forward, back)
	if err != nil {
		t.Fatal(err)
	}
	joins := []*Joiner{newTestJoiner(t, forward), newTestJoiner(t, back)}
	sums := []int64{100*int64(7*ms+ahead) + 30, 30 * int64(9*ms-ahead)}
	var got []Result
	for k := uint64(10); k < 13; k++ {
		for direction, packets := range []uint64{100, 30} {
			first, second := summed(k, packets, 0), summed(k, packets, sums[direction])
			first.Flags = altmark.Unsynchronised
			for _, r := range append(add(joins[direction], 0, first), add(joins[direction], 1, second)...) {
				if sum, ok := both.Add(r); ok {
					got = append(got, sum)
				}
			}
		}
	}
	if len(got) != 1 || !got[0].Mean.Valid || got[0].Mean.Delay != 16*ms || got[0].Mean.RawValid { // 0.3 ns more
		t.Fatalf("%+v", got)
	}
	if text, err := got[0].MarshalJSON(); err != nil || !strings.Contains(string(text), `"mean_delay_ns":16000000`) ||
		strings.Contains(string(text), "delay_sum_ns") {
		t.Errorf("%s, %v", text, err)
	}
}

// In a graph the arrivals of all points of a side are added up. The mean is that of all packets, on any path.
func TestAltMarkMeanGraph(t *testing.T) {
	settings := func(role altmark.Role) altmark.Session {
		return altmark.Session{Role: role, Method: altmark.Step, Mark: altmark.DSCP0, SlotSync: true, ClockError: ms,
			MaxDelay: 20 * ms, MeanDelay: true}
	}
	g := Graph{Name: "g", Points: []Point{
		{"a", "s", settings(altmark.Initiator)}, {"x", "s", settings(altmark.Transit)}, {"y", "s", settings(altmark.Transit)},
		{"z", "s", settings(altmark.Terminator)}},
		Links: []Link{{"a", "x"}, {"a", "y"}, {"x", "z"}, {"y", "z"}}}
	m, err := NewMesh(g)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for k := uint64(10); k < 14; k++ {
		for i, p := range []altmark.Period{
			summed(k, 100, 0), summed(k, 60, 60*int64(2*ms)), summed(k, 40, 40*int64(7*ms)), summed(k, 100, 100*int64(9*ms)),
		} {
			if k == 11 && i == 2 {
				p.Flags = altmark.Unsynchronised
			}
			for _, r := range m.Add(i, p, p.ReadAt.Std()) {
				got = append(got, fmt.Sprintf("%d %s>%s %s", r.Period, r.From, r.To, meanLine(r)))
			}
		}
	}
	for _, want := range []string{
		"10 a>x+y ok 4ms of 400000000", "10 x+y>z ok 5ms of 500000000", "10 a>z ok 9ms of 900000000",
		"11 a>x+y flagged unknown: y: unsynchronised", "11 x+y>z flagged unknown: y: unsynchronised",
		"11 a>z ok 9ms of 900000000",
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q is not in\n%s", want, strings.Join(got, "\n"))
		}
	}
}
