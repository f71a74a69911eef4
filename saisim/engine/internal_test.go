package engine

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/saisim/profile"
)

// Time of day is start + floor(cycles * 10^9 / Hz) ns, with no drift over 2^60 cycles. cycleAt returns the first cycle
// that is not before a time.
func TestTimeOfDay(t *testing.T) {
	start := time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		for _, hz := range []uint64{1, 3, 1_000_000_000, 1_250_000_000, 999_999_937, 7_999_999_999, 8_000_000_000} {
			tod := newClock(hz, start)
			for range 2000 {
				c := rnd.Uint64() >> (4 + rnd.IntN(60))
				ns := new(big.Int).Mul(new(big.Int).SetUint64(c), big.NewInt(1e9))
				ns.Div(ns, new(big.Int).SetUint64(hz))
				ns.Add(ns, big.NewInt(999_999_999))
				sec, rest := new(big.Int).DivMod(ns, big.NewInt(1e9), new(big.Int))
				got := tod.At(Cycle(c))
				if want := sec.Uint64() + uint64(start.Unix()); got.Seconds != want || uint64(got.Nanoseconds) != rest.Uint64() {
					t.Fatalf("%d Hz, cycle %d: %+v, want %d s %d ns", hz, c, got, want, rest)
				}
				d := time.Duration(rnd.Uint64() >> (1 + rnd.IntN(62)))
				if hz > 1_250_000_000 {
					d >>= 4 // 292 years at 8 GHz are more than 2^64 cycles
				}
				at := tod.CycleAt(d)
				if x := new(big.Int).Mul(new(big.Int).SetUint64(uint64(at)),
					big.NewInt(1e9)); x.Cmp(new(big.Int).Mul(big.NewInt(int64(d)), new(big.Int).SetUint64(hz))) < 0 {
					t.Fatalf("%d Hz: cycle %d is before %v", hz, at, d)
				}
				if hz >= 1_000_000_000 {
					if got := tod.At(at).Time().Sub(start); got != d {
						t.Fatalf("%d Hz: %v is cycle %d, which is %v", hz, d, at, got)
					}
				}
			}
		}
	})
}

// Line rates are exact: n frames last n times as long as one.
func TestLineRate(t *testing.T) {
	for _, tt := range []struct {
		hz       uint64
		mbps     uint32
		num, den uint64
	}{
		{1_250_000_000, 10_000, 1, 1},
		{1_000_000_000, 10_000, 4, 5},
		{1_000_000_000, 100_000, 2, 25},
		{1_000_000_000, 800_000, 1, 100},
		{999_999_937, 1_000, 999_999_937, 125_000_000},
	} {
		r := newLineRate(tt.hz, tt.mbps)
		if r.num != tt.num || r.den != tt.den {
			t.Errorf("%d Hz, %d Mb/s: %d/%d cycles a byte, want %d/%d", tt.hz, tt.mbps, r.num, r.den, tt.num, tt.den)
		}
		a := instant{cycle: 5}
		const n, size = 100_000, 1538
		for range n {
			r.frames(size)
			a = r.after(a, r.frame)
		}
		want := new(big.Int).Mul(big.NewInt(n*size), new(big.Int).SetUint64(r.num))
		q, m := want.DivMod(want, new(big.Int).SetUint64(r.den), new(big.Int))
		if uint64(a.cycle) != q.Uint64()+5 || a.frac != m.Uint64() {
			t.Errorf("%d frames end at %d + %d/%d, want %d + %d", n, a.cycle, a.frac, r.den, q, m)
		}
	}
}

// A MAC that has run for 2^60 cycles is as exact as a new one.
func TestMACDoesNotDrift(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 8}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, seed))
		for range 2000 {
			r := newLineRate(1+rnd.Uint64N(8e9), 1+rnd.Uint32N(800_000))
			a := instant{Cycle(rnd.Uint64N(1 << 60)), rnd.Uint64N(r.den)}
			exact := func(a instant) *big.Int { // in 1/den cycles
				x := new(big.Int).Mul(new(big.Int).SetUint64(uint64(a.cycle)), new(big.Int).SetUint64(r.den))
				return x.Add(x, new(big.Int).SetUint64(a.frac))
			}
			want := exact(a)
			for range 20 {
				n := rnd.Uint32N(maxFrame + 20)
				r.frames(n)
				a = r.after(a, r.frame)
				want.Add(want, new(big.Int).Mul(new(big.Int).SetUint64(uint64(n)), new(big.Int).SetUint64(r.num)))
			}
			if exact(a).Cmp(want) != 0 || a.frac >= r.den {
				t.Fatalf("%d/%d cycles a byte: at %d + %d/%d, want %v/%d", r.num, r.den, a.cycle, a.frac, r.den, want, r.den)
			}
		}
	})
}

// An agenda returns near and far events in the order of time, class and port, while time advances.
func TestAgenda(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	randtest.Run(t, randtest.Cases{Seed: 2}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var a agenda
		var want []event
		now := Cycle(7)
		order := func(a, b event) int { return map[bool]int{true: -1, false: 1}[a.before(b)] }
		pending := func(key uint32) int { return slices.IndexFunc(want, func(e event) bool { return e.key == key }) }
		check := func() event {
			slices.SortFunc(want, order)
			e, ok := a.first(now)
			if ok != (len(want) > 0) || ok && e != want[0] {
				t.Fatalf("at %d: first is %v, want one of %v", now, e, want)
			}
			return e
		}
		for range 50_000 {
			key := eventKey(rnd.IntN(int(numClasses)), PortID(rnd.IntN(profile.MaxLanes)))
			switch i := pending(key); {
			case i >= 0 && rnd.IntN(2) == 0:
				a.remove(key)
				want = slices.Delete(want, i, i+1)
			case i < 0 && len(want) < 60:
				span := []int{3, 100, wheelSpan - 1, wheelSpan + 1, 10 * wheelSpan}[rnd.IntN(5)]
				e := event{now + Cycle(rnd.IntN(span)), key}
				a.push(now, e)
				want = append(want, e)
			}
			e := check()
			if len(want) > 0 && rnd.IntN(2) == 0 {
				now = e.at
				a.pop(e)
				want = want[1:]
				check()
			} else if len(want) > 0 {
				now += Cycle(rnd.IntN(int(e.at-now) + 1)) // up to the first event
				check()
			}
		}
	})
}

// The FDB behaves as a map of bounded size.
func TestFDB(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 5}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		f := newFDB(3000)
		m := map[uint64]Cycle{}
		for range 20_000 {
			k := fdbKey(uint16(1+rnd.IntN(3)), uint64(rnd.IntN(1500)))
			e := f.find(k)
			if _, ok := m[k]; ok != (e != nil) || e != nil && e.seen != m[k] {
				t.Fatalf("%x is %v, want %v", k, e, m[k])
			}
			switch {
			case e != nil && rnd.IntN(2) == 0:
				f.remove(k)
				delete(m, k)
			case e == nil:
				seen := Cycle(rnd.Uint64())
				if ok := f.insert(fdbEntry{key: k, seen: seen}) != nil; ok != (len(m) < 3000) {
					t.Fatalf("insert %v with %d of 3000", ok, len(m))
				} else if ok {
					m[k] = seen
				}
			}
			if f.n != len(m) {
				t.Fatalf("%d entries, want %d", f.n, len(m))
			}
		}
		if keys := f.keys(func(*fdbEntry) bool { return true }); len(keys) != len(m) || !slices.IsSorted(keys) {
			t.Errorf("%d keys of %d, sorted %v", len(keys), len(m), slices.IsSorted(keys))
		}
	})
}

// The next waiting port is the next of the set in the order of numbers, which wraps around.
func TestNextWaitingPort(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s waitingPorts
		in := map[PortID]bool{}
		for range 20_000 {
			p := PortID(r.IntN(profile.MaxLanes)) &^ PortID(63*r.IntN(2)) // many at the edges of words
			if in[p] {
				s.remove(p)
				delete(in, p)
			} else if len(in) < 5 {
				s.add(p)
				in[p] = true
			}
			if len(in) == 0 {
				continue
			}
			from := PortID(r.IntN(profile.MaxLanes))
			want := (from + 1) % profile.MaxLanes
			for !in[want] {
				want = (want + 1) % profile.MaxLanes
			}
			if got := s.after(from); got != want {
				t.Fatalf("after %d: %d, want %d of %v", from, got, want, in)
			}
		}
	})
}
