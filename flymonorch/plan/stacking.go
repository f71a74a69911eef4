package plan

import (
	"math/bits"

	"tamtam/tam/flymon"
)

// A StackPoint is a point of figure 13b: the usage for one number of stages.
type StackPoint struct {
	Stages, Groups, CMUs int
	Percent              Amounts // usage in percent of the resources of the stages
}

// Stacked returns the usage of a pipeline's stages by cross-stacked groups, for each number of stages up to most.
func Stacked(g flymon.Geometry, p Pipeline, most int) []StackPoint {
	var all []StackPoint
	for stages := stagesOf; stages <= most; stages++ {
		n := stages - stagesOf + 1
		use := GroupUse(g, p)
		for i := range use {
			use[i] *= float64(n)
		}
		all = append(all, StackPoint{stages, n, n * g.CMUs, p.percent(use, stages)})
	}
	return all
}

// A TranslationCost is a point of figure 11: the cost of one number of partitions of a CMU.
type TranslationCost struct {
	Partitions int
	// By TCAM: entries, blocks, and percent of one stage's TCAM. Prepared includes the block that maps parameters,
	// which is in the same stage.
	Entries, Blocks   int
	Percent, Prepared float64
	// By shift in one stage: every shifted key is precomputed in its own bits of the PHV, by its own word. One more
	// word per key reads it and adds the base. The percentages are of one stage's words, and of the pipeline's PHV.
	Words, Bits      int
	VLIWPercent, PHV float64
}

// Translations returns the cost of address translation of a CMU with up to most partitions, by both methods.
func Translations(g flymon.Geometry, p Pipeline, most int) []TranslationCost {
	var all []TranslationCost
	stage := p.Stage
	for n := 1; n <= most; n *= 2 {
		c := TranslationCost{Partitions: n, Entries: n * n, Blocks: p.translation(g, n)}
		c.Percent = 100 * float64(c.Blocks) / stage[TCAM]
		c.Prepared = 100 * float64(c.Blocks+p.mapping(g)) / stage[TCAM]
		shifts := bits.Len(uint(n)) - 1 // in addition to the unshifted key
		c.Words, c.Bits = 2*shifts+1, shifts*bits.Len(uint(g.Depth-1))
		c.VLIWPercent, c.PHV = 100*float64(c.Words)/stage[VLIW], 100*float64(c.Bits)/stage[PHV]
		all = append(all, c)
	}
	return all
}

// FreePHV is the assumed number of PHV bits that are free for measurement. The paper does not state it (figure 13c).
// Its two results hold for 2160 to 2387 bits: 27 CMUs in twelve stages, and five times as many with compression for
// keys of 350 bits.
const FreePHV = 2240

// A KeyPoint is a point of figure 13c: the numbers of CMUs that can be deployed for one size of the candidate key.
type KeyPoint struct {
	Bits               int
	Compressed, Copied int
}

// CMUsByKey returns the number of CMUs that can be deployed for candidate keys of these sizes in bits. With
// compression, a group has its compressed keys in the PHV, and each CMU an address and two parameters. Without
// compression, each CMU has a copy of the candidate key, an address and two parameters. No bit is used twice: the PHV
// is allocated once (section 3.1.1). Cross-stacking in the stages limits both.
func CMUsByKey(g flymon.Geometry, p Pipeline, free int, keys []int) []KeyPoint {
	groups := max(0, p.Stages-stagesOf+1)
	most := groups * g.CMUs
	one := bits.Len(uint(g.Depth-1)) + 2*g.Width
	compressed := 0
	for left, n := free, 0; n < groups && left >= g.Units*hashedBits; n++ {
		left -= g.Units * hashedBits
		here := min(g.CMUs, left/one)
		left -= here * one
		compressed += here
	}
	var all []KeyPoint
	for _, k := range keys {
		all = append(all, KeyPoint{k, compressed, min(most, free/(k+one))})
	}
	return all
}
