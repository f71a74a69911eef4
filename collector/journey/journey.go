package journey

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Port is a port of a switch, by their names.
type Port struct{ Switch, Port string }

// String returns text such as leaf1:Ethernet4.
func (p Port) String() string { return p.Switch + ":" + p.Port }

// Wiring describes the other end of each port's wire.
type Wiring struct {
	Ports map[Port]Port   // both ends of each wire map to the other
	Hosts map[Port]string // hosts at ports without a switch
}

// A Record is a switch's record of a packet.
type Record struct {
	Key          Key
	Flow         string // name of the packet's flow for output
	Switch       string
	In           string // ingress port; "" if the packet came from the CPU
	Out          string // egress port; "" if the packet did not leave, as in End
	End          string // how the packet ended in the switch
	Arrived      time.Duration
	Left         time.Duration // time of the record; both times are since 1970, by the switch's clock
	TTL          int           // TTL or hop limit on arrival, or -1 if it has none
	ClockSuspect bool          // true if the clock was not synchronised, or was set while the packet was in the switch
	Ended        Ended         // End as a number, to recognise records of one exit; zero if only the words are known
	Path         string        // tables that the packet ran
	Known        bool          // true if Path and End were decoded with the record's plan
	Notes        []string      // identities of entries, as text
}

// Ended is the end of a packet in a switch as a number that does not depend on the plan: see [DroppedFor].
type Ended int

// AtCPU is the end of packets that went to the CPU.
const AtCPU Ended = -1

// DroppedFor returns the end of packets that were dropped for a reason, by its nonzero number.
func DroppedFor(reason uint8) Ended { return Ended(reason) }

// A Visit is the stay of a packet at a switch.
type Visit struct {
	Switch       string
	In           string // ingress port; "" if the packet came from the CPU
	Arrived      time.Duration
	ClockSuspect bool // see [Record]
	Exits        []*Exit

	key     Key
	flow    string
	ttl     int
	from    []*Exit // exits from which the packet may have come; at most two are stored
	joined  bool    // true if the packet came from the only exit in from
	strange bool    // true if the packet came from no exit, and an unfollowed exit would match except for its time
	reached bool    // true if the visit is reachable from the start of a journey
}

// An Exit is the departure of a packet or a copy from a switch, or its end there.
type Exit struct {
	Out   string // egress port; "" if the packet ended here
	Left  time.Duration
	Path  string
	Notes []string
	// End describes how the exit ended: in the switch, at a host, or because the packet was not seen again.
	End string
	// Next is the next visit if it is certain. Otherwise Candidates lists possible visits, at most the first
	// [MaxCandidates], and Alike is their number.
	Next       *Visit
	Candidates []*Visit
	Alike      int
	// Unseen means that a wire leads from here to a switch that has no record of the packet.
	Unseen bool

	at      *Visit
	known   bool // see [Record]
	strange bool // true if nothing follows, and a visit without a predecessor would match except for its time
}

// MaxCandidates is the maximum number of candidates of an exit.
const MaxCandidates = 16

// A Journey is the path of a packet from its first sighting. Copies have their own paths from the place where they were
// made.
type Journey struct {
	Flow   string
	From   string // host or port from which the packet came
	Origin Origin
	Visits []*Visit // visits; the first is the start, and each precedes the visits that follow it
}

// Origin describes the knowledge about the origin of a journey.
type Origin uint8

// The origins.
const (
	Began   Origin = iota // the journey began at a host or a CPU
	Unseen                // the packet came from a switch that has no record of it
	Alike                 // the packet may have come from several exits, or is one of several equal packets
	Unwired               // the packet arrived over an unknown wire
)

// Options control which visits may follow each other.
type Options struct {
	// ClockError is the maximum difference between two synchronised clocks.
	ClockError time.Duration
	// Within is the maximum time on a wire. Packets with the same key that are further apart are different packets.
	Within time.Duration
}

// Defaults of [Options].
const (
	DefaultClockError = time.Millisecond
	DefaultWithin     = 10 * time.Second
)

// Join returns the journeys of records in any order, sorted by their begin. Records of the same visit by several
// sessions are merged.
//
// A visit may follow an exit if their keys are equal, a wire joins the ports, and the times allow it. It certainly
// follows the exit if neither has another possible partner.
func Join(records []Record, w Wiring, o Options) []Journey {
	o.ClockError, o.Within = cmp.Or(o.ClockError, DefaultClockError), cmp.Or(o.Within, DefaultWithin)
	visits := visitsOf(records)
	m := newMeetings(visits, w, o)
	m.meet(visits)
	m.strangers(visits)
	for _, v := range visits {
		for _, e := range v.Exits {
			e.decide(w)
		}
	}
	var all []Journey
	for _, v := range visits {
		if !v.joined {
			all = append(all, v.journey(w))
		}
	}
	for _, v := range visits {
		if !v.reached { // the visit follows itself, by the times of clocks that cannot be compared
			v.joined = false
			v.from[0].Next, v.from[0].Candidates, v.from[0].Alike = nil, []*Visit{v}, 1
			all = append(all, v.journey(w))
		}
	}
	slices.SortStableFunc(all, func(a, b Journey) int { return compare(a.Visits[0], b.Visits[0]) })
	return all
}

// journey returns the journey that begins with a visit.
func (v *Visit) journey(w Wiring) Journey {
	from, origin := v.origin(w)
	return Journey{v.flow, from, origin, v.onward()}
}

// onward returns the visit and all visits that certainly follow it.
func (v *Visit) onward() []*Visit {
	all := []*Visit{v}
	v.reached = true
	for i := 0; i < len(all); i++ {
		for _, e := range all[i].Exits {
			if e.Next != nil && !e.Next.reached {
				e.Next.reached = true
				all = append(all, e.Next)
			}
		}
	}
	return all
}

func compare(a, b *Visit) int {
	return cmp.Or(cmp.Compare(a.Arrived, b.Arrived), cmp.Compare(a.Switch, b.Switch), cmp.Compare(a.key, b.key),
		cmp.Compare(a.In, b.In))
}

// decide decides how an exit continues.
func (e *Exit) decide(w Wiring) {
	if len(e.Candidates) == 1 && len(e.Candidates[0].from) == 1 {
		e.Next, e.Candidates, e.Alike = e.Candidates[0], nil, 0
		e.Next.joined = true
		return
	}
	if e.Out == "" || e.End != "" || len(e.Candidates) > 0 {
		return
	}
	out := Port{e.at.Switch, e.Out}
	far, wired := w.Ports[out]
	switch host, ok := w.Hosts[out]; {
	case ok:
		e.End = "to " + host
	case wired:
		e.Unseen = true
		e.End = fmt.Sprintf("not seen at %s: lost on the wire, or not recorded there", far)
		if e.strange {
			e.End = fmt.Sprintf("not seen at %s at a time that fits: it, or others that are alike, are recorded with another",
				far)
		}
	default:
		e.End = fmt.Sprintf("to %s, whose wire is not known", out)
	}
}

// origin returns the origin of a visit, as far as it is known.
func (v *Visit) origin(w Wiring) (string, Origin) {
	in := Port{v.Switch, v.In}
	far, wired := w.Ports[in]
	switch host, ok := w.Hosts[in]; {
	case v.In == "":
		return "the CPU of " + v.Switch, Began
	case ok:
		return host, Began
	case len(v.from) > 0:
		return fmt.Sprintf("%s, as one of several packets that are alike", far), Alike
	case wired && v.strange:
		return fmt.Sprintf("%s, which has it, or others that are alike, at times that do not fit", far), Unseen
	case wired:
		return fmt.Sprintf("%s, which has no record of it", far), Unseen
	}
	return fmt.Sprintf("%s, whose wire is not known", in), Unwired
}

// visitsOf merges records into visits. Copies of a packet are several exits of a visit. Several sessions' records of
// one copy are one exit, whose end comes from the record with the most information.
func visitsOf(records []Record) []*Visit {
	type visitID struct {
		key        Key
		name, port string
		arrived    time.Duration
	}
	type exitID struct {
		visit *Visit
		out   string
		ended Ended
		end   string // used if ended is unknown
	}
	visits, exits := map[visitID]*Visit{}, map[exitID]*Exit{}
	var all []*Visit
	for _, r := range records {
		k := visitID{r.Key, r.Switch, r.In, r.Arrived}
		v := visits[k]
		if v == nil {
			v = &Visit{Switch: r.Switch, In: r.In, Arrived: r.Arrived, key: r.Key, flow: r.Flow, ttl: r.TTL}
			visits[k] = v
			all = append(all, v)
		}
		v.ClockSuspect = v.ClockSuspect || r.ClockSuspect
		x := exitID{v, r.Out, r.Ended, r.End}
		if r.Ended != 0 {
			x.end = ""
		}
		if e := exits[x]; e == nil {
			e = &Exit{Out: r.Out, Left: r.Left, Path: r.Path, Notes: r.Notes, End: r.End, at: v, known: r.Known}
			exits[x] = e
			v.Exits = append(v.Exits, e)
		} else {
			e.merge(r)
		}
	}
	slices.SortStableFunc(all, compare)
	for _, v := range all {
		slices.SortStableFunc(v.Exits, func(a, b *Exit) int {
			return cmp.Or(cmp.Compare(a.Left, b.Left), cmp.Compare(a.Out, b.Out), cmp.Compare(a.End, b.End))
		})
	}
	return all
}

// merge adds another session's record of the same exit.
func (e *Exit) merge(r Record) {
	if e.Left = min(e.Left, r.Left); r.Known && !e.known {
		e.Path, e.End, e.known = r.Path, r.End, true
	}
	if len(e.Notes) == 0 {
		e.Notes = r.Notes
	}
}
