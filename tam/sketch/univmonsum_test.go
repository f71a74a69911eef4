package sketch

import (
	"math"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
)

// At most one sketch in 100 has an error beyond its bound, whatever its form and its flows. The bounds are not
// uselessly wide.
func TestUnivMonOff(t *testing.T) {
	forms := []struct{ flows, most, levels, rows, width, keep int }{
		{4000, 2000, 8, 5, 1024, 128}, {4000, 200000, 8, 5, 1024, 128}, {4000, 2000, 8, 3, 256, 128},
		{500, 10, 8, 5, 256, 32},
		{4000, 2000, 12, 5, 256, 16}, {1000, 1, 8, 5, 512, 64}, {4000, 100000, 8, 3, 100, 64},
	}
	var beyond, sketches int
	c := randtest.Run(t, randtest.Cases{Seed: 910100000, Count: 70, Short: 14}, func(t *testing.T, seed uint64) {
		f := forms[seed%uint64(len(forms))]
		r := rand.New(rand.NewPCG(seed, 0))
		sizes := zipf(f.flows, f.most)
		var square, off float64
		const runs = 4
		for range runs {
			u := newUnivMon(t, f.levels, f.rows, f.width, f.keep, r.Uint64())
			for _, i := range r.Perm(f.flows) {
				u.Add(vector(i, 0), uint32(sizes[i]))
			}
			h, n := u.Entropy(), u.Cardinality()
			sketches++
			if math.Abs(h.Value-entropy(sizes)) > h.Off || math.Abs(n.Value-float64(f.flows)) > n.Off {
				t.Logf("%+v: entropy %+v of %.3f, %+v flows", f, h, entropy(sizes), n)
				beyond++
			}
			square += math.Pow(n.Value-float64(f.flows), 2) / runs
			off += n.Off / runs
			if h.Why != "" || n.Why != "" {
				t.Errorf("%+v: nothing bounds %+v and %+v", f, h, n)
			}
		}
		// The mean of four squares of errors is below a ten thousandth of the variance once in 5 10^7 cases.
		if off > 100*deviations*math.Sqrt(square) {
			t.Errorf("%+v: bounds of %.0f flows, off by %.0f", f, off, math.Sqrt(square))
		}
	})
	if most := randtest.AtMost(0.01 * float64(sketches)); beyond > most {
		t.Errorf("%d of %d sketches are beyond their bounds in %d cases, want at most %d", beyond, sketches, c.Count, most)
	}
	t.Logf("%d of %d sketches beyond their bounds", beyond, sketches)
}

// A flow of one packet may share its counters with a flow of 400 in three rows of five. It is not mistaken for that
// flow. This occurs in the tenth sketch of this seed.
func TestUnivMonPosing(t *testing.T) {
	const found = 903900461
	randtest.Run(t, randtest.Cases{Seed: found}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		sizes := zipf(4000, 2000)
		var u *UnivMon
		for range 10 {
			u = newUnivMon(t, 8, 5, 1024, 128, r.Uint64())
			for _, i := range r.Perm(4000) {
				u.Add(vector(i, 0), uint32(sizes[i]))
			}
		}
		small := vector(3219, 0)
		if got := u.size(3, small); seed == found && (sizes[3219] != 1 || got != 400) {
			t.Fatalf("the flow of %d packets has %d by its median: another case than wanted", sizes[3219], got)
		}
		l := u.solve(3)
		for i, f := range l.flows {
			if seed == found && f == small && math.Abs(l.sizes[i]-1) > 5*l.spread {
				t.Errorf("it has %.1f packets, want 1 give or take %.1f", l.sizes[i], 5*l.spread)
			}
		}
		got, want := u.Entropy(), entropy(sizes)
		if seed == found && (math.Abs(got.Value-want) > got.Off || math.Abs(got.Value/want-1) > 0.03) {
			t.Errorf("entropy %+v, want %.3f", got, want)
		}
	})
}

// An answer without an error bound contains the reason.
func TestUnivMonUnbounded(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		for _, tt := range []struct {
			levels, width, keep int
			want                string
		}{{2, 1024, 16, lastFull}, {8, 16, 128, narrow}} {
			u := newUnivMon(t, tt.levels, 3, tt.width, tt.keep, seed)
			for i := range 1000 {
				u.Add(vector(i, 0), 1)
			}
			for _, b := range []Bounded{u.Entropy(), u.Cardinality()} {
				if b.Why != tt.want || !math.IsInf(b.Off, 1) {
					t.Errorf("%+v, want %q", b, tt.want)
				}
			}
		}
	})
}
