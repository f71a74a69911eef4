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

// The compiled form of random programs and the interpreter do the same to random PHVs, field for field. They leave the
// same content in registers and counters, for any number of packets that run together.
func TestCompiledPrograms(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 11, Count: 200}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 12))
		p := pipetest.Program(r, pipetest.Options{Limits: pipeLimits(), Ports: []uint16{1, 2, 77}})
		c, err := pipe.Compile(p, pipeLimits(), nil)
		if err != nil {
			t.Fatal(err)
		}
		x := &together{T: t, r: r, c: c}
		x.in = &run{program: newProgram(p), faults: &faults{}, ran: func(string, outcome) {}, pipe: &p.Ingress,
			memory: newMemory(&p.Ingress, &memory{})}
		x.out = &run{program: x.in.program, faults: &faults{}, ran: x.in.ran, pipe: &p.Egress,
			memory: newMemory(&p.Egress, &memory{})}
		for n := 0; n < 60 || r.IntN(3) > 0; {
			n += x.packets(x.lanes())
			if t.Failed() {
				t.Fatalf("%d packets:\n%+v", n, p)
			}
		}
		sameMemory(t, c, "ingress", x.in)
		sameMemory(t, c, "egress", x.out)
		if t.Failed() {
			t.Fatalf("%+v", p)
		}
	})
}

// A together runs packets together through a compiled program, and one after the other through the interpreter.
type together struct {
	*testing.T
	r       *rand.Rand
	c       *pipe.Compiled
	v       pipe.PHV
	in, out *run
	users   [pipe.Lanes]phv
	bridges [pipe.Lanes][pipe.BridgeWords]uint64
}

// lanes returns the lanes with packets: mostly as many as a chip runs together.
func (x *together) lanes() pipe.Set {
	switch x.r.IntN(6) {
	case 0:
		return 1 << x.r.IntN(64)
	case 1:
		return 3
	case 2:
		return 1<<63 - 1
	case 3:
		return 1<<64 - 1
	case 4:
		return pipe.Set(x.r.Uint64()) | 1
	}
	return pipe.Set(x.r.Uint64()&x.r.Uint64()&x.r.Uint64()) | 1<<63
}

// packets runs some packets through both pipes, and returns their number.
func (x *together) packets(in pipe.Set) (n int) {
	stages := pipeLimits().IngressStages
	fixed := x.randomWords(in)
	x.c.Begin(&x.v, in)
	on := x.c.Run(&x.v, in, 0, stages)
	for l := range pipe.Lanes {
		if in>>l&1 != 0 {
			n++
			x.in.phv = x.in.newPHV()
			x.samePipe(x.in, l, &fixed[l], stages, on>>l&1 != 0)
			x.users[l] = x.in.phv
		}
	}
	for l := range pipe.Lanes {
		if on>>l&1 != 0 {
			x.c.Bridge(&x.v, l, &x.bridges[l])
		}
	}
	fixed = x.randomWords(on)
	for l := range pipe.Lanes {
		if on>>l&1 != 0 {
			x.c.BeginEgress(&x.v, l, &x.bridges[l])
		}
	}
	stages = pipeLimits().EgressStages
	through := x.c.RunEgress(&x.v, on, 0, stages)
	for l := range pipe.Lanes {
		if on>>l&1 == 0 {
			continue
		}
		x.out.phv = x.out.newPHV()
		for _, f := range x.c.Program().Fields {
			if f.Bridged {
				x.out.set(x.out.phv, f.Name, x.in.get(x.users[l], f.Name))
			}
		}
		x.samePipe(x.out, l, &fixed[l], stages, through>>l&1 != 0)
	}
	return n
}

type fixedWords [pipe.WordControl + 1]uint64

// randomWords fills the fixed words, some with numbers that recur.
func (x *together) randomWords(in pipe.Set) (of [pipe.Lanes]fixedWords) {
	for l := range pipe.Lanes {
		if in>>l&1 == 0 {
			continue
		}
		for i := range pipe.WordControl {
			of[l][i] = x.r.Uint64()
			if x.r.IntN(2) == 0 {
				of[l][i] &= 0x0303_0303_0303_0303
			}
		}
		of[l][pipe.WordControl] = 0xffff << 16
		for i, w := range of[l] {
			x.v.W[i][l] = w
		}
	}
	return of
}

// samePipe runs the interpreter on a packet that the compiled form has processed, and compares the results.
func (x *together) samePipe(i *run, lane int, fixed *fixedWords, stages uint32, on bool) {
	x.Helper()
	cut := func(word uint64, f pipe.FixedField) uint64 { return low(word>>f.Shift, int(f.Width)) }
	for _, f := range pipe.Fixed() {
		i.set(i.phv, f.Name, cut(fixed[f.Word], f))
	}
	i.outcomes = map[string]outcome{}
	drop := false
	for s := 0; s < int(stages) && !drop; s++ {
		i.stage(s)
		drop = i.get(i.phv, "ctl.drop") == 1
	}
	if drop == on {
		x.Errorf("lane %d: dropped: %v, want %v", lane, !on, drop)
	}
	for _, f := range pipe.Fixed() {
		if got, want := cut(x.v.W[f.Word][lane], f), i.get(i.phv, f.Name); got != want {
			x.Errorf("lane %d: %s is %#x, want %#x", lane, f.Name, got, want)
		}
	}
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
