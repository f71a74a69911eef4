package acl

import (
	"slices"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/sai/saitest"
)

// The tables of a feature at the pre-ingress stage are bound to the switch, in one group. The ports of their row are in
// their entries.
func TestPreIngress(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.orch.PreIngress(am)
	copies := []Variant{{Actions: []sai.Attr{{ID: sai.ACLEntryAttrActionMirrorIngress, Value: sai.Do(sai.OIDs{})}}}}
	bind := func() {
		t.Helper()
		if err := b.bindVariants(copies); err != nil {
			t.Fatal(err)
		}
	}
	entry := func(what string, want ...string) {
		t.Helper()
		calls := b.Calls()
		var entries []string
		for _, c := range calls {
			if strings.Contains(c, "ACL_ENTRY:") {
				entries = append(entries, c)
			}
		}
		for _, part := range want {
			if len(entries) == 0 || !strings.Contains(entries[len(entries)-1], part) {
				t.Errorf("%s: no %s in %q", what, part, entries)
			}
		}
		b.Rec.Reset()
	}
	b.table("TAM", "TAM", "")
	b.rule("TAM:F1", "PRIORITY", "5", "SRC_IP", "10.0.0.0/8")
	b.Step()
	bind()
	calls := strings.Join(b.Calls(), "\n")
	for _, want := range []string{
		"|ACL_ACTION_TYPE_LIST=2:COUNTER,MIRROR_INGRESS|ACL_STAGE=PRE_INGRESS",
		"ACL_TABLE_GROUP:acl_table_group#0|ACL_STAGE=PRE_INGRESS|ACL_BIND_POINT_TYPE_LIST=1:SWITCH|TYPE=PARALLEL",
		"s|SWITCH:switch#0|PRE_INGRESS_ACL=acl_table_group#0",
	} {
		if !strings.Contains(calls, want) {
			t.Errorf("no %s in\n%s", want, calls)
		}
	}
	if strings.Contains(calls, "PORT:") || strings.Contains(calls, "IN_PORTS=2") ||
		strings.Count(calls, "|ACL_TABLE_GROUP:") != 1 {
		t.Errorf("bound otherwise too:\n%s", calls)
	}
	b.Rec.Reset()
	b.table("TAM", "TAM", "Ethernet0,Ethernet8")
	b.Step()
	entry("ports", "FIELD_IN_PORTS=2:")
	b.rule("TAM:F1", "PRIORITY", "5", "SRC_IP", "10.0.0.0/8", "IN_PORTS", "Ethernet8,Ethernet12")
	b.Step()
	entry("ports of both", "FIELD_IN_PORTS=1:")
	b.rule("TAM:F1", "PRIORITY", "5", "SRC_IP", "10.0.0.0/8", "IN_PORTS", "Ethernet12")
	b.Step()
	if on := b.states(); !slices.Equal(on, []bool{false}) {
		t.Errorf("an entry of no ports: active %v", on)
	}
	b.rule("TAM:F1", "PRIORITY", "5", "SRC_IP", "10.0.0.0/8", "IN_PORTS", "Ethernet0")
	b.Step()
	if on := b.states(); !slices.Equal(on, []bool{true}) {
		t.Errorf("an entry of a port again: active %v", on)
	}
	if err := b.unbindVariants(); err != nil {
		t.Fatal(err)
	}
	if left := slices.Concat(b.Rec.LiveOf(sai.ObjectTypeACLTable), b.Rec.LiveOf(sai.ObjectTypeACLTableGroup),
		b.Rec.LiveOf(sai.ObjectTypeACLEntry)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if v, _ := sai.Find(b.Fake.Attrs(sai.Obj(sai.ObjectTypeSwitch, b.orch.terms.sw)),
		sai.SwitchAttrPreIngressACL); v != sai.NullOID {
		t.Errorf("the switch is bound to %v", v)
	}
}
