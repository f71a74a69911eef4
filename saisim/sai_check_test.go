package saisim_test

import (
	"net/netip"
	"testing"

	"tamtam/sai"
	"tamtam/saisim/profile"
)

// The chip checks an object while the objects that it names do not exist: what it would refuse in any state, and
// nothing else.
func TestSAICheckBeforeCreation(t *testing.T) {
	r := newRig(t, profile.Small())
	neighbor := func(ip string) sai.Key {
		return sai.EntryKey(sai.NeighborEntry{Switch: 1, RIF: 0x666, IP: netip.MustParseAddr(ip)})
	}
	mac := func(m sai.MAC) []sai.Attr { return attrs(sai.NeighborEntryAttrDstMACAddress, m) }
	vlan := sai.Obj(sai.ObjectTypeVLAN, 0)
	for _, c := range []struct {
		name   string
		key    sai.Key
		attrs  []sai.Attr
		others int
		want   sai.Status
	}{
		{"a neighbour", neighbor("10.0.0.9"), mac(sai.MAC{2, 0, 0, 0, 0, 9}), 3, sai.StatusSuccess},
		{"a neighbour at a group address", neighbor("10.0.0.9"), mac(sai.MAC{1, 0, 0x5e, 0, 0, 9}), 3,
			sai.StatusInvalidParameter},
		{"a multicast neighbour", neighbor("224.0.0.9"), mac(sai.MAC{2, 0, 0, 0, 0, 9}), 3, sai.StatusInvalidParameter},
		{"a next hop", sai.Obj(sai.ObjectTypeNextHop, 0), attrs(sai.NextHopAttrType, sai.NextHopTypeIP,
			sai.NextHopAttrIP, sai.IP{Addr: netip.MustParseAddr("10.0.0.9")},
			sai.NextHopAttrRouterInterfaceID, sai.OID(0x666)), 0, sai.StatusSuccess},
		{"a next hop of another type", sai.Obj(sai.ObjectTypeNextHop, 0),
			attrs(sai.NextHopAttrType, sai.NextHopTypeMpls), 0, sai.StatusNotSupported},
		{"an attribute that the chip lacks", vlan, attrs(sai.VLANAttrVLANID, sai.Uint(7),
			sai.VLANAttrMaxLearnedAddresses, sai.Uint(5)), 0, sai.StatusAttrNotSupported0 - 1},
		{"VLAN 0", vlan, attrs(sai.VLANAttrVLANID, sai.Uint(0)), 0, sai.StatusInvalidVLANID},
		{"a type that the chip lacks", sai.Obj(sai.ObjectTypeSystemPort, 0), nil, 0, sai.StatusNotSupported},
		{"a wildcard", sai.Obj(sai.ObjectTypeHostifTableEntry, 0), nil, 0, sai.StatusSuccess},
		{"one bridge too many", sai.Obj(sai.ObjectTypeBridge, 0), nil, 1, sai.StatusInsufficientResources},
	} {
		if got, _ := sai.StatusOf(r.CheckCreate(c.key, c.attrs, c.others)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	r.wantStatus(r.CheckSet(vlan, sai.Attr{ID: sai.VLANAttrMaxLearnedAddresses, Value: sai.Uint(5)}),
		sai.StatusAttrNotSupported0)
	if err := r.CheckSet(vlan, sai.Attr{ID: sai.VLANAttrLearnDisable, Value: sai.Bool(true)}); err != nil {
		t.Error(err)
	}
}
