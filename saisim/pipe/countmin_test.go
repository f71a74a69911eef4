package pipe

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
)

func sketch(t testing.TB) (*Program, *Compiled) {
	t.Helper()
	p, err := CountMin(CountMinSketch{Key: FiveTupleIPv4(), Rows: 3, Depth: 1 << 16, Width: 32, Stage: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compile(p, limits(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

// flow writes an IPv4 flow to a lane of the PHV.
func (p *PHV) flow(lane int, src, dst uint32, sport, dport uint16, proto uint8) {
	p.W[WordSrcLo][lane], p.W[WordDstLo][lane] = uint64(src), uint64(dst)
	p.W[WordL4][lane] = uint64(sport)<<48 | uint64(dport)<<32 | uint64(proto)<<24
	p.W[WordFlags][lane] = 3
}

// CRC-32 and CRC-32C are the standard polynomials, with the check values of the CRC catalogues. The compiled and the
// plain form agree.
func TestCRC(t *testing.T) {
	checks := map[string]uint32{"crc32": 0xcbf43926, "crc32c": 0xe3069283, "crc16": 0xb4c8, "crc16x25": 0x906e}
	for name, want := range checks {
		p := &Program{Name: "p", Ingress: Pipe{Hashes: []Hash{{Name: "h", CRC: name,
			Inputs: []Input{{Field: "ip.src.hi"}, {Field: "ip.proto"}}}}}}
		hi := binary.BigEndian.Uint64([]byte("12345678"))
		if got := p.Sum(&p.Ingress.Hashes[0], hi, '9'); got != want {
			t.Errorf("%s of 123456789 is %#x, want %#x", name, got, want)
		}
		c, err := Compile(p, limits(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var phv PHV
		phv.W[WordSrcHi][0], phv.W[WordL4][0] = hi, '9'<<24
		if c.Run(&phv, 1, 0, 1); phv.W[firstHash][0] != uint64(want) {
			t.Errorf("%s compiled: %#x, want %#x", name, phv.W[firstHash][0], want)
		}
	}
}

// The sketch counts each flow at the index returned by Sum, and never too little.
func TestCountMin(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		p, c := sketch(t)
		r := rand.New(rand.NewPCG(seed, 7))
		truth := map[[2]uint32]uint64{}
		var phv PHV
		for range 20_000 {
			f := [2]uint32{uint32(r.ExpFloat64() * 300), r.Uint32N(2)}
			truth[f]++
			phv.flow(5, f[0], 9, uint16(f[1]), 80, 17)
			c.Begin(&phv, 1<<5)
			c.Run(&phv, 1<<5, 0, 12)
		}
		exact := 0
		for f, n := range truth {
			key := make([]byte, 13)
			binary.BigEndian.PutUint32(key, f[0])
			binary.BigEndian.PutUint32(key[4:], 9)
			binary.BigEndian.PutUint16(key[8:], uint16(f[1]))
			binary.BigEndian.PutUint16(key[10:], 80)
			key[12] = 17
			compressed := crc32.Checksum(key, crc32.MakeTable(crc32.Castagnoli))
			least := ^uint64(0)
			for i, row := range []string{"row0", "row1", "row2"} {
				a, err := c.Array("ingress", row)
				if err != nil {
					t.Fatal(err)
				}
				least = min(least, a.Get(p.Sum(&p.Ingress.Hashes[1+i], uint64(compressed))&0xffff))
			}
			if least < n {
				t.Fatalf("flow %v is counted %d times, %d came", f, least, n)
			}
			if least == n {
				exact++
			}
		}
		if exact*100 < len(truth)*99 {
			t.Errorf("%d of %d flows exact", exact, len(truth))
		}
	})
}

// Run allocates nothing.
func TestRunDoesNotAllocate(t *testing.T) {
	_, c := sketch(t)
	var phv PHV
	if n := testing.AllocsPerRun(100, func() { c.Begin(&phv, ^Set(0)); c.Run(&phv, ^Set(0), 0, 12) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkCountMin measures three rows of count-min with key compression, for 100,000 flows.
func BenchmarkCountMin(b *testing.B) {
	_, c := sketch(b)
	r := rand.New(rand.NewPCG(1, 1))
	flows := make([]uint32, 1<<17)
	for i := range flows {
		flows[i] = r.Uint32N(100_000)
	}
	for _, together := range []int{1, 8, Lanes} {
		b.Run(fmt.Sprintf("%d together", together), func(b *testing.B) {
			var phv PHV
			all := Set(1)<<together - 1
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += together {
				for l := range together {
					phv.flow(l, flows[(i+l)&(len(flows)-1)], 9, 1000, 80, 17)
				}
				c.Begin(&phv, all)
				c.Run(&phv, all, 0, 12)
			}
		})
	}
	a, _ := c.Array("ingress", "row0")
	var sum uint64
	for i := range a.Depth() {
		sum += a.Get(i)
	}
	if sum == 0 {
		b.Fatal("no packet counted")
	}
}
