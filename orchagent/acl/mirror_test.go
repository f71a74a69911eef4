package acl

import (
	"net/netip"

	"tamtam/sai"
)

// addHop makes a next hop in the ASIC.
func (b *bench) addHop(sw sai.OID, addr string) {
	b.T.Helper()
	ip := netip.MustParseAddr(addr)
	vr, err := b.Fake.Get(b.Ctx, sai.Obj(sai.ObjectTypeSwitch, sw),
		[]sai.Attr{sai.Want(sai.SwitchAttrDefaultVirtualRouterID, 0)})
	if err != nil {
		b.T.Fatal(err)
	}
	rif, err := b.Fake.Create(b.Ctx, sai.ObjectTypeRouterInterface, []sai.Attr{
		{ID: sai.RouterInterfaceAttrVirtualRouterID, Value: vr[0].Value},
		{ID: sai.RouterInterfaceAttrType, Value: sai.RouterInterfaceTypePort},
		{ID: sai.RouterInterfaceAttrPortID, Value: b.ports.OIDs["Ethernet0"]},
	})
	if err != nil {
		b.T.Fatal(err)
	}
	b.hops.oids[ip], err = b.Fake.Create(b.Ctx, sai.ObjectTypeNextHop, []sai.Attr{
		{ID: sai.NextHopAttrType, Value: sai.NextHopTypeIP},
		{ID: sai.NextHopAttrIP, Value: sai.IP{Addr: ip}},
		{ID: sai.NextHopAttrRouterInterfaceID, Value: rif},
	})
	if err != nil {
		b.T.Fatal(err)
	}
}

func (b *bench) session(name string) sai.OID {
	b.T.Helper()
	oid, err := b.Fake.Create(b.Ctx, sai.ObjectTypeMirrorSession, []sai.Attr{
		{ID: sai.MirrorSessionAttrType, Value: sai.MirrorSessionTypeLocal},
		{ID: sai.MirrorSessionAttrMonitorPort, Value: b.ports.OIDs["Ethernet0"]},
	})
	if err != nil {
		b.T.Fatal(err)
	}
	b.sessions.oids[name] = oid
	b.sessions.changes.Publish(b.Ctx, []string{name})
	return oid
}
