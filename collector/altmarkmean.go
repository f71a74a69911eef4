package collector

import (
	"fmt"
	"math/big"
	"time"

	"tamtam/tam/altmark"
)

// AltMarkMean is the mean delay of all packets of a period (RFC 9341): what they were behind the period's beginning at
// To less what they were at From, summed up, divided by their number. It is of the same packets at both points, or not
// valid: a lost packet would count at one point alone, and move the mean by up to L divided by the number of packets.
type AltMarkMean struct {
	Asked bool // a session asks for it
	Valid bool
	Delay time.Duration // rounded to the nearest ns
	// Sum / Packets is the mean exactly. RawValid: they are known, though without trust in the clocks. A round trip has no
	// such sum: its ways have different packets.
	Sum      altmark.Sum
	Packets  uint64
	RawValid bool
	Unknown  string // why it is not valid, where a session asks for it
}

// mean compares the arrivals of a period at stages i and j. Reason is one against the whole result: the guard does not
// hold.
func (m *AltMark) mean(r *AltMarkResult, i, j int) (d AltMarkMean, reason string) {
	var without string
	for _, s := range []int{i, j} {
		for _, p := range m.stages[s] {
			if p.Settings.MeanDelay {
				d.Asked = true
			} else {
				without = p.Switch
			}
		}
	}
	if !d.Asked {
		return d, ""
	}
	a, b := m.report(r.Period, i), m.report(r.Period, j)
	switch {
	case without != "":
		d.Unknown = fmt.Sprintf("mean-delay is not true at %s", without)
	case !a.has || !b.has:
		d.Unknown = "a report is missing"
	case !r.LossValid:
		d.Unknown = "the result is flagged, so the packets may not be the same at both points"
	case r.Lost != 0:
		d.Unknown = fmt.Sprintf("%d of %d packets were lost: the sums are not of the same packets", r.Lost, r.Sent)
	case r.Sent == 0:
		d.Unknown = "no packets"
	}
	for _, s := range []int{i, j} {
		if n := m.report(r.Period, s); d.Unknown == "" && n.Arrivals.Packets != n.Packets {
			d.Unknown = fmt.Sprintf("%s summed up %d of %d packets", m.path.Points[s].Switch, n.Arrivals.Packets, n.Packets)
		}
	}
	if d.Unknown != "" {
		return d, ""
	}
	d.Sum, d.Packets = b.Arrivals.Sum.Sub(a.Arrivals.Sum), r.Sent
	delay, fits := d.Sum.Mean(d.Packets)
	low, high := m.bounds(i, j)
	if !fits || delay < low || delay > high {
		d = AltMarkMean{Asked: true, Unknown: "it is not what the settings say"}
		return d, fmt.Sprintf("%s: mean delay %v from %s to %s, want %v to %v: the guard condition does not hold",
			AltMarkMargin, delay, m.path.Points[i].Switch, m.path.Points[j].Switch, low, high)
	}
	d.RawValid = true
	if d.Unknown = m.clocksApart(r.Period, i, j); d.Unknown == "" {
		d.Delay, d.Valid = delay, true
	}
	return d, ""
}

// clocksApart says why the clocks of the points of two stages cannot be compared over all of a period; "" if they can.
func (m *AltMark) clocksApart(k uint64, i, j int) string {
	e := m.find(k)
	for x, a := range e.parts[i] {
		for y, b := range e.parts[j] {
			from, to := m.stages[i][x].Switch, m.stages[j][y].Switch
			switch apart := a.Clock.Error + b.Clock.Error; {
			case m.oneKernel(a, b):
			case a.Flags&altmark.Unsynchronised != 0:
				return fmt.Sprintf("%s: %s", from, altmark.Unsynchronised)
			case b.Flags&altmark.Unsynchronised != 0:
				return fmt.Sprintf("%s: %s", to, altmark.Unsynchronised)
			case apart > m.clockError(i, j):
				return fmt.Sprintf("%s: by what their kernels say the clocks of %s and %s may differ by %v, A is %v",
					altmark.Unsynchronised, from, to, apart, m.clockError(i, j))
			}
		}
	}
	return ""
}

// addMean fills in the mean delay of a result that two points reported.
func (m *AltMark) addMean(r *AltMarkResult, i, j int) {
	var reason string
	if r.Mean, reason = m.mean(r, i, j); reason != "" {
		r.Reasons = append(r.Reasons, reason)
		r.Lost, r.LossValid, r.Delay, r.DelayValid = 0, false, 0, false
	}
	if !r.Mean.Valid {
		return
	}
	for _, s := range []int{i, j} {
		for n, p := range m.find(r.Period).parts[s] {
			m.declared(m.stages[s][n].Switch, p.Clock)
		}
	}
}

// and is the mean there and back: the sum of both, within the bounds of both paths together.
func (d AltMarkMean) and(back AltMarkMean, low, high time.Duration) (sum AltMarkMean, reason string) {
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
		sum.Unknown = "it is not what the settings say"
		return sum, fmt.Sprintf("mean delay there and back is %v, want %v to %v: the guard condition does not hold",
			delay, low, high)
	}
	sum.Delay, sum.Valid = delay, true
	return sum, ""
}

// roundedRat is the nearest whole number, half of one up.
func roundedRat(x *big.Rat) int64 {
	twice := new(big.Int).Lsh(x.Num(), 1)
	twice.Add(twice, x.Denom())
	return twice.Div(twice, new(big.Int).Lsh(x.Denom(), 1)).Int64()
}
