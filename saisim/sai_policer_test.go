package saisim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
)

// A policed chip traps or copies ARP requests, in a group with a policer.
type policed struct {
	*dut
	policer, group sai.Key
	hz             uint64
	last           [3]uint64 // green, yellow, red packets
}

var colourStats = []sai.StatID{sai.PolicerStatGreenPackets, sai.PolicerStatYellowPackets, sai.PolicerStatRedPackets}

func newPoliced(t testing.TB, action sai.Enum, pairs ...any) *policed {
	t.Helper()
	d := newDUT(t)
	d.boot()
	p := &policed{dut: d, hz: d.Profile().ClockHz}
	p.policer = sai.Obj(sai.ObjectTypePolicer, d.create(sai.ObjectTypePolicer, pairs...))
	p.group = sai.Obj(sai.ObjectTypeHostifTrapGroup, d.create(sai.ObjectTypeHostifTrapGroup,
		sai.HostifTrapGroupAttrPolicer, p.policer.OID))
	d.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeArpRequest,
		sai.HostifTrapAttrPacketAction, action, sai.HostifTrapAttrTrapGroup, p.group.OID)
	return p
}

func (p *policed) stats(ids ...sai.StatID) []uint64 {
	p.Helper()
	n, err := p.Stats(context.Background(), p.policer, ids)
	if err != nil {
		p.Fatal(err)
	}
	return n
}

// at sends a frame that arrives at a cycle, and returns its colour: G, Y or R.
func (p *policed) at(cycle uint64, frame []byte) string {
	p.Helper()
	if err := p.Receive(0, saisim.Cycle(cycle), saisim.Frame{Data: frame}); err != nil {
		p.Fatal(err)
	}
	for at, ok := p.NextEvent(); ok; at, ok = p.NextEvent() {
		p.Advance(at)
	}
	colour := ""
	for i, n := range p.stats(colourStats...) {
		if n != p.last[i] {
			colour += "GYR"[i : i+1]
		}
		p.last[i] = n
	}
	return colour
}

// A policer assigns colours to frames, one after another. Tokens are added once in a thousand cycles, at the peak rate
// once in 500. Times are in cycles since the first frame. Frames are so far apart that one has left before the next
// arrives.
func TestSAIPolicerColours(t *testing.T) {
	const ms = 1000 // cycles between two tokens
	for _, tt := range []struct {
		name                     string
		mode                     sai.Enum
		cir, cbs, pir, pbs, size uint64 // rates in tokens per 1000 cycles; size 0 means of packets
		times                    []uint64
		want                     string
	}{
		{"RFC 2697: tokens are there when they are whole", sai.PolicerModeSrTcm, 1, 1, 0, 0, 0,
			[]uint64{0, 1000, 2000, 2999, 3200, 4199, 4400}, "GGGRGRG"},
		{"RFC 2697: first the committed burst, then the excess burst", sai.PolicerModeSrTcm, 1, 2, 0, 1, 0,
			[]uint64{0, 200, 400, 600}, "GGYR"},
		{"RFC 2697: tokens go into the second bucket only while the first is full", sai.PolicerModeSrTcm, 1, 1, 0, 2, 0,
			[]uint64{0, 200, 400, 600, 2600, 2800, 3000}, "GYYRGYR"},
		{"RFC 2697: the excess burst is full after long", sai.PolicerModeSrTcm, 1, 1, 0, 2, 0,
			[]uint64{0, 200, 400, 600, 1_000_000, 1_000_200, 1_000_400, 1_000_600}, "GYYRGYYR"},
		{"RFC 2697: no rate, but a burst", sai.PolicerModeSrTcm, 0, 2, 0, 0, 0, []uint64{0, 1000, 1_000_000_000}, "GGR"},
		{"RFC 2697: no burst", sai.PolicerModeSrTcm, 1, 0, 0, 0, 0, []uint64{0, 1_000_000}, "RR"},
		{"RFC 2698: beyond the peak burst nothing is taken", sai.PolicerModeTrTcm, 1, 1, 2, 2, 0,
			[]uint64{0, 200, 400, 600, 1100}, "GYRYG"},
		{"RFC 2698: what has no peak tokens takes no committed ones", sai.PolicerModeTrTcm, 1, 3, 0, 1, 0,
			[]uint64{0, 5000, 10_000}, "GRR"},
		{"RFC 2698: yellow takes peak tokens only", sai.PolicerModeTrTcm, 0, 1, 0, 3, 0,
			[]uint64{0, 200, 400, 600}, "GYYR"},
		{"storm control: no excess", sai.PolicerModeStormControl, 1, 1, 0, 9, 0, []uint64{0, 200, 1200, 1400}, "GRGR"},
		{"bytes with FCS: just enough", sai.PolicerModeSrTcm, 64, 128, 0, 0, 60, []uint64{0, 200, 400, 1000}, "GGRG"},
		{"bytes with FCS: a cycle too early", sai.PolicerModeSrTcm, 64, 128, 0, 0, 60, []uint64{0, 200, 400, 999}, "GGRR"},
		{"bytes with FCS: one too few", sai.PolicerModeSrTcm, 1, 127, 0, 0, 60, []uint64{0, 200, 999, 1200}, "GRRG"},
		{"a smaller frame passes where a larger one does not", sai.PolicerModeSrTcm, 0, 100, 0, 0, 100, []uint64{0}, "R"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			meter, size := sai.MeterTypeBytes, tt.size
			if tt.size == 0 {
				meter, size = sai.MeterTypePackets, 60
			}
			d := newDUT(t)
			rate := func(tokens uint64) sai.Uint { return sai.Uint(tokens * d.Profile().ClockHz / ms) }
			with := []any{sai.PolicerAttrMeterType, meter, sai.PolicerAttrMode, tt.mode,
				sai.PolicerAttrCir, rate(tt.cir), sai.PolicerAttrCbs, sai.Uint(tt.cbs), sai.PolicerAttrPbs, sai.Uint(tt.pbs)}
			if tt.mode == sai.PolicerModeTrTcm {
				with = append(with, sai.PolicerAttrPir, rate(tt.pir))
			}
			for _, source := range []sai.Enum{sai.PolicerColorSourceBlind, sai.PolicerColorSourceAware} {
				p := newPoliced(t, sai.PacketActionTrap, append(with, sai.PolicerAttrColorSource, source)...)
				got := ""
				for _, at := range tt.times {
					got += p.at(100_000+at, pad(arp(1), int(size)))
				}
				if got != tt.want {
					t.Errorf("color source %d: %s, want %s", source, got, tt.want)
				}
			}
		})
	}
}

// Three frames per second, on the chip's clock, whose frequency is not divisible by three. Each passes exactly at its
// cycle, and none is lost by rounding, however long it takes.
func TestSAIPolicerDoesNotDrift(t *testing.T) {
	p := newPoliced(t, sai.PacketActionTrap, sai.PolicerAttrMeterType, sai.MeterTypePackets,
		sai.PolicerAttrMode, sai.PolicerModeSrTcm, sai.PolicerAttrCir, sai.Uint(3), sai.PolicerAttrCbs, sai.Uint(2))
	const begin = 1000
	if got := p.at(begin, arp(1)) + p.at(begin+200, arp(1)); got != "GG" {
		t.Fatal(got)
	}
	for n := range uint64(20_000) {
		due := begin + ((n+1)*p.hz+2)/3 // cycle of the next token
		got, want := "", "G"
		if n%2 == 0 {
			got, want = p.at(due-1, arp(1))+p.at(due+200, arp(1)), "RG" // one cycle too early, and then in time
		} else {
			got = p.at(due, arp(1))
		}
		if got != want {
			t.Fatalf("token %d, due at %d: %s, want %s", n, due, got, want)
		}
	}
}

// A change of rate or burst keeps the existing tokens, and holds from now on.
func TestSAIPolicerChanges(t *testing.T) {
	p := newPoliced(t, sai.PacketActionTrap, sai.PolicerAttrMeterType, sai.MeterTypePackets,
		sai.PolicerAttrMode, sai.PolicerModeSrTcm, sai.PolicerAttrCir, sai.Uint(0), sai.PolicerAttrCbs, sai.Uint(4))
	got := p.at(1000, arp(1)) // 3 tokens are left
	p.set(p.policer, sai.PolicerAttrCbs, sai.Uint(2))
	got += p.at(2000, arp(1)) // 1 token is left
	p.set(p.policer, sai.PolicerAttrCbs, sai.Uint(9))
	got += p.at(3000, arp(1)) + p.at(4000, arp(1)) // no token is left
	p.set(p.policer, sai.PolicerAttrCir, sai.Uint(p.hz/100))
	now := uint64(p.Now())
	got += p.at(now+1000, arp(1)) // more than one token has been added since
	if got != "GGGRG" {
		t.Error(got)
	}
	p.set(p.policer, sai.PolicerAttrRedPacketAction, sai.PacketActionDrop)
	for id, why := range map[sai.AttrID]string{
		sai.PolicerAttrCbs: "want at most", sai.PolicerAttrPbs: "want at most",
	} {
		err := p.Set(context.Background(), p.policer, sai.Attr{ID: id, Value: sai.Uint(1 << 62)})
		if p.wantStatus(id.String(), err, sai.StatusInvalidParameter); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", id, err, why)
		}
	}
	for _, id := range []sai.AttrID{
		sai.PolicerAttrGreenPacketAction, sai.PolicerAttrYellowPacketAction, sai.PolicerAttrRedPacketAction,
	} {
		err := p.Set(context.Background(), p.policer, sai.Attr{ID: id, Value: sai.PacketActionTrap})
		p.wantStatus(id.String(), err, sai.StatusNotSupported)
	}
	p.wantStatus("in use", p.Remove(context.Background(), p.policer), sai.StatusObjectInUse)
	p.set(p.group, sai.HostifTrapGroupAttrPolicer, sai.NullOID)
	p.remove(p.policer)
}

// The policer defines which colours are dropped. Each copy is counted once, and a dropped copy does not affect the
// other copies of its packet.
func TestSAIPolicerActions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		action sai.Enum // action of the trap
		drops  []sai.AttrID
		// destinations of four frames that are green, green, yellow, red: to the CPU, and how many are flooded
		want   string
		counts string
	}{
		{"nothing is dropped", sai.PacketActionTrap, nil, "cpu cpu cpu cpu", "policer 0, discards 0, copies 0"},
		{"red is dropped", sai.PacketActionTrap, []sai.AttrID{sai.PolicerAttrRedPacketAction}, "cpu cpu cpu -",
			"policer 1, discards 1, copies 0"},
		{"yellow and red are dropped", sai.PacketActionTrap,
			[]sai.AttrID{sai.PolicerAttrYellowPacketAction, sai.PolicerAttrRedPacketAction}, "cpu cpu - -",
			"policer 2, discards 2, copies 0"},
		{"green is dropped", sai.PacketActionTrap, []sai.AttrID{sai.PolicerAttrGreenPacketAction}, "- - cpu cpu",
			"policer 2, discards 2, copies 0"},
		{"a copy is dropped, and no frame", sai.PacketActionCopy,
			[]sai.AttrID{sai.PolicerAttrYellowPacketAction, sai.PolicerAttrRedPacketAction},
			"flood+cpu flood+cpu flood flood", "policer 2, discards 0, copies 28"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with := []any{sai.PolicerAttrMeterType, sai.MeterTypePackets, sai.PolicerAttrMode, sai.PolicerModeSrTcm,
				sai.PolicerAttrCbs, sai.Uint(2), sai.PolicerAttrPbs, sai.Uint(1)}
			for _, id := range tt.drops {
				with = append(with, id, sai.PacketActionDrop)
			}
			p := newPoliced(t, tt.action, with...)
			var got []string
			for range 4 {
				left := map[bool]int{}
				for _, f := range p.send(frameAt{0, arp(1)}) {
					left[f.port == cpuPort]++
				}
				got = append(got, map[[2]int]string{{0, 0}: "-", {0, 1}: "cpu", {2, 0}: "flood",
					{2, 1}: "flood+cpu"}[[2]int{left[false], left[true]}])
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("%s, want %s", s, tt.want)
			}
			b := p.FrameCounts()
			discards, err := p.Stats(context.Background(), p.port(0), []sai.StatID{sai.PortStatIfInDiscards})
			if err != nil {
				t.Fatal(err)
			}
			s := fmt.Sprintf("policer %d, discards %d, copies %d", b.Dropped[drop.Policer], discards[0], b.Copies)
			if s != tt.counts || !b.Balanced() {
				t.Errorf("%s, balanced %v; want %s", s, b.Balanced(), tt.counts)
			}
			all := p.stats(sai.PolicerStatPackets, sai.PolicerStatAttrBytes, sai.PolicerStatGreenBytes,
				sai.PolicerStatYellowBytes, sai.PolicerStatRedBytes)
			if s := fmt.Sprint(all); s != "[4 256 128 64 64]" {
				t.Errorf("statistics %s", s)
			}
			noError(t, p.ClearStats(context.Background(), p.policer, []sai.StatID{sai.PolicerStatGreenBytes}))
			if n := p.stats(sai.PolicerStatGreenBytes, sai.PolicerStatRedBytes); n[0] != 0 || n[1] != 64 {
				t.Errorf("after the green bytes were cleared: green and red %d", n)
			}
		})
	}
}

// The default group's policer is for packets without a trap object. A trap of a group without a policer is not metered.
func TestSAIDefaultTrapGroup(t *testing.T) {
	p := newPoliced(t, sai.PacketActionTrap, sai.PolicerAttrMeterType, sai.MeterTypePackets,
		sai.PolicerAttrMode, sai.PolicerModeSrTcm, sai.PolicerAttrCbs, sai.Uint(1),
		sai.PolicerAttrRedPacketAction, sai.PacketActionDrop)
	group := sai.Obj(sai.ObjectTypeHostifTrapGroup, p.ofSwitch(sai.SwitchAttrDefaultTrapGroup))
	lldp := eth([]byte{1, 0x80, 0xc2, 0, 0, 14}, host(9), u16(0x88cc), make([]byte, 46))
	toCPU := func(frame []byte) (n int) {
		for range 3 {
			n += len(p.send(frameAt{0, frame}))
		}
		return n
	}
	if n := toCPU(lldp); n != 3 {
		t.Errorf("%d of 3 without a policer", n)
	}
	p.set(group, sai.HostifTrapGroupAttrPolicer, p.policer.OID)
	p.set(p.group, sai.HostifTrapGroupAttrPolicer, sai.NullOID)
	if n := toCPU(lldp); n != 1 {
		t.Errorf("%d of 3 by the default group, whose policer lets one pass", n)
	}
	if n := toCPU(arp(1)); n != 3 {
		t.Errorf("%d of 3 by a trap of another group, without a policer", n)
	}
	trap := p.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeLldp,
		sai.HostifTrapAttrPacketAction, sai.PacketActionTrap) // in the default group, as SAI defines
	if n := toCPU(lldp); n != 0 {
		t.Errorf("%d of 3 by a trap of the default group", n)
	}
	p.set(sai.Obj(sai.ObjectTypeHostifTrap, trap), sai.HostifTrapAttrTrapGroup, p.group.OID)
	if n := toCPU(lldp); n != 3 {
		t.Errorf("%d of 3 by the trap in the other group", n)
	}
	p.wantStatus("remove the default group", p.Remove(context.Background(), group), sai.StatusNotSupported)
}

// The number of policers is limited. A removed policer makes space for another one.
func TestSAIPolicersRunOut(t *testing.T) {
	d := newDUT(t)
	d.boot()
	with := attrs(sai.PolicerAttrMeterType, sai.MeterTypePackets, sai.PolicerAttrMode, sai.PolicerModeSrTcm)
	var last sai.Key
	for range 128 {
		last = d.make(sai.ObjectTypePolicer, with...)
	}
	_, err := d.Create(context.Background(), sai.ObjectTypePolicer, with)
	d.wantStatus("one more", err, sai.StatusInsufficientResources)
	if left, err := d.Availability(context.Background(), sai.ObjectTypePolicer, nil); left != 0 || err != nil {
		t.Errorf("room for %d, %v", left, err)
	}
	d.remove(last)
	d.make(sai.ObjectTypePolicer, with...)
}

// The CPU gets a frame with the queue of its trap's group.
func TestSAITrapQueue(t *testing.T) {
	p := newPoliced(t, sai.PacketActionTrap, sai.PolicerAttrMeterType, sai.MeterTypePackets,
		sai.PolicerAttrMode, sai.PolicerModeSrTcm)
	queue := -1
	p.SetOutput(func(o *saisim.Out) { queue = int(o.Queue) })
	for _, q := range []int{4, 7, 0} {
		p.set(p.group, sai.HostifTrapGroupAttrQueue, sai.Uint(q))
		if p.send(frameAt{0, arp(1)}); queue != q {
			t.Errorf("queue %d, want %d", queue, q)
		}
	}
	n := p.get(sai.Obj(sai.ObjectTypeSwitch, p.sw), sai.SwitchAttrNumberOfCPUQueues)
	if n != sai.Uint(8) {
		t.Errorf("%v queues", n)
	}
}

// A storm for the CPU allocates nothing in the chip.
func TestSAIPolicerAllocatesNothing(t *testing.T) {
	p := newPoliced(t, sai.PacketActionCopy, sai.PolicerAttrMeterType, sai.MeterTypeBytes,
		sai.PolicerAttrMode, sai.PolicerModeTrTcm, sai.PolicerAttrCir, sai.Uint(1_000_000), sai.PolicerAttrCbs,
		sai.Uint(1000),
		sai.PolicerAttrPir, sai.Uint(2_000_000), sai.PolicerAttrPbs, sai.Uint(2000), sai.PolicerAttrRedPacketAction,
		sai.PacketActionDrop)
	p.SetOutput(func(*saisim.Out) {})
	frame := arp(1)
	storm := func() {
		for range 100 {
			noError(t, p.Receive(0, p.Now(), saisim.Frame{Data: frame}))
			p.Advance(p.Now() + 100)
		}
	}
	for range 200 { // until the ring of kept drops has all its memory
		storm()
	}
	if n := testing.AllocsPerRun(10, storm); n != 0 {
		t.Errorf("%v allocations in 100 frames", n)
	}
	if n := p.stats(colourStats...); n[0] == 0 || n[1] == 0 || n[2] == 0 {
		t.Errorf("green, yellow and red: %d", n)
	}
}
