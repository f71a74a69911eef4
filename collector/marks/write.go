package marks

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Writer returns a function that writes results to w. The format is text or json, with a line for each result, or csv.
func Writer(w io.Writer, format string) (func([]Result) error, error) {
	switch format {
	case "text":
		return each(func(r Result) error {
			_, err := fmt.Fprintln(w, r.Text())
			return err
		}), nil
	case "json":
		enc := json.NewEncoder(w)
		return each(func(r Result) error { return enc.Encode(r) }), nil
	case "csv":
		c := NewCSV(w)
		return func(results []Result) error { return c.Write(results...) }, nil
	}
	return nil, fmt.Errorf("--format %q: want text, json or csv", format)
}

func each(write func(Result) error) func([]Result) error {
	return func(results []Result) error {
		for _, r := range results {
			if err := write(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// Text returns the result in a line.
func (r Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s>%s period %d %s",
		r.Start.Std().Format("15:04:05.000"), r.Path, r.From, r.To, r.Period, r.Status)
	if r.Counted {
		fmt.Fprintf(&b, " sent %d received %d", r.Sent, r.Received)
	}
	if r.LossValid {
		fmt.Fprintf(&b, " lost %d", r.Lost)
	}
	if r.DelayValid {
		fmt.Fprintf(&b, " delay %v", r.Delay)
	}
	if r.JitterValid {
		fmt.Fprintf(&b, " jitter %v", r.Jitter)
	}
	if r.Mean.Valid {
		fmt.Fprintf(&b, " mean delay %v", r.Mean.Delay)
	} else if r.Mean.Asked {
		fmt.Fprintf(&b, " mean delay unknown (%s)", r.Mean.Unknown)
	}
	if r.Revised {
		b.WriteString(" revised")
	}
	if len(r.Reasons) > 0 {
		b.WriteString(": " + strings.Join(r.Reasons, "; "))
	}
	return b.String()
}
