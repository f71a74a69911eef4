package plan_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"tamtam/flymonorch/plan"
	"tamtam/internal/randtest"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// flows returns vectors of packets. Some flows have many packets.
func flows(seed uint64, n int) []flymon.Vector {
	r := rand.New(rand.NewPCG(seed, 9))
	all := make([]flymon.Vector, n)
	for i := range all {
		f := byte(r.IntN(200) * r.IntN(200) / 200)
		all[i] = flymon.Make(netip.AddrFrom4([4]byte{10, 0, f, f * 3}),
			netip.AddrFrom4([4]byte{11, f % 7, 0, byte(r.IntN(9))}), uint16(f), 443, 6, uint64(1e9+1000*i))
	}
	return all
}

// run counts packets of 100 bytes on a chip, and returns the registers of each unit.
func run(t *testing.T, geo flymon.Geometry, p *plan.Placed, packets []flymon.Vector) [][]uint32 {
	t.Helper()
	chip, err := cmu.New(geo)
	if err != nil {
		t.Fatal(err)
	}
	if err := chip.Apply(p.Layout); err != nil {
		t.Fatal(err)
	}
	for i, v := range packets {
		chip.Run(&cmu.Packet{Vector: v, Ports: true, Size: 100, QueueBytes: uint32(v[0]>>32) & 0xffff, Number: uint64(i + 1)})
	}
	var all [][]uint32
	for i, u := range p.Layout.Units {
		words, err := chip.Read(p.Name, i, 0, 0, u.Size)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, words)
	}
	return all
}

// After a run of compiled tasks on a chip, rows of counters match their textbook definition, computed in maps with the
// layout's buckets.
func TestCountersOfLayouts(t *testing.T) {
	geo := geometry()
	geo.Depth, geo.Partitions = 1024, 8
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		packets := flows(seed, 3000)
		for _, tt := range []struct {
			attribute string
			algorithm flymon.Algorithm
			update    func(have uint32, row, rows int, v flymon.Vector) uint32
		}{
			{"frequency", flymon.CMS, func(have uint32, _, _ int, _ flymon.Vector) uint32 { return have + 1 }},
			{"frequency(bytes)", flymon.CMS, func(have uint32, _, _ int, _ flymon.Vector) uint32 { return have + 100 }},
			{"frequency", flymon.MRAC, func(have uint32, _, _ int, _ flymon.Vector) uint32 { return have + 1 }},
			{"max(queue-length)", flymon.SuMaxMax, func(have uint32, _, _ int, v flymon.Vector) uint32 {
				return max(have, uint32(v[0]>>32)&0xffff)
			}},
			{"max(size)", flymon.SuMaxMax, func(have uint32, _, _ int, _ flymon.Vector) uint32 { return max(have, 100) }},
			{"frequency", flymon.Tower, func(have uint32, row, rows int, _ flymon.Vector) uint32 {
				b := []int{8, 16, 32}[row]
				if have>>(32-b) == 1<<b-1 {
					return have
				}
				return have + 1<<(32-b)
			}},
		} {
			p, err := plan.New(geo).Add("t", task(t, "any", "ip-pair", tt.attribute, tt.algorithm, 768, 0))
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, geo, p, packets)
			for row, units := range p.Sketch.Rows {
				want := make([]uint32, p.Layout.Units[units[0]].Size)
				for _, v := range packets {
					b := p.Layout.Bucket(&geo, units[0], v)
					want[b] = tt.update(want[b], row, len(p.Sketch.Rows), v)
				}
				if fmt.Sprint(got[units[0]]) != fmt.Sprint(want) {
					t.Errorf("%s of %s: row %d differs", tt.algorithm, tt.attribute, row)
				}
			}
		}
	})
}

// Rows that receive each other's results are never too low, and SuMax is never above count-min. Both layers of Counter
// Braids together count all packets, and the first layer's bucket determines the second layer's.
func TestChainsOfLayouts(t *testing.T) {
	geo := geometry()
	geo.Depth, geo.Partitions = 1024, 64
	randtest.Run(t, randtest.Cases{Seed: 2}, func(t *testing.T, seed uint64) {
		packets := flows(seed, 12000)
		truth := map[flymon.Vector]uint32{}
		var key flymon.Key
		place := func(algorithm flymon.Algorithm) (*plan.Placed, [][]uint32) {
			x := task(t, "any", "src-ip", "frequency", algorithm, 768, 0)
			key = x.Key
			p, err := plan.New(geo).Add("t", x)
			if err != nil {
				t.Fatal(err)
			}
			return p, run(t, geo, p, packets)
		}
		p, got := place(flymon.SuMaxSum)
		for _, v := range packets {
			truth[v.And(key)]++
		}
		for row, units := range p.Sketch.Rows {
			cm := make([]uint32, p.Layout.Units[units[0]].Size)
			for _, v := range packets {
				cm[p.Layout.Bucket(&geo, units[0], v)]++
			}
			for v, n := range truth {
				b := p.Layout.Bucket(&geo, units[0], v)
				if have := got[units[0]][b]; have < n && row == 0 || have > cm[b] {
					t.Errorf("row %d: %d, of %d and by count-min %d", row, have, n, cm[b])
				}
			}
		}
		p, got = place(flymon.CounterBraids)
		full := uint32(1)<<p.Sketch.Bits[0] - 1
		for row, units := range p.Sketch.Rows {
			one, two := &p.Layout.Units[units[0]], &p.Layout.Units[units[1]]
			if two.Size*4 != one.Size || two.Group < one.Group+flymon.Apart {
				t.Errorf("row %d: %+v behind %+v", row, two, one)
			}
			var sum uint64
			for _, w := range got[units[0]] {
				sum += uint64(w >> (32 - p.Sketch.Bits[0]))
			}
			for _, w := range got[units[1]] {
				sum += uint64(w)
			}
			if sum != uint64(len(packets)) {
				t.Errorf("row %d has %d of %d packets", row, sum, len(packets))
			}
			high := false
			for v, n := range truth {
				a, b := p.Layout.Bucket(&geo, units[0], v), p.Layout.Bucket(&geo, units[1], v)
				if b != a%two.Size {
					t.Errorf("row %d: buckets %d and %d, want the second modulo %d", row, a, b, two.Size)
				}
				low := got[units[0]][a] >> (32 - p.Sketch.Bits[0])
				if high = high || low == full; low == full && low+got[units[1]][b] < n {
					t.Errorf("row %d: %d and %d of %d", row, low, got[units[1]][b], n)
				}
			}
			if !high {
				t.Errorf("row %d: no counter is full: the test shows nothing", row)
			}
		}
	})
}

// Bits of Bloom filters, linear counting and Odd Sketch, ranks of HyperLogLog and coupons of
// BeauCoup come from the compressed key of the element.
func TestBitsOfLayouts(t *testing.T) {
	geo := geometry()
	geo.Depth, geo.Partitions = 1024, 8
	randtest.Run(t, randtest.Cases{Seed: 3}, func(t *testing.T, seed uint64) {
		packets := flows(seed, 1500)
		for _, tt := range []struct {
			key, attribute string
			algorithm      flymon.Algorithm
			update         func(have, p1 uint32) uint32
		}{
			{"none", "existence(src-ip)", flymon.Bloom, func(have, p1 uint32) uint32 { return have | 1<<p1 }},
			{"none", "distinct(src-ip)", flymon.LinearCounting, func(have, p1 uint32) uint32 { return have | 1<<p1 }},
			// the first row of an odd sketch is a Bloom filter
			{"none", "similarity(src-ip)", flymon.OddSketch, func(have, p1 uint32) uint32 { return have | 1<<p1 }},
			{"none", "distinct(src-ip)", flymon.HyperLogLog, func(have, p1 uint32) uint32 { return max(have, p1) }},
			{"dst-ip", "distinct(src-ip)", flymon.BeauCoup, nil},
			{"none", "distinct(src-ip)", flymon.BeauCoup, nil},
		} {
			p, err := plan.New(geo).Add("t", task(t, "any", tt.key, tt.attribute, tt.algorithm, 768, 64))
			if err != nil {
				t.Fatal(err)
			}
			update := tt.update
			if update == nil {
				update = func(have, p1 uint32) uint32 {
					if p1 < uint32(p.Sketch.Coupons) {
						return have | 1<<p1
					}
					return have
				}
			}
			got := run(t, geo, p, packets)
			for row, units := range p.Sketch.Rows {
				u := &p.Layout.Units[units[0]]
				want := make([]uint32, u.Size)
				for _, v := range packets {
					b := p.Layout.Bucket(&geo, units[0], v)
					want[b] = update(want[b], p.Layout.Compressed(u.Group, u.P1.Key, v)&(1<<u.P1.Bits-1))
				}
				if fmt.Sprint(got[units[0]]) != fmt.Sprint(want) {
					t.Errorf("%s: row %d differs", tt.algorithm, row)
				}
				// The address and the choice within the bucket use different bits of the key.
				if tt.algorithm != flymon.BeauCoup {
					first := int(u.P1.Key.Shift) - int(u.Key.Shift)
					if size := bits.TrailingZeros32(u.Size); (first+32)%32 < size || (first+32)%32+int(u.P1.Bits) > 32 {
						t.Errorf("%s: row %d: address of %d bits from %d on, and %d from %d on", tt.algorithm, row, size, u.Key.Shift,
							u.P1.Bits, u.P1.Key.Shift)
					}
				}
			}
		}
	})
}

// Each element with its own bit of the Bloom filter flips its bit of the odd sketch exactly once, however often it
// arrives.
func TestOddSketchOfLayouts(t *testing.T) {
	geo := geometry()
	p, err := plan.New(geo).Add("t", task(t, "any", "none", "similarity(src-ip)", flymon.OddSketch, 5*8192, 0))
	if err != nil {
		t.Fatal(err)
	}
	randtest.Run(t, randtest.Cases{Seed: 3}, func(t *testing.T, seed uint64) {
		packets := flows(seed, 1500)
		filter, odd := &p.Layout.Units[0], &p.Layout.Units[1]
		seen := map[[2]uint32]bool{}
		want := make([]uint32, odd.Size)
		for _, v := range slices.Concat(packets, packets) {
			bit := p.Layout.Compressed(filter.Group, filter.P1.Key, v) & (1<<filter.P1.Bits - 1)
			if at := [2]uint32{p.Layout.Bucket(&geo, 0, v), bit}; !seen[at] {
				seen[at] = true
				want[p.Layout.Bucket(&geo, 1, v)] ^= 1 << bit
			}
		}
		if got := run(t, geo, p, slices.Concat(packets, packets)); !slices.Equal(got[1], want) {
			t.Error("the bits differ")
		}
	})
}

// The longest interval is exact for flows that share no buckets. Another flow in a bucket may make it longer or
// shorter.
func TestIntervalsOfLayouts(t *testing.T) {
	geo := geometry()
	x := task(t, "any", "ip-pair", "max(interval)", flymon.MaxInterArr, 9*8192, 0)
	x.Epoch, x.Live = time.Second, true
	p, err := plan.New(geo).Add("t", x)
	if err != nil {
		t.Fatal(err)
	}
	randtest.Run(t, randtest.Cases{Seed: 4}, func(t *testing.T, seed uint64) {
		packets := flows(seed, 3000)
		got := run(t, geo, p, packets)
		last, longest := map[flymon.Vector]uint64{}, map[flymon.Vector]uint64{}
		in := map[[2]uint32]int{} // number of flows by unit and bucket
		for _, v := range packets {
			f := v.And(x.Key)
			at, seen := last[f]
			if last[f] = v[5]; seen {
				longest[f] = max(longest[f], v[5]-at)
				continue
			}
			for i := range p.Layout.Units {
				in[[2]uint32{uint32(i), p.Layout.Bucket(&geo, i, f)}]++
			}
		}
		alone := 0
		for f, want := range longest {
			shared, least := false, uint64(1<<63)
			for _, units := range p.Sketch.Rows {
				for _, i := range units {
					shared = shared || in[[2]uint32{uint32(i), p.Layout.Bucket(&geo, i, f)}] > 1
				}
				least = min(least, uint64(got[units[2]][p.Layout.Bucket(&geo, units[2], f)])<<p.Sketch.Scale)
			}
			if shared {
				continue
			}
			alone++
			if least > want || want-least >= 1<<p.Sketch.Scale {
				t.Errorf("%s: %d ns, want %d", x.Key.Format(f), least, want)
			}
		}
		if alone < 100 {
			t.Errorf("%d flows are alone in all their buckets: the test shows nothing", alone)
		}
	})
}

// The accurate size is at least the requested one, and the efficient size is the nearest. Both are powers of two, and
// at least a 32nd of a CMU.
func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		algorithm           flymon.Algorithm
		memory              uint32
		accurate, efficient uint32
	}{
		{flymon.MRAC, 1, 2048, 2048},
		{flymon.MRAC, 2049, 4096, 2048},
		{flymon.MRAC, 3072, 4096, 2048},
		{flymon.MRAC, 3073, 4096, 4096},
		{flymon.MRAC, 65536, 65536, 65536},
		{flymon.CMS, 3 * 16384, 3 * 16384, 3 * 16384},
		{flymon.CMS, 3*16384 + 1, 3 * 32768, 3 * 16384},
		{flymon.CounterBraids, 3 * 5 * 4096, 3 * 5 * 4096, 3 * 5 * 4096},
		{flymon.CounterBraids, 3*5*4096 + 1, 3 * 5 * 8192, 3 * 5 * 4096},
		{flymon.CounterBraids, 3 * 2048, 3 * 4096, 3 * 4096}, // the second layer cannot be smaller than this
	} {
		x := task(t, "any", "src-ip", "frequency", tt.algorithm, tt.memory, 0)
		for _, x.Accurate = range []bool{true, false} {
			want := tt.efficient
			if x.Accurate {
				want = tt.accurate
			}
			p, err := plan.New(geometry()).Add("t", x)
			if err != nil || p.Buckets != want {
				t.Errorf("%s of %d, accurate %v: %d, %v, want %d", tt.algorithm, tt.memory, x.Accurate, p.Buckets, err, want)
			}
		}
	}
}

// Tasks prefer groups that chains do not need, and among these the groups that already make their keys. They use
// spliced groups only when the others are full, and chains never do.
func TestWhereTasksGo(t *testing.T) {
	geo := geometry()
	geo.Groups, geo.Spliced = 5, 3
	p := plan.New(geo)
	at := func(name, filter, key, attribute string, algorithm flymon.Algorithm, memory uint32, want int) {
		t.Helper()
		placed, err := p.Add(name, task(t, filter, key, attribute, algorithm, memory, 64))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := placed.Layout.Units[0].Group; got != want {
			t.Errorf("%s is in group %d, want %d", name, got, want)
		}
	}
	at("a", "any", "src-ip", "frequency", flymon.CMS, 3*2048, 1)
	at("b", "any", "dst-ip", "frequency", flymon.CMS, 3*2048, 2)                     // overlaps with a in group 1
	at("c", "any", "5-tuple", "frequency", flymon.CMS, 3*2048, 3)                    //
	at("d", "any", "protocol", "frequency", flymon.CMS, 3*2048, 0)                   //
	at("e", "any", "src-ip", "max(size)", flymon.SuMaxMax, 3*2048, 4)                //
	at("f", "any", "src-ip,dst-port", "frequency", flymon.MRAC, 65536, 5)            // in a spliced group
	at("g", "dst-port=53", "dst-ip", "distinct(src-ip)", flymon.BeauCoup, 3*2048, 6) //
	at("h", "dst-port=54", "none", "existence(src-ip)", flymon.Bloom, 3*2048, 6)     // the group makes the key src-ip
	at("i", "dst-port=55", "ip-pair", "frequency", flymon.MRAC, 2048, 6)             // the group makes the key by XOR
	if _, err := p.Add("j", task(t, "dst-port=56", "ip-pair", "frequency", flymon.CounterBraids, 49152, 0)); err == nil {
		t.Error("a chain has a place")
	}
}
