package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"tamtam/device"
)

// Write puts report.json into a directory, and for each series NAME.csv,
// NAME.png and NAME.svg, of alternate marking
// and of studies too. The same results give the same bytes.
func (r *Result) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := r.JSON()
	errs := []error{err, os.WriteFile(filepath.Join(dir, "report.json"), text, 0o644)}
	for _, name := range device.SortedKeys(r.Series) {
		s := r.Series[name]
		errs = append(errs, os.WriteFile(filepath.Join(dir, name+".csv"), s.CSV(), 0o644), s.plot(filepath.Join(dir, name)))
	}
	if r.FlyMon != nil {
		errs = append(errs, r.FlyMon.files(dir, r.Experiment))
	}
	if r.TableRecord != nil {
		errs = append(errs, r.TableRecord.files(dir, r.Experiment))
	}
	return errors.Join(append(errs, r.writeAltMark(dir))...)
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

// maxPoints of a plot: more cannot be told apart.
const maxPoints = 4000

// plot draws the series to path.png and path.svg.
func (s *Series) plot(path string) error {
	unit := timeUnits[0]
	for _, u := range timeUnits {
		if last := s.Start + Time(len(s.Values))*s.Every; u.name != "µs" && last >= 10*u.unit {
			unit = u
		}
	}
	stride := len(s.Values)/maxPoints + 1
	var points plotter.XYs
	for i := 0; i < len(s.Values); i += stride {
		at := s.Start + Time(i)*s.Every
		points = append(points, plotter.XY{X: float64(at) / float64(unit.unit), Y: float64(s.Values[i])})
	}
	p := plot.New()
	p.Title.Text = s.Name
	p.X.Label.Text = "simulated time, " + unit.name
	p.Y.Label.Text = s.Unit
	p.Add(plotter.NewGrid())
	if len(points) > 0 {
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("plot %s: %w", s.Name, err)
		}
		p.Add(line)
	}
	return errors.Join(p.Save(16*vg.Centimeter, 9*vg.Centimeter, path+".png"), p.Save(16*vg.Centimeter, 9*vg.Centimeter, path+".svg"))
}
