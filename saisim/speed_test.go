package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// A load is a chip of 32 ports with one host each, and a frame of 60 bytes from every host to the next: one packet per
// cycle.
type load struct {
	*rig
	frames [][]byte
	n      int
	sent   int
	octets int
	pause  int // additional cycles between two packets

	arrivals [64]saisim.Arrival
}

func newLoad(t testing.TB, rules int, stamp bool) *load {
	return newRig(t, profile.Default()).bridgedLoad(rules, stamp)
}

// bridgedLoad does newLoad for an existing chip.
func (r *rig) bridgedLoad(rules int, stamp bool) *load {
	l := &load{rig: r}
	ports := l.Ports()
	for i := range ports {
		l.frames = append(l.frames, udpFrame(byte(i+1), byte((i+1)%len(ports)+1), 60))
	}
	for i, f := range l.frames {
		l.sendAt(ports[i], l.Now(), saisim.Frame{Data: f})
	}
	if rules > 0 || stamp {
		l.rules(rules, stamp)
	}
	l.SetOutput(func(o *saisim.Out) { l.sent++; l.octets += len(o.Data) })
	return l
}

// rules adds entries that the packets do not hit, of four different masks, and one below them that they all hit, on
// every port.
func (l *load) rules(n int, stamp bool) {
	l.Helper()
	table := l.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldSrcIP, sai.Bool(true), sai.ACLTableAttrFieldDstIP,
		sai.Bool(true),
		sai.ACLTableAttrFieldL4DstPort, sai.Bool(true), sai.ACLTableAttrFieldIPProtocol, sai.Bool(true))
	var objs [][]sai.Attr
	for i := range n {
		pairs := []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(1000 + i%5000),
			sai.ACLEntryAttrFieldSrcIP, sai.Match(v4(11, byte(i>>16), byte(i>>8), byte(i)), v4(255, 255, 255, 255))}
		switch i % 4 {
		case 1:
			pairs = append(pairs, sai.ACLEntryAttrFieldDstIP, sai.Match(v4(12, 0, 0, byte(i)), v4(255, 255, 255, 0)))
		case 2:
			pairs = append(pairs, sai.ACLEntryAttrFieldL4DstPort, sai.Match(sai.Uint(i%60000), sai.Uint(0xffff)))
		case 3:
			pairs = append(pairs, sai.ACLEntryAttrFieldIPProtocol, sai.Match(sai.Uint(17), sai.Uint(0xff)))
		}
		objs = append(objs, attrs(pairs...))
	}
	if _, errs := l.BulkCreate(l.Context(), sai.ObjectTypeACLEntry, objs); n > 0 {
		for _, err := range errs {
			if err != nil {
				l.Fatal(err)
			}
		}
	}
	var act []any
	if stamp {
		act = l.stampAction(7)
	}
	l.entry(table, 1, act...)
	g := l.group(sai.ACLStageIngress, sai.ACLTableGroupTypeParallel, table)
	for _, id := range l.Ports() {
		l.set(sai.ObjectTypePort, l.oid(id), sai.PortAttrIngressACL, g)
	}
}

func v4(a, b, c, d byte) sai.IP { return sai.IP{Addr: netipFrom4([4]byte{a, b, c, d})} }

// step sends n frames, one per cycle unless there is a pause, 64 at a time.
func (l *load) step(n int) {
	for n > 0 {
		now := l.Now()
		batch := min(n, 64)
		arrivals := l.arrivals[:batch]
		for i := range arrivals {
			k := (l.n + i) % len(l.frames)
			a := &arrivals[i] // its other fields are zero
			a.Port, a.At, a.Data = saisim.PortID(1+4*(k%32)), now+saisim.Cycle(i*(1+l.pause)), l.frames[k]
		}
		if _, err := l.ReceiveAll(arrivals); err != nil {
			l.Fatal(err)
		}
		l.Advance(now + saisim.Cycle(batch*(1+l.pause)))
		l.n += batch
		n -= batch
	}
}

func loads() []struct {
	name  string
	rules int
	stamp bool
} {
	return []struct {
		name  string
		rules int
		stamp bool
	}{
		{"bridge", 0, false},
		{"bridge+stamp", 0, true},
		{"bridge+1000 rules", 1000, false},
		{"bridge+1000 rules+stamp", 1000, true},
		{"bridge+10000 rules+stamp", 10000, true},
	}
}

// countsAllocations skips a test that counts allocations under the race detector.
func countsAllocations(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("allocations are counted without the race detector")
	}
}

// allocatesNothing sends packets to warm up, and then some thousand for which the chip must not allocate.
func (l *load) allocatesNothing(t *testing.T, warm int) {
	t.Helper()
	l.step(warm)
	if n := testing.AllocsPerRun(10, func() { l.step(1000) }); n != 0 {
		t.Errorf("%v allocations in 1000 packets", n)
	}
}

// The packet path allocates nothing once it has warmed up.
func TestPacketPathDoesNotAllocate(t *testing.T) {
	countsAllocations(t)
	for _, tt := range loads() {
		t.Run(tt.name, func(t *testing.T) {
			l := newLoad(t, tt.rules, tt.stamp)
			l.allocatesNothing(t, 10_000)
			l.balanced()
			want := 60
			if tt.stamp {
				want = 92
			}
			if l.sent == 0 || l.octets != want*l.sent {
				t.Errorf("%d frames of %d bytes in all, want %d each", l.sent, l.octets, want)
			}
		})
	}
}

// BenchmarkCreateEntries measures ten thousand sessions: entries with counters, as they are created in bulk.
func BenchmarkCreateEntries(b *testing.B) {
	for b.Loop() {
		l := newLoad(b, 10_000, false)
		if l.Now() == 0 {
			b.Fatal("no traffic")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/10_000, "µs/entry")
}

// Every rule of a large table is found, and only by its own packets.
func TestLargeTable(t *testing.T) {
	r := newRig(t, profile.Default())
	table := r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldL4DstPort, sai.Bool(true), sai.ACLTableAttrFieldSrcMAC,
		sai.Bool(true))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
	counters := map[int]sai.OID{}
	for port := 1; port <= 10_000; port++ {
		pairs := []any{sai.ACLEntryAttrFieldL4DstPort, sai.Match(sai.Uint(port), sai.Uint(0xffff))}
		if port%997 == 0 {
			counters[port] = r.entry(table, port, pairs...)
		} else {
			r.create(sai.ObjectTypeACLEntry, append([]any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority,
				sai.Uint(port)}, pairs...)...)
		}
	}
	for port, c := range counters {
		for d := -1; d <= 1; d++ {
			r.send(1, eth(host(2), host(1), ip4(1, 2, 17, 0, udp(9, uint16(port+d), 20))))
		}
		if n := r.packets(c); n != 1 {
			t.Errorf("rule for port %d counted %d", port, n)
		}
	}
	if len(counters) != 10 {
		t.Errorf("%d rules looked at", len(counters))
	}
}
