package reference

import (
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/pipe"
	"tamtam/saisim/pipe/pipetest"
)

func pipeLimits() pipe.Limits {
	return pipe.Limits{
		IngressStages: 6, EgressStages: 6, PHVBits: 4096,
		Stage: pipe.Resources{
			HashUnits: 6, HashBits: 32, StatefulALUs: 4, SRAMBlocks: 80, SRAMBits: 128 << 10, TCAMBlocks: 24,
			TCAMEntries: 512, TCAMBits: 44, VLIWSlots: 32, Tables: 16,
		},
	}
}

// The compiled form of random programs and the interpreter do the same to random
// PHVs, field for field, and leave the same in registers and counters.
func TestCompiledPrograms(t *testing.T) {
	const packets = 60
	l := pipeLimits()
	randtest.Run(t, randtest.Cases{Seed: 11, Count: 400}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 12))
		p := pipetest.Program(r, pipetest.Options{Limits: l, Ports: []uint16{1, 2, 77}})
		c, err := pipe.Compile(p, l, nil)
		if err != nil {
			t.Fatal(err)
		}
		in := &run{program: newProgram(p), faults: &faults{}, ran: func(string, bool) {}, pipe: &p.Ingress, memory: newMemory(&p.Ingress, &memory{})}
		out := &run{program: in.program, faults: &faults{}, ran: in.ran, pipe: &p.Egress, memory: newMemory(&p.Egress, &memory{})}
		var v pipe.PHV
		var bridge [pipe.BridgeWords]uint64
		for k := range packets {
			fixed := randomWords(r, &v)
			c.Begin(&v)
			on := c.Run(&v, 0, l.IngressStages)
			if !samePipe(t, in, &v, fixed, l.IngressStages, on) {
				t.Fatalf("packet %d, ingress pipe:\n%+v", k, p)
			}
			user := in.phv
			in.phv = nil
			if !on {
				continue
			}
			c.Bridge(&v, &bridge)
			fixed = randomWords(r, &v)
			c.BeginEgress(&v, &bridge)
			out.phv = in.newPHV()
			for _, f := range p.Fields {
				if f.Bridged {
					out.set(out.phv, f.Name, in.get(user, f.Name))
				}
			}
			if on := c.RunEgress(&v, 0, l.EgressStages); !samePipe(t, out, &v, fixed, l.EgressStages, on) {
				t.Fatalf("packet %d, egress pipe:\n%+v", k, p)
			}
			out.phv = nil
		}
		sameMemory(t, c, "ingress", in)
		sameMemory(t, c, "egress", out)
		if t.Failed() {
			t.Fatalf("%+v", p)
		}
	})
}

// randomWords fills the fixed words, some with numbers that come again and again.
func randomWords(r *rand.Rand, v *pipe.PHV) []uint64 {
	for i := range pipe.WordControl {
		v.W[i] = r.Uint64()
		if r.IntN(2) == 0 {
			v.W[i] &= 0x0303_0303_0303_0303
		}
	}
	v.W[pipe.WordControl] = 0xffff << 16
	return append([]uint64{}, v.W[:pipe.WordControl+1]...)
}

// samePipe has the interpreter do what the compiled form has done to v, and
// compares.
func samePipe(t *testing.T, i *run, v *pipe.PHV, fixed []uint64, stages uint32, on bool) bool {
	t.Helper()
	if i.phv == nil {
		i.phv = i.newPHV()
	}
	cut := func(words []uint64, f pipe.FixedField) uint64 { return low(words[f.Word]>>f.Shift, int(f.Width)) }
	for _, f := range pipe.Fixed() {
		i.set(i.phv, f.Name, cut(fixed, f))
	}
	i.outcomes = map[string]outcome{}
	drop := false
	for s := 0; s < int(stages) && !drop; s++ {
		i.stage(s)
		drop = i.get(i.phv, "ctl.drop") == 1
	}
	same := true
	if drop == on {
		t.Errorf("dropped: %v, want %v", !on, drop)
		same = false
	}
	for _, f := range pipe.Fixed() {
		if got, want := cut(v.W[:], f), i.get(i.phv, f.Name); got != want {
			t.Errorf("%s is %#x, want %#x", f.Name, got, want)
			same = false
		}
	}
	return same
}

func sameMemory(t *testing.T, c *pipe.Compiled, name string, i *run) {
	t.Helper()
	for reg, w := range i.memory.registers {
		a, err := c.Array(name, reg)
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range w.word {
			if got := a.Get(uint32(k)); got != want {
				t.Errorf("%s %s[%d] is %#x, want %#x", name, reg, k, got, want)
			}
		}
	}
	for _, tb := range i.pipe.Tables {
		if !tb.Counters {
			continue
		}
		ask := []pipe.CounterRead{{Pipe: name, Table: tb.Name, Default: true}}
		for _, e := range tb.Entries {
			ask = append(ask, pipe.CounterRead{Pipe: name, Table: tb.Name, Entry: e.ID})
		}
		for _, x := range ask {
			got, err := c.Counter(x)
			if err != nil {
				t.Fatal(err)
			}
			want := i.memory.counters[counterName{tb.Name, tb.Stage, x.Entry, x.Default}]
			if want == nil {
				want = new(count)
			}
			if got.Packets != want.Packets || got.Bytes != want.Bytes {
				t.Errorf("%s %+v counted %+v, want %+v", name, x, *got, *want)
			}
		}
	}
}
