package marks

import (
	"fmt"
	"math/big"
	"time"

	"tamtam/tam/altmark"
)

// Mean is the mean delay of all packets of a period (RFC 9341). It is the sum of the packets' offsets from the period's
// begin at To, minus that at From, divided by their number. It is valid only for the same packets at both points. A
// lost packet would count at one point only, and change the mean by up to L divided by the number of packets.
type Mean struct {
	Asked bool // true if a session measures the mean
	Valid bool
	Delay time.Duration // mean delay, rounded to the nearest ns
	// Sum / Packets is the exact mean. RawValid means that both are known, but that the clocks may not be trusted. A
	// round trip has no such sum, because its paths have different packets.
	Sum      altmark.Sum
	Packets  uint64
	RawValid bool
	Unknown  string // reason why the mean is not valid, if a session measures it
}

// A meanOf computes the mean delay of a result between two stages.
type meanOf struct {
	m    *Joiner
	r    *Result
	i, j int
}

// add sets the mean delay. A mean that the settings exclude invalidates the whole result, because the guard does not
// hold.
func (x meanOf) add() {
	var without string
	if x.r.Mean.Asked, without = x.asked(); !x.r.Mean.Asked {
		return
	}
	d := &x.r.Mean
	if d.Unknown = x.why(without); d.Unknown != "" {
		return
	}
	a, b := x.m.report(x.r.Period, x.i), x.m.report(x.r.Period, x.j)
	sum := b.Arrivals.Sum.Sub(a.Arrivals.Sum)
	delay, fits := sum.Mean(x.r.Sent)
	if low, high := x.m.bounds(x.i, x.j); !fits || delay < low || delay > high {
		d.Unknown = meanExcluded
		x.r.Reasons = append(x.r.Reasons,
			fmt.Sprintf("%s: mean delay %v from %s to %s, want %v to %v: the guard condition does not hold",
				Margin, delay, x.r.From, x.r.To, low, high))
		x.r.Lost, x.r.LossValid, x.r.Delay, x.r.DelayValid = 0, false, 0, false
		return
	}
	d.Sum, d.Packets, d.RawValid = sum, x.r.Sent, true
	if d.Unknown = x.clocksApart(); d.Unknown != "" {
		return
	}
	d.Delay, d.Valid = delay, true
	for _, s := range []int{x.i, x.j} {
		for n, p := range x.m.find(x.r.Period).parts[s] {
			x.m.declared(x.m.stages[s][n].Switch, p.Clock)
		}
	}
}

// meanExcluded is the reason for a mean delay that the settings exclude.
const meanExcluded = "it does not match the settings"

// asked reports whether a session measures the mean delay, and returns a switch whose session does not.
func (x meanOf) asked() (some bool, without string) {
	for _, s := range []int{x.i, x.j} {
		for _, p := range x.m.stages[s] {
			if p.Settings.MeanDelay {
				some = true
			} else {
				without = p.Switch
			}
		}
	}
	return some, without
}

// why returns the reason why the sums of both stages are missing or of different packets, or "" if they are comparable.
func (x meanOf) why(without string) string {
	switch r := x.r; {
	case without != "":
		return fmt.Sprintf("mean-delay is not true at %s", without)
	case r.Status == Missing:
		return "a report is missing"
	case !r.LossValid:
		return "the result is flagged, so the packets may not be the same at both points"
	case r.Lost != 0:
		return fmt.Sprintf("%d of %d packets were lost: the sums are not of the same packets", r.Lost, r.Sent)
	case r.Sent == 0:
		return "no packets"
	}
	for _, s := range []int{x.i, x.j} {
		if n := x.m.report(x.r.Period, s); n.Arrivals.Packets != n.Packets {
			return fmt.Sprintf("%s summed up %d of %d packets", x.m.path.Points[s].Switch, n.Arrivals.Packets, n.Packets)
		}
	}
	return ""
}

// clocksApart returns the reason why the clocks of both stages' points cannot be compared over the whole period, or ""
// if they can.
func (x meanOf) clocksApart() string {
	e := x.m.find(x.r.Period)
	for n, a := range e.parts[x.i] {
		for o, b := range e.parts[x.j] {
			from, to := x.m.stages[x.i][n].Switch, x.m.stages[x.j][o].Switch
			switch apart := a.Clock.Error + b.Clock.Error; {
			case x.m.oneKernel(a, b):
			case a.Flags&altmark.Unsynchronised != 0:
				return fmt.Sprintf("%s: %s", from, altmark.Unsynchronised)
			case b.Flags&altmark.Unsynchronised != 0:
				return fmt.Sprintf("%s: %s", to, altmark.Unsynchronised)
			case apart > x.m.clockError(x.i, x.j):
				return fmt.Sprintf("%s: by their kernels' reports the clocks of %s and %s may differ by %v, A is %v",
					altmark.Unsynchronised, from, to, apart, x.m.clockError(x.i, x.j))
			}
		}
	}
	return ""
}

// and returns the mean of the round trip, which is the sum of the means of both directions. low and high are the bounds
// of both paths together. If the sum exceeds them, reason is set.
func (d Mean) and(back Mean, low, high time.Duration) (sum Mean, reason string) {
	if sum.Asked = d.Asked || back.Asked; !sum.Asked {
		return sum, ""
	}
	if !d.RawValid || !back.RawValid {
		sum.Unknown = "it is not known of both paths"
		return sum, ""
	}
	mean := new(big.Rat).Add(new(big.Rat).SetFrac(d.Sum.Big(), new(big.Int).SetUint64(d.Packets)),
		new(big.Rat).SetFrac(back.Sum.Big(), new(big.Int).SetUint64(back.Packets)))
	delay := time.Duration(roundedRat(mean))
	if delay < low || delay > high {
		sum.Unknown = meanExcluded
		return sum, fmt.Sprintf("mean delay there and back is %v, want %v to %v: the guard condition does not hold",
			delay, low, high)
	}
	sum.Delay, sum.Valid = delay, true
	return sum, ""
}

// roundedRat returns the nearest integer, with halves rounded up.
func roundedRat(x *big.Rat) int64 {
	twice := new(big.Int).Lsh(x.Num(), 1)
	twice.Add(twice, x.Denom())
	return twice.Div(twice, new(big.Int).Lsh(x.Denom(), 1)).Int64()
}
