package saisim_test

import (
	"slices"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

// In the small profile, the clock is 1.25 GHz, so at 10 Gb/s one byte takes one cycle of 0.8 ns. From the pipe's entry
// to the queue it takes 4 + 4*2 + 5 = 17 cycles, from the scheduler to the egress MAC 4*2 + 3 = 11.
const (
	toQueue = 17
	toMAC   = 11
)

func TestLatencyOfOneFrame(t *testing.T) {
	for _, tt := range []struct {
		name      string
		bytes     int // without FCS
		wantSFD   saisim.Cycle
		wantWhole string
	}{
		// received at 1000 + wire bytes, enters immediately, + 17 + 11, + 8 bytes of preamble and SFD
		{"60 bytes are 64 on the wire", 60, 1000 + 64 + toQueue + toMAC + 8, ""},
		{"42 bytes are padded to 64 on the wire", 42, 1000 + 64 + toQueue + toMAC + 8, ""},
		{"61 bytes are 65", 61, 1000 + 65 + toQueue + toMAC + 8, ""},
		{"1514 bytes are 1518", 1514, 1000 + 1518 + toQueue + toMAC + 8, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			r.send(1, udpFrame(2, 1, 60)) // learn host 2 at port 1
			r.Advance(500)
			outs := r.sendAt(0, 1000, saisim.Frame{Data: udpFrame(1, 2, tt.bytes)})
			if len(outs) != 1 || outs[0].at != tt.wantSFD || outs[0].port != 1 {
				t.Errorf("left %v, want one at port 1 at %d", outs, tt.wantSFD)
			}
		})
	}
}

// At rates that are not whole cycles per byte, nothing is rounded before the end.
func TestRatesThatDoNotDivide(t *testing.T) {
	p := profile.Small()
	p.ClockHz = 1_000_000_000 // 10 Gb/s: 0.8 cycles a byte
	r := newRig(t, p)
	r.send(1, udpFrame(2, 1, 60))
	r.Advance(500)
	// Three frames of 60 bytes back to back, given to the MAC at one cycle.
	for range 3 {
		noError(t, r.Receive(0, 1000, saisim.Frame{Data: udpFrame(1, 2, 60)}))
	}
	outs := r.drain()
	// Ingress SFD 1000, 1067.2, 1134.4 (84 bytes * 0.8); complete 51.2 later: 1051.2, 1118.4, 1185.6 -> 1052, 1119,
	// 1186. At the MAC 28 later: 1080, 1147, 1214. Egress preamble: 1080; then max(1147, 1080 + 84*0.8 = 1147.2) =
	// 1147.2; then max(1214, 1214.4). SFD 6.4 later: 1086.4, 1153.6, 1220.8.
	want := []saisim.Cycle{1087, 1154, 1221}
	for i, o := range outs {
		if o.at != want[i] {
			t.Errorf("frame %d at %d, want %d", i, o.at, want[i])
		}
	}
	if len(outs) != 3 {
		t.Fatalf("%d frames left", len(outs))
	}
}

// The formulas of the package comment, by hand: the default profile, 1 GHz and 100 Gb/s, so a byte takes 0.08 cycles.
// From the pipe's entry to the queue it takes 20 + 12*12 + 40 = 204 cycles, from the scheduler to the egress MAC 12*12
// + 20 = 164. All frames arrive at cycle T. Every want counts from there.
func TestTimingByHand(t *testing.T) {
	type in struct {
		port  saisim.PortID
		frame []byte
	}
	toA, toB := func(from byte, n int) []byte { return udpFrame(from, 91, n) },
		func(from byte, n int) []byte { return udpFrame(from, 92, n) }
	lldp := pad(eth([]byte{1, 0x80, 0xc2, 0, 0, 0xe}, host(1), u16(0x88cc)), 60)
	const A, B, CPU = 5, 9, saisim.CPUPort // ports of hosts 91 and 92
	type out struct {
		port saisim.PortID
		at   saisim.Cycle
	}
	for _, tt := range []struct {
		name string
		in   []in
		want []out
	}{
		// Complete at 64*0.08 = 5.12, visible at 6; queue 210; MAC 374; SFD 374.64, visible at 375.
		{"one frame", []in{{1, toA(1, 60)}}, []out{{A, 375}}},
		// The second: SFD 84*0.08 = 6.72, complete at 11.84 -> 12; queue 216. The first leaves the MAC free at 374.64 +
		// 76*0.08 = 380.72, its scheduler at 380 - 164 = 216. MAC max(216 + 164, 380.72); SFD 381.36.
		{"two in a row", []in{{1, toA(1, 60)}, {1, toA(1, 60)}}, []out{{A, 375}, {A, 382}}},
		// Both complete at 6; the lower port enters at 6, the other at 7.
		{"two ports at once", []in{{17, toB(2, 60)}, {13, toA(1, 60)}}, []out{{A, 375}, {B, 376}}},
		{"with a runt, which takes no place", []in{{17, toB(2, 60)}, {13, toA(1, 60)[:13]}}, []out{{B, 375}}},
		// After 9996 bytes and FCS: SFD 10020*0.08 = 801.6, complete 806.72 -> 807.
		{"behind what exceeds the MTU", []in{{1, toA(1, 9996)}, {1, toB(1, 60)}}, []out{{B, 807 + 204 + 164 + 1}}},
		// The first is too long for port 21. It would have kept the MAC busy until 449.64 + 81.28 = 530.92. The second:
		// SFD 1024*0.08 = 81.92, complete 161.92 -> 162; queue 366; MAC 530; SFD 530.64.
		{"behind what the egress drops", []in{{1, udpFrame(1, 93, 1000)}, {1, udpFrame(1, 93, 996)}}, []out{{21, 531}}},
		// The CPU has no MAC: queue is 210.
		{"to the CPU", []in{{1, lldp}}, []out{{CPU, 210}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Default())
			for host, port := range map[byte]saisim.PortID{91: A, 92: B, 93: 21} {
				r.send(port, udpFrame(host, 90, 60))
			}
			r.set(sai.ObjectTypePort, r.oid(21), sai.PortAttrMTU, sai.Uint(1000))
			at := r.Now() + 1000
			for _, in := range tt.in {
				noError(t, r.Receive(in.port, at, saisim.Frame{Data: in.frame}))
			}
			var got []out
			for _, o := range r.drain() {
				got = append(got, out{o.port, o.at - at})
			}
			t.Log("left by port, at:", got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("want %v", tt.want)
			}
		})
	}
}

// Line rate in is line rate out, for a long time, without drift.
func TestNoDrift(t *testing.T) {
	p := profile.Small()
	p.ClockHz = 999_999_937 // a prime, so nothing divides evenly
	r := newRig(t, p)
	r.send(1, udpFrame(2, 1, 60))
	first := r.Now() + 1000
	const n = 20_000
	var last saisim.Cycle
	count := 0
	r.SetOutput(func(o *saisim.Out) { last = o.At; count++ })
	for range n {
		noError(t, r.Receive(0, first, saisim.Frame{Data: udpFrame(1, 2, 100)}))
	}
	r.drain()
	// n-1 frames of 104+20 bytes of 0.8 ns: (n-1) * 124 * 8 * Hz / 10^10 cycles between the first and the last. The
	// first starts at a whole cycle at the egress, at most one cycle late.
	span := (n - 1) * 124 * 8 * p.ClockHz / 10_000_000_000
	firstOut := first + saisim.Cycle(104*8*p.ClockHz/10_000_000_000+1) + toQueue + toMAC +
		saisim.Cycle(8*8*p.ClockHz/10_000_000_000)
	if late := int64(last) - int64(firstOut) - int64(span); late < 0 || late > 2 || count != n {
		t.Errorf("%d frames, the last %d cycles after it is due", count, late)
	}
}

// One frame enters the pipe per cycle. Among frames that are complete in one cycle the lower port goes first, and an
// earlier frame stays first.
func TestArbitration(t *testing.T) {
	r := newRig(t, profile.Small())
	r.send(7, udpFrame(9, 1, 60)) // host 9 at port 7
	at := r.Now() + 100
	for _, in := range []struct {
		port saisim.PortID
		at   saisim.Cycle
	}{{3, at}, {1, at}, {2, at}, {0, at + 1}} {
		noError(t, r.Receive(in.port, in.at, saisim.Frame{Data: udpFrame(byte(in.port)+1, 9, 60)}))
	}
	var order []saisim.PortID
	for _, o := range r.drain() {
		order = append(order, o.in)
	}
	if want := []saisim.PortID{1, 2, 3, 0}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// 11 frames of 10 Gb/s each into one port of 10 Gb/s: the queue drains at line
// rate and the buffer bounds it.
func TestCongestion(t *testing.T) {
	p := profile.Small()
	p.Buffer = profile.Buffer{CellBytes: 1000, Cells: 3} // three frames of 1000 bytes
	r := newRig(t, p)
	r.send(7, udpFrame(9, 1, 60))
	at := r.Now() + 100
	for id := range saisim.PortID(6) {
		noError(t, r.Receive(id, at, saisim.Frame{Data: udpFrame(id2host(id), 9, 1000)}))
	}
	outs := r.drain()
	// All are complete at at+1004 and queued at +17, +18, ... +22. The first goes to the MAC immediately; three wait;
	// the fifth and sixth find no buffer space. Each takes 8 + 1004 + 12 = 1024 cycles.
	first := at + 1004 + toQueue + toMAC + 8
	want := []saisim.Cycle{first, first + 1024, first + 2*1024, first + 3*1024}
	if len(outs) != len(want) {
		t.Fatalf("%d frames left, want %d", len(outs), len(want))
	}
	for i, o := range outs {
		if o.at != want[i] || o.in != saisim.PortID(i) {
			t.Errorf("frame %d: from port %d at %d, want %d at %d", i, o.in, o.at, i, want[i])
		}
	}
	if got := r.dropped(7); got != "buffer=2 " {
		t.Errorf("drops %q", got)
	}
}

func id2host(id saisim.PortID) byte { return byte(id) + 1 }

// Timestamps of the record, by hand, across the edge of a second.
func TestStampTimes(t *testing.T) {
	r := newRig(t, profile.Small())
	r.stampAll(2020)
	r.send(1, udpFrame(2, 1, 60))
	// Start is x.6 s. 0.4 s are 500 000 000 cycles of 0.8 ns. The frame's SFD is 10 cycles (8 ns) before the full
	// second.
	const at = 500_000_000 - 10
	outs := r.sendAt(0, at, saisim.Frame{Data: udpFrame(1, 2, 60)})
	if len(outs) != 1 {
		t.Fatalf("%d frames left", len(outs))
	}
	// Egress: + 64 + 17 + 11 + 8 = 100 cycles = 80 ns: 72 ns after the full second.
	second := uint64(start.Unix()) + 1
	want := tailstamp.Record{
		SwitchID: 2020,
		Ingress:  tailstamp.Timestamp{Seconds: second - 1, Nanoseconds: 999_999_992},
		Egress:   tailstamp.Timestamp{Seconds: second, Nanoseconds: 72},
		InPort:   0, OutPort: 1,
	}
	recs, end := tailstamp.Decode(outs[0].data)
	if len(recs) != 1 || recs[0] != want || end != 60 || !outs[0].stamped {
		t.Errorf("records %+v behind %d bytes, want %+v behind 60", recs, end, want)
	}
	if d, _ := recs[0].Latency(); d != 80*time.Nanosecond {
		t.Errorf("latency %v", d)
	}
	if !r.TimeOfDay(outs[0].at).Equal(want.Egress.Time()) {
		t.Errorf("time of day %v, stamp %v", r.TimeOfDay(outs[0].at), want.Egress.Time())
	}
}

// A stamped frame occupies the wire for the time of its trailer, too.
func TestTrailerTakesTime(t *testing.T) {
	r := newRig(t, profile.Small())
	r.send(1, udpFrame(2, 1, 60))
	r.stampAll(1)
	at := r.Now() + 100
	for range 2 {
		noError(t, r.Receive(0, at, saisim.Frame{Data: udpFrame(1, 2, 100)}))
	}
	outs := r.drain()
	// Frames arrive every 124 cycles and leave every 100 + 32 + 4 + 20 = 156.
	if len(outs) != 2 || outs[1].at-outs[0].at != 156 {
		t.Errorf("left %v", outs)
	}
	if in := decode(t, outs[1]).Ingress.Sub(decode(t, outs[0]).Ingress); in != 99*time.Nanosecond &&
		in != 100*time.Nanosecond {
		t.Errorf("ingress stamps %v apart, want 124 cycles of 0.8 ns", in)
	}
}

func decode(t testing.TB, s sent) tailstamp.Record {
	t.Helper()
	recs, _ := tailstamp.Decode(s.data)
	if len(recs) != 1 {
		t.Fatalf("%d records in %v", len(recs), s)
	}
	return recs[0]
}

// stampAll stamps all packets received at any port, counted under "all".
func (r *rig) stampAll(switchID uint32) (counter sai.OID) {
	r.Helper()
	table := r.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress)
	counter = r.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, table, sai.ACLCounterAttrEnablePacketCount,
		sai.Bool(true),
		sai.ACLCounterAttrEnableByteCount, sai.Bool(true), sai.ACLCounterAttrLabel, sai.Text("all"))
	r.create(sai.ObjectTypeACLEntry, append([]any{
		sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrActionCounter, sai.Do(counter),
	}, r.stampAction(switchID)...)...)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
	return counter
}

// stampAction returns the actions of an entry that tail-stamps.
func (r *rig) stampAction(switchID uint32) []any {
	r.Helper()
	tam := r.create(sai.ObjectTypeTAMInt, sai.TAMIntAttrType, sai.TAMIntTypeIfa1Tailstamp, sai.TAMIntAttrDeviceID,
		sai.Uint(switchID),
		sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeUndefined, sai.TAMIntAttrInline, sai.Bool(true))
	return []any{sai.ACLEntryAttrActionTAMIntObject, sai.Do(tam), sai.ACLEntryAttrActionIntInsert, sai.Do(sai.Bool(true))}
}
