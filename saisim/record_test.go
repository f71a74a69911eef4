package saisim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/tam/record"
)

// A recorder is a router that records the IPv4 packets that a pre-ingress entry selects, to a collector at port 1. Its
// ingress ACL table has an entry that all of them hit.
type recorder struct {
	*router
	chosen sai.OID // the pre-ingress table
	table  sai.OID
	object sai.OID // object of the plan
	plan   record.ChipPlan
}

// newRecorder returns a recorder with a plan of every table of the chip, in two containers of 32 bits, with session
// tr:s, and a mirror session.
func newRecorder(t testing.TB, mirror func(r *rig) sai.OID) *recorder {
	t.Helper()
	r := &recorder{router: newRouter(t)}
	r.plan = r.everything()
	r.object = r.planned(r.plan)
	r.table = r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldEtherType, sai.Bool(true), sai.ACLTableAttrFieldIPProtocol,
		sai.Bool(true))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, r.table)
	r.entry(r.table, 1, sai.ACLEntryAttrFieldEtherType, sai.Match(sai.Uint(0x800), sai.Uint(0xffff)))
	r.chosen = r.acl(sai.ACLStagePreIngress, sai.ACLTableAttrFieldEtherType, sai.Bool(true),
		sai.ACLTableAttrFieldIPProtocol, sai.Bool(true))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrPreIngressACL, r.chosen)
	r.entry(r.chosen, 1, sai.ACLEntryAttrFieldEtherType, sai.Match(sai.Uint(0x800), sai.Uint(0xffff)),
		sai.ACLEntryAttrActionMirrorIngress, sai.Do(sai.OIDs{mirror(r.rig)}))
	return r
}

func erspanTo1(r *rig) sai.OID {
	return r.erspan(1, sai.ErspanEncapsulationTypeMirrorL3GRETunnel, false, sai.MirrorSessionAttrLabel, sai.Text("tr:s"))
}

// everything returns a plan that marks all tables, ran and hit.
func (r *router) everything() record.ChipPlan {
	g := r.Describe()
	p := record.ChipPlan{ID: 77, Switch: 5, PHV: "32+32", Graph: g.Version,
		Sessions: []record.ChipSession{{Label: "tr:s"}}}
	bit := 0
	for _, n := range g.Nodes {
		if n.Kind != record.Table {
			continue
		}
		for _, when := range []string{record.MarkRan, record.MarkHit} {
			if when == record.MarkRan || !n.Keyless {
				p.Marks = append(p.Marks, record.ChipMark{Table: n.ID, When: when, Bit: bit})
				bit++
			}
		}
	}
	return p
}

func planEntry(t testing.TB, p record.ChipPlan) sai.Bytes { return entryOf(t, "plan", p) }

func (r *router) planned(p record.ChipPlan) sai.OID {
	r.Helper()
	return r.extension(record.ObjectPlan, planEntry(r, p))
}

// records removes the records from the frames that left at port 1, in order, and returns them with the frames.
func (r *recorder) records(outs []sent) (list []record.Record, frames [][]byte) {
	r.Helper()
	for _, f := range on(outs, 1) {
		x, frame, err := record.Decode(f)
		if err != nil {
			r.Fatalf("%v: %x", err, f)
		}
		list, frames = append(list, x), append(frames, frame)
	}
	return list, frames
}

// words returns the tables that ran and hit by a record of the plan.
func words(p record.ChipPlan, x record.Record) string {
	c, _ := record.ParseContainers(p.PHV)
	var all []string
	for _, m := range p.Marks {
		switch {
		case !c.Bit(x.Bits, m.Bit):
		case m.When == record.MarkRan:
			all = append(all, strings.TrimPrefix(m.Table, "chip."))
		default:
			all[len(all)-1] += "*"
		}
	}
	return strings.Join(all, " ")
}

func (r *recorder) ends(outs []sent) string {
	r.Helper()
	list, _ := r.records(outs)
	var all []string
	for _, x := range list {
		what := fmt.Sprint(x.OutPort)
		if x.Why != 0 {
			what += " " + r.Describe().Reasons[x.Why]
		}
		all = append(all, what+": "+words(r.plan, x))
	}
	return strings.Join(all, ", ")
}

func (r *rig) counted(labels ...string) []uint64 {
	r.Helper()
	oid := r.extension(record.ObjectCounters, entryOf(r, "labels", labels))
	defer r.remove(sai.ObjectTypeGenericProgrammable, oid)
	var numbers []uint64
	s := sketcher{r}
	s.answer(oid, "counters", &numbers)
	return numbers
}

// Each copy of a recorded packet has a record with its outcome.
func TestRecords(t *testing.T) {
	near := func(r *recorder) { r.neighbor(1, at4(1, 20), 20); r.neighbor(2, at4(2, 20), 20) }
	known := func(r *recorder) { r.send(7, eth(host(9), host(2), u16(0x88b5), make([]byte, 46))) }
	to := func(i int, ttl byte) []byte { return packet(0, at4(0, 9), at4(i, 20), ttl, 100) }
	const routed = "port* trap acl* router_mac* ipv4_route* "
	for _, tt := range []struct {
		name  string
		setup func(r *recorder)
		port  saisim.PortID
		frame []byte
		want  string
	}{
		{"forwarded", known, 6, udpFrame(1, 2, 60), "7: port* trap acl* learning router_mac fdb* mtu*"},
		{"not selected", known, 6, eth(host(2), host(1), ip6(1, 2, 17, udp(1, 2, 20))), ""},
		{"a copy to each port", near, 0, to(2, 64), "2: " + routed + "next_hop* fdb mtu*, 3: " + routed +
			"next_hop* fdb mtu*"},
		{"to the CPU", near, 0, to(1, 1), "65535: " + strings.TrimSpace(routed)},
		{"no route", nil, 0, packet(0, at4(0, 9), netip.MustParseAddr("192.0.2.7"), 64, 100),
			"65535 no-route: port* trap acl* router_mac* ipv4_route"},
		{"from a group address", nil, 6, slices.Concat(udpFrame(1, 2, 60)[:6], []byte{1}, udpFrame(1, 2, 60)[7:]),
			"65535 source-address: port"},
		{"of no VLAN", nil, 6, slices.Concat(udpFrame(1, 2, 60)[:12], []byte{0x81, 0, 0, 9}, udpFrame(1, 2, 60)[12:]),
			"65535 no-vlan: port trap"},
		{"dropped by an entry", func(r *recorder) {
			r.entry(r.table, 2, append(action(sai.PacketActionDrop), sai.ACLEntryAttrFieldIPProtocol,
				sai.Match(sai.Uint(17), sai.Uint(0xff)))...)
			known(r)
		}, 6, udpFrame(1, 2, 60), "65535 acl: port* trap acl* learning"},
		{"at a port that is down", func(r *recorder) {
			known(r)
			r.set(sai.ObjectTypePort, r.oid(7), sai.PortAttrAdminState, sai.Bool(false))
		}, 6, udpFrame(1, 2, 60), "7 egress-port-down: port* trap acl* learning router_mac fdb*"},
		{"too long", func(r *recorder) {
			known(r)
			r.set(sai.ObjectTypePort, r.oid(7), sai.PortAttrMTU, sai.Uint(100))
		}, 6, udpFrame(1, 2, 200), "7 egress-mtu: port* trap acl* learning router_mac fdb* mtu"},
		{"by an egress ACL", func(r *recorder) {
			known(r)
			table := r.acl(sai.ACLStageEgress, sai.ACLTableAttrFieldEtherType, sai.Bool(true))
			r.entry(table, 1, append(action(sai.PacketActionDrop), sai.ACLEntryAttrFieldEtherType,
				sai.Match(sai.Uint(0x800), sai.Uint(0xffff)))...)
			r.set(sai.ObjectTypePort, r.oid(7), sai.PortAttrEgressACL, table)
		}, 6, udpFrame(1, 2, 60), "7 egress-acl: port* trap acl* learning router_mac fdb* mtu* egress_acl*"},
		{"where the FDB leads to nobody", func(r *recorder) {
			r.set(sai.ObjectTypeBridgePort, r.bp(7), sai.BridgePortAttrAdminState, sai.Bool(false))
		}, 6, udpFrame(1, 2, 60), "65535 no-destination: port* trap acl* learning router_mac fdb"},
		{"a trap that copies", func(r *recorder) {
			known(r)
			r.entry(r.table, 2, append(action(sai.PacketActionCopy), sai.ACLEntryAttrFieldIPProtocol,
				sai.Match(sai.Uint(17), sai.Uint(0xff)))...)
		}, 6, udpFrame(1, 2, 60),
			"65535: port* trap acl* learning router_mac fdb*, 7: port* trap acl* learning router_mac fdb* mtu*"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(t, erspanTo1)
			if tt.setup != nil {
				tt.setup(r)
			}
			outs := r.send(tt.port, tt.frame)
			got := strings.Split(r.ends(outs), ", ")
			slices.Sort(got)
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("%s\nwant %s", s, tt.want)
			}
		})
	}
}

// A record copy, byte by byte: the frame as received, the record, and the tunnel's headers, whose lengths cover both.
func TestRecordEncapsulation(t *testing.T) {
	frame := sum(packet(0, at4(0, 9), at4(2, 20), 64, 100))
	tunnel := &record.ChipTunnel{SrcIP: netip.MustParseAddr("192.0.2.1"), DstIP: netip.MustParseAddr("192.0.2.2"),
		SrcMAC: "02:00:00:00:02:01", DstMAC: "02:00:00:00:02:02", TOS: 0x2c}
	tunnel6 := &record.ChipTunnel{SrcIP: netip.MustParseAddr("2001:db8::1"), DstIP: netip.MustParseAddr("2001:db8::2"),
		SrcMAC: tunnel.SrcMAC, DstMAC: tunnel.DstMAC, TOS: 0x2c}
	macs := []byte{2, 0, 0, 0, 2, 2, 2, 0, 0, 0, 2, 1}
	outer4 := func(proto byte, n int) []byte { // checksum filled in below
		b := append([]byte{8, 0, 0x45, 0x2c}, u16(uint16(20+n))...)
		return append(b, 0, 0, 0x40, 0, 63, proto, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2)
	}
	datagram := func(n int) []byte {
		return append(append(append(u16(1234), u16(5678)...), u16(uint16(8+n))...), 0, 0)
	}
	flow := func(pairs ...any) func(r *rig) sai.OID {
		return func(r *rig) sai.OID {
			return r.create(sai.ObjectTypeMirrorSession, append([]any{sai.MirrorSessionAttrType, sai.MirrorSessionTypeSflow,
				sai.MirrorSessionAttrMonitorPort, r.oid(1),
				sai.MirrorSessionAttrTTL, sai.Uint(63), sai.MirrorSessionAttrUDPSrcPort, sai.Uint(1234),
				sai.MirrorSessionAttrUDPDstPort, sai.Uint(5678),
				sai.MirrorSessionAttrLabel, sai.Text("tr:s")}, pairs...)...)
		}
	}
	v6 := func(n int) []byte {
		b := append([]byte{0x86, 0xdd, 0x62, 0xc0, 0, 0}, u16(uint16(n))...)
		return append(append(append(b, 17, 63), tunnel6.SrcIP.AsSlice()...), tunnel6.DstIP.AsSlice()...)
	}
	const n = 8 + 47 // length of a record
	for _, tt := range []struct {
		name   string
		mirror func(r *rig) sai.OID
		tunnel *record.ChipTunnel
		want   []byte // bytes before the record
	}{
		{"GRE", erspanTo1, nil, sum(slices.Concat(macs, outer4(47, 4+100+n), []byte{0, 0, 0x88, 0xbe}, frame))},
		{"GRE, truncated", func(r *rig) sai.OID {
			return r.erspan(1, sai.ErspanEncapsulationTypeMirrorL3GRETunnel, false, sai.MirrorSessionAttrLabel, sai.Text("tr:s"),
				sai.MirrorSessionAttrTruncateSize, sai.Uint(64))
		}, nil, sum(slices.Concat(macs, outer4(47, 4+64+n), []byte{0, 0, 0x88, 0xbe}, frame[:64]))},
		{"ERSPAN II, truncated", func(r *rig) sai.OID {
			return r.erspan(1, sai.ErspanEncapsulationTypeIi, false, sai.MirrorSessionAttrLabel, sai.Text("tr:s"),
				sai.MirrorSessionAttrTruncateSize, sai.Uint(64))
		}, nil, sum(slices.Concat(macs, outer4(47, 16+64+n), []byte{0x10, 0, 0x88, 0xbe, 0, 0, 0, 0, 0x10, 0, 4, 0, 0, 0, 0,
			0}, frame[:64]))},
		{"SPAN", func(r *rig) sai.OID { return r.local(1, sai.MirrorSessionAttrLabel, sai.Text("tr:s")) }, nil, frame},
		{"UDP", flow(), tunnel, sum(slices.Concat(macs, outer4(17, 8+100+n), datagram(100+n), frame))},
		{"UDP over IPv6, truncated", flow(sai.MirrorSessionAttrTruncateSize, sai.Uint(64)), tunnel6,
			slices.Concat(macs, v6(8+64+n), datagram(64+n), frame[:64])},
		{"UDP in a VLAN", flow(sai.MirrorSessionAttrVLANHeaderValid, sai.Bool(true), sai.MirrorSessionAttrVLANTpid,
			sai.Uint(0x8100), sai.MirrorSessionAttrVLANID, sai.Uint(100), sai.MirrorSessionAttrVLANPri, sai.Uint(5)), tunnel,
			slices.Concat(macs, tag(0x8100, 0xa064), sum(slices.Concat(macs, outer4(17, 8+100+n)))[12:], datagram(100+n),
				frame)},
		{"UDP without a tunnel", flow(), nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(t, tt.mirror)
			r.plan.Sessions[0].Tunnel = tt.tunnel
			r.set(sai.ObjectTypeGenericProgrammable, r.object, sai.GenericProgrammableAttrEntry, planEntry(t, r.plan))
			at := r.Now()
			r.neighbor(2, at4(2, 20), 20)
			r.send(3, eth(host(9), host(20), tag(0x8100, 100), u16(0x88b5), make([]byte, 46))) // host 20 is there
			outs := r.sendAt(0, at+2000, saisim.Frame{Data: frame})
			list, frames := r.records(outs)
			if tt.want == nil {
				if len(list) != 0 || !slices.Equal(r.counted("tr:s"), []uint64{1, 0, 0, 0}) {
					t.Errorf("%d records, counted %d", len(list), r.counted("tr:s"))
				}
				return
			}
			if len(list) != 1 || !bytes.Equal(frames[0], tt.want) {
				t.Fatalf("%d records, of\n%x, want\n%x", len(list), frames, tt.want)
			}
			p := r.Profile()
			in, out := saisim.Cycle(2000)+at, saisim.Cycle(0)
			for _, o := range outs {
				if o.port == 3 {
					out = o.at // 8 bytes of preamble behind the egress pipe, one cycle each
				}
			}
			want := record.Record{Bits: list[0].Bits, Switch: 5, Plan: 77, In: timeAt(r.rig, in), At: timeAt(r.rig, out-8),
				InPort: 0, OutPort: 3, Length: 100,
				InLane: 0, OutLane: 3, Queue: 0}
			if got := list[0]; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v\nwant %+v (the pipe of %s takes %d cycles)", got, want, p.Name, p.EgressStages*p.StageCycles)
			}
			if s := words(r.plan, list[0]); s != "port* trap acl* router_mac* ipv4_route* next_hop* fdb* mtu*" {
				t.Error(s)
			}
		})
	}
}

func timeAt(r *rig, c saisim.Cycle) record.Time {
	t := r.TimeOfDay(c)
	return record.Time{Seconds: uint64(t.Unix()), Nanoseconds: uint32(t.Nanosecond())}
}

// A record is flagged while its clock is wrong.
func TestRecordsOfAWrongClock(t *testing.T) {
	r := newRecorder(t, erspanTo1)
	for _, ok := range []bool{true, false, true} {
		r.SetClockSynchronised(ok)
		if list, _ := r.records(r.send(6, udpFrame(1, 2, 60))); len(list) != 1 || list[0].Unsynchronised == ok {
			t.Errorf("synchronised %v: %+v", ok, list)
		}
	}
}

// One of each Sample matching packets is recorded, beginning with the first. The counters agree. Copies dropped on
// their way to the collector are lost.
func TestRecordSampling(t *testing.T) {
	r := newRecorder(t, erspanTo1)
	r.plan.Sessions[0].Sample = 3
	r.set(sai.ObjectTypeGenericProgrammable, r.object, sai.GenericProgrammableAttrEntry, planEntry(t, r.plan))
	recorded := ""
	for i := range 8 {
		f := udpFrame(1, 2, 60+i)
		list, _ := r.records(r.send(6, f))
		for _, x := range list {
			recorded += fmt.Sprint(" ", x.Length)
		}
	}
	if got := r.counted("tr:s", "tr:x"); recorded != " 60 63 66" || !slices.Equal(got, []uint64{8, 5, 3, 0, 0, 0, 0, 0}) {
		t.Errorf("recorded%s, counted %d", recorded, got)
	}
	r.plan.Sessions[0].Sample = 1
	r.set(sai.ObjectTypeGenericProgrammable, r.object, sai.GenericProgrammableAttrEntry, planEntry(t, r.plan))
	r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrAdminState, sai.Bool(false))
	r.send(6, udpFrame(1, 2, 60))
	if got := r.counted("tr:s"); !slices.Equal(got, []uint64{9, 5, 4, 1}) {
		t.Errorf("counted %d", got)
	}
}

// Two plans share the record word, and a packet that both record has a record of each.
func TestTwoPlans(t *testing.T) {
	r := newRecorder(t, erspanTo1)
	half := func(id uint32, offset int, label, table string) record.ChipPlan {
		return record.ChipPlan{ID: id, Switch: 1, PHV: "32", Offset: offset, Graph: r.Describe().Version,
			Marks:    []record.ChipMark{{Table: table, When: record.MarkHit, Bit: 9}},
			Sessions: []record.ChipSession{{Label: label}}}
	}
	r.set(sai.ObjectTypeGenericProgrammable, r.object, sai.GenericProgrammableAttrEntry,
		planEntry(t, half(1, 0, "tr:s", "chip.acl")))
	r.planned(half(2, 32, "tr:u", "chip.fdb"))
	other := r.erspan(1, sai.ErspanEncapsulationTypeMirrorL3GRETunnel, false, sai.MirrorSessionAttrLabel, sai.Text("tr:u"))
	plain := r.local(5)
	r.entry(r.chosen, 2, sai.ACLEntryAttrFieldIPProtocol, sai.Match(sai.Uint(17), sai.Uint(0xff)),
		sai.ACLEntryAttrActionMirrorIngress, sai.Do(sai.OIDs{other, plain}))
	outs := r.send(6, udpFrame(1, 2, 60))
	list, _ := r.records(outs)
	if len(list) != 1 || list[0].Plan != 2 || fmt.Sprintf("%x", list[0].Bits) != "00000000" || len(on(outs, 5)) != 1 {
		t.Errorf("%+v, and %d plain mirror copies, want a record of plan 2 and a copy", list, len(on(outs, 5)))
	}
	// Ingress mirroring of a port to a session that records has no effect, nor does egress mirroring or mirroring by an
	// ingress entry.
	r.entry(r.table, 2, sai.ACLEntryAttrActionMirrorIngress, sai.Do(sai.OIDs{other}))
	r.set(sai.ObjectTypePort, r.oid(6), sai.PortAttrIngressMirrorSession, sai.OIDs{other})
	r.set(sai.ObjectTypePort, r.oid(7), sai.PortAttrEgressMirrorSession, sai.OIDs{other})
	if outs := r.send(6, eth(host(2), host(1), u16(0x88b5), make([]byte, 46))); len(on(outs, 1)) != 0 {
		t.Errorf("%v", outs)
	}
	if got := r.counted("tr:s", "tr:u"); !slices.Equal(got, []uint64{0, 0, 0, 0, 1, 0, 1, 0}) {
		t.Errorf("counted %d", got)
	}
}

// A plan that is replaced by another continues its counts when it returns, and path counts continue if one plan
// replaces the only other plan.
func TestPlanThatGivesWay(t *testing.T) {
	r := newRecorder(t, erspanTo1)
	at := func(oid sai.OID, id uint32, offset int, label string) {
		t.Helper()
		r.set(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry,
			planEntry(t, record.ChipPlan{ID: id, PHV: "32",
				Offset: offset, Graph: r.Describe().Version, Sessions: []record.ChipSession{{Label: label}}}))
	}
	counts := func(what string, want ...uint64) {
		t.Helper()
		if got := r.counted("tr:s", "tr:u"); !slices.Equal(got, want) {
			t.Errorf("%s: counted %d, want %d", what, got, want)
		}
	}
	at(r.object, 1, 0, "tr:s")
	other := r.planned(record.ChipPlan{ID: 2, PHV: "32", Offset: 32, Graph: r.Describe().Version,
		Sessions: []record.ChipSession{{Label: "tr:u"}}})
	r.send(6, udpFrame(1, 2, 60))
	r.send(6, udpFrame(1, 2, 60))
	_, before, _ := r.Paths()
	counts("two plans", 2, 0, 2, 0, 0, 0, 0, 0)

	at(other, 2, 0, "tr:s") // the other plan takes over the bits and the label
	counts("one plan has given way", 0, 0, 0, 0, 0, 0, 0, 0)
	r.send(6, udpFrame(1, 2, 60))
	counts("the other counts", 1, 0, 1, 0, 0, 0, 0, 0)

	at(r.object, 1, 0, "tr:s") // the other plan is replaced in turn, so for a moment there is only one plan
	counts("the first is back", 2, 0, 2, 0, 0, 0, 0, 0)
	if _, now, _ := r.Paths(); before == 0 || now <= before {
		t.Errorf("%d packets and copies on paths, %d before one plan gave way to the other", now, before)
	}
	at(other, 2, 32, "tr:u")
	r.remove(sai.ObjectTypeGenericProgrammable, other)
	r.remove(sai.ObjectTypeGenericProgrammable, r.object)
	r.planned(r.plan)
	counts("a new plan", 0, 0, 0, 0, 0, 0, 0, 0)
	if _, n, _ := r.Paths(); n != 0 {
		t.Errorf("%d packets and copies on paths before any has come since there are plans again", n)
	}
}

// A packet in flight keeps the plan that was in effect when it entered. The mirror session's state when the record is
// made applies to the record.
func TestRecordsInFlight(t *testing.T) {
	halfway := func(r *recorder) {
		t.Helper()
		noError(t, r.Receive(6, r.Now(), saisim.Frame{Data: udpFrame(1, 2, 60)}))
		r.Advance(r.Now() + 64 + 5)
	}
	for _, tt := range []struct {
		name   string
		change func(r *recorder, mirror sai.OID)
		want   []uint32 // plans of the packet's records
		then   []uint32 // plans of the next packet's records
	}{
		{"nothing", func(*recorder, sai.OID) {}, []uint32{77}, []uint32{77}},
		{"another plan", func(r *recorder, _ sai.OID) {
			r.plan.ID, r.plan.Marks = 78, r.plan.Marks[:1]
			r.set(sai.ObjectTypeGenericProgrammable, r.object, sai.GenericProgrammableAttrEntry, planEntry(r, r.plan))
		}, []uint32{77}, []uint32{78}},
		{"none", func(r *recorder, _ sai.OID) { r.remove(sai.ObjectTypeGenericProgrammable, r.object) }, []uint32{77}, nil},
		{"another program", func(r *recorder, _ sai.OID) {
			r.load(&pipe.Program{Name: "p", Egress: pipe.Pipe{Tables: []pipe.Table{
				does("out", 0, op("set", "ip.dscp", constant(1)))}}})
		}, []uint32{77}, nil},
		{"another label", func(r *recorder, mirror sai.OID) {
			r.set(sai.ObjectTypeMirrorSession, mirror, sai.MirrorSessionAttrLabel, sai.Text("tr:t"))
		}, nil, nil},
		{"truncated", func(r *recorder, mirror sai.OID) {
			r.set(sai.ObjectTypeMirrorSession, mirror, sai.MirrorSessionAttrTruncateSize, sai.Uint(20))
		}, []uint32{77}, []uint32{77}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mirror sai.OID
			r := newRecorder(t, func(r *rig) sai.OID { mirror = erspanTo1(r); return mirror })
			was := r.plan
			halfway(r)
			tt.change(r, mirror)
			for i, want := range [][]uint32{tt.want, tt.then} {
				if i > 0 {
					halfway(r)
				}
				list, _ := r.records(r.drain())
				var got []uint32
				for _, x := range list {
					got = append(got, x.Plan)
				}
				if !slices.Equal(got, want) {
					t.Errorf("packet %d has records of %d, want %d", i, got, want)
				}
				if len(list) > 0 && i == 0 && words(was, list[0]) != "port* trap acl* learning router_mac fdb mtu*" {
					t.Error(words(r.plan, list[0]))
				}
			}
		})
	}
}

// A plan covers tables of a program, in both pipes.
func TestRecordsOfPrograms(t *testing.T) {
	r := newRecorder(t, erspanTo1)
	lookup := pipe.Table{Name: "proto", Stage: 1, Match: "exact", Key: []pipe.Input{{Field: "ip.proto"}}, Size: 4,
		Entries: []pipe.Entry{{ID: 1, Key: []pipe.Match{{Value: 17}}}}}
	gated := does("ttl", 1, op("set", "ip.ttl", constant(9)))
	gated.Gate = [][]pipe.Term{{{Table: "proto", Is: "hit"}}}
	r.load(&pipe.Program{Name: "p", Ingress: pipe.Pipe{Tables: []pipe.Table{lookup, gated}},
		Egress: pipe.Pipe{Tables: []pipe.Table{does("out", 3, op("set", "ip.dscp", constant(1)))}}})
	udp, icmp := udpFrame(1, 2, 60), eth(host(2), host(1), ip4(1, 2, 1, 0, make([]byte, 30)))
	if s := r.ends(r.send(6, udp)); s != "" {
		t.Errorf("a record of a plan for another graph: %s", s)
	}
	r.plan.Graph = r.Describe().Version
	r.plan.Marks = []record.ChipMark{{Table: "ingress.proto", When: "ran", Bit: 0},
		{Table: "ingress.proto", When: "hit", Bit: 1},
		{Table: "ingress.ttl", When: "ran", Bit: 32}, {Table: "egress.out", When: "ran", Bit: 63},
		{Table: "chip.fdb", When: "ran", Bit: 5}}
	r.set(sai.ObjectTypeGenericProgrammable, r.object, sai.GenericProgrammableAttrEntry, planEntry(t, r.plan))
	got := r.ends(r.send(6, udp)) + ", " + r.ends(r.send(6, icmp))
	if want := "7: ingress.proto* ingress.ttl egress.out fdb, 7: ingress.proto egress.out fdb"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	r.control(r.Now(), pipe.Batch{Faults: []pipe.Fault{{Do: "skip", Table: "egress.out"}}})
	if got, want := r.ends(r.send(6, udp)), "7: ingress.proto* ingress.ttl fdb"; got != want {
		t.Errorf("with a fault: %s\nwant %s", got, want)
	}
	if n := r.counted("tr:s"); !slices.Equal(n, []uint64{4, 1, 3, 0}) {
		t.Errorf("counted %d", n)
	}
}

// Copies that a full queue drops have records with that reason.
func TestRecordsOfFullQueues(t *testing.T) {
	r := newRecorder(t, erspanTo1)
	r.send(7, eth(host(9), host(2), u16(0x88b5), make([]byte, 46)))
	pool := r.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, sai.BufferPoolTypeEgress, sai.BufferPoolAttrSize,
		sai.Uint(64*400))
	profile := r.create(sai.ObjectTypeBufferProfile, sai.BufferProfileAttrPoolID, pool,
		sai.BufferProfileAttrReservedBufferSize, sai.Uint(0),
		sai.BufferProfileAttrThresholdMode, sai.BufferProfileThresholdModeStatic, sai.BufferProfileAttrSharedStaticTh,
		sai.Uint(64*4))
	r.set(sai.ObjectTypeQueue, r.queue(7, 0), sai.QueueAttrBufferProfileID, profile)
	r.set(sai.ObjectTypePort, r.oid(7), sai.PortAttrSpeed, sai.Uint(1000)) // a tenth of the offered rate
	for range 12 {
		noError(t, r.Receive(6, r.Now(), saisim.Frame{Data: udpFrame(1, 2, 200)}))
	}
	outs := r.drain()
	list, _ := r.records(outs)
	sent, dropped := 0, 0
	for _, x := range list {
		if x.Why != 0 {
			dropped++
			if s := words(r.plan, x); drop.Reason(x.Why) != drop.QueueLimit || strings.Contains(s, "mtu") {
				t.Errorf("%s: %s", drop.Reason(x.Why), s)
			}
		} else {
			sent++
		}
	}
	if sent+dropped != 12 || dropped == 0 || sent != len(on(outs, 7)) {
		t.Errorf("records of %d sent and %d dropped, %d left", sent, dropped, len(on(outs, 7)))
	}
}

// The register read of the graph returns the graph, and the number of packets on each path.
func TestGraphWindow(t *testing.T) {
	r := newRecorder(t, erspanTo1)
	window := func() (numbers []uint64, g *record.Graph, paths []record.PathCount) {
		oid := r.extension(record.ObjectGraph, entryOf(t, "describe", map[string]bool{"graph": true, "paths": true}))
		defer r.remove(sai.ObjectTypeGenericProgrammable, oid)
		s := sketcher{r.rig}
		s.answer(oid, "counted", &numbers)
		s.answer(oid, "graph", &g)
		s.answer(oid, "paths", &paths)
		return numbers, g, paths
	}
	for range 3 {
		r.send(6, udpFrame(1, 2, 60))
	}
	r.send(6, eth(host(2), []byte{3, 0, 0, 0, 0, 1}, u16(0x88b5), make([]byte, 46)))
	noError(t, r.Inject(7, saisim.Frame{Data: udpFrame(1, 2, 60)}))
	r.drain()
	numbers, g, paths := window()
	have, _ := json.Marshal(g)
	want, _ := json.Marshal(r.Describe())
	if !slices.Equal(numbers, []uint64{r.Describe().Version, 4, 0}) || !bytes.Equal(have, want) {
		t.Errorf("%d, graph %s", numbers, have)
	}
	got := map[string]uint64{}
	for _, p := range paths {
		got[ranWords(p.Path)] = p.Packets
	}
	if len(got) != 3 || got["port"] != 1 || got["port* trap acl* learning router_mac fdb mtu*"] != 1 ||
		got["port* trap acl* learning* router_mac fdb mtu*"] != 2 {
		t.Errorf("%v", got)
	}
	r.load(&pipe.Program{Name: "p", Egress: pipe.Pipe{Tables: []pipe.Table{
		does("out", 0, op("set", "ip.dscp", constant(1)))}}})
	if numbers, _, paths := window(); !slices.Equal(numbers, []uint64{r.Describe().Version, 0, 0}) || len(paths) != 0 {
		t.Errorf("%d and %v with another graph", numbers, paths)
	}
}
