package orch

import (
	"errors"
	"fmt"
	"testing"

	"tamtam/sai"
)

func TestExplain(t *testing.T) {
	call := func(s sai.Status, attr sai.AttrID, reason string) error {
		return &sai.CallError{Op: "create", Type: sai.ObjectTypeACLEntry, Attr: attr, Status: s, Reason: reason}
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("redis is away"), "redis is away"},
		{fmt.Errorf("create: %w", sai.StatusNoMemory), "create: the switch has no room for it (SAI_STATUS_NO_MEMORY)"},
		{call(sai.StatusTableFull, 0, "answered by syncd"), "the switch has no room for it (SAI_STATUS_TABLE_FULL)"},
		{fmt.Errorf("create ACL table T: %w", call(sai.StatusNotSupported, sai.ACLTableAttrFieldTTL, "")),
			"create ACL table T: the switch does not support it (SAI_STATUS_NOT_SUPPORTED SAI_ACL_TABLE_ATTR_FIELD_TTL)"},
		{call(sai.StatusInvalidAttrValue0-2, 0, "a reason"),
			"the switch refused a value (SAI_STATUS_INVALID_ATTR_VALUE_2: a reason)"},
		{errors.Join(fmt.Errorf("one: %w", call(sai.StatusFailure, 0, "")), errors.New("two")),
			"one: the switch failed (SAI_STATUS_FAILURE); two"},
		{call(sai.StatusObjectInUse, 0, ""), "the switch still uses it (SAI_STATUS_OBJECT_IN_USE)"},
	} {
		if got := Explain(tt.err); got != tt.want {
			t.Errorf("%v:\n got %s\nwant %s", tt.err, got, tt.want)
		}
	}
}

func TestAtAttr(t *testing.T) {
	attrs := []sai.Attr{{ID: sai.ACLEntryAttrPriority}, {ID: sai.ACLEntryAttrActionNoNat}}
	for _, tt := range []struct {
		status sai.Status
		want   sai.AttrID
	}{
		{sai.StatusAttrNotSupported0 - 1, sai.ACLEntryAttrActionNoNat},
		{sai.StatusInvalidAttrValue0, sai.ACLEntryAttrPriority},
		{sai.StatusAttrNotSupported0 - 2, 0},
		{sai.StatusFailure, 0},
	} {
		for _, err := range []error{tt.status, &sai.CallError{Op: "create", Type: sai.ObjectTypeACLEntry,
			Status: tt.status}} {
			got := AtAttr(err, sai.ObjectTypeACLEntry, attrs)
			call := &sai.CallError{}
			errors.As(got, &call)
			if call.Attr != tt.want || !errors.Is(got, tt.status) {
				t.Errorf("%v: %v, want attribute %s", err, got, tt.want)
			}
		}
	}
}
