package marks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Drill locates losses within a graph, as in RFC 9342. If the loss of a period exceeds a threshold, it returns the
// clusters that lost packets, and their links. The loss of the whole graph may be unknown because a report is missing
// or uncertain. Then each cluster with a known loss is compared with the threshold.
//
// The counts of a cluster do not distinguish its links. So a link is certain only if it is the only one of its cluster.
// Otherwise each link may have lost any part of the cluster's loss.
type Drill struct {
	threshold float64
	whole     [2]string
	clusters  []Cluster
	order     []uint64 // periods in order of arrival
	results   map[uint64]map[[2]string]Result
	said      map[uint64]string
}

// An Alarm is a period that lost more packets than accepted. If the loss of the whole graph is unknown, one of its
// clusters lost more than accepted of the packets that reached it.
type Alarm struct {
	Whole    Result
	Clusters []Loss // clusters with a loss, or with an unknown loss; the greatest loss first
	// Withdrawn means that earlier results of the period caused an alarm, and the current ones do not.
	Withdrawn bool
}

// Loss is the loss of a cluster.
type Loss struct {
	Cluster
	Result
}

// drillPeriods is the number of periods that a Drill stores, the same as in the joins.
const drillPeriods = keptPeriods

// NewDrill returns a Drill with alarms for periods that lost more than this fraction of the packets, from 0 to less
// than 1.
func NewDrill(m *Mesh, threshold float64) (*Drill, error) {
	if !(threshold >= 0 && threshold < 1) {
		return nil, fmt.Errorf("the part of packets whose loss is an alarm is %v, want 0 to less than 1", threshold)
	}
	return &Drill{threshold: threshold, whole: m.Whole(), clusters: m.Clusters(),
		results: map[uint64]map[[2]string]Result{}, said: map[uint64]string{}}, nil
}

// Add adds a result of the mesh. It returns the alarm of its period once the results of all clusters exist. After a
// revised result it returns the alarm again if it changed or was withdrawn.
func (d *Drill) Add(r Result) (Alarm, bool) {
	d.note(r)
	return d.say(r.Period)
}

// AddAll adds the results of one report, and then returns the resulting alarms.
func (d *Drill) AddAll(results ...Result) (alarms []Alarm) {
	var periods []uint64
	for _, r := range results {
		if d.note(r); !slices.Contains(periods, r.Period) {
			periods = append(periods, r.Period)
		}
	}
	for _, k := range periods {
		if a, ok := d.say(k); ok {
			alarms = append(alarms, a)
		}
	}
	return alarms
}

func (d *Drill) note(r Result) {
	of := d.results[r.Period]
	if of == nil {
		if len(d.order) == drillPeriods {
			delete(d.results, d.order[0])
			delete(d.said, d.order[0])
			d.order = d.order[1:]
		}
		of = map[[2]string]Result{}
		d.results[r.Period], d.order = of, append(d.order, r.Period)
	}
	of[[2]string{r.From, r.To}] = r
}

// say evaluates a period by its latest results. It returns false if the outcome has not changed.
func (d *Drill) say(period uint64) (Alarm, bool) {
	a, v := d.Judge(d.results[period])
	before, text := d.said[period], ""
	if v == Above {
		text = a.String()
	}
	a.Withdrawn = text == ""
	if text == before {
		return Alarm{}, false
	}
	d.said[period] = text
	return a, true
}

// Verdict is the outcome of a period's results.
type Verdict int

const (
	// Undecided means that results of some clusters are missing or do not decide the question.
	Undecided Verdict = iota
	// Accepted means that the loss of the whole graph is known, and no more than accepted.
	Accepted
	// Above means that more was lost than accepted.
	Above
)

// Judge evaluates the latest results of a period, by their ends. It has no side effects.
func (d *Drill) Judge(of map[[2]string]Result) (a Alarm, v Verdict) {
	if len(d.Missing(of)) > 0 {
		return Alarm{}, Undecided
	}
	a.Whole = of[d.whole]
	above := d.above(a.Whole) || float64(a.Whole.missing()) > d.threshold*float64(a.Whole.Sent)
	for _, c := range d.clusters {
		x := of[c.Ends()]
		above = above || !a.Whole.LossValid && d.above(x)
		if !x.LossValid || x.Lost != 0 {
			a.Clusters = append(a.Clusters, Loss{c, x})
		}
	}
	slices.SortStableFunc(a.Clusters, func(x, y Loss) int { return cmp.Compare(y.most(a), x.most(a)) })
	switch {
	case above:
		return a, Above
	case a.Whole.LossValid:
		return a, Accepted
	}
	return a, Undecided
}

// Missing returns the ends of the whole graph and of the clusters without a result in a period.
func (d *Drill) Missing(of map[[2]string]Result) (ends [][2]string) {
	if _, ok := of[d.whole]; !ok {
		ends = append(ends, d.whole)
	}
	for _, c := range d.clusters {
		if _, ok := of[c.Ends()]; !ok && !slices.Contains(ends, c.Ends()) {
			ends = append(ends, c.Ends())
		}
	}
	return ends
}

// above reports whether the loss certainly exceeds the threshold.
func (d *Drill) above(r Result) bool {
	return r.LossValid && float64(r.Lost) > d.threshold*float64(r.Sent)
}

// missing returns the minimum loss of a whole graph if only excess packets make the loss uncertain. Packets that
// bypassed points leave the graph like others, and duplicates only hide losses.
func (r *Result) missing() int64 {
	if !r.Excess {
		return 0
	}
	return max(0, int64(r.Sent-r.Received))
}

// most returns the sort key of clusters: an unknown loss may be total.
func (l Loss) most(a Alarm) int64 { return l.Bounds(a).Most }

// Bounds are the minimum and maximum number of lost packets.
type Bounds struct{ Least, Most int64 }

// NoBound is the value of Most without an upper bound.
const NoBound = math.MaxInt64

func (b Bounds) String() string {
	switch {
	case b.Least == b.Most:
		return strconv.FormatInt(b.Least, 10)
	case b.Most == NoBound:
		return fmt.Sprintf("%d or more", b.Least)
	}
	return fmt.Sprintf("%d to %d", b.Least, b.Most)
}

// Bounds returns the bounds of the cluster's loss. They are equal if the loss is known. Otherwise Most is the loss of
// the whole graph minus the losses of the other clusters, if these are known.
func (l Loss) Bounds(a Alarm) Bounds {
	if l.LossValid {
		return Bounds{l.Lost, l.Lost}
	}
	if !a.Whole.LossValid {
		return Bounds{0, NoBound}
	}
	rest, unknown := a.Whole.Lost, 0
	for _, o := range a.Clusters {
		if o.LossValid {
			rest -= o.Lost
		} else {
			unknown++
		}
	}
	if unknown == 1 { // a packet can be lost in one cluster only
		return Bounds{rest, rest}
	}
	return Bounds{0, rest}
}

// LinkBounds returns the bounds of the loss of each link of the cluster.
func (l Loss) LinkBounds(a Alarm) Bounds {
	b := l.Bounds(a)
	if len(l.Links) > 1 {
		b.Least = 0
	}
	return b
}

// String returns one line: the loss, and the clusters with their links and reasons for uncertainty.
func (a Alarm) String() string {
	var b strings.Builder
	w := a.Whole
	if a.Withdrawn {
		b.WriteString("no ")
	}
	if fmt.Fprintf(&b, "alarm: %s period %d lost ", w.Path, w.Period); w.LossValid {
		fmt.Fprintf(&b, "%d of %d", w.Lost, w.Sent)
	} else {
		fmt.Fprintf(&b, "%d or more (%s)", a.Least(), strings.Join(w.Reasons, ", "))
	}
	for i, l := range a.Clusters {
		fmt.Fprintf(&b, "%s %s>%s", map[bool]string{true: ":", false: ";"}[i == 0], l.From(), l.To())
		bounds := l.Bounds(a)
		switch fmt.Fprintf(&b, " lost %s", bounds); {
		case l.LossValid:
		case bounds.Least == bounds.Most:
			fmt.Fprintf(&b, ", by what the others did not lose (%s)", strings.Join(l.Reasons, ", "))
		default:
			fmt.Fprintf(&b, " (%s)", strings.Join(l.Reasons, ", "))
		}
		if len(l.Links) == 1 {
			fmt.Fprintf(&b, ", link %s", l.Links[0])
		} else {
			fmt.Fprintf(&b, ", %s at each of %s", l.LinkBounds(a), linkNames(l.Links))
		}
	}
	return b.String()
}

// Least returns the total loss of clusters with a known loss, or the minimum loss of the whole graph if that is
// greater.
func (a Alarm) Least() (sum int64) {
	for _, l := range a.Clusters {
		if l.LossValid {
			sum += l.Lost
		}
	}
	return max(sum, a.Whole.missing())
}

// From returns the near end, as in a result.
func (l Loss) From() string { return l.Result.From }

// To returns the far end, as in a result.
func (l Loss) To() string { return l.Result.To }
