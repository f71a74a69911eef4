package plan_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tamtam/flymonorch/plan"
	"tamtam/tam/flymon"
)

// paperGroup returns a geometry with the paper's registers of 16 bits.
func paperGroup() flymon.Geometry {
	g := geometry()
	g.Width, g.MapEntries = 16, 256
	return g
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// The stages and the main resources of each match table 2.
func TestStagesOfGroup(t *testing.T) {
	p := plan.RMT12()
	stages := plan.GroupStages(paperGroup(), p)
	var letters string
	for _, s := range stages {
		letters += s.Letter
	}
	if letters != "CIPO" {
		t.Errorf("%s", letters)
	}
	for _, tt := range []struct {
		resource plan.Resource
		in       []float64
	}{
		{plan.HashUnits, []float64{3, 0, 0, 3}}, // half in the compression stage, half in the operation stage
		{plan.SALUs, []float64{0, 0, 0, 3}},
		{plan.SRAM, []float64{1, 3, 0, 27}}, // 3 * 65536 * 16 bits are 24 blocks
		{plan.TCAM, []float64{3, 0, 9, 0}},
		{plan.VLIW, []float64{3, 21, 3, 3}},
		{plan.PHV, []float64{104, 144, 0, 0}},
	} {
		most := slices.Max(tt.in)
		for i, s := range stages {
			if s.Use[tt.resource] != tt.in[i] {
				t.Errorf("%s of %s: %v, want %v", tt.resource, s.Name, s.Use[tt.resource], tt.in[i])
			}
			if slices.Contains(s.Key, tt.resource) && s.Use[tt.resource] < most {
				t.Errorf("%s is said to be key to %s, but another stage takes more", tt.resource, s.Name)
			}
		}
	}
}

// No stage of a stack as in figure 8 exceeds its resources, with groups of 16 and of 32 bits.
func TestStacking(t *testing.T) {
	p := plan.RMT12()
	for _, width := range []int{16, 32} {
		geo := paperGroup()
		geo.Width = width
		stages := plan.GroupStages(geo, p)
		var sum plan.Amounts // use of a stage in the middle of the stack, which contains all four parts of a group
		for _, s := range stages {
			for r := range sum {
				sum[r] += s.Use[r]
			}
		}
		for _, r := range plan.Resources() {
			if r != plan.PHV && sum[r] > p.Stage[r] {
				t.Errorf("%d bits: a stage has %v %s, four groups take %v", width, p.Stage[r], r, sum[r])
			}
		}
	}
}

// As in figure 11, 32 partitions use 12.5 % of the preparation stage's TCAM, including the mapping of parameters. The
// paper's limit is 15 % (section 3.3).
func TestTranslationCosts(t *testing.T) {
	all := plan.Translations(paperGroup(), plan.RMT12(), 64)
	if len(all) != 7 {
		t.Fatalf("%d points", len(all))
	}
	c := all[5]
	if c.Partitions != 32 || c.Entries != 1024 || c.Blocks != 2 || !near(c.Prepared, 12.5) || c.Words != 11 ||
		c.Bits != 5*16 {
		t.Errorf("%+v", c)
	}
	for i, c := range all[1:] {
		if before := all[i]; c.Percent < before.Percent || c.PHV <= before.PHV || c.VLIWPercent <= before.VLIWPercent {
			t.Errorf("%d partitions cost less than %d", c.Partitions, before.Partitions)
		}
	}
}

// The entries of figure 11 match those of layouts with a CMU full of equal partitions.
func TestTranslationsOfLayouts(t *testing.T) {
	geo := geometry()
	for _, want := range plan.Translations(geo, plan.RMT12(), 32) {
		p, entries := plan.New(geo), 0
		for i := range want.Partitions {
			x := task(t, "dst-port="+string(rune('0'+i/10))+string(rune('0'+i%10)), "src-ip", "frequency", flymon.MRAC,
				uint32(geo.Depth/want.Partitions), 0)
			placed, err := p.Add(x.Filter.String(), x)
			if err != nil || placed.Layout.Units[0].CMU != 0 {
				t.Fatalf("%d of %d: %v", i, want.Partitions, err)
			}
			entries += placed.Layout.Units[0].Translation(&geo)
		}
		if entries != want.Entries {
			t.Errorf("%d partitions: %d entries, want %d", want.Partitions, entries, want.Entries)
		}
	}
}

// As in figure 13a, a group uses at most 8.3 % of a resource, the hash units. Three groups fit beside a program that
// leaves a quarter of them.
func TestBesideProgram(t *testing.T) {
	var program plan.Amounts
	for i := range program {
		program[i] = 50
	}
	program[plan.HashUnits] = 72
	fit, shares := plan.Beside(program, paperGroup(), plan.RMT12())
	if fit != 3 {
		t.Errorf("%d groups fit", fit)
	}
	for _, s := range shares {
		if s.Group > 100*6.0/72+1e-9 || (s.Resource == plan.HashUnits) != near(s.Group, 100*6.0/72) {
			t.Errorf("%s: a group takes %.2f %%", s.Resource, s.Group)
		}
		if len(s.With) != 4 || s.With[0] != s.Program || !near(s.With[3], s.Program+3*s.Group) || s.With[3] > 100 ||
			s.Average > 8.3 {
			t.Errorf("%+v", s)
		}
	}
	for i := range program {
		program[i] = 0
	}
	if fit, _ = plan.Beside(program, paperGroup(), plan.RMT12()); fit != 9 {
		t.Errorf("%d groups fit into an empty pipeline", fit)
	}
	program[plan.TCAM] = 100
	if fit, _ = plan.Beside(program, paperGroup(), plan.RMT12()); fit != 0 {
		t.Errorf("%d groups fit without TCAM", fit)
	}
}

// As in figure 13b, stacked groups use 75 % of the hash units and 56.25 % of the SALUs of 12 stages.
func TestStackedUtilisation(t *testing.T) {
	all := plan.Stacked(paperGroup(), plan.RMT12(), 20)
	c := all[8]
	if c.Stages != 12 || c.Groups != 9 || c.CMUs != 27 || c.Percent[plan.HashUnits] != 75 ||
		c.Percent[plan.SALUs] != 56.25 {
		t.Errorf("%+v", c)
	}
	for i, c := range all[1:] {
		if c.Percent[plan.HashUnits] <= all[i].Percent[plan.HashUnits] {
			t.Errorf("%d stages are used less than %d", c.Stages, all[i].Stages)
		}
	}
	if last := all[len(all)-1]; last.Stages != 20 || last.Groups != 17 {
		t.Errorf("%+v", last)
	}
}

// As in figure 13c, compression allows five times as many CMUs at 350 bits.
func TestCMUsByKey(t *testing.T) {
	for _, free := range []int{2160, plan.FreePHV, 2387} {
		all := plan.CMUsByKey(paperGroup(), plan.RMT12(), free, []int{32, 104, 350})
		if all[0].Compressed != 27 || all[2].Compressed != 27 || all[2].Copied != 5 || all[1].Copied <= all[2].Copied ||
			all[0].Copied > 27 {
			t.Errorf("%d bits free: %+v", free, all)
		}
	}
	if all := plan.CMUsByKey(paperGroup(), plan.RMT12(), 100, []int{350}); all[0].Compressed != 0 || all[0].Copied != 0 {
		t.Errorf("%+v", all)
	}
}

func TestResourceNames(t *testing.T) {
	for _, r := range plan.Resources() {
		if got, err := plan.ParseResource(r.String()); err != nil || got != r {
			t.Errorf("%s: %v, %v", r, got, err)
		}
	}
	if _, err := plan.ParseResource("stages"); err == nil || !strings.Contains(err.Error(),
		"want one of [hash units SALUs") {
		t.Errorf("%v", err)
	}
	if s := plan.Resource(9).String(); s != "resource 9" {
		t.Error(s)
	}
}
