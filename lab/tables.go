package lab

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tamtam/device"
)

// WriteChecks prints the checks as a table.
func (r *Result) WriteChecks(out io.Writer) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\tCheck\tWant\tMeasured\t")
	for _, c := range r.Checks {
		mark := "ok"
		if !c.Pass {
			mark = "FAILED"
		}
		want := c.Limit
		if c.Paper != c.Limit {
			want = fmt.Sprintf("%s (paper: %s)", c.Limit, c.Paper)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s %s\t\n", mark, c.Name, want, c.Measured, c.Unit)
	}
	return w.Flush()
}

// WriteFlows prints what became of each flow group; of a study its curves.
func (r *Result) WriteFlows(out io.Writer) error {
	if r.FlyMon != nil {
		return r.FlyMon.write(out)
	}
	if r.TableRecord != nil {
		return r.TableRecord.write(out)
	}
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "Flow group\tSent\tReceived\tLost\tDelay min\tmean\tp99\tmax\tLost where")
	for _, name := range device.SortedKeys(r.Flows) {
		f := r.Flows[name]
		var where []string
		for _, p := range device.SortedKeys(f.LostBy) {
			where = append(where, fmt.Sprintf("%s %d", p, f.LostBy[p]))
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%v\t%v\t%v\t%v\t%s\n", name, f.Sent, f.Received, f.Lost,
			f.Delay.Min, f.Delay.Mean, f.Delay.P99, f.Delay.Max, strings.Join(where, ", "))
	}
	return w.Flush()
}
