package web

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"tamtam/collector/result"
)

type sketchRow struct {
	result.Sketch
	Verdict string // result of comparing the bound with the truth
	Class   string
	Range   *rangeBar
}

// A rangeBar is an estimate with its bounds and the truth, in a picture of 200 by 16.
type rangeBar struct {
	Low, Wide string // position and width of the interval between the bounds
	Bounded   bool
	Estimate  string
	Truth     string
	Known     bool
	Words     string
}

type sketchesData struct {
	Tasks, Switches         []endCount
	MoreTasks, MoreSwitches int // numbers of further ones, which cannot be chosen
	Rows                    []sketchRow
	Judged                  int // number of rows with bound and truth
	Outside                 int
}

// mostChoices is how many values of a parameter can be chosen.
const mostChoices = 40

// choices returns the first values of a parameter, each with its number of rows, and the number of further values.
func choices(q *request, name string, counts map[string]int) (list []endCount, more int) {
	all := slices.SortedFunc(maps.Keys(counts), natural)
	for _, v := range all[:min(len(all), mostChoices)] {
		list = append(list, endCount{v, counts[v], q.With(name, v), v == q.get(name)})
	}
	return list, len(all) - len(list)
}

// sketched returns the view of answers of sketches.
func (p *Page) sketched(q *request) (any, error) {
	d := &sketchesData{}
	tasks, switches := map[string]int{}, map[string]int{}
	var list []result.Sketch
	for _, k := range q.snap.Sketches {
		tasks[k.Task]++
		switches[k.Switch]++
		if matches(q, "task", k.Task) && matches(q, "switch", k.Switch) {
			list = append(list, k)
			if k.Known && k.Bounded {
				d.Judged++
				if k.Truth < k.Low || k.Truth > k.High {
					d.Outside++
				}
			}
		}
	}
	d.Tasks, d.MoreTasks = choices(q, "task", tasks)
	d.Switches, d.MoreSwitches = choices(q, "switch", switches)
	slices.SortFunc(list, func(a, b result.Sketch) int {
		return cmp.Or(natural(a.Switch, b.Switch), natural(a.Task, b.Task), cmp.Compare(b.Estimate, a.Estimate),
			natural(a.Key, b.Key))
	})
	list, err := pageOf(q, list)
	if err != nil {
		return nil, err
	}
	most := greatest(list)
	for _, k := range list {
		d.Rows = append(d.Rows, sketchRowOf(k, most[scaleOf(k)]))
	}
	return d, nil
}

// scaleOf returns the scale of an answer. The flows of a task on a switch share one scale. Each total of the task has
// its own, because it has its own unit.
func scaleOf(k result.Sketch) [4]string {
	scale := [4]string{k.Switch, k.Task}
	if !strings.ContainsAny(k.Key, "0123456789.:,") { // keys of flows contain such characters
		scale[2] = k.Key
	}
	return scale
}

// greatest returns the greatest value of each scale, so that bars are comparable.
func greatest(list []result.Sketch) map[[4]string]float64 {
	most := map[[4]string]float64{}
	for _, k := range list {
		key := scaleOf(k)
		for _, v := range []float64{k.Estimate, k.High, k.Truth} {
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				most[key] = max(most[key], v)
			}
		}
	}
	return most
}

func sketchRowOf(k result.Sketch, most float64) sketchRow {
	r := sketchRow{Sketch: k}
	switch {
	case !k.Known:
		r.Verdict = "truth unknown"
	case !k.Bounded:
		r.Verdict = "no bound"
	case k.Truth < k.Low || k.Truth > k.High:
		r.Verdict, r.Class = "truth outside the bound", "bad"
	default:
		r.Verdict, r.Class = "truth within the bound", "good"
	}
	if k.Flags != "" {
		r.Class = "inexact"
	}
	if most <= 0 || math.IsNaN(k.Estimate) {
		return r
	}
	at := func(v float64) float64 { return 2 + float64(196*min(1, max(0, v/most))) }
	low, high := at(k.Low), at(k.High)
	r.Range = &rangeBar{Low: coord(low), Wide: coord(max(1, high-low)), Bounded: k.Bounded,
		Estimate: coord(at(k.Estimate)),
		Truth:    coord(at(k.Truth)), Known: k.Known, Words: "estimate " + numberText(k.Estimate)}
	if k.Bounded {
		r.Range.Words += ", between " + numberText(k.Low) + " and " + numberText(k.High)
	}
	if k.Known {
		r.Range.Words += ", truth " + numberText(k.Truth)
	}
	return r
}
