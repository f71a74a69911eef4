package recordplan

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"tamtam/tam/record"
)

// A Report is a plan with the result of its simulation, if there was one.
type Report struct {
	*record.Plan
	Simulation *Simulation `json:"simulation,omitempty"`
}

// WriteText writes the plan as a table, with its properties and the simulation.
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	bits := 0
	for _, t := range r.Recorded {
		bits += t.Bits
	}
	fmt.Fprintf(b, "plan %08x: %s\n", r.ID, strings.TrimSpace(r.Program+" "+r.Pipeline))
	fmt.Fprintf(b, "%d bits of %s, %s, by %s\n", bits, r.PHV, r.Mode, r.Algorithm)
	fmt.Fprintf(b, "%d stages: %s\n", r.Stages, r.StagesWhy)
	fmt.Fprintf(b, "probabilities: %s\n", r.ProbabilitiesFrom)
	switch {
	case r.Optimal:
		fmt.Fprintf(b, "entropy %.4f bits, proven to be the most", r.Entropy)
	default:
		fmt.Fprintf(b, "entropy %.4f bits; no plan has more than %.4f", r.Entropy, r.Bound)
	}
	fmt.Fprintf(b, "; all tables together have %.4f\n", r.Full)
	if r.Mode == record.ModeHit {
		fmt.Fprintf(b, "equation 2 gives %.4f\n", r.Equation2)
	}
	fmt.Fprintf(b, "path recovery %.4f; %d sets weighed, %d held against the constraints, %.2f s\n\n",
		r.Recovery, r.Sets, r.Solves, r.Seconds)
	t := tabwriter.NewWriter(b, 2, 8, 2, ' ', 0)
	head := "TABLE\tSTAGE\tCONTAINER\tRAN\tHIT"
	if r.Mode == record.ModeAction {
		head += "\tACTIONS"
	}
	fmt.Fprintln(t, head)
	for _, e := range r.Recorded {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s", e.Table, e.Stage, e.Container, bitText(e.Ran), bitText(e.Hit))
		if r.Mode == record.ModeAction {
			fmt.Fprintf(t, "\t%s", actionText(e.Actions))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Simulation != nil {
		fmt.Fprintln(b)
		if err := r.Simulation.WriteText(b); err != nil {
			return err
		}
	}
	return b.Flush()
}

func bitText(bit *int) string {
	if bit == nil {
		return "-"
	}
	return fmt.Sprintf("bit %d", *bit)
}

// actionText describes the action bits: for each, the bit and its actions.
func actionText(bits []record.ActionBit) string {
	var list []string
	for _, b := range bits {
		names := slices.Clone(b.Of)
		for i := range names {
			names[i] = cmp.Or(names[i], "no action")
		}
		list = append(list, fmt.Sprintf("bit %d: %s", b.Bit, strings.Join(names, " or ")))
	}
	return cmp.Or(strings.Join(list, "; "), "-")
}
