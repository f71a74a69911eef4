package pipe

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// No program, whatever its content, makes Read, Validate, Compile, Run or a batch panic.
func FuzzProgram(f *testing.F) {
	text, err := json.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, uint64(1))
	f.Add(bytes.Replace(text, []byte(`"bits":10`), []byte(`"bits":32`), 1), uint64(2))
	f.Add([]byte(
		`{"name":"a","egress":{"tables":[{"name":"t","stage":0,"match":"index","key":[{"field":"l4.dst"}],"size":5}]}}`),
		uint64(3))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		p, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		c, err := Compile(p, limits(), nil)
		if err != nil {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		var phv PHV
		var bridge [BridgeWords]uint64
		for range 50 {
			for i := range fixedWords {
				phv.W[i][0], phv.W[i][63] = r.Uint64()&r.Uint64(), r.Uint64()
			}
			const both = 1 | 1<<63
			c.Begin(&phv, both)
			c.Run(&phv, both, 0, 12)
			c.Bridge(&phv, 0, &bridge)
			c.BeginEgress(&phv, 0, &bridge)
			c.RunEgress(&phv, both, 0, 12)
		}
		if again, err := Compile(p, limits(), c); err != nil || again == nil {
			t.Errorf("compiled once, but not again: %v", err)
		}
	})
}
