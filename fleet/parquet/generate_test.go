package parquet

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"tamtam/collector/result"
)

// A fleetShape describes generated rows: batches of equal size whose windows follow each other.
type fleetShape struct {
	rows, batch int   // number of rows, and of those in a batch
	from, to    int64 // time of all rows
	flows       int
	switches    int
}

const (
	testDay    = int64(24 * 3600e9)
	testWindow = int64(10e9)
	testBegin  = int64(1_772_323_200e9) // 2026-03-01
)

// tenDays returns the shape of rows over ten days.
func tenDays(rows, batch int) fleetShape {
	return fleetShape{rows: rows, batch: min(batch, rows), from: testBegin, to: testBegin + 10*testDay, flows: 500,
		switches: 40}
}

// batches returns the number of batches.
func (s fleetShape) batches() int { return (s.rows + s.batch - 1) / s.batch }

// flow returns the text of a flow, and that of its path.
func (s fleetShape) flow(i int) (flow, path string) {
	return fmt.Sprintf("TCP 10.0.%d.%d:%d > 10.1.0.%d:443", i/200, i%200+1, 1024+i, i%50+1),
		fmt.Sprintf("%d:1>2 %d:3>4 %d:5>6", 1+i%s.switches, 1+(i*7)%s.switches, 1+(i*13)%s.switches)
}

// make returns the i-th batch. It depends on the shape and i only.
func (s fleetShape) make(i int) *result.Batch {
	r := rand.New(rand.NewPCG(uint64(i), 40))
	n := min(s.batch, s.rows-i*s.batch)
	each := (s.to - s.from) / int64(s.batches())
	from := s.from + int64(i)*each
	// the batches of two partitions alternate
	number := uint64(i/2) + 1
	b := &result.Batch{Partition: result.Stamps.Partition(i % 2), First: number,
		Position: result.Position{Last: number, Closed: from + each, Low: number + 1}}
	texts := make([][2]string, s.flows)
	for f := range texts {
		texts[f][0], texts[f][1] = s.flow(f)
	}
	b.Hops = make([]result.Hop, n)
	for k := range b.Hops {
		start := from + int64(k)*each/int64(n)
		start -= start % testWindow
		f := min(r.IntN(s.flows), r.IntN(s.flows)) // some flows have more rows
		hop := r.IntN(3)
		sw := 1 + (f*[]int{1, 7, 13}[hop])%s.switches
		h := &b.Hops[k]
		*h = result.Hop{Window: result.Window{Start: max(start, from), Length: testWindow}, Flow: texts[f][0],
			Path: texts[f][1], Index: hop, Switch: uint32(sw), In: uint16(2*hop + 1), Out: uint16(2*hop + 2)}
		h.Packets = 1 + r.Int64N(200)
		switch r.IntN(64) {
		case 0:
			h.Unknown = h.Packets
		default:
			h.Resident = randomSpread(r, h.Packets, 500+int64(sw)*20)
		}
		if hop > 0 {
			h.Link = randomSpread(r, h.Packets, 2000)
		}
		if r.IntN(4096) == 0 {
			h.Flags = result.Gap
		}
	}
	if i%4 == 3 {
		b.Amends = []result.Amend{{From: from, To: from + each/2, Flags: result.Late}}
	}
	return b
}

// randomSpread returns a distribution of n latencies: most are near the least one, a few are up to a thousand times
// greater. All but a few are equal.
func randomSpread(r *rand.Rand, n, least int64) result.Distribution {
	var list [4]int64
	some := list[:min(n, 1+r.Int64N(4))]
	for i := range some {
		some[i] = least + r.Int64N(least)
		if r.IntN(64) == 0 {
			some[i] *= 1 + r.Int64N(1000)
		}
	}
	slices.Sort(some)
	first, last := result.Bucket(some[0]), result.Bucket(some[len(some)-1])
	d := result.Distribution{Count: n, Min: some[0], Max: some[len(some)-1], First: first,
		Buckets: make([]uint32, last-first+1)}
	for i, v := range some {
		times := int64(1)
		if i == 0 {
			times = n - int64(len(some)) + 1
		}
		d.Sum += v * times
		d.Buckets[result.Bucket(v)-first] += uint32(times)
	}
	return d
}
