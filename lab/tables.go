package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"tamtam/device"
)

// WriteChecks prints the checks as a table.
func (r *Result) WriteChecks(out io.Writer) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\tCheck\tWant\tMeasured")
	for _, c := range r.Checks {
		mark := "ok"
		switch {
		case c.Failed():
			mark = "FAILED"
		case c.Pass == nil:
			mark = "" // the value is only reported
		}
		want := c.Limit
		if c.Paper != c.Limit {
			want = strings.TrimSpace(fmt.Sprintf("%s (paper: %s)", c.Limit, c.Paper))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", mark, c.Name, want, c.measured(string(c.Measured)))
	}
	return w.Flush()
}

// measured returns a number with its unit, or the text for a missing one.
func (c *CheckResult) measured(number string) string {
	if c.Measured == "" {
		return unmeasured
	}
	return strings.TrimSpace(number + " " + c.Unit)
}

// WriteMarkdown prints the checks as a table for a page. Columns without any value are left out.
func (r *Result) WriteMarkdown(out io.Writer) error {
	rows := [][]string{{"", "the paper", "want", "measured"}}
	known := make([]bool, len(rows[0]))
	for _, c := range r.Checks {
		row := []string{c.Name, "", c.Limit, c.measured(rounded(c.Measured, c.Unit))}
		if c.Paper != c.Limit {
			row[1] = c.Paper
		}
		if c.Theory != "" {
			row[2] = strings.TrimPrefix(row[2]+", theory "+rounded(c.Theory, c.Unit), ", ")
		}
		if c.Least != "" {
			row[3] += fmt.Sprintf(" (%s to %s)", rounded(c.Least, c.Unit), rounded(c.Most, c.Unit))
		}
		if c.Failed() {
			row[3] += " FAILED"
		}
		for i := range row {
			row[i] = strings.ReplaceAll(strings.TrimSpace(row[i]), "|", `\|`)
			known[i] = known[i] || row[i] != ""
		}
		rows = append(rows, row)
	}
	for i, row := range rows {
		line, rule := "|", "|"
		for k, cell := range row {
			if known[k] {
				line, rule = line+" "+cell+" |", rule+" --- |"
			}
		}
		if i == 0 {
			line = strings.Replace(line, "|  |", "| |", 1) + "\n" + rule
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// rounded rounds a fractional number without a unit to four digits, or to an integer from 1000 on.
func rounded(n json.Number, unit string) string {
	v, err := n.Float64()
	if err != nil || unit != "" || !strings.Contains(string(n), ".") {
		return string(n)
	}
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// WriteFlows prints the fate of each flow group, and the tables of studies.
func (r *Result) WriteFlows(out io.Writer) error {
	for _, name := range r.reports() {
		if err := r.Reports[name].WriteTable(out); err != nil {
			return err
		}
	}
	if len(r.Switches) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "Flow group\tSent\tReceived\tLost\tDelay min\tmean\tp99\tmax\tLost where")
	for _, name := range device.SortedKeys(r.Flows) {
		f := r.Flows[name]
		var where []string
		for _, p := range device.SortedKeys(f.LostBy) {
			where = append(where, fmt.Sprintf("%s %d", p, f.LostBy[p]))
		}
		delay := "-\t-\t-\t-"
		if f.Received > 0 {
			delay = fmt.Sprintf("%v\t%v\t%v\t%v", f.Delay.Min, f.Delay.Mean, f.Delay.P99, f.Delay.Max)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\n", name, f.Sent, f.Received, f.Lost, delay, strings.Join(where, ", "))
	}
	return w.Flush()
}
