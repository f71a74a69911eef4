package sketching

import (
	"math"
	"time"

	"tamtam/lab"
	"tamtam/lab/study"
	"tamtam/tam/flymon"
	"tamtam/tam/libm"
)

// predictions returns the predictions of each point, from the sizes of the flows.
func (s *run) predictions(truth *flyTruth) []map[string]study.Prediction {
	_, packets := truth.seen()
	sizes := packets
	if s.Study == Victims {
		sizes = truth.elements()
	}
	all := make([]map[string]study.Prediction, len(s.plans))
	for i, p := range s.plans {
		all[i] = s.predict(p, sizes)
	}
	return all
}

func (s *run) predict(p *planned, sizes []uint32) map[string]study.Prediction {
	if p.placed == nil {
		return nil
	}
	switch s.Study {
	case Heavy, Victims:
		if d := s.detector(p, sizes); d != nil {
			rows, load := len(p.placed.Sketch.Rows), 0.0
			switch p.placed.Sketch.Algorithm {
			case flymon.Tower: // the counters in its other rows are full
				rows, load = 1, float64(len(sizes))/p.rowSize(0)
			case flymon.CMS:
				load = float64(len(sizes)) / p.rowSize(0)
			}
			return map[string]study.Prediction{"f1": s.alarm().f1(sizes, s.Threshold, rows, load, d)}
		}
	case Cardinality:
		if re, ok := s.cardinality(p, float64(len(sizes))); ok {
			return map[string]study.Prediction{"re": re}
		}
	case Entropy:
		naive := naiveEntropy(sizes, uint64(p.rowSize(0)), s.seed)
		return map[string]study.Prediction{"re": {Expected: math.NaN(), Lower: math.NaN(), Upper: relative(naive,
			entropyOf(sizes))}}
	case Interval:
		// Flows that share a bucket are wrong together: two of each pair, in each instance.
		instances, n := len(p.placed.Sketch.Rows), float64(len(sizes))
		bound, pairs := exactIntervals(len(sizes), p.rowSize(0), instances), 2*float64(instances)
		off := s.alarm().deviation(pairs*n*bound*(1-bound), pairs) / n
		return map[string]study.Prediction{"exact": {Expected: math.NaN(), Lower: max(0, bound-off), Upper: math.NaN()}}
	case Members:
		var bits []float64
		for i := range p.placed.Sketch.Rows {
			perBucket := libm.Exp2(math.Floor(libm.Log2(float64(p.geo.Width))))
			if p.curve.OneBit {
				perBucket = 1
			}
			bits = append(bits, p.rowSize(i)*perBucket)
		}
		return map[string]study.Prediction{
			"fp":     s.alarm().falsePositives(s.Members, bits, float64(max(1, len(sizes)-s.Members))),
			"missed": {Expected: 0, Lower: 0, Upper: 0},
		}
	}
	return nil
}

// rowSize returns the number of buckets of a row.
func (p *planned) rowSize(row int) float64 {
	return float64(p.placed.Layout.Units[p.placed.Sketch.Rows[row][0]].Size)
}

// detector returns the theory of a task that reports flows, or nil if there is none.
func (s *run) detector(p *planned, sizes []uint32) detector {
	rows, share := len(p.placed.Sketch.Rows), libm.Exp2(-float64(p.curve.Share))
	most := int(math.Ceil(float64(s.Threshold)*share)) + 1
	shifts := rowShifts(&p.placed.Layout, &p.placed.Sketch)
	switch p.placed.Sketch.Algorithm {
	case flymon.CMS:
		return counting(sampled(sizes, share, most).least(p.rowSize(0), rows, shifts), s.Threshold, share)
	case flymon.Tower:
		return towering(newPopulation(sizes, most).beyond(p.rowSize(0)), p.placed.Sketch.Bits, s.Threshold)
	case flymon.SuMaxSum:
		return conservative(newPopulation(sizes, most).least(p.rowSize(0), rows, nil), s.Threshold)
	case flymon.BeauCoup:
		m, q := int(p.placed.Sketch.Coupons), libm.Exp2(-float64(p.placed.Sketch.CouponShift))
		return collecting(m, q, newPopulation(sizes, 4*most).least(p.rowSize(0), rows, shifts))
	}
	return nil
}

// alarm returns the alarm for the values of a run: all of its points with each seed, some with two metrics.
func (s *run) alarm() alarm { return alarmOf(2 * s.seeds() * max(len(s.plans), s.Epochs)) }

// cardinality predicts the relative error of the estimate of n distinct flows. It returns false if there is no theory.
func (s *run) cardinality(p *planned, n float64) (study.Prediction, bool) {
	m := p.rowSize(0)
	switch p.placed.Sketch.Algorithm {
	case flymon.HyperLogLog:
		lower, upper := s.alarm().hyperLogLog(n, m, int(p.placed.Sketch.Element.Bits))
		return relativeError(n, 1.04/math.Sqrt(m), lower, upper), true
	case flymon.LinearCounting:
		m *= float64(p.geo.Width)
		load := n / m
		if load > libm.Log(m) {
			break // all bits are set, or soon will be
		}
		lower, upper := s.alarm().linearCounting(n, m)
		return relativeError(n, math.Sqrt(m*(libm.Exp(load)-load-1))/n, lower, upper), true
	}
	return study.Prediction{}, false
}

// assumptions returns the assumptions of the theory as text.
func (s *run) assumptions() []string {
	hashes := "hashes are uniform and independent of each other, but for rows that take their addresses from one " +
		"compressed key"
	bounds := s.alarm().words()
	switch s.Study {
	case Heavy, Victims:
		return []string{hashes, bounds, "candidates are all flows there were",
			"flow sizes are known: what others add to a bucket is compound Poisson"}
	case Changers:
		return []string{hashes, "each half of the time is an epoch", "candidates are all flows there were"}
	case Cardinality:
		return []string{hashes, bounds,
			"HyperLogLog has a standard error of 1.04 / sqrt(buckets); theory is the median of its amount, 0.6745 of it; " +
				"bounds are Chernoff's of its sum over buckets"}
	case Entropy:
		return []string{"the bound is the error of the entropy of the buckets' counts, with ideal hashes, the mean of " +
			"8 draws: how often MRAC does worse is not known"}
	case Interval:
		return []string{hashes, bounds,
			"flows are right to a unit of time if in no instance another has the bucket of their last arrival, and in one " +
				"none that of their longest interval"}
	case Members:
		return []string{hashes, bounds}
	}
	return nil
}

// nanoseconds converts a time to the type that tasks use.
func nanoseconds(t lab.Time) time.Duration { return time.Duration(t / lab.Nanosecond) }
