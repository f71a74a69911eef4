package collector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// AltMarkDrill goes from the loss of a whole graph to where packets were lost, as RFC 9342 has it: where the loss of a
// period is above a threshold it names the clusters that lost packets, and of these the links.
//
// The counts of a cluster do not tell its links apart. So a link is named for certain where it is the only one of a
// cluster; else each of them may have lost any part of what the cluster lost.
type AltMarkDrill struct {
	threshold float64
	whole     [2]string
	clusters  []AltMarkCluster
	order     []uint64 // periods, as they came
	results   map[uint64]map[[2]string]AltMarkResult
}

// An AltMarkAlarm is a period in which more packets were lost than is accepted.
type AltMarkAlarm struct {
	Whole    AltMarkResult
	Clusters []AltMarkLoss // those that lost packets, or of which it is not known; the most first
}

// AltMarkLoss is what a cluster lost.
type AltMarkLoss struct {
	AltMarkCluster
	AltMarkResult
}

// drillPeriods is how many periods are remembered, as many as the joins do.
const drillPeriods = altMarkKeep

// NewAltMarkDrill has alarms of periods in which more than this part of the packets was lost: 0 to less than 1.
func NewAltMarkDrill(m *AltMarkMesh, threshold float64) (*AltMarkDrill, error) {
	if !(threshold >= 0 && threshold < 1) {
		return nil, fmt.Errorf("the part of packets whose loss is an alarm is %v, want 0 to less than 1", threshold)
	}
	return &AltMarkDrill{threshold: threshold, whole: m.Whole(), clusters: m.Clusters(),
		results: map[uint64]map[[2]string]AltMarkResult{}}, nil
}

// Add takes a result of the mesh, and returns the alarm of its period when the results of all clusters are there; once
// more when one of them is revised.
func (d *AltMarkDrill) Add(r AltMarkResult) (a AltMarkAlarm, ok bool) {
	of := d.results[r.Period]
	if of == nil {
		if len(d.order) == drillPeriods {
			delete(d.results, d.order[0])
			d.order = d.order[1:]
		}
		of = map[[2]string]AltMarkResult{}
		d.results[r.Period], d.order = of, append(d.order, r.Period)
	}
	of[[2]string{r.From, r.To}] = r
	a.Whole, ok = of[d.whole]
	if !ok || !a.Whole.LossValid || float64(a.Whole.Lost) <= d.threshold*float64(a.Whole.Sent) {
		return AltMarkAlarm{}, false
	}
	for _, c := range d.clusters {
		x, there := of[c.Ends()]
		if !there {
			return AltMarkAlarm{}, false
		}
		if !x.LossValid || x.Lost != 0 {
			a.Clusters = append(a.Clusters, AltMarkLoss{c, x})
		}
	}
	slices.SortStableFunc(a.Clusters, func(x, y AltMarkLoss) int { return cmp.Compare(y.most(a), x.most(a)) })
	return a, true
}

// most orders clusters: one of which nothing is known may have lost all.
func (l AltMarkLoss) most(a AltMarkAlarm) int64 {
	_, most := l.Bounds(a)
	return most
}

// Bounds are how many packets the cluster lost: one number where that is known; else what the other clusters leave of
// the loss of the whole, at most.
func (l AltMarkLoss) Bounds(a AltMarkAlarm) (least, most int64) {
	if l.LossValid {
		return l.Lost, l.Lost
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
		return rest, rest
	}
	return 0, rest
}

// LinkBounds are how many packets each link of the cluster lost.
func (l AltMarkLoss) LinkBounds(a AltMarkAlarm) (least, most int64) {
	least, most = l.Bounds(a)
	if len(l.Links) > 1 {
		least = 0
	}
	return least, most
}

// String is in a line: the loss, and the clusters with their links and the reasons for which they are doubtful.
func (a AltMarkAlarm) String() string {
	var b strings.Builder
	w := a.Whole
	fmt.Fprintf(&b, "alarm: %s period %d lost %d of %d", w.Path, w.Period, w.Lost, w.Sent)
	for i, l := range a.Clusters {
		least, most := l.LinkBounds(a)
		fmt.Fprintf(&b, "%s %s>%s", map[bool]string{true: ":", false: ";"}[i == 0], l.From(), l.To())
		switch lo, hi := l.Bounds(a); {
		case l.LossValid:
			fmt.Fprintf(&b, " lost %d", hi)
		case lo == hi:
			fmt.Fprintf(&b, " lost %d, by what the others did not lose (%s)", hi, strings.Join(l.Reasons, ", "))
		default:
			fmt.Fprintf(&b, " lost %d to %d (%s)", lo, hi, strings.Join(l.Reasons, ", "))
		}
		names := make([]string, len(l.Links))
		for i, link := range l.Links {
			names[i] = link.String()
		}
		if len(names) == 1 {
			fmt.Fprintf(&b, ", link %s", names[0])
		} else {
			fmt.Fprintf(&b, ", %d to %d at each of %s", least, most, strings.Join(names, " "))
		}
	}
	return b.String()
}

// From is the near end, as in a result.
func (l AltMarkLoss) From() string { return l.AltMarkResult.From }

// To is the far end, as in a result.
func (l AltMarkLoss) To() string { return l.AltMarkResult.To }
