package mgmt

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A session of the drop monitor that is refused is not one that waits. A row with SONiC's two words alone does not say
// which, and neither does what is read of it.
func TestRefusedDropSession(t *testing.T) {
	b := newBed(t, nil)
	const at = "/tam/drop-monitor-sessions/drop-monitor-session[name=s]/state"
	for row, want := range map[string][2]string{
		"state=failed status=inactive":   {"failed", "3"},
		"state=pending status=inactive":  {"pending", "2"},
		"state=active status=active":     {"active", "1"},
		"state=unknown status=unknown":   {"unknown", "4"},
		"status=active":                  {"active", "1"},
		"status=inactive":                {},
		"state=nonsense status=inactive": {},
	} {
		b.rows(map[string]string{"STATE_DB TAM_DROP_MONITOR_SESSION_TABLE|s": ""})
		b.rows(map[string]string{
			"CONFIG_DB TAM_SESSION|s":                   "type=drop-monitor report_type=ipfix collector=c",
			"STATE_DB TAM_DROP_MONITOR_SESSION_TABLE|s": row + " reason=why by=orchagent",
		})
		for i, leaf := range []string{"status", "status-number"} {
			got, err := b.get(at + "/" + leaf)
			if want := want[i]; want == "" && err == nil && got != "" || want != "" && !strings.Contains(got, want) {
				t.Errorf("%s: %s is %s %v, want %q", row, leaf, got, err, want)
			}
		}
		if got, err := b.get(at + "/reason"); err != nil || !strings.Contains(got, "why") {
			t.Errorf("%s: reason %s %v", row, got, err)
		}
	}
}

// Sessions of both types are rows of one table: each is in its own list, and none takes the name of another.
func TestSessionsOfTwoTypes(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"CONFIG_DB TAM_SESSION|drops": "type=drop-monitor report_type=ipfix collector=c",
		"CONFIG_DB TAM_SESSION|edge":  "type=ifa role=transit",
	})
	for list, want := range map[string]string{
		"/tam/drop-monitor-sessions": "drops", "/tam/ifa-sessions": "edge",
	} {
		got, err := b.get(list)
		if err != nil || !strings.Contains(got, want) || strings.Contains(got,
			map[string]string{"drops": "edge", "edge": "drops"}[want]) {
			t.Errorf("%s: %s %v, want %s alone", list, got, err, want)
		}
	}
	req := &gpb.SetRequest{Update: []*gpb.Update{
		update("/tam/ifa-sessions/ifa-session[name=drops]/config", `{"role": "transit"}`)}}
	if _, err := b.client.Set(b.ctx, req); err == nil || !strings.Contains(err.Error(),
		"TAM_SESSION|drops is of another type") {
		t.Errorf("%v, want that the name is taken", err)
	}
}
