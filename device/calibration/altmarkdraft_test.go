package calibration

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"

	"tamtam/device/devicetest"
	"tamtam/mgmt"
	"tamtam/saisim/profile"
)

// A running switch reports a session in force equally under our names and under those of the IETF's draft.
func TestAltMarkByDraftsNames(t *testing.T) {
	m := newMarked(t, profile.Small(), "role", "terminator", "method", "double", "mark", "dscp0", "mark2", "dscp1",
		"clear", "true")
	server, err := mgmt.NewServer(mgmt.Config{Redis: m.Redis, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	get := func(path string) (got map[string]any) {
		t.Helper()
		p, err := ygot.StringToStructuredPath(path)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Get(t.Context(), &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: gpb.Encoding_JSON})
		if err != nil {
			t.Fatal(err)
		}
		devicetest.NoError(t, json.Unmarshal(resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonVal(), &got))
		return got
	}
	ours, draft := get("/tam/alt-mark-sessions/alt-mark-session[name=m]/state"),
		get("/altmark/altmark-profiles/altmark-profile[altmark-profile-name=m]")
	if ours["status"] != "active" || ours["role"] != "terminator" || ours["method"] != "double" || ours["clear"] != true ||
		fmt.Sprint(ours["interval"]) != "-10" {
		t.Fatalf("the session is %v", ours)
	}
	want := map[string]any{
		"altmark-profile-name": "m", "filter": map[string]any{"filter-type": "acl-filter", "ace-name": ours["flowgroup"]},
		"direction": "egress", "interface-action": "action-unmarking", "method-type": "double-marking",
		"measurement-period": 976_562_500.0, "enable-loss-measurement": true, "enable-delay-measurement": true,
	}
	if !reflect.DeepEqual(draft, want) {
		t.Errorf("by the draft's names it is %v, want %v", draft, want)
	}
	on, all := get("/altmark/admin-config"), get("/altmark/available-interfaces")
	if ports, _ := all["available-interface"].([]any); on["enabled"] != true || len(ports) != 2 {
		t.Errorf("enabled is %v, available interfaces are %v, want true and both ports", on, all)
	}
}
