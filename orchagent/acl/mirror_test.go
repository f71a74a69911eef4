package acl

import (
	"net/netip"
	"testing"

	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
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

// A rule that mirrors is in the ASIC while its session is active: it lets go of
// the session at once when that is about to go, and says which it misses.
func TestMirrorRuleFollowsItsSession(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("T", "MIRROR", "Ethernet4")
	b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "MIRROR_INGRESS_ACTION", "s1")
	b.Step()
	b.WantStatus(schema.StateACLRule, "T|R", "Pending creation: mirror session s1 is not active")
	oid := b.session("s1")
	b.Step()
	b.WantStatus(schema.StateACLRule, "T|R", "Active")
	k := b.Rec.LiveOf(sai.ObjectTypeACLEntry)[0]
	if v, _ := sai.Find(b.Fake.Attrs(k), sai.ACLEntryAttrActionMirrorIngress); v == nil ||
		v.(sai.Action).Param.(sai.OIDs)[0] != oid {
		t.Errorf("the entry mirrors to %v, want %s", v, oid)
	}
	delete(b.sessions.oids, "s1")
	b.sessions.changes.Publish(b.Ctx, []string{"s1"})
	if err := b.Fake.Remove(b.Ctx, sai.Obj(sai.ObjectTypeMirrorSession, oid)); err != nil {
		t.Errorf("the session is still in use: %v", err)
	}
	b.Step()
	b.WantStatus(schema.StateACLRule, "T|R", "Pending creation: mirror session s1 is not active")
}

func TestRedirectFollowsItsNextHop(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("T", "L3", "Ethernet4")
	b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "REDIRECT_ACTION", "10.0.0.9@Ethernet0")
	b.Step()
	b.WantStatus(schema.StateACLRule, "T|R", "Active")
	ip := netip.MustParseAddr("10.0.0.9")
	oid := b.hops.oids[ip]
	delete(b.hops.oids, ip)
	b.hops.changes.Publish(b.Ctx, struct{}{})
	if err := b.Fake.Remove(b.Ctx, sai.Obj(sai.ObjectTypeNextHop, oid)); err != nil {
		t.Errorf("the next hop is still in use: %v", err)
	}
	b.Step()
	b.WantStatus(schema.StateACLRule, "T|R", "Pending creation: no next hop 10.0.0.9@Ethernet0")
}
