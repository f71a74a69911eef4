package sketching

import (
	"math"
	mathbits "math/bits"
	"slices"

	"tamtam/lab/chance"
	"tamtam/lab/study"
	"tamtam/tam/flymon"
	"tamtam/tam/libm"
)

// A population holds the number of flows of each size, as far as theory needs it. Sizes from most on are large: they
// are not distinguished.
type population struct {
	count []float64 // number of flows by size, 1 to most-1; fractional in a sample
	sizes []int     // sizes that occur, ascending
	large float64
}

func newPopulation(sizes []uint32, most int) *population {
	p := &population{count: make([]float64, most)}
	for _, s := range sizes {
		if s > 0 && int(s) < most {
			p.count[s]++
		} else if s > 0 {
			p.large++
		}
	}
	p.list()
	return p
}

func (p *population) list() {
	p.sizes = p.sizes[:0]
	for s, n := range p.count {
		if n > 0 {
			p.sizes = append(p.sizes, s)
		}
	}
}

func (p *population) flows() float64 {
	sum := p.large
	for _, s := range p.sizes {
		sum += p.count[s]
	}
	return sum
}

// sampled returns the population that remains if each packet is sampled with probability q.
func sampled(sizes []uint32, q float64, most int) *population {
	p := &population{count: make([]float64, most)}
	for _, h := range histogram(sizes) {
		n := h.count
		binomial(int(h.size), q, func(k int, chance float64) {
			switch {
			case k >= most:
				p.large += float64(float64(n) * chance)
			case k > 0:
				p.count[k] += float64(float64(n) * chance)
			}
		})
	}
	p.list()
	return p
}

// A sizeCount holds how many flows have a size.
type sizeCount struct {
	size  uint32
	count int
}

// histogram counts the sizes, ascending. So sums over them are the same to the last bit each time.
func histogram(sizes []uint32) (list []sizeCount) {
	for _, s := range slices.Sorted(slices.Values(sizes)) {
		if last := len(list) - 1; last >= 0 && list[last].size == s {
			list[last].count++
		} else {
			list = append(list, sizeCount{s, 1})
		}
	}
	return list
}

// binomial calls f for each number of successes of n trials that is more likely than about 1e-9.
func binomial(n int, q float64, f func(k int, chance float64)) {
	if q >= 1 {
		f(n, 1)
		return
	}
	mean, wide := float64(float64(n)*q), float64(7*math.Sqrt(float64(n)*q*(1-q)))+8
	lnN := libm.LogFactorial(n)
	for k := int(max(0, mean-wide)); k <= min(n, int(mean+wide)); k++ {
		lnChoose := lnN - libm.LogFactorial(k) - libm.LogFactorial(n-k)
		f(k, libm.Exp(lnChoose+float64(float64(k)*libm.Log(q))+float64(float64(n-k)*libm.Log1p(-q))))
	}
}

// beyond returns, for y from 0 to most, the probability that other flows add y or more to a bucket. A flow hits the
// bucket with probability 1/buckets, so the sum is compound Poisson. Its probabilities follow by Panjer's recursion.
func (p *population) beyond(buckets float64) []float64 {
	most := len(p.count)
	// e^-rate must not underflow, so the noise of a fraction of the flows is computed and convolved with itself.
	folds := 0
	for rate := p.flows() / buckets; rate > 500; rate /= 2 {
		folds++
	}
	buckets = math.Ldexp(buckets, folds)
	at := make([]float64, most)
	at[0] = libm.Exp(-p.flows() / buckets)
	for y := 1; y < most; y++ {
		var sum float64
		for _, s := range p.sizes {
			if s > y {
				break
			}
			sum += float64(float64(s) * p.count[s] * at[y-s])
		}
		at[y] = sum / buckets / float64(y)
	}
	for range folds {
		at = folded(at)
	}
	t := make([]float64, most+1)
	t[0] = 1
	for y := range at {
		t[y+1] = max(0, t[y]-at[y])
	}
	return t
}

// folded returns the distribution of the sum of two independent values of a distribution.
func folded(at []float64) []float64 {
	sum := make([]float64, len(at))
	for i, a := range at {
		if a == 0 {
			continue
		}
		for j := range at[:len(at)-i] {
			sum[i+j] += float64(a * at[j])
		}
	}
	return sum
}

// least returns the probability that the noise is y or more in all rows. Each row derives its address from the same
// compressed key, rotated by a shift of its own (section 3.2). If shifts is nil, the keys are independent of each
// other. Addresses overlap if they have more bits than the shifts differ. A flow that meets another in two rows then
// does so more often than by chance. The result includes that to first order: one such flow at most.
func (p *population) least(buckets float64, rows int, shifts []uint8) []float64 {
	power := float64(rows)
	both, all := meetings(int(libm.Log2(buckets)), shifts)
	// Flows that meet in two rows are counted separately. So fewer flows meet in only one row.
	t := p.beyond(1 / max(1/buckets-2*both/power-all, 1e-3/buckets))
	q := make([]float64, len(t))
	for y := range t {
		q[y] = libm.Pow(t[y], power)
	}
	if both == 0 && all == 0 {
		return q
	}
	corrected := slices.Clone(q)
	for y := 1; y < len(t); y++ {
		rest := libm.Pow(t[y], power-2)
		add := func(n, then float64) {
			pairs, many := float64(then*then*rest)-q[y], libm.Pow(then, power)-q[y]
			corrected[y] += float64(n * (float64(both*pairs) + float64(all*many)))
		}
		above := p.large
		for _, s := range p.sizes {
			if s < y {
				add(p.count[s], t[y-s])
			} else {
				above += p.count[s]
			}
		}
		add(above, 1)
		corrected[y] = min(1, corrected[y])
	}
	return corrected
}

// meetings returns the probability, beyond chance, that two flows have the same bucket: in exactly two of the rows (the
// sum over all pairs), and in all.
func meetings(bits int, shifts []uint8) (both, all float64) {
	window := func(s uint8) uint32 { return mathbits.RotateLeft32(uint32(1<<bits-1), int(s)) }
	var union uint32
	for i, s := range shifts {
		union |= window(s)
		for _, r := range shifts[:i] {
			both += libm.Exp2(-float64(mathbits.OnesCount32(window(s)|window(r)))) - libm.Exp2(-2*float64(bits))
		}
	}
	if len(shifts) == 3 {
		all = libm.Exp2(-float64(mathbits.OnesCount32(union)))
		both = max(0, both-float64(3*all))
	}
	return both, all
}

// A detector returns the probability that a flow of each size is reported: a lower bound, the expected value, and an
// upper bound.
type detector func(size uint32) (low, mid, high float64)

// f1 predicts the F1 of reports of flows at or above a threshold. Flows below it are reported because of others in
// their buckets. So they are not independent of each other. load is the number of flows per bucket in each of the rows.
// If it is 0, flows are reported independently.
//
// Let t be the probability that a bucket is that full. A flow is reported by d rows with q = t^d. Then each of the load
// others in one of its buckets is reported with t^(d-1). So on average d load t^(d-1) (1-t) others are reported with
// it. The number of such groups has a Poisson distribution, and so has the number of flows beside the first of a group.
func (l alarm) f1(sizes []uint32, threshold uint64, rows int, load float64, report detector) study.Prediction {
	var actual, others float64
	var hit, miss [3][]reported
	for _, h := range histogram(sizes) {
		n := float64(h.count)
		to := &miss
		if uint64(h.size) >= threshold {
			to = &hit
			actual += n
		} else {
			others += n
		}
		low, mid, high := report(h.size)
		for i, p := range [3]float64{low, mid, high} {
			t := libm.Pow(p, 1/float64(rows))
			with := load * float64(rows) * libm.Pow(t, float64(rows-1)) * (1 - t)
			to[i] = append(to[i], reported{n, p, with})
		}
	}
	score := func(hit, miss float64) float64 {
		hit, miss = min(max(0, hit), actual), min(max(0, miss), others)
		if hit+miss+actual == 0 {
			return 1
		}
		return 2 * hit / (hit + miss + actual)
	}
	half := l + math.Ln2 // either may be too small or too large
	// Flows are whole; a certain value may come out a little smaller or larger.
	least := func(moments func(float64) float64) float64 { return math.Ceil(half.below(moments) - 1e-6) }
	most := func(moments func(float64) float64) float64 { return math.Floor(half.above(moments) + 1e-6) }
	return study.Prediction{
		Expected: score(meanOf(hit[1]), meanOf(miss[1])),
		Lower:    score(least(independently(hit[0])), most(inGroups(miss[2]))),
		Upper:    score(most(independently(hit[2])), least(inGroups(miss[0]))),
	}
}

// reported describes n flows, each of which is reported with probability chance, together with others.
type reported struct{ n, chance, with float64 }

func meanOf(flows []reported) (mean float64) {
	for _, f := range flows {
		mean += float64(f.n * f.chance)
	}
	return mean
}

// independently returns ln E e^(rate X) of the number of flows that are reported independently of each other.
func independently(flows []reported) func(rate float64) float64 {
	return func(rate float64) (sum float64) {
		for _, f := range flows {
			sum += logMoments(f.n, []weighted{{0, 1 - f.chance}, {1, f.chance}})(rate)
		}
		return sum
	}
}

// inGroups returns ln E e^(rate X) of the number of flows that are reported in groups.
func inGroups(flows []reported) func(rate float64) float64 {
	return func(rate float64) (sum float64) {
		for _, f := range flows {
			if f.chance > 0 {
				sum += float64(f.n * f.chance / (1 + f.with) * libm.Expm1(rate+float64(f.with*libm.Expm1(rate))))
			}
		}
		return sum
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// counting detects flows by the smallest counter of their rows. Each packet is counted with probability share.
func counting(least []float64, threshold uint64, share float64) detector {
	want := int(math.Ceil(float64(threshold) * share))
	return func(size uint32) (low, mid, high float64) {
		binomial(int(size), share, func(k int, chance float64) {
			switch need := want - k; {
			case need <= 0:
				mid += chance
			case need < len(least):
				mid += float64(chance * least[need])
			}
		})
		return mid, mid, mid
	}
}

// towering detects flows by counters of different width. A full counter gives no information.
func towering(beyond []float64, widths []uint8, threshold uint64) detector {
	return func(size uint32) (low, mid, high float64) {
		mid = 1
		for _, w := range widths {
			if need := int64(min(threshold, 1<<w-1)) - int64(size); need > 0 {
				mid *= beyond[need]
			}
		}
		return mid, mid, mid
	}
}

// naiveEntropy returns the entropy of the counts of buckets, if each flow has a random bucket: the mean of 8 draws.
func naiveEntropy(sizes []uint32, buckets, seed uint64) float64 {
	const draws = 8
	r := chance.New(seed, "theory/entropy")
	var sum float64
	for range draws {
		counts := make([]uint32, buckets)
		for _, n := range sizes {
			counts[r.Below(buckets)] += n
		}
		sum += entropyOf(counts)
	}
	return sum / draws
}

// conservative bounds SuMax(Sum), whose counters are never above those of a Count-Min Sketch of
// independent rows, and never below a flow's own count.
func conservative(least []float64, threshold uint64) detector {
	count := counting(least, threshold, 1)
	return func(size uint32) (low, mid, high float64) {
		_, _, high = count(size)
		if uint64(size) >= threshold {
			return 1, math.NaN(), 1
		}
		return 0, math.NaN(), high
	}
}

// collected returns the probability that all m coupons are collected after n draws, each of which draws each coupon
// with probability q.
func collected(m int, q float64, n int) float64 {
	sum, choose := 0.0, 1.0
	for j := 0; j <= m; j++ {
		sum += float64(choose * libm.Pow(max(0, 1-float64(float64(j)*q)), float64(n)))
		choose *= -float64(m-j) / float64(j+1)
	}
	return min(1, max(0, sum))
}

// collecting detects flows by their coupons in all tables. Coupons of other flows can only help to complete a table.
// Without them the probability is the lower bound. A flow is not reported before the table with the smallest noise is
// complete.
func collecting(m int, q float64, least []float64) detector {
	most := 64 << 10
	chance := make([]float64, 0, most)
	for n := 0; n < most; n++ {
		c := collected(m, q, n)
		chance = append(chance, c)
		if 1-c < 1e-9 {
			break
		}
	}
	at := func(n int) float64 { return chance[min(n, len(chance)-1)] }
	return func(size uint32) (low, mid, high float64) {
		low = at(int(size))
		high = low
		for y := 1; y < len(least); y++ { // sum of the probability of y or more times the increment of the y-th
			high += float64(least[y] * (at(int(size)+y) - at(int(size)+y-1)))
		}
		// Noise beyond the distinguished values is assumed to complete the collection.
		high += float64(least[len(least)-1] * (1 - at(int(size)+len(least)-1)))
		return low, high, high
	}
}

// countError predicts the average relative error of a Count-Min Sketch: the mean of the least noise times the mean of
// 1/size. Its bounds are Chernoff's for the same number of independent flows.
func (l alarm) countError(sizes []uint32, least []float64) study.Prediction {
	var mean, inverse float64
	for _, q := range least[1:] { // the sum of the probabilities of y or more is the mean
		mean += q
	}
	list := histogram(sizes)
	for _, h := range list {
		inverse += float64(h.count) / float64(h.size)
	}
	n := float64(len(sizes))
	low, high := ranges(least)
	moments := func(noise []weighted) func(float64) float64 {
		return func(rate float64) float64 {
			sum := 0.0
			for _, h := range list {
				sum += logMoments(float64(h.count), noise)(rate / float64(h.size))
			}
			return sum
		}
	}
	are := mean * inverse / n
	return study.Prediction{
		Expected: are, Lower: max(0, l.below(moments(low))/n), Upper: l.above(moments(high)) / n,
	}
}

// ranges approximates a distribution, given as the probabilities of each value or more, by ranges of at most an eighth.
// It returns one with the smallest value of each range and one with the largest.
func ranges(least []float64) (low, high []weighted) {
	for from := 0; from < len(least); {
		to := from + 1 + from/8
		chance := least[from]
		if to < len(least) {
			chance -= least[to]
		}
		low = append(low, weighted{float64(from), chance})
		high = append(high, weighted{float64(min(to, len(least)) - 1), chance})
		from = to
	}
	return low, high
}

// relativeError returns the prediction of the relative error of an estimate of n. The median follows from the standard
// error, and the bound from those of the estimate.
func relativeError(n, deviation, lower, upper float64) study.Prediction {
	return study.Prediction{Expected: 0.6745 * deviation, Lower: math.NaN(), Upper: max(upper/n-1, 1-lower/n)}
}

// falsePositives predicts the false positives of a Bloom filter among n elements that were not inserted, given the bits
// of each row. These are elements whose bits are set in all rows. The number of bits set in a row varies too: it is a
// sum of negatively associated variables.
func (l alarm) falsePositives(members int, bits []float64, n float64) study.Prediction {
	p, loads := 1.0, 0.0
	for _, m := range bits {
		clear := libm.Exp(-float64(members) / m)
		p *= 1 - clear
		loads += l.deviation(m*clear*(1-clear), 1) / m / (1 - clear)
	}
	above := min(1, p*libm.Exp(loads))
	off := l.deviation(n*above*(1-above), 1) / n
	return study.Prediction{Expected: p, Lower: max(0, float64(p*libm.Exp(-loads))-off), Upper: min(1, above+off)}
}

// exactIntervals returns a lower bound of the share of flows whose longest interval is right. Two conditions must hold.
// In no instance may another flow share the bucket of their last arrival. That makes intervals too short, or too long
// if the Bloom filter mistakes a new flow for a known one. In at least one instance, no other flow may share the bucket
// of the longest interval, which makes it too long.
func exactIntervals(flows int, buckets float64, instances int) float64 {
	alone := libm.Exp(-float64(flows) / buckets)
	return libm.Pow(alone, float64(instances)) * (1 - libm.Pow(1-alone, float64(instances)))
}

// rowShifts returns the shifts of the rows of a sketch that derive their addresses from one compressed key. It returns
// nil if each row has its own key.
func rowShifts(l *flymon.Layout, s *flymon.Sketch) (shifts []uint8) {
	first := &l.Units[s.Rows[0][0]]
	for _, row := range s.Rows {
		u := &l.Units[row[0]]
		if u.Group != first.Group || u.Key.A != first.Key.A || u.Key.B != first.Key.B {
			return nil
		}
		shifts = append(shifts, u.Key.Shift)
	}
	return shifts
}
