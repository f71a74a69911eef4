package lab

import (
	"slices"
	"strings"

	"tamtam/lab/programs"
	"tamtam/tam/record"
)

// A TableRecord is a study of table record plans, after the paper that package record
// names. It has no switches: programs are graphs, and the planner works on them for
// many seeds, each of which gives other probabilities.
type TableRecord struct {
	// Study is what is looked at, one of the Record constants; "": this is no study.
	Study string `yaml:"study"`
	Seeds int    `yaml:"seeds"` // how many; 0: 1
	// Programs of the study of paths or resources, of package programs or files.
	Programs []string `yaml:"programs"`
	// Stages that a switch has. A program that does not fit gets as many as it needs.
	Stages int           `yaml:"stages"`
	Budget uint64        `yaml:"budget"` // sets that one search may weigh; 0: the planner's own
	Curves []RecordCurve `yaml:"curves"` // of the studies of entropy and effort
	// Compare has pairs of curves: how often and by how much the first is below the second.
	Compare [][]string `yaml:"compare"`
}

// Studies of table record plans, and the figures of the paper that they are for.
const (
	RecordPaths     = "paths"     // 8: path recovery rate against bits
	RecordEntropy   = "entropy"   // 9: entropy against bits
	RecordEffort    = "effort"    // 10: time and sets of each algorithm
	RecordResources = "resources" // table II: containers and stages
)

func recordStudies() []string {
	return []string{RecordPaths, RecordEntropy, RecordEffort, RecordResources}
}

// A RecordCurve is an algorithm on one pipeline, with 1, 2, 3 ... bits of its containers.
type RecordCurve struct {
	Name      string `yaml:"name"`
	Figure    string `yaml:"figure"`   // curves of one figure are drawn together
	Program   string `yaml:"program"`  // of package programs, or a file
	Pipeline  string `yaml:"pipeline"` // ingress or egress
	PHV       string `yaml:"phv"`      // containers, as 16+16
	Algorithm string `yaml:"algorithm"`
	Hits      bool   `yaml:"hits"`   // records hits too
	Paper     bool   `yaml:"paper"`  // branch-and-bound with the paper's bound alone
	Budget    uint64 `yaml:"budget"` // sets that a search may weigh; 0: that of the study
	// Bits for which there is a plan; none: 1 to all that the containers have.
	Bits []int `yaml:"bits"`
}

func (c *RecordCurve) bits() []int {
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

func (r *TableRecord) seeds() int { return max(1, r.Seeds) }

const maxRecordSeeds, maxRecordStages = 1000, 256

func (v *validator) tableRecord() {
	r := &v.t.TableRecord
	if r.Study == "" {
		v.want(v.t.Program == "", "program", v.t.Program, "none, but in a study of table record plans")
		return
	}
	v.want(slices.Contains(recordStudies(), r.Study), "tablerecord.study", r.Study, "one of %s", strings.Join(recordStudies(), ", "))
	v.want(len(v.t.Switches)+len(v.t.Hosts)+len(v.t.Traffic) == 0 && v.t.FlyMon.Study == "", "tablerecord", r.Study, "no switches, hosts, traffic or other study beside a study")
	v.want(r.Seeds >= 0 && r.Seeds <= maxRecordSeeds, "tablerecord.seeds", r.Seeds, "1 to %d", maxRecordSeeds)
	v.want(r.Stages >= 1 && r.Stages <= maxRecordStages, "tablerecord.stages", r.Stages, "1 to %d", maxRecordStages)
	switch r.Study {
	case RecordPaths, RecordResources:
		v.want(len(r.Programs) >= 1 && len(r.Programs) <= maxCurves, "tablerecord.programs", len(r.Programs), "1 to %d programs", maxCurves)
	default:
		v.want(len(r.Curves) >= 1 && len(r.Curves) <= maxCurves, "tablerecord.curves", len(r.Curves), "1 to %d curves", maxCurves)
	}
	seen := map[string]bool{}
	for i := range r.Curves {
		v.recordCurve(item("tablerecord.curves", r.Curves[i].Name, i), &r.Curves[i], seen)
	}
	for i, pair := range r.Compare {
		v.want(len(pair) == 2 && seen[pair[0]] && seen[pair[1]], item("tablerecord.compare", "", i), pair, "the names of two curves")
	}
}

func (v *validator) recordCurve(p string, c *RecordCurve, seen map[string]bool) {
	v.name(p, c.Name, seen)
	v.want(c.Program != "" || v.t.Program != "", p+".program", c.Program, "one of %s, or a file", strings.Join(programs.Names(), ", "))
	v.want(slices.Contains([]string{"", "ingress", "egress"}, c.Pipeline), p+".pipeline", c.Pipeline, "ingress or egress")
	phv, err := record.ParseContainers(c.PHV)
	v.want(err == nil, p+".phv", c.PHV, "%s", record.ContainerWords)
	algorithms := []string{record.Greedy, record.GreedyRestarts, record.BranchAndBound, record.BruteForce}
	v.want(slices.Contains(algorithms, c.Algorithm), p+".algorithm", c.Algorithm, "one of %s", strings.Join(algorithms, ", "))
	for _, n := range c.Bits {
		v.want(n >= 1 && n <= phv.Bits(), p+".bits", n, "1 to the %d of its containers", phv.Bits())
	}
}
