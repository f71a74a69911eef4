package device_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/device/fault"
	"tamtam/sai"
	"tamtam/swss/drift"
)

// halfRemoved is a chip whose former orchagent died while it removed default objects. The members of the default VLAN
// are removed, but their bridge ports still exist.
type halfRemoved struct{ sai.API }

func (h halfRemoved) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	oid, err := h.API.Create(ctx, t, attrs)
	if err != nil || t != sai.ObjectTypeSwitch {
		return oid, err
	}
	got, err := h.Get(ctx, sai.Obj(t, oid), []sai.Attr{sai.Want(sai.SwitchAttrDefaultVLANID, 0)})
	if err != nil {
		return 0, err
	}
	vlan, _ := got[0].Value.(sai.OID)
	got, err = h.Get(ctx, sai.Obj(sai.ObjectTypeVLAN, vlan), []sai.Attr{sai.Want(sai.VLANAttrMemberList, 128)})
	if err != nil {
		return 0, err
	}
	members, _ := got[0].Value.(sai.OIDs)
	for _, m := range members {
		if err := h.Remove(ctx, sai.Obj(sai.ObjectTypeVLANMember, m)); err != nil {
			return 0, err
		}
	}
	return oid, nil
}

// The chip's bridge ports are found even if nothing refers to them any more. Otherwise they would hold the chip's
// unused ports for ever.
func TestBridgePortsWithoutMembers(t *testing.T) {
	fresh := devicetest.NewSim(t, device.SimConfig{Config: devicetest.TwoPorts()})
	devicetest.RunUntilIdle(t, fresh)
	s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.TwoPorts(),
		Common: daemons.Common{Backend: func(chip sai.API) sai.API {
			return halfRemoved{chip}
		}}})
	devicetest.RunUntilIdle(t, s)
	if got, want := devicetest.View(t, s), devicetest.View(t, fresh); got != want {
		t.Errorf("the ASIC:\n%s\nwant:\n%s", got, want)
	}
}

// A port without a row that the chip does not remove is reported with the reason, since no row has a status for it. The
// removal is retried. While another object uses the port, other daemons may heal, since possibly only syncd can remove
// that object.
func TestPortsThatStay(t *testing.T) {
	faults := fault.NewRules(time.Now)
	addFault(t, faults, fault.Fault{
		Kind: fault.SAIFail, Op: sai.OpRemove, Type: sai.ObjectTypePort, Status: sai.StatusObjectInUse, For: fault.MostFor,
	})
	s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.TwoPorts(), Common: daemons.Common{Backend: faults.SAI}})
	devicetest.RunUntilIdle(t, s)
	reported := compare(t, s, 4)["orchagent"]
	if reported.Word() == drift.Consistent || !strings.Contains(reported.Reason, "is named by no row, and stays") ||
		!strings.Contains(reported.Reason, "SAI_STATUS_OBJECT_IN_USE") {
		t.Errorf("%s: %s", reported.Word(), reported.Reason)
	}
	faults.Clear()
	if reported.Open != 0 {
		t.Errorf("%d differences keep other daemons from healing", reported.Open)
	}
	reported = compare(t, s, 4)["orchagent"]
	if reported.Word() != drift.Consistent {
		t.Errorf("%s: %s", reported.Word(), reported.Reason)
	}
}
