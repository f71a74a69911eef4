package collector

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
	"tamtam/tam/record"
)

// If the clock was set between the times of a record, neither time counts. Its latency and the delays of the links on
// both sides are then unknown. If the hop is at an end of the path, so is the end-to-end figure. The record itself is
// counted for its hop. All other figures are unaffected.
func TestClockSetIsLeftOut(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 36_200, Count: 50}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 36))
		c := NewTailStamp(0, 0, true)
		hops := 1 + rnd.IntN(4)
		set, latencies, links, whole := make([]int64, hops), make([]int64, hops), make([]int64, hops), int64(0)
		for range 100 {
			var records []tailstamp.Record
			wrong := make([]bool, hops)
			for i := range hops {
				r := hop(uint32(i), 0, 4, uint32(1000*i), uint32(1000*i+500), 0)
				if wrong[i] = rnd.IntN(4) == 0; wrong[i] {
					r.Flags |= tailstamp.ClockSet
					r.Egress.Seconds -= uint64(rnd.IntN(900))
				}
				records = append(records, r)
			}
			for i := range hops {
				switch {
				case wrong[i]:
					set[i]++
				default:
					latencies[i]++
					if i > 0 && !wrong[i-1] {
						links[i]++
					}
				}
			}
			if !wrong[0] && !wrong[hops-1] {
				whole++
			}
			frame := stamped(web, records...)
			c.Add(frame, time.Unix(1000, 0), len(frame))
		}
		path := c.Report().Flows[0].Paths[0]
		if path.EndToEnd.Count != whole {
			t.Errorf("%d wholes, want %d", path.EndToEnd.Count, whole)
		}
		for i, h := range path.Hops {
			if h.ClockSet != set[i] || h.Latency.Count != latencies[i] || h.Unusable != 0 {
				t.Errorf("hop %d: %d with a clock that was set, %d latencies; want %d, %d", i, h.ClockSet, h.Latency.Count, set[i],
					latencies[i])
			}
			if h.Latency.Count > 0 && (h.Latency.Min != 500 || h.Latency.Max != 500) {
				t.Errorf("hop %d: latencies of %d to %d ns, want 500", i, h.Latency.Min, h.Latency.Max)
			}
			if i > 0 && (h.Delay.Count != links[i] || links[i] > 0 && (h.Delay.Min != 500 || h.Delay.Max != 500)) {
				t.Errorf("hop %d: %+v over the link, want %d of 500 ns", i, h.Delay, links[i])
			}
		}
	})
}

// The text output shows frames whose records have a clock that was set.
func TestClockSetText(t *testing.T) {
	c := NewTailStamp(0, 0, false)
	frame := stamped(web, hop(1, 0, 4, 900, 100, tailstamp.ClockSet))
	c.Add(frame, time.Unix(1000, 0), len(frame))
	var b strings.Builder
	if err := c.Report().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1       1  Ethernet0  Ethernet4      0       -",
		"hop 1: 1 frame in the switch when its clock was set, whose times are left out",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// IFA hops and records of table recording can have the flag of a set clock, too. They then have no latency.
func TestClockSetElsewhere(t *testing.T) {
	r := recordOf(&ifa.Hop{LNS: ifa.LNS, Residence: ifa.Longest, Trust: ifa.ClockSet}, time.Unix(5, 0))
	if !clockSet(r) {
		t.Errorf("a hop of IFA as a record: %+v", r)
	}
	p := RecordedPacket{Record: record.Record{In: record.Time{Seconds: 5}, At: record.Time{Seconds: 6}}}
	if _, ok := p.Latency(); !ok {
		t.Error("a record of tables has no latency")
	}
	p.ClockSet = true
	if d, ok := p.Latency(); ok {
		t.Errorf("latency %v of a record between whose times the clock was set", d)
	}
}
