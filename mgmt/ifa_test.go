package mgmt

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

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
		if err != nil || !strings.Contains(got, want) || strings.Contains(got, map[string]string{"drops": "edge", "edge": "drops"}[want]) {
			t.Errorf("%s: %s %v, want %s alone", list, got, err, want)
		}
	}
	req := &gpb.SetRequest{Update: []*gpb.Update{
		update("/tam/ifa-sessions/ifa-session[name=drops]/config", `{"role": "transit"}`)}}
	if _, err := b.client.Set(b.ctx, req); err == nil || !strings.Contains(err.Error(), "TAM_SESSION|drops is of another type") {
		t.Errorf("%v, want that the name is taken", err)
	}
}
