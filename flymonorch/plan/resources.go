package plan

import (
	"fmt"
	"math/bits"

	"tamtam/tam/flymon"
)

// Resource is a kind of resource of match-action stages.
type Resource int

// Resources, in the order of figure 13a.
const (
	HashUnits Resource = iota // number of hash distribution units
	SALUs                     // number of stateful ALUs
	SRAM                      // number of SRAM blocks
	TCAM                      // number of TCAM blocks
	VLIW                      // number of instruction words
	PHV                       // number of bits of the packet header vector, per pipeline instead of per stage
	resources
)

// Resources returns all kinds.
func Resources() []Resource { return []Resource{HashUnits, SALUs, SRAM, TCAM, VLIW, PHV} }

// String returns the name in plots and input files.
func (r Resource) String() string {
	if r < 0 || r >= resources {
		return fmt.Sprintf("resource %d", int(r))
	}
	return [...]string{"hash units", "SALUs", "SRAM", "TCAM", "VLIW", "PHV"}[r]
}

// ParseResource parses the result of String.
func ParseResource(s string) (Resource, error) {
	for _, r := range Resources() {
		if r.String() == s {
			return r, nil
		}
	}
	return 0, fmt.Errorf("resource %q, want one of %v", s, Resources())
}

// Amounts holds an amount of each resource.
type Amounts [resources]float64

func (a Amounts) plus(b Amounts) Amounts {
	for i := range a {
		a[i] += b[i]
	}
	return a
}

// A Pipeline holds the resources of match-action stages.
type Pipeline struct {
	Stages      int
	Stage       Amounts // amounts per stage, except PHV, which is per pipeline
	SRAMBits    int     // number of bits per SRAM block
	TCAMEntries int     // number of entries per TCAM block
	TCAMWidth   int     // width of a TCAM entry in bits
}

// RMT12 returns the pipeline of the paper's chip. The hash units and SALUs per stage follow from the paper: nine groups
// of six hash units and three SALUs are 75 % and 56.25 % of twelve stages (section 5.2). It does not state the others,
// which are assumed as in RMT chips of its time.
func RMT12() Pipeline {
	return Pipeline{
		Stages:   12,
		Stage:    Amounts{HashUnits: 6, SALUs: 4, SRAM: 80, TCAM: 24, VLIW: 32, PHV: 4096},
		SRAMBits: 128 * 1024, TCAMEntries: 512, TCAMWidth: 44,
	}
}

// all returns the resources of this number of stages.
func (p *Pipeline) all(stages int) Amounts {
	a := p.Stage
	for i := range a {
		if Resource(i) != PHV {
			a[i] *= float64(stages)
		}
	}
	return a
}

// percent returns a as percentages of the resources of this number of stages.
func (p *Pipeline) percent(a Amounts, stages int) Amounts {
	for i, have := range p.all(stages) {
		if have > 0 {
			a[i] = 100 * a[i] / have
		}
	}
	return a
}

// Assumed widths in bits, and the number of stages of a group.
const (
	taskBits   = 8   // number of a task, which its filter determines once (section 6)
	tupleBits  = 104 // number of bits of the IPv4 5-tuple that filters match
	hashedBits = 32  // number of bits of a compressed key
	stagesOf   = 4   // number of stages per group
)

// A GroupStage is one of a group's four stages: a row of table 2, with the stage's resources.
type GroupStage struct {
	Letter, Name, Function string
	Key                    []Resource // resources that the stage mainly needs
	Use                    Amounts    // amounts that the stage uses; PHV is the number of bits that it writes
}

// GroupStages returns the resources of each stage of a group. Instructions are counted as follows. A CMU's key is
// selected by one word for each of k(k+1)/2 keys. Constants are the word's data, and one more word reads a parameter
// from metadata. Exact-match tables need one block of SRAM. Buckets need Depth words of Width bits.
func GroupStages(g flymon.Geometry, p Pipeline) []GroupStage {
	n, k := float64(g.CMUs), float64(g.Units)
	buckets := ceil(g.Depth*g.Width, p.SRAMBits)
	address := bits.Len(uint(g.Depth - 1))
	return []GroupStage{
		{
			"C", "compression",
			"makes compressed keys by the hash masks that the controller sets; finds the task by its filter",
			[]Resource{HashUnits},
			Amounts{
				HashUnits: k, VLIW: k, TCAM: float64(p.tcam(flymon.MaxTasks, tupleBits)), SRAM: 1,
				PHV: float64(k*hashedBits) + taskBits,
			},
		},
		{
			"I", "initialization", "chooses key and parameters by the task", []Resource{VLIW},
			Amounts{VLIW: n * (float64(k*(k+1)/2) + 1), SRAM: n, PHV: n * float64(address+2*g.Width)},
		},
		{
			"P", "preparation", "translates the address and maps parameters", []Resource{TCAM},
			Amounts{VLIW: n, TCAM: n * float64(p.translation(g, g.Partitions)+p.mapping(g))},
		},
		{
			"O", "operation", "updates the bucket by the operation of the task", []Resource{SALUs, SRAM, HashUnits},
			Amounts{HashUnits: n, SALUs: n, SRAM: n * float64(buckets+1), VLIW: n},
		},
	}
}

// GroupUse returns the resources of a whole group.
func GroupUse(g flymon.Geometry, p Pipeline) Amounts {
	var a Amounts
	for _, s := range GroupStages(g, p) {
		a = a.plus(s.Use)
	}
	return a
}

func ceil(a, b int) int { return (a + b - 1) / b }

// tcam returns the number of TCAM blocks of a table.
func (p *Pipeline) tcam(entries, width int) int {
	return ceil(entries, p.TCAMEntries) * ceil(width, p.TCAMWidth)
}

// translation returns the TCAM blocks of a CMU in n partitions of different tasks: n entries each, including the
// default (figure 9).
func (p *Pipeline) translation(g flymon.Geometry, n int) int {
	return p.tcam(n*n, taskBits+bits.Len(uint(g.Depth-1)))
}

// mapping returns the TCAM blocks of a CMU for mapping parameters.
func (p *Pipeline) mapping(g flymon.Geometry) int { return p.tcam(g.MapEntries, taskBits+g.Width) }

// A Share is one resource of figure 13a in percent of the pipeline: the usage of a switch program, of one group, and of
// the program with all groups that fit.
type Share struct {
	Resource                Resource
	Program, Group, Average float64 // percentages; Average is that of the group over all resources
	With                    []float64
}

// Beside returns the number of groups that fit beside a switch program with these percentages of the pipeline, and the
// resulting usage: With[n] with n groups. The position of the program's free resources in the pipeline is ignored.
func Beside(program Amounts, g flymon.Geometry, p Pipeline) (fit int, shares []Share) {
	one := p.percent(GroupUse(g, p), p.Stages)
	fit = max(0, p.Stages-stagesOf+1)
	average := 0.0
	for i, share := range one {
		average += share / float64(len(one))
		for fit > 0 && program[i]+float64(float64(fit)*share) > 100 {
			fit--
		}
	}
	for _, r := range Resources() {
		s := Share{Resource: r, Program: program[r], Group: one[r], Average: average}
		for n := range fit + 1 {
			s.With = append(s.With, program[r]+float64(float64(n)*one[r]))
		}
		shares = append(shares, s)
	}
	return fit, shares
}
