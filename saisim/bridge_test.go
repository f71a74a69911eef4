package saisim_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
)

// A VLAN member's tagging, for each kind of received frame.
func TestTags(t *testing.T) {
	payload := ip4(1, 2, 17, 0, udp(1, 2, 30))
	untagged := eth(host(2), host(1), payload)
	tagged := func(tci uint16) []byte { return eth(host(2), host(1), tag(0x8100, tci), payload) }
	stag := eth(host(2), host(1), tag(0x88a8, 5), payload)
	for _, tt := range []struct {
		name    string
		in, out sai.Enum
		frame   []byte
		want    []byte // nil if dropped
	}{
		{"untagged to untagged", sai.VLANTaggingModeUntagged, sai.VLANTaggingModeUntagged, untagged, untagged},
		{"untagged to tagged", sai.VLANTaggingModeUntagged, sai.VLANTaggingModeTagged, untagged, tagged(100)},
		{"tagged to untagged", sai.VLANTaggingModeTagged, sai.VLANTaggingModeUntagged, tagged(100), untagged},
		{"tagged stays as it is, priority too", sai.VLANTaggingModeTagged, sai.VLANTaggingModeTagged, tagged(0xb064),
			tagged(0xb064)},
		{"priority tag counts as untagged, and gets the VLAN", sai.VLANTaggingModeUntagged, sai.VLANTaggingModeTagged,
			tagged(0xa000), tagged(0xa064)},
		{"priority tag is taken off", sai.VLANTaggingModeUntagged, sai.VLANTaggingModeUntagged, tagged(0xa000), untagged},
		{"to priority-tagged", sai.VLANTaggingModeTagged, sai.VLANTaggingModePriorityTagged, tagged(0x6064), tagged(0x6000)},
		{"an S-tag is no tag of ours", sai.VLANTaggingModeUntagged, sai.VLANTaggingModeUntagged, stag, stag},
		{"tag of another VLAN", sai.VLANTaggingModeTagged, sai.VLANTaggingModeTagged, tagged(101), nil},
		{"VLAN 4095", sai.VLANTaggingModeTagged, sai.VLANTaggingModeTagged, tagged(4095), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			bps := []sai.OID{r.bp(0), r.bp(1)}
			v := r.vlan(100)
			for i, mode := range []sai.Enum{tt.in, tt.out} {
				r.member(v, bps[i], mode)
				r.set(sai.ObjectTypePort, r.oid(saisim.PortID(i)), sai.PortAttrPortVLANID, sai.Uint(100))
			}
			outs := r.send(0, tt.frame)
			switch {
			case tt.want == nil:
				if len(outs) != 0 || r.dropped(0) != "no-vlan=1 " {
					t.Errorf("left %v, dropped %q", outs, r.dropped(0))
				}
			case len(outs) != 1 || outs[0].port != 1 || !bytes.Equal(outs[0].data, tt.want):
				t.Errorf("left %v, want %x", outs, tt.want)
			}
		})
	}
}

// Every reason for which a frame is refused at the ingress.
func TestIngressDrops(t *testing.T) {
	arp := eth([]byte{255, 255, 255, 255, 255, 255}, host(1), u16(0x0806), make([]byte, 46))
	for _, tt := range []struct {
		name  string
		set   func(r *rig)
		frame []byte
		want  string
	}{
		{"port down", func(r *rig) { r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrAdminState, sai.Bool(false)) }, arp,
			"port-down=1 "},
		{"no link", func(r *rig) { r.SetLink(0, false) }, arp, "port-down=1 "},
		{"nothing", nil, []byte{}, "runt=1 "},
		{"13 bytes", nil, arp[:13], "runt=1 "},
		{"half a VLAN tag", nil, eth(host(2), host(1), tag(0x8100, 1), []byte{8}), "runt=1 "},
		{"group source address", nil, eth(host(2), []byte{3, 0, 0, 0, 0, 1}, u16(0x800)), "source-address=1 "},
		{"group source address, to a trapped destination", nil,
			eth([]byte{1, 0x80, 0xc2, 0, 0, 0xe}, []byte{3, 0, 0, 0, 0, 1}, u16(0x88cc)), "source-address=1 "},
		{"tagged frames refused", func(r *rig) {
			r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrDropTagged,
				sai.Bool(true))
		},
			eth(host(2), host(1), tag(0x8100, 1), u16(0x800)), "vlan-tag-filter=1 "},
		{"untagged frames refused", func(r *rig) {
			r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrDropUntagged,
				sai.Bool(true))
		},
			arp, "vlan-tag-filter=1 "},
		{"no such VLAN", nil, eth(host(2), host(1), tag(0x8100, 9), u16(0x800)), "no-vlan=1 "},
		{"not a member", func(r *rig) { r.vlan(9) }, eth(host(2), host(1), tag(0x8100, 9), u16(0x800)), "not-vlan-member=1 "},
		{"no bridge port", (*rig).clearVLAN1, arp, "no-vlan=1 "},
		{"bridge port down", func(r *rig) {
			r.set(sai.ObjectTypeBridgePort, r.bp(0), sai.BridgePortAttrAdminState, sai.Bool(false))
		}, arp, "no-vlan=1 "},
		{"unknown source where learning mode is drop", func(r *rig) {
			r.set(sai.ObjectTypeBridgePort, r.bp(0), sai.BridgePortAttrFDBLearningMode, sai.BridgePortFDBLearningModeDrop)
		}, arp, "learning=1 "},
		{"broadcast not flooded", func(r *rig) {
			vlan := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
			r.set(sai.ObjectTypeVLAN, vlan, sai.VLANAttrBroadcastFloodControlType, sai.VLANFloodControlTypeNone)
		}, arp, "unknown-destination=1 "},
		{"unknown unicast not flooded by the switch", func(r *rig) {
			r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrFDBUnicastMissPacketAction, sai.PacketActionDrop)
		}, udpFrame(1, 2, 60), "unknown-destination=1 "},
		{"destination is where it came from", func(r *rig) { r.send(0, udpFrame(2, 3, 60)) }, udpFrame(1, 2, 60),
			"same-port=1 "},
		{"link-local, trap says drop", func(r *rig) {
			r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeLldp,
				sai.HostifTrapAttrPacketAction, sai.PacketActionDrop)
		}, eth([]byte{1, 0x80, 0xc2, 0, 0, 0xe}, host(1), u16(0x88cc), make([]byte, 46)), "trap=1 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			if tt.set != nil {
				tt.set(r)
			}
			if outs := r.send(0, tt.frame); len(outs) != 0 || r.dropped(0) != tt.want {
				t.Errorf("left %v, dropped %q, want %q", outs, r.dropped(0), tt.want)
			}
		})
	}
}

func TestLearning(t *testing.T) {
	r := newRig(t, profile.Small())
	vlan := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
	bps := map[sai.OID]string{}
	for _, id := range r.Ports() {
		bps[r.bp(id)] = fmt.Sprint("port ", id)
	}
	r.notes = nil
	events := func() (s []string) {
		for _, n := range r.notes {
			if e, ok := n.(sai.FDBEvent); ok {
				bp, _ := sai.Find(e.Attrs, sai.FDBEntryAttrBridgePortID)
				s = append(s, fmt.Sprintf("%d %s %s", e.Event, e.Entry.MAC, bps[bp.(sai.OID)]))
				if e.Entry.BV != vlan || e.Entry.Switch != r.sw {
					t.Errorf("event %+v", e)
				}
			}
		}
		r.notes = nil
		return s
	}
	step := func(what string, got []sent, ports []saisim.PortID, want ...string) {
		t.Helper()
		if ids := portsOf(got); !slices.Equal(ids, ports) {
			t.Errorf("%s: left by %v, want %v", what, ids, ports)
		}
		if e := events(); !slices.Equal(e, want) {
			t.Errorf("%s: events %q, want %q", what, e, want)
		}
	}
	step("unknown floods", r.send(0, udpFrame(1, 2, 60)), []saisim.PortID{1, 2, 3, 4, 5, 6, 7},
		"0 02:00:00:00:00:01 port 0")
	step("the answer finds it", r.send(4, udpFrame(2, 1, 60)), []saisim.PortID{0}, "0 02:00:00:00:00:02 port 4")
	step("known both ways", r.send(0, udpFrame(1, 2, 60)), []saisim.PortID{4})
	step("the host moves", r.send(5, udpFrame(2, 1, 60)), []saisim.PortID{0}, "2 02:00:00:00:00:02 port 5")
	step("and is found there", r.send(0, udpFrame(1, 2, 60)), []saisim.PortID{5})

	entry := sai.EntryKey(sai.FDBEntry{Switch: r.sw, MAC: sai.MAC(host(2)), BV: vlan})
	got, err := r.Get(context.Background(), entry, []sai.Attr{sai.Want(sai.FDBEntryAttrBridgePortID, 1),
		sai.Want(sai.FDBEntryAttrType, 1)})
	if err != nil || bps[got[0].Value.(sai.OID)] != "port 5" || got[1].Value != sai.FDBEntryTypeDynamic {
		t.Errorf("learned entry reads %v, %v", got, err)
	}
	if err := r.FlushFDB(context.Background(), attrs(sai.FDBFlushAttrBridgePortID, r.bp(5))); err != nil {
		t.Fatal(err)
	}
	step("flushed", nil, []saisim.PortID{}, "3 02:00:00:00:00:02 port 5")
	step("unknown again", r.send(0, udpFrame(1, 2, 60)), []saisim.PortID{1, 2, 3, 4, 5, 6, 7})

	// A static entry does not move and is not flushed with the dynamic ones.
	fdb := sai.FDBEntry{Switch: r.sw, MAC: sai.MAC(host(2)), BV: vlan}
	if err := r.CreateEntry(context.Background(), fdb, attrs(sai.FDBEntryAttrType, sai.FDBEntryTypeStatic,
		sai.FDBEntryAttrBridgePortID, r.bp(6))); err != nil {
		t.Fatal(err)
	}
	if got, err = r.Get(context.Background(), entry, []sai.Attr{sai.Want(sai.FDBEntryAttrType, 1)}); err != nil ||
		got[0].Value != sai.FDBEntryTypeStatic {
		t.Errorf("static entry reads %v, %v", got, err)
	}
	r.send(3, udpFrame(2, 1, 60))
	if err := r.FlushFDB(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if ids := portsOf(r.send(0, udpFrame(1, 2, 60))); !slices.Equal(ids, []saisim.PortID{6}) {
		t.Errorf("static host 2 is at %v", ids)
	}
	if err := r.Remove(context.Background(), sai.Obj(sai.ObjectTypeBridgePort, r.bp(6))); err == nil {
		t.Error("a bridge port with a static entry was removed")
	}
}

// Entries age at the first tenth of a second after their ageing time.
func TestAgeing(t *testing.T) {
	r := newRig(t, profile.Small())
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrFDBAgingTime, sai.Uint(2))
	r.send(4, udpFrame(2, 9, 60)) // enters at 64
	const enter, age, tenth = 64, 2 * 1_250_000_000, 125_000_000
	if _, ok := r.NextEvent(); ok {
		t.Error("ageing counts as an event")
	}
	for _, tt := range []struct {
		at   saisim.Cycle
		want []saisim.PortID
	}{
		{enter + age, []saisim.PortID{4}},
		{age + tenth - 64 - 1, []saisim.PortID{4}},                 // the packet enters one cycle before the sweep
		{age + tenth + 1000, []saisim.PortID{1, 2, 3, 4, 5, 6, 7}}, // the entry is gone
	} {
		if ids := portsOf(r.sendAt(0, tt.at, saisim.Frame{Data: udpFrame(1, 2, 60)})); !slices.Equal(ids, tt.want) {
			t.Errorf("at %d: left by %v, want %v", tt.at, ids, tt.want)
		}
	}
}

func TestFDBFull(t *testing.T) {
	p := profile.Small() // 16 entries
	r := newRig(t, p)
	for n := byte(1); n <= 20; n++ {
		r.send(0, udpFrame(n, 200, 60))
	}
	learned := 0
	for _, n := range r.notes {
		if _, ok := n.(sai.FDBEvent); ok {
			learned++
		}
	}
	if learned != int(p.FDB) {
		t.Errorf("%d learned, want %d", learned, p.FDB)
	}
	if ids := portsOf(r.send(1, udpFrame(201, 1, 60))); !slices.Equal(ids, []saisim.PortID{0}) {
		t.Errorf("host 1 is at %v", ids)
	}
	if ids := portsOf(r.send(1, udpFrame(201, 20, 60))); len(ids) != 7 {
		t.Errorf("host 20, which did not fit, is at %v", ids)
	}
	if n, err := r.Availability(context.Background(), sai.ObjectTypeFDBEntry, nil); n != 0 || err != nil {
		t.Errorf("%d entries left, %v", n, err)
	}
}

// A LAG member that neither receives nor sends, as before LACP has agreed with a partner, still receives LACP for the
// CPU and sends it. It traps nothing that belongs to the LAG: neither packets for the switch nor ARP.
func TestClosedLAGMember(t *testing.T) {
	r := newRig(t, profile.Small())
	r.clearVLAN1()
	lag := r.create(sai.ObjectTypeLAG)
	m := r.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID, r.oid(2),
		sai.LAGMemberAttrIngressDisable, sai.Bool(true), sai.LAGMemberAttrEgressDisable, sai.Bool(true))
	v := r.vlan(10)
	r.member(v, r.bridgePort(lag), sai.VLANTaggingModeUntagged)
	r.set(sai.ObjectTypeLAG, lag, sai.LAGAttrPortVLANID, sai.Uint(10))
	sw := sai.MAC{2, 0, 0, 0, 0, 0xaa}
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrSrcMACAddress, sw)
	group := r.create(sai.ObjectTypeHostifTrapGroup)
	for _, kind := range []sai.Enum{sai.HostifTrapTypeArpRequest, sai.HostifTrapTypeLacp} {
		r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, kind, sai.HostifTrapAttrPacketAction,
			sai.PacketActionTrap,
			sai.HostifTrapAttrTrapPriority, sai.Uint(1), sai.HostifTrapAttrTrapGroup, group)
	}
	slow := eth([]byte{1, 0x80, 0xc2, 0, 0, 2}, host(9), u16(0x8809), make([]byte, 110))
	mine := eth(sw[:], host(9), ip4(1, 2, 17, 0, udp(1, 2, 40)))
	ask := eth([]byte{255, 255, 255, 255, 255, 255}, host(9), u16(0x0806), []byte{0, 1, 8, 0, 6, 4, 0, 1},
		make([]byte, 38))
	hears := func(closed bool) {
		t.Helper()
		for name, f := range map[string][]byte{"LACP": slow, "a packet for the switch": mine, "ARP": ask} {
			want := []saisim.PortID{saisim.CPUPort}
			if closed && name != "LACP" {
				want = nil
			}
			if got := portsOf(r.send(2, f)); !slices.Equal(got, want) {
				t.Errorf("closed %v, %s came to %v, want %v", closed, name, got, want)
			}
		}
		if err := r.Inject(2, saisim.Frame{Data: slow}); err != nil {
			t.Fatal(err)
		}
		if got := portsOf(r.drain()); !slices.Equal(got, []saisim.PortID{2}) {
			t.Errorf("closed %v, what the CPU sends left by %v", closed, got)
		}
	}
	hears(true)
	if r.dropped(2) != "no-lag-member=2 " {
		t.Errorf("dropped %q", r.dropped(2))
	}
	r.set(sai.ObjectTypeLAGMember, m, sai.LAGMemberAttrIngressDisable, sai.Bool(false))
	hears(false)
}

// Injected frames leave by their port and bypass the ingress.
func TestInject(t *testing.T) {
	r := newRig(t, profile.Small())
	r.stampAll(7)
	f := udpFrame(1, 2, 60)
	at := r.Now()
	if err := r.Inject(3, saisim.Frame{Data: f}); err != nil {
		t.Fatal(err)
	}
	outs := r.drain()
	if len(outs) != 1 || outs[0].port != 3 || outs[0].in != saisim.CPUPort || !bytes.Equal(outs[0].data, f) ||
		outs[0].at != at+toMAC+8 {
		t.Errorf("left %v", outs)
	}
	if b := r.FrameCounts(); b.Injected != 1 || b.Sent != 1 {
		t.Errorf("books %+v", b)
	}
	if err := r.Inject(99, saisim.Frame{Data: f}); err == nil {
		t.Error("injected at a port that is not there")
	}
}

// A frame that the CPU sends in a VLAN goes to all of its members, each with its own tagging, or only to the port of
// its destination address if that is known. It goes nowhere else, and no address is learned from it.
func TestInjectVLAN(t *testing.T) {
	r := newRig(t, profile.Small())
	r.clearVLAN1()
	v := r.vlan(100)
	r.member(v, r.bridgePort(r.oid(1)), sai.VLANTaggingModeUntagged)
	r.member(v, r.bridgePort(r.oid(2)), sai.VLANTaggingModeTagged)
	lag := r.create(sai.ObjectTypeLAG)
	for _, id := range []saisim.PortID{4, 6} {
		r.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID, r.oid(id))
	}
	r.member(v, r.bridgePort(lag), sai.VLANTaggingModeTagged)
	payload := ip4(9, 2, 17, 0, udp(1, 2, 30))
	untagged := eth(host(2), host(9), payload)
	tagged := eth(host(2), host(9), tag(0x8100, 100), payload)
	inject := func() map[string]int {
		t.Helper()
		if err := r.InjectVLAN(100, saisim.Frame{Data: untagged}); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, o := range r.drain() {
			name := fmt.Sprint(o.port)
			if o.port == 4 || o.port == 6 {
				name = "LAG"
			}
			if o.in != saisim.CPUPort {
				t.Errorf("left as if it came in at port %d", o.in)
			}
			switch {
			case bytes.Equal(o.data, untagged):
				got[name+" untagged"]++
			case bytes.Equal(o.data, tagged):
				got[name+" tagged"]++
			default:
				t.Errorf("left as %x", o.data)
			}
		}
		return got
	}
	if got, want := fmt.Sprint(inject()), "map[1 untagged:1 2 tagged:1 LAG tagged:1]"; got != want {
		t.Errorf("to an unknown address: %s, want %s", got, want)
	}
	r.send(2, eth(host(1), host(2), tag(0x8100, 100), payload)) // host 2 is at port 2
	if got, want := fmt.Sprint(inject()), "map[2 tagged:1]"; got != want {
		t.Errorf("to a known address: %s, want %s", got, want)
	}
	r.SetLink(2, false)
	if got := inject(); len(got) != 0 {
		t.Errorf("to an address behind a port that is down: %v, want nothing", got)
	}
	for want, vid := range map[string]uint16{"no VLAN 7": 7, "no VLAN 0": 0, "no VLAN 4095": 4095} {
		if err := r.InjectVLAN(vid, saisim.Frame{Data: untagged}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("VLAN %d: %v, want %q", vid, err, want)
		}
	}
	if err := r.InjectVLAN(100, saisim.Frame{Data: tagged}); err == nil || !strings.Contains(err.Error(), "has a tag") {
		t.Errorf("a frame with a tag: %v, want a refusal", err)
	}
	if err := r.InjectVLAN(100, saisim.Frame{Data: untagged[:13]}); err == nil {
		t.Error("a frame without a whole header was taken")
	}
	if b := r.FrameCounts(); b.Injected != 3 || b.InFlight != 0 || b.Queued != 0 {
		t.Errorf("books %+v", b)
	}
}

// If a VLAN is removed while a frame of the CPU waits for the pipe, the frame is dropped.
func TestInjectVLANThatGoes(t *testing.T) {
	r := newRig(t, profile.Small())
	v := r.vlan(100)
	if err := r.InjectVLAN(100, saisim.Frame{Data: udpFrame(1, 2, 60)}); err != nil {
		t.Fatal(err)
	}
	r.remove(sai.ObjectTypeVLAN, v)
	if outs := r.drain(); len(outs) != 0 {
		t.Errorf("left %v", outs)
	}
	if b := r.FrameCounts(); b.Dropped[drop.NoVLAN] != 1 {
		t.Errorf("books %+v, want one dropped for want of a VLAN", b)
	}
}
