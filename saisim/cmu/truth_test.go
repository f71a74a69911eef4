package cmu_test

import (
	"math"
	"testing"

	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// The oracle has the exact value of each flow that the task measures.
func TestTruth(t *testing.T) {
	send := []cmu.Packet{}
	add := func(src, dst byte, at uint64, size, queue uint32, delay uint64) {
		send = append(send, cmu.Packet{Vector: flymon.Make(ip4(10, 0, 0, src), ip4(10, 0, 1, dst), 0, 0, 1, at), Size: size,
			QueueBytes: queue, QueueNS: delay})
	}
	add(1, 1, 100, 64, 10, 5)
	add(2, 1, 150, 1000, 0, 0)
	add(1, 2, 400, 128, 500, 3)
	add(1, 1, 500, 64, 20, 900)
	for _, tt := range []struct {
		flow, measures string
		one, two       uint64 // values of sources 1 and 2, or of all
		elements       int
	}{
		{"src-ip", "frequency", 3, 1, 0},
		{"src-ip", "frequency(bytes)", 256, 1000, 0},
		{"src-ip", "distinct(dst-ip)", 2, 1, 2},
		{"none", "distinct(src-ip)", 2, 0, 2},
		{"none", "existence(dst-ip)", 2, 0, 2},
		{"none", "similarity(ip-pair)", 3, 0, 3},
		{"src-ip", "max(queue-length)", 500, 0, 0},
		{"src-ip", "max(queue-delay)", 900, 0, 0},
		{"src-ip", "max(size)", 128, 1000, 0},
		{"src-ip", "max(interval)", 300, 0, 0},
	} {
		t.Run(tt.flow+" "+tt.measures, func(t *testing.T) {
			b := newBench(t, small(32))
			b.SetOracle(10)
			l := one(t, "t", 0, 32)
			l.Flow, l.Measures = key(t, tt.flow), tt.measures
			b.apply(l)
			b.send(send...)
			x, ok := b.Truth("t", 0)
			if !ok || x.Packets != 4 || x.Bytes != 1256 || x.Overflow || len(x.Elements) != tt.elements {
				t.Fatalf("%+v", x)
			}
			one, two := send[0].Vector.And(l.Flow), send[1].Vector.And(l.Flow)
			if x.Flows[one] != tt.one || one != two && x.Flows[two] != tt.two {
				t.Errorf("%v, want %d and %d", x.Flows, tt.one, tt.two)
			}
			if tt.measures == "frequency" && math.Abs(x.Entropy()-(2-0.75*math.Log2(3))) > 1e-12 {
				t.Errorf("entropy %v", x.Entropy())
			}
			if err := b.Clear("t", 0); err != nil || len(x.Flows) != 0 || x.Packets != 0 {
				t.Errorf("%+v after clearing, %v", x, err)
			}
		})
	}
}

// The oracle keeps a limited number of flows, reports when there are more, and is off by default.
func TestTruthIsBounded(t *testing.T) {
	b := newBench(t, small(32))
	l := one(t, "t", 0, 32)
	l.Measures = "distinct(dst-port)"
	b.apply(l)
	if _, ok := b.Truth("t", 0); ok {
		t.Error("an oracle that is off")
	}
	b.SetOracle(3)
	if _, ok := b.Truth("u", 0); ok {
		t.Error("truth of no task")
	}
	for i := range 3 {
		b.send(*packet(i), *packet(i))
	}
	x, _ := b.Truth("t", 0)
	if len(x.Flows) != 3 || x.Overflow {
		t.Fatalf("%+v", x)
	}
	p := *packet(2)
	p.Vector[4] ^= 1 << 40 // another port
	b.send(p, *packet(7))
	if x, _ = b.Truth("t", 0); len(x.Flows) != 3 || !x.Overflow || x.Packets != 8 {
		t.Errorf("%+v", x)
	}
	b.SetOracle(0)
	if _, ok := b.Truth("t", 0); ok {
		t.Error("an oracle that is off again")
	}
}
