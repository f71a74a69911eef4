package main

import (
	"os"
	"strings"
	"testing"
)

// The table names each load once, in the order of the loads, and is as written by -update.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("counts.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(known.rows) != len(loads) {
		t.Fatalf("%d loads in the table, want %d", len(known.rows), len(loads))
	}
	for i, r := range known.rows {
		if r.load != loads[i].name {
			t.Errorf("row %d is %q, want %q", i+1, r.load, loads[i].name)
		}
	}
	if known.String() != string(text) {
		t.Errorf("the table is not as written: %s", known)
	}
}

// A count may differ by one percent, but not more, in either direction.
func TestCompare(t *testing.T) {
	known := table{"go1, x", []row{{"bridged", 1000}}}
	for _, tt := range []struct {
		now  []row
		want string
	}{
		{[]row{{"bridged", 1010}}, ""},
		{[]row{{"bridged", 990}}, ""},
		{[]row{{"bridged", 1011}}, "more than one percent above 1000"},
		{[]row{{"bridged", 989}}, "must follow"},
		{[]row{{"bridged", 1000}, {"routed", 1}}, "routed: not in the table"},
		{nil, "bridged: in the table, but no load"},
	} {
		got := ""
		if err := compare(known, table{"go1, x", tt.now}, new(strings.Builder)); err != nil {
			got = err.Error()
		}
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%v: %q, want %q", tt.now, got, tt.want)
		}
	}
}

// A table with a line that is none is refused, with the line.
func TestParse(t *testing.T) {
	for _, text := range []string{"", "on go1, x\n12 bridged\n", "on go1, x\n0  bridged\n", "on go1, x\nbridged\n"} {
		if got, err := parse(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}
