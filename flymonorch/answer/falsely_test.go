package answer_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/flymonorch/plan"
	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
)

// The estimated number of false entries in a list of coupons is near the exact number, or saturated. Thresholds, tables
// and numbers of distinct values are random, and many are below the threshold. The estimate has no theoretical bound:
// 1,000 random tasks stayed within the factor used here.
func TestFalseVictims(t *testing.T) {
	reported, fixed := 0, randtest.Cases{Seed: 1, Count: 40, Short: 8}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 31))
		width := []int{8, 16, 32}[random.IntN(3)]
		threshold := uint64(3 + random.IntN(1<<(2+random.IntN(7))))
		for flymon.CheckCoupons(threshold, uint8(width)) != nil {
			threshold++
		}
		geo := small(width)
		geo.Depth = 4096
		r := newRunOn(t, geo, flymon.Task{
			Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: parse(t, flymon.ParseAttribute, "distinct(dst-ip)"),
			Algorithm: flymon.BeauCoup, Memory: 3 * 512 << random.IntN(4), Threshold: threshold, Accurate: true,
		})
		flows, skew := 50+random.IntN(1500), random.Float64()*2
		n := uint64(0)
		base := random.Uint32()
		typical := float64(threshold) * math.Pow(random.Float64(), 2) * 2
		for f := range uint32(flows) {
			if n > 1<<18 { // limit of the oracle, in pairs
				break
			}
			for e := range 1 + uint32(min(typical*math.Pow(random.Float64(), -skew), 4*float64(threshold))) {
				n++
				r.send((base+f)&0xffffff, (base+f*7919+e)&0xffffff, n)
			}
		}
		r.truth()
		var all []flymon.Vector
		for v := range r.exact.Flows {
			all = append(all, v)
		}
		reading := r.reading()
		list := reading.Heavy(all, threshold)
		wrong := 0
		for _, f := range list {
			if r.exact.Flows[f.Flow] < threshold {
				wrong++
			}
		}
		e, ok := reading.Falsely(len(list))
		if !ok || e.Value < 0 || e.Value > float64(len(list)) || (e.Confidence > 0) != (len(list) == 0) || e.Bound == "" {
			t.Fatalf("of %d listed: %+v", len(list), e)
		}
		if e.Saturated {
			return
		}
		reported++
		slack := 10 + float64(len(list))/20
		if ratio := (e.Value + slack) / (float64(wrong) + slack); ratio > 4 || ratio < 1./4 {
			t.Errorf("threshold %d, %d coupons: of %d flows %d are listed, %d of them false: %+v", threshold,
				r.placed.Sketch.Coupons,
				len(all), len(list), wrong, e)
		}
	})
	t.Logf("%d of %d are not saturated", reported, ran.Count)
	if ran.Whole(fixed) && 4*reported < ran.Count {
		t.Errorf("%d of %d are not saturated: too few", reported, ran.Count)
	}
}

// With a threshold of 2 there is only one coupon, and a flow of one element has it in every second case. The list would
// be noise.
func TestListOfTooFewCoupons(t *testing.T) {
	for threshold, want := range map[uint64]string{
		2: "want 1 or 3: its coupons would list a flow of 1 distinct values with a probability of 50 %",
		4: "want 3 or 6", 5: "want 3 or 6", 12: "want 11 or 13", 1: "", 3: "", 6: "", 8: "", 50: "", 1000: "", 1 << 20: "",
	} {
		_, err := plan.New(small(32)).Add("t", flymon.Task{
			Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: parse(t, flymon.ParseAttribute, "distinct(dst-ip)"),
			Algorithm: flymon.BeauCoup, Memory: 96, Threshold: threshold,
		})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("threshold %d: %v, want %q", threshold, err, want)
		}
	}
}
