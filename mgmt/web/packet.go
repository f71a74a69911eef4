package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/collector/result"
)

// A tree holds the hops of a packet by their parents. A hop is one exit of a switch: several with the same parent are
// copies of the packet.
type tree struct {
	hops  []result.JourneyHop
	exits map[int][]int // exits by the previous hop; -1 holds the exits at the place where the packet was first seen
}

func treeOf(j *result.Journey) tree {
	t := tree{j.Hops, map[int][]int{}}
	for i := range j.Hops {
		t.exits[t.by(i)] = append(t.exits[t.by(i)], i)
	}
	return t
}

// by returns the previous hop of a hop, or -1.
func (t tree) by(i int) int {
	if by := t.hops[i].Parent; by < i {
		return max(by, -1)
	}
	return -1
}

// ends returns how many hops have no successor.
func (t tree) ends() (n int) {
	for i := range t.hops {
		if len(t.exits[i]) == 0 {
			n++
		}
	}
	return n
}

// mostWay bounds the switches in the text of a path; a packet in a loop has more.
const mostWay = 64

// way returns the switches of a packet as text; the paths of its copies are in parentheses, each after its port.
func (t tree) way() string {
	var b strings.Builder
	left := mostWay
	t.write(&b, -1, &left)
	return b.String()
}

func (t tree) write(b *strings.Builder, by int, left *int) {
	exits := t.exits[by]
	if *left--; len(exits) == 0 || *left < 0 {
		if len(exits) > 0 {
			b.WriteString("…")
		}
		return
	}
	b.WriteString(t.hops[exits[0]].Switch)
	for k, i := range exits {
		if len(exits) > 1 {
			b.WriteString([]string{" (", " | "}[min(k, 1)] + exitOf(&t.hops[i]))
		}
		if len(t.exits[i]) > 0 {
			b.WriteString(" → ")
		}
		t.write(b, i, left)
	}
	if len(exits) > 1 {
		b.WriteString(")")
	}
}

// exitOf returns how a copy left a switch, or ended there.
func exitOf(h *result.JourneyHop) string {
	switch {
	case h.Out != "":
		return h.Out
	case h.Dropped != "":
		return "dropped: " + h.Dropped
	}
	return "ended"
}

// inOrder returns the first hops, each after its parent and before the next copy, and the number of further ones.
func (t tree) inOrder(most int) (list []int, more int) {
	stack := slices.Clone(t.exits[-1])
	slices.Reverse(stack)
	for len(stack) > 0 && len(list) < most {
		i := stack[len(stack)-1]
		list, stack = append(list, i), stack[:len(stack)-1]
		for _, k := range slices.Backward(t.exits[i]) {
			stack = append(stack, k)
		}
	}
	return list, len(t.hops) - len(list)
}

// placeOf returns where a packet was first seen, which distinguishes equal packets seen at the same time.
func placeOf(j *result.Journey) string {
	if len(j.Hops) == 0 {
		return ""
	}
	return j.Hops[0].Switch + ":" + j.Hops[0].In
}

func packetRowOf(q *request, j *result.Journey) packetRow {
	return packetRow{
		Time: j.Time, Flow: j.Flow, Origin: j.From, Way: treeOf(j).way(),
		End: j.End, Dropped: diedAt(j) >= 0, Ambiguous: j.Ambiguous, Reasons: flagWords(j.Flags),
		Href: q.Link("/packet", "key", j.Key, "time", strconv.FormatInt(j.Time, 10), "at", placeOf(j)),
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
	Key        string
	Visits     []visitRow
	More       int // number of visits that are not shown
	Ends       int // number of copies' ends
	From, Took int64
	Timed      bool
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
	for _, list := range [][]result.Journey{q.snap.journeys, q.snap.died} {
		for i := range list {
			switch j := &list[i]; {
			case j.Key != q.get("key"):
			case j.Time == at && placeOf(j) == q.get("at"):
				found = j
			default:
				alike[fmt.Sprintf("%020d %s", j.Time, placeOf(j))] = j
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
	d.Took = to - d.From
}

// visits lays the hops of a packet out in time, copies one after the other.
func (d *packetData) visits(j *result.Journey) {
	d.span(j)
	total := max(1, d.Took)
	t := treeOf(j)
	d.Ends = t.ends()
	var order []int
	order, d.More = t.inOrder(mostVisits)
	for _, i := range order {
		h := j.Hops[i]
		by := t.by(i)
		v := visitRow{JourneyHop: h, Became: "went on", Copy: 1 + slices.Index(t.exits[by], i), Copies: len(t.exits[by])}
		switch {
		case len(t.exits[i]) > 0:
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
			if len(t.exits[t.by(by)]) > 1 && before.Out != "" {
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
