package lab

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"tamtam/device"
)

// writeAltMark writes, for each segment of each path, what was measured and what was
// true by period: altmark-PATH-FROM-TO.csv, .png and .svg.
func (r *Result) writeAltMark(dir string) error {
	var errs []error
	for _, name := range device.SortedKeys(r.AltMark) {
		for _, s := range r.AltMark[name].Segments {
			path := filepath.Join(dir, s.name())
			errs = append(errs, os.WriteFile(path+".csv", s.CSV(), 0o644), s.plot(path))
		}
	}
	return errors.Join(errs...)
}

// CSV returns a line for each period. What was not measured is empty.
func (s *AltMarkSegment) CSV() []byte {
	var b bytes.Buffer
	b.WriteString("period,start_ps,status,sent,received,lost,delay_ns,jitter_ns,true_sent,true_lost,true_delay_ps,reasons\n")
	for _, p := range s.Periods {
		fmt.Fprintf(&b, "%d,%d,%s,%s,%s,%s,%s,%s,%d,%d,%s,%q\n", p.Period, int64(p.Start), p.Status, cell(p.Sent), cell(p.Received), cell(p.Lost),
			cell(p.Delay), cell(p.Jitter), p.TrueSent, p.TrueLost, cell(p.TrueDelay), strings.Join(p.Reasons, "; "))
	}
	return b.Bytes()
}

func cell[T ~int64 | ~uint64](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%d", *v)
}

// plot draws loss above delay, as figure 6 of the paper has them, the true values
// as crosses in what was measured.
func (s *AltMarkSegment) plot(path string) error {
	var loss, delay, trueLoss, trueDelay plotter.XYs
	for _, p := range s.Periods {
		x := float64(p.Start) / float64(Second)
		trueLoss = append(trueLoss, plotter.XY{X: x, Y: float64(p.TrueLost)})
		if p.Lost != nil {
			loss = append(loss, plotter.XY{X: x, Y: float64(*p.Lost)})
		}
		if p.Delay != nil {
			delay = append(delay, plotter.XY{X: x, Y: float64(*p.Delay) / 1e3})
		}
		if p.TrueDelay != nil {
			trueDelay = append(trueDelay, plotter.XY{X: x, Y: float64(*p.TrueDelay) / 1e6})
		}
	}
	upper, err := panel("lost packets per period", loss, trueLoss)
	lower, err2 := panel("delay, µs", delay, trueDelay)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	upper.Title.Text = fmt.Sprintf("%s: %s to %s", s.path, s.From, s.To)
	lower.X.Label.Text = "simulated time, s"
	const width, height = 16 * vg.Centimeter, 14 * vg.Centimeter
	png, svg := vgimg.PngCanvas{Canvas: vgimg.New(width, height)}, vgsvg.New(width, height)
	for _, c := range []vg.CanvasSizer{png, svg} {
		draws := plot.Align([][]*plot.Plot{{upper}, {lower}}, draw.Tiles{Rows: 2, Cols: 1, PadY: vg.Millimeter}, draw.New(c))
		upper.Draw(draws[0][0])
		lower.Draw(draws[1][0])
	}
	return errors.Join(save(path+".png", png), save(path+".svg", svg))
}

func panel(label string, measured, truth plotter.XYs) (*plot.Plot, error) {
	p := plot.New()
	p.Y.Label.Text = label
	p.Add(plotter.NewGrid())
	if len(measured) > 0 {
		line, points, err := plotter.NewLinePoints(measured)
		if err != nil {
			return nil, err
		}
		points.Shape, points.Radius = draw.CircleGlyph{}, vg.Points(1.5)
		p.Add(line, points)
		p.Legend.Add("measured", line, points)
	}
	if len(truth) > 0 {
		points, err := plotter.NewScatter(truth)
		if err != nil {
			return nil, err
		}
		points.Shape, points.Radius, points.Color = draw.CrossGlyph{}, vg.Points(2), color.RGBA{R: 0xc0, A: 0xff}
		p.Add(points)
		p.Legend.Add("true", points)
	}
	p.Legend.Top = true
	return p, nil
}

func save(path string, c io.WriterTo) error {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
