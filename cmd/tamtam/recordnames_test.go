package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/swss/schema"
)

// If the name of an ACL rule is too long for a record, a config_db.json supplies it.
func TestRuleNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config_db.json")
	const long = "DATAACL|RULE_OF_A_LONG_NAME"
	text := `{"ACL_RULE": {"EDGE|RULE_1": {"PRIORITY": "1"}, "` + long + `": {"PRIORITY": "2"}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	label := schema.ACLRuleKey{Table: "DATAACL", Rule: "RULE_OF_A_LONG_NAME"}.Label()
	if len(label) != schema.MaxLabel || !strings.HasPrefix(label, "DATAAC#") {
		t.Errorf("the label is %q", label)
	}
	names, err := ruleNames(file)
	if want := map[string]string{"EDGE|RULE_1": "EDGE|RULE_1", label: long}; err != nil || !maps.Equal(names, want) {
		t.Errorf("%v %v, want %v", names, err, want)
	}
	if names, err := ruleNames(""); names != nil || err != nil {
		t.Errorf("without a file: %v %v", names, err)
	}
	if _, err := ruleNames(file + ".none"); err == nil || !strings.Contains(err.Error(), "--config") {
		t.Errorf("of a file that is not there: %v", err)
	}
}
