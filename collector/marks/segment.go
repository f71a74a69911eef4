package marks

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"tamtam/tam/altmark"
)

// pathFaults returns the reasons why the points cannot be compared at all.
func pathFaults(stages []pointStage) (faults []string) {
	points := slices.Concat(stages...)
	fault := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(faults, text) { // a point may be in two stages
			faults = append(faults, text)
		}
	}
	known := true
	for _, p := range points {
		if p.Settings.Role == 0 {
			fault("%s: the settings of session %s are not known", p.Switch, p.Session)
			known = false
		}
	}
	if !known {
		return faults
	}
	first := points[0]
	for _, p := range points {
		if p.want != 0 && p.Settings.Role != p.want {
			fault("%s: role is %s, want %s", p.Switch, p.Settings.Role, p.want)
		}
		if p.Settings.Interval != first.Settings.Interval {
			fault("%s: interval is %s, and %s at %s", p.Switch, p.Settings.Interval, first.Settings.Interval, first.Switch)
		}
		if p.Settings.Method != first.Settings.Method {
			fault("%s: method is %s, and %s at %s", p.Switch, p.Settings.Method, first.Settings.Method, first.Switch)
		}
		if p.Settings.Mark != first.Settings.Mark || p.Settings.Mark2 != first.Settings.Mark2 {
			fault("%s: marks are %s, and %s at %s", p.Switch, marksOf(p.Settings), marksOf(first.Settings), first.Switch)
		}
		if p.Settings.FlowMonID != first.Settings.FlowMonID { // sessions with different IDs count different packets
			fault("%s: flow-mon-id is %s, and %s at %s", p.Switch, cmp.Or(p.Settings.FlowMonID.String(), "none"),
				cmp.Or(first.Settings.FlowMonID.String(), "none"), first.Switch)
		}
	}
	return faults
}

func marksOf(s altmark.Session) string {
	if s.Mark2 == altmark.NoMark {
		return s.Mark.String()
	}
	return s.Mark.String() + " and " + s.Mark2.String()
}

// results compares consecutive points, and the first with the last if there are more than two.
func (m *Joiner) results(e *periodEntry) []Result {
	var out []Result
	for _, s := range m.segments() {
		out = append(out, m.result(e, s[0], s[1]))
	}
	return out
}

// segments returns the pairs of stages that are compared. For a graph this is only the pair of the cluster, or that of
// the whole graph.
func (m *Joiner) segments() (all [][2]int) {
	last := len(m.stages) - 1
	if m.graph {
		return [][2]int{m.cluster}
	}
	for i := range last {
		all = append(all, [2]int{i, i + 1})
	}
	if last > 1 {
		all = append(all, [2]int{0, last})
	}
	return all
}

// result compares points i and j.
func (m *Joiner) result(e *periodEntry, i, j int) Result {
	from, to := m.path.Points[i], m.path.Points[j]
	n := m.path.Points[0].Settings.Interval
	r := Result{
		Path: m.path.Name, From: from.Switch, To: to.Switch, Period: e.number, Start: n.Start(e.number),
		Status: OK, Reasons: slices.Clone(m.faults),
	}
	for _, p := range []int{i, j} {
		if !e.reports[p].has {
			r.Reasons = append(r.Reasons, m.path.Points[p].Switch+": no report")
			r.Status = Missing
		}
	}
	if r.Status != Missing {
		m.compare(&r, i, j)
	}
	meanOf{m, &r, i, j}.add()
	if len(m.faults) > 0 || r.Status == OK && len(r.Reasons) > 0 {
		r.Status = Flagged
	}
	if !m.brief {
		w := m.window(e.number, i, j)
		r.Window, r.Jitter, r.JitterValid = w.Delays, w.jitter, w.jitterValid
	}
	return r
}

// compare sets the fields that follow from two reports.
func (m *Joiner) compare(r *Result, i, j int) {
	a, b := m.report(r.Period, i), m.report(r.Period, j)
	r.Counted = true
	r.Sent, r.Received, r.SentBytes, r.ReceivedBytes = a.Packets, b.Packets, a.Bytes, b.Bytes
	if a.Packets == 0 && b.Packets == 0 && a.Flags&altmark.Interfaces == 0 {
		b.Flags &^= altmark.Interfaces // no packet was sent, so none arrived elsewhere
	}
	r.Reasons = append(r.Reasons, m.flagged(r.Period, i, a, b)...)
	r.Reasons = append(r.Reasons, m.flagged(r.Period, j, b, a)...)
	splits := m.split(r.Period)
	others := lossReasons(m, r.Period, i, j, splits)
	r.Reasons = append(r.Reasons, others...)
	delay := m.delay(r.Period, i, j)
	r.RawDelay, r.RawDelayValid = delay.raw, delay.rawValid
	if delay.reason != "" {
		r.Reasons = append(r.Reasons, delay.reason)
	}
	if delay.valid {
		r.Delay, r.DelayValid = delay.raw, true
		m.declared(m.path.Points[i].Switch, a.Clock)
		m.declared(m.path.Points[j].Switch, b.Clock)
	}
	whole := m.method().Loss() && len(m.faults) == 0 && !(a.Flags | b.Flags).VoidsLoss() && !a.conflict && !b.conflict &&
		!delay.guard
	if whole && len(others) == 0 {
		r.Lost, r.LossValid = int64(a.Packets-b.Packets), true
	}
	r.Excess = whole && len(splits) > 0 && len(others) == len(splits)
}

// lossReasons returns the reasons why a loss of period k between points i and j is uncertain, besides their own flags.
// splits holds the period's splits.
func lossReasons(m *Joiner, k uint64, i, j int, splits []string) []string {
	parts := m.find(k).parts
	var stages []pointStage
	var counted [][]pointReading
	// includes the first point, because packets that it does not mark belong to no period
	for _, p := range segment(i, j) {
		stages, counted = append(stages, m.stages[p]), append(counted, parts[p])
	}
	others := otherMatches(stages, counted)
	others = slices.Concat(m.elsewhere(k), others, splits)
	if len(splits) == 0 { // with splits, the counts of this period are void anyway
		others = append(others, changedColour(m, k, i, j)...)
	}
	others = append(others, m.neighbours(k, i, j)...)
	others = append(others, m.pulses(k, i, j)...)
	concerned := segment(i, j)
	if m.watched > 0 && m.report(k, m.watched-1).has { // without this report, its absence is a reason already
		concerned = append(concerned, m.watched-1)
	}
	if suspect := m.checkClocks(k, concerned...); suspect.reason != "" {
		others = append([]string{suspect.reason}, others...)
		m.notice(suspect)
	}
	return others
}

// flagged returns the flags of a stage's reports, whose sum is sum, without those that the other side compensates.
func (m *Joiner) flagged(k uint64, stage int, sum, other pointReading) (reasons []string) {
	for n, report := range m.find(k).parts[stage] {
		name := m.stages[stage][n].Switch
		report.Flags &= sum.Flags
		if flags := m.flags(report, other); flags != "" {
			reasons = append(reasons, name+": "+flags)
		}
		if report.conflict {
			reasons = append(reasons, name+": two reports that differ")
		}
	}
	return reasons
}

func (m *Joiner) method() altmark.Method { return m.path.Points[0].Settings.Method }

// neighbours returns the reasons why other periods make this one's counts uncertain.
//
// A packet that arrives when the guard condition allows none is counted in the next reading of its colour's counter. It
// may belong to this period but be in the report of the previous or next period of the same colour. Without slots, a
// packet after a gap in the traffic may be mistaken for a pulse of the previous period, or for a step to the next. A
// muxed pulse that left too late may be counted as a packet of the following period.
//
// The first point defines the periods. If its clock was set, or it began to mark other packets, packets of one mark
// belong to several periods, at all points.
func (m *Joiner) neighbours(k uint64, i, j int) (reasons []string) {
	if !m.method().Loss() {
		return nil
	}
	near := []uint64{k - 2, k + 2}
	if m.method() == altmark.Muxed && !m.path.Points[0].Settings.SlotSync {
		near = []uint64{k - 2, k - 1, k + 1, k + 2}
	}
	first := m.report(k, 0)
	switch set := first.Flags & (altmark.First | altmark.ClockStep | altmark.CounterReset); {
	case i == 0:
	case !first.has:
		reasons = append(reasons, m.path.Points[0].Switch+": no report, which shows whether packets were marked")
	case set != 0:
		reasons = append(reasons, fmt.Sprintf("%s: %s", m.path.Points[0].Switch, set))
	}
	reasons = append(reasons, m.lateBefore(k, i, j)...)
	for _, p := range []int{i, j} {
		name := m.path.Points[p].Switch
		for _, q := range near {
			if m.report(q, p).Flags&altmark.OutOfWindow != 0 {
				reasons = append(reasons, fmt.Sprintf("%s: out-of-window in period %d", name, q))
			}
		}
		if p > 0 {
			reasons = append(reasons, m.later(k, p)...)
		}
	}
	if m.method() != altmark.Muxed {
		return reasons
	}
	name := m.path.Points[0].Switch
	if m.report(k-1, 0).Flags&altmark.LatePulse != 0 {
		reasons = append(reasons, fmt.Sprintf("%s: late-pulse in period %d", name, k-1))
	}
	if i != 0 && m.report(k, 0).Flags&altmark.LatePulse != 0 {
		reasons = append(reasons, name+": late-pulse")
	}
	return reasons
}

// lateBefore returns reasons for the points other than i and j, up to j, that received frames late. Such a point flags
// all periods that these may belong to. But the frames are also late at the points after it, which cannot detect that.
func (m *Joiner) lateBefore(k uint64, i, j int) (reasons []string) {
	for p := range j {
		if p != i && m.report(k, p).Flags&altmark.LateFrames != 0 {
			reasons = append(reasons, fmt.Sprintf("%s: %s", m.path.Points[p].Switch, altmark.LateFrames))
		}
	}
	return reasons
}

// later returns the reasons why the reports of the two periods after k do not reveal all late packets of k at point p.
// Such a packet is in the report of k+2, as one out of window. That requires that the point continued to count from its
// reading of k. If it started over, the packet is in its new base.
func (m *Joiner) later(k uint64, p int) (reasons []string) {
	const anew = altmark.First | altmark.ClockStep | altmark.CounterReset
	name := m.path.Points[p].Switch
	for _, q := range []uint64{k + 1, k + 2} {
		switch r := m.report(q, p); {
		case !r.has:
			return []string{fmt.Sprintf("%s: no report of period %d, which shows late packets", name, q)}
		case r.conflict:
			return []string{fmt.Sprintf("%s: period %d, which shows late packets, has two reports that differ", name, q)}
		case r.Flags&anew != 0:
			return []string{fmt.Sprintf("%s: period %d, which shows late packets, is flagged %s", name, q, r.Flags&anew)}
		}
	}
	return nil
}

// pulses returns the reasons why the pulses of a muxed mark make the counts of a period uncertain.
//
// A pulse has the mark of the adjacent periods. A pulse that misses its quarters is counted as a packet of the next
// period, in any quarter. A packet that arrives in the two middle quarters of the period after its own is counted there
// as a pulse. So a period's packets are certain only if the pulses of the previous period, its own and the next are
// known. If one is missing, it may have been lost or late. A different packet in its place, by digest or time, shows
// that the pulse was lost.
func (m *Joiner) pulses(k uint64, i, j int) (reasons []string) {
	if m.method() != altmark.Muxed {
		return nil
	}
	first := m.path.Points[0].Switch
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	for _, q := range []uint64{k - 1, k, k + 1} {
		sent := m.report(q, 0)
		if !sent.has {
			say("%s: no report of period %d, which shows its pulse", first, q)
			continue
		}
		if len(m.stages[0]) > 1 && sent.Captures > 1 { // a lost pulse and a late packet could compensate each other
			say("%s: %s had %d pulses in period %d, which cannot be told apart", Pulses, first, sent.Captures, q)
			continue
		}
		for _, p := range []int{i, j} {
			name, came := m.path.Points[p].Switch, m.report(q, p)
			switch {
			case !came.has:
				say("%s: no report of period %d, which shows its pulse", name, q)
			case sent.Captures == 1 && came.Captures == 1 &&
				(came.Digest != sent.Digest || p > 0 && m.pulseOf(q, p).Captures != 1):
				say("%s: %s took another packet for the pulse of period %d than %s", Pulses, name, q, first)
			case q > k && came.Captures == 0: // no packet of k is among the pulses
			case came.Captures != sent.Captures:
				say("%s: %s had %d pulses in period %d, and %s %d",
					Pulses, name, came.Captures, q, first, sent.Captures)
			}
		}
	}
	return reasons
}

// pairDelay is the result of two points' timestamps.
type pairDelay struct {
	raw             time.Duration
	rawValid, valid bool
	guard           bool // true if the guard condition is violated
	reason          string
}

// delay compares the timestamps of period k at points i and j. They must be of the packet that the first point made the
// pulse of k, which has the same digest at all points. If there was no pulse, or the first point's clock was set, later
// points may agree on another packet.
func (m *Joiner) delay(k uint64, i, j int) (d pairDelay) {
	if !m.method().Delay() || len(m.faults) > 0 {
		return d
	}
	a, b, other, ok := m.onePulse(k, i, j)
	if other > 0 {
		d.reason = fmt.Sprintf("%s: %s took another packet for the pulse of period %d than %s", Pulses,
			m.path.Points[other].Switch, k, m.path.Points[0].Switch)
	}
	if !ok || m.checkClocks(k, segment(i, j)...).reason != "" {
		return d
	}
	d.raw, d.rawValid = b.Timestamp.Sub(a.Timestamp), true
	low, high := m.bounds(i, j)
	if d.raw < low || d.raw > high {
		d.guard = true
		d.reason = fmt.Sprintf("%s: delay %v from %s to %s, want %v to %v: the guard condition does not hold",
			Margin, d.raw, m.path.Points[i].Switch, m.path.Points[j].Switch, low, high)
		return d
	}
	flags := a.Flags | b.Flags
	if m.oneKernel(a, b) {
		flags &^= altmark.Unsynchronised
	} else if apart := a.Clock.Error + b.Clock.Error; apart > m.clockError(i, j) {
		d.reason = fmt.Sprintf("%s: by their kernels' reports the clocks of %s and %s may differ by %v, A is %v",
			altmark.Unsynchronised, m.path.Points[i].Switch, m.path.Points[j].Switch, apart, m.clockError(i, j))
	}
	d.valid = !flags.VoidsDelay() && d.reason == "" && len(m.split(k)) == 0
	return d
}

// onePulse returns the reports of points i and j with the time of the first point's pulse of period k. It returns false
// if one has none. If a point captured another packet instead, by digest or time, other is that point. Then a node
// between them changes or duplicates packets, or a clock contradicts the settings. This applies to double marking only.
// Muxed pulses are evaluated with the counts, and a pulse of pulse marking may belong to the adjacent period.
func (m *Joiner) onePulse(k uint64, i, j int) (a, b pointReading, other int, ok bool) {
	pulse := m.report(k, 0)
	if !pulse.timed() {
		return a, b, 0, false
	}
	a, b = m.captured(k, i), m.captured(k, j)
	if i != 0 {
		a, b = m.pulseOf(k, i), m.pulseOf(k, j)
	}
	if a.timed() && b.timed() && a.Digest == pulse.Digest && b.Digest == pulse.Digest {
		return a, b, 0, true
	}
	differs := func(p int, found pointReading) bool {
		return m.method() == altmark.Double && m.report(k, p).timed() && (!found.timed() || found.Digest != pulse.Digest)
	}
	switch {
	case i > 0 && differs(i, a):
		other = i
	case differs(j, b):
		other = j
	}
	return a, b, other, false
}

// timed reports whether a report contains the time of a single pulse.
func (r pointReading) timed() bool {
	return r.has && !r.conflict && r.Captures == 1 && r.Flags&voidsRawDelay == 0
}

// captured returns the report with the pulse of period k at point j.
func (m *Joiner) captured(k uint64, j int) pointReading {
	if j > 0 && m.report(k, j).has && m.method() == altmark.Pulse {
		return m.pulseAt(k, j)
	}
	return m.report(k, j)
}

// voidsRawDelay contains the flags that invalidate even the raw difference of two timestamps. The other flags of
// VoidsDelay only add the difference of the clocks, or the possibility that other packets arrived marked.
const voidsRawDelay = altmark.First | altmark.LateRead | altmark.ClockStep | altmark.ManyPulses | altmark.LatePulse |
	altmark.CounterReset

// bounds returns the minimum and maximum difference of one packet's timestamps at points i and j. The delays in the
// settings are relative to the first point.
func (m *Joiner) bounds(i, j int) (low, high time.Duration) {
	a, b := m.path.Points[i].Settings, m.path.Points[j].Settings
	if i == 0 {
		a.MinDelay, a.MaxDelay = 0, 0
	}
	clock := m.clockError(i, j)
	return max(b.MinDelay-a.MaxDelay, 0) - clock, b.MaxDelay - a.MinDelay + clock
}

// pulseAt returns the capture of the pulse of period k at point j, by time. A pulse that was sent close to an edge may
// be captured in the next period at the other point. There is no capture if another pulse may explain it as well. A
// capture that no pulse explains counts for this period.
func (m *Joiner) pulseAt(k uint64, j int) pointReading {
	capture := m.explained(k, j)
	if !capture.has || m.mayExplain(k-1, k, j, capture) || m.mayExplain(k+1, k, j, capture) {
		return pointReading{}
	}
	return capture
}

// explained returns the only capture at point j, in k or an adjacent period, that the first point's pulse of period k
// explains. If no capture is explained, it returns the capture of k. If several are explained, it returns none.
func (m *Joiner) explained(k uint64, j int) (capture pointReading) {
	pulse := m.report(k, 0)
	for _, q := range []uint64{k - 1, k, k + 1} {
		b := m.report(q, j)
		if !b.has || b.Captures != 1 || !m.explains(pulse, j, b) {
			continue
		}
		if capture.has {
			return pointReading{}
		}
		capture = b
	}
	if own := m.report(k, j); !capture.has && own.Captures == 1 {
		return own
	}
	return capture
}

// explains reports whether point j captured the first point's pulse: the same packet, neither too early nor too late.
func (m *Joiner) explains(pulse pointReading, j int, capture pointReading) bool {
	low, high := m.bounds(0, j)
	d := capture.Timestamp.Sub(pulse.Timestamp)
	return capture.Digest == pulse.Digest && d >= low && d <= high
}

// mayExplain reports whether the capture of k at point j may be the pulse of the adjacent period q. Without a report of
// that pulse, it may if the pulse could have left the first point at any time of its period.
func (m *Joiner) mayExplain(q, k uint64, j int, capture pointReading) bool {
	low, high := m.bounds(0, j)
	n := m.path.Points[0].Settings.Interval
	switch other := m.report(q, 0); {
	case other.has && other.Captures == 1:
		return m.explains(other, j, capture)
	case other.has:
		return other.Captures != 0
	case q < k:
		return capture.Timestamp.Sub(n.Start(k)) <= high
	}
	return capture.Timestamp.Sub(n.Start(q)) >= low
}

// pulseOf returns the capture, at a later point, of the first point's pulse of period k. It returns an empty report if
// that pulse does not explain the capture.
func (m *Joiner) pulseOf(k uint64, point int) pointReading {
	low, high := m.bounds(0, point)
	sent, found := m.report(k, 0), m.captured(k, point)
	if d := found.Timestamp.Sub(sent.Timestamp); found.Digest != sent.Digest || d < low || d > high {
		return pointReading{}
	}
	return found
}

// window summarises the delays of the last periods up to k, and computes the jitter of k.
func (m *Joiner) window(k uint64, i, j int) (w delayWindow) {
	for q := k - min(k, Window-1); q <= k; q++ {
		d := m.delay(q, i, j)
		w.add(d.raw, d.valid)
	}
	return w
}

// delayWindow accumulates the delays of consecutive periods. jitter is the jitter of the last period.
type delayWindow struct {
	Delays
	sum         big.Int
	last        time.Duration
	lastValid   bool
	jitter      time.Duration
	jitterValid bool
}

func (w *delayWindow) add(d time.Duration, valid bool) {
	w.jitter, w.jitterValid = 0, valid && w.lastValid
	if w.jitterValid {
		w.jitter = d - w.last
	}
	w.last, w.lastValid = d, valid
	if !valid {
		return
	}
	if w.Count == 0 {
		w.Min, w.Max = d, d
	}
	w.Count++
	w.Min, w.Max = min(w.Min, d), max(w.Max, d)
	w.Mean = roundedMean(w.sum.Add(&w.sum, big.NewInt(int64(d))), int64(w.Count))
}

// roundedMean returns sum/n, rounded to the nearest nanosecond with halves up.
func roundedMean(sum *big.Int, n int64) time.Duration {
	twice := new(big.Int).Lsh(sum, 1)
	twice.Add(twice, big.NewInt(n))
	return time.Duration(twice.Div(twice, big.NewInt(2*n)).Int64()) // Div rounds down for a positive divisor
}
