package altmark_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/tam/altmark"
)

// nanos returns a time in ns since 1970.
func nanos(t altmark.Time) *big.Int {
	ns := new(big.Int).Mul(new(big.Int).SetUint64(t.Seconds), big.NewInt(1e9))
	return ns.Add(ns, big.NewInt(int64(t.Nanoseconds)))
}

// The chip's wrapping sums give the exact sum of every period, at every interval: they equal rational arithmetic on the
// same times. This includes times before the period and the greatest readings of a clock.
func TestArrivalsAreExact(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 50}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		n := altmark.Interval(rnd.IntN(19)) + altmark.MinInterval
		// The chip has added up for a long time, and its sum is about to wrap.
		chip := altmark.ChipArrivals{Packets: rnd.Uint64() >> 1, Sum: altmark.Sum{Hi: 1<<64 - 1,
			Lo: 1<<64 - 1 - rnd.Uint64N(1e9)}}
		for range 20 {
			k := n.Period(altmark.Time{Seconds: 1000 + rnd.Uint64N(1<<(1+rnd.UintN(47)))})
			before, want, packets := chip, new(big.Int), rnd.IntN(50)
			for range packets {
				at := n.Start(k).Add(time.Duration(rnd.Int64N(3*int64(n.Duration())) - int64(n.Duration())))
				chip.Add(at, rnd.IntN(3) == 0)
				want.Add(want, new(big.Int).Sub(nanos(at), nanos(n.Start(k))))
			}
			got := chip.Since(before, n, k)
			if !got.Summed || got.Packets != uint64(packets) || got.Sum.Big().Cmp(want) != 0 {
				t.Fatalf("interval %d, period %d: %+v, %v, want %d packets, %v", n, k, got, got.Sum, packets, want)
			}
			if packets == 0 {
				continue
			}
			mean, ok := got.Sum.Mean(got.Packets)
			exact := new(big.Rat).SetFrac(want, big.NewInt(int64(packets)))
			off := exact.Sub(exact, new(big.Rat).SetInt64(int64(mean))) // halves are rounded up
			if !ok || off.Cmp(big.NewRat(-1, 2)) < 0 || off.Cmp(big.NewRat(1, 2)) >= 0 {
				t.Fatalf("the mean of %v by %d is %v", want, packets, mean)
			}
		}
	})
}

// Sums parse to the value that was written. Other texts are refused.
func TestSumWords(t *testing.T) {
	for _, text := range []string{
		"0", "-1", "18446744073709551616", "-18446744073709551617",
		"170141183460469231731687303715884105727", "-170141183460469231731687303715884105728",
	} {
		s, err := altmark.ParseSum(text)
		b, err2 := json.Marshal(s)
		if err != nil || err2 != nil || s.String() != text || string(b) != `"`+text+`"` {
			t.Errorf("%s: %v %s, %v", text, s, b, err)
		}
	}
	for _, text := range []string{
		"", "x", "1.5", "+1", "-0", "007", " 1", "1e3",
		"170141183460469231731687303715884105728", "-170141183460469231731687303715884105729", strings.Repeat("9", 100),
	} {
		if s, err := altmark.ParseSum(text); err == nil {
			t.Errorf("%q is read as %v", text, s)
		}
	}
	if mean, ok := (altmark.Sum{Hi: 1}).Mean(1); ok {
		t.Errorf("2^64 ns are %v", mean)
	}
	if mean, ok := (altmark.Sum{}).Mean(0); ok {
		t.Errorf("the mean of no packets is %v", mean)
	}
}

// The longest answer to a read of flows fits in a SAI list on the wire. It leaves 2 kB for names and the clock.
func TestWindowsFit(t *testing.T) {
	const most = 1<<64 - 1
	all := altmark.ChipCounts{Packets: most, Bytes: most, Captures: most,
		Captured:       altmark.Time{Seconds: 1<<48 - 1, Nanoseconds: 1e9 - 1},
		Unsynchronised: true, Outside: most, PulseBytes: most, Foreign: most, ForeignBytes: most, Digest: 1<<32 - 1,
		Arrivals: altmark.ChipArrivals{Packets: most, Sum: altmark.Sum{Hi: most, Lo: most}, Unsynchronised: most}}
	flow := []uint64{most, 1 << 60, 1 << 60, altmark.MaxChipArrivals} // generation, late periods, index
	for range 2 {
		flow = all.Words(flow)
	}
	length := func(words []uint64) (n int) {
		for _, w := range words {
			n += len(fmt.Sprint(w)) + 1
		}
		return n
	}
	if n := altmark.MaxChipFlows*length(flow) + 2048; n > 65536 {
		t.Errorf("%d flows are %d bytes", altmark.MaxChipFlows, n)
	}
	for range 2 {
		flow = all.Arrivals.Words(flow)
	}
	if n := altmark.MaxChipArrivals*length(flow) + 2048; n > 65536 {
		t.Errorf("%d flows with arrivals are %d bytes", altmark.MaxChipArrivals, n)
	}
}

// The words for arrivals must cover all flows of the read, otherwise they are refused.
func TestParseChipArrivals(t *testing.T) {
	want := [2]altmark.ChipArrivals{{Packets: 1, Sum: altmark.Sum{Hi: 2, Lo: 3}, Unsynchronised: 4},
		{Packets: 5, Sum: altmark.Sum{Lo: 6}}}
	words := want[1].Words(want[0].Words(nil))
	flows := make([]altmark.ChipFlow, 1)
	if err := altmark.ParseChipArrivals(flows, words); err != nil || flows[0].Of[0].Arrivals != want[0] ||
		flows[0].Of[1].Arrivals != want[1] {
		t.Errorf("%+v, %v", flows[0], err)
	}
	if err := altmark.ParseChipArrivals(flows, nil); err != nil {
		t.Error(err)
	}
	if err := altmark.ParseChipArrivals(flows, words[1:]); err == nil ||
		err.Error() != "7 numbers as arrivals, want 8 for 1 flows" {
		t.Error(err)
	}
}
