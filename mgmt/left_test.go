package mgmt

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// For a Set, a deleted entry does not exist, even if it is still in force.
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

// A subscriber to state gets a deleted entry until it is no longer in force. A subscriber to config gets its delete
// immediately.
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
	// The two subscriptions read one after the other. When the second one handles the previous change, it may already
	// see the deletion.
	s.wantInAnyOrder("D "+sessionS+"/state/not-in-force", "D "+sessionS+"/state/flowgroup")
	once = b.subscribe(listOf(gpb.SubscriptionList_ONCE, subOf(onChange, matched)))
	once.want("S")
}
