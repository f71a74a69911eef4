package interp

import (
	"math/big"

	"tamtam/saisim/p4"
)

// A Rate is one bucket of a meter: tokens per microsecond, exactly, and the size of the bucket in tokens. A token is a
// byte or a packet.
type Rate struct {
	PerMicrosecond *big.Rat
	Burst          uint64
}

// A meter is the state of one meter: buckets from the lowest rate to the highest. A meter without rates is green.
type meter struct {
	rates  []Rate
	levels []*big.Rat
	last   []uint64 // cycle at which each level is valid
}

// configure sets the rates and fills the buckets.
func (m *meter) configure(rates []Rate, now uint64) {
	*m = meter{rates: rates}
	for _, r := range rates {
		m.levels = append(m.levels, new(big.Rat).SetInt(number(r.Burst)))
		m.last = append(m.last, now)
	}
}

// colour returns the colour of a packet of so many tokens: 0 for green, and i+1 if the bucket of rate i is the highest
// that is too empty. Buckets are tested from the highest rate down, and those above it have paid then.
func (m *meter) colour(now, hz uint64, tokens int) int {
	need := new(big.Rat).SetInt64(int64(tokens))
	for i := len(m.rates) - 1; i >= 0; i-- {
		elapsed := new(big.Rat).SetFrac(number(now-m.last[i]), number(hz))
		gain := elapsed.Mul(elapsed, new(big.Rat).SetInt64(1_000_000))
		level := gain.Add(gain.Mul(gain, m.rates[i].PerMicrosecond), m.levels[i])
		if full := new(big.Rat).SetInt(number(m.rates[i].Burst)); level.Cmp(full) > 0 {
			level = full
		}
		m.levels[i], m.last[i] = level, now
		if level.Cmp(need) < 0 {
			return i + 1
		}
		level.Sub(level, need)
	}
	return 0
}

// meter returns an element of a meter array.
func (s *Switch) meter(m *p4.Meter, i int) *meter {
	a := &s.meters[m.Index]
	if a.elements[i] == nil {
		a.elements[i] = &meter{}
		if a.all != nil {
			// A bucket is full when it is configured, and stays full until the first packet.
			a.elements[i].configure(a.all, s.now)
		}
	}
	return a.elements[i]
}

// A meterArray has the elements that were used or configured, and the rates that were set for all.
type meterArray struct {
	elements map[int]*meter
	all      []Rate
}
