package pipe

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
)

// Hashes of one stage are the same whether or not others have the same inputs, with which they run together.
func TestHashesOfTheSameInputs(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1}, sameInputs)
}

func sameInputs(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	inputs := [][]Input{
		{{Field: "l4.src"}},
		{{Field: "ipv4.src"}},
		FiveTupleIPv4(),
		{{Field: "ip.src.lo", Mask: 0xff00ff0000ff}, {Field: "ip.proto"}},
	}
	for n := range 7 {
		p := &Program{Name: "p", Fields: []Field{{Name: "u", Width: 8}}}
		for i := range n {
			h := Hash{Name: fmt.Sprint("h", i), CRC: Polynomials()[r.IntN(len(Polynomials()))], Inputs: inputs[r.IntN(2)+n%3]}
			if r.IntN(2) > 0 {
				h.Seed, h.Bits = r.Uint32N(1<<16), 1+uint8(r.IntN(16))
			}
			p.Ingress.Hashes = append(p.Ingress.Hashes, h)
		}
		c, err := Compile(p, limits(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var v PHV
		v.W[WordL4] = [Lanes]uint64{3: r.Uint64(), 5: r.Uint64(), 63: r.Uint64()}
		v.W[WordSrcLo] = [Lanes]uint64{3: r.Uint64(), 5: r.Uint64(), 63: r.Uint64()}
		v.W[WordDstLo] = [Lanes]uint64{3: r.Uint64(), 5: r.Uint64(), 63: r.Uint64()}
		c.Run(&v, 1<<3|1<<5|1<<63, 0, 1)
		for i := range p.Ingress.Hashes {
			h := &p.Ingress.Hashes[i]
			for _, lane := range []int{3, 5, 63} {
				var values []uint64
				for _, in := range h.Inputs {
					f := c.fields[in.Field]
					values = append(values, v.W[f.word][lane]>>f.shift&f.mask())
				}
				if got, want := v.W[firstHash+i][lane], uint64(p.Sum(h, values...)); got != want {
					t.Errorf("%d hashes, hash %d (%+v), lane %d: %#x, want %#x", n, i, h, lane, got, want)
				}
			}
		}
	}
}
