package objects_test

import (
	"reflect"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

// A rig is a store whose calls must succeed.
type rig struct {
	*testing.T
	*objects.Store
	sw sai.OID
}

func newRig(t *testing.T) *rig {
	p := profile.Small()
	r := &rig{T: t, Store: objects.New(engine.New(p, time.Unix(0, 0), 0), objects.Config{Profile: p})}
	r.powerUp()
	return r
}

func (r *rig) powerUp() {
	r.Helper()
	r.sw = r.create(sai.ObjectTypeSwitch, sai.SwitchAttrInitSwitch, sai.Bool(true))
}

func attrs(pairs ...any) (l []sai.Attr) {
	for i := 0; i < len(pairs); i += 2 {
		l = append(l, sai.Attr{ID: pairs[i].(sai.AttrID), Value: pairs[i+1].(sai.Value)})
	}
	return l
}

func (r *rig) create(t sai.ObjectType, pairs ...any) sai.OID {
	r.Helper()
	oid, err := r.Create(t, attrs(pairs...))
	if err != nil {
		r.Fatal(err)
	}
	return oid
}

// get reads an attribute of the switch whose value is one object.
func (r *rig) get(id sai.AttrID) sai.OID {
	r.Helper()
	got, err := r.Get(sai.Obj(sai.ObjectTypeSwitch, r.sw), []sai.Attr{{ID: id, Value: sai.NullOID}})
	if err != nil {
		r.Fatal(err)
	}
	return got[0].Value.(sai.OID)
}

// fill makes every area hold something that can exist only once, so that a second one is refused.
func (r *rig) fill() {
	r.Helper()
	vlan := r.create(sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.Uint(10))
	lag := r.create(sai.ObjectTypeLAG)
	r.create(sai.ObjectTypeBridgePort, sai.BridgePortAttrType, sai.BridgePortTypePort,
		sai.BridgePortAttrPortID, lag, sai.BridgePortAttrAdminState, sai.Bool(true))
	r.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrVirtualRouterID,
		r.get(sai.SwitchAttrDefaultVirtualRouterID), sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN,
		sai.RouterInterfaceAttrVLANID, vlan)
	r.create(sai.ObjectTypeHostif, sai.HostifAttrType, sai.HostifTypeNetdev, sai.HostifAttrObjID, vlan,
		sai.HostifAttrName, sai.Text("Vlan10"))
	r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeLldp,
		sai.HostifTrapAttrPacketAction, sai.PacketActionTrap)
	r.create(sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
		sai.MirrorSessionAttrMonitorPort, lag)
	r.create(sai.ObjectTypeBufferPool, sai.BufferPoolAttrType, sai.BufferPoolTypeEgress,
		sai.BufferPoolAttrSize, sai.Uint(1<<16), sai.BufferPoolAttrThresholdMode, sai.BufferPoolThresholdModeDynamic)
	table := r.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress)
	r.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, table, sai.ACLCounterAttrLabel, sai.Text("once"),
		sai.ACLCounterAttrEnablePacketCount, sai.Bool(true))
	r.create(sai.ObjectTypeACLRange, sai.ACLRangeAttrType, sai.ACLRangeTypeL4DstPortRange,
		sai.ACLRangeAttrLimit, sai.Range{Min: 1, Max: 2})
	r.create(sai.ObjectTypeGenericProgrammable,
		sai.GenericProgrammableAttrObjectName, sai.Bytes(tailstamp.ObjectCounters))
}

// No area keeps anything of a removed switch: the next one has the same rows, with the same names.
func TestNextSwitchBeginsAnew(t *testing.T) {
	r := newRig(t)
	bare := r.Tables()
	r.fill()
	full := r.Tables()
	if reflect.DeepEqual(bare, full) {
		t.Fatal("the objects say no rows")
	}
	for range 2 {
		if err := r.Remove(sai.Obj(sai.ObjectTypeSwitch, r.sw)); err != nil {
			t.Fatal(err)
		}
		if got := r.Tables(); !reflect.DeepEqual(got, config.Set{}.Tables()) {
			t.Errorf("without a switch the rows are %+v, want none", got)
		}
		r.powerUp()
		if got := r.Tables(); !reflect.DeepEqual(got, bare) {
			t.Errorf("a new switch says %+v, want %+v", got, bare)
		}
		r.fill()
		if got := r.Tables(); !reflect.DeepEqual(got, full) {
			t.Errorf("the same calls say %+v, want %+v", got, full)
		}
	}
}

// A refused call leaves no row, in any area and at any point of failure.
func TestRefusedCallLeavesNoRow(t *testing.T) {
	r := newRig(t)
	r.fill()
	before := r.Tables()
	egress := r.create(sai.ObjectTypeACLTableGroup, sai.ACLTableGroupAttrACLStage, sai.ACLStageEgress)
	before.ACLGroups = r.Tables().ACLGroups
	for _, c := range []struct {
		name  string
		t     sai.ObjectType
		attrs []sai.Attr
	}{
		{"a LAG with an ACL of the other stage", sai.ObjectTypeLAG, attrs(sai.LAGAttrIngressACL, egress)},
		{"a VLAN with an ACL of the other stage", sai.ObjectTypeVLAN,
			attrs(sai.VLANAttrVLANID, sai.Uint(11), sai.VLANAttrIngressACL, egress)},
		{"a VLAN that is there", sai.ObjectTypeVLAN, attrs(sai.VLANAttrVLANID, sai.Uint(10))},
		{"a pool beyond the memory", sai.ObjectTypeBufferPool, attrs(sai.BufferPoolAttrType, sai.BufferPoolTypeEgress,
			sai.BufferPoolAttrSize, sai.Uint(1<<40), sai.BufferPoolAttrThresholdMode, sai.BufferPoolThresholdModeDynamic)},
		{"a mirror session to the CPU", sai.ObjectTypeMirrorSession,
			attrs(sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
				sai.MirrorSessionAttrMonitorPort, r.get(sai.SwitchAttrCPUPort))},
		{"an extension that nobody knows", sai.ObjectTypeGenericProgrammable,
			attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes("no such"))},
	} {
		if _, err := r.Create(c.t, c.attrs); err == nil {
			t.Errorf("%s is taken, want it refused", c.name)
		}
		if got := r.Tables(); !reflect.DeepEqual(got, before) {
			t.Errorf("%s is refused but says rows: %+v, want %+v", c.name, got, before)
		}
	}
}

// Each trap has its own name, and its SAI name if it has one.
func TestTrapNames(t *testing.T) {
	types, ok := sai.LookupEnum("sai_hostif_trap_type_t")
	if !ok {
		t.Fatal("no trap types")
	}
	seen := map[string]bool{"": true}
	for trap := config.TrapNone + 1; trap < config.NumTraps; trap++ {
		_, known := types.Value(trap.SAI())
		if own := trap == config.TrapLinkLocal || trap == config.TrapTAM; known == own || own && trap.SAI() != "" ||
			seen[trap.String()] {
			t.Errorf("%s is %q of SAI", trap, trap.SAI())
		}
		seen[trap.String()] = true
	}
}
