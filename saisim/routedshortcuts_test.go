package saisim_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
	"tamtam/tam/flymon"
)

// routedTwists holds events that may affect routed packets on a shortcut.
var routedTwists = map[string]func(r *router){
	"nothing":                               func(*router) {},
	"no neighbour":                          func(r *router) { r.removeKey(r.neighborKey(1, at4(1, 20))) },
	"a neighbour of drops":                  func(r *router) { r.actOn(1, 20, sai.PacketActionDrop) },
	"a neighbour of copies":                 func(r *router) { r.actOn(1, 20, sai.PacketActionCopy) },
	"a neighbour that moves":                func(r *router) { r.moves(1, 20, sai.MAC{2, 0, 0, 0, 9, 9}) },
	"a neighbour of the VLAN that moves":    func(r *router) { r.moves(2, 22, sai.MAC{2, 0, 0, 0, 0, 23}) },
	"a neighbour with the switch's address": func(r *router) { r.moves(1, 20, sai.MAC{2, 0, 0, 0, 0, 0xaa}) },
	"a neighbour at another interface":      func(r *router) { r.neighbor(0, at4(1, 20), 66) },
	"a route to the CPU":                    func(r *router) { r.route(at4(1, 20).String()+"/32", r.cpu()) },
	"a route of drops": func(r *router) {
		r.setRoute("20.1.0.0/16", sai.RouteEntryAttrPacketAction, sai.PacketActionDrop)
	},
	"a route of copies": func(r *router) {
		r.setRoute("20.1.0.0/16", sai.RouteEntryAttrPacketAction, sai.PacketActionCopy)
	},
	"a longer route": func(r *router) { r.route("20.1.1.0/24", r.hop(2, at4(2, 22))) },
	"no route":       func(r *router) { r.removeKey(r.routeKey("20.1.0.0/16")) },
	"an empty group": func(r *router) { r.setRoute("20.1.0.0/16", sai.RouteEntryAttrNextHopID, r.ecmp()) },
	"a group":        func(r *router) { r.setRoute("20.1.0.0/16", sai.RouteEntryAttrNextHopID, r.ecmp(1, 1, 1)) },
	"a group with weights": func(r *router) {
		r.setRoute("20.1.0.0/16", sai.RouteEntryAttrNextHopID, r.ecmp(1, 5, 2))
	},
	"another hash": func(r *router) {
		r.setRoute("20.1.0.0/16", sai.RouteEntryAttrNextHopID, r.ecmp(1, 1, 1))
		r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrEcmpDefaultHashSeed, sai.Uint(77))
	},
	"the router is down": func(r *router) {
		r.set(sai.ObjectTypeVirtualRouter, r.vr, sai.VirtualRouterAttrAdminV4State, sai.Bool(false))
	},
	"the interface in is down":  func(r *router) { r.rif(0, sai.RouterInterfaceAttrAdminV4State, sai.Bool(false)) },
	"the interface out is down": func(r *router) { r.rif(1, sai.RouterInterfaceAttrAdminV4State, sai.Bool(false)) },
	"a small MTU":               func(r *router) { r.rif(1, sai.RouterInterfaceAttrMTU, sai.Uint(68)) },
	"another address of an interface": func(r *router) {
		r.rif(1, sai.RouterInterfaceAttrSrcMACAddress, sai.MAC{2, 0, 0, 0, 7, 7})
	},
	"another address of the interface in": func(r *router) {
		r.rif(0, sai.RouterInterfaceAttrSrcMACAddress, sai.MAC{2, 0, 0, 0, 7, 7})
	},
	"no way back": func(r *router) {
		r.rif(0, sai.RouterInterfaceAttrLoopbackPacketAction, sai.PacketActionDrop)
		r.rif(2, sai.RouterInterfaceAttrLoopbackPacketAction, sai.PacketActionDrop)
	},
	"the interface out is removed": func(r *router) { r.removeInterface(1) },
	"the interface out is removed and made again": func(r *router) {
		r.removeInterface(1)
		r.rifs[1] = r.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort,
			sai.RouterInterfaceAttrPortID, r.oid(1), sai.RouterInterfaceAttrVirtualRouterID, r.vr)
	},
	"the port out is bridged": func(r *router) {
		r.removeInterface(1)
		r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrPortVLANID, sai.Uint(100))
		r.member(r.vlan, r.bridgePort(r.oid(1)), sai.VLANTaggingModeTagged)
	},
	"the port out is removed": func(r *router) {
		r.removeInterface(1)
		r.removePort(1)
	},
	"the interface in is removed": func(r *router) { r.removeInterface(0) },
	"the port in is removed": func(r *router) {
		r.removeInterface(0)
		r.removePort(0)
	},
	"the interface of the VLAN is removed": func(r *router) { r.removeInterface(2) },
	"the interface of the LAG is removed":  func(r *router) { r.removeInterface(3) },
	"a port out that is down": func(r *router) {
		r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrAdminState, sai.Bool(false))
	},
	"no link to leave by":     func(r *router) { r.SetLink(1, false) },
	"a member without a link": func(r *router) { r.SetLink(4, false) },
	"a LAG without a link":    func(r *router) { r.SetLink(4, false); r.SetLink(5, false) },
	"a slow port":             func(r *router) { r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrSpeed, sai.Uint(1000)) },
	"a slow port that sends in turn": func(r *router) {
		r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrSpeed, sai.Uint(1000))
		r.classes(0)
	},
	"a port with a small MTU": func(r *router) { r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrMTU, sai.Uint(80)) },
	"a tagged port with a small MTU": func(r *router) {
		r.set(sai.ObjectTypePort, r.oid(3), sai.PortAttrMTU, sai.Uint(64))
	},
	"a small stamp MTU": func(r *router) {
		r.SetWire(1, true, 90)
		r.bound(0, sai.PortAttrIngressACL, sai.ACLStageIngress, r.stampAction(7)...)
	},
	"classes by DSCP":                         func(r *router) { r.classes(0) },
	"a queue that marks":                      func(r *router) { r.marks(1) },
	"a queue of a tagged port that marks":     func(r *router) { r.marks(3) },
	"a member that is tagged with a priority": func(r *router) { r.tagging(2, sai.VLANTaggingModePriorityTagged) },
	"a member that is tagged":                 func(r *router) { r.tagging(2, sai.VLANTaggingModeTagged) },
	"a member that leaves":                    func(r *router) { r.tagging(2, -1) },
	"priority of the port": func(r *router) {
		r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrDefaultVLANPriority, sai.Uint(5))
		r.set(sai.ObjectTypePort, r.oid(2), sai.PortAttrDefaultVLANPriority, sai.Uint(3))
	},
	"ports that drop untagged frames": func(r *router) {
		r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrDropUntagged, sai.Bool(true))
		r.set(sai.ObjectTypePort, r.oid(2), sai.PortAttrDropUntagged, sai.Bool(true))
		r.set(sai.ObjectTypeLAG, r.lag, sai.LAGAttrDropUntagged, sai.Bool(true))
	},
	"a VLAN that learns nothing": func(r *router) {
		r.set(sai.ObjectTypeVLAN, r.vlan, sai.VLANAttrLearnDisable, sai.Bool(true))
	},
	"a port that knows its hosts": func(r *router) {
		r.set(sai.ObjectTypeBridgePort, r.bp(2), sai.BridgePortAttrFDBLearningMode, sai.BridgePortFDBLearningModeDrop)
	},
	"a bridge port that is down": func(r *router) {
		r.set(sai.ObjectTypeBridgePort, r.bp(3), sai.BridgePortAttrAdminState, sai.Bool(false))
	},
	"an address of drops":        func(r *router) { r.address(22, 2, sai.FDBEntryAttrPacketAction, sai.PacketActionDrop) },
	"an address of copies":       func(r *router) { r.address(22, 2, sai.FDBEntryAttrPacketAction, sai.PacketActionCopy) },
	"a static address elsewhere": func(r *router) { r.address(32, 3) },
	"no addresses": func(r *router) {
		noError(r, r.FlushFDB(context.Background(), attrs(sai.FDBFlushAttrBvID, r.vlan)))
	},
	"the switch's address is an interface's": func(r *router) {
		r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrSrcMACAddress, rifMAC(1))
	},
	"a member that does not receive": func(r *router) { r.member4(sai.LAGMemberAttrIngressDisable) },
	"a member that does not send":    func(r *router) { r.member4(sai.LAGMemberAttrEgressDisable) },
	"a trap of DHCP":                 func(r *router) { r.create(sai.ObjectTypeHostifTrap, trapAttrs...) },
	"a trap of TTL": func(r *router) {
		r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeTTLError,
			sai.HostifTrapAttrPacketAction, sai.PacketActionDrop)
	},
	"an observer":           func(r *router) { r.SetObserver(func(saisim.Moment) { r.moments++ }) },
	"a watch":               func(r *router) { r.WatchAll(true) },
	"event by event":        func(r *router) { r.SetVector(0) },
	"a program":             func(r *router) { r.rig.load(&pipe.Program{Name: "none"}) },
	"a program that writes": func(r *router) { r.loadOps(0, op("set", "ip.ttl", constant(9))) },
	"an egress mirror": func(r *router) {
		for _, i := range []saisim.PortID{1, 2, 3, 4} {
			r.set(sai.ObjectTypePort, r.oid(i), sai.PortAttrEgressMirrorSession, sai.OIDs{r.rig.local(7)})
		}
	},
	"an ingress mirror": func(r *router) {
		r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrIngressMirrorSession, sai.OIDs{r.rig.local(7)})
	},
	"samplers": func(r *router) {
		s := r.create(sai.ObjectTypeSamplepacket, sai.SamplepacketAttrSampleRate, sai.Uint(2),
			sai.SamplepacketAttrType, sai.SamplepacketTypeSlowPath)
		for i := range saisim.PortID(6) {
			r.set(sai.ObjectTypePort, r.oid(i), sai.PortAttrEgressSamplepacketEnable, s)
			r.set(sai.ObjectTypePort, r.oid(i), sai.PortAttrIngressSamplepacketEnable, s)
		}
	},
	"egress samplers": func(r *router) {
		s := r.create(sai.ObjectTypeSamplepacket, sai.SamplepacketAttrSampleRate, sai.Uint(3),
			sai.SamplepacketAttrType, sai.SamplepacketTypeSlowPath)
		for i := range saisim.PortID(6) {
			r.set(sai.ObjectTypePort, r.oid(i), sai.PortAttrEgressSamplepacketEnable, s)
		}
	},
	"clamps": func(r *router) { r.clamp("c", 1, "") },
	"an egress ACL that drops": func(r *router) {
		r.bound(1, sai.PortAttrEgressACL, sai.ACLStageEgress, action(sai.PacketActionDrop)...)
	},
	"an egress ACL that stamps": func(r *router) {
		r.bound(1, sai.PortAttrEgressACL, sai.ACLStageEgress, r.stampAction(9)...)
	},
	"an egress ACL of the VLAN": func(r *router) {
		r.set(sai.ObjectTypeVLAN, r.vlan, sai.VLANAttrEgressACL, r.all(sai.ACLStageEgress,
			action(sai.PacketActionDrop)...))
	},
	"an ingress ACL of the VLAN": func(r *router) {
		r.set(sai.ObjectTypeVLAN, r.vlan, sai.VLANAttrIngressACL, r.all(sai.ACLStageIngress,
			action(sai.PacketActionDrop)...))
	},
	"a drop monitor": func(r *router) {
		m := r.monitored(r.oid(7))
		r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{m.tam})
	},
	"the beginning of IFA": func(r *router) {
		r.ifaAll(r.create(sai.ObjectTypeTAMInt, ifaObject(1)...), sai.ACLEntryAttrActionIntInsert)
	},
	"transit of IFA": func(r *router) { r.transit(r.create(sai.ObjectTypeTAMInt, ifaObject(1)...)) },
	"marks of DSCP": func(r *router) {
		r.marksFlow(altmark.Session{Role: altmark.Initiator, Method: altmark.Double, Interval: -10, Mark: altmark.DSCP0,
			Mark2: altmark.DSCP1, SlotSync: true})
	},
	"marks of the reserved flag": func(r *router) {
		r.marksFlow(altmark.Session{Role: altmark.Initiator, Method: altmark.Muxed, Interval: -10,
			Mark: altmark.IPv4Reserved, SlotSync: true})
	},
	"marks that drop": func(r *router) {
		r.marksFlow(altmark.Session{Role: altmark.Initiator, Method: altmark.Step, Interval: -10,
			Mark: altmark.DSCP1, Foreign: altmark.DropForeign, SlotSync: true})
	},
	"headers around packets": func(r *router) {
		r.neighbor(1, netip.MustParseAddr("2001:db8::2"), 20)
		r.route(headerTo+"/128", r.hop(1, netip.MustParseAddr("2001:db8::2")))
		m := &marker{rig: r.rig, table: r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true))}
		r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, m.table)
		r.extension(altmark.ObjectProfile, settingsJSON(`{"lane":0,"role":"initiator","method":"double","interval":-10,`+
			`"mark":"ipv6-altmark-l","mark2":"ipv6-altmark-d","slot-sync":true,"guard-ns":1000,"early-ns":1000,"encap":true}`))
		r.extension(altmark.ObjectFlow, encapJSON("encap", true))
		m.flow(0, 3)
	},
	"a sketch": func(r *router) {
		r.extension(flymon.ObjectTask, entryOf(r, "task", counting(r, "t", "5-tuple", 0, 0, 0, 32)))
	},
	"a recording": func(r *router) {
		r.planned(r.everything())
		r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrPreIngressACL, r.all(sai.ACLStagePreIngress,
			sai.ACLEntryAttrActionMirrorIngress, sai.Do(sai.OIDs{erspanTo1(r.rig)})))
	},
	"an observer that leaves": func(r *router) {
		r.SetObserver(func(saisim.Moment) { r.moments++ })
		r.Advance(r.Now() + 200)
		r.SetObserver(nil)
	},
	"a watch that ends": func(r *router) {
		r.WatchAll(true)
		r.Advance(r.Now() + 200)
		r.WatchAll(false)
	},
	"a program that leaves": func(r *router) {
		r.loadOps(0, op("set", "ip.ttl", constant(9)))
		r.Advance(r.Now() + 200)
		noError(r, r.Control(r.Now(), saisim.Batch{Batch: pipe.Batch{Unload: true}}))
	},
	"a pre-ingress ACL": func(r *router) {
		r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrPreIngressACL, r.all(sai.ACLStagePreIngress))
	},
}

// ingressActions holds the actions of an ingress ACL of all ports.
var ingressActions = map[string]func(r *router) []any{
	"counts":  func(*router) []any { return nil },
	"drops":   func(*router) []any { return action(sai.PacketActionDrop) },
	"copies":  func(*router) []any { return action(sai.PacketActionCopy) },
	"stamps":  func(r *router) []any { return r.stampAction(7) },
	"classes": func(*router) []any { return []any{sai.ACLEntryAttrActionSetTC, sai.Do(sai.Uint(3))} },
	"DSCP":    func(*router) []any { return []any{sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(9))} },
	"DSCP and stamps": func(r *router) []any {
		return append(r.stampAction(6), sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(9)))
	},
	"redirects to a port": func(r *router) []any {
		return []any{sai.ACLEntryAttrActionRedirect, sai.Do(r.oid(7))}
	},
	"redirects to a routed port": func(r *router) []any {
		return []any{sai.ACLEntryAttrActionRedirect, sai.Do(r.oid(1))}
	},
	"redirects to a next hop": func(r *router) []any {
		return []any{sai.ACLEntryAttrActionRedirect, sai.Do(r.hop(2, at4(2, 22)))}
	},
	"mirrors": func(r *router) []any {
		return []any{sai.ACLEntryAttrActionMirrorIngress, sai.Do(sai.OIDs{r.rig.local(7)})}
	},
	"does not learn": func(*router) []any {
		return []any{sai.ACLEntryAttrActionSetDoNotLearn, sai.Do(sai.Uint(0))}
	},
}

func (r *router) cpu() sai.OID {
	return r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrCPUPort).(sai.OID)
}

func (r *router) actOn(i int, n byte, does sai.Enum) {
	r.setEntry(r.neighborKey(i, at4(i, n)), sai.NeighborEntryAttrPacketAction, does)
}

func (r *router) moves(i int, n byte, to sai.MAC) {
	r.setEntry(r.neighborKey(i, at4(i, n)), sai.NeighborEntryAttrDstMACAddress, to)
}

func (r *router) setRoute(prefix string, id sai.AttrID, v sai.Value) {
	r.setEntry(r.routeKey(prefix), id, v)
}

func (r *router) rif(i int, id sai.AttrID, v sai.Value) {
	r.set(sai.ObjectTypeRouterInterface, r.rifs[i], id, v)
}

// ecmp makes a group of the neighbours at the interfaces 1, 2 and 3, with the given weights.
func (r *router) ecmp(weights ...int) sai.OID {
	g := r.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeEcmp)
	for i, w := range weights {
		hop := r.hop(i+1, at4(i+1, byte(20+i)))
		r.members[hop] = append(r.members[hop], r.create(sai.ObjectTypeNextHopGroupMember,
			sai.NextHopGroupMemberAttrNextHopGroupID, g, sai.NextHopGroupMemberAttrNextHopID, hop,
			sai.NextHopGroupMemberAttrWeight, sai.Uint(w)))
	}
	return g
}

// removeInterface removes a router interface, with all that refers to it.
func (r *router) removeInterface(i int) {
	t, rif := r.Tables(), config.ID(r.rifs[i])
	for _, x := range t.Routes {
		hop := func(h config.NextHop) bool { return h.ID == x.NextHop && h.Interface == rif }
		if x.NextHop == rif || slices.ContainsFunc(t.NextHops, hop) {
			r.removeKey(r.routeKey(x.Prefix.String()))
		}
	}
	for _, x := range t.NextHops {
		if x.Interface == rif {
			for _, m := range r.members[sai.OID(x.ID)] {
				r.remove(sai.ObjectTypeNextHopGroupMember, m)
			}
			r.remove(sai.ObjectTypeNextHop, sai.OID(x.ID))
		}
	}
	for _, x := range t.Neighbors {
		if x.Interface == rif {
			r.removeKey(r.neighborKey(i, x.IP))
		}
	}
	r.remove(sai.ObjectTypeRouterInterface, r.rifs[i])
}

// removePort removes a port with its host interface.
func (r *router) removePort(id saisim.PortID) {
	port := r.oid(id)
	r.remove(sai.ObjectTypeHostif, r.hostifs[id])
	r.remove(sai.ObjectTypePort, port)
}

// all makes a table whose entry matches all packets.
func (r *router) all(stage sai.Enum, pairs ...any) sai.OID {
	table := r.acl(stage, sai.ACLTableAttrFieldSrcIP, sai.Bool(true))
	r.entry(table, 5, pairs...)
	return table
}

func (r *router) bound(id saisim.PortID, at sai.AttrID, stage sai.Enum, pairs ...any) {
	r.set(sai.ObjectTypePort, r.oid(id), at, r.all(stage, pairs...))
}

func (r *router) classes(id saisim.PortID) {
	m := r.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, sai.QoSMapTypeDSCPToTC, sai.QoSMapAttrMapToValueList,
		dscpMap(0, 1, 10, 2))
	r.set(sai.ObjectTypePort, r.oid(id), sai.PortAttrQoSDSCPToTCMap, m)
}

func (r *router) marks(id saisim.PortID) {
	wred := r.create(sai.ObjectTypeWRED, sai.WREDAttrGreenEnable, sai.Bool(true), sai.WREDAttrGreenMinThreshold,
		sai.Uint(10), sai.WREDAttrGreenMaxThreshold, sai.Uint(20), sai.WREDAttrECNMarkMode, sai.ECNMarkModeAll)
	r.set(sai.ObjectTypeQueue, r.queue(id, 0), sai.QueueAttrWREDProfileID, wred)
	r.set(sai.ObjectTypePort, r.oid(id), sai.PortAttrSpeed, sai.Uint(10000))
}

// tagging changes the tagging mode of a member of the VLAN, or removes the member if mode is negative.
func (r *router) tagging(id saisim.PortID, mode sai.Enum) {
	bp := r.bp(id)
	for _, m := range r.get(sai.ObjectTypeVLAN, r.vlan, sai.VLANAttrMemberList).(sai.OIDs) {
		if r.get(sai.ObjectTypeVLANMember, m, sai.VLANMemberAttrBridgePortID) != bp {
			continue
		}
		if mode < 0 {
			r.remove(sai.ObjectTypeVLANMember, m)
		} else {
			r.set(sai.ObjectTypeVLANMember, m, sai.VLANMemberAttrVLANTaggingMode, mode)
		}
	}
}

// address makes host n a static address of the VLAN at a port.
func (r *router) address(n byte, id saisim.PortID, pairs ...any) {
	k := sai.FDBEntry{Switch: r.sw, MAC: sai.MAC(host(n)), BV: r.vlan}
	noError(r, r.CreateEntry(context.Background(), k, attrs(append(pairs, sai.FDBEntryAttrType, sai.FDBEntryTypeStatic,
		sai.FDBEntryAttrBridgePortID, r.bp(id))...)))
}

func (r *router) member4(id sai.AttrID) {
	for _, m := range r.get(sai.ObjectTypeLAG, r.lag, sai.LAGAttrPortList).(sai.OIDs) {
		if r.get(sai.ObjectTypeLAGMember, m, sai.LAGMemberAttrPortID) == r.oid(4) {
			r.set(sai.ObjectTypeLAGMember, m, id, sai.Bool(true))
		}
	}
}

// marksFlow makes a flow of all packets, whose packets are marked.
func (r *router) marksFlow(s altmark.Session) {
	m := &marker{rig: r.rig, table: r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true))}
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, m.table)
	r.rig.profile(0, s, 1000)
	m.flow(0, 3)
}

// twistsOfRoutes returns all twists, also those of ingress ACLs.
func twistsOfRoutes() map[string]func(r *router) {
	all := maps.Clone(routedTwists)
	for name, does := range ingressActions {
		all["an ingress ACL: "+name] = func(r *router) {
			r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, r.all(sai.ACLStageIngress, does(r)...))
		}
	}
	return all
}

// Routed packets have the same history on the shortcuts as event by event, whatever happens to them, and wherever they
// are then.
func TestRoutedShortcuts(t *testing.T) {
	for name, twist := range twistsOfRoutes() {
		t.Run(name, func(t *testing.T) {
			for _, before := range []struct {
				arrive func(*history)
				after  saisim.Cycle
			}{{(*history).burst, 700}, {(*history).trickle, 400}, {(*history).trickle, 410}, {(*history).trickle, 420},
				{(*history).trickle, 430}} {
				slow, fast := newHistory(t, 0), newHistory(t, 64)
				for _, h := range []*history{slow, fast} {
					before.arrive(h)
					h.Advance(h.Now() + before.after)
					twist(h.router)
					h.burst()
					h.finish()
					h.burst()
					h.Advance(h.Now() + 3*saisim.Cycle(profile.Small().ClockHz)) // addresses age
					h.burst()
					h.finish()
				}
				if d := diff.Diff(slow.all, fast.all); d != "" {
					t.Errorf("after %d cycles: -event by event +shortcuts\n%s", before.after, d)
				}
			}
		})
	}
}

// Several events in any order make no difference either.
func TestRoutedShortcutsAtRandom(t *testing.T) {
	twists := twistsOfRoutes()
	delete(twists, "an observer") // it would keep all later packets from the shortcuts
	delete(twists, "event by event")
	delete(twists, "a watch")
	delete(twists, "a recording")
	names := slices.Sorted(maps.Keys(twists))
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20, Short: 4}, func(t *testing.T, seed uint64) {
		x := rand.New(rand.NewPCG(seed, 5))
		slow, fast := newHistory(t, 0), newHistory(t, []int{1, 64}[x.IntN(2)])
		did := ""
		for step := range 12 {
			after, name, finish := saisim.Cycle(x.IntN(600)), names[x.IntN(len(names))], x.IntN(3) == 0
			arrive := []func(*history){(*history).burst, (*history).trickle}[x.IntN(2)]
			did += fmt.Sprintf(" after %d cycles %s;", after, name)
			for _, h := range []*history{slow, fast} {
				arrive(h)
				h.Advance(h.Now() + after)
				h.try(twists[name])
				if step == 6 {
					h.foresee()
				}
				if finish {
					h.finish()
				}
			}
		}
		slow.finish()
		fast.finish()
		if d := diff.Diff(slow.all, fast.all); d != "" {
			t.Errorf("%s: -event by event +shortcuts\n%s", did, d)
		}
	})
}

// A soft test continues after an error in a twist: the chip refuses calls that name what an earlier twist has removed.
type soft struct{ testing.TB }

// giveUp ends a twist.
type giveUp struct{}

func (soft) Fatal(...any)          { panic(giveUp{}) }
func (soft) Fatalf(string, ...any) { panic(giveUp{}) }

// try does as much of a twist as the chip does not refuse.
func (h *history) try(twist func(*router)) {
	defer func(was testing.TB) {
		h.TB = was
		if x := recover(); x != nil && x != (giveUp{}) {
			panic(x)
		}
	}(h.TB)
	h.TB = soft{h.TB}
	twist(h.router)
}

// A history is a chip whose frames, drops and counters are noted in all. drops holds the drops since then, and n is the
// number of kept drops in all.
type history struct {
	*router
	all   []string
	drops []string
	n     uint64
}

func newHistory(t *testing.T, vector int) *history {
	h := &history{router: newRouter(t)}
	r := h.router
	h.SetVector(vector)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrFDBAgingTime, sai.Uint(2))
	for _, id := range r.Ports() {
		r.set(sai.ObjectTypePort, r.oid(id), sai.PortAttrSpeed, sai.Uint(25000))
	}
	r.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN,
		sai.RouterInterfaceAttrVLANID, r.vlan1(), sai.RouterInterfaceAttrVirtualRouterID, r.vr)
	r.neighbor(0, at4(0, 9), 9)
	r.neighbor(1, at4(1, 20), 20)
	r.neighbor(2, at4(2, 21), 21)
	r.neighbor(2, at4(2, 22), 22)
	r.neighbor(2, at4(2, 23), 23)
	r.neighbor(3, at4(3, 22), 24)
	r.route("20.1.0.0/16", r.hop(1, at4(1, 20)))
	r.route("20.2.0.0/16", r.hop(2, at4(2, 22)))
	r.route("20.3.0.0/16", r.hop(3, at4(3, 22)))
	r.route("20.4.0.0/16", r.ecmp(1, 1, 1))
	r.route("20.5.0.0/16", r.ecmp(1, 3, 2))
	r.route("20.6.0.0/16", r.ecmp())
	for _, n := range []byte{21, 22, 32} {
		r.send(2, eth(host(99), host(n), u16(0x88b5), make([]byte, 46)))
	}
	r.send(6, eth(host(99), host(61), u16(0x88b5), make([]byte, 46)))
	r.send(7, eth(host(99), host(71), u16(0x88b5), make([]byte, 46)))
	for _, n := range []byte{23, 33} {
		r.send(3, eth(host(99), host(n), tag(0x8100, 100), u16(0x88b5), make([]byte, 46)))
	}
	r.outs = nil
	r.SetOutput(func(o *saisim.Out) {
		x := *o
		x.Data = nil
		h.all = append(h.all, fmt.Sprintf("out %+v %x", x, o.Data))
	})
	r.OnDrop(func(d *saisim.Drop) {
		x := *d
		x.Data = nil
		h.drops = append(h.drops, fmt.Sprintf("%020d %06d %04d %+v %x", d.At, d.Number, d.Copy, x, d.Data))
	})
	h.n = h.kept()
	return h
}

func (h *history) kept() (n uint64) {
	h.Why(func(v *saisim.WhyView) { n = v.Drops.Kept })
	return n
}

// far returns an address behind a neighbour: at port 1, in the VLAN, at the LAG (1 to 3), or at a group's (4, 5).
func far(n byte) netip.Addr { return netip.AddrFrom4([4]byte{20, n, 1, 1}) }

// inVLAN returns a packet from a host of the VLAN.
func inVLAN(n byte, dst netip.Addr) []byte {
	f := packet(2, at4(2, n), dst, 64, 70)
	copy(f[6:], host(n))
	return f
}

// inLAG returns a packet from a host at the LAG.
func inLAG(dst netip.Addr) []byte { return packet(3, at4(3, 5), dst, 64, 64) }

// trickle makes packets to be routed arrive, one every 10 cycles, and so few for each port that none waits. There are
// always one or two of them in the ingress pipe.
func (h *history) trickle() {
	h.Helper()
	now := h.Now()
	for i := range 60 {
		id, dst := []saisim.PortID{0, 2, 4, 6}[i%4], []netip.Addr{far(1), far(2), far(3), at4(2, 23)}[(i+i/4)%4]
		f := packet(0, at4(0, 9), dst, 64, 60)
		switch id {
		case 2:
			f = inVLAN(21, dst)
		case 4:
			f = inLAG(dst)
		case 6:
			f = eth([]byte{2, 0, 0, 0, 0, 0xaa}, host(61), f[12:])
		}
		_ = h.Receive(id, now+saisim.Cycle(10*i), saisim.Frame{Data: f, ID: uint64(i)}) // the port may have been removed
	}
}

// burst makes frames of all kinds arrive, so many that some wait.
func (h *history) burst() {
	h.Helper()
	to := far
	from := at4(0, 9)
	with := func(f []byte, at int, b ...byte) []byte {
		f = bytes.Clone(f)
		copy(f[at:], b)
		return sum(f)
	}
	frames := map[saisim.PortID][][]byte{}
	add := func(id saisim.PortID, f ...[]byte) { frames[id] = append(frames[id], f...) }
	usual := packet(0, from, to(1), 64, 60)
	for range 3 {
		add(0, usual, packet(0, from, to(2), 64, 60), packet(0, from, to(3), 64, 60))
	}
	for i := range byte(6) {
		f := with(packet(0, from, to(4), 64, 60), 34, 7, i)
		add(0, f, with(packet(0, from, to(5), 64, 60), 34, 7, i))
	}
	add(0, with(usual, 15, 1), with(usual, 15, 2), with(usual, 15, 1<<2|3), with(usual, 15, 10<<2), // ECN, DSCP
		packet(0, from, to(1), 2, 60), packet(0, from, to(1), 1, 60), packet(0, from, to(1), 0, 60),
		packet(0, from, to(1), 255, 100), packet(0, from, at4(1, 20), 64, 60), packet(0, from, at4(1, 99), 64, 60),
		packet(0, from, at4(1, 1), 64, 60), packet(0, from, at4(2, 21), 64, 60), packet(0, from, at4(2, 23), 64, 60),
		packet(0, from, at4(2, 99), 64, 60), packet(0, from, at4(3, 22), 64, 60), packet(0, from, from, 64, 60),
		packet(0, from, to(6), 64, 60), packet(0, from, to(7), 64, 60), packet(0, from, to(1), 64, 400),
		packet(0, from, at4(2, 23), 64, 500))
	bad := bytes.Clone(usual)
	bad[24]++
	add(0, bad, with(usual, 26, 0, 1, 2, 3), with(usual, 26, 127, 0, 0, 1), with(usual, 26, 224, 0, 0, 1),
		with(usual, 30, 255, 255, 255, 255), with(usual, 30, 0, 0, 0, 0), with(usual, 30, 224, 0, 0, 5),
		with(packet(0, from, to(1), 64, 62), 16, 0, 46), // trailing bytes
		pad(usual, 85), pad(usual, 92), pad(usual, 200),
		with(usual, 20, 0x40, 0), with(usual, 20, 0x20, 0), with(usual, 20, 0, 1), with(usual, 20, 0x80, 0),
		with(usual, 23, 1), with(usual, 23, 6), with(usual, 14, 0x46), with(usual, 16, 0, 10), with(usual, 16, 1, 10),
		append(bytes.Clone(usual[:12]), append(tag(0x8100, 0xe000), usual[12:]...)...),
		append(bytes.Clone(usual[:12]), append(tag(0x8100, 5), usual[12:]...)...),
		packet(0, at6(0, 9), at6(1, 20), 64, 100))
	syn := sum(eth(usual[:6], host(9), ip4(0, 0, 6, 0, options(2, linux...))))
	copy(syn[26:], usual[26:34])
	add(0, sum(syn))
	own := bytes.Clone(usual)
	copy(own, []byte{2, 0, 0, 0, 0, 0xaa})
	add(0, own, eth(host(5), host(9), usual[12:]), eth(usual[:6], []byte{3, 0, 0, 0, 0, 9}, usual[12:]),
		eth([]byte{255, 255, 255, 255, 255, 255}, host(9), usual[12:]))
	mac := rifMAC(2)
	vlan, lag := inVLAN, inLAG
	for range 2 {
		add(2, vlan(21, to(1)), vlan(22, at4(2, 21)), vlan(22, to(2)), vlan(21, to(3)), vlan(32, to(1)), vlan(34, to(1)),
			vlan(33, to(1)), vlan(21, to(2)), vlan(21, at4(2, 23)), vlan(21, at4(0, 9)), vlan(21, at4(2, 1)),
			vlan(21, to(4)), eth(host(22), host(21), usual[12:]), eth(host(23), host(21), usual[12:]))
		add(3, vlan(23, to(1)), eth(mac[:], host(23), tag(0x8100, 100), vlan(23, to(1))[12:]),
			eth(mac[:], host(23), tag(0x8100, 100), vlan(23, at4(2, 21))[12:]))
	}
	for id := saisim.PortID(4); id < 6; id++ {
		add(id, lag(to(1)), lag(to(2)), lag(to(3)), lag(to(4)), lag(at4(2, 23)), lag(at4(0, 9)))
	}
	bridged := eth([]byte{2, 0, 0, 0, 0, 0xaa}, host(61), usual[12:])
	add(6, bridged, eth(host(71), host(61), usual[12:]), bridged, with(bridged, 22, 1))
	add(7, eth([]byte{2, 0, 0, 0, 0, 0xaa}, host(71), usual[12:]), eth(host(61), host(71), usual[12:]))
	now := h.Now()
	ports := h.Ports()
	for _, id := range ports {
		for i, f := range frames[id] {
			frame := saisim.Frame{Data: f, ID: uint64(i)}
			if i%7 == 3 && len(f) > 80 { // the capture has cut it
				frame.Len = len(f)
				frame.Data = f[:max(56, len(f)-10)]
			}
			_ = h.Receive(id, now+saisim.Cycle(10*i)+saisim.Cycle(id), frame)
		}
	}
}

// foresee notes the predicted outcome of a packet that arrives now, after all packets in the chip.
func (h *history) foresee() {
	f := packet(0, at4(0, 9), netip.MustParseAddr("20.1.1.1"), 64, 60)
	if t, err := h.TracePacket(0, h.Now(), saisim.Frame{Data: f}); err != nil {
		h.all = append(h.all, err.Error()) // the port has been removed
	} else {
		h.all = append(h.all, fmt.Sprintf("foreseen %+v", *t))
	}
}

// finish runs the chip until it is empty, and notes its counters and its kept drops.
func (h *history) finish() {
	h.Helper()
	h.drain()
	slices.Sort(h.drops)
	h.all = append(h.all, h.drops...)
	h.drops = nil
	to := h.kept()
	var kept []saisim.Kept
	h.EachDrop(h.n, to, func(k *saisim.Kept) bool {
		kept = append(kept, k.Clone())
		return true
	})
	h.n = to
	slices.SortFunc(kept, func(a, b saisim.Kept) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Copy, b.Copy))
	})
	for _, k := range kept {
		h.all = append(h.all, fmt.Sprintf("kept %+v", k))
	}
	h.all = append(h.all, fmt.Sprintf("%d moments", h.moments), fmt.Sprintf("%+v", h.FrameCounts()),
		fmt.Sprintf("%+v", h.State()))
	for _, id := range h.Ports() {
		c, _ := h.PortCounters(id)
		h.all = append(h.all, fmt.Sprintf("port %d %+v", id, c))
		for q := range 8 {
			s, _ := h.QueueState(id, q)
			h.all = append(h.all, fmt.Sprintf("queue %d %d %+v", id, q, s))
		}
	}
}
