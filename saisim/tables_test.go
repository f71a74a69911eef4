package saisim_test

import (
	"reflect"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
)

// Tables returns the rows of the objects, in an order that does not depend on maps.
func TestTables(t *testing.T) {
	r := newRig(t, profile.Small())
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrFDBAgingTime, sai.Uint(300))
	lag := r.create(sai.ObjectTypeLAG, sai.LAGAttrPortVLANID, sai.Uint(7))
	r.clearVLAN1()
	for _, id := range []saisim.PortID{5, 3} {
		r.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, lag, sai.LAGMemberAttrPortID, r.oid(id))
	}
	bp, on := r.bridgePort(lag), r.bridgePort(r.oid(1))
	vlan := r.vlan(7)
	r.member(vlan, bp, sai.VLANTaggingModeUntagged)
	r.member(vlan, on, sai.VLANTaggingModeTagged)
	table := r.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress,
		sai.ACLTableAttrFieldL4DstPort, sai.Bool(true))
	entry := func(priority, port uint64) sai.OID {
		return r.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(priority),
			sai.ACLEntryAttrFieldL4DstPort, sai.Match(sai.Uint(port), sai.Uint(0xffff)),
			sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop))
	}
	low, high := entry(1, 80), entry(9, 443)
	r.set(sai.ObjectTypePort, r.oid(2), sai.PortAttrIngressACL, table)
	r.send(5, eth(host(2), host(1), pad(nil, 50)))

	got := r.Tables()
	if again := r.Tables(); !reflect.DeepEqual(got, again) {
		t.Errorf("two calls differ:\n%+v\n%+v", got, again)
	}
	if got.Switch.AgingSeconds != 300 || got.Switch.MAC != (config.MAC{2, 0, 0, 0, 0, 0xaa}) {
		t.Errorf("switch %+v", got.Switch)
	}
	if p := got.Ports[2]; p.Port != 2 || !p.Admin || !p.Link || p.MTU != 9122 || p.Mbps != 10_000 || p.Number != 2 ||
		p.IngressACL != config.ID(table) {
		t.Errorf("port %+v", p)
	}
	wantLAG := config.LAG{ID: config.ID(lag), PVID: 7, Members: []config.LAGMember{{Port: 3}, {Port: 5}}}
	if !reflect.DeepEqual(got.LAGs, []config.LAG{wantLAG}) {
		t.Errorf("LAGs %+v, want %+v", got.LAGs, wantLAG)
	}
	if v := got.VLANs[1]; v.VID != 7 || !reflect.DeepEqual(v.Members, []config.VLANMember{
		{BridgePort: config.ID(bp), Tagging: config.Untagged}, {BridgePort: config.ID(on), Tagging: config.Tagged}}) {
		t.Errorf("VLAN %+v", v)
	}
	if f := r.State().FDB; len(f) != 1 || f[0].VLAN != 7 || f[0].MAC != (config.MAC{2, 0, 0, 0, 0, 1}) ||
		f[0].BridgePort != config.ID(bp) || f[0].Static {
		t.Errorf("FDB %+v", f)
	}
	if e := got.ACLEntries; len(e) != 2 || e[0].ID != config.ID(high) || e[1].ID != config.ID(low) ||
		len(e[0].Matches) != 1 || len(e[0].Actions) != 1 {
		t.Errorf("entries %+v, want %s then %s", e, high, low)
	}
}
