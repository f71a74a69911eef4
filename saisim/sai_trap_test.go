package saisim_test

import (
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// saihostif.h: each trap with each packet action, on one of its frames, and the effect on another trap's frame. Without
// a trap object the chip's own action holds (the standing one).
func TestSAITraps(t *testing.T) {
	world := func(d *dut) {
		d.boot()
		d.unbridge(0, 1)
		d.rif(0)
		d.rif(1)
		for _, own := range []string{"10.0.0.1/32", "2001:db8::1/128"} {
			d.route(own, d.ofSwitch(sai.SwitchAttrCPUPort))
		}
		d.route("10.0.1.0/24", d.known["rif 1"])
		d.neighbor(1, at4(1, 20), 20)
		d.neighbor(1, at6(1, 20), 20)
	}
	// bridged makes a world where port 0 is bridged with 1 and 2.
	bridged := func(d *dut) { d.boot() }
	link := func(low byte) []byte {
		return eth([]byte{1, 0x80, 0xc2, 0, 0, low}, host(9), u16(0x88cc), make([]byte, 46))
	}
	from4, from6, own4, own6 := at4(0, 9), at6(0, 9), at4(0, 1), at6(0, 1)
	all4, all6 := ipOf("224.0.0.5").Addr, ipOf("ff02::5").Addr
	every := ipOf("255.255.255.255").Addr
	icmp6 := func(kind byte) []byte { return append([]byte{kind, 0, 0, 0}, make([]byte, 28)...) }
	blank := make([]byte, 30)
	tooLong := packet(0, from4, at4(1, 20), 64, 14+1501)
	type sort uint8
	const (
		heard   sort = iota // the bridge receives it: FORWARD floods
		local               // for the router itself: the frame ends there, so FORWARD drops
		failing             // cannot be forwarded
	)
	for _, tt := range []struct {
		kind     sai.Enum
		sort     sort
		frame    []byte
		standing sai.Enum // action without a trap object
	}{
		{sai.HostifTrapTypeStp, heard, link(0), sai.PacketActionTrap},
		{sai.HostifTrapTypeLacp, heard, link(2), sai.PacketActionTrap},
		{sai.HostifTrapTypeEapol, heard, link(3), sai.PacketActionTrap},
		{sai.HostifTrapTypeLldp, heard, link(14), sai.PacketActionTrap},
		{sai.HostifTrapTypePvrst, heard, snap(0xcd, 0x010b), sai.PacketActionForward},
		{sai.HostifTrapTypeUdld, heard, snap(0xcc, 0x0111), sai.PacketActionForward},
		{sai.HostifTrapTypeCdp, heard, snap(0xcc, 0x2000), sai.PacketActionForward},
		{sai.HostifTrapTypeIsis, heard, eth([]byte{1, 0x80, 0xc2, 0, 0, 0x15}, host(9), u16(46), append([]byte{0xfe, 0xfe, 3},
			make([]byte, 43)...)), sai.PacketActionForward},
		{sai.HostifTrapTypeLdp, heard, l4(from4, ipOf("224.0.0.2").Addr, 1, 17, udp(646, 646, 10)), sai.PacketActionForward},
		{sai.HostifTrapTypeArpRequest, heard, arp(1), sai.PacketActionForward},
		{sai.HostifTrapTypeArpResponse, heard, arp(2), sai.PacketActionForward},
		{sai.HostifTrapTypeDhcp, heard, l4(from4, every, 64, 17, udp(68, 67, 10)), sai.PacketActionForward},
		{sai.HostifTrapTypeDhcpv6, heard, l4(from6, all6, 64, 17, udp(546, 547, 10)), sai.PacketActionForward},
		{sai.HostifTrapTypeIPv6NeighborDiscovery, heard, l4(from6, all6, 255, 58, icmp6(134)), sai.PacketActionForward},
		{sai.HostifTrapTypeIPv6NeighborSolicitation, heard, l4(from6, all6, 255, 58, icmp6(135)), sai.PacketActionForward},
		{sai.HostifTrapTypeIPv6NeighborAdvertisement, heard, l4(from6, all6, 255, 58, icmp6(136)), sai.PacketActionForward},
		{sai.HostifTrapTypeOspf, heard, l4(from4, all4, 1, 89, blank), sai.PacketActionForward},
		{sai.HostifTrapTypeOspfv6, heard, l4(from6, all6, 1, 89, blank), sai.PacketActionForward},
		{sai.HostifTrapTypePim, heard, l4(from4, all4, 1, 103, blank), sai.PacketActionForward},
		{sai.HostifTrapTypeVrrp, heard, l4(from4, all4, 255, 112, blank), sai.PacketActionForward},
		{sai.HostifTrapTypeVrrpv6, heard, l4(from6, all6, 255, 112, blank), sai.PacketActionForward},
		{sai.HostifTrapTypeIp2me, local, l4(from4, own4, 64, 1, blank), sai.PacketActionTrap},
		{sai.HostifTrapTypeSsh, local, l4(from4, own4, 64, 6, tcp(9, 22, 2, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeSnmp, local, l4(from6, own6, 64, 17, udp(9, 161, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeBgp, local, l4(from4, own4, 1, 6, tcp(179, 9, 2, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeBgpv6, local, l4(from6, own6, 64, 6, tcp(9, 179, 2, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeBfd, local, l4(from4, own4, 255, 17, udp(9, 3784, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeBfdv6, local, l4(from6, own6, 255, 17, udp(9, 4784, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeBfdMicro, local, l4(from4, own4, 255, 17, udp(9, 6784, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeBfdv6Micro, local, l4(from6, own6, 255, 17, udp(9, 6784, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeLdp, local, l4(from4, own4, 1, 6, tcp(646, 9, 2, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeGnmi, local, l4(from4, own4, 64, 6, tcp(9, 9339, 2, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeP4rt, local, l4(from4, own4, 64, 6, tcp(9, 9559, 2, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeNtpclient, local, l4(from4, own4, 64, 17, udp(123, 9, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeNtpserver, local, l4(from4, own4, 64, 17, udp(9, 123, 9)), sai.PacketActionTrap},
		{sai.HostifTrapTypeNeighborMiss, failing, packet(0, from4, at4(1, 99), 64, 100), sai.PacketActionTrap},
		{sai.HostifTrapTypeTTLError, failing, packet(0, from4, at4(1, 20), 1, 100), sai.PacketActionTrap},
		{sai.HostifTrapTypeL3MTUError, failing, tooLong, sai.PacketActionDrop},
	} {
		forwarded := frames(nil)
		w := world
		if tt.sort == heard {
			w = bridged
			forwarded = at(tt.frame, 1, 2)
		}
		cpu := at(tt.frame, cpuPort)
		out := func(act sai.Enum) frames {
			switch act {
			case sai.PacketActionTrap:
				return cpu
			case sai.PacketActionCopy, sai.PacketActionLog:
				return forwarded.and(tt.frame, cpuPort)
			case sai.PacketActionForward, sai.PacketActionTransit:
				return forwarded
			}
			return nil
		}
		o := specObject{name: sai.EnumName(sai.HostifTrapAttrTrapType, tt.kind), world: w,
			object: func(d *dut, with ...sai.Attr) sai.Key {
				return d.make(sai.ObjectTypeHostifTrap, append(with, attrs(sai.HostifTrapAttrTrapType, tt.kind)...)...)
			}}
		for _, act := range []sai.Enum{sai.PacketActionTrap, sai.PacketActionDrop, sai.PacketActionCopy,
			sai.PacketActionForward} {
			back := sai.PacketActionDrop
			if act == back {
				back = sai.PacketActionTrap
			}
			o.rows = append(o.rows, specRow{name: sai.EnumName(sai.HostifTrapAttrPacketAction, act),
				attr:  sai.HostifTrapAttrPacketAction,
				value: act, back: back, in: in(tt.frame), with: out(act), without: out(back)})
		}
		runSpec(t, o)
		t.Run(o.name+"/without a trap", func(t *testing.T) {
			d := newDUT(t)
			w(d)
			d.observe(&specRow{in: in(tt.frame)}, "without a trap", out(tt.standing))
		})
	}
}

// saihostif.h: trap groups that are down, and which of two traps counts.
func TestSAITrapGroup(t *testing.T) {
	trap := func(d *dut, kind, act sai.Enum, pairs ...any) sai.Key {
		return sai.Obj(sai.ObjectTypeHostifTrap, d.create(sai.ObjectTypeHostifTrap,
			append(pairs, sai.HostifTrapAttrTrapType, kind,
				sai.HostifTrapAttrPacketAction, act)...))
	}
	frame := arp(1)
	flood, cpu := at(frame, 1, 2), at(frame, cpuPort)
	runSpec(t,
		specObject{name: "trap group", keep: true, object: func(d *dut, with ...sai.Attr) sai.Key {
			g := d.make(sai.ObjectTypeHostifTrapGroup, with...)
			trap(d, sai.HostifTrapTypeArpRequest, sai.PacketActionTrap, sai.HostifTrapAttrTrapGroup, g.OID)
			return g
		}, rows: []specRow{
			{name: "the traps of a group that is down do nothing", attr: sai.HostifTrapGroupAttrAdminState,
				value: sai.Bool(false),
				in:    in(frame), with: flood, without: cpu},
			{name: "its queue is no matter of the frame", attr: sai.HostifTrapGroupAttrQueue, value: sai.Uint(4),
				in: in(frame), with: cpu, without: cpu, refused: []refusal{{sai.Uint(8), sai.StatusInvalidParameter}}},
		}},
		specObject{name: "trap", world: func(d *dut) {
			d.boot()
			d.known["down"] = d.create(sai.ObjectTypeHostifTrapGroup, sai.HostifTrapGroupAttrAdminState, sai.Bool(false))
			d.known["up"] = d.create(sai.ObjectTypeHostifTrapGroup)
		}, object: func(d *dut, with ...sai.Attr) sai.Key {
			return d.make(sai.ObjectTypeHostifTrap, append(with, attrs(sai.HostifTrapAttrTrapType, sai.HostifTrapTypeArpRequest,
				sai.HostifTrapAttrPacketAction, sai.PacketActionTrap)...)...)
		}, rows: []specRow{
			{name: "in a group that is down", attr: sai.HostifTrapAttrTrapGroup, in: in(frame), with: flood, without: cpu,
				value: func(d *dut) sai.Value { return d.known["down"] }, back: func(d *dut) sai.Value { return d.known["up"] },
				refused: []refusal{{func(d *dut) sai.Value { return d.port(0).OID }, sai.StatusInvalidParameter}}},
		}},
		specObject{name: "trap of the higher priority", world: func(d *dut) {
			d.boot()
			d.unbridge(0)
			d.rif(0)
			d.route("10.0.0.1/32", d.ofSwitch(sai.SwitchAttrCPUPort))
			trap(d, sai.HostifTrapTypeIp2me, sai.PacketActionTrap, sai.HostifTrapAttrTrapPriority, sai.Uint(2))
		}, object: func(d *dut, with ...sai.Attr) sai.Key {
			return d.make(sai.ObjectTypeHostifTrap, append(with, attrs(sai.HostifTrapAttrTrapType, sai.HostifTrapTypeSsh,
				sai.HostifTrapAttrPacketAction, sai.PacketActionDrop)...)...)
		}, rows: []specRow{
			{name: "counts", attr: sai.HostifTrapAttrTrapPriority, value: sai.Uint(3), back: sai.Uint(1),
				in:   in(l4(at4(0, 9), at4(0, 1), 64, 6, tcp(9, 22, 2, 9))),
				with: nil, without: at(l4(at4(0, 9), at4(0, 1), 64, 6, tcp(9, 22, 2, 9)), cpuPort)},
		}},
	)
}

// saihostif.h: the table of host interfaces has the wildcard, which SONiC's orchagent creates at its start. It refuses
// everything that the chip does not implement.
func TestSAIHostifTableEntry(t *testing.T) {
	r := newRig(t, profile.Small())
	kind, channel := sai.HostifTableEntryAttrType, sai.HostifTableEntryAttrChannelType
	wildcard := []any{kind, sai.HostifTableEntryTypeWildcard, channel, sai.HostifTableEntryChannelTypeNetdevPhysicalPort}
	r.refused(sai.StatusMandatoryAttributeMissing, sai.ObjectTypeHostifTableEntry, wildcard[:2]...)
	r.refused(sai.StatusNotSupported, sai.ObjectTypeHostifTableEntry,
		kind, sai.HostifTableEntryTypeWildcard, channel, sai.HostifTableEntryChannelTypeCb)
	r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeArpRequest,
		sai.HostifTrapAttrPacketAction, sai.PacketActionTrap)
	for range 2 {
		o := r.create(sai.ObjectTypeHostifTableEntry, wildcard...)
		r.refused(sai.StatusInsufficientResources, sai.ObjectTypeHostifTableEntry, wildcard...)
		if got := portsOf(r.send(4, arp(1))); !slices.Equal(got, []saisim.PortID{saisim.CPUPort}) {
			t.Errorf("an ARP request goes to %v, want the CPU", got)
		}
		r.remove(sai.ObjectTypeHostifTableEntry, o)
	}
}

// A counter of traps counts the packets and the bytes for the CPU, of all traps that name it, before they are policed.
func TestSAITrapCounter(t *testing.T) {
	d := newDUT(t)
	d.boot()
	counter := d.create(sai.ObjectTypeCounter, sai.CounterAttrType, sai.CounterTypeRegular, sai.CounterAttrLabel,
		sai.Text("arp"))
	packetsOnly := d.create(sai.ObjectTypeCounter, sai.CounterAttrEnablePacketCount, sai.Bool(true),
		sai.CounterAttrEnableByteCount, sai.Bool(false))
	none := d.create(sai.ObjectTypePolicer, sai.PolicerAttrMeterType, sai.MeterTypePackets,
		sai.PolicerAttrMode, sai.PolicerModeSrTcm, sai.PolicerAttrRedPacketAction, sai.PacketActionDrop)
	group := d.create(sai.ObjectTypeHostifTrapGroup, sai.HostifTrapGroupAttrPolicer, none)
	trap := d.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeArpRequest,
		sai.HostifTrapAttrPacketAction, sai.PacketActionTrap, sai.HostifTrapAttrTrapGroup, group,
		sai.HostifTrapAttrCounterID, counter)
	want := func(what string, c sai.OID, packets, bytes uint64) {
		d.Helper()
		got, err := d.Stats(d.Context(), sai.Obj(sai.ObjectTypeCounter, c),
			[]sai.StatID{sai.CounterStatPackets, sai.CounterStatBytes})
		if err != nil || got[0] != packets || got[1] != bytes {
			d.Errorf("%s: counter %v (%v), want %d packets of %d bytes", what, got, err, packets, bytes)
		}
	}
	size := uint64(len(arp(1)) + 4)
	d.send(in(arp(1), arp(1), arp(2))...)
	want("two requests, both policed", counter, 2, 2*size)
	d.refuseRemove(sai.StatusObjectInUse, sai.Obj(sai.ObjectTypeCounter, counter))
	d.set(sai.Obj(sai.ObjectTypeHostifTrap, trap), sai.HostifTrapAttrCounterID, packetsOnly)
	d.send(in(arp(1))...)
	want("a request for another counter", counter, 2, 2*size)
	want("a counter of packets only", packetsOnly, 1, 0)
	d.set(sai.Obj(sai.ObjectTypeHostifTrap, trap), sai.HostifTrapAttrCounterID, sai.NullOID)
	d.send(in(arp(1))...)
	want("a request without a counter", packetsOnly, 1, 0)
	d.remove(sai.Obj(sai.ObjectTypeCounter, counter))
}
