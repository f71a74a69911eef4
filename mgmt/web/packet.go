package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
)

func packetRowOf(q *request, j *result.Journey) packetRow {
	return packetRow{
		Time: j.Time, Flow: j.Flow, Origin: j.From, Path: rows.TreeOf(j).Way(),
		End: j.End, Dropped: rows.DiedAt(j) >= 0, Ambiguous: j.Ambiguous, Reasons: rows.FlagWords(j.Flags),
		Href: q.Link("/packet", "key", j.Key, "time", strconv.FormatInt(j.Time, 10), "at", rows.PlaceOf(j)),
	}
}

type visitRow struct {
	result.JourneyHop
	Copy, Copies int    // number of the copy that the switch made, and how many there are
	From         string // switch and port of the previous hop
	Bars         []bar
	Words        string
	Waited       int64 // time from the previous departure to the arrival here
	WaitOK       bool
	Rested       int64 // time from arrival to departure
	RestOK       bool
	After        int64    // time from the first sight of the packet to the arrival here
	Records      []string // the tables
	Became       string   // the outcome, shown if neither Dropped nor Perhaps is set
}

type packetData struct {
	packetRow
	Key           string
	Visits        []visitRow
	More          int // number of visits that are not shown
	Ends          int // number of copies' ends
	From, Elapsed int64
	Timed         bool
	// Alike holds rows of equal packets, some of which may be part of this one's path.
	Alike     []packetRow
	AlikeMore int
}

// mostVisits bounds the number of exits in a packet's view, mostAlike the number of equal packets.
const (
	mostVisits = 500
	mostAlike  = 20
)

// packet returns the view of one packet's path.
func (p *Page) packet(q *request) (any, error) {
	at, err := strconv.ParseInt(q.get("time"), 10, 64)
	if err != nil {
		return nil, wrong("time=%.40q: want nanoseconds since 1970", q.get("time"))
	}
	var found *result.Journey
	alike := map[string]*result.Journey{} // by place, since dropped packets are in both lists
	for _, list := range [][]result.Journey{q.snap.Journeys, q.snap.Died} {
		for i := range list {
			switch j := &list[i]; {
			case j.Key != q.get("key"):
			case j.Time == at && rows.PlaceOf(j) == q.get("at"):
				found = j
			default:
				alike[fmt.Sprintf("%020d %s", j.Time, rows.PlaceOf(j))] = j
			}
		}
	}
	if found == nil {
		return nil, missing("packet %.100q at %d, %.100q: it is not among those that are kept", q.get("key"), at, q.get("at"))
	}
	d := &packetData{packetRow: packetRowOf(q, found), Key: found.Key}
	if found.Ambiguous {
		for _, k := range sortedKeys(alike) {
			if len(d.Alike) == mostAlike {
				d.AlikeMore = len(alike) - mostAlike
				break
			}
			d.Alike = append(d.Alike, packetRowOf(q, alike[k]))
		}
	}
	d.visits(found)
	return d, nil
}

// span sets the time at which a packet was first seen, and the time from then until it was last seen.
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
	d.Elapsed = to - d.From
}

// visits lays the hops of a packet out in time, copies one after the other.
func (d *packetData) visits(j *result.Journey) {
	d.span(j)
	total := max(1, d.Elapsed)
	t := rows.TreeOf(j)
	d.Ends = t.Ends()
	var order []int
	order, d.More = t.InOrder(mostVisits)
	for _, i := range order {
		h := j.Hops[i]
		by := t.By(i)
		v := visitRow{JourneyHop: h, Became: "went on", Copy: 1 + slices.Index(t.Exits[by], i), Copies: len(t.Exits[by])}
		switch {
		case len(t.Exits[i]) > 0:
		case d.Ends == 1:
			v.Became = cmp.Or(j.End, notKnown)
		default:
			v.Became = "ended: see the ends above"
		}
		if h.Tables != "" {
			v.Records = strings.Split(h.Tables, ", ")
		}
		if by >= 0 {
			before := j.Hops[by]
			v.From = before.Switch
			if len(t.Exits[t.By(by)]) > 1 && before.Out != "" {
				v.From += ":" + before.Out
			}
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
