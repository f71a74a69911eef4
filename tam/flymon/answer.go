package flymon

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// An Estimate is a value that a sketch returned, with its confidence bounds. Its JSON has only the bounds that exist.
type Estimate struct {
	Value float64
	// Lower and Upper bound the true value with probability Confidence, by the theory that Bound names. Upper is
	// infinite if there is no upper bound. Confidence is zero if it is unknown.
	Lower      float64
	Upper      float64
	Confidence float64
	Bound      string
	// Saturated means that the sketch is too full for a meaningful value, for example because a counter is at its
	// maximum. Bounds, if any, still hold.
	Saturated bool
	// Flags describe problems of the epochs that the estimate is computed from.
	Flags Flags
	// Exact is the oracle's value, or nil if there is no oracle.
	Exact *float64
}

// Bounds reports which bounds exist.
func (e *Estimate) Bounds() (lower, upper bool) {
	upper = e.Confidence > 0 && !math.IsInf(e.Upper, 1)
	return e.Confidence > 0 && (upper || e.Lower > 0), upper
}

// jsonEstimate is the JSON form of an Estimate.
type jsonEstimate struct {
	Value      *float64 `json:"estimate,omitempty"`
	Lower      *float64 `json:"lower,omitempty"`
	Upper      *float64 `json:"upper,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Bound      string   `json:"bound,omitempty"`
	Saturated  bool     `json:"saturated,omitempty"`
	Flags      string   `json:"flags,omitempty"`
	Exact      *float64 `json:"exact,omitempty"`
}

// MarshalJSON encodes an estimate without the bounds that do not exist. A value that is infinite or NaN is omitted too.
func (e Estimate) MarshalJSON() ([]byte, error) { return json.Marshal(e.json()) }

func (e *Estimate) json() jsonEstimate {
	j := jsonEstimate{Bound: e.Bound, Saturated: e.Saturated, Flags: e.Flags.String(), Exact: e.Exact}
	if !math.IsNaN(e.Value) && !math.IsInf(e.Value, 0) {
		j.Value = &e.Value
	}
	lower, upper := e.Bounds()
	if lower {
		j.Lower, j.Confidence = &e.Lower, e.Confidence
	}
	if upper {
		j.Upper = &e.Upper
	}
	return j
}

// UnmarshalJSON decodes the result of MarshalJSON. An omitted value is infinite, and so is an omitted upper bound if
// there is a confidence. An omitted lower bound is 0.
func (e *Estimate) UnmarshalJSON(text []byte) error {
	var j jsonEstimate
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	var err error
	*e, err = j.estimate()
	return err
}

func (j *jsonEstimate) estimate() (Estimate, error) {
	e := Estimate{Value: math.Inf(1), Confidence: j.Confidence, Bound: j.Bound, Saturated: j.Saturated, Exact: j.Exact}
	if j.Value != nil {
		e.Value = *j.Value
	}
	if j.Lower != nil {
		e.Lower = *j.Lower
	}
	switch {
	case j.Upper != nil:
		e.Upper = *j.Upper
	case e.Confidence > 0:
		e.Upper = math.Inf(1)
	}
	var err error
	e.Flags, err = ParseFlags(j.Flags)
	return e, err
}

// A Change is the difference of a flow's count between two consecutive epochs, up or down, with both counts.
type Change struct {
	Estimate
	Before, After float64
}

// jsonChange is the JSON form of a Change: an estimate with two more members.
type jsonChange struct {
	jsonEstimate
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// MarshalJSON encodes a change like its estimate, with both counts.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonChange{c.json(), c.Before, c.After})
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (c *Change) UnmarshalJSON(text []byte) error {
	var j jsonChange
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	e, err := j.estimate()
	*c = Change{e, j.Before, j.After}
	return err
}

// Error returns the relative error. It returns false if the exact value is unknown or 0.
func (e *Estimate) Error() (float64, bool) {
	if e.Exact == nil || *e.Exact == 0 {
		return 0, false
	}
	return (e.Value - *e.Exact) / *e.Exact, true
}

// Metrics of a whole task.
const (
	MetricPackets     = "packets"     // number of packets that match the filter; exact without a share
	MetricBytes       = "bytes"       // number of bytes of these packets, including the FCS
	MetricCardinality = "cardinality" // number of distinct flows, or of distinct values of a single-key task
	MetricEntropy     = "entropy"     // entropy of flow sizes, in bits
	MetricMaximum     = "maximum"     // maximum over all packets
	MetricHeavy       = "heavy-flows" // number of flows at or above the threshold
	MetricFalse       = "false-flows" // expected number of listed flows below the threshold, for coupons
	// MetricChangers is the number of flows whose counts in this epoch and the last one differ by the change threshold.
	MetricChangers   = "heavy-changers"
	MetricMembers    = "members"    // number of elements of a set, estimated from its load
	MetricJaccard    = "similarity" // Jaccard similarity of the last two epochs' sets
	MetricDifference = "difference" // number of elements that are in exactly one of the two sets
)

// Flags describe problems of an epoch's answers.
type Flags uint16

// The flags. String returns their words.
const (
	FlagFirst     Flags = 1 << iota // the task began during the epoch
	FlagPartial                     // the task was changed during the epoch, or a sweep was given up
	FlagLate                        // the bank was read after it had started to count again
	FlagDirty                       // the bank was not cleared before it counted
	FlagClockStep                   // the clock was set
	FlagLive                        // the registers were read while the bank counted
	FlagDigests                     // there were more digests than the chip keeps, so flows may be missing
	FlagRecirc                      // packets did not fit in the recirculation port
)

// Whole reports whether the registers of an epoch cover exactly its packets. Only then may the epoch be compared with
// another one. The flags for digests and live reads do not count. The first concerns only lists of flows, and the
// second leaves no answer with bounds.
func (f Flags) Whole() bool { return f&^(FlagDigests|FlagLive) == 0 }

func flagWords() []string {
	return []string{"first", "partial", "late-read", "dirty", "clock-step", "live", "digests-lost", "recirculation-lost"}
}

// String lists the flags, separated by commas.
func (f Flags) String() string {
	var words []string
	for i, w := range flagWords() {
		if f>>i&1 != 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, ",")
}

// ParseFlags parses the result of String. An error names the invalid word.
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
