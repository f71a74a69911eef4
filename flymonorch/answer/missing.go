package answer

import (
	"fmt"
	"math"

	"tamtam/tam/flymon"
)

// leastChance is the minimum probability with which bounds are reported. Bounds that hold once in a hundred times are
// meaningless. With four decimals or as a percentage, such a probability would look like zero.
const leastChance = 0.01

// unknown returns an answer without bounds.
func unknown(e flymon.Estimate, why string) flymon.Estimate {
	return flymon.Estimate{Value: e.Value, Saturated: e.Saturated, Bound: "no bound is known: " + why}
}

// live removes the bounds of answers from registers that were read while they counted. Rows are of different times, and
// lack the packets between the read of a part and its clearing. A flow's share of these is unknown.
func (r *Reading) live(e flymon.Estimate) flymon.Estimate {
	if !r.Task.Live {
		return e
	}
	return unknown(e, "read while it counted; what came between the read of a part and its clearing is lost")
}

// seen describes the packets that a task with a share counts.
func (r *Reading) seen() string { return fmt.Sprintf("one packet in %.0f is seen", r.scale()) }

// atLeast weakens an answer for packets that are not counted. These only add flows or elements, or raise a maximum. So
// with a share, lower bounds still hold, but there is no upper bound. An element that is not found may have occurred.
func (r *Reading) atLeast(e flymon.Estimate) flymon.Estimate {
	if r.Task.Share == 0 || e.Confidence == 0 {
		return e
	}
	if e.Lower == 0 {
		return unknown(e, r.seen()+", it may be more")
	}
	e.Upper, e.Bound = math.Inf(1), e.Bound+"; "+r.seen()+": as many or more"
	return e
}

// maxFrame is the size of a large frame in bytes, for bounds of sampled bytes.
const maxFrame = 1522

// sampled scales the bounds of a count and widens them by those of sampling. Each of n packets is counted with
// probability 1/s. The count k is n/s on average, with the variance n (s-1)/s^2. The greatest n for which k is within
// two standard deviations is sk + 2(s-1) + 2 sqrt(sk(s-1) + (s-1)^2) (Wilson's score). The corresponding lower bound
// would be too narrow for small k, whose distribution is skewed. sk - 2 sqrt(s(k+1)(s-1)) is not. For all shares and
// all n up to 60s, computed with the binomial, both bounds together miss n with at most 4.3 %. Bytes come in frames,
// whose unit is a large one.
func (r *Reading) sampled(e flymon.Estimate, unit float64) flymon.Estimate {
	if r.Task.Share == 0 {
		return e
	}
	s := r.scale()
	e.Bound += "; " + r.seen() + ": two standard deviations"
	if unit > 1 {
		e.Bound += fmt.Sprintf(", of frames of at most %d bytes", maxFrame)
	}
	below, above := e.Lower/unit, e.Upper/unit // s times the counted packets
	e.Lower = math.Max(0, e.Lower-float64(unit*2*math.Sqrt((below+s)*(s-1))))
	e.Upper += float64(unit * 2 * (s - 1 + math.Sqrt(float64(above*(s-1))+float64((s-1)*(s-1)))))
	e.Confidence *= 0.95
	return e
}
