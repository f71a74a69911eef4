package sketching

import (
	"fmt"
	"math"
	"strings"

	"tamtam/flymonorch/plan"
	"tamtam/lab/study"
)

// usage makes the figures of resources. They are computed from the resources of the chip's stages and the needs of CMU
// groups.
func (s *run) usage() (*Report, error) {
	r := &Report{Head: study.Head{Study: s.Study, Seeds: []uint64{}}}
	g, p := s.geometry(), plan.RMT12()
	r.Assumptions = []string{
		fmt.Sprintf("a stage has %v hash units, %v SALUs, %v blocks of SRAM, %v of TCAM, %v instruction words; the "+
			"pipeline %v bits of PHV", p.Stage[plan.HashUnits],
			p.Stage[plan.SALUs], p.Stage[plan.SRAM], p.Stage[plan.TCAM], p.Stage[plan.VLIW], p.Stage[plan.PHV]),
		"hash units and SALUs follow from what the paper states; the rest it does not state",
	}
	switch s.Study {
	case Translation:
		r.X = "partitions"
		for _, c := range plan.Translations(g, p, g.Partitions) {
			r.set("tcam", c.Partitions, "percent", c.Percent)
			r.set("tcam", c.Partitions, "entries", float64(c.Entries))
			r.set("tcam-with-map", c.Partitions, "percent", c.Prepared)
			r.set("shift-phv", c.Partitions, "percent", c.PHV)
			r.set("shift-vliw", c.Partitions, "percent", c.VLIWPercent)
		}
	case Program:
		r.X = "CMU groups beside the switch program"
		program, err := s.program()
		if err != nil {
			return nil, err
		}
		fit, list := plan.Beside(program, g, p)
		for _, x := range list {
			for n, percent := range x.With {
				r.set(resourceName(x.Resource), n, "percent", percent)
			}
		}
		r.set("group", 1, "average", list[0].Average)
		r.set("group", 1, "fit", float64(fit))
		most := 0.0
		for _, x := range list {
			most = math.Max(most, x.Group)
			r.set("group", 1, resourceName(x.Resource), x.Group)
		}
		r.set("group", 1, "most", most)
	case Stacking:
		r.X = "stages"
		for _, x := range plan.Stacked(g, p, 20) {
			for i, percent := range x.Percent {
				r.set(resourceName(plan.Resource(i)), x.Stages, "percent", percent)
			}
			r.set("stacked", x.Stages, "groups", float64(x.Groups))
			r.set("stacked", x.Stages, "cmus", float64(x.CMUs))
		}
	case Keys:
		r.X = "candidate key, bits"
		var keys []int
		for k := 25; k <= 400; k += 25 {
			keys = append(keys, k)
		}
		for _, x := range plan.CMUsByKey(g, p, plan.FreePHV, keys) {
			r.set("compressed", x.Bits, "cmus", float64(x.Compressed))
			r.set("copied", x.Bits, "cmus", float64(x.Copied))
			r.set("compressed", x.Bits, "times", float64(x.Compressed)/math.Max(1, float64(x.Copied)))
		}
		r.Assumptions = append(r.Assumptions,
			fmt.Sprintf("%d bits of PHV are free for measurement: an assumption for which both numbers of the paper hold",
				plan.FreePHV))
	}
	return r, nil
}

// program returns the configured usage of the switch program.
func (s *run) program() (a plan.Amounts, err error) {
	for name, percent := range s.Usage {
		kind, err := plan.ParseResource(name)
		if err != nil {
			return a, fmt.Errorf("flymon.usage: %w", err)
		}
		a[kind] = float64(percent) / 1000
	}
	return a, nil
}

// resourceName returns the name of a resource in the names of curves.
func resourceName(r plan.Resource) string {
	return strings.ReplaceAll(strings.ToLower(r.String()), " ", "-")
}
