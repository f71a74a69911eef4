package mgmt

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// configOf is what of a path is configured; empty: nothing.
func (b *bed) configOf(p string) string {
	b.t.Helper()
	resp, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{path(p)}, Type: gpb.GetRequest_CONFIG,
		Encoding: gpb.Encoding_JSON_IETF})
	if err != nil {
		wantErr(b.t, err, "NotFound")
		return ""
	}
	return string(resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
}

// A deleted entry is in its list by what it left in APPL_DB and STATE_DB, with state alone, and
// says what is known of its being in force.
func TestDeletedAndInForce(t *testing.T) {
	const (
		session = "/tam/tailstamping-sessions/tailstamping-session[name=x]"
		group   = "/tam/flowgroups/flowgroup[name=x]"
		appl    = "APPL_DB TAM_TAILSTAMPING_TABLE:x"
		state   = "STATE_DB TAM_STATE_TAILSTAMPING_TABLE|x"
		rule    = "APPL_DB ACL_RULE_TABLE:TAM:x"
		flow    = "acl-table-name=TAM acl-rule-name=f1"
	)
	for _, c := range []struct {
		name, path string
		rows       map[string]string
		want       string // empty: it is gone
	}{
		{"nothing", session, nil, ""},
		{"in force", session, map[string]string{appl: flow, state: "status=active reason= by=orchagent"},
			"it is deleted, and in force still"},
		{"orchagent has not heard", session, map[string]string{appl: flow}, "it is deleted, and may be in force still"},
		{"orchagent cannot take it out", session, map[string]string{state: "status=pending reason=no_answer by=orchagent"},
			"it is deleted, and may be in force still: it is pending: no answer"},
		{"orchagent had it refused", session, map[string]string{appl: flow, state: "status=failed reason=no by=orchagent"},
			"it is deleted, and may be in force still: it is failed: no"},
		{"it never was", session, map[string]string{state: "status=pending reason=no_group by=tammgrd"}, ""},
		{"a rule", group, map[string]string{rule: "PRIORITY=1"}, "it is deleted, and may be in force still"},
		{"a rule in the switch", group, map[string]string{"STATE_DB ACL_RULE_TABLE|TAM|x": "status=Active by=orchagent"},
			"it is deleted, and in force still"},
		{"a rule that stays", group, map[string]string{"CONFIG_DB ACL_RULE|TAM|x": "PRIORITY=1", rule: "PRIORITY=1",
			"STATE_DB ACL_RULE_TABLE|TAM|x": "status=Active by=orchagent"}, ""},
		{"its rule stays", group, map[string]string{"CONFIG_DB ACL_RULE|TAM|x": "PRIORITY=1",
			"STATE_DB TAM_STATE_FLOWGROUP_TABLE|x": "status=active by=tammgrd"}, "it is deleted, and in force still"},
		{"a rule of another table", group, map[string]string{"APPL_DB ACL_RULE_TABLE:T:x": "PRIORITY=1",
			"STATE_DB ACL_RULE_TABLE|T|x": "status=Active by=orchagent"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, nil)
			b.rows(someSwitch())
			b.rows(c.rows)
			list := c.path[:strings.LastIndex(c.path, "[")] + "[name=*]"
			for _, p := range []string{c.path, list, c.path + "/state", c.path + "/state/not-in-force"} {
				got, err := b.get(p)
				if err != nil {
					wantErr(t, err, "NotFound")
				}
				if c.want != "" && !strings.Contains(got, `"`+c.want+`"`) {
					t.Errorf("%s: got %s, want %s", p, got, c.want)
				}
				if c.want == "" && strings.Contains(got, `"x"`) {
					t.Errorf("%s: got %s", p, got)
				}
			}
			if all, _ := b.get(c.path); strings.Contains(all, `:config"`) {
				t.Errorf("config of what is deleted: %s", all)
			}
			for _, p := range []string{c.path, c.path + "/name", c.path + "/config"} {
				if got := b.configOf(p); got != "" {
					t.Errorf("%s is configured: %s", p, got)
				}
			}
		})
	}
}

// To a Set what is deleted is gone, in force or not.
func TestSetOfWhatIsDeletedAndInForce(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	b.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path(sessionS), path("/tam/flowgroups/flowgroup[name=f1]")}})
	for _, p := range []string{sessionS, "/tam/flowgroups/flowgroup[name=f1]"} {
		if got, err := b.get(p); err != nil || !strings.Contains(got, "it is deleted, and in force still") {
			t.Errorf("%s: %s %v", p, got, err)
		}
	}
	before := b.config()
	_, err := b.client.Set(b.ctx, &gpb.SetRequest{Update: []*gpb.Update{update(sessionS+"/config", `{"flowgroup":"f1"}`)}})
	wantErr(t, err, "InvalidArgument", "f1")
	b.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path(sessionS), path("/tam/flowgroups/flowgroup[name=*]")}})
	if after := b.config(); after != before {
		t.Errorf("got\n%s\nwant\n%s", after, before)
	}
	b.mustSet(&gpb.SetRequest{Update: []*gpb.Update{
		update("/tam/flowgroups/flowgroup[name=f1]/config", `{"id":7}`), update(sessionS+"/config", `{"flowgroup":"f1"}`),
	}})
	if got, err := b.get(sessionS + "/state/not-in-force"); err == nil {
		t.Errorf("configured anew as it is in force: %s", got)
	}
}

// Who subscribes to state hears of a deleted entry until it is gone, and who subscribes to config
// that it is not configured at once.
func TestSubscribeToWhatIsDeletedAndInForce(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	only := streamOf(subOf(onChange, sessionS+"/state/not-in-force"), subOf(onChange, sessionS+"/state/flowgroup"),
		subOf(onChange, sessionS+"/config"))
	s := b.subscribe(only)
	s.want("U "+sessionS+`/state/flowgroup "f1"`, "U "+sessionS+`/config/flowgroup "f1"`,
		"U "+sessionS+`/config/name "s1"`, "S")
	b.rows(map[string]string{"CONFIG_DB TAM_TAILSTAMPING_TABLE|s1": ""})
	s.want("U "+sessionS+`/state/not-in-force ["it is deleted, and in force still"]`, "D "+sessionS+"/config")
	b.rows(map[string]string{"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|s1": ""})
	s.want("U " + sessionS + `/state/not-in-force ["it is deleted, and may be in force still"]`)
	once := b.subscribe(listOf(gpb.SubscriptionList_ONCE, subOf(onChange, matched)))
	once.want("U "+matched+` "7656"`, "S")
	b.rows(map[string]string{"APPL_DB TAM_TAILSTAMPING_TABLE:s1": ""})
	// Each subscription reads when its turn comes: the second may have seen the row gone already in the
	// turn of the change before.
	s.wantInAnyOrder("D "+sessionS+"/state/not-in-force", "D "+sessionS+"/state/flowgroup")
	once = b.subscribe(listOf(gpb.SubscriptionList_ONCE, subOf(onChange, matched)))
	once.want("S")
}
