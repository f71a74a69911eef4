package join

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"tamtam/collector/marks"
	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/fleet/event"
	"tamtam/tam/altmark"
)

// periods joins the reports of switches on alternate marking along the paths and over the graphs of a file, by the join
// of `tamtam collect`.
//
// The result of a period depends on its neighbours, so it has no window. A period is due once reports of the next
// periods must have arrived. Then the reports of the last periods are joined again, with and without the reports that
// came since, and the difference is emitted. So a successor needs only these reports to continue.
type periods struct {
	groups map[string]*group
	names  []string // keys of groups, sorted
	read   []event.Period
	kept   int // reports in all groups
}

// A group is joined separately.
type group struct {
	file     dial.File
	sessions map[string][]string // keyed by target
	clusters map[marks.Segment]string
	wait     int64 // number of periods until a period is due
	reports  []report
	known    map[dial.Report]bool // reports without their arrival time
	newest   int64                // due time of the last report of the group
}

type report struct {
	dial.Report
	start, length int64
	late          bool // true if it came after others of its time were closed, and is not yet reported
}

// Bounds of the kept reports, in periods. Older reports are not needed, since the join remembers fewer periods. The
// first kept reports lack their predecessors, and are only joined to complete the others.
const (
	periodsKept    = 34
	periodsLacking = 4
	periodsBefore  = 3  // number of earlier periods on which the result of a period depends
	periodsEarly   = 16 // number of periods that a switch holds when it is first read
)

func newPeriods(f dial.File) *periods {
	p := &periods{groups: map[string]*group{}}
	for name, file := range f.Groups() {
		clusters, err := file.Clusters()
		if err != nil {
			continue // Options.Check reports the error
		}
		p.groups[name] = &group{file: file, sessions: file.Sessions(), clusters: clusters, wait: int64(2 + file.Wait()),
			known: map[dial.Report]bool{}}
		p.names = append(p.names, name)
	}
	slices.Sort(p.names)
	return p
}

func (p *periods) addBatch(r *event.Reader, w *windows) error {
	blobs, err := r.Blobs()
	if err != nil {
		return err
	}
	p.read = p.read[:0]
	for _, b := range blobs {
		one, err := event.ReadPeriod(b)
		if err != nil {
			return err
		}
		if g := p.groups[one.Group]; g == nil || !slices.Contains(g.sessions[one.Target], one.Session) {
			return fmt.Errorf("session %.40q of target %.40q is not joined in group %.40q here: want the paths of who sends it",
				one.Session, one.Target, one.Group)
		}
		p.read = append(p.read, one)
	}
	for i, b := range blobs {
		p.add(p.groups[p.read[i].Group], p.read[i].Report(), b.Time, w)
	}
	return nil
}

func (p *periods) add(g *group, r dial.Report, start int64, w *windows) {
	unarrived := r // equal for a report that is delivered again
	unarrived.Arrived = time.Time{}
	length := int64(r.Settings.Interval.Duration())
	late := w.hold(start, start+periodsKept*length+1)
	w.back = max(w.back, periodsKept*length)
	w.ahead = max(w.ahead, periodsBefore*length)
	if g.known[unarrived] {
		return
	}
	if start < w.closed-periodsKept*length {
		return // too old to be reported; it is only counted as late
	}
	if p.kept+w.rows >= w.most {
		w.leftOut++
		w.gap(start, start, result.Overflow)
		return
	}
	p.kept++
	g.known[unarrived] = true
	g.reports = append(g.reports, report{Report: r, start: start, length: length, late: late && !w.again})
	g.newest = max(g.newest, start+g.wait*length+1)
}

// last returns the due time of the last report so far.
func (p *periods) last() (at int64) {
	for _, g := range p.groups {
		at = max(at, g.newest)
	}
	return at
}

// says reports whether something may have to be reported for periods that are due between two times.
func (p *periods) says(from, to int64) bool {
	for _, g := range p.groups {
		for i := range g.reports {
			r := &g.reports[i]
			if at := r.start + g.wait*r.length; r.late || at >= from && at < to {
				return true
			}
		}
	}
	return false
}

// advance moves into a batch the rows of periods that are due by to, and were not due by from.
func (p *periods) advance(from, to int64, silent bool, w *windows, b *result.Batch) {
	for _, name := range p.names {
		g := p.groups[name]
		if len(g.reports) == 0 {
			continue
		}
		some := func(r *report) bool { return r.start >= from-periodsKept*r.length && r.start < to }
		before := g.rows(from, func(r *report) bool { return some(r) && r.start < from && !r.late })
		after := g.rows(to, some)
		late := slices.ContainsFunc(g.reports, func(r report) bool { return r.late })
		for _, key := range slices.SortedFunc(maps.Keys(after), lossKey.compare) {
			x := after[key]
			old, said := before[key]
			if said && reflect.DeepEqual(old.Loss, x.Loss) || key.start < from-(periodsKept-periodsLacking)*x.Window.Length {
				continue
			}
			x.Flags |= w.gapFlags(key.start-periodsBefore*x.Window.Length, x.due)
			if silent && !g.received(key.start+periodsBefore*x.Window.Length) {
				x.Flags |= result.Silent
			}
			if late && (said || x.due < from) { // otherwise only reports of neighbouring periods came late
				x.Flags |= result.Late
			}
			b.Losses = append(b.Losses, x.Loss)
		}
		p.forget(g, to)
	}
}

// received reports whether all sessions have reported a period at this time or later. Then silent sources do not
// matter.
func (g *group) received(at int64) bool {
	last := map[[2]string]bool{}
	for i := range g.reports {
		if r := &g.reports[i]; r.start >= at {
			last[[2]string{r.Target, r.Session}] = true
		}
	}
	for target, sessions := range g.sessions {
		for _, session := range sessions {
			if !last[[2]string{target, session}] {
				return false
			}
		}
	}
	return true
}

// forget drops reports that are no longer needed, and clears late for the others.
func (p *periods) forget(g *group, to int64) {
	n := len(g.reports)
	g.reports = slices.DeleteFunc(g.reports, func(r report) bool {
		gone := r.start < to-periodsKept*r.length
		if gone {
			r.Arrived = time.Time{}
			delete(g.known, r.Report)
		}
		return gone
	})
	p.kept -= n - len(g.reports)
	for i := range g.reports {
		if g.reports[i].start < to {
			g.reports[i].late = false
		}
	}
}

// A lossKey is the key of a row: rows with the same key are of the same period, and the last one counts.
type lossKey struct {
	start          int64
	flow, from, to string
	period         uint64
}

func (k lossKey) compare(o lossKey) int {
	return cmp.Or(cmp.Compare(k.start, o.start), strings.Compare(k.flow, o.flow), strings.Compare(k.from, o.from),
		strings.Compare(k.to, o.to), cmp.Compare(k.period, o.period))
}

type dueLoss struct {
	result.Loss
	due int64
}

// rows joins the reports that the function take selects, and returns the rows that are due by a time.
func (g *group) rows(by int64, accept func(*report) bool) map[lossKey]dueLoss {
	var some []dial.Report
	var early []int64 // starts of periods that were reported before the collector listened
	lengths := map[int64]int64{}
	for i := range g.reports {
		r := &g.reports[i]
		if !accept(r) {
			continue
		}
		some = append(some, r.Report)
		lengths[r.start] = r.length
		if r.Arrived.IsZero() {
			early = append(early, r.start)
		}
	}
	results, _ := g.file.Replay(some) // no error: file and reports were checked
	rows := map[lossKey]dueLoss{}
	for i := range results {
		l := lossOf(&results[i], g.clusters)
		l.Window.Length = lengthOf(l.Window.Start, l.Period, lengths)
		due := l.Window.Start
		for _, at := range early { // the switches must report again first: see marks.Joiner
			if at > due && at <= l.Window.Start+periodsEarly*l.Window.Length {
				due = at
			}
		}
		if due += g.wait * l.Window.Length; due < by {
			rows[lossKey{l.Window.Start, l.Flow, l.From, l.To, l.Period}] = dueLoss{l, due}
		}
	}
	return rows
}

// lengthOf returns the length of a period in nanoseconds: that of a reported period with this start, or else the one
// that its number implies.
func lengthOf(start int64, number uint64, lengths map[int64]int64) int64 {
	length := lengths[start]
	for n := altmark.MinInterval; length == 0 && n <= altmark.MaxInterval; n++ {
		if n.Start(number).Std().UnixNano() == start {
			length = int64(n.Duration())
		}
	}
	return max(length, 1)
}

func lossOf(r *marks.Result, clusters map[marks.Segment]string) result.Loss {
	l := result.Loss{Flow: r.Path, Cluster: clusters[r.Segment()], From: r.From,
		To: r.To, Period: r.Period, Status: r.Status.String(), Detail: strings.Join(r.Reasons, "; "),
		Window: result.Window{Start: r.Start.Std().UnixNano()}}
	if l.Excess = r.Excess; r.LossValid || r.Excess {
		l.Sent, l.Received = int64(r.Sent), int64(r.Received)
	}
	if r.LossValid {
		l.Known, l.Lost = true, r.Lost
	}
	if r.DelayValid {
		d := int64(r.Delay)
		l.Delay = result.Distribution{Count: 1, Sum: d, Min: d, Max: d, First: result.Bucket(d), Buckets: []uint32{1}}
	}
	l.Mean = meanOf(&r.Mean)
	return l
}

// meanOf returns the mean delay as `tamtam collect` prints it.
func meanOf(m *marks.Mean) result.MeanDelay {
	if !m.Valid {
		return result.MeanDelay{Unknown: m.Unknown}
	}
	mean := result.MeanDelay{Known: true, Delay: int64(m.Delay)}
	if m.RawValid {
		mean.Sum = m.Sum.String()
	}
	return mean
}
