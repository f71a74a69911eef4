package flymon

import (
	"fmt"
	"strings"
)

// An Estimate is what a sketch says, and how sure it is.
type Estimate struct {
	Value float64 `json:"estimate"`
	// Lower and Upper bound the true value with probability Confidence, by the theory that
	// Bound names; both 0 with Confidence 0: no bound is known.
	Lower      float64 `json:"lower"`
	Upper      float64 `json:"upper"`
	Confidence float64 `json:"confidence"`
	Bound      string  `json:"bound,omitempty"`
	// Saturated: so full that the bound does not hold.
	Saturated bool `json:"saturated,omitempty"`
	// Exact is the oracle's value, where it is on.
	Exact *float64 `json:"exact,omitempty"`
}

// Error is the relative error where the exact value is known; false: it is not, or
// it is 0.
func (e *Estimate) Error() (float64, bool) {
	if e.Exact == nil || *e.Exact == 0 {
		return 0, false
	}
	return (e.Value - *e.Exact) / *e.Exact, true
}

// Metrics of a task as a whole.
const (
	MetricPackets     = "packets"     // that the task saw, exact
	MetricBytes       = "bytes"       // of these, with FCS, exact
	MetricCardinality = "cardinality" // distinct flows, or values of a single-key task
	MetricEntropy     = "entropy"     // of flow sizes, in bits
	MetricMaximum     = "maximum"     // of all packets
	MetricHeavy       = "heavy-flows" // flows at or above the threshold
	MetricMembers     = "members"     // elements of a set, from its load
	MetricJaccard     = "similarity"  // of the last two epochs' sets, Jaccard
	MetricDifference  = "difference"  // elements in one of the two sets
)

// Flags say what is wrong with an epoch's answers.
type Flags uint16

// Flags.
const (
	FlagFirst     Flags = 1 << iota // the task began in the midst of it
	FlagPartial                     // the task was changed in the midst of it
	FlagLate                        // the bank was read when it counted again
	FlagDirty                       // the bank was not cleared before it counted
	FlagClockStep                   // the clock was set
	FlagLive                        // read while it counted
	FlagDigests                     // more digests than the chip keeps: flows may be missing
	FlagRecirc                      // packets that the recirculation port had no room for
)

func flagWords() []string {
	return []string{"first", "partial", "late-read", "dirty", "clock-step", "live", "digests-lost", "recirculation-lost"}
}

// String lists the flags with commas between.
func (f Flags) String() string {
	var words []string
	for i, w := range flagWords() {
		if f>>i&1 != 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, ",")
}

// ParseFlags is the counterpart of String.
func ParseFlags(s string) (f Flags, err error) {
next:
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' }) {
		for i, x := range flagWords() {
			if w == x {
				f |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("flag %q, want %s", w, strings.Join(flagWords(), ", "))
	}
	return f, nil
}
