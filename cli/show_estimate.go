package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// estimates writes a table of a list of estimates, and below it the theories of their bounds. Further quantities, each
// a head and a leaf, stand between key and estimate.
func (p *printout) estimates(head, leaf string, entries []tree, further ...string) {
	columns := []column{{head, 12, 2}}
	for i := 0; i < len(further); i += 2 {
		columns = append(columns, column{further[i], 10, 2})
	}
	columns = append(columns, estimateColumns...)
	flagged := slices.ContainsFunc(entries, func(e tree) bool { return e.text("state", "flags") != "" })
	if flagged {
		columns = withFlags(columns)
	}
	var rows [][]string
	var bounds theories
	for _, e := range entries {
		state := e.at("state")
		cells := estimateCells(state)
		bounds.add(e.text(leaf), cells, state.text("bound"))
		row := []string{e.text(leaf)}
		for i := 1; i < len(further); i += 2 {
			row = append(row, orDash(quantity(state, further[i])))
		}
		if row = append(row, cells...); flagged {
			row = append(row, orDash(state.text("flags")))
		}
		rows = append(rows, row)
	}
	p.line("")
	p.table(columns, rows)
	p.after(bounds.lines())
}

// theories are those that the bounds of a table come from, each with its rows. Exact values need
// none.
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

// lines writes each theory once, and not very many.
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

var estimateColumns = []column{{"Estimate", 10, 2}, {"Bound", 12, 2}, {"Exact", 10, 2}, {"Error", 7, 0}}

// withFlags returns the columns with one more, for flags.
func withFlags(columns []column) []column {
	columns[len(columns)-1].gap = 2
	return append(columns, column{"Flags", 5, 0})
}

// estimateCells returns an estimate, its bounds as distances, the exact value if the chip knows it,
// and the error.
func estimateCells(s tree) []string {
	v, ok := number64(s, "estimate")
	if !ok {
		bound := "-"
		if s.text("saturated") == "true" {
			bound = "saturated"
		}
		return []string{"-", bound, orDash(quantity(s, "exact")), "-"}
	}
	failure := "-"
	if exact, known := number64(s, "exact"); known && exact != 0 {
		failure = fmt.Sprintf("%+.2f %%", 100*(v-exact)/exact)
	} else if known && v == 0 {
		failure = "+0.00 %"
	}
	return []string{quantity(s, "estimate"), boundText(s, v), orDash(quantity(s, "exact")), failure}
}

const (
	exactBound = "exact"
	noBound    = "no bound"
)

// rounding is how far two equal distances may differ after the tree's numbers were rounded.
const rounding = 0.0003

// boundText is "± 3 (95 %)", or with two sides "-3 +0 (95 %)".
func boundText(s tree, v float64) string {
	lower, ok := number64(s, "lower")
	upper, both := number64(s, "upper")
	c, known := number64(s, "confidence")
	sure := ""
	if known {
		sure = " (" + plain(100*c) + " %)"
	}
	full := ""
	if s.text("saturated") == "true" {
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

// number64 is a decimal number of the tree.
func number64(t tree, leaf string) (float64, bool) {
	v, err := strconv.ParseFloat(t.text(leaf), 64)
	return v, err == nil
}

// quantity is a decimal number as people read it; "" where there is none.
func quantity(t tree, leaf string) string {
	v, ok := number64(t, leaf)
	if !ok {
		return t.text(leaf)
	}
	return plain(v)
}

// plain writes a number with a useful number of digits.
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

// percent writes a share as a percentage.
func percent(t tree, leaf string) string {
	v, ok := number64(t, leaf)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(100*v, 'f', 2, 64), "0"), ".") + " %"
}
