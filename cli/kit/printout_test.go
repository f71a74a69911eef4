package kit

import (
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
