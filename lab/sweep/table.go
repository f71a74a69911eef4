package sweep

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"tamtam/lab/figure"
)

// A Row summarises one result over the seeds of one combination. Times are in ns. If Runs is 0, the numbers have no
// meaning.
type Row struct {
	Values                              []string
	Result, Unit                        string
	Runs                                int     // number of runs with a value
	Unmeasured                          int     // number of runs without a measurement
	Mean, Deviation                     float64 // deviation of the sample; a single run has none
	Least, Quarter, Median, Three, Most float64 // minimum, quartile, median, quartile, maximum
	FailedRuns                          int     // number of runs with a failed check
}

// Rows summarises outcomes, by combination and result.
func (f *File) Rows(all []Outcome) (rows []Row) {
	at := map[string]int{}
	values := map[string][]float64{}
	for _, out := range all {
		for _, n := range out.Results {
			key := strings.Join(append(slices.Clone(out.Values), n.Name), "\x00")
			i, ok := at[key]
			v, unit := float64(n.Value), n.Unit
			if unit == "ps" {
				v, unit = v/1000, "ns"
			}
			if !ok {
				i = len(rows)
				at[key] = i
				rows = append(rows, Row{Values: out.Values, Result: n.Name, Unit: unit})
			}
			if n.Unmeasured {
				rows[i].Unmeasured++
			} else {
				rows[i].Runs++
				values[key] = append(values[key], v)
			}
			if len(out.Failed) > 0 {
				rows[i].FailedRuns++
			}
		}
	}
	for key, i := range at {
		if len(values[key]) > 0 {
			rows[i].sum(values[key])
		}
	}
	return rows
}

func (r *Row) sum(v []float64) {
	slices.Sort(v)
	total := 0.0
	for _, x := range v {
		total += x
	}
	r.Mean = total / float64(len(v))
	for _, x := range v {
		r.Deviation += float64((x - r.Mean) * (x - r.Mean))
	}
	r.Deviation = math.Sqrt(r.Deviation / float64(max(len(v)-1, 1)))
	r.Least, r.Most = v[0], v[len(v)-1]
	r.Quarter, r.Median, r.Three = quantile(v, 0.25), quantile(v, 0.5), quantile(v, 0.75)
}

// quantile interpolates linearly between the two nearest of the sorted values.
func quantile(v []float64, q float64) float64 {
	at := float64(q * float64(len(v)-1))
	i := int(at)
	if i == len(v)-1 {
		return v[i]
	}
	return v[i] + float64((at-float64(i))*(v[i+1]-v[i]))
}

// numbers returns the row's numbers, named by the heads of a table, with at most the given digits. -1 means all digits.
// A number that does not exist is replaced by none. That is the case for all numbers of a row without runs, and for the
// deviation of one run.
func (r *Row) numbers(digits int, none string, heads ...string) (text []string) {
	of := map[string]float64{"mean": r.Mean, "deviation": r.Deviation, "least": r.Least, "quarter": r.Quarter,
		"median": r.Median, "three_quarters": r.Three, "most": r.Most}
	for _, head := range heads {
		if r.Runs == 0 || r.Runs == 1 && head == "deviation" {
			text = append(text, none)
		} else {
			text = append(text, strconv.FormatFloat(of[head], 'g', digits, 64))
		}
	}
	return text
}

// WriteText writes rows as a table.
func (f *File) WriteText(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range f.Vary {
		fmt.Fprintf(t, "%s\t", v.Path)
	}
	fmt.Fprintln(t, "Result\tRuns\tMean\tDeviation\tLeast\tMedian\tMost\tUnit\tChecks")
	for _, r := range rows {
		for _, v := range r.Values {
			fmt.Fprintf(t, "%s\t", v)
		}
		checks := "passed"
		if r.FailedRuns > 0 {
			checks = fmt.Sprintf("FAILED in %d runs", r.FailedRuns)
		}
		if r.Unmeasured > 0 {
			checks += fmt.Sprintf(", not measured in %d runs", r.Unmeasured)
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", r.Result, r.Runs,
			strings.Join(r.numbers(6, "-", "mean", "deviation", "least", "median", "most"), "\t"), r.Unit, checks)
	}
	return t.Flush()
}

// Write writes sweep.csv, with a row for each combination and result, and the plots to a directory.
func (f *File) Write(dir string, rows []Row) error {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	var head []string
	for _, v := range f.Vary {
		head = append(head, v.Path)
	}
	numbers := []string{"mean", "deviation", "least", "quarter", "median", "three_quarters", "most"}
	head = append(head, "result", "unit", "runs")
	_ = c.Write(append(append(head, numbers...), "failed_runs", "unmeasured_runs"))
	for _, r := range rows {
		line := append(slices.Clone(r.Values), r.Result, r.Unit, strconv.Itoa(r.Runs))
		line = append(line, r.numbers(-1, "", numbers...)...)
		_ = c.Write(append(line, strconv.Itoa(r.FailedRuns), strconv.Itoa(r.Unmeasured)))
	}
	c.Flush()
	if err := replace(filepath.Join(dir, "sweep.csv"), b.Bytes()); err != nil {
		return err
	}
	for i, p := range f.Plots {
		fig, err := f.figure(i, p, rows)
		if err != nil {
			return err
		}
		if err := fig.Write(dir); err != nil {
			return err
		}
	}
	return nil
}

// figure draws medians over the quartiles, the minimum and the maximum of the seeds.
func (f *File) figure(i int, p Plot, rows []Row) (*figure.Figure, error) {
	over := slices.IndexFunc(f.Vary, func(v Vary) bool { return v.Path == p.Over })
	panel := figure.Panel{X: figure.Axis{Label: p.Over}, Y: figure.Axis{Label: p.Result}}
	if p.Scale == "log" {
		panel.X.Scale = figure.Log10
	}
	at := map[string]int{}
	for _, r := range rows {
		if r.Result != p.Result || r.Runs == 0 { // a result without a measurement has no point
			continue
		}
		x, ok := p.place(r.Values[over])
		if !ok {
			return nil, fmt.Errorf("plots[%d]: %s is %q, which has no place on its axis", i, p.Over, r.Values[over])
		}
		var name []string
		for k, v := range r.Values {
			if k != over {
				name = append(name, f.Vary[k].Path+" "+v)
			}
		}
		key := strings.Join(name, ", ")
		n, ok := at[key]
		if !ok {
			n = len(panel.Curves)
			at[key] = n
			panel.Curves = append(panel.Curves, figure.Curve{Name: key, Colour: n})
		}
		if r.Unit != "" {
			panel.Y.Label = p.Result + ", " + r.Unit
		}
		c := &panel.Curves[n]
		c.Points = append(c.Points, figure.Point{X: x, Y: r.Median})
		c.Most = append(c.Most, figure.Range{Low: r.Least, High: r.Most})
		c.Half = append(c.Half, figure.Range{Low: r.Quarter, High: r.Three})
	}
	return &figure.Figure{File: fmt.Sprintf("sweep-%d", i+1), Panels: []figure.Panel{panel}}, nil
}
