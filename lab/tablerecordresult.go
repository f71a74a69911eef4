package lab

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"tamtam/device"
)

// A TableRecordReport is what a study of table record plans has shown.
type TableRecordReport struct {
	Study string   `json:"study"`
	Seeds []uint64 `json:"seeds"`
	X     string   `json:"x"` // what the x axis is
	Notes []string `json:"notes,omitempty"`
	// Plans is how many were made; all were checked against the constraints.
	Plans    int             `json:"plans"`
	Programs []RecordScale   `json:"programs"`
	Curves   []*RecordSeries `json:"curves"`
}

// A RecordScale says how large a pipeline is.
type RecordScale struct {
	Program   string `json:"program"`
	Pipeline  string `json:"pipeline"`
	Tables    int    `json:"tables"`
	NonCut    int    `json:"non_cut_tables"` // those that not every packet runs
	Deps      int    `json:"dependencies"`   // without those that follow from others
	Stages    int    `json:"least_stages"`
	Sequences string `json:"table_sequences"`
	Walks     string `json:"action_walks"`
}

// A RecordSeries is a curve of a figure.
type RecordSeries struct {
	Name   string         `json:"name"`
	Figure string         `json:"figure,omitempty"` // "": numbers that are not drawn
	Points []*RecordPoint `json:"points"`
}

// A RecordPoint is one place of a curve.
type RecordPoint struct {
	At      string                   `json:"at"`
	X       float64                  `json:"x"`
	Metrics map[string]*RecordMetric `json:"metrics"`
}

// A RecordMetric is a number of one point: with each seed, and how these are spread.
type RecordMetric struct {
	Values []float64 `json:"values"` // by seed; one, if it depends on none
	Min    float64   `json:"min"`
	Q1     float64   `json:"q1"`
	Median float64   `json:"median"`
	Q3     float64   `json:"q3"`
	Max    float64   `json:"max"`
}

// newRecordMetric takes the values of all seeds.
func newRecordMetric(values []float64) *RecordMetric {
	sorted := slices.Sorted(slices.Values(values))
	// at is the quantile of n quarters, between two values where it falls between.
	at := func(n int) float64 {
		i, rest := n*(len(sorted)-1)/4, float64(n*(len(sorted)-1)%4)/4
		if rest == 0 {
			return sorted[i]
		}
		return sorted[i]*(1-rest) + sorted[i+1]*rest
	}
	return &RecordMetric{Values: values, Min: at(0), Q1: at(1), Median: at(2), Q3: at(3), Max: at(4)}
}

// add puts the values of a metric into a curve, and makes curve and point if need be.
func (r *TableRecordReport) add(curve, figure, at string, x float64, name string, values ...float64) {
	c := r.curve(curve)
	if c == nil {
		c = &RecordSeries{Name: curve, Figure: figure}
		r.Curves = append(r.Curves, c)
	}
	i := slices.IndexFunc(c.Points, func(p *RecordPoint) bool { return p.At == at })
	if i < 0 {
		i = len(c.Points)
		c.Points = append(c.Points, &RecordPoint{At: at, X: x, Metrics: map[string]*RecordMetric{}})
	}
	c.Points[i].Metrics[name] = newRecordMetric(values)
}

func (r *TableRecordReport) curve(name string) *RecordSeries {
	for _, c := range r.Curves {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// metric finds CURVE.AT.METRIC.(min q1 median q3 max), PROGRAM.PIPELINE.(tables non_cut_tables least_stages),
// and plans.
func (r *TableRecordReport) metric(name string) (metric, bool) {
	if name == "plans" {
		return metric{int64(r.Plans), "plans"}, true
	}
	part := strings.Split(name, ".")
	for _, p := range r.Programs {
		if len(part) == 3 && part[0] == p.Program && part[1] == p.Pipeline {
			v, ok := map[string]int{"tables": p.Tables, "non_cut_tables": p.NonCut, "least_stages": p.Stages}[part[2]]
			return metric{int64(v), ""}, ok
		}
	}
	c := r.curve(part[0])
	if c == nil || len(part) != 4 {
		return metric{}, false
	}
	for _, p := range c.Points {
		if p.At != part[1] || p.Metrics[part[2]] == nil {
			continue
		}
		m := p.Metrics[part[2]]
		v, ok := map[string]float64{"min": m.Min, "q1": m.Q1, "median": m.Median, "q3": m.Q3, "max": m.Max}[part[3]]
		return metric{int64(math.Round(v * 1e6)), millionths}, ok
	}
	return metric{}, false
}

// CSV returns a line for each metric of each point.
func (r *TableRecordReport) CSV() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "curve,figure,at,%s,metric,seeds,min,q1,median,q3,max\n", r.X)
	for _, c := range r.Curves {
		for _, p := range c.Points {
			for _, name := range device.SortedKeys(p.Metrics) {
				m := p.Metrics[name]
				fmt.Fprintf(&b, "%s,%s,%s,%s,%s,%d,%s,%s,%s,%s,%s\n", c.Name, c.Figure, p.At, short(p.X), name, len(m.Values),
					short(m.Min), short(m.Q1), short(m.Median), short(m.Q3), short(m.Max))
			}
		}
	}
	return b.Bytes()
}

// write prints the programs, then a line for each point.
func (r *TableRecordReport) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintf(w, "Program\tPipeline\tTables\tNot always run\tDependencies\tLeast stages\tTable sequences\tAction walks\t\n")
	for _, p := range r.Programs {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t\n", p.Program, p.Pipeline, p.Tables, p.NonCut, p.Deps, p.Stages, p.Sequences, p.Walks)
	}
	fmt.Fprintf(w, "\n%d seeds, %d plans\n\n", len(r.Seeds), r.Plans)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "Curve\t%s\tMetric\tMin\tMedian\tMax\t\n", r.X)
	brief := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	for _, c := range r.Curves {
		for _, p := range c.Points {
			for _, name := range device.SortedKeys(p.Metrics) {
				m := p.Metrics[name]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Name, p.At, name, brief(m.Min), brief(m.Median), brief(m.Max))
			}
		}
	}
	return w.Flush()
}
