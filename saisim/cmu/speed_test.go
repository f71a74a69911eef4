package cmu_test

import (
	"fmt"
	"testing"
	"time"

	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// loads are possible loads of a chip, with the number of CMU updates per packet.
type loads []struct {
	name    string
	updates int
	tasks   func(t testing.TB) []flymon.Layout
}

func allLoads() loads {
	groups := func(n int) func(t testing.TB) []flymon.Layout {
		return func(t testing.TB) (all []flymon.Layout) {
			for i := range n {
				all = append(all, countMin(t, fmt.Sprintf("t%d", i), i, 0, 65536))
			}
			return all
		}
	}
	return loads{
		{"idle", 0, groups(0)},
		{"1 group", 3, groups(1)},
		{"9 groups", 27, groups(9)},
		{"9 groups with 9 keys", 27, func(t testing.TB) []flymon.Layout {
			all := groups(9)(t)
			for i := range all {
				all[i].Masks[0].Key = key(t, fmt.Sprintf("src-ip/%d,dst-ip,src-port,dst-port,protocol", 24+i))
			}
			return all
		}},
		{"96 tasks in a group", 1, func(t testing.TB) (all []flymon.Layout) {
			for i := range flymon.MaxTasks {
				l := one(t, fmt.Sprintf("t%d", i), uint32(i/3)*2048, 2048)
				l.Units[0].CMU, l.Filter = i%3, filter(t, fmt.Sprintf("src-ip=10.0.0.0/16,src-port=%d-%d", i*10, i*10+9))
				all = append(all, l)
			}
			return all
		}},
		{"96 prefixes in a group", 1, func(t testing.TB) (all []flymon.Layout) {
			for i := range flymon.MaxTasks {
				l := one(t, fmt.Sprintf("t%d", i), uint32(i/3)*2048, 2048)
				l.Units[0].CMU, l.Filter = i%3, filter(t, fmt.Sprintf("src-ip=10.0.%d.%d/%d", i/24, i%24*8, 29+i%3))
				all = append(all, l)
			}
			return all
		}},
		{"count-min with epochs and digests", 3, func(t testing.TB) []flymon.Layout {
			l := countMin(t, "t", 0, 0, 32768)
			l.Epoch, l.Digest = 1_000_000, &flymon.Digest{Threshold: 1000, Key: l.Flow}
			return []flymon.Layout{l}
		}},
		{"count-min of bytes of half of the packets", 3, func(t testing.TB) []flymon.Layout {
			l := countMin(t, "t", 0, 0, 32768)
			for i := range l.Units {
				l.Units[i].P1, l.Units[i].To = flymon.Param{From: flymon.Size}, 128
			}
			return []flymon.Layout{l}
		}},
		{"BeauCoup", 3, func(t testing.TB) []flymon.Layout { return []flymon.Layout{beauCoupLayout(t)} }},
		{"SuMax(Sum)", 3, func(t testing.TB) []flymon.Layout {
			l := countMin(t, "t", 0, 0, 65536)
			for i := range l.Units {
				l.Units[i].Group, l.Units[i].CMU = 4*i, 0
				if i > 0 {
					l.Units[i].P2 = of(flymon.Least, []int{0, 1}[:i]...)
					l.Masks = append(l.Masks, flymon.MaskRule{Group: 4 * i, Key: l.Masks[0].Key})
				}
			}
			return []flymon.Layout{l}
		}},
	}
}

// beauCoupLayout returns a task that counts ports of sources: 32 coupons of 2^-12.
func beauCoupLayout(t testing.TB) flymon.Layout {
	l := countMin(t, "t", 0, 0, 65536)
	l.Masks = []flymon.MaskRule{{Key: key(t, "src-ip")}, {Unit: 1, Key: key(t, "src-port")}}
	for i := range l.Units {
		u := &l.Units[i]
		u.Op, u.P1, u.P2 = flymon.AndOr, flymon.Param{From: flymon.Compressed, Key: flymon.Ref{A: 1}}, constant(1)
		for c := range uint32(32) {
			u.Map = append(u.Map, rule(c<<20, 0xfff<<20, 1<<c))
		}
	}
	return l
}

func (b *bench) load(layouts []flymon.Layout) []cmu.Packet {
	b.Helper()
	b.apply(layouts...)
	packets := make([]cmu.Packet, 1024)
	for i := range packets {
		packets[i] = *packet(i)
	}
	return packets
}

// The packet path allocates nothing.
func TestRunDoesNotAllocate(t *testing.T) {
	for _, l := range allLoads() {
		t.Run(l.name, func(t *testing.T) {
			b := newBench(t, geometry())
			packets := b.load(l.tasks(t))
			n := uint64(0)
			if got := testing.AllocsPerRun(5, func() {
				for i := range packets {
					n++
					p := &packets[i]
					p.Number, p.Vector[5] = n, n*1000
					b.Run(p)
					b.RunAgain(p)
					b.LostAgain(p)
				}
			}); got != 0 {
				t.Errorf("%v allocations in %d packets", got, len(packets))
			}
			counted := uint64(0)
			for _, task := range l.tasks(t) {
				for _, bank := range b.status(task.Task).Banks {
					counted += bank.Packets
				}
			}
			if l.updates > 0 && counted < n/3 {
				t.Errorf("%d of %d packets counted", counted, n)
			}
		})
	}
}

// BenchmarkRun runs a packet through all groups.
func BenchmarkRun(b *testing.B) {
	for _, l := range allLoads() {
		b.Run(l.name, func(b *testing.B) {
			g := newBench(b, geometry())
			packets := g.load(l.tasks(b))
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				p := &packets[i&1023]
				p.Number = uint64(i)
				g.Run(p)
			}
		})
	}
}

// BenchmarkUpdate measures one CMU update without key compression. It is the extra time of six CMUs over three with the
// same compressed keys. Each time is that of the fastest round of 1024 packets. Partitions are small, so that the
// benchmark measures the work and not the cache.
func BenchmarkUpdate(b *testing.B) {
	for _, op := range []flymon.Op{flymon.CondAdd, flymon.Max, flymon.AndOr, flymon.XorSwap} {
		b.Run(string(op), func(b *testing.B) {
			task := func(groups ...int) *bench {
				l := countMin(b, "t", 0, 0, 2048)
				for _, group := range groups { // groups with the polynomial of group 0
					more := countMin(b, "t", group, 0, 2048)
					l.Units, l.Masks = append(l.Units, more.Units...), append(l.Masks, more.Masks...)
				}
				for i := range l.Units {
					l.Units[i].Op = op
				}
				g := newBench(b, geometry())
				g.apply(l)
				return g
			}
			three, six := task(), task(2)
			packets := make([]cmu.Packet, 1024)
			for i := range packets {
				packets[i] = *packet(i)
			}
			best := func(g *bench, least time.Duration) time.Duration {
				from := b.Elapsed()
				for i := range packets {
					g.Run(&packets[i])
				}
				return min(least, b.Elapsed()-from)
			}
			of3, of6 := time.Hour, time.Hour
			for b.Loop() {
				of3, of6 = best(three, of3), best(six, of6)
			}
			b.ReportMetric(float64(of6-of3)/float64(len(packets))/3, "ns/update")
		})
	}
}

// BenchmarkApply adds a task to a group that has 95 already, and removes it.
func BenchmarkApply(b *testing.B) {
	g := newBench(b, geometry())
	for _, l := range allLoads() {
		if l.name == "96 prefixes in a group" {
			g.apply(l.tasks(b)[1:]...)
		}
	}
	l := one(b, "t0", 0, 2048)
	l.Filter = filter(b, "src-ip=10.0.0.0/29")
	b.ReportAllocs()
	for b.Loop() {
		g.apply(l)
		g.Remove("t0")
	}
}
