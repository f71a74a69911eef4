package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
)

// Frames from host 1 to host 2.
var (
	someIP    = ip4(1, 2, 17, 0, udp(1000, 2000, 30))
	untagged  = eth(host(2), host(1), someIP)
	prioOnly  = tagged(5<<13, untagged)
	allHosts  = []byte{255, 255, 255, 255, 255, 255}
	someGroup = []byte{1, 0, 0x5e, 1, 2, 3}
	bcast     = eth(allHosts, host(1), someIP)
	mcast     = eth(someGroup, host(1), someIP)
)

// tagged returns a frame with a C-tag inserted after its addresses.
func tagged(tci uint16, f []byte) []byte { return eth(f[:6], f[6:12], tag(0x8100, tci), f[12:]) }

// in returns frames to be received at port 0.
func in(f ...[]byte) (s frames) {
	for _, x := range f {
		s = append(s, frameAt{0, x})
	}
	return s
}

// remakePort creates port 0 or 1 again, with some attributes, in VLAN 1 as before.
func remakePort(lane saisim.PortID) func(d *dut, with ...sai.Attr) sai.Key {
	return func(d *dut, with ...sai.Attr) sai.Key {
		d.unbridge(lane)
		d.remove(d.port(lane))
		for _, a := range attrs(sai.PortAttrHWLaneList, sai.Uints{uint64(lane)}, sai.PortAttrSpeed, sai.Uint(10000),
			sai.PortAttrMTU, sai.Uint(9122), sai.PortAttrAdminState, sai.Bool(true)) {
			if _, given := sai.Find(with, a.ID); !given {
				with = append(with, a)
			}
		}
		k := d.make(sai.ObjectTypePort, with...)
		d.join(d.vlan1().OID, d.makeBridgePort(k.OID), sai.VLANTaggingModeUntagged)
		return k
	}
}

// vlan10 adds ports 0 (untagged) and 1 (tagged) to VLAN 10 besides VLAN 1, and returns the VLAN.
func vlan10(d *dut) sai.OID {
	v := d.create(sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.Uint(10))
	d.join(v, d.bridgePort(d.port(0).OID).OID, sai.VLANTaggingModeUntagged)
	d.join(v, d.bridgePort(d.port(1).OID).OID, sai.VLANTaggingModeTagged)
	return v
}

// saiport.h
func TestSAIPort(t *testing.T) {
	long := eth(host(2), host(1), ip4(1, 2, 17, 0, udp(1, 2, 1476-42)))
	badVLAN := []refusal{{sai.Uint(4095), sai.StatusInvalidVLANID}}
	// vlanPort makes port 0 in VLANs 1 and 10. Port 1 is in 10, tagged.
	vlanPort := func(d *dut, with ...sai.Attr) sai.Key {
		k := remakePort(0)(d, with...)
		vlan10(d)
		return k
	}
	runSpec(t,
		specObject{name: "ingress port", object: remakePort(0), keep: true, rows: []specRow{
			{name: "a port that is down receives nothing", attr: sai.PortAttrAdminState, value: sai.Bool(false),
				back: sai.Bool(true), in: in(untagged), without: at(untagged, 1, 2)},
			{name: "DROP_UNTAGGED drops frames without a tag", attr: sai.PortAttrDropUntagged, value: sai.Bool(true),
				in: in(untagged), without: at(untagged, 1, 2)},
			{name: "DROP_UNTAGGED lets tagged frames in", attr: sai.PortAttrDropUntagged, value: sai.Bool(true),
				in: in(tagged(1, untagged)), with: at(untagged, 1, 2), without: at(untagged, 1, 2)},
			{name: "DROP_TAGGED drops frames with a tag", attr: sai.PortAttrDropTagged, value: sai.Bool(true),
				in: in(tagged(1, untagged)), without: at(untagged, 1, 2)},
			{name: "DROP_TAGGED lets untagged frames in", attr: sai.PortAttrDropTagged, value: sai.Bool(true),
				in: in(untagged), with: at(untagged, 1, 2), without: at(untagged, 1, 2)},
			{name: "DROP_TAGGED lets frames in that have a priority only", attr: sai.PortAttrDropTagged,
				value: sai.Bool(true), in: in(prioOnly), with: at(untagged, 1, 2), without: at(untagged, 1, 2)},
			{name: "SPEED: the frame takes no other way", attr: sai.PortAttrSpeed, value: sai.Uint(1000),
				back: sai.Uint(10000), in: in(untagged), with: at(untagged, 1, 2), without: at(untagged, 1, 2),
				refused: []refusal{{sai.Uint(12345), sai.StatusInvalidParameter}}},
			{name: "an ingress mirror session copies what comes in", attr: sai.PortAttrIngressMirrorSession,
				value: sessionList(1, nil), in: in(bcast), with: at(bcast, 1, 1, 2), without: at(bcast, 1, 2)},
		}},
		specObject{name: "egress port", object: remakePort(1), keep: true, rows: []specRow{
			{name: "a port that is down sends nothing", attr: sai.PortAttrAdminState, value: sai.Bool(false),
				back: sai.Bool(true), in: in(untagged), with: at(untagged, 2), without: at(untagged, 1, 2)},
			{name: "a frame of the MTU's length leaves", attr: sai.PortAttrMTU, value: sai.Uint(len(long) + 4),
				back: sai.Uint(9122), in: in(long), with: at(long, 1, 2), without: at(long, 1, 2)},
			{name: "a longer one does not", attr: sai.PortAttrMTU, value: sai.Uint(len(long) + 3),
				back: sai.Uint(9122), in: in(long), with: at(long, 2), without: at(long, 1, 2),
				refused: []refusal{{sai.Uint(10), sai.StatusInvalidParameter}}},
			{name: "an egress mirror session copies what leaves", attr: sai.PortAttrEgressMirrorSession,
				value: sessionList(2, nil), in: in(bcast), with: at(bcast, 1, 2, 2), without: at(bcast, 1, 2)},
		}},
		specObject{name: "port in two VLANs", object: vlanPort, keep: true, rows: []specRow{
			{name: "untagged frames are in the port's VLAN", attr: sai.PortAttrPortVLANID, value: sai.Uint(10),
				in: in(untagged), with: at(tagged(10, untagged), 1), without: at(untagged, 1, 2), refused: badVLAN},
			{name: "so are frames tagged with priority only, which they keep", attr: sai.PortAttrPortVLANID,
				value: sai.Uint(10), in: in(prioOnly), with: at(tagged(5<<13|10, untagged), 1),
				without: at(untagged, 1, 2)},
			{name: "tagged frames are in the VLAN of their tag", attr: sai.PortAttrPortVLANID, value: sai.Uint(10),
				in: in(tagged(1, untagged)), with: at(untagged, 1, 2), without: at(untagged, 1, 2)},
			{name: "a VLAN that the port is not in", attr: sai.PortAttrPortVLANID, value: sai.Uint(11),
				in: in(untagged), without: at(untagged, 1, 2)},
		}},
		specObject{name: "port with PVID 10", keep: true, object: func(d *dut, with ...sai.Attr) sai.Key {
			return vlanPort(d, append(with, attrs(sai.PortAttrPortVLANID, sai.Uint(10))...)...)
		}, rows: []specRow{
			{name: "the priority of the tag that untagged frames get", attr: sai.PortAttrDefaultVLANPriority,
				value: sai.Uint(6), in: in(untagged), with: at(tagged(6<<13|10, untagged), 1),
				without: at(tagged(10, untagged), 1), refused: []refusal{{sai.Uint(8), sai.StatusInvalidParameter}}},
			{name: "frames with a priority keep theirs", attr: sai.PortAttrDefaultVLANPriority, value: sai.Uint(6),
				in: in(prioOnly), with: at(tagged(5<<13|10, untagged), 1), without: at(tagged(5<<13|10, untagged), 1)},
		}},
	)
}

// saivlan.h
func TestSAIVLAN(t *testing.T) {
	known := frames{{1, eth(host(9), host(2), someIP)}, {0, untagged}} // host 2 is behind port 1
	flood := func(name string, attr sai.AttrID, dropped, f1, f2 []byte) []specRow {
		none := sai.VLANFloodControlTypeNone
		full := func(f []byte) frames { return at(tagged(10, f), 1).and(f, 2) }
		return []specRow{
			{name: name + " is not flooded", attr: attr, value: none, in: in(dropped), without: full(dropped)},
			{name: name + " control is not of others", attr: attr, value: none, in: in(f1), with: full(f1), without: full(f1)},
			{name: name + " control is not of the rest", attr: attr, value: none, in: in(f2), with: full(f2), without: full(f2)},
		}
	}
	vlan := specObject{name: "VLAN", keep: true, object: func(d *dut, with ...sai.Attr) sai.Key {
		v := d.make(sai.ObjectTypeVLAN, append(attrs(sai.VLANAttrVLANID, sai.Uint(10)), with...)...)
		for p := range saisim.PortID(3) {
			mode := sai.VLANTaggingModeUntagged
			if p == 1 {
				mode = sai.VLANTaggingModeTagged
			}
			d.join(v.OID, d.bridgePort(d.port(p).OID).OID, mode)
			d.set(d.port(p), sai.PortAttrPortVLANID, sai.Uint(10))
		}
		return v
	}, rows: []specRow{
		{name: "a VLAN learns", attr: sai.VLANAttrLearnDisable, value: sai.Bool(true), in: known,
			with: at(tagged(10, untagged), 1).and(untagged, 2), without: at(tagged(10, untagged), 1)},
	}}
	vlan.rows = append(vlan.rows, flood("unknown unicast", sai.VLANAttrUnknownUnicastFloodControlType, untagged, bcast,
		mcast)...)
	vlan.rows = append(vlan.rows, flood("multicast", sai.VLANAttrUnknownMulticastFloodControlType, mcast, bcast,
		untagged)...)
	vlan.rows = append(vlan.rows, flood("broadcast", sai.VLANAttrBroadcastFloodControlType, bcast, mcast, untagged)...)
	vlan.rows = append(vlan.rows, specRow{name: "known unicast is not flooded at all",
		attr: sai.VLANAttrUnknownUnicastFloodControlType, value: sai.VLANFloodControlTypeNone, in: known,
		with: at(tagged(10, untagged), 1), without: at(tagged(10, untagged), 1)})

	member := specObject{name: "VLAN member", world: func(d *dut) {
		d.boot()
		d.known["VLAN 10"] = d.create(sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.Uint(10))
		d.join(d.known["VLAN 10"], d.bridgePort(d.port(0).OID).OID, sai.VLANTaggingModeTagged)
	}, object: func(d *dut, with ...sai.Attr) sai.Key {
		return d.make(sai.ObjectTypeVLANMember, append(attrs(sai.VLANMemberAttrVLANID, d.known["VLAN 10"],
			sai.VLANMemberAttrBridgePortID, d.bridgePort(d.port(1).OID).OID), with...)...)
	}, rows: []specRow{
		{name: "frames leave with a tag, priority and all", attr: sai.VLANMemberAttrVLANTaggingMode,
			value: sai.VLANTaggingModeTagged, in: in(tagged(3<<13|10, untagged)),
			with: at(tagged(3<<13|10, untagged), 1), without: at(untagged, 1)},
		{name: "frames leave with a tag of priority only", attr: sai.VLANMemberAttrVLANTaggingMode,
			value: sai.VLANTaggingModePriorityTagged, in: in(tagged(3<<13|10, untagged)),
			with: at(tagged(3<<13, untagged), 1), without: at(untagged, 1)},
		{name: "frames of another VLAN do not", attr: sai.VLANMemberAttrVLANTaggingMode,
			value: sai.VLANTaggingModeTagged, in: in(tagged(11, untagged))},
	}}
	ingress := specObject{name: "VLAN member at the ingress", world: func(d *dut) {
		d.boot()
		d.known["VLAN 10"] = d.create(sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.Uint(10))
		d.join(d.known["VLAN 10"], d.bridgePort(d.port(1).OID).OID, sai.VLANTaggingModeTagged)
	}, object: func(d *dut, with ...sai.Attr) sai.Key {
		return d.make(sai.ObjectTypeVLANMember, append(attrs(sai.VLANMemberAttrVLANID, d.known["VLAN 10"],
			sai.VLANMemberAttrBridgePortID, d.bridgePort(d.port(0).OID).OID), with...)...)
	}, rows: []specRow{
		{name: "tagged frames come in whatever the mode", attr: sai.VLANMemberAttrVLANTaggingMode,
			value: sai.VLANTaggingModeTagged, in: in(tagged(10, untagged)),
			with: at(tagged(10, untagged), 1), without: at(tagged(10, untagged), 1)},
		{name: "the mode gives untagged frames no VLAN", attr: sai.VLANMemberAttrVLANTaggingMode,
			value: sai.VLANTaggingModeTagged, in: in(untagged),
			with: at(untagged, 1, 2), without: at(untagged, 1, 2)},
	}}
	runSpec(t, vlan, member, ingress)
}

// saibridge.h
func TestSAIBridgePort(t *testing.T) {
	answer := eth(host(1), host(2), someIP)
	make0 := func(lane saisim.PortID, with ...sai.Attr) func(d *dut, with ...sai.Attr) sai.Key {
		return func(d *dut, with ...sai.Attr) sai.Key {
			d.unbridge(lane)
			bp := append(attrs(sai.BridgePortAttrType, sai.BridgePortTypePort, sai.BridgePortAttrPortID, d.port(lane).OID),
				with...)
			if _, given := sai.Find(bp, sai.BridgePortAttrAdminState); !given {
				bp = append(bp, attrs(sai.BridgePortAttrAdminState, sai.Bool(true))...)
			}
			k := d.make(sai.ObjectTypeBridgePort, bp...)
			d.join(d.vlan1().OID, k.OID, sai.VLANTaggingModeUntagged)
			return k
		}
	}
	// Host 1 sends, then host 2 answers. The answer is flooded unless host 1 was learned.
	talk := frames{{0, untagged}, {1, answer}}
	drop, disable := sai.BridgePortFDBLearningModeDrop, sai.BridgePortFDBLearningModeDisable
	runSpec(t,
		specObject{name: "bridge port", object: make0(0), keep: true, rows: []specRow{
			{name: "HW learns, DISABLE does not", attr: sai.BridgePortAttrFDBLearningMode, value: disable,
				in: talk, with: at(answer, 0, 2), without: at(answer, 0)},
			{name: "DISABLE forwards what it does not learn", attr: sai.BridgePortAttrFDBLearningMode, value: disable,
				in: in(untagged), with: at(untagged, 1, 2), without: at(untagged, 1, 2)},
			{name: "DROP drops frames from unknown addresses", attr: sai.BridgePortAttrFDBLearningMode, value: drop,
				in: in(untagged), without: at(untagged, 1, 2)},
			{name: "DROP does not learn them", attr: sai.BridgePortAttrFDBLearningMode, value: drop,
				in: talk, with: at(answer, 0, 2), without: at(answer, 0)},
			{name: "a bridge port that is down takes nothing in", attr: sai.BridgePortAttrAdminState,
				value: sai.Bool(false), back: sai.Bool(true), in: in(untagged), without: at(untagged, 1, 2)},
			{name: "INGRESS_FILTERING drops frames of VLANs that it is not in", attr: sai.BridgePortAttrIngressFiltering,
				value: sai.Bool(true), in: in(tagged(10, untagged))},
		}},
		specObject{name: "egress bridge port", object: make0(1), keep: true, rows: []specRow{
			{name: "a bridge port that is down sends nothing", attr: sai.BridgePortAttrAdminState,
				value: sai.Bool(false), back: sai.Bool(true), in: in(bcast), with: at(bcast, 2), without: at(bcast, 1, 2)},
		}},
	)
}

// saifdb.h
func TestSAIFDBEntry(t *testing.T) {
	bp := func(lane saisim.PortID) func(d *dut) sai.Value {
		return func(d *dut) sai.Value { return d.bridgePort(d.port(lane).OID).OID }
	}
	entry := func(mac byte, to saisim.PortID) func(d *dut, with ...sai.Attr) sai.Key {
		return func(d *dut, with ...sai.Attr) sai.Key {
			for _, a := range attrs(sai.FDBEntryAttrType, sai.FDBEntryTypeStatic, sai.FDBEntryAttrBridgePortID, bp(to)(d)) {
				if _, given := sai.Find(with, a.ID); !given {
					with = append(with, a)
				}
			}
			return d.entry(sai.FDBEntry{Switch: d.sw, MAC: sai.MAC(host(mac)), BV: d.vlan1().OID}, with...)
		}
	}
	elsewhere := frames{{2, eth(host(9), host(2), someIP)}, {0, untagged}} // host 2 sends at port 2, then receives
	runSpec(t,
		specObject{name: "FDB entry of the destination", object: entry(2, 1), rows: []specRow{
			{name: "frames go to its bridge port alone", attr: sai.FDBEntryAttrBridgePortID, value: bp(2), back: bp(1),
				in: in(untagged), with: at(untagged, 2), without: at(untagged, 1)},
			{name: "not back to where they come from", attr: sai.FDBEntryAttrBridgePortID, value: bp(0), back: bp(1),
				in: in(untagged), without: at(untagged, 1)},
			{name: "DROP", attr: sai.FDBEntryAttrPacketAction, value: sai.PacketActionDrop, in: in(untagged),
				without: at(untagged, 1)},
			{name: "TRAP: to the CPU only", attr: sai.FDBEntryAttrPacketAction, value: sai.PacketActionTrap,
				in: in(untagged), with: at(untagged, cpuPort), without: at(untagged, 1)},
			{name: "COPY: to the CPU too", attr: sai.FDBEntryAttrPacketAction, value: sai.PacketActionCopy,
				in: in(untagged), with: at(untagged, 1, cpuPort), without: at(untagged, 1)},
		}},
		specObject{name: "FDB entry of the source", object: entry(1, 1), rows: []specRow{
			{name: "frames from a static address at another port are dropped", attr: sai.FDBEntryAttrBridgePortID, value: bp(0),
				back: bp(1), in: in(untagged), with: at(untagged, 1, 2)},
		}},
	)

	// A static entry that may move does so, and stays static. A dynamic entry is replaced, and is flushed.
	for _, tt := range []struct {
		name  string
		with  []sai.Attr
		moved saisim.PortID
		after frames // after the flush
	}{
		{"static", attrs(sai.FDBEntryAttrType, sai.FDBEntryTypeStatic), 1, at(untagged, 1)},
		{"static that may move", attrs(sai.FDBEntryAttrAllowMACMove, sai.Bool(true)), 2, at(untagged, 2)},
		{"dynamic", attrs(sai.FDBEntryAttrType, sai.FDBEntryTypeDynamic), 2, at(untagged, 1, 2)},
	} {
		t.Run("move/"+tt.name, func(t *testing.T) {
			d := newDUT(t)
			d.boot()
			entry(2, 1)(d, tt.with...)
			if got := d.send(elsewhere...); got.String() != at(untagged, tt.moved).String() {
				t.Errorf("host 2 is found at %v, want port %d", got, tt.moved)
			}
			d.observe(&specRow{in: in(untagged)}, "after a flush", tt.after)
		})
	}
}

// saifdb.h: FDB_FLUSH selects by bridge port, VLAN and type, and by all of them together.
func TestSAIFDBFlush(t *testing.T) {
	d := newDUT(t)
	d.boot()
	v10 := d.create(sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.Uint(10))
	for p := range saisim.PortID(3) {
		d.join(v10, d.bridgePort(d.port(p).OID).OID, sai.VLANTaggingModeTagged)
	}
	bp := func(p saisim.PortID) sai.OID { return d.bridgePort(d.port(p).OID).OID }
	v1 := d.vlan1().OID
	static := sai.FDBFlushEntryTypeStatic
	// Host 1 is at port 1 and host 2 at port 2, in both VLANs. Host 3 is static at port 1 in VLAN 1.
	learned := func() {
		for _, id := range []uint16{1, 10} {
			for h := byte(1); h < 3; h++ {
				d.send(frameAt{saisim.PortID(h), tagged(id, eth(host(9), host(h), someIP))})
			}
		}
		k := sai.FDBEntry{Switch: d.sw, MAC: sai.MAC(host(3)), BV: v1}
		_ = d.CreateEntry(d.Context(), k, attrs(sai.FDBEntryAttrType, sai.FDBEntryTypeStatic, sai.FDBEntryAttrBridgePortID,
			bp(1)))
	}
	known := func() (s string) { // addresses to which frames are not flooded
		for _, x := range []struct {
			vlan uint16
			host byte
			name string
		}{{1, 1, "1/1 "}, {1, 2, "1/2 "}, {1, 3, "1/3 "}, {10, 1, "10/1 "}, {10, 2, "10/2 "}} {
			if len(d.send(frameAt{0, tagged(x.vlan, eth(host(x.host), host(8), someIP))})) == 1 {
				s += x.name
			}
		}
		return s
	}
	for _, tt := range []struct {
		name  string
		attrs []sai.Attr
		want  string
	}{
		{"nothing given: all that is dynamic", nil, "1/3 "},
		{"a bridge port", attrs(sai.FDBFlushAttrBridgePortID, bp(1)), "1/2 1/3 10/2 "},
		{"a VLAN", attrs(sai.FDBFlushAttrBvID, v1), "1/3 10/1 10/2 "},
		{"a bridge port and a VLAN", attrs(sai.FDBFlushAttrBridgePortID, bp(2), sai.FDBFlushAttrBvID, v10),
			"1/1 1/2 1/3 10/1 "},
		{"static ones", attrs(sai.FDBFlushAttrEntryType, static), "1/1 1/2 10/1 10/2 "},
		{"static ones of another port", attrs(sai.FDBFlushAttrEntryType, static, sai.FDBFlushAttrBridgePortID, bp(2)),
			"1/1 1/2 1/3 10/1 10/2 "},
		{"all", attrs(sai.FDBFlushAttrEntryType, sai.FDBFlushEntryTypeAll), ""},
		{"all of a VLAN", attrs(sai.FDBFlushAttrEntryType, sai.FDBFlushEntryTypeAll, sai.FDBFlushAttrBvID, v1), "10/1 10/2 "},
	} {
		learned()
		if got := known(); got != "1/1 1/2 1/3 10/1 10/2 " {
			t.Fatalf("%s: known before: %s", tt.name, got)
		}
		noError(t, d.FlushFDB(d.Context(), tt.attrs))
		if got := known(); got != tt.want {
			t.Errorf("%s: known after the flush: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// lagOf makes a LAG of ports 1 and 2, bridged in VLAN 1.
func lagOf(d *dut, with ...sai.Attr) sai.Key {
	k := d.make(sai.ObjectTypeLAG, with...)
	for _, p := range []saisim.PortID{1, 2} {
		d.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, k.OID, sai.LAGMemberAttrPortID, d.port(p).OID)
	}
	d.join(d.vlan1().OID, d.makeBridgePort(k.OID), sai.VLANTaggingModeUntagged)
	return k
}

// sailag.h
func TestSAILAG(t *testing.T) {
	world := func(d *dut) {
		d.boot()
		d.unbridge(1, 2)
	}
	both := frames{{1, untagged}}
	inVLAN10 := func(d *dut, with ...sai.Attr) sai.Key {
		k := lagOf(d, with...)
		v := d.create(sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.Uint(10))
		d.join(v, d.bridgePort(k.OID).OID, sai.VLANTaggingModeUntagged)
		d.join(v, d.bridgePort(d.port(0).OID).OID, sai.VLANTaggingModeTagged)
		return k
	}
	runSpec(t,
		specObject{name: "LAG", world: world, object: lagOf, keep: true, rows: []specRow{
			{name: "DROP_UNTAGGED is of all members", attr: sai.LAGAttrDropUntagged, value: sai.Bool(true), in: both,
				without: at(untagged, 0)},
			{name: "DROP_TAGGED is of all members", attr: sai.LAGAttrDropTagged, value: sai.Bool(true),
				in: frames{{2, tagged(1, untagged)}}, without: at(untagged, 0)},
			{name: "DROP_TAGGED leaves the rest", attr: sai.LAGAttrDropTagged, value: sai.Bool(true), in: both,
				with: at(untagged, 0), without: at(untagged, 0)},
		}},
		specObject{name: "LAG in two VLANs", world: world, object: inVLAN10, keep: true, rows: []specRow{
			{name: "its VLAN is that of untagged frames", attr: sai.LAGAttrPortVLANID, value: sai.Uint(10), in: both,
				with: at(tagged(10, untagged), 0), without: at(untagged, 0),
				refused: []refusal{{sai.Uint(4095), sai.StatusInvalidVLANID}}},
		}},
		specObject{name: "LAG with PVID 10", world: world, keep: true, object: func(d *dut, with ...sai.Attr) sai.Key {
			return inVLAN10(d, append(with, attrs(sai.LAGAttrPortVLANID, sai.Uint(10))...)...)
		}, rows: []specRow{
			{name: "the priority of the tag that untagged frames get", attr: sai.LAGAttrDefaultVLANPriority,
				value: sai.Uint(4), in: both, with: at(tagged(4<<13|10, untagged), 0), without: at(tagged(10, untagged), 0),
				refused: []refusal{{sai.Uint(8), sai.StatusInvalidParameter}}},
		}},
		specObject{name: "LAG member", world: func(d *dut) {
			world(d)
			d.known["LAG"] = d.create(sai.ObjectTypeLAG, sai.LAGAttrLabel, sai.Text("x"))
			d.join(d.vlan1().OID, d.makeBridgePort(d.known["LAG"]), sai.VLANTaggingModeUntagged)
		}, object: func(d *dut, with ...sai.Attr) sai.Key {
			return d.make(sai.ObjectTypeLAGMember, append(attrs(sai.LAGMemberAttrLAGID, d.known["LAG"], sai.LAGMemberAttrPortID,
				d.port(1).OID), with...)...)
		}, rows: []specRow{
			{name: "EGRESS_DISABLE: no frame is sent by it", attr: sai.LAGMemberAttrEgressDisable, value: sai.Bool(true),
				in: in(untagged), without: at(untagged, 1)},
			{name: "EGRESS_DISABLE: it receives", attr: sai.LAGMemberAttrEgressDisable, value: sai.Bool(true),
				in: both, with: at(untagged, 0), without: at(untagged, 0)},
			{name: "INGRESS_DISABLE: no frame is taken from it", attr: sai.LAGMemberAttrIngressDisable, value: sai.Bool(true),
				in: both, without: at(untagged, 0)},
			{name: "INGRESS_DISABLE: it sends", attr: sai.LAGMemberAttrIngressDisable, value: sai.Bool(true),
				in: in(untagged), with: at(untagged, 1), without: at(untagged, 1)},
		}},
	)
	t.Run("no frame goes from one member to another", func(t *testing.T) {
		d := newDUT(t)
		world(d)
		lagOf(d)
		d.observe(&specRow{in: frames{{1, bcast}}}, "broadcast", at(bcast, 0))
	})
	t.Run("a frame goes to one member, and to the other when that is disabled", func(t *testing.T) {
		d := newDUT(t)
		world(d)
		k := lagOf(d)
		first := d.send(in(bcast)...)
		if len(first) != 1 {
			t.Fatalf("out came %v", first)
		}
		for _, m := range d.get(k, sai.LAGAttrPortList).(sai.OIDs) {
			key := sai.Obj(sai.ObjectTypeLAGMember, m)
			if d.get(key, sai.LAGMemberAttrPortID) == d.port(first[0].port).OID {
				d.set(key, sai.LAGMemberAttrEgressDisable, sai.Bool(true))
				d.observe(&specRow{in: in(bcast)}, "one disabled", at(bcast, 3-first[0].port))
				d.remove(key)
				d.observe(&specRow{in: in(bcast)}, "one removed", at(bcast, 3-first[0].port))
			}
		}
	})
}

// saiswitch.h
func TestSAISwitch(t *testing.T) {
	miss := func(attr sai.AttrID, name string, f, other []byte) []specRow {
		return []specRow{
			{name: name + " DROP: not flooded", attr: attr, value: sai.PacketActionDrop, in: in(f), without: at(f, 1, 2)},
			{name: name + " DROP: others are", attr: attr, value: sai.PacketActionDrop, in: in(other),
				with: at(other, 1, 2), without: at(other, 1, 2)},
		}
	}
	toMe := eth([]byte{2, 0, 0, 0, 0, 0xbb}, host(1), someIP)
	o := specObject{name: "switch", world: func(*dut) {}, keep: true,
		object: func(d *dut, with ...sai.Attr) sai.Key { return d.boot(with...) },
		rows: []specRow{{name: "frames to its MAC address are for the CPU", attr: sai.SwitchAttrSrcMACAddress,
			value: sai.MAC{2, 0, 0, 0, 0, 0xbb}, back: bridgeMAC, in: in(toMe), with: at(toMe, cpuPort),
			without: at(toMe, 1, 2)}},
	}
	o.rows = append(o.rows, miss(sai.SwitchAttrFDBUnicastMissPacketAction, "unicast miss", untagged, bcast)...)
	o.rows = append(o.rows, miss(sai.SwitchAttrFDBBroadcastMissPacketAction, "broadcast miss", bcast, mcast)...)
	o.rows = append(o.rows, miss(sai.SwitchAttrFDBMulticastMissPacketAction, "multicast miss", mcast, untagged)...)
	runSpec(t, o)

	t.Run("FDB_AGING_TIME", func(t *testing.T) { // in seconds; zero means no ageing
		d := newDUT(t)
		sw := d.boot()
		answer := eth(host(1), host(2), someIP)
		second := saisim.Cycle(d.Profile().ClockHz)
		for _, tt := range []struct {
			age, wait int
			want      frames
		}{{0, 3, at(answer, 0)}, {2, 1, at(answer, 0)}, {2, 3, at(answer, 0, 2)}, {0, 5, at(answer, 0)}} {
			d.set(sw, sai.SwitchAttrFDBAgingTime, sai.Uint(tt.age))
			d.send(in(untagged)...)
			d.Advance(d.Now() + saisim.Cycle(tt.wait)*second)
			if got := d.send(frameAt{1, answer}); got.String() != tt.want.String() {
				t.Errorf("%d seconds, ageing time %d: out came %v\nwant %v", tt.wait, tt.age, got, tt.want)
			}
		}
	})
}
