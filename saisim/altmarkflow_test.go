package saisim_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

var muxedStart = altmark.Session{Role: altmark.Initiator, Method: altmark.Muxed, Interval: -4, Mark: altmark.DSCP0,
	SlotSync: true}

func (m *marker) sendMarked(at saisim.Cycle, bit byte) {
	m.Helper()
	f := udpFrame(1, 2, 60)
	f[15] = bit << 2
	m.sendAt(0, at, saisim.Frame{Data: withChecksum(f)})
}

// Steps are distinguished from pulses by the mark alone: a change is a step if the last step is 3/4 of an interval ago,
// otherwise a pulse. After a pause of more than 1/8 of the interval a step may have been missed. Times are in 1/1000 of
// the interval.
func TestMuxedWithoutSlots(t *testing.T) {
	const n = altmark.Interval(-1)
	type packet struct {
		at  uint64
		bit byte
	}
	steady := func(from, to uint64, bit byte) (p []packet) { // one packet per 1/10 of the interval
		for ; from < to; from += 100 {
			p = append(p, packet{from, bit})
		}
		return p
	}
	join := func(parts ...[]packet) (p []packet) {
		for _, x := range parts {
			p = append(p, x...)
		}
		return p
	}
	for _, tt := range []struct {
		name               string
		packets            []packet
		captures, pulses   [2]uint64 // pulses is the number of frames in pulseBytes
		outside            [2]uint64
		lastCapture, guard uint64
	}{
		{"the first packet is a gap", []packet{{0, 0}}, [2]uint64{}, [2]uint64{}, [2]uint64{1, 0}, 0, 1000},
		{"a pulse in the middle of each", join(steady(0, 600, 0), []packet{{550, 1}}, steady(600, 1000, 0),
			steady(1000, 1600, 1), []packet{{1550, 0}}, steady(1600, 2000, 1)),
			[2]uint64{1, 1}, [2]uint64{1, 1}, [2]uint64{1, 0}, 1550, 1000},
		{"a step just at 3/4", join(steady(0, 700, 0), []packet{{700, 0}, {751, 1}, {800, 1}}), [2]uint64{}, [2]uint64{},
			[2]uint64{1, 0}, 0, 1000},
		{"a pulse just before 3/4", join(steady(0, 700, 0), []packet{{700, 0}, {749, 1}, {800, 0}}), [2]uint64{1, 0},
			[2]uint64{1, 0}, [2]uint64{1, 0}, 749, 1000},
		{"a pause of an eighth", []packet{{0, 0}, {124, 0}}, [2]uint64{}, [2]uint64{}, [2]uint64{1, 0}, 0, 1000},
		{"a longer one", []packet{{0, 0}, {126, 0}}, [2]uint64{}, [2]uint64{}, [2]uint64{2, 0}, 0, 1000},
		{"a step after a pause counts for its own colour", join(steady(0, 700, 0), []packet{{1000, 1}}), [2]uint64{},
			[2]uint64{}, [2]uint64{1, 1}, 0, 1000},
		{"colour 0 in the middle of period 1", join(steady(0, 1400, 0), []packet{{1350, 1}}), [2]uint64{}, [2]uint64{},
			[2]uint64{1 + 3, 0}, 0, 50},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMarker(t)
			s := altmark.Session{Role: altmark.Transit, Method: altmark.Muxed, Interval: n, Mark: altmark.DSCP0}
			m.profile(0, s, n.Duration()/1000*time.Duration(tt.guard))
			m.flow(0, 1)
			for _, p := range tt.packets {
				m.sendMarked(m.within(n, 0, p.at), p.bit)
			}
			last := m.timeAt(m.within(n, 0, tt.lastCapture))
			for c, got := range m.colours(1) {
				want := got
				want.captures, want.outside, want.pulseBytes, want.unsync = tt.captures[c], tt.outside[c], 64*tt.pulses[c], 0
				if uint64(c) == tt.lastCapture/1000&1 && tt.lastCapture > 0 {
					want.seconds, want.nanoseconds = last.Seconds, uint64(last.Nanoseconds)
				}
				if got != want {
					t.Errorf("colour %d:\n%v\nwant\n%v", c, got, want)
				}
			}
		})
	}
}

// 3/4 and 1/8 of the shortest interval, 976562.5 ns, are not whole nanoseconds. The chip nevertheless uses the exact
// values, 732421.875 ns and 122070.3125 ns.
func TestEighthsAreExact(t *testing.T) {
	p := profile.Small()
	p.ClockHz = 1_000_000_000
	for _, tt := range []struct {
		name     string
		gaps     []time.Duration // times between packets
		captures uint64          // number of captures; the last packet is marked
		outside  uint64          // packets outside the window, of both colours together
	}{
		{"a pause of 122070 ns", []time.Duration{122_070}, 1, 1},
		{"a pause of 122071 ns", []time.Duration{122_071}, 1, 2},
		{"a change after 732421 ns", []time.Duration{122_000, 122_000, 122_000, 122_000, 122_000, 122_000, 421}, 1, 1},
		{"a change after 732422 ns", []time.Duration{122_000, 122_000, 122_000, 122_000, 122_000, 122_000, 422}, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMarkerOf(t, p)
			m.profile(0, altmark.Session{Role: altmark.Transit, Method: altmark.Muxed, Interval: -10, Mark: altmark.DSCP0},
				time.Second)
			m.flow(0, 1)
			at := m.Now() + 1000
			m.sendMarked(at, 0)
			for i, gap := range tt.gaps {
				at += saisim.Cycle(gap)
				bit := byte(0)
				if i == len(tt.gaps)-1 {
					bit = 1
				}
				m.sendMarked(at, bit)
			}
			c := m.colours(1)
			if got := c[0].captures + c[1].captures; got != tt.captures {
				t.Errorf("%d captures, want %d", got, tt.captures)
			}
			if got := c[0].outside + c[1].outside; got != tt.outside {
				t.Errorf("%d gaps, want %d", got, tt.outside)
			}
		})
	}
}

// At a reader, a packet is out of window if it arrives at least the guard after the beginning of a period of the other
// colour, and more than the early guard before the end of that period. Delay and clock errors make packets late. Only
// clock errors make them early.
func TestOutOfWindow(t *testing.T) {
	const n = altmark.Interval(-1)
	m := newMarker(t)
	m.extension(altmark.ObjectProfile, guardedJSON(0, altmark.Session{Role: altmark.Terminator, Method: altmark.Step,
		Interval: n, Mark: altmark.DSCP0, SlotSync: true},
		n.Duration()/10, n.Duration()/50))
	m.flow(0, 1)
	k := uint64(0)
	for _, tt := range []struct {
		part uint64
		bit  byte
		want [2]uint64
	}{
		{99, 1, [2]uint64{}}, {101, 1, [2]uint64{0, 1}}, {500, 1, [2]uint64{0, 1}}, {901, 1, [2]uint64{0, 1}},
		{979, 1, [2]uint64{0, 1}}, {981, 1, [2]uint64{}},
		{500, 0, [2]uint64{}}, {1099, 0, [2]uint64{}}, {1101, 0, [2]uint64{1, 0}}, {1500, 1, [2]uint64{}},
	} {
		before := m.colours(1)
		m.sendMarked(m.within(n, k, tt.part), tt.bit)
		k += 2
		after := m.colours(1)
		if got := [2]uint64{after[0].outside - before[0].outside, after[1].outside - before[1].outside}; got != tt.want {
			t.Errorf("mark %d at %d/1000: %v out of window, want %v", tt.bit, tt.part, got, tt.want)
		}
	}
}

// A captured packet has the same digest at every switch, whatever routers and marks have changed in it. Other packets
// of its flow have other digests.
func TestDigest(t *testing.T) {
	m := newMarker(t)
	m.profile(0, altmark.Session{Role: altmark.Transit, Method: altmark.Pulse, Mark: altmark.DSCP0, SlotSync: true}, 0)
	m.flow(0, 1)
	digest := func(change func(ip []byte)) uint64 {
		f := bytes.Clone(udpFrame(1, 2, 100))
		f[15] |= 1 << 2 // marks the packet as a pulse
		change(f[14:])
		before := m.words(1)["counters"]
		m.sendAt(0, m.Now(), saisim.Frame{Data: f})
		after := m.words(1)["counters"]
		for colour := range 2 {
			if w := after[11*colour:]; w[2] > before[11*colour+2] {
				return w[10]
			}
		}
		t.Fatal("no capture")
		return 0
	}
	same := digest(func([]byte) {})
	for name, tt := range map[string]struct {
		change func(ip []byte)
		same   bool
	}{
		"routed: TTL and checksum":       {func(ip []byte) { ip[8]--; ip[10]++ }, true},
		"remarked: type of service":      {func(ip []byte) { ip[1] = 0xff }, true},
		"the reserved flag":              {func(ip []byte) { ip[6] |= 0x80 }, true},
		"another identification":         {func(ip []byte) { ip[5]++ }, false},
		"another payload":                {func(ip []byte) { ip[30]++ }, false},
		"another length of the datagram": {func(ip []byte) { ip[3]-- }, false},
	} {
		if got := digest(tt.change); (got == same) != tt.same {
			t.Errorf("%s: digest %#x, and %#x before; want the same: %v", name, got, same, tt.same)
		}
	}
}

// The lane and the index of an entry decide whether its packets are marked. The entry counts its packets in any case,
// and sets no metadata.
func TestFlowEntries(t *testing.T) {
	const n = altmark.Interval(-4)
	step := altmark.Session{Role: altmark.Initiator, Method: altmark.Step, Interval: n, Mark: altmark.DSCP0,
		SlotSync: true}
	for _, tt := range []struct {
		name        string
		lane, index int
		frame       []byte
		marked      bool
	}{
		{"a flow", 2, 63, udpFrame(1, 2, 60), true},
		{"no profile in its lane", 3, 1, udpFrame(1, 2, 60), false},
		{"no such lane", 10, 1, udpFrame(1, 2, 60), false},
		{"an index that the chip does not have", 2, 64, udpFrame(1, 2, 60), false},
		{"no IP", 2, 1, eth(host(2), host(1), make([]byte, 46)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMarker(t)
			m.profile(2, step, 0)
			c := m.entry(m.table, 1, yields(tt.lane, 1, tt.index)...)
			out := m.acl(sai.ACLStageEgress, sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true))
			set := m.entry(out, 1, sai.ACLEntryAttrFieldACLUserMeta, sai.Match(sai.Uint(0), sai.Uint(0xffffffff)))
			m.set(sai.ObjectTypeSwitch, m.sw, sai.SwitchAttrEgressACL, out)
			b := m.sendAt(0, m.within(n, 1, 500), saisim.Frame{Data: tt.frame})[0].data
			if marked := !bytes.Equal(b, tt.frame); marked != tt.marked {
				t.Errorf("left as %x", b)
			}
			if m.packets(c) != 1 || m.packets(set) != 1 {
				t.Errorf("counted %d, %d with metadata 0 at the egress, want 1 and 1", m.packets(c), m.packets(set))
			}
		})
	}
}

// A packet can hit entries in two tables: one sets plain metadata, the other assigns the packet to a flow.
func TestFlowAndMetadata(t *testing.T) {
	const n = altmark.Interval(-4)
	m := newMarker(t)
	m.profile(0, altmark.Session{Role: altmark.Initiator, Method: altmark.Step, Interval: n, Mark: altmark.DSCP0,
		SlotSync: true}, 0)
	m.flow(0, 1)
	plain := m.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldSrcMAC, sai.Bool(true))
	m.entry(plain, 1, sai.ACLEntryAttrActionSetACLMetaData, sai.Do(sai.Uint(77)))
	m.set(sai.ObjectTypePort, m.oid(0), sai.PortAttrIngressACL, m.group(sai.ACLStageIngress, sai.ACLTableGroupTypeParallel,
		plain, m.table))
	out := m.acl(sai.ACLStageEgress, sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true))
	set := m.entry(out, 1, sai.ACLEntryAttrFieldACLUserMeta, sai.Match(sai.Uint(77), sai.Uint(0xffffffff)))
	m.set(sai.ObjectTypeSwitch, m.sw, sai.SwitchAttrEgressACL, out)
	b := m.sendAt(0, m.within(n, 1, 500), saisim.Frame{Data: withChecksum(udpFrame(1, 2, 60))})[0].data
	if b[15] != 1<<2 || m.packets(set) != 1 {
		t.Errorf("traffic class %#x, metadata matched %d times; want 0x4 and once", b[15], m.packets(set))
	}
}

// A mark overrides its bit of the DSCP that an ACL entry sets, and only that bit.
func TestMarkAndSetDSCP(t *testing.T) {
	const n = altmark.Interval(-4)
	for period, tt := range []struct{ dscp, want byte }{{0b101110, 0b101010}, {0b101010, 0b101110}} {
		m := newMarker(t)
		m.profile(0, altmark.Session{Role: altmark.Initiator, Method: altmark.Step, Interval: n, Mark: altmark.DSCP2,
			SlotSync: true}, 0)
		m.flow(0, 1, sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(tt.dscp)))
		b := m.sendAt(0, m.within(n, uint64(period), 500), saisim.Frame{Data: withChecksum(udpFrame(1, 2, 60))})[0].data
		if b[15] != tt.want<<2 || sum16(b[14:]) != 0 {
			t.Errorf("period %d: traffic class %#x, checksum off by %#x; want DSCP %#b", period, b[15], sum16(b[14:]), tt.want)
		}
	}
}

// Marks are read as received, whatever a program has written since. Written marks override the program.
func TestProgramAndMarks(t *testing.T) {
	const n = altmark.Interval(-4)
	m := newMarker(t)
	m.load(&pipe.Program{Name: "p", Ingress: pipe.Pipe{Tables: []pipe.Table{
		does("t", 0, op("set", "ip.dscp", constant(0)))}},
		Egress: pipe.Pipe{Tables: []pipe.Table{does("e", 0, op("set", "ip.ecn", constant(1)))}}})
	m.profile(0, altmark.Session{Role: altmark.Terminator, Method: altmark.Double, Interval: n, Mark: altmark.DSCP0,
		Mark2: altmark.IPv4Reserved, SlotSync: true, Clear: true}, 0)
	m.flow(0, 1)
	f := udpFrame(1, 2, 60)
	f[15], f[20] = 0xfc, 0x80
	b := m.sendAt(0, m.within(n, 0, 500), saisim.Frame{Data: withChecksum(f)})[0].data
	if c := m.colours(1); c[1].packets != 1 || c[1].captures != 1 {
		t.Errorf("%v, want one packet of colour 1, captured", c)
	}
	if b[15] != 1 || b[20] != 0 || sum16(b[14:]) != 0 {
		t.Errorf("left with traffic class %#x, flags %#x, checksum off by %#x; want 1, 0, 0", b[15], b[20], sum16(b[14:]))
	}
}

// Copies for the CPU and for an ingress mirror session are as received. Copies for an egress mirror session are as the
// packet leaves.
func TestMarksAndCopies(t *testing.T) {
	const n = altmark.Interval(-4)
	m := newMarker(t)
	m.profile(0, altmark.Session{Role: altmark.Terminator, Method: altmark.Step, Interval: n, Mark: altmark.DSCP5,
		SlotSync: true, Clear: true}, 0)
	m.flow(0, 1, action(sai.PacketActionLog)...)
	m.set(sai.ObjectTypePort, m.oid(0), sai.PortAttrIngressMirrorSession, sai.OIDs{m.local(6)})
	m.set(sai.ObjectTypePort, m.oid(2), sai.PortAttrEgressMirrorSession, sai.OIDs{m.local(7)})
	f := udpFrame(1, 2, 60)
	f[15] = 0xff
	got := map[saisim.PortID]byte{}
	for _, o := range m.sendAt(0, m.within(n, 0, 500), saisim.Frame{Data: withChecksum(f)}) {
		got[o.port] = o.data[15]
	}
	if want := map[saisim.PortID]byte{saisim.CPUPort: 0xff, 6: 0xff, 2: 0x7f,
		7: 0x7f}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("traffic classes by port %v, want %v", got, want)
	}
}

// The state of an index is kept as long as there are entries with it. It includes the register of tables 3 and 5, which
// decides whether the first packet after a pause is a pulse.
func TestFlowStateBeginsAtZero(t *testing.T) {
	const n = altmark.Interval(-4)
	pulse := altmark.Session{Role: altmark.Initiator, Method: altmark.Pulse, Interval: n, Mark: altmark.DSCP0,
		SlotSync: true}
	m := newMarker(t)
	m.profile(0, pulse, 0)
	entries := m.flow(0, 1)
	captures := func() uint64 { c := m.colours(1); return c[0].captures + c[1].captures }
	generation := m.words(1)["generations"][0]
	same := func(what string, want uint64, anew bool) {
		t.Helper()
		if got := captures(); got != want {
			t.Errorf("%s: %d captures, want %d", what, got, want)
		}
		g := m.words(1)["generations"][0]
		if (g != generation) != anew {
			t.Errorf("%s: generation %d after %d", what, g, generation)
		}
		generation = g
	}
	m.sendMarked(m.within(n, 1, 100), 0)
	same("a packet of the first odd period", 1, false)
	m.remove(sai.ObjectTypeACLEntry, entries[0])
	m.set(sai.ObjectTypeACLEntry, entries[1], sai.ACLEntryAttrPriority, sai.Uint(6))
	m.set(sai.ObjectTypeACLEntry, entries[1], sai.ACLEntryAttrAdminState, sai.Bool(false))
	m.set(sai.ObjectTypeACLEntry, entries[1], sai.ACLEntryAttrAdminState, sai.Bool(true))
	same("one entry is left, and changed", 1, false)
	m.sendMarked(m.within(n, 1, 200), 0)
	same("a second packet", 1, false)
	m.set(sai.ObjectTypeACLEntry, entries[1], sai.ACLEntryAttrActionSetACLMetaData, sai.Do(sai.Uint(3)))
	same("no entry yields the index", 1, false)
	m.set(sai.ObjectTypeACLEntry, entries[1], yields(0, 1, 1)[0].(sai.AttrID), yields(0, 1, 1)[1].(sai.Value))
	same("one does again", 0, true)
	m.sendMarked(m.within(n, 1, 300), 0)
	same("the register is 0 again", 1, false)
	m.remove(sai.ObjectTypeACLEntry, entries[1])
	m.flow(0, 1)
	same("all entries anew", 0, true)
}

// A register read returns the time of day, whether it is synchronised, how often it was set and when the chip started.
// For a capture, it returns whether the clock was synchronised at that time.
func TestWindowTime(t *testing.T) {
	m := newMarker(t)
	m.profile(0, muxedStart, 0)
	m.flow(0, 5)
	pulseIn := func(k uint64) {
		m.sendMarked(m.within(muxedStart.Interval, k, 100), 0)
		m.sendMarked(m.within(muxedStart.Interval, k, 600), 0)
	}
	pulseIn(0)
	if c := m.colours(5)[0]; c.captures != 1 || c.unsync != 0 {
		t.Errorf("%v, want 1 capture, synchronised", c)
	}
	m.SetClockSynchronised(false)
	pulseIn(2)
	if c := m.colours(5)[0]; c.captures != 2 || c.unsync != 1 {
		t.Errorf("%v, want 2 captures, the last unsynchronised", c)
	}
	for _, d := range []time.Duration{time.Hour, -time.Nanosecond} {
		noError(t, m.StepClock(d))
	}
	if err := m.SetClockRate(5); err != nil { // a change of the rate is not counted as a step
		t.Fatal(err)
	}
	now := m.timeAt(m.Now())
	want := []uint64{now.Seconds, uint64(now.Nanoseconds), 0, 2, uint64(start.UnixNano())}
	if got := m.words(5)["time"]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("time %v, want %v", got, want)
	}
	m.SetClockSynchronised(true)
	if got := m.words()["time"]; got[2] != 1 {
		t.Errorf("time %v, want a synchronised clock", got)
	}
}

// Entries that share a counter count it once for a colour. Entries without a counter contribute nothing. Counters that
// do not count bytes contribute no bytes.
func TestWindowAddsCounters(t *testing.T) {
	m := newMarker(t)
	m.profile(0, muxedStart, 0)
	shared := m.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, m.table, sai.ACLCounterAttrEnablePacketCount,
		sai.Bool(true))
	for port := 1; port <= 3; port++ {
		pairs := append([]any{sai.ACLEntryAttrTableID, m.table, sai.ACLEntryAttrPriority, sai.Uint(5)}, toPort(port)...)
		if port < 3 {
			pairs = append(pairs, sai.ACLEntryAttrActionCounter, sai.Do(shared))
		}
		m.create(sai.ObjectTypeACLEntry, append(pairs, yields(0, 1, 9)...)...)
	}
	own := m.entry(m.table, 5, append(toPort(4), yields(0, 1, 9)...)...)
	for port := uint16(1); port <= 4; port++ {
		m.send(0, eth(host(2), host(1), ip4(1, 2, 17, 0, udp(1, port, 18))))
	}
	if m.packets(own) != 1 {
		t.Fatal("no packet for the entry with its own counter")
	}
	if c := m.colours(9)[1]; c.packets != 2+1 || c.bytes != 64 {
		t.Errorf("%v, want 3 packets, 64 bytes", c)
	}
}

// A chip without alternate marking refuses its objects, and 0xA has no special meaning in ACL entries.
func TestNoAlternateMarking(t *testing.T) {
	p := profile.Small()
	p.AltMark = profile.AltMarkCapacity{}
	r := newRig(t, p)
	for _, name := range []string{altmark.ObjectProfile, altmark.ObjectFlows, altmark.ObjectFlow} {
		r.refused(sai.StatusNotSupported, sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName,
			sai.Bytes(name),
			sai.GenericProgrammableAttrEntry, profileJSON(0, muxedStart, 0))
		if n, err := r.Availability(t.Context(), sai.ObjectTypeGenericProgrammable,
			attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes(name))); n != 0 || err != nil {
			t.Errorf("%s: %d available, %v", name, n, err)
		}
	}
	in := r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldSrcMAC, sai.Bool(true))
	r.entry(in, 1, yields(0, 0, 1)...)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, in)
	out := r.acl(sai.ACLStageEgress, sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true))
	c := r.entry(out, 1, sai.ACLEntryAttrFieldACLUserMeta, sai.Match(sai.Uint(0xa0000001), sai.Uint(0xffffffff)))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrEgressACL, out)
	r.send(0, udpFrame(1, 2, 60))
	if r.packets(c) != 7 {
		t.Errorf("%d copies with the metadata, want 7", r.packets(c))
	}
}
