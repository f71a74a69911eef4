package lab

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"tamtam/device"
	"tamtam/lab/figure"
)

// Write writes to a directory: report.json, NAME.csv for each series, the CSV files of studies, all figures, and the
// plans of table recording, each as SWITCH-record-SESSION.plan.json. The same results give the same bytes.
func (r *Result) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := r.JSON()
	if err != nil {
		return err
	}
	files := map[string][]byte{"report.json": text}
	for name, s := range r.Series {
		files[name+".csv"] = s.CSV()
	}
	maps.Copy(files, r.Plans)
	var errs []error
	for _, name := range r.reports() {
		for file, text := range r.Reports[name].CSV() {
			files[file] = text
		}
	}
	for _, name := range device.SortedKeys(files) {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), files[name], 0o644))
	}
	for _, f := range r.Figures() {
		errs = append(errs, f.Write(dir))
	}
	return errors.Join(errs...)
}

// Figures returns the plots of all series and studies.
func (r *Result) Figures() (list []*figure.Figure) {
	for _, name := range device.SortedKeys(r.Series) {
		list = append(list, r.Series[name].figure())
	}
	for _, name := range r.reports() {
		list = append(list, r.Reports[name].Figures(r.Experiment)...)
	}
	return list
}

// CSV returns the series as lines of time in ps and value.
func (s *Series) CSV() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "time_ps,%s_%s\n", s.Name, s.Unit)
	for i, v := range s.Values {
		b.WriteString(strconv.FormatInt(int64(s.Start+Time(i)*s.Every), 10))
		b.WriteByte(',')
		b.WriteString(strconv.FormatInt(v, 10))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// maxPoints is the maximum number of points of a plot. More could not be distinguished.
const maxPoints = 4000

// figure draws the series over time, in a unit whose numbers have a small number of digits.
func (s *Series) figure() *figure.Figure {
	unit := timeUnits[0]
	for _, u := range timeUnits {
		if last := s.Start + Time(len(s.Values))*s.Every; u.name != "us" && last >= 10*u.unit {
			unit = u
		}
	}
	stride := len(s.Values)/maxPoints + 1
	curve := figure.Curve{Style: figure.Series}
	for i := 0; i < len(s.Values); i += stride {
		at := s.Start + Time(i)*s.Every
		curve.Points = append(curve.Points, figure.Point{X: float64(at) / float64(unit.unit), Y: float64(s.Values[i])})
	}
	return &figure.Figure{File: s.Name, Panels: []figure.Panel{{
		Title: s.Name, X: figure.Axis{Label: "simulated time, " + unit.name}, Y: figure.Axis{Label: s.Unit},
		Curves: []figure.Curve{curve},
	}}}
}
