package saisim_test

import (
	"net/netip"
	"reflect"
	"testing"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// id returns a row's name for an object.
func id(oid sai.OID) config.ID { return config.ID(oid) }

// Tables returns the rows for routing and mirroring, in an order that does not depend on maps.
func TestTablesL3(t *testing.T) {
	r := newRouter(t)
	r.neighbor(1, at4(1, 20), 20)
	r.neighbor(0, at4(0, 30), 30, sai.NeighborEntryAttrNoHostRoute, sai.Bool(true))
	high, low := r.hop(1, at4(1, 20)), r.hop(0, at4(0, 30))
	group := r.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeEcmp)
	for i, hop := range []sai.OID{high, low} {
		r.create(sai.ObjectTypeNextHopGroupMember, sai.NextHopGroupMemberAttrNextHopGroupID, group,
			sai.NextHopGroupMemberAttrNextHopID, hop, sai.NextHopGroupMemberAttrWeight, sai.Uint(i+1))
	}
	r.route("192.0.2.0/24", group)
	session := r.local(7, sai.MirrorSessionAttrTC, sai.Uint(2))
	r.set(sai.ObjectTypePort, r.oid(6), sai.PortAttrEgressMirrorSession, sai.OIDs{session})
	got := r.Tables()
	if again := r.Tables(); !reflect.DeepEqual(got, again) {
		t.Errorf("two calls differ:\n%+v\n%+v", got, again)
	}
	if want := []config.HopGroup{{ID: id(group), Members: []config.HopMember{{NextHop: id(low), Weight: 2},
		{NextHop: id(high), Weight: 1}}}}; !reflect.DeepEqual(got.HopGroups, want) {
		t.Errorf("groups %+v, want %+v", got.HopGroups, want)
	}
	if i := got.Interfaces[0]; i.ID != id(r.rifs[0]) || i.On != id(r.oid(0)) || i.MAC != config.MAC(rifMAC(0)) ||
		i.MTU != 1500 || !i.Up4 || !i.Up6 || !i.Loopback {
		t.Errorf("interface %+v", i)
	}
	if n := got.Neighbors; len(n) != 2 || n[0].IP != at4(0, 30) || n[0].HostRoute || n[1].MAC != config.MAC(host(20)) ||
		!n[1].HostRoute {
		t.Errorf("neighbours %+v", n)
	}
	routes := map[netip.Prefix]config.Route{}
	for i, row := range got.Routes {
		routes[row.Prefix] = row
		if i > 0 && !got.Routes[i-1].Prefix.Addr().Less(row.Prefix.Addr()) &&
			got.Routes[i-1].Prefix.Bits() >= row.Prefix.Bits() {
			t.Errorf("%s before %s", got.Routes[i-1].Prefix, row.Prefix)
		}
	}
	if len(routes) != 16+1 ||
		routes[netip.MustParsePrefix("192.0.2.0/24")].NextHop != id(group) ||
		routes[netip.MustParsePrefix("10.0.0.1/32")].NextHop != got.Switch.CPU {
		t.Errorf("routes %+v", got.Routes)
	}
	if m := got.Mirrors; len(m) != 1 || sai.OID(m[0].ID) != session || sai.OID(m[0].Monitor) != r.oid(7) || m[0].TC != 2 {
		t.Errorf("mirrors %+v", m)
	}
	if p := got.Ports[6]; len(p.IngressMirrors) != 0 || len(p.EgressMirrors) != 1 ||
		p.EgressMirrors[0] != config.ID(session) {
		t.Errorf("port %+v", p)
	}
}
