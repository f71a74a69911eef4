package saisim_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
)

const (
	portIn, portOut     = sai.DebugCounterTypePortInDropReasons, sai.DebugCounterTypePortOutDropReasons
	switchIn, switchOut = sai.DebugCounterTypeSwitchInDropReasons, sai.DebugCounterTypeSwitchOutDropReasons
	inList, outList     = sai.DebugCounterAttrInDropReasonList, sai.DebugCounterAttrOutDropReasonList
)

func (r *rig) counter(t sai.Enum, list sai.AttrID, reasons ...sai.Enum) sai.OID {
	r.Helper()
	return r.create(sai.ObjectTypeDebugCounter, sai.DebugCounterAttrType, t, list, sai.Enums(reasons))
}

// stat returns a statistic.
func (r *rig) stat(k sai.Key, id sai.StatID) uint64 {
	r.Helper()
	n, err := r.Stats(context.Background(), k, []sai.StatID{id})
	if err != nil {
		r.Fatal(err)
	}
	return n[0]
}

// saidebugcounter.h: a counter is the statistic of its index, of all ports or of the switch. It counts drops for its
// reasons since it was made.
func TestSAIDebugCounters(t *testing.T) {
	const in0, sw0 = sai.PortStatInConfiguredDropReasons0DroppedPkts, sai.SwitchStatInConfiguredDropReasons0DroppedPkts
	r := newRouter(t)
	ctx := context.Background()
	port, whole := sai.Obj(sai.ObjectTypePort, r.oid(0)), sai.Obj(sai.ObjectTypeSwitch, r.sw)
	nowhere, hole := packet(0, at4(0, 9), at4(77, 1), 64, 100), packet(0, at4(0, 9), at4(4, 9), 64, 100)
	r.route("10.0.4.0/24", sai.NullOID, sai.RouteEntryAttrPacketAction, sai.PacketActionDrop)
	r.send(0, nowhere) // before there is a counter

	for _, id := range []sai.StatID{in0, sai.PortStatOutConfiguredDropReasons0DroppedPkts} {
		_, err := r.Stats(ctx, port, []sai.StatID{id})
		r.wantStatus(err, sai.StatusNotSupported)
	}
	a := r.counter(portIn, inList, sai.InDropReasonLpmMiss)
	b := r.counter(portIn, inList, sai.InDropReasonBlackholeRoute, sai.InDropReasonLpmMiss)
	c := r.counter(switchIn, inList, sai.InDropReasonL3Any, sai.InDropReasonBlackholeRoute)
	for oid, want := range map[sai.OID]sai.Uint{a: 0, b: 1, c: 0} {
		if got := r.get(sai.ObjectTypeDebugCounter, oid, sai.DebugCounterAttrIndex); got != want {
			t.Errorf("index %v, want %d", got, want)
		}
	}
	if got := r.get(sai.ObjectTypeDebugCounter, a,
		sai.DebugCounterAttrBindMethod); got != sai.DebugCounterBindMethodAutomatic {
		t.Errorf("bound by %v", got)
	}
	want := func(what string, n ...uint64) {
		t.Helper()
		if got := []uint64{r.stat(port, in0), r.stat(port, in0+1), r.stat(whole, sw0)}; !slices.Equal(got, n) {
			t.Errorf("%s: %v, want %v", what, got, n)
		}
	}
	want("made", 0, 0, 0)
	r.send(0, nowhere)
	r.send(0, hole)
	r.send(1, packet(1, at4(1, 9), at4(77, 1), 64, 100))
	want("counted", 1, 2, 3)

	r.set(sai.ObjectTypeDebugCounter, a, inList, sai.Enums{sai.InDropReasonBlackholeRoute})
	r.set(sai.ObjectTypeDebugCounter, c, inList, sai.Enums{sai.InDropReasonACLAny})
	want("other reasons", 1, 2, 3)
	r.send(0, nowhere)
	r.send(0, hole)
	want("counted on", 2, 4, 3)
	noError(t, r.ClearStats(ctx, port, []sai.StatID{in0}))
	noError(t, r.ClearStats(ctx, whole, []sai.StatID{sw0}))
	want("cleared", 0, 4, 0)
	r.set(sai.ObjectTypeDebugCounter, a, inList, sai.Enums{})
	r.send(0, hole)
	want("of no reason", 0, 5, 0)
	if n := r.stat(sai.Obj(sai.ObjectTypePort, r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrCPUPort).(sai.OID)),
		in0); n != 0 {
		t.Errorf("the CPU port has dropped %d", n)
	}

	r.remove(sai.ObjectTypeDebugCounter, b)
	_, err := r.Stats(ctx, port, []sai.StatID{in0 + 1})
	r.wantStatus(err, sai.StatusNotSupported)
	if got := r.get(sai.ObjectTypeDebugCounter, r.counter(portIn, inList, sai.InDropReasonBlackholeRoute),
		sai.DebugCounterAttrIndex); got != sai.Uint(1) {
		t.Errorf("index %v, want the one that is free", got)
	}
	want("another counter", 0, 0, 0)
}

// Reasons that the chip cannot count exactly, and more counters than its limit, are refused.
func TestSAIDebugCounterRefusals(t *testing.T) {
	r := newRouter(t)
	ctx := context.Background()
	create := func(status sai.Status, kind sai.Enum, list sai.AttrID, reason sai.Enum) {
		t.Helper()
		r.refused(status, sai.ObjectTypeDebugCounter, sai.DebugCounterAttrType, kind, list, sai.Enums{reason})
	}
	for _, list := range []sai.AttrID{inList, outList} {
		can, err := r.EnumCapability(ctx, list)
		if err != nil || len(can) == 0 {
			t.Fatal(can, err)
		}
		kind := map[sai.AttrID]sai.Enum{inList: portIn, outList: portOut}[list]
		for _, e := range sai.Meta(list).Enum.Values {
			if slices.Contains(can, e) {
				r.remove(sai.ObjectTypeDebugCounter, r.counter(kind, list, e))
				continue
			}
			create(sai.StatusNotSupported, kind, list, e)
		}
	}
	a := r.counter(portOut, outList, sai.OutDropReasonL2Any)
	err := r.Set(ctx, sai.Obj(sai.ObjectTypeDebugCounter, a), sai.Attr{ID: outList,
		Value: sai.Enums{sai.OutDropReasonL3Any}})
	r.wantStatus(err, sai.StatusNotSupported)
	r.remove(sai.ObjectTypeDebugCounter, a)

	for kind, n := range map[sai.Enum]uint64{portIn: 16, portOut: 8, switchIn: 8, switchOut: 8} {
		for ; ; n-- {
			left, err := r.Availability(ctx, sai.ObjectTypeDebugCounter, attrs(sai.DebugCounterAttrType, kind))
			if err != nil || left != n {
				t.Fatalf("%d left of type %d, want %d; %v", left, kind, n, err)
			}
			if left == 0 {
				break
			}
			r.create(sai.ObjectTypeDebugCounter, sai.DebugCounterAttrType, kind)
		}
		r.refused(sai.StatusInsufficientResources, sai.ObjectTypeDebugCounter, sai.DebugCounterAttrType, kind)
	}
}

// debugWords holds SAI's reasons for the chip's drops, by the chip's own words. They are without SAI_IN_DROP_REASON_
// and SAI_OUT_DROP_REASON_.
var debugWords = map[string][2]string{
	"oversize": {"EXCEEDS_L2_MTU L2_ANY"}, "vlan-tag-filter": {"VLAN_TAG_NOT_ALLOWED L2_ANY"},
	"no-vlan": {"INGRESS_VLAN_FILTER L2_ANY"}, "not-vlan-member": {"INGRESS_VLAN_FILTER L2_ANY"},
	"source-address": {"SMAC_MULTICAST L2_ANY"}, "learning": {"L2_ANY"},
	"fdb": {"FDB_UC_DISCARD FDB_AND_BLACKHOLE_DISCARDS L2_ANY"}, "unknown-destination": {"L2_ANY"},
	"same-port": {"L2_LOOPBACK_FILTER L2_ANY"}, "no-destination": {"L2_ANY"},
	"not-router": {"L3_ANY"}, "router-down": {"IRIF_DISABLED L3_ANY"}, "ip-header": {"L3_ANY"},
	"no-route":  {"LPM_MISS L3_ANY"},
	"blackhole": {"BLACKHOLE_ROUTE FDB_AND_BLACKHOLE_DISCARDS L3_ANY"}, "neighbor": {"BLACKHOLE_ARP L3_ANY"},
	"route": {"L3_ANY"}, "no-next-hop": {"UNRESOLVED_NEXT_HOP L3_ANY"}, "ttl": {"TTL L3_ANY"},
	"no-neighbor": {"UNRESOLVED_NEXT_HOP L3_ANY"}, "router-out-down": {"ERIF_DISABLED L3_ANY"},
	"same-interface": {"L3_LOOPBACK_FILTER L3_ANY"}, "l3-mtu": {"EXCEEDS_L3_MTU L3_ANY"}, "decap": {"DECAP_ERROR L3_ANY"},
	"acl": {"ACL_ANY"}, "egress-acl": {"ACL_ANY"}, "egress-port-down": {1: "L2_ANY"}, "egress-mtu": {1: "L2_ANY"},
}

// A modelCounter is the expected state of a debug counter.
type modelCounter struct {
	oid     sai.OID
	kind    sai.Enum
	list    sai.AttrID
	base    sai.StatID
	reasons map[string]bool // reasons without the prefix of SAI's names
	count   map[saisim.PortID]uint64
	all     uint64
}

// A debugModel has debug counters like the chip's, and counts the drops that the chip reports.
type debugModel struct {
	*router
	rnd      *rand.Rand
	counters []*modelCounter
	saw      map[string]int
}

// dropped counts a drop.
func (m *debugModel) dropped(d *saisim.Drop) {
	if d.Punted {
		return
	}
	m.saw[d.Why.String()]++
	for _, c := range m.counters {
		out := 0
		if c.list == outList {
			out = 1
		}
		if slices.ContainsFunc(strings.Fields(debugWords[d.Why.String()][out]), func(w string) bool { return c.reasons[w] }) {
			c.count[d.Port]++
			c.all++
		}
	}
}

// choose sets some reasons of a counter.
func (m *debugModel) choose(c *modelCounter) sai.Enums {
	can, err := m.EnumCapability(context.Background(), c.list)
	if err != nil {
		m.Fatal(err)
	}
	c.reasons = map[string]bool{}
	var chosen sai.Enums
	for _, e := range can {
		if m.rnd.IntN(3) == 0 {
			_, word, _ := strings.Cut(sai.EnumName(c.list, e), "_DROP_REASON_")
			chosen, c.reasons[word] = append(chosen, e), true
		}
	}
	return chosen
}

// change makes, changes, clears or removes a counter.
func (m *debugModel) change() {
	what := m.rnd.IntN(6)
	if what < 3 || len(m.counters) == 0 {
		kind := []sai.Enum{portIn, portOut, switchIn, switchOut}[m.rnd.IntN(4)]
		c := &modelCounter{kind: kind, list: inList, count: map[saisim.PortID]uint64{}}
		if kind == portOut || kind == switchOut {
			c.list = outList
		}
		c.base = map[sai.Enum]sai.StatID{
			portIn: sai.PortStatInConfiguredDropReasons0DroppedPkts, portOut: sai.PortStatOutConfiguredDropReasons0DroppedPkts,
			switchIn:  sai.SwitchStatInConfiguredDropReasons0DroppedPkts,
			switchOut: sai.SwitchStatOutConfiguredDropReasons0DroppedPkts,
		}[kind]
		left, err := m.Availability(context.Background(), sai.ObjectTypeDebugCounter, attrs(sai.DebugCounterAttrType, kind))
		if err != nil {
			m.Fatal(err)
		}
		if left > 0 {
			c.oid = m.counter(kind, c.list, m.choose(c)...)
			m.counters = append(m.counters, c)
		}
		return
	}
	i := m.rnd.IntN(len(m.counters))
	switch c := m.counters[i]; what {
	case 3:
		m.remove(sai.ObjectTypeDebugCounter, c.oid)
		m.counters = slices.Delete(m.counters, i, i+1)
	case 4:
		m.set(sai.ObjectTypeDebugCounter, c.oid, c.list, m.choose(c))
	default:
		if id, of := m.at(c); of == sai.ObjectTypePort {
			p := m.Ports()[m.rnd.IntN(8)]
			if err := m.ClearStats(context.Background(), sai.Obj(of, m.oid(p)), []sai.StatID{id}); err != nil {
				m.Fatal(err)
			}
			c.count[p] = 0
		}
	}
}

// at returns a counter's statistic, and the type of object that has it.
func (m *debugModel) at(c *modelCounter) (sai.StatID, sai.ObjectType) {
	index := m.get(sai.ObjectTypeDebugCounter, c.oid, sai.DebugCounterAttrIndex).(sai.Uint)
	of := sai.ObjectTypePort
	if c.kind == switchIn || c.kind == switchOut {
		of = sai.ObjectTypeSwitch
	}
	return c.base + sai.StatID(index), of
}

// compare compares the chip's counters with those of the model.
func (m *debugModel) compare() {
	for i, c := range m.counters {
		id, of := m.at(c)
		if of == sai.ObjectTypeSwitch {
			if got := m.stat(sai.Obj(of, m.sw), id); got != c.all {
				m.Fatalf("counter %d of %v: %d, want %d", i, slices.Sorted(maps.Keys(c.reasons)), got, c.all)
			}
			continue
		}
		for _, p := range m.Ports() {
			if got := m.stat(sai.Obj(of, m.oid(p)), id); got != c.count[p] {
				m.Fatalf("counter %d of %v at port %d: %d, want %d", i, slices.Sorted(maps.Keys(c.reasons)), p, got, c.count[p])
			}
		}
	}
}

// frame returns a frame, which may be dropped for one of many reasons or not at all, and the port where it arrives.
func (m *debugModel) frame() (saisim.PortID, []byte) {
	n := m.rnd.IntN
	at := m.Ports()[n(8)]
	if n(2) == 0 {
		f := udpFrame(byte(n(6)), byte(n(6)), 60+n(2)*8000)
		if n(6) == 0 {
			f[6] |= 1
		}
		if n(4) == 0 {
			f = slices.Concat(f[:12], []byte{0x81, 0, 0, byte(n(3)) * 50}, f[12:])
		}
		return at, f
	}
	i := n(4)
	dst := at4(n(6), byte(n(8)))
	if n(3) == 0 {
		dst = at6(n(6), byte(n(8)))
	}
	src := at4(i, 9)
	if dst.Is6() {
		src = at6(i, 9)
	}
	return []saisim.PortID{0, 1, 2, 4}[i], packet(i, src, dst, byte(1+n(4)*20), 100+n(3)*750)
}

// Counters of random reasons, made, changed, cleared and removed while packets arrive, hold the drops for these
// reasons, by port and in total.
func TestRandomDebugCounters(t *testing.T) {
	saw, cases := map[string]int{}, randtest.Cases{Seed: 7, Count: 12}
	ran := randtest.Run(t, cases, func(t *testing.T, seed uint64) {
		m := &debugModel{router: newRouter(t), rnd: rand.New(rand.NewPCG(seed, 0)), saw: saw}
		m.OnDrop(m.dropped)
		for i := range 3 {
			m.neighbor(i, at4(i, 5), 5)
			m.neighbor(i, at6(i, 5), 5)
			m.neighbor(i, at4(i, 6), 6, sai.NeighborEntryAttrPacketAction, sai.PacketActionDrop)
		}
		m.route("10.0.4.0/24", sai.NullOID, sai.RouteEntryAttrPacketAction, sai.PacketActionDrop)
		m.set(sai.ObjectTypeRouterInterface, m.rifs[2], sai.RouterInterfaceAttrAdminV6State, sai.Bool(false))
		m.set(sai.ObjectTypeRouterInterface, m.rifs[0], sai.RouterInterfaceAttrLoopbackPacketAction, sai.PacketActionDrop)
		for _, trap := range []sai.Enum{sai.HostifTrapTypeTTLError, sai.HostifTrapTypeNeighborMiss} {
			m.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, trap, sai.HostifTrapAttrPacketAction,
				sai.PacketActionDrop)
		}
		m.set(sai.ObjectTypePort, m.oid(7), sai.PortAttrDropTagged, sai.Bool(true))
		m.set(sai.ObjectTypePort, m.oid(1), sai.PortAttrMTU, sai.Uint(700))
		m.SetLink(6, m.rnd.IntN(2) == 0)
		for range 150 {
			if m.rnd.IntN(4) == 0 {
				m.change()
			}
			at, f := m.frame()
			m.send(at, f)
			if m.rnd.IntN(10) == 0 {
				m.compare()
			}
		}
		m.compare()
	})
	t.Log(saw)
	if !ran.Whole(cases) {
		return
	}
	for _, why := range []drop.Reason{
		drop.Oversize, drop.TagFilter, drop.NoVLAN, drop.SourceAddress, drop.SamePort, drop.NotRouter, drop.RouterDown,
		drop.NoRoute, drop.Blackhole, drop.Neighbor, drop.TTL, drop.NoNeighbor, drop.RouterOutDown, drop.SameInterface,
		drop.L3MTU,
		drop.EgressMTU,
	} {
		if saw[why.String()] == 0 {
			t.Errorf("nothing was dropped for %s", why)
		}
	}
}

// Every drop reason of the chip is in the table above, or has no equivalent in SAI.
func TestDebugWords(t *testing.T) {
	none := "port-down runt trap no-lag-member program policer buffer queue-limit wred egress-program port-removed " +
		"priority-group trim-queue"
	for r := range drop.NumReasons {
		_, has := debugWords[r.String()]
		if no := slices.Contains(strings.Fields(none), r.String()); no == has {
			t.Error(r)
		}
	}
	for list, all := range map[int][]drop.Countable{0: drop.CountableIn(), 1: drop.CountableOut()} {
		for _, c := range all {
			want := fmt.Sprint(c.Of)
			var of []drop.Reason
			for r := range drop.NumReasons {
				if slices.Contains(strings.Fields(debugWords[r.String()][list]), c.SAI) {
					of = append(of, r)
				}
			}
			slices.Sort(c.Of)
			if got := fmt.Sprint(c.Of); got != fmt.Sprint(of) {
				t.Errorf("%s is %s, want %s (%s)", c.SAI, got, of, want)
			}
		}
	}
}
