package lab

import (
	"fmt"
	"testing"
)

// pair builds two switches, each with two hosts that exchange frames of 64 bytes at 10 Mpps, and 1 Mpps from one switch
// to the other.
func pair(t testing.TB, link Time, blind bool, workers int) *Lab {
	text := fmt.Sprintf(`
experiment: pair
switches:
- name: s1
  config: &config
    PORT:
      Ethernet0: {lanes: "1,2,3,4", speed: "100000", admin_status: up}
      Ethernet4: {lanes: "5,6,7,8", speed: "100000", admin_status: up}
      Ethernet8: {lanes: "9,10,11,12", speed: "100000", admin_status: up}
    VLAN: {Vlan10: {vlanid: "10"}}
    VLAN_MEMBER:
      Vlan10|Ethernet0: {tagging_mode: untagged}
      Vlan10|Ethernet4: {tagging_mode: untagged}
      Vlan10|Ethernet8: {tagging_mode: untagged}
- {name: s2, config: *config}
hosts:
- {name: h1, ips: [10.0.0.1/24]}
- {name: h2, ips: [10.0.0.2/24]}
- {name: h3, ips: [10.0.0.3/24]}
- {name: h4, ips: [10.0.0.4/24]}
links:
- {a: h1, b: "s1:Ethernet0", delay: 50ns}
- {a: h2, b: "s1:Ethernet4", delay: 50ns}
- {a: h3, b: "s2:Ethernet0", delay: 50ns}
- {a: h4, b: "s2:Ethernet4", delay: 50ns}
- {a: "s1:Ethernet8", b: "s2:Ethernet8", delay: %v}
traffic:
- {name: a, from: h1, to: h2, pps: 10000000, start: 10us}
- {name: b, from: h3, to: h4, pps: 10000000, start: 10us}
- {name: c, from: h1, to: h4, pps: 1000000, start: 10us}
- {name: d, from: h3, to: h2, pps: 1000000, start: 10us}
`, link)
	top, err := Parse("pair.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(t.Context(), top, Options{Workers: workers, Blind: blind})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := l.Run(t.Context(), 200*Microsecond); err != nil {
		t.Fatal(err)
	}
	return l
}

// BenchmarkPair reports the frames that switches receive per second, and the speedup of two cores over one. The control
// plane polls its counters at the end of each run, outside the measured time. So runs are of 10 ms, with 240,000 frames
// received by switches.
func BenchmarkPair(b *testing.B) {
	for _, link := range []Time{Microsecond, 10 * Microsecond} {
		var one float64
		for _, c := range []struct {
			blind   bool
			workers int
		}{{false, 1}, {false, 2}, {true, 1}, {true, 2}} {
			name := fmt.Sprintf("link %v, %d workers, ledger %v", link, c.workers, !c.blind)
			b.Run(name, func(b *testing.B) {
				l := pair(b, link, c.blind, c.workers)
				before := l.moved()
				b.ReportAllocs()
				for b.Loop() {
					if err := l.pass(b.Context(), 10*Millisecond); err != nil {
						b.Fatal(err)
					}
				}
				rate := float64(l.moved()-before) / b.Elapsed().Seconds() / 1e6
				b.ReportMetric(rate, "Mframes/s")
				if c.workers == 1 {
					one = rate
				} else if one > 0 {
					b.ReportMetric(rate/one, "speed-up")
				}
			})
		}
	}
}

// The path of a frame through hosts, wires and chips allocates nothing once it has warmed up.
func TestFramePathDoesNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("allocations are counted without the race detector")
	}
	l := pair(t, Microsecond, false, 1)
	before := l.moved()
	n := testing.AllocsPerRun(5, func() {
		if err := l.pass(t.Context(), Millisecond); err != nil {
			t.Fatal(err)
		}
	})
	frames := float64(l.moved()-before) / 6
	if frames < 20_000 || n > frames/100 {
		t.Errorf("%v allocations for %v frames, want less than one for a hundred", n, frames)
	}
}
