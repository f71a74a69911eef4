package fault

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// A List holds the faults of a switch, and the daemons that accept faults.
type List struct {
	Accepting []string
	Faults    []Injected
}

// A line is a fault as JSON.
type line struct {
	Daemon string            `json:"daemon"`
	ID     string            `json:"id"`
	Fault  string            `json:"fault"`
	Fields map[string]string `json:"fields"`
	From   time.Time         `json:"from"`
	Until  time.Time         `json:"until"`
	Hits   int               `json:"hits"`
	Over   string            `json:"over,omitempty"`
}

// JSON returns the form of the list as JSON.
func (l List) JSON() any {
	all := struct {
		Accepting []string `json:"takers"`
		Faults    []line   `json:"faults"`
	}{append([]string{}, l.Accepting...), []line{}}
	for _, n := range l.Faults {
		all.Faults = append(all.Faults, line{
			n.At, n.ID, n.Fault.String(), n.Row(), n.From.UTC(), n.Until.UTC(), n.Hits, n.Over,
		})
	}
	return all
}

// WriteText writes the list as a table.
func (l List) WriteText(w io.Writer) error {
	if len(l.Faults) == 0 {
		_, err := fmt.Fprintf(w, "no faults; daemons that accept them: %s\n", cmp.Or(strings.Join(l.Accepting, ", "), "none"))
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "Daemon\tID\tUntil\tMet\tFault")
	for _, n := range l.Faults {
		until := n.Until.UTC().Format(time.RFC3339)
		if n.Over != "" {
			until = "over: " + n.Over
		}
		met := "-" // the fault affects no single calls or messages
		if n.Counts() {
			met = fmt.Sprint(n.Hits)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", n.At, n.ID, until, met, n.Fault)
	}
	return t.Flush()
}
