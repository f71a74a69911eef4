package saisim_test

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/tam/flymon"
)

// everything returns the mask of the whole candidate key.
func everything() flymon.Key {
	var k flymon.Key
	for i := range k {
		k[i] = ^uint64(0)
	}
	return k
}

// seeing returns a task that counts all packets in one bucket and sends the whole candidate key of each.
func seeing(t testing.TB) flymon.Layout {
	l := counting(t, "see", "none", 0, 0, 0, 32)
	l.Flow, l.Digest = flowKey(t, "src-ip"), &flymon.Digest{Threshold: 1, Key: everything()}
	return l
}

// seen returns the keys that the task has sent since the last call.
func (s *sketcher) seen() []flymon.Vector {
	s.Helper()
	var text []byte
	s.ask(flymon.ObjectDigests, "read", map[string]any{"task": "see", "bank": 0, "from": 0}, "keys", &text)
	s.remove(sai.ObjectTypeGenericProgrammable, s.extension(flymon.ObjectClear,
		entryOf(s, "clear", map[string]any{"task": "see", "bank": 0})))
	var all []flymon.Vector
	for b := range slices.Chunk(text, 8*flymon.Words) {
		var v flymon.Vector
		for i := range v {
			for _, x := range b[8*i : 8*i+8] {
				v[i] = v[i]<<8 | uint64(x)
			}
		}
		all = append(all, v)
	}
	return all
}

// The candidate key holds exactly the fields that the parser has found.
func TestCandidateKey(t *testing.T) {
	s := newSketcher(t)
	s.task(seeing(t))
	v4 := func(n byte) netip.Addr { return netipFrom4([4]byte{10, 0, 0, n}) }
	v6 := netip.MustParseAddr("2001:db8::1")
	none := netip.Addr{}
	hop := append([]byte{17, 0, 1, 4, 0, 0, 0, 0}, udp(7, 8, 8)...)
	for _, tt := range []struct {
		name         string
		frame        []byte
		src, dst     netip.Addr
		sport, dport uint16
		protocol     uint8
		cut          int
	}{
		{name: "UDP", frame: udpFrame(1, 2, 60), src: v4(1), dst: v4(2), sport: 1000, dport: 2000, protocol: 17},
		{name: "TCP", frame: eth(host(2), host(1), ip4(1, 2, 6, 0, tcp(5, 6, 2, 0))), src: v4(1), dst: v4(2), sport: 5,
			dport: 6, protocol: 6},
		{name: "tagged", frame: eth(host(2), host(1), tag(0x8100, 1), ip4(1, 2, 17, 0, udp(5, 6, 20))), src: v4(1),
			dst: v4(2), sport: 5, dport: 6, protocol: 17},
		{name: "a first fragment", frame: eth(host(2), host(1), ip4(1, 2, 17, 0x2000, udp(5, 6, 20))), src: v4(1), dst: v4(2),
			sport: 5, dport: 6, protocol: 17},
		{name: "a later fragment", frame: eth(host(2), host(1), ip4(1, 2, 17, 4, udp(5, 6, 20))), src: v4(1), dst: v4(2),
			protocol: 17},
		{name: "ICMP", frame: eth(host(2), host(1), ip4(1, 2, 1, 0, make([]byte, 26))), src: v4(1), dst: v4(2), protocol: 1},
		{name: "IPv6 with options", frame: eth(host(2), host(1), ip6(1, 1, 0, hop)), src: v6, dst: v6, sport: 7, dport: 8,
			protocol: 17},
		{name: "cut in the ports", frame: udpFrame(1, 2, 60), cut: 14 + 20 + 3, src: v4(1), dst: v4(2), protocol: 17},
		{name: "ARP", frame: pad(eth(host(2), host(1), u16(0x0806), make([]byte, 28)), 60), src: none, dst: none},
		{name: "IPv4 that is longer than its frame", frame: udpFrame(1, 2, 60)[:50], src: v4(1), dst: v4(2), sport: 1000,
			dport: 2000, protocol: 17},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := saisim.Frame{Data: tt.frame}
			if tt.cut > 0 {
				f = saisim.Frame{Data: tt.frame[:tt.cut], Len: len(tt.frame)}
			}
			var at saisim.Cycle
			s.SetObserver(func(m saisim.Moment) {
				if m.What == saisim.MomentDequeued && at == 0 {
					at = m.At
				}
			})
			s.sendAt(0, s.Now()+7, f)
			want := flymon.Make(tt.src, tt.dst, tt.sport, tt.dport, tt.protocol, uint64(s.TimeOfDay(at).UnixNano()))
			if got := s.seen(); len(got) == 0 || got[0] != want {
				t.Errorf("%x, want %x", got, want)
			}
		})
	}
}

// Each copy that enters the egress pipe is measured once, whatever its outcome. Copies for the CPU and mirror copies
// are not measured.
func TestMeasuredCopies(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(s *sketcher)
		send  func(s *sketcher)
		want  uint64
	}{
		{"flooded", func(*sketcher) {}, func(s *sketcher) { s.send(0, udpFrame(1, 2, 60)) }, 7},
		{"learned", func(s *sketcher) { s.send(1, udpFrame(2, 9, 60)) }, func(s *sketcher) { s.send(0, udpFrame(1, 2, 60)) },
			1},
		{"injected", func(*sketcher) {}, func(s *sketcher) {
			if err := s.Inject(3, saisim.Frame{Data: udpFrame(1, 2, 60)}); err != nil {
				s.Fatal(err)
			}
			s.drain()
		}, 1},
		{"to the CPU", func(*sketcher) {}, func(s *sketcher) {
			s.send(0, eth([]byte{1, 0x80, 0xc2, 0, 0, 0xe}, host(1), u16(0x88cc), make([]byte, 46)))
		}, 0},
		{"beyond the MTU at the egress", func(s *sketcher) {
			s.set(sai.ObjectTypePort, s.oid(4), sai.PortAttrMTU,
				sai.Uint(100))
		},
			func(s *sketcher) { s.send(0, udpFrame(1, 2, 200)) }, 7},
		{"denied at the egress", func(s *sketcher) {
			table := s.acl(sai.ACLStageEgress, sai.ACLTableAttrFieldSrcIP, sai.Bool(true))
			s.entry(table, 1, sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))
			s.set(sai.ObjectTypePort, s.oid(4), sai.PortAttrEgressACL, table)
		}, func(s *sketcher) { s.send(0, udpFrame(1, 2, 60)) }, 7},
		{"mirrored at both ends", func(s *sketcher) {
			m := s.create(sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
				sai.MirrorSessionAttrMonitorPort, s.oid(7))
			s.set(sai.ObjectTypePort, s.oid(0), sai.PortAttrIngressMirrorSession, sai.OIDs{m})
			s.set(sai.ObjectTypePort, s.oid(1), sai.PortAttrEgressMirrorSession, sai.OIDs{m})
		}, func(s *sketcher) { s.send(0, udpFrame(1, 2, 60)) }, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSketcher(t)
			tt.setup(s)
			s.task(seeing(t))
			tt.send(s)
			if got := s.status("see").Banks[0].Packets; got != tt.want {
				t.Errorf("%d copies, want %d", got, tt.want)
			}
		})
	}
}

// greatest returns a task of one bucket that holds the maximum of a parameter.
func greatest(t testing.TB, name string, cmu int, from flymon.Source) flymon.Layout {
	l := counting(t, name, "none", 0, cmu, 0, 32)
	l.Flow, l.Units[0].Op, l.Units[0].P1, l.Measures = flowKey(t, "src-ip"), flymon.Max, flymon.Param{From: from},
		"max(size)"
	return l
}

// most returns the value of a task of one bucket.
func (s *sketcher) most(task string) uint32 {
	s.Helper()
	return slices.Max(s.buckets(task, 0, 0, 32))
}

// The size is that of the frame as it leaves, with its tag and FCS. The queue length is measured when the copy reaches
// the queue, and the delay starts at that time.
func TestSizeAndQueue(t *testing.T) {
	s := newSketcher(t)
	vlan := s.vlan(7)
	for id := range saisim.PortID(4) {
		mode := sai.VLANTaggingModeUntagged
		if id == 3 {
			mode = sai.VLANTaggingModeTagged
		}
		s.member(vlan, s.bp(id), mode)
		s.set(sai.ObjectTypePort, s.oid(id), sai.PortAttrPortVLANID, sai.Uint(7))
	}
	s.send(3, eth(host(9), host(4), tag(0x8100, 7), ip4(4, 9, 17, 0, udp(1, 2, 20)))) // host 4 is at port 3
	s.task(greatest(t, "size", 0, flymon.Size))
	s.task(greatest(t, "length", 1, flymon.QueueLength))
	s.task(greatest(t, "delay", 2, flymon.QueueDelay))
	s.send(0, udpFrame(1, 4, 300))
	if size, length, delay := s.most("size"), s.most("length"),
		s.most("delay"); size != 300+4+4 || length != 0 || delay != 0 {
		t.Errorf("size %d, queue %d bytes, %d ns; want 308, 0, 0: tag and FCS, no queue", size, length, delay)
	}
	s.Advance(s.Now() + 1000)            // the wire is free again
	var queued, dequeued [4]saisim.Cycle // by ingress port
	s.SetObserver(func(m saisim.Moment) {
		switch m.What {
		case saisim.MomentQueued:
			queued[m.ID] = m.At
		case saisim.MomentDequeued:
			dequeued[m.ID] = m.At
		}
	})
	for i, id := range []saisim.PortID{0, 1, 2} {
		if err := s.Receive(id, s.Now()+10+saisim.Cycle(i), saisim.Frame{Data: udpFrame(byte(1+i), 4, 200+i),
			ID: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	s.drain()
	want := uint64(dequeued[2]-queued[2]) * 1_000_000_000 / s.Profile().ClockHz
	if length, delay := s.most("length"), s.most("delay"); length != 201 || uint64(delay) != want || want < 300 {
		t.Errorf("queue %d bytes, %d ns; want 201, which waits as the third comes, and %d", length, delay, want)
	}
}

// Banks alternate by the chip's time of day. A bank that counts again before it is cleared is dirty. The same holds
// after a step back.
func TestBanksByTimeOfDay(t *testing.T) {
	s := newSketcher(t)
	l := counting(t, "t", "src-ip", 0, 0, 0, 32)
	l.Epoch = 1_000_000
	s.task(l)
	// The clock begins at a whole number of milliseconds.
	epoch := uint64(start.UnixNano()) / l.Epoch
	at := func(ms float64, packets int) {
		t.Helper()
		now := max(s.Now(), s.CycleAt(time.Duration(ms*1e6)))
		for range packets {
			s.sendAt(0, now, saisim.Frame{Data: udpFrame(1, 2, 60)})
			now = s.Now()
		}
	}
	want := func(bank int, n, packets uint64, dirty bool) {
		t.Helper()
		b := s.status("t").Banks[bank]
		if b.Epoch != n || b.Packets != 7*packets || b.Dirty != dirty ||
			uint64(total(s.buckets("t", 0, bank, 32))) != 7*packets {
			t.Errorf("bank %d: %+v, %d in buckets; want epoch %d, %d packets, dirty %v", bank, b,
				total(s.buckets("t", 0, bank, 32)), n, 7*packets, dirty)
		}
	}
	even, odd := int(epoch%2), 1-int(epoch%2)
	at(0.2, 2)
	at(1.5, 3)
	want(even, epoch, 2, false)
	want(odd, epoch+1, 3, false)
	s.extension(flymon.ObjectClear, entryOf(s, "clear", map[string]any{"task": "t", "bank": even}))
	want(even, epoch, 0, false)
	at(2.1, 1)
	want(even, epoch+2, 1, false)
	at(3.1, 1)
	want(odd, epoch+3, 4, true)
	noError(t, s.StepClock(-2*time.Millisecond))
	at(4.5, 1) // the clock reads 2.5
	want(even, epoch+2, 2, false)
	noError(t, s.StepClock(20*time.Millisecond))
	at(5.5, 1) // the clock reads 23.5
	want(odd, epoch+23, 5, true)
	noError(t, s.SetClockDrift(saisim.MaxClockRate))
	at(15.5, 1) // a tenth more of about 10
	want(even, epoch+34, 3, true)
	var clock []uint64
	s.ask(flymon.ObjectStatus, "tasks", []string{}, "time", &clock)
	if tod := s.TimeOfDay(s.Now()); !slices.Equal(clock, []uint64{uint64(tod.Unix()), uint64(tod.Nanosecond()), 1, 2,
		uint64(start.UnixNano())}) {
		t.Errorf("time %v at %v", clock, tod)
	}
}

// A chip with tasks forwards like one without.
func TestSketchesChangeNoPacket(t *testing.T) {
	var want []sent
	for _, tasks := range []bool{false, true} {
		s := newSketcher(t)
		if tasks {
			s.task(seeing(t))
			s.task(counting(t, "again", "5-tuple", 6, 1, 0, 64))
		}
		for i := range 40 {
			if err := s.Receive(saisim.PortID(i%8), saisim.Cycle(i), saisim.Frame{
				Data: udpFrame(byte(i), byte(i*7%40), 60+i)}); err != nil {
				t.Fatal(err)
			}
		}
		got := s.drain()
		if want == nil {
			want = got
		}
		if !slices.EqualFunc(got, want, func(a, b sent) bool {
			return a.port == b.port && a.at == b.at &&
				bytes.Equal(a.data, b.data)
		}) {
			t.Error("tasks change what leaves")
		}
	}
}
