package web

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tamtam/collector/alarm"
	"tamtam/collector/marks"
	"tamtam/mgmt/web/rows"
)

// Alarms returns the alarms that follow from the rows since from, as the page shows them. If rows of the store are
// missing from the result, unread is the reason.
func Alarms(ctx context.Context, store Store, rules *alarm.Rules, from int64, now time.Time,
) (graphs []alarm.Graph, unread string, err error) {
	s, err := rows.Read(ctx, store, from, math.MaxInt64, now)
	if err != nil {
		return nil, "", err
	}
	if unread = s.Unread; s.Stopped {
		unread = cmp.Or(unread, "there are too many rows")
	}
	if s.Ahead > s.Now+int64(rows.MostAhead) {
		unread = cmp.Or(unread, "rows of times later than now are left out: a clock is ahead")
	}
	return s.Judge(rules, now), unread, nil
}

type alarmsData struct {
	Percent string
	Raised  int
	Unknown int // number of graphs of unknown state
	Rows    []alarmRow
	Cleared []clearedRow
	Before  int // number of cleared alarms that are not shown
}

// An alarmRow is the state of a graph; Alarm is nil if it has none.
type alarmRow struct {
	*alarm.Graph
	Class   string
	Href    string
	Alarm   *alarmDetail
	Caveats []string
}

type alarmDetail struct {
	*alarm.Alarm
	Before   bool // true if the alarm may have been raised before this time
	Lost     string
	Clusters []alarmCluster
	Suspects []string
}

// An alarmCluster is a part of a graph that lost packets, or whose loss is unknown.
type alarmCluster struct {
	From, To string
	Href     string
	Lost     string
	Links    []alarmLink
	Caveats  []string
}

type alarmLink struct{ Name, Lost string }

type clearedRow struct {
	Graph string
	alarm.Alarm
	Lost    string
	Caveats []string
}

// mostCleared is the number of cleared alarms that are shown, the latest ones.
const mostCleared = 100

// alarms returns the view of all graphs, those with an alarm first.
func (p *Page) alarms(q *request) (any, error) {
	if p.cfg.Alarms == nil {
		return nil, missing("no alarms here: give the loss that raises one with --alarm")
	}
	d := &alarmsData{Percent: numberText(100 * p.cfg.Alarms.Threshold())}
	list := slices.Clone(q.snap.Judge(p.cfg.Alarms, p.cfg.Now()))
	order := map[alarm.State]int{}
	for i, s := range alarm.States {
		order[s] = i
	}
	slices.SortFunc(list, func(a, b alarm.Graph) int {
		return cmp.Or(cmp.Compare(order[a.State], order[b.State]), natural(a.Name, b.Name))
	})
	for i := range list {
		d.clear(&list[i])
		switch list[i].State {
		case alarm.Raised:
			d.Raised++
		case alarm.NotKnown:
			d.Unknown++
		}
	}
	slices.SortStableFunc(d.Cleared, func(a, b clearedRow) int { return cmp.Compare(b.Cleared, a.Cleared) })
	d.Before = max(0, len(d.Cleared)-mostCleared)
	d.Cleared = d.Cleared[:len(d.Cleared)-d.Before]
	for i := range list {
		d.Rows = append(d.Rows, p.alarmRow(q, &list[i]))
	}
	for i := range d.Rows {
		if a := d.Rows[i].Alarm; a != nil {
			if err := clusterColumns.sort(q, a.Clusters); err != nil {
				return nil, err
			}
		}
	}
	err := cmp.Or(graphColumns.sort(q, d.Rows), clearedColumns.sort(q, d.Cleared))
	q.sorted = append(q.sorted, clusterColumns.table)
	if err == nil {
		d.Rows, err = pageOf(q, d.Rows)
	}
	return d, err
}

// lostOf returns the lost packets of a period, if they are known.
func lostOf(a *alarm.Alarm) (float64, bool) {
	w := &a.Last.Alarm.Whole
	return float64(w.Lost), w.LossValid
}

var graphColumns = columnsOf[alarmRow]("").
	text("graph", func(r *alarmRow) string { return r.Name }).
	text("alarm", func(r *alarmRow) string { return r.State.String() }).
	number("since", func(r *alarmRow) (float64, bool) {
		if r.Alarm == nil {
			return 0, false
		}
		return float64(r.Alarm.Raised), true
	}).
	number("lost", func(r *alarmRow) (float64, bool) {
		if r.Alarm == nil {
			return 0, false
		}
		return lostOf(r.Alarm.Alarm)
	}).
	number("above", func(r *alarmRow) (float64, bool) {
		if r.Alarm == nil {
			return 0, false
		}
		return float64(r.Alarm.Above), true
	}).
	number("newest", func(r *alarmRow) (float64, bool) { return float64(r.Newest), r.Newest != 0 }).
	text("confidence", func(r *alarmRow) string { return confidence(r.Caveats) })

var clusterColumns = columnsOf[alarmCluster]("cluster").
	text("name", func(c *alarmCluster) string { return c.From + " → " + c.To }).
	text("lost", func(c *alarmCluster) string { return c.Lost }).
	number("links", func(c *alarmCluster) (float64, bool) { return float64(len(c.Links)), true }).
	text("confidence", func(c *alarmCluster) string { return confidence(c.Caveats) })

var clearedColumns = columnsOf[clearedRow]("cleared").
	text("graph", func(r *clearedRow) string { return r.Graph }).
	count("raised", func(r *clearedRow) int64 { return r.Raised }).
	count("cleared", func(r *clearedRow) int64 { return r.Cleared }).
	number("above", func(r *clearedRow) (float64, bool) { return float64(r.Above), true }).
	number("lost", func(r *clearedRow) (float64, bool) { return lostOf(&r.Alarm) }).
	text("confidence", func(r *clearedRow) string { return confidence(r.Caveats) })

// clear adds the cleared alarms of a graph.
func (d *alarmsData) clear(g *alarm.Graph) {
	for _, a := range g.Alarms {
		if a.Cleared != 0 {
			d.Cleared = append(d.Cleared, clearedRow{Graph: g.Name, Alarm: a, Lost: lostText(a.Last.Alarm),
				Caveats: alarmCaveats(&a)})
		}
	}
}

func (p *Page) alarmRow(q *request, g *alarm.Graph) alarmRow {
	r := alarmRow{Graph: g, Href: q.Link("/marking", "q", g.Name)}
	switch g.State {
	case alarm.Raised:
		r.Class = "bad"
		a := &g.Alarms[len(g.Alarms)-1]
		r.Alarm = p.alarmDetail(q, g.Name, a)
		r.Alarm.Before = a.Raised == g.Periods[0].Start
		r.Caveats = alarmCaveats(a)
	case alarm.NotKnown:
		r.Class = "unknown"
	}
	if n := len(g.Periods); n == 0 {
		r.Caveats = append(r.Caveats, "no row of this graph in this time")
	} else if g.Stale {
		r.Caveats = append(r.Caveats, "no row since "+p.timeText(g.Newest)+", though some must have come")
	}
	r.Caveats = append(r.Caveats, uncertainWords(g.Uncertain, "the newest: ")...)
	return r
}

// alarmDetail returns the graph's clusters and links with losses, in the last period above the threshold.
func (p *Page) alarmDetail(q *request, graph string, a *alarm.Alarm) *alarmDetail {
	d := &alarmDetail{Alarm: a, Lost: lostText(a.Last.Alarm)}
	for _, l := range a.Last.Alarm.Clusters {
		c := alarmCluster{From: l.From(), To: l.To(), Lost: l.Bounds(a.Last.Alarm).String(), Caveats: l.Reasons,
			Href: q.Link("/marking", "q", graph)}
		of := rows.SeriesKey{Flow: graph, Cluster: p.cfg.Alarms.Cluster(graph, l.From(), l.To()), From: l.From(), To: l.To()}
		if q.snap.Series[of] != nil {
			c.Href = q.Link("/periods", "flow", of.Flow, "cluster", of.Cluster, "from", of.From, "to", of.To)
		}
		bounds := l.LinkBounds(a.Last.Alarm)
		for _, link := range l.Links {
			c.Links = append(c.Links, alarmLink{link.String(), bounds.String()})
		}
		d.Clusters = append(d.Clusters, c)
	}
	if a.Suspects != nil {
		d.Suspects = strings.Split(strings.TrimPrefix(a.Suspects.String(), "suspects: "), "; ")
	}
	return d
}

// lostText returns the loss of the whole graph as text.
func lostText(a marks.Alarm) string {
	if a.Whole.LossValid {
		return countAny(a.Whole.Lost) + " of " + countAny(a.Whole.Sent)
	}
	return countAny(a.Least()) + " or more"
}

// alarmCaveats returns why an alarm may be inexact.
func alarmCaveats(a *alarm.Alarm) (why []string) {
	if w := &a.Last.Alarm.Whole; !w.LossValid {
		why = append(why, "the loss of the whole is unknown: "+strings.Join(w.Reasons, ", "))
	}
	if a.Inexact > 0 {
		why = append(why, fmt.Sprintf("%s of %s periods above by rows that may not be the whole truth",
			countAny(a.Inexact), countAny(a.Above)))
	}
	for _, w := range rows.FlagWords(a.Last.Flags) {
		why = append(why, "the last of them: "+w)
	}
	return append(why, uncertainWords(a.Uncertain, "since it was raised: ")...)
}

// uncertainWords describes the periods that neither raise nor clear an alarm.
func uncertainWords(d alarm.Uncertain, which string) (words []string) {
	for _, x := range []struct {
		n   int64
		why string
	}{{d.Missing, "rows are missing"}, {d.Unknown, "the loss is unknown"},
		{d.Inexact, "no more lost than is accepted, by rows that may not be the whole truth"}} {
		if x.n > 0 {
			words = append(words, fmt.Sprintf("%speriods that neither raise nor clear, %s: %s", which, x.why, count(x.n)))
		}
	}
	return words
}
