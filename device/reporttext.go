package device

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"tamtam/tam/flymon"
)

// WriteText prints a report as tables; ports without traffic are left out.
func (r *Report) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "Port\tReceived\tSent\tDropped")
	for _, name := range r.PortNames() {
		p := r.Ports[name]
		if p.Received+p.Sent == 0 && len(p.Dropped) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", name, p.Received, p.Sent, reasons(p.Dropped))
	}
	fmt.Fprintf(w, "CPU\t\t%d\t\n", r.CPU.Sent)
	b := r.Accounts
	balanced := map[bool]string{true: "balanced", false: "NOT BALANCED"}[b.Balanced]
	fmt.Fprintf(w,
		"\nBooks: received %d + injected %d + copies %d = sent %d + to CPU %d + dropped %d + in flight %d: %s\n",
		b.Received, b.Injected, b.Copies, b.Sent, b.ToCPU, b.DroppedAll, b.InFlight, balanced)
	if len(r.TailStamping) > 0 {
		fmt.Fprintln(w, "\nSession\tFlow group\tStatus\tMatched\tStamped\tNot stamped")
		for _, name := range r.SessionNames() {
			s := r.TailStamping[name]
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n",
				name, s.FlowGroup, s.Status, orDash(s.Matched), orDash(s.Stamped), reasons(s.NotStamped))
		}
	}
	r.writeTasks(w)
	r.writeRecordings(w)
	r.writeTruth(w)
	return w.Flush()
}

// orDash returns a counter as text, or a dash if it is unknown.
func orDash(n *uint64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatUint(*n, 10)
}

// writeTasks prints the estimates of FlyMon's tasks, and next to them the oracle's exact values, where known.
func (r *Report) writeTasks(w io.Writer) {
	if len(r.FlyMon) == 0 {
		return
	}
	fmt.Fprintln(w, "\nTask\tStatus\tAlgorithm\tOf\tEstimate\tBounds\tExact\tFlags")
	line := func(task, status, algorithm, of string, e flymon.Estimate) {
		bounds, exact := "no bound", "-"
		switch lower, upper := e.Bounds(); {
		case upper:
			bounds = fmt.Sprintf("%.6g to %.6g (%.0f %%)", e.Lower, e.Upper, 100*e.Confidence)
		case lower:
			bounds = fmt.Sprintf("%.6g or more (%.0f %%)", e.Lower, 100*e.Confidence)
		}
		if e.Saturated {
			bounds = "saturated, " + bounds
		}
		if e.Exact != nil {
			exact = fmt.Sprintf("%.6g", *e.Exact)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.6g\t%s\t%s\t%s\n", task, status, algorithm, of, e.Value, bounds, exact,
			cmp.Or(e.Flags.String(), "-"))
	}
	for _, name := range SortedKeys(r.FlyMon) {
		t := r.FlyMon[name]
		if t.Epoch == nil {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, t.Status, t.Algorithm, t.Reason)
			continue
		}
		for _, metric := range SortedKeys(t.Epoch.Metrics) {
			if metric != flymon.MetricBytes {
				line(name, t.Status, t.Algorithm, metric, t.Epoch.Metrics[metric])
			}
		}
		for _, flow := range SortedKeys(t.Flows) {
			line(name, "", "", flow, t.Flows[flow])
		}
		for _, flow := range SortedKeys(t.Changes) {
			line(name, "", "", "change of "+flow, t.Changes[flow].Estimate)
		}
	}
	for _, name := range SortedKeys(r.Queries) {
		if q := r.Queries[name]; q.Estimate != nil {
			line(q.Task, "", "query "+name, q.Flow, *q.Estimate)
		}
	}
}

// writeTruth prints the oracle's results, if one was requested.
func (r *Report) writeTruth(w io.Writer) {
	if r.Truth == nil {
		return
	}
	fmt.Fprintln(w, "\nFlow group\tFrames\tDelivered\tTo CPU\tLost\tDelay min\tmean\tmax")
	for _, name := range SortedKeys(r.Truth) {
		t := r.Truth[name]
		lost := map[string]uint64{}
		for _, l := range t.Lost {
			lost[l.Port+" "+l.Reason] += l.Count
		}
		ns := func(ps uint64) string {
			if t.Delay.Count == 0 {
				return "-"
			}
			return fmt.Sprintf("%d.%03d ns", ps/1000, ps%1000)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", name, t.Frames, t.Delivered, t.ToCPU, reasons(lost),
			ns(t.Delay.MinPs), ns(t.Delay.MeanPs), ns(t.Delay.MaxPs))
	}
	fmt.Fprintln(w, "\nEstimate\tMeasured\tTruth\tError")
	for _, name := range SortedKeys(r.Truth) {
		for _, e := range SortedKeys(r.Truth[name].Estimates) {
			x := r.Truth[name].Estimates[e]
			fmt.Fprintf(w, "%s\t%d\t%d\t%+d\n", e, x.Measured, x.Truth, x.Error)
		}
	}
}

func reasons(m map[string]uint64) string {
	var parts []string
	for _, k := range SortedKeys(m) {
		if m[k] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, ", ")
}

// writeRecordings prints the sessions of table recording.
func (r *Report) writeRecordings(w io.Writer) {
	if len(r.TableRecord) == 0 {
		return
	}
	fmt.Fprintln(w, "\nSession\tFlow group\tStatus\tPlan\tTables\tEntropy\tMatched\tNot sampled\tRecords\tLost")
	for _, name := range SortedKeys(r.TableRecord) {
		s := r.TableRecord[name]
		if s.PlanReport == nil || s.RecordCounts == nil {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, s.FlowGroup, s.Status, s.Reason)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%.3g of %.3g bits\t%d\t%d\t%d\t%d\n",
			name, s.FlowGroup, s.Status, s.PlanID, len(s.Tables),
			s.Entropy, s.Full, s.Matched, s.NotSampled, s.Recorded, s.Lost)
	}
}
