package main

import (
	"encoding/json"
	"testing"
)

// The table of tools is well-formed, and names every tool once for each outcome.
func TestTable(t *testing.T) {
	tools, err := parseTools(toolsText)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, x := range tools {
		if id := x.command + x.text; seen[id] {
			t.Errorf("%s is there twice", x.command)
		} else {
			seen[id] = true
		}
	}
	var config map[string]map[string]map[string]any
	if err := json.Unmarshal(configText, &config); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"show: x", "row: x => CONFIG_DB a", "figure: x => y", "test: x => y", "show: x => ("} {
		if _, err := parseTools(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
