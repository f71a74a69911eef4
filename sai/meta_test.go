package sai

import (
	"slices"
	"strings"
	"testing"
)

// Every fact of metadata.txt is understood.
func TestMetadataIsWhole(t *testing.T) {
	vague := []string{"internal", "vendor", "const"}
	seen := map[AttrID]string{}
	for _, o := range objects {
		if ObjectMeta(o.id) == nil || o.id.String() != o.name {
			t.Errorf("%s: type %d is called %s", o.name, o.id, o.id)
		}
		for _, f := range o.attrs {
			id, ok := LookupAttr(f.name)
			m := Meta(id)
			if !ok || m == nil || id.String() != f.name || id.ObjectType() != o.id {
				t.Errorf("%s: not found", f.name)
				continue
			}
			if other, dup := seen[id]; dup {
				t.Errorf("%s and %s have one id", f.name, other)
			}
			seen[id] = f.name
			if m.Kind == 0 {
				t.Errorf("%s: unknown type %q", f.name, f.typ)
			}
			if m.Flags == 0 {
				t.Errorf("%s: no flags", f.name)
			}
			if (m.Kind == KindEnum || m.Kind == KindEnumList) && m.Enum == nil {
				t.Errorf("%s: unknown enum %q", f.name, f.enum)
			}
			if f.hasDefault && m.Default == nil && !slices.Contains(vague, f.def) {
				t.Errorf("%s: default %q is not understood", f.name, f.def)
			}
			if (f.cond == "") != (m.Condition == nil) || (f.validonly == "") != (m.ValidOnly == nil) {
				t.Errorf("%s: condition %q %q is not understood", f.name, f.cond, f.validonly)
			}
			if slices.Contains(m.Objects, 0) {
				t.Errorf("%s: unknown object type in %q", f.name, f.objects)
			}
			if text, err := FormatValue(id, m.Default); m.Default != nil && err != nil {
				t.Errorf("%s: default %q cannot be written: %v", f.name, text, err)
			}
			w := Want(id, 3)
			if text, err := FormatValue(id, w.Value); err != nil {
				t.Errorf("%s: placeholder %q: %v", f.name, text, err)
			}
		}
	}
}

// Some facts of SAI 1.18 agree with its own metadata.
func TestMetadataFacts(t *testing.T) {
	for _, tt := range []struct {
		id      AttrID
		number  uint32
		kind    Kind
		form    Form
		flags   Flags
		objects []ObjectType
		null    bool
		def     Value
		cond    string
	}{
		{TAMIntAttrType, 0, KindEnum, FormPlain, MandatoryOnCreate | CreateOnly, nil, false, nil, ""},
		{TAMIntAttrIntPresenceDSCPValue, 6, KindU8, FormPlain, MandatoryOnCreate | CreateOnly, nil, false, nil,
			"SAI_TAM_INT_ATTR_INT_PRESENCE_TYPE is SAI_TAM_INT_PRESENCE_TYPE_DSCP"},
		{TAMIntAttrLatencySensitivity, 0x10, KindU8, FormPlain, CreateAndSet, nil, false, Uint(20), ""},
		{TAMIntAttrACLGroup, 0x11, KindOID, FormPlain, CreateAndSet,
			[]ObjectType{ObjectTypeACLTable, ObjectTypeACLTableGroup}, true, NullOID, ""},
		{ACLEntryAttrActionTAMIntObject, 0x202c, KindOID, FormAction, CreateAndSet, []ObjectType{ObjectTypeTAMInt}, true,
			Action{}, ""},
		{ACLEntryAttrFieldTAMIntType, 0x1152, KindEnum, FormField, CreateAndSet, nil, false, Field{}, ""},
		{ACLEntryAttrUserDefinedFieldGroupMin + 1, 0x1050, KindU8List, FormField, CreateAndSet, nil, false, Field{}, ""},
		{ACLTableAttrUserDefinedFieldGroupMax, 0x114e, KindOID, FormPlain, CreateOnly, nil, true, NullOID, ""},
		{ACLTableAttrAvailableACLEntry, 0x0000, KindU32, FormPlain, ReadOnly, nil, false, nil, ""},
		{SwitchAttrTAMObjectID, 0x9a, KindOIDList, FormPlain, CreateAndSet, []ObjectType{ObjectTypeTAM}, false, OIDs{}, ""},
		{PortAttrHWLaneList, 0x1e, KindU32List, FormPlain, MandatoryOnCreate | CreateOnly | KeyAttr, nil, false, nil, ""},
		{SwitchAttrTpidOuterVLAN, 0x88, KindU16, FormPlain, CreateAndSet, nil, false, Uint(0x88a8), ""},
		{QoSMapAttrType, 0, KindEnum, FormPlain, MandatoryOnCreate | CreateOnly, nil, false, nil, ""},
		{QoSMapAttrMapToValueList, 1, KindQoSMapList, FormPlain, MandatoryOnCreate | CreateAndSet, nil, false, nil, ""},
		{SchedulerAttrSchedulingWeight, 1, KindU8, FormPlain, CreateAndSet, nil, false, Uint(1), ""},
		{WREDAttrECNMarkMode, 0xd, KindEnum, FormPlain, CreateAndSet, nil, false, ECNMarkModeNone, ""},
		{BufferPoolAttrThresholdMode, 3, KindEnum, FormPlain, CreateOnly, nil, false, BufferPoolThresholdModeDynamic, ""},
		{BufferProfileAttrPoolID, 0, KindOID, FormPlain, MandatoryOnCreate | CreateOnly, []ObjectType{ObjectTypeBufferPool},
			true, nil, ""},
		{BufferProfileAttrSharedDynamicTh, 3, KindS8, FormPlain, MandatoryOnCreate | CreateAndSet, nil, false, nil,
			"SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE is SAI_BUFFER_PROFILE_THRESHOLD_MODE_DYNAMIC"},
		{GenericProgrammableAttrEntry, 1, KindJSON, FormPlain, CreateAndSet, nil, false, nil, ""},
	} {
		m := Meta(tt.id)
		if m == nil {
			t.Errorf("%s is unknown", tt.id)
			continue
		}
		if tt.id != ACLTableAttrAvailableACLEntry && uint32(m.ID) != tt.number || m.Kind != tt.kind || m.Form != tt.form ||
			m.Flags != tt.flags || m.AllowNull != tt.null {
			t.Errorf("%s: number 0x%x kind %s form %d flags %b null %t", m.Name, uint32(m.ID), m.Kind, m.Form, m.Flags,
				m.AllowNull)
		}
		if tt.objects != nil && !slices.Equal(m.Objects, tt.objects) {
			t.Errorf("%s: objects %v, want %v", m.Name, m.Objects, tt.objects)
		}
		got, _ := FormatValue(tt.id, m.Default)
		want, _ := FormatValue(tt.id, tt.def)
		if (m.Default == nil) != (tt.def == nil) || got != want {
			t.Errorf("%s: default %v, want %v", m.Name, m.Default, tt.def)
		}
		if cond := ""; m.Condition != nil {
			if cond = m.Condition.String(); cond != tt.cond {
				t.Errorf("%s: condition %q, want %q", m.Name, cond, tt.cond)
			}
		} else if tt.cond != "" {
			t.Errorf("%s: no condition, want %q", m.Name, tt.cond)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]Status{
		"SAI_STATUS_SUCCESS": StatusSuccess, "SAI_STATUS_OBJECT_IN_USE": StatusObjectInUse,
		"SAI_STATUS_ATTR_NOT_SUPPORTED_0": StatusAttrNotSupported0,
		"SAI_STATUS_ATTR_NOT_SUPPORTED_3": StatusAttrNotSupported0 - 3,
	} {
		got, ok := LookupStatus(name)
		if !ok || got != want || got.String() != name {
			t.Errorf("%s: %d %s, want %d", name, got, got, want)
		}
	}
	for _, name := range []string{"", "SAI_STATUS_NO_SUCH", "SAI_STATUS_UNKNOWN_ATTRIBUTE_x",
		"SAI_STATUS_UNKNOWN_ATTRIBUTE_99999"} {
		if s, ok := LookupStatus(name); ok {
			t.Errorf("%q is the status %s", name, s)
		}
	}
	if got := ObjectType(9999).String(); got != "SAI_OBJECT_TYPE_9999" {
		t.Errorf("an unknown type is called %s", got)
	}
	if got := EnumName(ACLEntryAttrActionPacketAction, PacketActionDrop); got != "SAI_PACKET_ACTION_DROP" {
		t.Errorf("drop is called %s", got)
	}
	if s, ok := LookupStat("SAI_PORT_STAT_IF_IN_OCTETS"); !ok || s != PortStatIfInOctets ||
		!strings.HasSuffix(s.String(), "IF_IN_OCTETS") {
		t.Errorf("statistic %v", s)
	}
}
