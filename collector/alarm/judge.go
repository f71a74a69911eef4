package alarm

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"tamtam/collector/marks"
	"tamtam/collector/result"
	"tamtam/tam/words"
)

// A State is the alarm state of a graph.
type State int

const (
	// NotKnown means that the newest period of the graph is undecided, or that there is none.
	NotKnown State = iota
	// Accepted means that its newest period lost no more than accepted.
	Accepted
	// Raised means that the graph has an alarm.
	Raised
)

// String returns the state in words.
func (s State) String() string { return [...]string{words.Unknown, "accepted", "raised"}[s] }

// States lists all states.
var States = []State{Raised, Accepted, NotKnown}

// A Graph is the evaluation of one graph's rows.
type Graph struct {
	Name  string
	State State
	// Newest is the end of the newest period with a row, or zero if there is none.
	Newest int64
	// Stale means that Newest is so long ago that a newer row should exist.
	Stale bool
	// Uncertain counts the newest periods that neither raise nor clear an alarm.
	Uncertain Uncertain
	// Periods lists the periods with a row, the earliest first.
	Periods []Period
	// Alarms lists the alarms within the time range, the earliest first. The last is raised if State is Raised, all
	// others are cleared.
	Alarms []Alarm
}

// A Period is the evaluation of a graph's rows for one period.
type Period struct {
	Start   int64
	Length  int64
	Number  uint64
	Verdict marks.Verdict
	Alarm   marks.Alarm  // alarm for the Verdict AltMarkAbove
	Flags   result.Flags // union of the flags of all rows
	Missing [][2]string  // ends of the parts of the graph without a row
}

// An Alarm is raised by the first period that lost more than accepted.
type Alarm struct {
	Raised  int64 // start of the period that raised the alarm
	Cleared int64 // start of the first period that certainly lost no more; zero while there is none
	Above   int   // number of periods above the threshold
	Inexact int   // number of these whose rows may be inexact
	Last    Period
	// Suspects holds the links that may have lost packets in the last of these periods, if several graphs lost packets.
	// Nil means that only this graph lost packets, or that the alarm is cleared.
	Suspects *marks.Suspects
	// Uncertain counts the periods since the alarm that neither raise nor clear it.
	Uncertain Uncertain
}

// An Uncertain counts periods that neither raise nor clear an alarm.
type Uncertain struct {
	Missing int64 // number of periods with missing rows
	Unknown int64 // number of periods with an unknown loss
	Inexact int64 // number of periods that lost no more than accepted, by rows that may be inexact
}

// Judge returns the alarms of each graph for the given rows. If several rows have the same period and place, the last
// one is valid. The flags of a row must include those of later amendments.
func (r *Rules) Judge(rows iter.Seq[*result.Loss], now time.Time) []Graph {
	of := map[string]map[periodKey]map[[2]string]*result.Loss{}
	for name := range r.drills {
		of[name] = map[periodKey]map[[2]string]*result.Loss{}
	}
	for l := range rows {
		if of[l.Flow] == nil {
			continue // the row is for a path, or its name is not in the configuration
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

// period evaluates the rows of one period of a graph.
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

// add appends the next period.
func (g *Graph) add(p Period) {
	raised := g.State == Raised
	uncertain := Uncertain{Missing: g.without(&p)}
	if uncertain.Missing > 0 {
		g.noteUncertain(uncertain)
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
		a.Last, g.State, g.Uncertain = p, Raised, Uncertain{}
	case p.Verdict == marks.Accepted && p.Flags == 0:
		if raised {
			g.Alarms[len(g.Alarms)-1].Cleared = p.Start
		}
		g.State, g.Uncertain = Accepted, Uncertain{}
	case p.Verdict == marks.Accepted:
		g.noteUncertain(Uncertain{Inexact: 1})
	case len(p.Missing) > 0:
		g.noteUncertain(Uncertain{Missing: 1})
	default:
		g.noteUncertain(Uncertain{Unknown: 1})
	}
}

// without returns the number of periods without any row between the last period and p. It returns at least 1 if there
// is a gap.
func (g *Graph) without(p *Period) int64 {
	if len(g.Periods) == 0 {
		return 0
	}
	last := &g.Periods[len(g.Periods)-1]
	between := p.Start - (last.Start + last.Length)
	switch {
	case between <= 1: // without a gap: the shortest periods begin in the middle of a nanosecond
		return 0
	case last.Length != p.Length || p.Length <= 0:
		return 1
	}
	return max(1, between/p.Length)
}

// noteUncertain counts periods that neither raise nor clear.
func (g *Graph) noteUncertain(d Uncertain) {
	g.Uncertain.add(d)
	if g.State == Raised {
		g.Alarms[len(g.Alarms)-1].Uncertain.add(d)
	} else {
		g.State = NotKnown
	}
}

func (d *Uncertain) add(o Uncertain) {
	d.Missing += o.Missing
	d.Unknown += o.Unknown
	d.Inexact += o.Inexact
}

// suspects returns the links that may have lost packets in a period of several graphs. It returns nil if fewer than two
// graphs lost packets.
func (r *Rules) suspects(key periodKey, of map[string]map[periodKey]map[[2]string]*result.Loss,
) *marks.Suspects {
	blame, err := r.graphs.Blame()
	if err != nil {
		return nil // cannot happen: New has checked the graphs
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
