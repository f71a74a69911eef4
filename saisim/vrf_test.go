package saisim_test

import (
	"bytes"
	"testing"

	"tamtam/sai"
)

// addVRF makes a virtual router with router interfaces on ports 6 and 7, which have the MAC addresses of interfaces 6
// and 7.
func (r *router) addVRF() (vr sai.OID, rifs [2]sai.OID) {
	r.Helper()
	vr = r.create(sai.ObjectTypeVirtualRouter)
	for i := range rifs {
		id := r.Ports()[6+i]
		r.leave(id)
		rifs[i] = r.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrVirtualRouterID, vr,
			sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort, sai.RouterInterfaceAttrPortID, r.oid(id),
			sai.RouterInterfaceAttrSrcMACAddress, rifMAC(6+i))
	}
	return vr, rifs
}

// make creates a route or neighbour.
func (r *router) make(e sai.Entry, pairs ...any) {
	r.Helper()
	if err := r.CreateEntry(r.Context(), e, attrs(pairs...)); err != nil {
		r.Fatal(err)
	}
}

// Virtual routers have the same addresses, and each packet goes by the routes and neighbours of the virtual router of
// the interface where it arrived. A next hop of another virtual router leaks.
func TestVirtualRouters(t *testing.T) {
	r := newRouter(t)
	vr, rifs := r.addVRF()
	r.neighbor(1, at4(1, 9), 21)
	r.make(sai.NeighborEntry{Switch: r.sw, RIF: rifs[1], IP: at4(1, 9)}, sai.NeighborEntryAttrDstMACAddress,
		sai.MAC(host(27)))
	leak := r.routeKey("10.0.7.0/24").Entry.(sai.RouteEntry)
	leak.VR = vr
	r.make(leak, sai.RouteEntryAttrNextHopID, r.hop(1, at4(1, 9)))
	for _, tt := range []struct {
		in, to int
		dst    []byte
		want   []byte
	}{
		{0, 1, packet(0, at4(0, 9), at4(1, 9), 64, 100), routed(packet(0, at4(0, 9), at4(1, 9), 64, 100), 1, 21)},
		{6, 7, packet(6, at4(0, 9), at4(1, 9), 64, 100), routed(packet(6, at4(0, 9), at4(1, 9), 64, 100), 7, 27)},
		{6, 1, packet(6, at4(0, 9), at4(7, 9), 64, 100), routed(packet(6, at4(0, 9), at4(7, 9), 64, 100), 1, 21)},
	} {
		outs := r.send(r.Ports()[tt.in], tt.dst)
		if len(outs) != 1 || outs[0].port != r.Ports()[tt.to] || !bytes.Equal(outs[0].data, tt.want) {
			t.Errorf("%x into port %d: out came %v, want it from port %d", tt.dst, tt.in, outs, tt.to)
		}
	}
	if outs := r.send(r.Ports()[6], packet(6, at4(0, 9), at4(0, 1), 64, 100)); len(outs) != 0 {
		t.Errorf("to an address of the default virtual router: out came %v", outs)
	}
}

// A virtual router stays while it has interfaces or routes. The default one stays always.
func TestVirtualRouterInUse(t *testing.T) {
	r := newRouter(t)
	vr, rifs := r.addVRF()
	in := r.routeKey("10.0.7.0/24").Entry.(sai.RouteEntry)
	in.VR = vr
	r.make(in)
	status := func(vr sai.OID) error { return r.Remove(r.Context(), sai.Obj(sai.ObjectTypeVirtualRouter, vr)) }
	r.wantStatus(status(vr), sai.StatusObjectInUse)
	for _, rif := range rifs {
		r.remove(sai.ObjectTypeRouterInterface, rif)
	}
	r.wantStatus(status(vr), sai.StatusObjectInUse) // the route
	r.removeKey(sai.EntryKey(in))
	r.remove(sai.ObjectTypeVirtualRouter, vr)
	r.wantStatus(status(r.vr), sai.StatusObjectInUse) // its own interfaces
}
