package join

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"tamtam/collector/journey"
	"tamtam/collector/result"
)

// rowOf returns a packet's path as a row. An exit that may lead to one of several visits is ambiguous: the row ends
// there, and each of these visits begins its own row.
func rowOf(key journey.Key, trip journey.Journey) result.Journey {
	h := fnv.New64a()
	h.Write([]byte(key))
	j := result.Journey{
		Time: int64(trip.Visits[0].Arrived), Flow: trip.Flow, Key: fmt.Sprintf("%016x", h.Sum64()), From: trip.From,
	}
	switch trip.Origin {
	case journey.Began, journey.Unwired:
	case journey.Unseen:
		j.Flags |= result.Missing
	case journey.Alike:
		j.Ambiguous, j.Candidate, j.Of = true, 1, 2 // at least two equal packets
	}
	index := map[*journey.Visit]int{}
	for _, v := range trip.Visits {
		parent, known := index[v]
		if !known {
			parent = -1
		}
		if v.ClockSuspect {
			j.Flags |= result.Unsynchronised
		}
		for _, e := range v.Exits {
			j.Hops = append(j.Hops, hopOf(v, e, parent))
			if e.Next != nil {
				index[e.Next] = len(j.Hops) - 1
			}
			end(&j, e)
		}
	}
	return j
}

// end adds the end of an exit to a row. Copies end differently: each distinct end is added once, up to mostEnds.
func end(j *result.Journey, e *journey.Exit) {
	how := e.End
	if e.Unseen {
		j.Flags |= result.Missing
	}
	if len(e.Candidates) > 0 {
		alike := max(e.Alike, len(e.Candidates))
		j.Ambiguous, j.Candidate, j.Of = true, 1, max(alike, j.Of)
		how = fmt.Sprintf("one of %d visits that are alike", alike)
	}
	ends := strings.Split(j.End, endsApart)
	switch {
	case how == "" || slices.Contains(ends, how):
	case j.End == "":
		j.End = how
	case len(ends) < mostEnds:
		j.End += endsApart + how
	case len(ends) == mostEnds:
		j.End += endsApart + "and more"
	}
}

// endsApart separates the ends of copies, mostEnds is their maximum number in a row.
const (
	endsApart = "; "
	mostEnds  = 8
)

func hopOf(v *journey.Visit, e *journey.Exit, parent int) result.JourneyHop {
	h := result.JourneyHop{Parent: parent, Switch: v.Switch, In: orCPU(v.In), Out: e.Out, Arrival: int64(v.Arrived),
		Departure: int64(e.Left), Queue: -1, Depth: -1, Tables: strings.ReplaceAll(e.Path, " > ", ", "), Perhaps: perhaps(e)}
	queue(&h, e.Notes)
	if why, ok := strings.CutPrefix(e.End, "dropped: "); ok {
		h.Dropped, h.Departure = why, 0
	}
	return h
}

// dropOf returns an exit as a drop of one packet, without its window and count. It returns false if the packet was not
// dropped.
func dropOf(v *journey.Visit, e *journey.Exit, flow string) (result.Drop, bool) {
	why, ok := strings.CutPrefix(e.End, "dropped: ")
	return result.Drop{Switch: v.Switch, Port: orCPU(v.In), Queue: result.UnknownQueue, Reason: why, Rule: rule(e.Notes),
		Flow:   flow,
		Source: "record"}, ok
}

// perhaps returns the visits that may follow an exit, if it is ambiguous.
func perhaps(e *journey.Exit) string {
	var list []string
	for _, c := range e.Candidates {
		list = append(list, fmt.Sprintf("%s after %v", journey.Port{Switch: c.Switch, Port: c.In}, c.Arrived-e.Left))
	}
	if more := e.Alike - len(e.Candidates); more > 0 && len(list) > 0 {
		list = append(list, fmt.Sprintf("or one of %d more", more))
	}
	return strings.Join(list, ", ")
}

func orCPU(port string) string {
	if port == "" {
		return "CPU"
	}
	return port
}

// queue reads the queue of a packet and its depth from the identities of a record, as in "queue 0, 1234 bytes in it".
func queue(h *result.JourneyHop, notes []string) {
	for _, n := range notes {
		var q int
		var depth int64
		if _, err := fmt.Sscanf(n, "queue %d, %d bytes in it", &q, &depth); err == nil {
			h.Queue, h.Depth = q, depth
		}
	}
}

// rule returns the rule of an access list among identities, "" if there is none.
func rule(notes []string) string {
	for _, n := range notes {
		if r, ok := strings.CutPrefix(strings.TrimPrefix(n, "egress "), "rule "); ok {
			return r
		}
	}
	return ""
}
