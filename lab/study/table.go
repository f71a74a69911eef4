package study

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A row is one metric of one point.
type row struct {
	curve  *Curve
	point  *Point
	name   string
	metric *Metric
}

// rows returns all metrics of all points.
func (r *Curves) rows() (list []row) {
	for _, c := range r.Curves {
		for _, p := range c.Points {
			for _, name := range slices.Sorted(maps.Keys(p.Metrics)) {
				list = append(list, row{c, p, name, p.Metrics[name]})
			}
		}
	}
	return list
}

// cell returns the text of a row in a column, numbers with the given digits. It is empty if there is no value, such as
// a prediction.
func (r *row) cell(column string, digits int) string {
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', digits, 64)
	}
	m := r.metric
	switch column {
	case "curve":
		return r.curve.Name
	case "figure":
		return r.curve.Figure
	case "at":
		return r.point.At
	case "metric":
		return r.name
	case "seeds":
		return strconv.Itoa(len(m.Values))
	case "outside":
		return strconv.Itoa(*m.Outside)
	case "bounds":
		if !m.bounded() {
			return ""
		}
		return number(m.Lower) + " to " + number(m.Upper)
	}
	return number(map[string]*float64{
		"x": &r.point.X, "min": &m.Min, "q1": m.Q1, "median": &m.Median, "q3": m.Q3, "max": &m.Max,
		"theory": m.Theory, "lower": m.Lower, "upper": m.Upper,
	}[column])
}

// CSV returns a line for each metric of each point. x is the heading of the column "x".
func (r *Curves) CSV(x string, columns ...string) []byte {
	var b bytes.Buffer
	line := func(cell func(column string) string) {
		for i, c := range columns {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(cell(c))
		}
		b.WriteByte('\n')
	}
	line(func(column string) string {
		if column == "x" {
			return x
		}
		return column
	})
	for _, row := range r.rows() {
		line(func(column string) string { return row.cell(column, 6) })
	}
	return b.Bytes()
}

// WriteColumns prints the same as a table. x is the heading of the column "at".
func (r *Curves) WriteColumns(out io.Writer, x string, columns ...string) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	for _, c := range columns {
		if c == "at" {
			c = x
		} else {
			c = strings.ToUpper(c[:1]) + c[1:]
		}
		fmt.Fprintf(w, "%s\t", c)
	}
	fmt.Fprintln(w)
	for _, row := range r.rows() {
		for _, c := range columns {
			fmt.Fprintf(w, "%s\t", row.cell(c, 4))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
