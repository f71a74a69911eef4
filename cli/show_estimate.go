package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// estimates writes a table of the entries of a list of estimates, and below it
// what their bounds are from.
func (p *page) estimates(head, leaf string, entries []tree) {
	columns := append([]column{{head, 12, 2}}, estimateColumns...)
	var rows [][]string
	var bounds []string
	for _, e := range entries {
		s := e.at("state")
		rows = append(rows, append([]string{e.text(leaf)}, estimateCells(s)...))
		bounds = append(bounds, s.text("bound"))
	}
	p.line("")
	p.table(columns, rows)
	p.boundLines(bounds)
}

// boundLines writes each theory once.
func (p *page) boundLines(bounds []string) {
	slices.Sort(bounds)
	var lines []string
	for _, b := range slices.Compact(bounds) {
		if b != "" {
			lines = append(lines, "Bound: "+b)
		}
	}
	p.after(lines)
}

var estimateColumns = []column{{"Estimate", 10, 2}, {"Bound", 12, 2}, {"Exact", 10, 2}, {"Error", 7, 0}}

// estimateCells are an estimate, its bounds as distances, the exact value where
// the chip knows it, and how far it is.
func estimateCells(s tree) []string {
	v, ok := number64(s, "estimate")
	if !ok {
		return []string{"-", "-", orDash(quantity(s, "exact")), "-"}
	}
	failure := "-"
	if exact, known := number64(s, "exact"); known && exact != 0 {
		failure = fmt.Sprintf("%+.2f %%", 100*(v-exact)/exact)
	} else if known && v == 0 {
		failure = "+0.00 %"
	}
	return []string{quantity(s, "estimate"), boundText(s, v), orDash(quantity(s, "exact")), failure}
}

// boundText is "± 3 (95 %)", or with two sides "-3 +0 (95 %)".
func boundText(s tree, v float64) string {
	lower, ok := number64(s, "lower")
	upper, both := number64(s, "upper")
	switch {
	case s.text("saturated") == "true":
		return "saturated"
	case !ok || !both:
		return "-"
	case lower == v && upper == v:
		return "exact"
	}
	sure := ""
	if c, ok := number64(s, "confidence"); ok {
		sure = " (" + plain(100*c) + " %)"
	}
	below, above := plain(v-lower), plain(upper-v)
	if below == above {
		return "± " + above + sure
	}
	return fmt.Sprintf("-%s +%s%s", below, above, sure)
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

// plain writes a number with as many digits as are of use.
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

// percent writes a part of one.
func percent(t tree, leaf string) string {
	v, ok := number64(t, leaf)
	if !ok {
		return ""
	}
	return plain(100*v) + " %"
}
