package sketching

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tamtam/lab/figure"
	"tamtam/lab/study"
)

// A Report is the result of the study.
type Report struct {
	study.Head
	// Assumptions of the theory that the measurements are compared with.
	Assumptions []string `json:"assumptions,omitempty"`
	study.Curves
}

// Metrics returns a text that lists the metrics.
func (r *Report) Metrics() string {
	return "CURVE.AT.METRIC.(min median max theory lower upper), flymon.CURVE.METRIC.(outside bounded)"
}

// Notices returns nil, since the study has no remarks.
func (r *Report) Notices() []string { return nil }

// set adds a metric with a single value to a curve.
func (r *Report) set(curve string, x int, name string, v float64) {
	r.Add(curve, "", fmt.Sprint(x), float64(x), name, study.Predicted([]float64{v}, study.Unpredicted()))
}

// CSV returns a line for each metric of each point.
func (r *Report) CSV() map[string][]byte {
	return map[string][]byte{"flymon.csv": r.Curves.CSV(strconv.Quote(r.X),
		"curve", "at", "x", "metric", "seeds", "min", "median", "max", "theory", "lower", "upper", "outside")}
}

// WriteTable prints the curves.
func (r *Report) WriteTable(out io.Writer) error {
	if r.Traffic != "" {
		fmt.Fprintf(out, "%s; %d seeds\n\n", r.Traffic, len(r.Seeds))
	}
	return r.WriteColumns(out, r.X, "curve", "at", "metric", "min", "median", "max", "theory", "bounds")
}

// Figures returns a figure for each metric that has curves.
func (r *Report) Figures(title string) (list []*figure.Figure) {
	for _, name := range r.MetricNames() {
		if f := r.Plot("", r.axes(name, title)); f != nil {
			list = append(list, f)
		}
	}
	return list
}

// axes returns the axes of a metric.
func (r *Report) axes(name, title string) study.Axes {
	a := study.Axes{File: "flymon-" + name, Title: title, Metric: name, X: figure.Axis{Label: r.X}}
	if strings.HasSuffix(r.X, ", bytes") {
		a.X, a.Per = figure.Axis{Label: strings.TrimSuffix(r.X, "bytes") + "KiB", Scale: figure.Log2}, 1024
	}
	a.Y.Label = map[string]string{
		"f1": "F1 score", "re": "relative error", "are": "average relative error", "fp": "false positive rate",
		"missed": "share of members missed", "exact": "share of flows with the exact interval",
		"percent": "used, % of what there is",
		"entries": "TCAM entries", "cmus": "CMUs", "groups": "CMU groups", "rules": "runtime rules",
		"ratio": "error of the static task, times that of the other", "same": "share of seeds with the same registers",
		"times": "CMUs, times those of copied keys", "time": "time to the first counted packet, ms",
		"time-p99": "time to the first counted packet, p99, ms", "cycles": "cycles to the first counted packet",
	}[name]
	if a.Y.Label == "" {
		a.Y.Label = name
	}
	share := []string{"f1", "precision", "recall", "exact", "same", "percent", "cmus", "groups"}
	if !slices.Contains(share, name) {
		a.Y.Scale = figure.Log10
	}
	return a
}
