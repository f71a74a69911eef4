package recording

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"tamtam/lab"
	"tamtam/lab/figure"
	"tamtam/lab/study"
)

// A Report is the result of a study of table record plans.
type Report struct {
	study.Head
	Notes []string `json:"notes,omitempty"`
	// Plans is the number of plans made. All were checked against the constraints.
	Plans    int     `json:"plans"`
	Programs []Scale `json:"programs"`
	study.Curves
}

// A Scale describes the size of a pipeline.
type Scale struct {
	Program   string `json:"program"`
	Pipeline  string `json:"pipeline"`
	Tables    int    `json:"tables"`
	NonCut    int    `json:"non_cut_tables"` // tables that not every packet runs
	Deps      int    `json:"dependencies"`   // without those implied by others
	Stages    int    `json:"least_stages"`
	Sequences string `json:"table_sequences"`
	Walks     string `json:"action_walks"`
}

// add adds the values of a metric to a curve.
func (r *Report) add(curve, figure, at string, x float64, name string, values ...float64) {
	r.Add(curve, figure, at, x, name, study.Quartered(values...))
}

// Metrics returns a text that lists the metrics.
func (r *Report) Metrics() string {
	return "(plans CURVE.AT.METRIC.(min q1 median q3 max) PROGRAM.PIPELINE.(tables non_cut_tables least_stages))"
}

// Notices returns nil, since the study has no remarks.
func (r *Report) Notices() []string { return nil }

// Metric returns CURVE.AT.METRIC.(min q1 median q3 max), PROGRAM.PIPELINE.(tables non_cut_tables least_stages), or
// plans.
func (r *Report) Metric(name string) (lab.Metric, bool) {
	if name == "plans" {
		return lab.Metric{Value: int64(r.Plans), Unit: "plans"}, true
	}
	part := strings.Split(name, ".")
	for _, p := range r.Programs {
		if len(part) == 3 && part[0] == p.Program && part[1] == p.Pipeline {
			v, ok := map[string]int{"tables": p.Tables, "non_cut_tables": p.NonCut, "least_stages": p.Stages}[part[2]]
			return lab.Metric{Value: int64(v)}, ok
		}
	}
	if len(part) != 4 {
		return lab.Metric{}, false
	}
	return r.Curves.Metric(name)
}

// CSV returns a line for each metric of each point.
func (r *Report) CSV() map[string][]byte {
	return map[string][]byte{"tablerecord.csv": r.Curves.CSV(r.X,
		"curve", "figure", "at", "x", "metric", "seeds", "min", "q1", "median", "q3", "max")}
}

// WriteTable prints the programs, then a line for each point.
func (r *Report) WriteTable(out io.Writer) error {
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintf(w, "Program\tPipeline\tTables\tNot always run\tDependencies\tLeast stages\tTable sequences\tAction "+
		"walks\t\n")
	for _, p := range r.Programs {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t\n",
			p.Program, p.Pipeline, p.Tables, p.NonCut, p.Deps, p.Stages, p.Sequences, p.Walks)
	}
	fmt.Fprintf(w, "\n%d seeds, %d plans\n\n", len(r.Seeds), r.Plans)
	if err := w.Flush(); err != nil {
		return err
	}
	return r.WriteColumns(out, r.X, "curve", "at", "metric", "min", "median", "max")
}

// Figures returns a figure for each figure and metric that is plotted. The other metrics are numbers only.
func (r *Report) Figures(title string) (list []*figure.Figure) {
	drawn := []string{"recovery", "entropy"}
	if r.Study == Effort {
		drawn = []string{"seconds", "sets"}
	}
	if r.Study == Postcards {
		drawn = []string{"bytes", "missed"}
	}
	label := map[string]string{
		"recovery": "paths recovered, share", "entropy": "entropy, bits", "seconds": "planning, seconds",
		"sets": "sets weighed", "bytes": "bytes sent for a packet", "missed": "behaviours without a postcard, percent",
	}
	var done []string
	for _, c := range r.Curves.Curves {
		if c.Figure == "" || slices.Contains(done, c.Figure) {
			continue
		}
		done = append(done, c.Figure)
		for _, name := range drawn {
			a := study.Axes{
				File: "tablerecord-" + c.Figure + "-" + name, Title: title + ": " + c.Figure, Metric: name,
				X: figure.Axis{Label: map[string]string{"bits": "record, bits", "KiB": "filter, KiB"}[r.X]},
				Y: figure.Axis{Label: label[name]},
			}
			if r.Study == Effort || name == "bytes" {
				a.Y.Scale = figure.Log10
			}
			if f := r.Plot(c.Figure, a); f != nil {
				list = append(list, f)
			}
		}
	}
	return list
}
