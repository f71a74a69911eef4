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

var sketchColumns = columnsOf[result.Sketch]("").
	text("key", func(k *result.Sketch) string { return k.Key }).
	text("switch", func(k *result.Sketch) string { return k.Switch }).
	text("task", func(k *result.Sketch) string { return k.Task }).
	count("until", func(k *result.Sketch) int64 { return k.Time }).
	number("estimate", func(k *result.Sketch) (float64, bool) { return k.Estimate, true }).
	number("bound", func(k *result.Sketch) (float64, bool) { return k.High, k.Bounded }).
	number("truth", func(k *result.Sketch) (float64, bool) { return k.Truth, k.Known }).
	text("verdict", func(k *result.Sketch) string { verdict, _ := verdictOf(k); return verdict }).
	text("confidence", func(k *result.Sketch) string { return estimateText(k) })

// estimateText returns the confidence of an estimate. An estimate is never exact.
func estimateText(k *result.Sketch) string {
	switch {
	case k.Flags != "":
		return k.Flags
	case !k.Bounded:
		return "estimate without a bound"
	}
	return withinBounds
}

// withinBounds is the confidence of an estimate of which nothing else is known.
const withinBounds = "within its bounds"

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
	if err := sketchColumns.sort(q, list); err != nil {
		return nil, err
	}
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

// verdictOf compares the bound of an answer with the truth.
func verdictOf(k *result.Sketch) (verdict, class string) {
	switch {
	case !k.Known:
		return "truth unknown", ""
	case !k.Bounded:
		return "no bound", ""
	case k.Truth < k.Low || k.Truth > k.High:
		return "truth outside the bound", "bad"
	}
	return "truth within the bound", "good"
}

func sketchRowOf(k result.Sketch, most float64) sketchRow {
	r := sketchRow{Sketch: k}
	r.Verdict, r.Class = verdictOf(&k)
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
