package tam

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// writeEstimates writes a table of estimates, and below it the theories behind their bounds. further contains
// additional columns between key and estimate, each with a heading and a leaf.
func writeEstimates(p *kit.Printout, head, leaf string, entries []tree.Node, further ...string) {
	columns := []kit.Column{kit.Col(head, 12, 2)}
	for i := 0; i < len(further); i += 2 {
		columns = append(columns, kit.Col(further[i], 10, 2))
	}
	columns = append(columns, estimateColumns...)
	flagged := slices.ContainsFunc(entries, func(e tree.Node) bool { return e.Text("state", "flags") != "" })
	if flagged {
		columns = withFlags(columns)
	}
	var rows [][]string
	var bounds theories
	for _, e := range entries {
		state := e.At("state")
		cells := estimateCells(state)
		bounds.add(e.Text(leaf), cells, state.Text("bound"))
		row := []string{e.Text(leaf)}
		for i := 1; i < len(further); i += 2 {
			row = append(row, kit.OrDash(quantity(state, further[i])))
		}
		if row = append(row, cells...); flagged {
			row = append(row, kit.OrDash(state.Text("flags")))
		}
		rows = append(rows, row)
	}
	p.Line("")
	p.Table(columns, rows)
	p.After(bounds.lines())
}

// theories contains the sources of the bounds in a table, each with its rows. Exact values have no source.
type theories struct {
	texts []string // in the order of the table
	rows  map[string][]string
	all   int
}

func (t *theories) add(row string, cells []string, text string) {
	t.all++
	if text == "" || cells[1] == exactBound {
		return
	}
	if t.rows == nil {
		t.rows = map[string][]string{}
	}
	if t.rows[text] == nil {
		t.texts = append(t.texts, text)
	}
	t.rows[text] = append(t.rows[text], row)
}

// lines returns one line for each theory, up to a maximum.
func (t *theories) lines() []string {
	const most, names = 6, 3
	var out []string
	for i, text := range t.texts {
		if i == most {
			return append(out, fmt.Sprintf("and %d more, which | json shows", len(t.texts)-most))
		}
		rows := t.rows[text]
		switch n := len(rows); {
		case n == t.all:
			out = append(out, "Bound: "+text)
		case n > names:
			out = append(out, fmt.Sprintf("Bound of %s and %d more: %s", strings.Join(rows[:names], ", "), n-names, text))
		default:
			out = append(out, fmt.Sprintf("Bound of %s: %s", strings.Join(rows, ", "), text))
		}
	}
	return out
}

var estimateColumns = []kit.Column{kit.Col("Estimate", 10, 2), kit.Col("Bound", 12, 2), kit.Col("Exact", 10, 2),
	kit.Col("Error", 7, 0)}

// withFlags returns the columns with an additional one for flags.
func withFlags(columns []kit.Column) []kit.Column {
	columns[len(columns)-1].Gap = 2
	return append(columns, kit.Col("Flags", 5, 0))
}

// estimateCells returns the cells of an estimate. They hold the estimate, the distances to its bounds, the exact value
// if the chip reports one, and the error.
func estimateCells(s tree.Node) []string {
	v, ok := number64(s, "estimate")
	if !ok {
		bound := "-"
		if s.Text("saturated") == "true" {
			bound = "saturated"
		}
		return []string{"-", bound, kit.OrDash(quantity(s, "exact")), "-"}
	}
	failure := "-"
	if exact, known := number64(s, "exact"); known && exact != 0 {
		failure = fmt.Sprintf("%+.2f %%", 100*(v-exact)/exact)
	} else if known && v == 0 {
		failure = "+0.00 %"
	}
	return []string{quantity(s, "estimate"), boundText(s, v), kit.OrDash(quantity(s, "exact")), failure}
}

const (
	exactBound = "exact"
	noBound    = "no bound"
)

// rounding is the largest difference at which two distances count as equal, since the tree rounds numbers.
const rounding = 0.0003

// boundText returns a bound such as "± 3 (95 %)", or with two sides "-3 +0 (95 %)".
func boundText(s tree.Node, v float64) string {
	lower, ok := number64(s, "lower")
	upper, both := number64(s, "upper")
	c, known := number64(s, "confidence")
	sure := ""
	if known {
		sure = " (" + plain(100*c) + " %)"
	}
	full := ""
	if s.Text("saturated") == "true" {
		full = "saturated, "
	}
	switch {
	case !ok:
		return full + noBound
	case !both:
		return full + plain(lower) + " or more" + sure
	case full != "":
		return "saturated"
	case lower == v && upper == v && c == 1:
		return exactBound
	}
	below, above := v-lower, upper-v
	if math.Abs(below-above) < rounding {
		return "± " + plain(max(below, above)) + sure
	}
	return fmt.Sprintf("-%s +%s%s", plain(below), plain(above), sure)
}

// number64 returns a decimal number of the tree, or false if there is none.
func number64(t tree.Node, leaf string) (float64, bool) {
	v, err := strconv.ParseFloat(t.Text(leaf), 64)
	return v, err == nil
}

// quantity formats a decimal number for display, or returns "" if there is none.
func quantity(t tree.Node, leaf string) string {
	v, ok := number64(t, leaf)
	if !ok {
		return t.Text(leaf)
	}
	return plain(v)
}

// plain formats a number with a useful number of digits.
func plain(v float64) string {
	digits := 4
	switch a := math.Abs(v); {
	case a >= 1000:
		digits = 0
	case a >= 10:
		digits = 2
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// percent formats a share as a percentage.
func percent(t tree.Node, leaf string) string {
	v, ok := number64(t, leaf)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(100*v, 'f', 2, 64), "0"), ".") + " %"
}
