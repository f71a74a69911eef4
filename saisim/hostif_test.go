package saisim_test

import (
	"fmt"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// The maker of host interface devices is called when a HOSTIF object of a port is created, changed or removed. It is
// not called for a HOSTIF object of a VLAN. The devices have the address of the switch.
func TestHostInterfacesAreReported(t *testing.T) {
	var now []saisim.HostInterface
	chip, err := saisim.New(saisim.Config{
		Profile: profile.Small(), Start: time.Unix(0, 0), HostInterfaces: func(list []saisim.HostInterface) { now = list },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	must := func(oid sai.OID, err error) sai.OID {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return oid
	}
	is := func(what, want string) {
		t.Helper()
		if got := fmt.Sprint(now); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	sw := must(chip.Create(ctx, sai.ObjectTypeSwitch, []sai.Attr{
		{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)},
		{ID: sai.SwitchAttrSrcMACAddress, Value: sai.MAC{2, 0, 0, 0, 0, 1}},
	}))
	got, err := chip.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, sw), []sai.Attr{sai.Want(sai.SwitchAttrPortList, 64)})
	if err != nil {
		t.Fatal(err)
	}
	hostif := func(on sai.OID, name string, more ...sai.Attr) sai.OID {
		t.Helper()
		return must(chip.Create(ctx, sai.ObjectTypeHostif, append([]sai.Attr{
			{ID: sai.HostifAttrType, Value: sai.HostifTypeNetdev}, {ID: sai.HostifAttrObjID, Value: on},
			{ID: sai.HostifAttrName, Value: sai.Text(name)},
		}, more...)))
	}
	up := sai.Attr{ID: sai.HostifAttrOperStatus, Value: sai.Bool(true)}
	ports := got[0].Value.(sai.OIDs)
	four := hostif(ports[1], "Ethernet4", up)
	is("one that is up", "[{Ethernet4 true [2 0 0 0 0 1]}]")
	zero := hostif(ports[0], "Ethernet0")
	is("another", "[{Ethernet0 false [2 0 0 0 0 1]} {Ethernet4 true [2 0 0 0 0 1]}]")
	vlan := must(chip.Create(ctx, sai.ObjectTypeVLAN, []sai.Attr{{ID: sai.VLANAttrVLANID, Value: sai.Uint(10)}}))
	hostif(vlan, "Vlan10")
	noError(t, chip.Set(ctx, sai.Obj(sai.ObjectTypeHostif, zero), up))
	is("it comes up", "[{Ethernet0 true [2 0 0 0 0 1]} {Ethernet4 true [2 0 0 0 0 1]}]")
	noError(t, chip.Remove(ctx, sai.Obj(sai.ObjectTypeHostif, four)))
	is("one is removed", "[{Ethernet0 true [2 0 0 0 0 1]}]")
}
