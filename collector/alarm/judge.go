package alarm

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"tamtam/collector/marks"
	"tamtam/collector/result"
)

// A State is what is known of a graph.
type State int

const (
	// NotKnown: its newest period does not say it, or there is none.
	NotKnown State = iota
	// Accepted: its newest period lost no more than is accepted.
	Accepted
	// Raised: it has an alarm.
	Raised
)

// String is in a word.
func (s State) String() string { return [...]string{"not known", "accepted", "raised"}[s] }

// States are all of them.
var States = []State{Raised, Accepted, NotKnown}

// A Graph is what rows say of one graph.
type Graph struct {
	Name  string
	State State
	// Newest is the end of the newest period with a row; 0: there is none.
	Newest int64
	// Stale: so long ago that a newer one must have come.
	Stale bool
	// Doubt has the newest periods that neither raise nor clear.
	Doubt Doubt
	// Periods are those with a row, the earliest first.
	Periods []Period
	// Alarms of this time, the earliest first. The last is raised if State is Raised, the others are cleared.
	Alarms []Alarm
}

// A Period is what the rows of one period of a graph say.
type Period struct {
	Start   int64
	Length  int64
	Number  uint64
	Verdict marks.Verdict
	Alarm   marks.Alarm  // of the Verdict AltMarkAbove
	Flags   result.Flags // of all its rows
	Missing [][2]string  // ends of parts without a row
}

// An Alarm is raised by the first period that lost more than is accepted.
type Alarm struct {
	Raised  int64 // the start of that period
	Cleared int64 // the start of the first that certainly lost no more; 0: there was none yet
	Above   int   // periods
	Inexact int   // of them, by rows that may not be the whole truth
	Last    Period
	// Suspects are the links that may have lost packets in the last of these periods, where several graphs lost some;
	// nil: only this one, or the alarm is cleared.
	Suspects *marks.Suspects
	// Doubt has the periods since it was raised that neither raise nor clear.
	Doubt Doubt
}

// A Doubt counts periods that neither raise nor clear an alarm.
type Doubt struct {
	Missing int64 // rows of them are missing
	Unknown int64 // what they lost is not known
	Inexact int64 // they lost no more than is accepted by rows that may not be the whole truth
}

// Judge says of each graph which alarms the rows of some time are, now. Of rows of the same period and place the last
// holds. Flags of a row are those of the rows and what amends them.
func (r *Rules) Judge(rows iter.Seq[*result.Loss], now time.Time) []Graph {
	of := map[string]map[periodKey]map[[2]string]*result.Loss{}
	for name := range r.drills {
		of[name] = map[periodKey]map[[2]string]*result.Loss{}
	}
	for l := range rows {
		if of[l.Flow] == nil {
			continue // a path, or nothing of this file
		}
		key := periodKey{l.Window.Start, l.Period}
		if of[l.Flow][key] == nil {
			of[l.Flow][key] = map[[2]string]*result.Loss{}
		}
		of[l.Flow][key][[2]string{l.From, l.To}] = l
	}
	var all []Graph
	for _, name := range r.Graphs() {
		g := Graph{Name: name}
		for _, key := range slices.SortedFunc(maps.Keys(of[name]), periodKey.compare) {
			g.add(r.period(name, key, of[name][key]))
		}
		if n := len(g.Periods); n > 0 {
			p := &g.Periods[n-1]
			g.Newest = p.Start + p.Length
			g.Stale = now.UnixNano()-g.Newest > r.stale(p.Length)
		}
		if g.Stale && g.State == Accepted {
			g.State = NotKnown
		}
		if g.State == Raised {
			a := &g.Alarms[len(g.Alarms)-1]
			a.Suspects = r.suspects(periodKey{a.Last.Start, a.Last.Number}, of)
		}
		all = append(all, g)
	}
	return all
}

type periodKey struct {
	start  int64
	number uint64
}

func (k periodKey) compare(o periodKey) int {
	return cmp.Or(cmp.Compare(k.start, o.start), cmp.Compare(k.number, o.number))
}

// period judges the rows of a period of a graph.
func (r *Rules) period(graph string, key periodKey, rows map[[2]string]*result.Loss) Period {
	p := Period{Start: key.start, Number: key.number}
	results := map[[2]string]marks.Result{}
	for ends, l := range rows {
		results[ends] = resultOf(l)
		p.Length = max(p.Length, l.Window.Length)
		p.Flags |= l.Flags
	}
	d := r.drills[graph]
	p.Missing = d.Missing(results)
	p.Alarm, p.Verdict = d.Judge(results)
	return p
}

// add goes on with the next period.
func (g *Graph) add(p Period) {
	raised := g.State == Raised
	doubt := Doubt{Missing: g.without(&p)}
	if doubt.Missing > 0 {
		g.doubt(doubt)
	}
	g.Periods = append(g.Periods, p)
	switch {
	case p.Verdict == marks.Above:
		if !raised {
			g.Alarms = append(g.Alarms, Alarm{Raised: p.Start})
		}
		a := &g.Alarms[len(g.Alarms)-1]
		if a.Above++; p.Flags != 0 {
			a.Inexact++
		}
		a.Last, g.State, g.Doubt = p, Raised, Doubt{}
	case p.Verdict == marks.Accepted && p.Flags == 0:
		if raised {
			g.Alarms[len(g.Alarms)-1].Cleared = p.Start
		}
		g.State, g.Doubt = Accepted, Doubt{}
	case p.Verdict == marks.Accepted:
		g.doubt(Doubt{Inexact: 1})
	case len(p.Missing) > 0:
		g.doubt(Doubt{Missing: 1})
	default:
		g.doubt(Doubt{Unknown: 1})
	}
}

// without is how many periods before one have no row at all, since the one before that; at least 1 if there are some.
func (g *Graph) without(p *Period) int64 {
	if len(g.Periods) == 0 {
		return 0
	}
	last := &g.Periods[len(g.Periods)-1]
	between := p.Start - (last.Start + last.Length)
	switch {
	case between <= 1: // the shortest periods begin in the middle of a nanosecond
		return 0
	case last.Length != p.Length:
		return 1
	}
	return max(1, between/p.Length)
}

// doubt notes periods that neither raise nor clear.
func (g *Graph) doubt(d Doubt) {
	g.Doubt.add(d)
	if g.State == Raised {
		g.Alarms[len(g.Alarms)-1].Doubt.add(d)
	} else {
		g.State = NotKnown
	}
}

func (d *Doubt) add(o Doubt) {
	d.Missing += o.Missing
	d.Unknown += o.Unknown
	d.Inexact += o.Inexact
}

// suspects are the links that may have lost packets in a period of several graphs; nil: none lost some but one.
func (r *Rules) suspects(key periodKey, of map[string]map[periodKey]map[[2]string]*result.Loss,
) *marks.Suspects {
	blame, err := r.graphs.Blame()
	if err != nil {
		return nil // New has asked
	}
	for name, periods := range of {
		for _, l := range periods[key] {
			blame.Add(resultOf(l))
		}
		if p := r.period(name, key, periods[key]); p.Verdict == marks.Above {
			blame.Alarm(p.Alarm)
		}
	}
	for _, s := range blame.Suspects() {
		return &s
	}
	return nil
}
