package saisim_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
)

// twists holds events that may affect packets on a shortcut. Each either prevents a shortcut, or happens while packets
// are on it.
var twists = map[string]func(r *rig){
	"nothing":              func(*rig) {},
	"a trap of IP packets": func(r *rig) { r.create(sai.ObjectTypeHostifTrap, trapAttrs...) },
	"a trap of neighbour discovery": func(r *rig) {
		r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeIPv6NeighborDiscovery,
			sai.HostifTrapAttrPacketAction, sai.PacketActionCopy)
	},
	"an ingress ACL that counts": func(r *rig) { r.ingressACL(1) },
	"an ingress ACL that drops":  func(r *rig) { r.ingressACL(1, action(sai.PacketActionDrop)...) },
	"an ingress ACL that copies": func(r *rig) { r.ingressACL(1, action(sai.PacketActionCopy)...) },
	"an ingress ACL that stamps": func(r *rig) { r.ingressACL(1, r.stampAction(7)...) },
	"an ingress ACL that redirects": func(r *rig) {
		r.ingressACL(1, sai.ACLEntryAttrActionRedirect, sai.Do(r.oid(r.Ports()[5])))
	},
	"an ingress ACL of classes": func(r *rig) { r.ingressACL(1, sai.ACLEntryAttrActionSetTC, sai.Do(sai.Uint(3))) },
	"an ingress ACL of DSCP":    func(r *rig) { r.ingressACL(1, sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(9))) },
	"two ingress ACLs":          func(r *rig) { r.ingressACL(2, r.stampAction(8)...) },
	"an ingress ACL of the VLAN": func(r *rig) {
		r.set(sai.ObjectTypeVLAN, r.vlan1(), sai.VLANAttrIngressACL,
			r.fromHost1(sai.ACLStageIngress, action(sai.PacketActionDrop)...))
	},
	"an egress ACL of the VLAN": func(r *rig) {
		r.set(sai.ObjectTypeVLAN, r.vlan1(), sai.VLANAttrEgressACL, r.fromHost1(sai.ACLStageEgress,
			action(sai.PacketActionDrop)...))
	},
	"an egress ACL that drops": func(r *rig) {
		r.set(sai.ObjectTypePort, r.second(), sai.PortAttrEgressACL,
			r.fromHost1(sai.ACLStageEgress, action(sai.PacketActionDrop)...))
	},
	"an egress ACL that stamps": func(r *rig) {
		r.set(sai.ObjectTypePort, r.second(), sai.PortAttrEgressACL, r.fromHost1(sai.ACLStageEgress, r.stampAction(9)...))
	},
	"an egress mirror": func(r *rig) {
		r.set(sai.ObjectTypePort, r.second(), sai.PortAttrEgressMirrorSession, sai.OIDs{r.local(r.Ports()[5])})
	},
	"an ingress mirror": func(r *rig) {
		r.set(sai.ObjectTypePort, r.oid(r.Ports()[0]), sai.PortAttrIngressMirrorSession, sai.OIDs{r.local(r.Ports()[5])})
	},
	"no link to leave by": func(r *rig) { r.SetLink(r.Ports()[1], false) },
	"no link to come by":  func(r *rig) { r.SetLink(r.Ports()[0], false) },
	"a port that is down": func(r *rig) { r.set(sai.ObjectTypePort, r.second(), sai.PortAttrAdminState, sai.Bool(false)) },
	"an MTU of 60 bytes":  func(r *rig) { r.set(sai.ObjectTypePort, r.second(), sai.PortAttrMTU, sai.Uint(64)) },
	"an MTU to come by":   func(r *rig) { r.set(sai.ObjectTypePort, r.oid(r.Ports()[0]), sai.PortAttrMTU, sai.Uint(64)) },
	"a slow port":         func(r *rig) { r.set(sai.ObjectTypePort, r.second(), sai.PortAttrSpeed, sai.Uint(1000)) },
	"a bridge port that is down": func(r *rig) {
		r.set(sai.ObjectTypeBridgePort, r.bp(r.Ports()[1]), sai.BridgePortAttrAdminState, sai.Bool(false))
	},
	"a source that is down": func(r *rig) {
		r.set(sai.ObjectTypeBridgePort, r.bp(r.Ports()[0]), sai.BridgePortAttrAdminState, sai.Bool(false))
	},
	"a port that learns nothing":  func(r *rig) { r.learning(sai.BridgePortFDBLearningModeDisable) },
	"a port that knows its hosts": func(r *rig) { r.learning(sai.BridgePortFDBLearningModeDrop) },
	"a VLAN that learns nothing": func(r *rig) {
		r.set(sai.ObjectTypeVLAN, r.vlan1(), sai.VLANAttrLearnDisable,
			sai.Bool(true))
	},
	"a port without the VLAN": func(r *rig) { r.removeMember(r.Ports()[1]) },
	"a tag with a priority": func(r *rig) {
		r.set(sai.ObjectTypePort, r.oid(r.Ports()[0]), sai.PortAttrDefaultVLANPriority, sai.Uint(5))
		r.removeMember(r.Ports()[1])
		r.member(r.vlan1(), r.bp(r.Ports()[1]), sai.VLANTaggingModeTagged)
	},
	"a LAG in the place of a port": func(r *rig) {
		second := r.second()
		r.leave(r.Ports()[1])
		lag := r.create(sai.ObjectTypeLAG)
		r.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID, second)
		r.leave(r.Ports()[4])
		r.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID, r.oid(r.Ports()[4]))
		r.member(r.vlan1(), r.bridgePort(lag), sai.VLANTaggingModeUntagged)
	},
	"an address that drops": func(r *rig) {
		k := sai.EntryKey(sai.FDBEntry{Switch: r.sw, MAC: sai.MAC{2, 0, 0, 0, 0, 2}, BV: r.vlan1()})
		r.setEntry(k, sai.FDBEntryAttrPacketAction, sai.PacketActionDrop)
	},
	"the switch's own address": func(r *rig) {
		r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrSrcMACAddress, sai.MAC{2, 0, 0, 0, 0, 2})
	},
	"classes by DSCP": func(r *rig) {
		m := r.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, sai.QoSMapTypeDSCPToTC, sai.QoSMapAttrMapToValueList,
			dscpMap(0, 5, 10, 2))
		r.set(sai.ObjectTypePort, r.oid(r.Ports()[0]), sai.PortAttrQoSDSCPToTCMap, m)
	},
	"an observer":        func(r *rig) { r.SetObserver(func(saisim.Moment) { r.moments++ }) },
	"a queue that marks": func(r *rig) { r.marking() },
	"a queue that marks and a tag": func(r *rig) {
		r.marking()
		r.removeMember(r.Ports()[1])
		r.member(r.vlan1(), r.bp(r.Ports()[1]), sai.VLANTaggingModeTagged)
	},
	"a program and a trap of IP packets": func(r *rig) {
		r.load(&pipe.Program{Name: "none"})
		r.create(sai.ObjectTypeHostifTrap, trapAttrs...)
	},
	"a program and an ingress ACL": func(r *rig) {
		r.load(&pipe.Program{Name: "none"})
		r.ingressACL(1, action(sai.PacketActionDrop)...)
	},
	"a program of nothing": func(r *rig) { r.load(&pipe.Program{Name: "none"}) },
	"a program that drops": func(r *rig) { r.loadOps(0, op("set", "ctl.drop", constant(1))) },
	"a program that writes": func(r *rig) {
		r.loadOps(0, op("set", "ip.ttl", constant(9)))
	},
}

var trapAttrs = []any{sai.HostifTrapAttrTrapType, sai.HostifTrapTypeDhcp, sai.HostifTrapAttrPacketAction,
	sai.PacketActionTrap,
	sai.HostifTrapAttrTrapPriority, sai.Uint(1)}

func (r *rig) vlan1() sai.OID {
	return r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
}

func (r *rig) second() sai.OID { return r.oid(r.Ports()[1]) }

// fromHost1 makes a table whose entry matches packets from host 1 and has the actions of pairs.
func (r *rig) fromHost1(stage sai.Enum, pairs ...any) sai.OID {
	table := r.acl(stage, sai.ACLTableAttrFieldSrcIP, sai.Bool(true))
	r.entry(table, 5, append([]any{sai.ACLEntryAttrFieldSrcIP, sai.Match(v4(10, 0, 0, 1), v4(255, 255, 255, 255))},
		pairs...)...)
	return table
}

// ingressACL binds n tables of fromHost1 to the first port.
func (r *rig) ingressACL(n int, pairs ...any) {
	var tables []sai.OID
	for range n {
		tables = append(tables, r.fromHost1(sai.ACLStageIngress, pairs...))
	}
	g := r.group(sai.ACLStageIngress, sai.ACLTableGroupTypeParallel, tables...)
	r.set(sai.ObjectTypePort, r.oid(r.Ports()[0]), sai.PortAttrIngressACL, g)
}

// marking makes the second port so slow that frames wait and are marked.
func (r *rig) marking() {
	wred := r.create(sai.ObjectTypeWRED, sai.WREDAttrGreenEnable, sai.Bool(true), sai.WREDAttrGreenMinThreshold,
		sai.Uint(10),
		sai.WREDAttrGreenMaxThreshold, sai.Uint(20), sai.WREDAttrECNMarkMode, sai.ECNMarkModeAll)
	r.set(sai.ObjectTypeQueue, r.queue(r.Ports()[1], 0), sai.QueueAttrWREDProfileID, wred)
	r.set(sai.ObjectTypePort, r.second(), sai.PortAttrSpeed, sai.Uint(10000))
}

func (r *rig) learning(mode sai.Enum) {
	r.set(sai.ObjectTypeBridgePort, r.bp(r.Ports()[0]), sai.BridgePortAttrFDBLearningMode, mode)
}

func (r *rig) removeMember(id saisim.PortID) {
	bp := r.bp(id)
	for _, m := range r.get(sai.ObjectTypeVLAN, r.vlan1(), sai.VLANAttrMemberList).(sai.OIDs) {
		if r.get(sai.ObjectTypeVLANMember, m, sai.VLANMemberAttrBridgePortID) == bp {
			r.remove(sai.ObjectTypeVLANMember, m)
		}
	}
}

func (r *rig) setEntry(k sai.Key, id sai.AttrID, v sai.Value) {
	r.Helper()
	if err := r.Set(r.Context(), k, sai.Attr{ID: id, Value: v}); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) loadOps(stage uint8, ops ...pipe.Op) {
	r.load(&pipe.Program{Name: "ops", Ingress: pipe.Pipe{Tables: []pipe.Table{does("t", stage, ops...)}}})
}

// A chip that takes shortcuts has the same results as one that works event by event, whatever happens to packets, and
// wherever they are then: not yet received, in the ingress pipe, behind it, at the MAC.
func TestShortcuts(t *testing.T) {
	for name, twist := range twists {
		for _, after := range []saisim.Cycle{0, 40, 150, 230, 300, 360, 400, 1000} {
			t.Run(fmt.Sprintf("%s after %d", name, after), func(t *testing.T) {
				slow, fast := newTwisted(t, 0), newTwisted(t, 64)
				for _, r := range []*rig{slow, fast} {
					r.burst()
					r.Advance(r.Now() + after)
					twist(r)
					r.burst()
				}
				same(t, slow, fast)
				for _, r := range []*rig{slow, fast} { // addresses age, and bindings stay
					r.Advance(r.Now() + 3*saisim.Cycle(profile.Small().ClockHz))
					r.burst()
				}
				same(t, slow, fast)
			})
		}
	}
}

// newTwisted returns a chip that has learned hosts 1 to 4, at its first ports.
func newTwisted(t *testing.T, vector int) *rig {
	r := newRig(t, profile.Default())
	r.SetVector(vector)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrFDBAgingTime, sai.Uint(2))
	for i := range byte(4) {
		r.send(r.Ports()[i], udpFrame(i+1, 99, 60))
	}
	r.outs = nil
	return r
}

// burst makes frames arrive, mostly usual ones from host 1 to host 2.
func (r *rig) burst() {
	r.Helper()
	dhcp := eth(host(2), host(1), ip4(1, 2, 17, 0, udp(68, 67, 20)))
	copy(dhcp[30:34], []byte{255, 255, 255, 255})
	ce := withTOS(2, 60)
	frames := [][]byte{
		udpFrame(1, 2, 60), ce, ce, ce, ce, udpFrame(1, 2, 61), udpFrame(3, 4, 60), dhcp, udpFrame(4, 3, 1000),
		withTOS(40, 60), udpFrame(1, 7, 60),
		udpFrame(1, 1, 60), eth(host(2), host(1), tag(0x8100, 1), udpFrame(1, 2, 60)[12:]),
		eth(host(2), host(1), ip4(1, 2, 6, 0, tcp(1, 2, 3, 4))),
		udpFrame(1, 2, 60)[:30], udpFrame(2, 1, 60), udpFrame(1, 2, 60),
	}
	now := r.Now()
	for i, f := range frames {
		id := r.Ports()[f[11]-1]
		if err := r.Receive(id, now+saisim.Cycle(20*i), saisim.Frame{Data: f, ID: uint64(i)}); err != nil {
			r.Fatal(err)
		}
	}
}

// same compares the output and the counters of two chips, once they are empty.
func same(t *testing.T, slow, fast *rig) {
	t.Helper()
	if a, b := slow.drain(), fast.drain(); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("put out: -event by event +short ways\n%s", cmp.Diff(fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b)))
	}
	if slow.moments != fast.moments {
		t.Errorf("%d moments event by event, %d by short ways", slow.moments, fast.moments)
	}
	if d := cmp.Diff(slow.State(), fast.State()); d != "" {
		t.Errorf("state: -event by event +short ways\n%s", d)
	}
	for _, id := range slow.Ports() {
		a, _ := slow.PortCounters(id)
		b, _ := fast.PortCounters(id)
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("port %d: -event by event +short ways\n%s", id, d)
		}
	}
}
