package marks

import (
	"fmt"
	"slices"
	"time"
)

// TwoWay joins the results of two opposite paths. The round-trip delay needs no synchronised clocks, because their
// difference has opposite signs in both directions. The difference must not change within a period by more than the
// delay's error.
//
// Its results go from the first switch of the forward path back to the same switch, and have no loss.
type TwoWay struct {
	name          string
	forward, back Path
	entries       []twoWayEntry // entries of the last periods, in order of arrival
}

type twoWayEntry struct {
	number  uint64
	has     [2]bool
	ends    [2]Result // results of the two directions: forward and back
	emitted *Result
}

// NewTwoWay returns a TwoWay. It returns an error unless each path begins where the other ends, and their names differ.
func NewTwoWay(forward, back Path) (*TwoWay, error) {
	if len(forward.Points) < 2 || len(back.Points) < 2 {
		return nil, fmt.Errorf("paths %s and %s: want two points or more on both", forward.Name, back.Name)
	}
	f, b := forward.ends(), back.ends()
	if forward.Name == back.Name || f[0] != b[1] || f[1] != b[0] {
		return nil, fmt.Errorf("paths %s and %s are not opposite: the one is from %s to %s, the other from %s to %s",
			forward.Name, back.Name, f[0], f[1], b[0], b[1])
	}
	return &TwoWay{name: forward.Name + "+" + back.Name, forward: forward, back: back}, nil
}

func (p Path) ends() [2]string {
	return [2]string{p.Points[0].Switch, p.Points[len(p.Points)-1].Switch}
}

// Add adds a result of either path. Results of segments are ignored. It returns a result once both directions of a
// period are known, and another one after a revision.
func (t *TwoWay) Add(r Result) (Result, bool) {
	direction := 0
	ends := [2]string{r.From, r.To}
	switch {
	case r.Path == t.forward.Name && ends == t.forward.ends():
	case r.Path == t.back.Name && ends == t.back.ends():
		direction = 1
	default:
		return Result{}, false
	}
	e := t.entry(r.Period)
	e.has[direction], e.ends[direction] = true, r
	if !e.has[0] || !e.has[1] {
		return Result{}, false
	}
	sum := t.sum(e.ends[0], e.ends[1])
	t.window(&sum)
	sum.Revised = e.emitted != nil
	e.emitted = &sum
	return sum, true
}

func (t *TwoWay) entry(k uint64) *twoWayEntry {
	for i := range t.entries {
		if t.entries[i].number == k {
			return &t.entries[i]
		}
	}
	if len(t.entries) == keptPeriods {
		t.entries = slices.Delete(t.entries, 0, 1)
	}
	t.entries = append(t.entries, twoWayEntry{number: k})
	return &t.entries[len(t.entries)-1]
}

// sum adds the delays of both directions.
func (t *TwoWay) sum(f, b Result) Result {
	r := Result{
		Path: t.name, From: f.From, To: f.From, Period: f.Period, Start: f.Start, Status: max(f.Status, b.Status),
	}
	for _, result := range []Result{f, b} {
		for _, reason := range result.Reasons {
			r.Reasons = append(r.Reasons, result.Path+": "+reason)
		}
	}
	low, high := t.bounds()
	var reason string
	if r.Mean, reason = f.Mean.and(b.Mean, low, high); reason != "" {
		r.Reasons = append(r.Reasons, reason)
		r.Status = max(r.Status, Flagged)
	}
	if r.Status == Missing || !f.RawDelayValid || !b.RawDelayValid {
		return r
	}
	delay := f.RawDelay + b.RawDelay
	if delay < low || delay > high {
		r.Status = Flagged
		r.Reasons = append(r.Reasons,
			fmt.Sprintf("delay there and back is %v, want %v to %v: the guard condition does not hold", delay, low, high))
		return r
	}
	r.Delay, r.DelayValid = delay, true
	return r
}

// bounds returns the bounds of both paths together, without clock errors.
func (t *TwoWay) bounds() (low, high time.Duration) {
	f, b := t.forward.Points[len(t.forward.Points)-1].Settings, t.back.Points[len(t.back.Points)-1].Settings
	return f.MinDelay + b.MinDelay, f.MaxDelay + b.MaxDelay
}

// Settings sets the current settings of the paths, as in [Joiner.Path].
func (t *TwoWay) Settings(forward, back Path) { t.forward, t.back = forward, back }

// window summarises the delays of the known periods.
func (t *TwoWay) window(r *Result) {
	var d delayWindow
	for q := r.Period - min(r.Period, Window-1); q < r.Period; q++ {
		i := slices.IndexFunc(t.entries, func(e twoWayEntry) bool { return e.number == q && e.emitted != nil })
		if i >= 0 {
			d.add(t.entries[i].emitted.Delay, t.entries[i].emitted.DelayValid)
		} else {
			d.add(0, false)
		}
	}
	d.add(r.Delay, r.DelayValid)
	r.Window, r.Jitter, r.JitterValid = d.Delays, d.jitter, d.jitterValid
}
