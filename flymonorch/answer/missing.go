package answer

import (
	"fmt"
	"math"

	"tamtam/tam/flymon"
)

// leastChance is the least probability with which bounds are reported: what is true once in a
// hundred times says nothing, and with four decimals or as a percentage it would look like none at
// all.
const leastChance = 0.01

// unknown is an answer without bounds.
func unknown(e flymon.Estimate, why string) flymon.Estimate {
	return flymon.Estimate{Value: e.Value, Saturated: e.Saturated, Bound: "no bound is known: " + why}
}

// live weakens answers from registers that were read while they counted: rows are of different
// times, and lack what came between the read of a part and its clearing. It is not known how much
// of that was a flow's, so no answer has bounds.
func (r *Reading) live(e flymon.Estimate) flymon.Estimate {
	if !r.Task.Live {
		return e
	}
	return unknown(e, "read while it counted; what came between the read of a part and its clearing is lost")
}

// seen says which packets a task with a share sees.
func (r *Reading) seen() string { return fmt.Sprintf("one packet in %.0f is seen", r.scale()) }

// atLeast weakens an answer for packets that are not seen. They add flows or elements, or make a
// maximum greater, and take none away: of a share, what is bounded from below stays so, and nothing
// bounds it from above. An element that was not seen may have come.
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

// maxFrame is the bytes of a large frame, for bounds of sampled bytes.
const maxFrame = 1522

// sampled widens the bounds of a count, times the scale, by those of sampling. Of n packets each is
// seen with probability 1/s: k on average n/s, with the variance n (s-1)/s^2. The greatest n that is
// within two standard deviations of k, were k its mean, is sk + 2(s-1) + 2 sqrt(sk(s-1) + (s-1)^2)
// (Wilson's score). From below the same bound would be too narrow for small k, whose distribution is
// skewed; sk - 2 sqrt(s(k+1)(s-1)) is not. For all shares and all n to 60s, summed up by the
// binomial, both together miss n with at most 4.3 %. Bytes come in frames: their unit is a large one.
func (r *Reading) sampled(e flymon.Estimate, unit float64) flymon.Estimate {
	if r.Task.Share == 0 {
		return e
	}
	s := r.scale()
	e.Bound += "; " + r.seen() + ": two standard deviations"
	if unit > 1 {
		e.Bound += fmt.Sprintf(", of frames of at most %d bytes", maxFrame)
	}
	below, above := e.Lower/unit, e.Upper/unit // s times what was seen
	e.Lower = math.Max(0, e.Lower-unit*2*math.Sqrt((below+s)*(s-1)))
	e.Upper += unit * 2 * (s - 1 + math.Sqrt(above*(s-1)+(s-1)*(s-1)))
	e.Confidence *= 0.95
	return e
}
