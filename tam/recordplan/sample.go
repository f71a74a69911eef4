package recordplan

import (
	"math/rand/v2"
	"slices"

	"tamtam/tam/record"
)

// Sample sends n packets through the graph of a plan, like [Simulate], and returns their records: the bytes of the
// containers.
func Sample(p *record.Plan, n int, seed uint64) ([][]byte, error) {
	d, err := NewDecoder(p)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	walk, err := newWalk(d)
	if err != nil {
		return nil, err
	}
	records := make([][]byte, n)
	for i := range records {
		walk.packet(r)
		records[i] = slices.Clone(walk.bits)
	}
	return records, nil
}
