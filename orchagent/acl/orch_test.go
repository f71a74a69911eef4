package acl

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

func (b *bench) table(name, typ, ports string) {
	b.Set(schema.AppACLTable, name, "TYPE", typ, "STAGE", "INGRESS", "PORTS", ports)
}

func (b *bench) rule(key string, fields ...string) { b.Set(schema.AppACLRule, key, fields...) }

// Whichever call fails, the table or the rule is undone completely, its status contains the reason, and it succeeds
// when its row is written again.
func TestEveryFailureIsUndone(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t, saitest.Options{})
		b.Rec.FailAt(n, sai.StatusFailure)
		b.table("T", "L3", "Ethernet0,Ethernet4")
		b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "L4_DST_PORT_RANGE", "1-2", "PACKET_ACTION", "DROP")
		b.Step()
		table, rule := b.Status(schema.StateACLTable+"|T"), b.Status(schema.StateACLRule+"|T|R")
		if table == "Active" && rule == "Active" {
			break
		}
		want := 0
		switch {
		case strings.HasPrefix(table, "Inactive: ") && strings.Contains(table, "SAI_STATUS_FAILURE"):
		case strings.HasPrefix(rule, "Inactive: ") && strings.Contains(rule, "SAI_STATUS_FAILURE"):
			want = 1
		default:
			t.Errorf("call %d failed: table %q, rule %q", n, table, rule)
		}
		if n := len(b.Rec.LiveOf(sai.ObjectTypeACLTable)); n != want {
			t.Errorf("%d tables, want %d", n, want)
		}
		for _, typ := range []sai.ObjectType{sai.ObjectTypeACLEntry, sai.ObjectTypeACLCounter, sai.ObjectTypeACLRange} {
			if live := b.Rec.LiveOf(typ); len(live) > 0 {
				t.Errorf("call %d failed: %v", n, live)
			}
		}
		b.Rec.FailAt(0, 0)
		b.table("T", "L3", "Ethernet0,Ethernet4")
		b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "L4_DST_PORT_RANGE", "1-2", "PACKET_ACTION", "DROP")
		b.Step()
		b.WantStatus(schema.StateACLRule, "T|R", "Active")
		b.Del(schema.AppACLTable, "T")
		b.Del(schema.AppACLRule, "T:R")
		b.Step()
		if live := b.Rec.Live(); len(live) != 1 { // only the switch object may remain
			t.Errorf("call %d failed; left behind: %v", n, live)
		}
	}
}

// The removal of an entry or a counter that the ASIC refuses is repeated after a second, although no row changes.
func TestFailedRemovalIsRepeated(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t, saitest.Options{})
		b.table("T", "L3", "Ethernet0,Ethernet4")
		b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "L4_DST_PORT_RANGE", "1-2", "PACKET_ACTION", "DROP")
		b.Step()
		b.Rec.FailAt(n, sai.StatusFailure)
		b.Del(schema.AppACLRule, "T:R")
		b.Step()
		if b.Rec.Changes() < n {
			break
		}
		b.Pass(time.Second)
		for _, typ := range []sai.ObjectType{sai.ObjectTypeACLEntry, sai.ObjectTypeACLCounter} {
			if live := b.Rec.LiveOf(typ); len(live) > 0 {
				t.Errorf("call %d failed; left behind: %v", n, live)
			}
		}
	}
}

func TestStageCapability(t *testing.T) {
	b := newBench(t, saitest.Options{})
	row, _, err := swss.NewTable(b.Redis.DB(swss.StateDB), schema.StateACLStageCap).Get(b.Ctx, "INGRESS")
	if err != nil || row["is_action_list_mandatory"] != "false" ||
		!strings.Contains(row["action_list"], "PACKET_ACTION,REDIRECT_ACTION,") {
		t.Errorf("INGRESS = %v, %v", row, err)
	}
}

// limitedActions is a switch whose rules support fewer actions, or that does not report its actions.
type limitedActions struct {
	sai.API
	words []sai.Enum
	err   error
}

func (f limitedActions) EnumCapability(ctx context.Context, id sai.AttrID) ([]sai.Enum, error) {
	if id == sai.ACLEntryAttrActionPacketAction {
		return f.words, f.err
	}
	return f.API.EnumCapability(ctx, id)
}

// SWITCH_CAPABILITY contains the actions of ACL rules in the form that SONiC's acl-loader reads. The loader omits
// actions that are not listed there from the rules that it installs.
func TestSwitchCapability(t *testing.T) {
	for name, tt := range map[string]struct {
		limited limitedActions
		want    string
	}{
		"all":       {limitedActions{words: sai.Meta(sai.ACLEntryAttrActionPacketAction).Enum.Values}, "COPY,DROP,FORWARD"},
		"some":      {limitedActions{words: []sai.Enum{sai.PacketActionDrop, sai.PacketActionTrap}}, "DROP"},
		"no answer": {limitedActions{err: sai.StatusNotSupported}, "COPY,DROP,FORWARD"},
	} {
		b := newBench(t, saitest.Options{})
		tt.limited.API = b.orch.asic.api
		b.orch.asic.api = tt.limited
		cfg := Config{Daemon: b.Daemon, Redis: b.Redis, Switch: b.orch.asic.crm.switchID}
		if err := b.orch.readLimits(b.Ctx, cfg); err != nil {
			t.Fatal(err)
		}
		row, _, err := swss.NewTable(b.Redis.DB(swss.StateDB), "SWITCH_CAPABILITY").Get(b.Ctx, "switch")
		if err != nil || row["ACL_ACTION|PACKET_ACTION"] != tt.want {
			t.Errorf("%s: %v, %v, want the packet actions %s", name, row, err, tt.want)
		}
		for stage, want := range map[string]string{"INGRESS": "MIRROR_INGRESS_ACTION", "EGRESS": "MIRROR_EGRESS_ACTION"} {
			got := strings.Split(row["ACL_ACTIONS|"+stage], ",")
			if !slices.Contains(got, "PACKET_ACTION") || !slices.Contains(got, want) {
				t.Errorf("%s: the actions at %s are %v", name, stage, got)
			}
		}
	}
}

// Labels of counters are unique per rule and at most 15 bytes long, the limit of SAI's metadata library.
func TestLabels(t *testing.T) {
	key := func(s string) schema.ACLRuleKey { return schema.ACLRuleKey{Table: "TAM", Rule: s} }
	long := strings.Repeat("x", 200)
	for _, tt := range []struct {
		key  schema.ACLRuleKey
		want string
	}{
		{key("web"), "ts:web"},
		{key(strings.Repeat("x", 12)), "ts:" + strings.Repeat("x", 12)},
		{schema.ACLRuleKey{Table: "T2", Rule: "web"}, "ts:T2:web"},
		{key(strings.Repeat("x", 13)), "ts#"},
		{key(long + "1"), "ts#"},
	} {
		got := label(entryKey{feature: schema.FeatureTailStamping}, tt.key)
		if !strings.HasPrefix(got, tt.want) || len(got) > 15 || tt.want != "ts#" && got != tt.want {
			t.Errorf("label of %s = %q, want %q", tt.key, got, tt.want)
		}
	}
	if label(entryKey{feature: schema.FeatureTailStamping}, key(long+"1")) == label(
		entryKey{feature: schema.FeatureTailStamping}, key(long+"2")) {
		t.Error("two rules have one label")
	}
}
