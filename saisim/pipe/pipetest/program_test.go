package pipetest

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/pipe"
)

func limits() pipe.Limits {
	return pipe.Limits{
		IngressStages: 4, EgressStages: 4, PHVBits: 2048,
		Stage: pipe.Resources{
			HashUnits: 2, HashBits: 32, StatefulALUs: 2, SRAMBlocks: 8, SRAMBits: 16 << 10, TCAMBlocks: 8,
			TCAMEntries: 64, TCAMBits: 44, VLIWSlots: 32, Tables: 4,
		},
	}
}

// fill writes random values to the fixed fields.
func fill(r *rand.Rand, p *pipe.PHV, lane int) {
	for i := range pipe.WordControl {
		p.W[i][lane] = r.Uint64()
	}
	p.W[pipe.WordControl][lane] = 0xffff << 16
}

// Random programs are valid, survive JSON, and serve their purpose: every word of the form occurs, tables hit and miss
// and are skipped, and registers fill.
func TestPrograms(t *testing.T) {
	fixed := randtest.Cases{Seed: 1, Count: 300}
	o := Options{Limits: limits(), Ports: []uint16{1, 2}}
	var text strings.Builder
	var phv pipe.PHV
	var hits, misses, words, set uint64
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := Program(r, o)
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
		if p, err = pipe.Read(strings.NewReader(string(b))); err != nil {
			t.Fatal(err)
		}
		c, err := pipe.Compile(p, o.Limits, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 140 / 20 {
			for lane := range 20 {
				fill(r, &phv, lane)
			}
			const all pipe.Set = 1<<20 - 1
			c.Begin(&phv, all)
			c.Run(&phv, all, 0, 4)
		}
		for _, tb := range p.Ingress.Tables {
			if !tb.Counters || len(tb.Gate) > 0 {
				continue
			}
			miss, err := c.Counter(pipe.CounterRead{Pipe: "ingress", Table: tb.Name, Default: true})
			if err != nil {
				t.Fatal(err)
			}
			misses += miss.Packets
			for _, e := range tb.Entries {
				k, err := c.Counter(pipe.CounterRead{Pipe: "ingress", Table: tb.Name, Entry: e.ID})
				if err != nil {
					t.Fatal(err)
				}
				hits += k.Packets
			}
		}
		for _, reg := range p.Ingress.Registers {
			a, err := c.Array("ingress", reg.Name)
			if err != nil {
				t.Fatal(err)
			}
			for i := range a.Depth() {
				words++
				if a.Get(i) != 0 {
					set++
				}
			}
		}
	})
	if !run.Whole(fixed) {
		return
	}
	if hits*5 < misses || set*10 < words {
		t.Errorf("%d hits, %d misses, %d of %d words set", hits, misses, set, words)
	}
	for _, w := range []string{"always", "exact", "ternary", "lpm", "index", "skipped", "action", "select", "shl", "adds",
		"predicate",
		`!0\u0026!1`, "bridged", "ctl.drop", "ctl.port", "ctl.punt", "pkt.tc", "crc16", `"poly"`, `"param"`, `"hash"`,
		"ip.reserved"} {
		if !strings.Contains(text.String(), w) {
			t.Errorf("no program has %s", w)
		}
	}
}

// Random batches are valid for the program before them.
func TestBatches(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 3}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		o := Options{Limits: limits()}
		var now *pipe.Compiled
		var entries, reads int
		for i := range 500 {
			var p *pipe.Program
			if now != nil {
				p = now.Program()
			}
			b := Batch(r, o, p)
			n, err := pipe.Prepare(b, o.Limits, now)
			if err != nil {
				t.Fatalf("batch %d: %v", i, err)
			}
			if n != nil {
				n.Access(b)
			}
			entries, reads, now = entries+len(b.Entries), reads+len(b.Reads), n
		}
		if entries < 100 || reads < 100 {
			t.Errorf("%d entry changes and %d reads in all", entries, reads)
		}
	})
}
