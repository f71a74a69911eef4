package sketch

import "tamtam/tam/flymon"

// hash returns a 64-bit hash of a vector: SplitMix64's finalizer over its words. Hashes of two seeds are practically
// independent.
func hash(v *flymon.Vector, seed uint64) uint64 {
	h := seed*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019
	for _, w := range v {
		h = scramble(h ^ w)
	}
	return h
}

func scramble(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below maps a hash to a number below n.
func below(h uint64, n int) int { return int(h >> 32 * uint64(n) >> 32) }
