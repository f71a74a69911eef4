package tm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
)

const ample = 1 << 20

func port(n int, settings ...Settings) (*Port[int], *Buffer) {
	b := NewBuffer(100, ample)
	p := NewPort[int](b, 1, n)
	for i, s := range settings {
		p.Configure(i, s)
	}
	return p, b
}

func weighted(w uint32) Settings { return Settings{Discipline: Discipline{Weight: w}} }
func strict() Settings           { return Settings{Discipline: Discipline{Strict: true}} }
func packets(w uint32) Settings {
	return Settings{Discipline: Discipline{Weight: w, Packets: true}}
}

// TestSchedule checks the order of service when all queues always hold packets of 1020 bytes. With FCS these are 1024
// bytes: four quanta of a queue of weight 1.
func TestSchedule(t *testing.T) {
	for _, tt := range []struct {
		name   string
		queues []Settings
		want   string // the queues served, one digit each
	}{
		{"one queue", []Settings{weighted(1)}, "00000000"},
		{"equal weights", []Settings{weighted(4), weighted(4)}, "01010101"},
		{"1 to 3", []Settings{weighted(4), weighted(12)}, "0111011101110111"},
		// Weight 1 gets a packet in every fourth turn, weight 2 in every second.
		{"less than a packet a turn", []Settings{weighted(1), weighted(2)}, "101101101"},
		{"the highest strict queue first", []Settings{weighted(1), strict(), strict()}, "2222"},
		{"packets", []Settings{packets(2), packets(3)}, "0011100111"},
		{"bytes and packets", []Settings{weighted(8), packets(1)}, "001001001"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := port(len(tt.queues), tt.queues...)
			for i := range tt.queues {
				for range 50 {
					p.Enqueue(i, i, 1020, false)
				}
			}
			var got strings.Builder
			for range len(tt.want) {
				what, q := p.Dequeue()
				if what != q {
					t.Fatalf("a packet of queue %d came out of queue %d", what, q)
				}
				fmt.Fprint(&got, q)
			}
			if got.String() != tt.want {
				t.Errorf("served %s, want %s", got.String(), tt.want)
			}
		})
	}
}

// A turn that strict packets interrupt continues with the remaining credit, and a queue that became empty has none.
func TestTurns(t *testing.T) {
	p, _ := port(3, weighted(12), weighted(4), strict())
	fill := func(q, n int) {
		for range n {
			p.Enqueue(q, q, 1020, false)
		}
	}
	serve := func(n int, want string) {
		t.Helper()
		var got strings.Builder
		for range n {
			_, q := p.Dequeue()
			fmt.Fprint(&got, q)
		}
		if got.String() != want {
			t.Errorf("served %s, want %s", got.String(), want)
		}
	}
	fill(0, 10)
	fill(1, 10)
	serve(2, "00") // one of three is left
	fill(2, 2)
	serve(6, "220100")
	serve(2, "01")
	fill(2, 1)
	serve(1, "2")
	serve(5, "00010") // queue 0 has three more
	fill(0, 1)
	p.Configure(0, strict())
	serve(2, "01")
}

// TestAdmission checks admission, with cells of 100 bytes.
func TestAdmission(t *testing.T) {
	limit := func(l Limit) Settings { s := DefaultSettings(); s.Limit = l; return s }
	reserve := func(cells uint64, l Limit) Settings { s := limit(l); s.Reserved = cells; return s }
	for _, tt := range []struct {
		name   string
		cells  uint32
		queues []Settings
		ask    []int // 10 * queue + cells of each packet
		want   string
	}{
		{"no limit", 10, []Settings{DefaultSettings()}, []int{4, 4, 2, 1}, "AAAF"},
		{"what does not fit leaves room for what does", 10, []Settings{DefaultSettings()}, []int{9, 2, 1}, "AFA"},
		{"static", 10, []Settings{limit(Limit{Static: true, Cells: 5})}, []int{3, 3, 2, 1}, "ATAT"},
		// free 16: at most 8; free 12: 6; free 10: 5.
		{"dynamic, half of what is free", 16, []Settings{limit(Limit{Dynamic: true, Alpha: -1})}, []int{4, 2, 1}, "AAT"},
		{"dynamic, twice what is free", 16, []Settings{limit(Limit{Dynamic: true, Alpha: 1})}, []int{8, 3, 1}, "AAT"},
		{"two queues share", 16, []Settings{limit(Limit{Dynamic: true}), limit(Limit{Dynamic: true})},
			[]int{8, 14, 11, 11, 1}, "AATTT"},
		{"reserved cells stay free for their queue", 10, []Settings{DefaultSettings(), reserve(4, Limit{})},
			[]int{6, 1, 14, 11}, "AFAF"},
		{"the limit bounds what is beyond the reserved", 10, []Settings{reserve(2, Limit{Static: true, Cells: 3})},
			[]int{2, 3, 1}, "AAT"},
		{"partly reserved", 10, []Settings{DefaultSettings(), reserve(4, Limit{})}, []int{3, 15, 12, 13}, "AAAF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBuffer(100, tt.cells)
			p := NewPort[int](b, 1, len(tt.queues))
			for i, s := range tt.queues {
				p.Configure(i, s)
			}
			var got strings.Builder
			for _, a := range tt.ask {
				got.WriteByte("AMFTW"[p.Enqueue(a/10, 0, uint32(a%10*100-1), false)])
			}
			if got.String() != tt.want {
				t.Errorf("%s, want %s", got.String(), tt.want)
			}
		})
	}
}

// WRED between its thresholds hits with the configured probability, marks packets that can be marked and drops the
// others.
func TestWRED(t *testing.T) {
	w := Settings{Discipline: Discipline{Weight: 1}, WRED: [NumColours]WRED{
		{ECN: true, Drop: true, Min: 1000, Max: 3000, Percent: 40},
	}}
	for _, tt := range []struct {
		held      int // number of packets of 100 bytes
		ecn       bool
		low, high int // bounds for the number of hits in 10,000 packets
		want      Verdict
	}{
		{held: 9, ecn: true},
		{held: 10, ecn: true},
		{held: 15, ecn: true, low: 900, high: 1100, want: Marked},    // 40 % of 500/2000
		{held: 20, ecn: true, low: 1850, high: 2150, want: Marked},   // 40 % of 1000/2000
		{held: 30, ecn: true, low: 10000, high: 10000, want: Marked}, // at Max
		{held: 30, low: 10000, high: 10000, want: WREDDrop},
		{held: 20, low: 1850, high: 2150, want: WREDDrop},
	} {
		p, _ := port(1, DefaultSettings())
		for range tt.held {
			p.Enqueue(0, 0, 100, false)
		}
		p.Configure(0, w)
		hits := 0
		for range 10_000 {
			switch v := p.Enqueue(0, 0, 100, tt.ecn); {
			case v == tt.want && tt.want != Admitted:
				hits++
			case v != Admitted:
				t.Fatalf("verdict %d with %d packets held", v, tt.held)
			}
			// Keep the length: remove the newest packet again.
			if q := p.Queue(0); q.Len() > tt.held {
				p.Configure(0, DefaultSettings())
				p.Dequeue()
				p.Configure(0, w)
			}
		}
		if hits < tt.low || hits > tt.high {
			t.Errorf("%d packets held, ECN-capable %v: %d of 10,000 hit, want %d to %d", tt.held, tt.ecn, hits, tt.low, tt.high)
		}
	}
}

// After any operations, the counts of pools match the contents of their queues.
func TestPoolsAddUp(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 5}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, seed))
		b := NewBuffer(64, 200)
		b.Pools = append(b.Pools, Pool{Size: 100})
		ports := []*Port[int]{NewPort[int](b, 1, 3), NewPort[int](b, 2, 3)}
		for step := range 50_000 {
			p, i := ports[rnd.IntN(2)], rnd.IntN(3)
			switch rnd.IntN(10) {
			case 0:
				p.Configure(i, Settings{
					Discipline: Discipline{Strict: rnd.IntN(2) == 0, Weight: 1 + rnd.Uint32N(9), Packets: rnd.IntN(2) == 0},
					Pool:       rnd.IntN(2), Reserved: rnd.Uint64N(20),
					Limit: Limit{Static: rnd.IntN(3) == 0, Cells: rnd.Uint64N(90), Dynamic: rnd.IntN(2) == 0,
						Alpha: int8(rnd.IntN(5) - 2)},
					WRED: [NumColours]WRED{
						{ECN: rnd.IntN(2) == 0, Drop: rnd.IntN(2) == 0, Min: 500, Max: 5000, Percent: 50},
					},
				})
			case 1, 2, 3, 4:
				if p.Len() > 0 {
					p.Dequeue()
				}
			default:
				p.Enqueue(i, step, 1+rnd.Uint32N(1500), rnd.IntN(2) == 0)
			}
			for k := range b.Pools {
				var used, unused uint64
				for _, p := range ports {
					for q := range p.Queues() {
						if x := p.Queue(q); x.Pool == k {
							used += x.Cells()
							unused += x.Reserved - min(x.Reserved, x.Cells())
						}
					}
				}
				if pool := b.Pools[k]; pool.used != used || pool.reserved != unused {
					t.Fatalf("step %d: pool %d has %d cells used and %d spoken for, its queues %d and %d", step, k, pool.used,
						pool.reserved, used, unused)
				}
			}
		}
		for _, p := range ports {
			for q := range p.Queues() {
				x := p.Queue(q)
				if x.Enqueued != x.Dequeued+uint64(x.Len()) {
					t.Errorf("%d enqueued, %d dequeued, %d there", x.Enqueued, x.Dequeued, x.Len())
				}
			}
			p.Purge(func(int) {})
		}
		for k := range b.Pools {
			if b.Pools[k].used != 0 || b.Pools[k].reserved != 0 {
				t.Errorf("pool %d after all is purged: %+v", k, b.Pools[k])
			}
		}
	})
}

func TestNoAllocations(t *testing.T) {
	p, _ := port(8, weighted(1), weighted(2), strict())
	cycle := func() {
		for i := range 64 {
			p.Enqueue(i%8, i, 100, false)
		}
		for range 64 {
			p.Dequeue()
		}
	}
	cycle()
	if n := testing.AllocsPerRun(100, cycle); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEnqueueDequeue(b *testing.B) {
	p, _ := port(8, weighted(1), weighted(2), strict())
	b.ReportAllocs()
	for i := range b.N {
		p.Enqueue(i&7, i, 100, false)
		p.Dequeue()
	}
}
