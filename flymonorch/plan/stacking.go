package plan

import (
	"math/bits"

	"tamtam/tam/flymon"
)

// A StackPoint is one number of stages of figure 13b.
type StackPoint struct {
	Stages, Groups, CMUs int
	Percent              Amounts // of what the stages have
}

// Stacked says how much of a pipeline's stages cross-stacked groups use, for each
// number of stages up to most.
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

// A TranslationCost is one number of partitions of figure 11, for one CMU.
type TranslationCost struct {
	Partitions int
	// By TCAM: entries, blocks, and percent of one stage's TCAM; Prepared is that with
	// the block that maps parameters, which is in the same stage.
	Entries, Blocks   int
	Percent, Prepared float64
	// By shift in one stage: every shifted key is computed before, in its own bits of the
	// PHV, by its own word; and one word for each takes it and adds the base. In
	// percent of one stage's words, and of the pipeline's PHV.
	Words, Bits      int
	VLIWPercent, PHV float64
}

// Translations says what address translation costs a CMU that can be split into up
// to most partitions, by both methods.
func Translations(g flymon.Geometry, p Pipeline, most int) []TranslationCost {
	var all []TranslationCost
	stage := p.Stage
	for n := 1; n <= most; n *= 2 {
		c := TranslationCost{Partitions: n, Entries: n * n, Blocks: p.translation(g, n)}
		c.Percent = 100 * float64(c.Blocks) / stage[TCAM]
		c.Prepared = 100 * float64(c.Blocks+p.mapping(g)) / stage[TCAM]
		shifts := bits.Len(uint(n)) - 1 // besides none
		c.Words, c.Bits = 2*shifts+1, shifts*bits.Len(uint(g.Depth-1))
		c.VLIWPercent, c.PHV = 100*float64(c.Words)/stage[VLIW], 100*float64(c.Bits)/stage[PHV]
		all = append(all, c)
	}
	return all
}

// FreePHV is how much of the PHV is assumed to be free for measurement, in bits; the paper does not
// say it (figure 13c). Both that it states hold with 2160 to 2387 bits: 27 CMUs in twelve stages,
// and five times as many with compression at keys of 350 bits.
const FreePHV = 2240

// A KeyPoint is one size of the candidate key of figure 13c: CMUs that can be
// deployed.
type KeyPoint struct {
	Bits               int
	Compressed, Copied int
}

// CMUsByKey says how many CMUs can be deployed for candidate keys of so many bits.
// With compression a group has its compressed keys, and its CMUs an address and two
// parameters in the PHV. Without it each CMU has a copy of the candidate key, an address
// and two parameters. No bit is used twice: the PHV is allocated once (section 3.1.1).
// Neither can be more than the stages have by cross-stacking.
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
