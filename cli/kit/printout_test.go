package kit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A table that is wider than the screen is not cut within a cell.
func TestTableFitsTheScreen(t *testing.T) {
	columns := []Column{Col("Interface", 14, 2), Col("RX_OK", 10, 2), Col("RX_BYTES", 12, 2), Col("Reason", 6, 0)}
	rows := [][]string{{"Ethernet0", "123456", "7890123456", "-"}, {"Ethernet4", "1", "2", "the cage is empty and dark"}}
	for _, tt := range []struct {
		width int
		want  string
	}{
		{0, `
Interface       RX_OK       RX_BYTES      Reason
--------------  ----------  ------------  --------------------------
Ethernet0       123456      7890123456    -
Ethernet4       1           2             the cage is empty and dark
`},
		{60, `
Interface  RX_OK   RX_BYTES    Reason
---------  ------  ----------  --------------------------
Ethernet0  123456  7890123456  -
Ethernet4  1       2           the cage is empty and dark
`},
		{56, `
Interface  RX_OK   RX_BYTES    Reason
---------  ------  ----------  -------------------------
Ethernet0  123456  7890123456  -
Ethernet4  1       2           the cage is empty and
                               dark
`},
		{40, `
Interface  RX_OK   RX_BYTES
---------  ------  ----------
Ethernet0  123456  7890123456
Ethernet4  1       2

Interface  Reason
---------  --------------------------
Ethernet0  -
Ethernet4  the cage is empty and dark
`},
	} {
		p := &Printout{Width: tt.width}
		p.Table(columns, rows)
		want := strings.TrimPrefix(tt.want, "\n")
		if diff := cmp.Diff(want, p.String()); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", tt.width, diff)
		}
	}
}

func TestFieldsAreWrapped(t *testing.T) {
	p := &Printout{Width: 40}
	p.Field(8, "Reason", "the flow group web does not exist, see 4000000000")
	want := "Reason  : the flow group web does not\n          exist, see 4000000000\n"
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// On a narrow screen a column without any text is left out.
func TestTableWithoutEmptyColumns(t *testing.T) {
	columns := []Column{Col("Group", 10, 2), Col("Status", 6, 2), Col("Reason", 6, 0)}
	rows := [][]string{{"default", "active", ""}}
	p := &Printout{Width: 20}
	p.Table(columns, rows)
	if want := "Group    Status\n-------  ------\ndefault  active\n"; p.String() != want {
		t.Errorf("%q, want %q", p.String(), want)
	}
	p = &Printout{}
	if p.Table(columns, rows); !strings.Contains(p.String(), "Reason") {
		t.Errorf("a table for a file has not all columns:\n%s", p)
	}
}

// Rows whose first cells are blank are named by as many columns as they need.
func TestTablePartsNameTheirRows(t *testing.T) {
	p := &Printout{Width: 30}
	p.Table([]Column{Col("Table", 5, 2), Col("Rule", 4, 2), Col("Packets", 7, 2), Col("Bytes", 5, 0)},
		[][]string{{"EDGE", "", "", ""}, {"", "web", "12345678", "1234567890"}})
	want := `Table  Rule  Packets
-----  ----  --------
EDGE
       web   12345678

Table  Rule  Bytes
-----  ----  ----------
EDGE
       web   1234567890
`
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Columns align if cells have wide characters, and characters that a terminal would obey are escaped.
func TestTableOfOtherScripts(t *testing.T) {
	p := &Printout{}
	p.Table([]Column{Col("Port", 4, 2), Col("Description", 5, 2), Col("MTU", 3, 0)},
		[][]string{{"Eth0", "漢字の説明です", "9100"}, {"Eth4", "e\u0301t\u0301", "1"}, {"Eth8", "a\u202eb\x1b[2J", "2"}})
	want := "Port  Description      MTU\n----  ---------------  ----\nEth0  漢字の説明です   9100\n" +
		"Eth4  e\u0301t\u0301               1\nEth8  a\\u202eb\\x1b[2J  2\n"
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Characters that a terminal would obey are escaped in data too, whose value stays.
func TestDataOfOtherScripts(t *testing.T) {
	v := NewView(map[string]any{"a": "b\u202ec\u0085", "count": json.Number("1")}, nil)
	for form, want := range map[string]string{
		"json": "{\n  \"a\": \"b\\u202ec\\u0085\",\n  \"count\": 1\n}\n", "yaml": "a: \"b\\u202ec\\N\"\ncount: 1\n",
	} {
		got, err := v.Through([]Pipe{{Word: form}}, 0)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", form, got, err, want)
		}
	}
}

func TestSyntaxErrorOfOtherScripts(t *testing.T) {
	e := &SyntaxError{Line: "漢\u202e x", Col: 7, Reason: "no \u202e"}
	if got, want := e.Error(), "%Error: No \\u202e\n  漢\\u202e x\n           ^"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
