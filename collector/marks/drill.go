package marks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Drill goes from the loss of a whole graph to where packets were lost, as RFC 9342 has it: where the loss of a
// period is above a threshold it names the clusters that lost packets, and of these the links. Where the loss of the
// whole is not known, because a report is missing or doubtful, that of each cluster of which it is known is held to the
// threshold.
//
// The counts of a cluster do not tell its links apart. So a link is named for certain where it is the only one of a
// cluster; else each of them may have lost any part of what the cluster lost.
type Drill struct {
	threshold float64
	whole     [2]string
	clusters  []Cluster
	order     []uint64 // periods, as they came
	results   map[uint64]map[[2]string]Result
	said      map[uint64]string
}

// An Alarm is a period in which more packets were lost than is accepted: by the whole, or where the loss of that
// is not known by one of the clusters, of the packets that came to it.
type Alarm struct {
	Whole    Result
	Clusters []Loss // those that lost packets, or of which it is not known; the most first
	// Withdrawn: by earlier results of the period there was an alarm, and by the last ones there is none.
	Withdrawn bool
}

// Loss is what a cluster lost.
type Loss struct {
	Cluster
	Result
}

// drillPeriods is how many periods are remembered, as many as the joins do.
const drillPeriods = keptPeriods

// NewDrill has alarms of periods in which more than this part of the packets was lost: 0 to less than 1.
func NewDrill(m *Mesh, threshold float64) (*Drill, error) {
	if !(threshold >= 0 && threshold < 1) {
		return nil, fmt.Errorf("the part of packets whose loss is an alarm is %v, want 0 to less than 1", threshold)
	}
	return &Drill{threshold: threshold, whole: m.Whole(), clusters: m.Clusters(),
		results: map[uint64]map[[2]string]Result{}, said: map[uint64]string{}}, nil
}

// Add takes a result of the mesh, and returns the alarm of its period when the results of all clusters are there; once
// more when one of them is revised and it says something else then, or is none any more.
func (d *Drill) Add(r Result) (Alarm, bool) {
	d.note(r)
	return d.say(r.Period)
}

// Take is Add for the results that follow from one report: what is said is of all of them.
func (d *Drill) Take(results ...Result) (alarms []Alarm) {
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

// say judges a period by its last results; false if that has been said.
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

// Verdict is what the results of a period say of an alarm.
type Verdict int

const (
	// Undecided: the results of some clusters are missing, or do not say whether more was lost than is accepted.
	Undecided Verdict = iota
	// Accepted: the loss of the whole is known, and no more than is accepted.
	Accepted
	// Above: more was lost.
	Above
)

// Judge says of the last results of a period, by their ends, whether they are an alarm, and which. It notes nothing.
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

// Missing are the ends of the whole and of the clusters of which a period has no result.
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

// above reports whether it is certain that more was lost than is accepted.
func (d *Drill) above(r Result) bool {
	return r.LossValid && float64(r.Lost) > d.threshold*float64(r.Sent)
}

// missing is what a whole graph lost at least where only packets in excess make that uncertain: those that went around
// points come out of the graph as all others, and those that came twice make it look less.
func (r *Result) missing() int64 {
	if !r.Excess {
		return 0
	}
	return max(0, int64(r.Sent-r.Received))
}

// most orders clusters: one of which nothing is known may have lost all.
func (l Loss) most(a Alarm) int64 { return l.Bounds(a).Most }

// Bounds are how many packets were lost, at least and at most.
type Bounds struct{ Least, Most int64 }

// NoBound is Most where nothing says how many it may be.
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

// Bounds are how many packets the cluster lost: one number where that is known; else what the other clusters leave of
// the loss of the whole, at most, if that is known.
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
	if unknown == 1 { // packets are lost in one cluster each
		return Bounds{rest, rest}
	}
	return Bounds{0, rest}
}

// LinkBounds are how many packets each link of the cluster lost.
func (l Loss) LinkBounds(a Alarm) Bounds {
	b := l.Bounds(a)
	if len(l.Links) > 1 {
		b.Least = 0
	}
	return b
}

// String is in a line: the loss, and the clusters with their links and the reasons for which they are doubtful.
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

// Least is what clusters whose loss is known lost, or what is missing of the whole.
func (a Alarm) Least() (sum int64) {
	for _, l := range a.Clusters {
		if l.LossValid {
			sum += l.Lost
		}
	}
	return max(sum, a.Whole.missing())
}

// From is the near end, as in a result.
func (l Loss) From() string { return l.Result.From }

// To is the far end, as in a result.
func (l Loss) To() string { return l.Result.To }
