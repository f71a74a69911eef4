package acl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

const am = schema.FeatureAltMark

var flow = schema.ACLRuleKey{Table: "TAM", Rule: "F1"}

// colours returns two variants that distinguish packets by metadata, and mark them.
func colours(index uint64) []Variant {
	v := func(c uint64) Variant {
		return Variant{
			Name:    fmt.Sprint(c),
			Match:   []sai.Attr{{ID: sai.ACLEntryAttrFieldACLUserMeta, Value: sai.Match(sai.Uint(8|c), sai.Uint(9))}},
			Actions: []sai.Attr{{ID: sai.ACLEntryAttrActionSetACLMetaData, Value: sai.Do(sai.Uint(0xa0000000 | c<<23 | index))}},
		}
	}
	return []Variant{v(0), v(1)}
}

// flowRow writes the rule F1 of the table TAM.
func (b *bench) flowRow(priority, from string) {
	b.table("TAM", "TAM", "Ethernet0")
	b.rule("TAM:F1", "PRIORITY", priority, "SRC_IP", from)
	b.Step()
}

func (b *bench) bindVariants(v []Variant) error {
	return b.orch.BindVariants(b.Ctx, am, []schema.ACLRuleKey{flow}, []string{"s"}, [][]Variant{v})[0]
}

func (b *bench) unbindVariants() error {
	return b.orch.UnbindMany(b.Ctx, am, []schema.ACLRuleKey{flow}, []string{"s"})[0]
}

// names returns ACL_COUNTER_RULE_MAP.
func (b *bench) names() swss.FieldValues {
	b.T.Helper()
	m, _, err := swss.NewTable(b.Redis.DB(swss.CountersDB), schema.CountersACLRuleMap).Get(b.Ctx, "")
	if err != nil {
		b.T.Fatal(err)
	}
	return m
}

// states returns ADMIN_STATE of all entries, in the order of their creation.
func (b *bench) states() (on []bool) {
	for _, k := range b.Rec.LiveOf(sai.ObjectTypeACLEntry) {
		v, _ := sai.Find(b.Fake.Attrs(k), sai.ACLEntryAttrAdminState)
		on = append(on, bool(v.(sai.Bool)))
	}
	return on
}

// The entries of variants are in one table that supports their matches and actions. Each has the rule's match, the
// variant's match, and its own counter.
func TestVariantsCalls(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.flowRow("5", "10.0.0.0/8")
	if err := b.bindVariants(colours(7)); err != nil {
		t.Fatal(err)
	}
	calls := b.Calls()
	if !strings.Contains(calls[0], "|FIELD_ACL_USER_META=true|") ||
		!strings.Contains(calls[0], "|ACL_ACTION_TYPE_LIST=2:COUNTER,SET_ACL_META_DATA|") {
		t.Errorf("table: %s", calls[0])
	}
	entries := slices.DeleteFunc(calls, func(l string) bool { return !strings.HasPrefix(l, "C|") })
	want := []string{
		"C|ACL_COUNTER:acl_counter#0|TABLE_ID=acl_table#0|ENABLE_BYTE_COUNT=true|ENABLE_PACKET_COUNT=true|LABEL=am0\\x3AF1",
		"C|ACL_COUNTER:acl_counter#1|TABLE_ID=acl_table#0|ENABLE_BYTE_COUNT=true|ENABLE_PACKET_COUNT=true|LABEL=am1\\x3AF1",
		"C|ACL_ENTRY:acl_entry#0|TABLE_ID=acl_table#0|PRIORITY=5|ADMIN_STATE=true|ACTION_COUNTER=acl_counter#0|" +
			"FIELD_SRC_IP=10.0.0.0&mask:255.0.0.0|FIELD_ACL_USER_META=8&mask:0x9|ACTION_SET_ACL_META_DATA=2684354567",
		"C|ACL_ENTRY:acl_entry#1|TABLE_ID=acl_table#0|PRIORITY=5|ADMIN_STATE=true|ACTION_COUNTER=acl_counter#1|" +
			"FIELD_SRC_IP=10.0.0.0&mask:255.0.0.0|FIELD_ACL_USER_META=9&mask:0x9|ACTION_SET_ACL_META_DATA=2692743175",
	}
	if !slices.Equal(entries, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(entries, "\n     "), strings.Join(want, "\n     "))
	}
	for i, name := range []string{"0", "1"} {
		oid, label, ok := b.orch.VariantCounter(flow, am, name)
		if !ok || label != fmt.Sprintf("am%d:F1", i) || b.names()["TAM:F1:"+name] != oid.String() || !b.Poller.Polls(oid) {
			t.Errorf("counter of variant %s: %v %s %v; map %v", name, oid, label, ok, b.names())
		}
	}
	if _, _, ok := b.orch.Counter(flow, am); ok {
		t.Error("there is a counter without a variant")
	}
	if f, ok := b.orch.MatchOf(flow, sai.ACLEntryAttrFieldSrcIP); !ok || !f.Enabled {
		t.Errorf("the rule's source address: %v, %v", f, ok)
	}
	if err := b.unbindVariants(); err != nil || len(b.Rec.Live()) != 1 || len(b.names()) > 0 || b.Poller.Count("") > 0 {
		t.Errorf("unbound: %v; live %v, names %v", err, b.Rec.Live(), b.names())
	}
}

// Another feature of the same rule has its own entry, and the names of the counters are distinct.
func TestVariantsBesideAnotherFeature(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.flowRow("5", "10.0.0.0/8")
	stamp := []sai.Attr{{ID: sai.ACLEntryAttrActionIntInsert, Value: sai.Do(sai.Bool(true))}}
	if err := b.bindVariants(colours(1)); err != nil {
		t.Fatal(err)
	}
	if errs := b.orch.BindMany(b.Ctx, schema.FeatureTailStamping, stamp, []schema.ACLRuleKey{flow},
		[]string{"s"}); errs[0] != nil {
		t.Fatal(errs)
	}
	names := b.names()
	got := slices.Sorted(func(yield func(string) bool) {
		for n := range names {
			if !yield(n) {
				return
			}
		}
	})
	if want := []string{"TAM:F1", "TAM:F1:ALTMARK:0", "TAM:F1:ALTMARK:1"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	if n := len(b.Rec.LiveOf(sai.ObjectTypeACLTable)); n != 2 {
		t.Errorf("%d tables, want 2", n)
	}
}

// A variant's match replaces the rule's match, and its priority can be higher than the rule's.
func TestVariantInstead(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("TAM", "TAM", "")
	b.rule("TAM:F1", "PRIORITY", "5", "DSCP", "8")
	b.Step()
	v := Variant{Name: "1", Raise: 1, Match: []sai.Attr{{ID: sai.ACLEntryAttrFieldDSCP,
		Value: sai.Match(sai.Uint(9), sai.Uint(63))}}}
	if err := b.bindVariants([]Variant{v}); err != nil {
		t.Fatal(err)
	}
	entry := b.Rec.LiveOf(sai.ObjectTypeACLEntry)[0]
	dscp, _ := sai.Find(b.Fake.Attrs(entry), sai.ACLEntryAttrFieldDSCP)
	priority, _ := sai.Find(b.Fake.Attrs(entry), sai.ACLEntryAttrPriority)
	if dscp != any(sai.Match(sai.Uint(9), sai.Uint(63))) || priority != sai.Uint(6) {
		t.Errorf("DSCP %v, priority %v", dscp, priority)
	}
	v.Raise = 20000
	if err := b.bindVariants([]Variant{v}); err == nil || !strings.Contains(err.Error(),
		"there must be room for an entry 20000 above it") {
		t.Errorf("a priority that is not there: %v", err)
	}
}

// Whichever call of a binding fails, none of the variants is in the ASIC and the next attempt succeeds. Whichever call
// of an unbinding fails, the next attempt leaves nothing behind.
func TestVariantsEveryFailureIsUndone(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t, saitest.Options{})
		b.flowRow("5", "10.0.0.0/8")
		b.Rec.FailAt(n, sai.StatusFailure)
		err := b.bindVariants(colours(1))
		if err == nil && len(b.orch.tables["TAM"].instances[am].refused) == 0 {
			break
		}
		b.Rec.FailAt(0, 0)
		if live := b.Rec.LiveOf(sai.ObjectTypeACLEntry); err != nil && len(live) > 0 {
			t.Errorf("call %d failed (%v); left: %v", n, err, live)
		}
		if live := b.Rec.Live(); err != nil && len(live) != 1 { // only the switch object may remain
			t.Errorf("call %d failed (%v); left behind: %v", n, err, live)
		}
		if err := b.bindVariants(colours(1)); err != nil || len(b.Rec.LiveOf(sai.ObjectTypeACLEntry)) != 2 {
			t.Errorf("call %d failed; then: %v", n, err)
		}
	}
	for n := 1; ; n++ {
		b := newBench(t, saitest.Options{})
		b.flowRow("5", "10.0.0.0/8")
		if err := b.bindVariants(colours(1)); err != nil {
			t.Fatal(err)
		}
		b.Rec.FailAt(n, sai.StatusFailure)
		err := b.unbindVariants()
		whole := err == nil && len(b.Rec.Live()) == 1
		b.Rec.FailAt(0, 0)
		if err := b.unbindVariants(); err != nil {
			t.Errorf("call %d failed; then: %v", n, err)
		}
		b.Del(schema.AppACLRule, "TAM:F1")
		b.Step()
		if live := b.Rec.Live(); len(live) != 1 {
			t.Errorf("call %d failed; left behind: %v", n, live)
		}
		if whole {
			break
		}
	}
}

// If a binding fails and its undoing fails too, the remaining entry is removed in a later pass, without another
// request.
func TestVariantThatStaysGoesLater(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.flowRow("5", "10.0.0.0/8")
	if err := b.bindVariants(colours(1)); err != nil {
		t.Fatal(err)
	}
	b.Calls()
	b.orch.asic.api = stubborn{b.Rec}
	if err := b.bindVariants(colours(2)); err == nil {
		t.Fatal("the new variants were bound")
	}
	b.orch.asic.api = b.Rec
	if n := len(b.Rec.LiveOf(sai.ObjectTypeACLEntry)); n != 2 {
		t.Fatalf("%d entries, want 2 that could not be removed", n)
	}
	b.table("OTHER", "L3", "")
	b.Step()
	if live := b.Rec.LiveOf(sai.ObjectTypeACLEntry); len(live) > 0 {
		t.Errorf("left behind: %v", live)
	}
	if err := b.bindVariants(colours(2)); err != nil {
		t.Error(err)
	}
}

// Whichever call of a change fails, either both entries are as the new row requires, or neither exists. In the second
// case the user is notified.
func TestVariantsChangeTogether(t *testing.T) {
	for _, change := range []struct{ name, priority, field, value string }{
		{"in place", "6", "SRC_IP", "10.0.0.0/8"}, {"two attributes", "6", "SRC_IP", "11.0.0.0/8"},
		{"made anew", "5", "DST_IP", "10.0.0.0/8"},
	} {
		t.Run(change.name, func(t *testing.T) {
			for n := 1; ; n++ {
				b := newBench(t, saitest.Options{})
				b.flowRow("5", "10.0.0.0/8")
				if err := b.bindVariants(colours(1)); err != nil {
					t.Fatal(err)
				}
				b.reported = nil
				b.Rec.FailAt(n, sai.StatusFailure)
				b.rule("TAM:F1", "PRIORITY", change.priority, change.field, change.value)
				b.Step()
				b.Rec.FailAt(0, 0)
				live := b.Rec.LiveOf(sai.ObjectTypeACLEntry)
				if len(live) == 2 {
					break
				}
				if len(live) != 0 || !slices.Contains(b.reported, flow) {
					t.Errorf("call %d failed: %v, told %v", n, live, b.reported)
				}
				if err := b.bindVariants(colours(1)); err != nil || len(b.Rec.LiveOf(sai.ObjectTypeACLEntry)) != 2 {
					t.Errorf("call %d failed; then: %v", n, err)
				}
			}
		})
	}
}

// A table with capacity for one entry contains neither of two variants. A table with capacity for two entries contains
// both variants, once other entries are removed.
func TestVariantsFitTogether(t *testing.T) {
	b := newBench(t, saitest.Options{ACLEntries: 3})
	b.flowRow("5", "10.0.0.0/8")
	b.rule("TAM:F2", "PRIORITY", "4", "SRC_IP", "11.0.0.0/8")
	b.Step()
	keys := []schema.ACLRuleKey{flow, {Table: "TAM", Rule: "F2"}}
	errs := b.orch.BindVariants(b.Ctx, am, keys, []string{"s", "t"}, [][]Variant{colours(1), colours(2)})
	if errs[0] != nil || errs[1] == nil || len(b.Rec.LiveOf(sai.ObjectTypeACLEntry)) != 2 {
		t.Fatalf("errors %v; entries %v", errs, b.Rec.LiveOf(sai.ObjectTypeACLEntry))
	}
	b.reported = nil
	if err := b.unbindVariants(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(b.reported, keys[1]) {
		t.Errorf("there is room for F2 now; told %v", b.reported)
	}
	if err := b.orch.BindVariants(b.Ctx, am, keys[1:], []string{"t"}, [][]Variant{colours(2)})[0]; err != nil {
		t.Error(err)
	}
}

// A variant is set active or inactive with one call, and keeps this state when its entry is recreated or bound again.
func TestSetVariantActive(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.flowRow("5", "10.0.0.0/8")
	want := func(when string, on ...bool) {
		t.Helper()
		if got := b.states(); !slices.Equal(got, on) {
			t.Errorf("%s: active %v, want %v", when, got, on)
		}
	}
	set := func(variant string, on bool) error { return b.orch.SetVariantActive(b.Ctx, flow, am, variant, on) }
	if err := set("1", true); err == nil || !strings.Contains(err.Error(), "not in use for ALTMARK") {
		t.Errorf("before it is bound: %v", err)
	}
	two := colours(1)
	two[1].Inactive = true
	if err := b.bindVariants(two); err != nil {
		t.Fatal(err)
	}
	want("bound", true, false)
	b.Calls()
	if err := set("1", true); err != nil {
		t.Fatal(err)
	}
	b.WantCalls("s|ACL_ENTRY:acl_entry#1|ADMIN_STATE=true")
	if err := set("1", true); err != nil {
		t.Fatal(err)
	}
	b.WantCalls()
	if err := set("2", true); err == nil || !strings.Contains(err.Error(), `no variant "2"`) {
		t.Errorf("a variant that is not there: %v", err)
	}
	b.Rec.FailAt(1, sai.StatusFailure)
	if err := set("0", false); err == nil {
		t.Error("the call did not fail")
	}
	b.Rec.FailAt(0, 0)
	if err := set("0", false); err != nil {
		t.Fatal(err)
	}
	want("set", false, true)
	if err := b.bindVariants(two); err != nil {
		t.Fatal(err)
	}
	want("bound again", false, true)
	b.rule("TAM:F1", "PRIORITY", "5", "DST_IP", "10.0.0.0/8")
	b.Step()
	want("made anew", false, true)
	b.Set(schema.AppACLTable, "TAM", "TYPE", "TAM", "STAGE", "INGRESS", "PORTS", "Ethernet4")
	b.rule("TAM:F1", "PRIORITY", "7", "DST_IP", "10.0.0.0/8")
	b.Step()
	want("changed", false, true)
	if err := b.unbindVariants(); err != nil {
		t.Fatal(err)
	}
	if err := b.bindVariants(two); err != nil {
		t.Fatal(err)
	}
	want("bound by another", true, false)
}

// A table that must support more is recreated with its entries, and their users are notified that counters begin at 0.
// Reserved variants make this unnecessary.
func TestReserveVariants(t *testing.T) {
	marking := []Variant{{Name: "0", Actions: []sai.Attr{{ID: sai.ACLEntryAttrActionSetDSCP, Value: sai.Do(sai.Uint(8))}}}}
	other := schema.ACLRuleKey{Table: "TAM", Rule: "F2"}
	for _, reserved := range []bool{false, true} {
		b := newBench(t, saitest.Options{})
		b.flowRow("5", "10.0.0.0/8")
		b.rule("TAM:F2", "PRIORITY", "4", "SRC_IP", "11.0.0.0/8")
		b.Step()
		if reserved {
			b.orch.ReserveVariants(am, marking)
		}
		if err := b.bindVariants(colours(1)); err != nil {
			t.Fatal(err)
		}
		b.reported = nil
		table := b.Rec.LiveOf(sai.ObjectTypeACLTable)
		if err := b.orch.BindVariants(b.Ctx, am, []schema.ACLRuleKey{other}, []string{"t"},
			[][]Variant{marking})[0]; err != nil {
			t.Fatal(err)
		}
		same := slices.Equal(b.Rec.LiveOf(sai.ObjectTypeACLTable), table)
		if n := len(b.Rec.LiveOf(sai.ObjectTypeACLEntry)); n != 3 || same != reserved ||
			slices.Contains(b.reported, flow) == reserved {
			t.Errorf("reserved %v: %d entries, the same table %v, told %v", reserved, n, same, b.reported)
		}
	}
}

// stubborn is an ASIC that changes and removes nothing in bulk.
type stubborn struct{ sai.API }

func (s stubborn) BulkSet(_ context.Context, keys []sai.Key, _ []sai.Attr) []error {
	return refuseAll("set", keys)
}

func (s stubborn) BulkRemove(_ context.Context, keys []sai.Key) []error {
	return refuseAll("remove", keys)
}

func refuseAll(op string, keys []sai.Key) (errs []error) {
	for _, k := range keys {
		errs = append(errs, &sai.CallError{Op: op, Type: k.Type, Status: sai.StatusFailure})
	}
	return errs
}

// The match in force follows each change of a rule, of a range and of the table's interfaces. The users of the rule are
// notified.
func TestInForce(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("TAM", "TAM", "")
	b.rule("TAM:F1", "PRIORITY", "5", "SRC_IP", "10.0.0.0/8")
	b.Step()
	if in, ok := b.orch.InForce(flow, am); ok {
		t.Errorf("not bound: %+v", in)
	}
	raised := colours(7)
	raised[1].Raise = 1
	if err := b.bindVariants(raised); err != nil {
		t.Fatal(err)
	}
	var changed uint64
	for _, step := range []struct {
		do       func()
		reported bool
		priority uint32
		matches  string
		at       string
		ports    int // -1 means any
	}{
		{func() {}, false, 5, "SRC_IP 10.0.0.0/8", "", -1},
		{func() { b.rule("TAM:F1", "PRIORITY", "5", "SRC_IP", "10.0.0.0/8", "L4_SRC_PORT_RANGE", "1-5") }, true, 5,
			"SRC_IP 10.0.0.0/8, L4_SRC_PORT_RANGE 1-5", "", -1},
		{func() { b.rule("TAM:F1", "PRIORITY", "5", "SRC_IP", "10.0.0.0/8", "L4_SRC_PORT_RANGE", "1-6") }, true, 5,
			"SRC_IP 10.0.0.0/8, L4_SRC_PORT_RANGE 1-6", "", -1},
		{func() { b.rule("TAM:F1", "PRIORITY", "9", "SRC_IP", "10.0.0.0/8") }, true, 9, "SRC_IP 10.0.0.0/8", "", -1},
		{func() { b.rule("TAM:F1", "PRIORITY", "9", "SRC_IP", "10.0.0.0/8", "IN_PORTS", "Ethernet0,Ethernet4") }, true, 9,
			"SRC_IP 10.0.0.0/8, IN_PORTS Ethernet0,Ethernet4", "Ethernet0,Ethernet4", 2},
		{func() { b.table("TAM", "TAM", "Ethernet4") }, true, 9, "SRC_IP 10.0.0.0/8, IN_PORTS Ethernet0,Ethernet4",
			"Ethernet0,Ethernet4@Ethernet4", 1},
		{func() { b.table("TAM", "TAM", "Ethernet8") }, true, 9, "SRC_IP 10.0.0.0/8, IN_PORTS Ethernet0,Ethernet4",
			"Ethernet0,Ethernet4@Ethernet8", 0},
	} {
		b.reported = nil
		step.do()
		b.Step()
		in, ok := b.orch.InForce(flow, am)
		var matches []string
		for _, m := range in.Matches {
			matches = append(matches, m.String())
		}
		ports := len(in.Ports)
		if in.Ports == nil {
			ports = -1
		}
		if got := strings.Join(matches, ", "); !ok || got != step.matches || in.Lowest != step.priority ||
			in.Highest != step.priority+1 ||
			in.Interfaces != step.at || ports != step.ports {
			t.Errorf("in force: %+v, want %+v", in, step)
		}
		if reported := slices.Contains(b.reported, flow); reported != step.reported {
			t.Errorf("%s: told %v, want %v", step.matches, reported, step.reported)
		}
		if same := in.Changed == changed; same && step.at == "" {
			t.Errorf("%s: the entries have changed, and that does not show", step.matches)
		}
		changed = in.Changed
	}
	if err := b.unbindVariants(); err != nil {
		t.Fatal(err)
	}
	if in, ok := b.orch.InForce(flow, am); ok {
		t.Errorf("no longer bound: %+v", in)
	}
}
