package saisim_test

import (
	"context"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

// Dynamic breakout: a port of four lanes becomes four ports and back, while the other ports of the chip go on.
func TestBreakout(t *testing.T) {
	p := profile.Small()
	p.Default = []profile.DefaultPorts{{First: 0, Count: 2, Lanes: 4, Mbps: 100_000}}
	r := newRig(t, p)
	r.clearVLAN1()
	vlan := r.vlan(5)
	join := func(id saisim.PortID) (bp, member sai.OID) {
		bp = r.bridgePort(r.oid(id))
		r.set(sai.ObjectTypePort, r.oid(id), sai.PortAttrPortVLANID, sai.Uint(5))
		return bp, r.member(vlan, bp, sai.VLANTaggingModeUntagged)
	}
	bp0, m0 := join(0)
	join(4)
	if ids := portsOf(r.send(4, udpFrame(1, 2, 60))); !slices.Equal(ids, []saisim.PortID{0}) {
		t.Fatalf("left by %v", ids)
	}
	hostif0 := sai.OID(uint64(sai.ObjectTypeHostif)<<48 | 1)
	single := []any{sai.PortAttrHWLaneList, sai.Uints{1}, sai.PortAttrSpeed, sai.Uint(25000)}
	r.refused(sai.StatusItemAlreadyExists, sai.ObjectTypePort, single...)
	r.wantStatus(r.Remove(context.Background(), sai.Obj(sai.ObjectTypePort, r.oid(0))), sai.StatusObjectInUse)

	// Frames are in every part of the chip when the port is removed.
	for range 5 {
		noError(t, r.Receive(4, r.Now(), saisim.Frame{Data: udpFrame(1, 2, 1000)}))
		noError(t, r.Receive(0, r.Now(), saisim.Frame{Data: udpFrame(3, 2, 1000)}))
	}
	r.Advance(r.Now() + 350)
	r.remove(sai.ObjectTypeVLANMember, m0)
	r.remove(sai.ObjectTypeBridgePort, bp0)
	r.remove(sai.ObjectTypeHostif, hostif0)
	r.remove(sai.ObjectTypePort, r.oid(0))
	r.balanced()
	r.drain()
	if b := r.FrameCounts(); b.Dropped[drop.PortRemoved] == 0 || b.InFlight != 0 {
		t.Errorf("books %+v", b)
	}
	for lane := range uint64(4) {
		r.create(sai.ObjectTypePort, sai.PortAttrHWLaneList, sai.Uints{lane}, sai.PortAttrSpeed, sai.Uint(25000))
		r.up(saisim.PortID(lane))
		join(saisim.PortID(lane))
	}
	if ids := portsOf(r.send(4, udpFrame(1, 2, 60))); !slices.Equal(ids, []saisim.PortID{0, 1, 2, 3}) {
		t.Errorf("left by %v", ids)
	}
	if id, ok := r.PortByName("Ethernet3"); !ok || id != 3 {
		t.Errorf("Ethernet3 is %d, %v", id, ok)
	}
	r.refused(sai.StatusInvalidParameter, sai.ObjectTypePort, sai.PortAttrHWLaneList, sai.Uints{}, sai.PortAttrSpeed,
		sai.Uint(25000))
}

func TestSpeeds(t *testing.T) {
	r := newRig(t, profile.Small())
	r.send(1, udpFrame(2, 1, 60))
	o := r.oid(1)
	if got := r.get(sai.ObjectTypePort, o, sai.PortAttrSupportedSpeed).(sai.Uints); !slices.Equal(got,
		sai.Uints{1000, 10000, 25000}) {
		t.Errorf("one lane runs at %v", got)
	}
	err := r.Set(context.Background(), sai.Obj(sai.ObjectTypePort, o),
		sai.Attr{ID: sai.PortAttrSpeed, Value: sai.Uint(40000)})
	r.wantStatus(err, sai.StatusInvalidParameter)
	r.set(sai.ObjectTypePort, o, sai.PortAttrSpeed, sai.Uint(1000))
	at := r.Now() + 100
	// At 1 Gb/s a byte takes 10 cycles: preamble and SFD 80.
	if outs := r.sendAt(0, at, saisim.Frame{Data: udpFrame(1, 2, 60)}); outs[0].at != at+64+toQueue+toMAC+80 {
		t.Errorf("left at %d", outs[0].at-at)
	}
}

// A change of the operational state is notified, and a port that goes down while frames wait for it drops them.
func TestPortState(t *testing.T) {
	r := newRig(t, profile.Small())
	o := r.oid(3)
	r.notes = nil
	r.SetLink(3, false)
	r.set(sai.ObjectTypePort, o, sai.PortAttrAdminState, sai.Bool(false))
	r.SetLink(3, true)
	r.set(sai.ObjectTypePort, o, sai.PortAttrAdminState, sai.Bool(true))
	want := []sai.Notification{sai.PortState{Port: o, Oper: sai.PortOperStatusDown},
		sai.PortState{Port: o, Oper: sai.PortOperStatusUp}}
	if !slices.Equal(r.notes, want) {
		t.Errorf("told %v, want %v", r.notes, want)
	}
	if s := r.get(sai.ObjectTypePort, o, sai.PortAttrPortSerdesID); s != sai.NullOID {
		t.Errorf("SerDes settings %v", s)
	}
	if s := r.get(sai.ObjectTypePort, o, sai.PortAttrOperStatus); s != sai.PortOperStatusUp {
		t.Errorf("state %v", s)
	}
	r.send(3, udpFrame(2, 1, 60))
	r.SetLink(3, false)
	if outs := r.send(0, udpFrame(1, 2, 60)); len(outs) != 0 || r.dropped(3) != "egress-port-down=1 " {
		t.Errorf("left %v, dropped %q", outs, r.dropped(3))
	}
}

// Frames that wait at a port whose link goes down leave the queue in order and are dropped at the time when they would
// be sent. Frames of a removed port are dropped immediately. At 10 Gb/s and 1.25 GHz a frame of 1000 bytes takes 1024
// cycles with FCS, preamble and gap. Frames A from port 0 and B from port 2 are queued together at 1004 + 17 and a
// cycle later, and so every 1024 cycles: A1 is sent at 1021 + 19 = 1040, B1 1024 later at 2064, then A2 at 3088, while
// A2 and B2 are queued at 2045 and 2046, A3 and B3 at 3069 and 3070.
func TestPortEndsWithFramesQueued(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(r *rig)
		why  drop.Reason
		sent int // frames sent before the event at cycle 3075
	}{
		{"link down", func(r *rig) { r.SetLink(3, false) }, drop.EgressDown, 2},
		{"removed", func(r *rig) {
			r.clearVLAN1()
			r.remove(sai.ObjectTypePort, r.oid(3))
		}, drop.PortRemoved, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := bareRig(t, profile.Small())
			for _, id := range []saisim.PortID{0, 2} {
				r.up(id)
			}
			r.set(sai.ObjectTypePort, r.oid(3), sai.PortAttrAdminState, sai.Bool(true)) // up without a host interface
			r.send(3, udpFrame(2, 1, 60))
			at := r.Now()
			for range 3 {
				for _, in := range []saisim.PortID{0, 2} {
					noError(t, r.Receive(in, at, saisim.Frame{Data: udpFrame(1, 2, 1000)}))
				}
			}
			r.Advance(at + 3075)
			if q, _ := r.QueueState(3, 0); q.Packets != 3 || len(r.outs) != tt.sent {
				t.Fatalf("%d wait and %d are sent at 3075, want 3 and %d", q.Packets, len(r.outs), tt.sent)
			}
			was := r.FrameCounts()
			tt.end(r)
			if outs := r.drain(); len(outs) != tt.sent {
				t.Errorf("%d are sent in all, want %d", len(outs), tt.sent)
			}
			b := r.FrameCounts()
			for why, n := range b.Dropped {
				want := uint64(0)
				if drop.Reason(why) == tt.why {
					want = 4
				}
				if n-was.Dropped[why] != want {
					t.Errorf("%v: %d, want %d", drop.Reason(why), n-was.Dropped[why], want)
				}
			}
			if b.Queued != 0 {
				t.Errorf("%d still queued", b.Queued)
			}
		})
	}
}

func TestPortStats(t *testing.T) {
	r := newRig(t, profile.Small())
	bc := eth([]byte{255, 255, 255, 255, 255, 255}, host(1), u16(0x0806), make([]byte, 46))
	mc := eth([]byte{1, 0, 0x5e, 0, 0, 1}, host(1), ip4(1, 2, 17, 0, udp(1, 2, 200)))
	r.send(1, udpFrame(2, 9, 60))
	r.send(0, udpFrame(1, 2, 60))
	r.send(0, bc)
	r.send(0, mc)
	r.send(0, udpFrame(1, 2, 1514))
	r.send(0, eth(host(2), host(1), tag(0x8100, 9), u16(0x800)))
	ids := []sai.StatID{
		sai.PortStatIfInOctets, sai.PortStatIfInUcastPkts, sai.PortStatIfInNonUcastPkts, sai.PortStatIfInBroadcastPkts,
		sai.PortStatIfInMulticastPkts, sai.PortStatIfInDiscards, sai.PortStatIfInErrors, sai.PortStatIfInVLANDiscards,
		sai.PortStatEtherInPkts64Octets, sai.PortStatEtherInPkts128To255Octets, sai.PortStatEtherInPkts1024To1518Octets,
		sai.PortStatIfOutOctets, sai.PortStatIfOutUcastPkts, sai.PortStatIfOutQlen,
	}
	read := func(id saisim.PortID) []uint64 {
		t.Helper()
		v := need(r.Stats(context.Background(), sai.Obj(sai.ObjectTypePort, r.oid(id)), ids))(t)
		return v
	}
	mcLen := uint64(len(mc) + 4)
	want := []uint64{64 + 64 + mcLen + 1518 + 22, 3, 2, 1, 1, 1, 0, 1, 3, 1, 1, 64, 1, 0}
	if got := read(0); !slices.Equal(got, want) {
		t.Errorf("port 0 counts %v, want %v", got, want)
	}
	out := read(1)
	if want := []uint64{64 + 1518 + 64 + mcLen, 2}; !slices.Equal(out[11:13], want) {
		t.Errorf("port 1 sent %v, want %v", out[11:13], want)
	}
	noError(t, r.ClearStats(context.Background(), sai.Obj(sai.ObjectTypePort, r.oid(0)), ids[:4]))
	r.send(0, bc)
	got := read(0)
	if want := []uint64{64, 0, 1, 1, 2 - 1, 1}; !slices.Equal(got[:6], want) {
		t.Errorf("after a clear of four: %v, want %v", got[:6], want)
	}
	if c, _ := r.PortCounters(0); c.Received != 6 {
		t.Errorf("the totals are %+v", c)
	}
	_, err := r.Stats(context.Background(), sai.Obj(sai.ObjectTypePort, r.oid(0)),
		[]sai.StatID{sai.PortStatGreenWREDDroppedPackets})
	r.wantStatus(err, sai.StatusNotSupported)
	// All statistics that are reported as supported are supported.
	all := need(r.StatsCapability(context.Background(), sai.ObjectTypePort))(t)
	if _, err := r.Stats(context.Background(), sai.Obj(sai.ObjectTypePort, r.oid(0)), all); err != nil {
		t.Error(err)
	}
}

// The switch returns its properties. After its removal a new start is possible.
func TestSwitch(t *testing.T) {
	r := newRig(t, profile.Small())
	for id, want := range map[sai.AttrID]sai.Value{
		sai.SwitchAttrNumberOfActivePorts:          sai.Uint(8),
		sai.SwitchAttrACLEntryMaximumPriority:      sai.Uint(1024),
		sai.SwitchAttrSrcMACAddress:                sai.MAC{2, 0, 0, 0, 0, 0xaa},
		sai.SwitchAttrFDBAgingTime:                 sai.Uint(0),
		sai.SwitchAttrAvailableFDBEntry:            sai.Uint(16),
		sai.SwitchAttrFDBUnicastMissPacketAction:   sai.PacketActionForward,
		sai.SwitchAttrSwitchingMode:                sai.SwitchSwitchingModeStoreAndForward,
		sai.SwitchAttrQoSMaxNumberOfTrafficClasses: sai.Uint(16),
	} {
		if got := r.get(sai.ObjectTypeSwitch, r.sw, id); got != want {
			t.Errorf("%s = %v, want %v", id, got, want)
		}
	}
	in := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrACLStageIngress).(sai.ACLCapability)
	if !slices.Contains(in.Actions, sai.ACLActionTypeTAMIntObject) || in.ActionListMandatory {
		t.Errorf("ingress actions %+v", in)
	}
	noError(t, r.Receive(0, r.Now(), saisim.Frame{Data: udpFrame(1, 2, 60)}))
	r.Advance(r.Now() + 70)
	r.remove(sai.ObjectTypeSwitch, r.sw)
	r.balanced()
	if ids := r.Ports(); len(ids) != 0 {
		t.Errorf("ports %v", ids)
	}
	if err := r.Receive(0, r.Now(), saisim.Frame{Data: udpFrame(1, 2, 60)}); err == nil {
		t.Error("received without a switch")
	}
	r.create(sai.ObjectTypeSwitch, sai.SwitchAttrInitSwitch, sai.Bool(true))
	if ids := r.Ports(); len(ids) != 8 {
		t.Errorf("ports %v", ids)
	}
}

func TestCapabilities(t *testing.T) {
	r := newRig(t, profile.Small())
	ctx := context.Background()
	for id, want := range map[sai.AttrID]sai.Capability{
		sai.ACLEntryAttrActionTAMIntObject:    {Create: true, Set: true, Get: true},
		sai.ACLEntryAttrActionMirrorIngress:   {Create: true, Set: true, Get: true},
		sai.ACLEntryAttrActionSetPolicer:      {},
		sai.RouteEntryAttrNextHopID:           {Create: true, Set: true, Get: true},
		sai.RouteEntryAttrIPAddrFamily:        {Get: true},
		sai.RouterInterfaceAttrInnerVLANID:    {},
		sai.TAMIntAttrDeviceID:                {Create: true, Get: true},
		sai.PortAttrOperStatus:                {Get: true},
		sai.SwitchAttrAvailableACLTable:       {Get: true},
		sai.GenericProgrammableAttrObjectName: {Create: true, Get: true},
	} {
		if got, err := r.AttrCapability(ctx, id); got != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", id, got, err, want)
		}
	}
	if got, err := r.EnumCapability(ctx, sai.TAMIntAttrType); !slices.Contains(got, sai.TAMIntTypeIfa1Tailstamp) ||
		err != nil {
		t.Errorf("TAM INT types %v, %v", got, err)
	}
	for name, want := range map[string]uint64{tailstamp.ObjectCounters: 16, "other": 0} {
		got, err := r.Availability(ctx, sai.ObjectTypeGenericProgrammable,
			attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes(name)))
		if got != want || err != nil {
			t.Errorf("extension %s: %d, %v; want %d", name, got, err, want)
		}
	}
}

func TestReceiveRefuses(t *testing.T) {
	r := newRig(t, profile.Small())
	r.Advance(100)
	for _, tt := range []struct {
		name string
		port saisim.PortID
		at   saisim.Cycle
		f    saisim.Frame
	}{
		{"no port", 99, 100, saisim.Frame{Data: make([]byte, 60)}},
		{"the CPU port", saisim.CPUPort, 100, saisim.Frame{Data: make([]byte, 60)}},
		{"the past", 0, 99, saisim.Frame{Data: make([]byte, 60)}},
		{"longer than it says", 0, 100, saisim.Frame{Data: make([]byte, 60), Len: 59}},
		{"too long", 0, 100, saisim.Frame{Data: make([]byte, 60), Len: 1 << 20}},
	} {
		if err := r.Receive(tt.port, tt.at, tt.f); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
	}
	if b := r.FrameCounts(); b.Received != 0 {
		t.Errorf("books %+v", b)
	}
}
