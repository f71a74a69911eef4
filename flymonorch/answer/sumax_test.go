package answer_test

import (
	"net/netip"
	"testing"

	"tamtam/tam/flymon"
)

// If a flow shares a full bucket of SuMax's first row with a large flow, the later rows count it. Its value is never
// too low, rarely large, and saturated only if the large flow is in all of its buckets. A full counter never wraps.
func TestSuMaxBehindAFullRow(t *testing.T) {
	const flows = 3000
	for _, tt := range []struct {
		attribute string
		each      uint64 // value of each packet
		large     uint64 // number of packets of the large flow, more than two counters can hold
	}{{"frequency", 1, 140_000}, {"frequency(bytes)", 100, 1400}} {
		t.Run(tt.attribute, func(t *testing.T) {
			r := newRunOn(t, small(16), flymon.Task{
				Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: parse(t, flymon.ParseAttribute, tt.attribute),
				Algorithm: flymon.SuMaxSum, Memory: 3 * 256, Accurate: true,
			})
			n := uint64(0)
			packet := func(src uint32) { n++; r.send(src, 1, n) }
			for range tt.large {
				packet(flows)
			}
			for i := range 5 * uint32(flows) {
				packet(i % flows)
			}
			for range tt.large {
				packet(flows)
			}
			r.truth()
			reading, full, high := r.reading(), 0, 0
			for v, exact := range r.exact.Flows {
				e := reading.Flow(v)
				if e.Upper < float64(exact) {
					t.Fatalf("%v: at most %v, want %d", v, e.Upper, exact)
				}
				if v == flymon.Make(ip(flows), netip.Addr{}, 0, 0, 0, 0).And(r.placed.Task.Key) {
					continue
				}
				if e.Saturated {
					full++
				} else if e.Value > float64(30*5*tt.each) {
					high++
				}
			}
			if full+high > 0 {
				t.Errorf("of %d flows of %d, %d are full and %d much too high", flows, 5*tt.each, full, high)
			}
		})
	}
}
