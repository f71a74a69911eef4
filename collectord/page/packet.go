package page

import (
	"slices"
	"strconv"
	"strings"

	"tamtam/collectord/result"
)

// wayOf are the switches that a packet visited; copies part where it says so.
func wayOf(j *result.Journey) string {
	var b strings.Builder
	for i, h := range j.Hops {
		switch {
		case i == 0:
		case h.Parent == i-1:
			b.WriteString(" → ")
		default:
			b.WriteString(" ⑂ ")
		}
		b.WriteString(h.Switch)
	}
	return b.String()
}

func packetRowOf(q *request, j *result.Journey) packetRow {
	return packetRow{
		Time: j.Time, Flow: j.Flow, Origin: j.From, Way: wayOf(j),
		End: j.End, Dropped: diedAt(j) >= 0, Ambiguous: j.Ambiguous,
		Candidate: j.Candidate, Of: j.Of, Reasons: flagWords(j.Flags),
		Href: q.Link("/packet", "key", j.Key, "time", strconv.FormatInt(j.Time, 10), "candidate", strconv.Itoa(j.Candidate)),
	}
}

type visitRow struct {
	result.JourneyHop
	Depth0  int // in the tree
	From    string
	Bars    []bar
	Words   string
	Waited  int64 // from the departure before to the arrival here
	WaitOK  bool
	Rested  int64 // from arrival to departure
	RestOK  bool
	After   int64    // its first sight: the arrival here
	Records []string // the tables
}

type packetData struct {
	packetRow
	Key        string
	Visits     []visitRow
	From, Took int64
	Timed      bool
	Candidates []packetRow
}

// packet is the view of one packet's way.
func (p *Page) packet(q *request) (any, error) {
	at, err := strconv.ParseInt(q.get("time"), 10, 64)
	if err != nil {
		return nil, wrong("time=%.40q: want nanoseconds since 1970", q.get("time"))
	}
	candidate := 0
	if c := q.get("candidate"); c != "" {
		if candidate, err = strconv.Atoi(c); err != nil {
			return nil, wrong("candidate=%.40q: want a number", c)
		}
	}
	var found *result.Journey
	var others []packetRow
	for _, list := range [][]result.Journey{q.snap.journeys, q.snap.died} {
		for i := range list {
			j := &list[i]
			switch {
			case j.Key != q.get("key") || j.Time != at:
			case j.Candidate == candidate:
				found = j
			case j.Ambiguous && !slices.ContainsFunc(others, func(r packetRow) bool { return r.Candidate == j.Candidate }):
				others = append(others, packetRowOf(q, j))
			}
		}
	}
	if found == nil {
		return nil, missing("packet %.100q at %d: it is not among those that are kept", q.get("key"), at)
	}
	d := &packetData{packetRow: packetRowOf(q, found), Key: found.Key, Candidates: others}
	d.visits(found)
	return d, nil
}

// span finds when a packet was first and last seen.
func (d *packetData) span(j *result.Journey) {
	var to int64
	for _, h := range j.Hops {
		for _, t := range []int64{h.Arrival, h.Departure} {
			if t == 0 {
				continue
			}
			if !d.Timed {
				d.From, to = t, t
			}
			d.From, to, d.Timed = min(d.From, t), max(to, t), true
		}
	}
	d.Took = to - d.From
}

// visits lays the hops of a packet out in time.
func (d *packetData) visits(j *result.Journey) {
	d.span(j)
	total := max(1, d.Took)
	for i, h := range j.Hops {
		v := visitRow{JourneyHop: h}
		if h.Tables != "" {
			v.Records = strings.Split(h.Tables, ", ")
		}
		if h.Parent >= 0 && h.Parent < i {
			before := j.Hops[h.Parent]
			v.Depth0 = d.Visits[h.Parent].Depth0
			if h.Parent != i-1 {
				v.Depth0++
			}
			v.From = before.Switch
			if before.Departure != 0 && h.Arrival != 0 {
				v.Waited, v.WaitOK = h.Arrival-before.Departure, true
				v.Bars = append(v.Bars, barOf(before.Departure-d.From, h.Arrival-d.From, total, "link"))
			}
		}
		if h.Arrival != 0 && h.Departure != 0 {
			v.Rested, v.RestOK = h.Departure-h.Arrival, true
			v.Bars = append(v.Bars, barOf(h.Arrival-d.From, h.Departure-d.From, total, "resident"))
		}
		if h.Arrival != 0 {
			v.After = h.Arrival - d.From
		}
		v.Words = v.words()
		d.Visits = append(d.Visits, v)
	}
}

func (v *visitRow) words() string {
	link, rest := notKnown, notKnown
	if v.WaitOK {
		link = durText(v.Waited)
	}
	if v.RestOK {
		rest = durText(v.Rested)
	}
	if v.From == "" {
		return "in the switch " + rest
	}
	return "link " + link + ", in the switch " + rest
}
