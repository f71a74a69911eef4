package cli

import (
	"encoding/json"
	"reflect"
	"testing"

	"tamtam/cli/tree"
	"tamtam/tam/record"
)

// `show tam table-record plan NAME | json` prints the plan itself. It contains everything that a reader of records
// needs, to the last bit.
func TestTableRecordPlanJSON(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tablerecord.json"))
	sent := ""
	for _, session := range (tree.Of(s.server.tree)).Sorted("tam", "tablerecord-sessions", "tablerecord-session") {
		if session.Name() == "m1" {
			sent = session.Text("state", "plan", "json")
		}
	}
	var got, want record.Plan
	for text, into := range map[string]*record.Plan{s.do(t, "show tam table-record plan m1 | json"): &got, sent: &want} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	got.Seal()
	if want.Seal(); got.ID != want.ID {
		t.Errorf("it seals to %08x, want %08x", got.ID, want.ID)
	}
}
