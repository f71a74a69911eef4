// Package recording is the study of table record plans, after the paper that package tam/record names. It measures path
// recovery and entropy by the number of bits, the effort of finding plans, and their containers and stages.
package recording

import (
	"slices"
	"strings"

	"tamtam/lab"
	"tamtam/lab/programs"
	"tamtam/tam/record"
)

// A Study is the field tablerecord of a topology's file.
type Study struct {
	TableRecord Settings `yaml:"tablerecord"`
	// Program replaces all programs by a BMv2 JSON or a graph. Checks, which apply to the original programs, are then
	// left out.
	Program string `yaml:"program"`
}

// Name returns the name of the field.
func (s *Study) Name() string { return "tablerecord" }

// Asked reports whether the file has the study.
func (s *Study) Asked() bool { return s.TableRecord.Study != "" }

// Judged reports whether the checks apply to the program that runs.
func (s *Study) Judged() bool { return s.Program == "" }

// Settings configure the study. It has no switches. Programs are graphs, and the planner works on them for many seeds,
// each of which gives other probabilities.
type Settings struct {
	// Study is one of the constants below. Empty means that there is no study.
	Study string `yaml:"study"`
	Seeds int    `yaml:"seeds"` // number of seeds; zero means 1
	// Programs of the study of paths or resources: names in package programs, or files.
	Programs []string `yaml:"programs"`
	// Stages is the number of stages of a switch. A program that does not fit gets as many as it needs.
	Stages int     `yaml:"stages"`
	Budget uint64  `yaml:"budget"` // maximum number of sets that one search may weigh; zero means the planner's default
	Curves []Curve `yaml:"curves"` // curves for the studies of entropy and effort
	// Compare lists pairs of curves. The report contains how often and by how much the first is below the second.
	Compare [][]string `yaml:"compare"`
	// Postcards configures the study of postcards.
	Postcards PostcardSettings `yaml:"postcards"`
}

// Studies of table record plans, and the figures of the paper that they reproduce.
const (
	Paths     = "paths"     // 8: path recovery rate against bits
	Entropy   = "entropy"   // 9: entropy against bits
	Effort    = "effort"    // 10: time and sets of each algorithm
	Resources = "resources" // table II: containers and stages
	Postcards = "postcards" // section VI-A: against KeySight
)

func studies() []string {
	return []string{Paths, Entropy, Effort, Resources, Postcards}
}

// A Curve shows the result of an algorithm on one pipeline for each number of recorded bits, from 1 on.
type Curve struct {
	Name      string `yaml:"name"`
	Figure    string `yaml:"figure"`   // curves of one figure are drawn together
	Program   string `yaml:"program"`  // name in package programs, or a file
	Pipeline  string `yaml:"pipeline"` // ingress or egress
	PHV       string `yaml:"phv"`      // containers, such as 16+16
	Algorithm string `yaml:"algorithm"`
	Hits      bool   `yaml:"hits"`   // true if hits are recorded, too
	Paper     bool   `yaml:"paper"`  // true for branch-and-bound with only the paper's bound
	Budget    uint64 `yaml:"budget"` // maximum number of sets that a search may weigh; zero means that of the study
	// Bits lists the numbers of bits for which plans are made. Empty means 1 to all bits of the containers.
	Bits []int `yaml:"bits"`
}

func (c *Curve) bits() []int {
	if len(c.Bits) > 0 {
		return c.Bits
	}
	phv, _ := record.ParseContainers(c.PHV) // checked by validate
	var list []int
	for n := 1; n <= phv.Bits(); n++ {
		list = append(list, n)
	}
	return list
}

func (r *Settings) seeds() int { return max(1, r.Seeds) }

const maxCurves, maxRecordSeeds, maxRecordStages = 32, 1000, 256

// Validate records the errors of the settings.
func (s *Study) Validate(v *lab.Validator) {
	r := &s.TableRecord
	if r.Study == "" {
		v.Want(s.Program == "", "program", s.Program, "none, but in a study of table record plans")
		return
	}
	v.Want(slices.Contains(studies(), r.Study), "tablerecord.study", r.Study, "one of %s", strings.Join(studies(), ", "))
	v.Want(r.Seeds >= 0 && r.Seeds <= maxRecordSeeds, "tablerecord.seeds", r.Seeds, "1 to %d", maxRecordSeeds)
	v.Want(r.Stages >= 1 && r.Stages <= maxRecordStages, "tablerecord.stages", r.Stages, "1 to %d", maxRecordStages)
	switch r.Study {
	case Paths, Resources, Postcards:
		v.Want(len(r.Programs) >= 1 && len(r.Programs) <= maxCurves, "tablerecord.programs", len(r.Programs),
			"1 to %d programs", maxCurves)
		if r.Study == Postcards {
			r.Postcards.validate(v)
		}
	default:
		v.Want(len(r.Curves) >= 1 && len(r.Curves) <= maxCurves, "tablerecord.curves", len(r.Curves), "1 to %d curves",
			maxCurves)
	}
	seen := map[string]bool{}
	for i := range r.Curves {
		s.validateCurve(v, lab.Item("tablerecord.curves", r.Curves[i].Name, i), &r.Curves[i], seen)
	}
	for i, pair := range r.Compare {
		known, at := len(pair) == 2 && seen[pair[0]] && seen[pair[1]], lab.Item("tablerecord.compare", "", i)
		v.Want(known, at, pair, "the names of two curves")
		v.Want(!known || len(r.common(pair)) > 0, at, pair, "curves that have plans of equally many bits")
	}
}

func (s *Study) validateCurve(v *lab.Validator, p string, c *Curve, seen map[string]bool) {
	v.Name(p, c.Name, seen)
	v.Want(c.Program != "" || s.Program != "", p+".program", c.Program, "one of %s, or a file",
		strings.Join(programs.Names(), ", "))
	v.Want(slices.Contains([]string{"", "ingress", "egress"}, c.Pipeline), p+".pipeline", c.Pipeline, "ingress or egress")
	phv, err := record.ParseContainers(c.PHV)
	v.Want(err == nil, p+".phv", c.PHV, "%s", record.ContainerWords)
	algorithms := []string{record.Greedy, record.GreedyRestarts, record.BranchAndBound, record.BruteForce}
	v.Want(slices.Contains(algorithms, c.Algorithm), p+".algorithm", c.Algorithm, "one of %s",
		strings.Join(algorithms, ", "))
	for _, n := range c.Bits {
		v.Want(n >= 1 && n <= phv.Bits(), p+".bits", n, "1 to the %d of its containers", phv.Bits())
	}
}
