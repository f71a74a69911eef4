package sketch

// A Braid is a row of Counter Braids (Lu et al., 2008; FlyMon, Appendix D). For each counter of its first layer, the
// total of its flows is from Low to High. A High of Endless or more means that there is no upper bound.
type Braid struct{ Low, High []uint64 }

// Endless stands for a number without an upper bound. It is small enough that the sum over nearly 2^24 flows fits in 64
// bits.
const Endless = 1 << 40

// NewBraid decodes two layers. A counter of the first layer counts to full. Further packets count in the second layer,
// in the counter of its number modulo the layer's length, up to most. The result is exact if only one full counter
// shares that second counter.
func NewBraid(first, second []uint32, full, most uint32) Braid {
	b := Braid{Low: make([]uint64, len(first)), High: make([]uint64, len(first))}
	sharing := make([]int, len(second))
	for i, c := range first {
		if c >= full {
			sharing[i%len(second)]++
		}
	}
	for i, c := range first {
		b.Low[i], b.High[i] = uint64(c), uint64(c)
		if at := i % len(second); c >= full {
			b.High[i] += uint64(second[at])
			if sharing[at] == 1 {
				b.Low[i] = b.High[i]
			}
			if second[at] >= most {
				b.High[i] = Endless
			}
		}
	}
	return b
}

// Decode returns bounds of the sizes of flows from rows. counters[flow][row] is the counter of each flow in each row. A
// flow is at most its counter minus the lower bounds of the counter's other flows. It is at least its counter minus
// their upper bounds. Decode repeats this until nothing changes, at most limit times. counters must include all flows
// that were counted. Then a size is exact where both bounds are equal.
func Decode(rows []Braid, counters [][]uint32, limit int) (low, high []uint64) {
	low, high = make([]uint64, len(counters)), make([]uint64, len(counters))
	for f, at := range counters {
		low[f], high[f] = 1, ^uint64(0)
		for r := range rows {
			high[f] = min(high[f], rows[r].High[at[r]])
		}
		low[f] = min(low[f], high[f])
	}
	for range limit {
		changed := false
		for r := range rows {
			lows, highs := make([]uint64, len(rows[r].Low)), make([]uint64, len(rows[r].Low))
			for f, at := range counters {
				lows[at[r]] += low[f]
				highs[at[r]] += high[f]
			}
			for f, at := range counters {
				c := at[r]
				most, least := rows[r].High[c], less(rows[r].Low[c], highs[c]-high[f])
				if most < Endless { // infinity minus the other flows is still infinity
					most = less(most, lows[c]-low[f])
				}
				if most < high[f] && most >= low[f] {
					high[f], changed = most, true
				}
				if least > low[f] && least <= high[f] {
					low[f], changed = least, true
				}
			}
		}
		if !changed {
			break
		}
	}
	return low, high
}

func less(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}
