package engine

import "math/bits"

// A keyPart is a word of the key with its mask.
type keyPart struct {
	mask, mixer uint64
	word        uint8
}

// mixers are random odd numbers. Each word of a key has its own, so that one word cannot compensate for another.
var mixers = [...]uint64{
	0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db,
	0x8ebc6af09c88c6e3, 0x589965cc75374cc3, 0x1d8e4e27c47d124f, 0xeb44accab455d165, 0x2127599bf4325c37,
}

// hash spreads the masked word over 64 bits.
func (p *keyPart) hash(v uint64) uint64 {
	hi, lo := bits.Mul64(v&p.mask, p.mixer)
	return hi ^ lo
}

// filterFresh is the number of values per 64 bits for which a new filter is sized. filterFull is the number at which it
// must be rebuilt. With 8, about one absent value in 20 passes the filter.
const (
	filterFresh = 6
	filterFull  = 8
)

// A filter excludes values that were not noted, by their hash (a Bloom filter).
type filter struct {
	words []uint64 // a power of two; each value has two bits in one word
	noted int
}

// newFilter returns a filter with capacity for n values and some more.
func newFilter(n int) filter { return filter{words: make([]uint64, 1<<bits.Len(uint(n)/filterFresh))} }

func (f *filter) place(h uint64) (i int, set uint64) {
	return int(h>>12) & (len(f.words) - 1), 1<<(h&63) | 1<<(h>>6&63)
}

// has reports whether a value may have been noted. false is certain.
func (f *filter) has(h uint64) bool {
	i, set := f.place(h)
	return f.words[i]&set == set
}

// full reports whether the filter has reached its limit of values.
func (f *filter) full() bool { return f.noted >= filterFull*len(f.words) }

func (f *filter) note(h uint64) {
	i, set := f.place(h)
	f.words[i] |= set
	f.noted++
}
