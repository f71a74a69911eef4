package journey

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Port is one of a switch, by their names.
type Port struct{ Switch, Port string }

// String is as leaf1:Ethernet4.
func (p Port) String() string { return p.Switch + ":" + p.Port }

// Wiring is which port is at the other end of a port's wire.
type Wiring struct {
	Ports map[Port]Port   // both directions
	Hosts map[Port]string // at ports where no switch is
}

// A Record is what a switch says of a packet that it had.
type Record struct {
	Key     Key
	Flow    string // what to call the packet by
	Switch  string
	In      string // the port that it came in at; "": the CPU
	Out     string // the port that it left at; "": it did not, as End says
	End     string // how it ended in the switch, as "dropped: no-route" or "CPU (lldp)"
	Arrived time.Duration
	Left    time.Duration // when the record was made; both since 1970, by the switch's clock
	TTL     int           // or hop limit, as it came; -1: it has none
	Doubt   bool          // the clock was not synchronised, or was set while the packet was in the switch
	Ended   Ended         // what End is in words, to tell records of one exit; 0: only the words are known
	Path    string        // the tables that it ran
	Known   bool          // Path and End are by the plan of the record
	Notes   []string      // identities
}

// Ended is how a packet ended in a switch, as a number that does not depend on what is known of the plan: see
// [DroppedFor].
type Ended int

// AtCPU is the end of what went to the CPU.
const AtCPU Ended = -1

// DroppedFor is the end of what was dropped for a reason, by its number, which is not 0.
func DroppedFor(reason uint8) Ended { return Ended(reason) }

// A Visit is the stay of a packet at a switch.
type Visit struct {
	Switch  string
	In      string // port; "": the CPU
	Arrived time.Duration
	Doubt   bool // see [Record]
	Exits   []*Exit

	key     Key
	flow    string
	ttl     int
	from    []*Exit // those that it may have come by, if there are more than two only two of them
	settled bool    // it came by the one of from
	strange bool    // it came by none, and there is one that nothing follows, by which it may not have come for the times
	reached bool    // from the start of a journey
}

// An Exit is how a packet, or a copy of it, left a switch, or ended there.
type Exit struct {
	Out   string // port; "": it ended here
	Left  time.Duration
	Path  string
	Notes []string
	// End is how it ended: in the switch, at a host, or that it was not seen any more.
	End string
	// Next is where it came to; Candidates are visits of which one may be that, if it is not certain which: the first
	// [MaxCandidates] of them. Alike is how many there are.
	Next       *Visit
	Candidates []*Visit
	Alike      int
	// Unseen: a wire leads from here to a switch, which has no record of it.
	Unseen bool

	at      *Visit
	known   bool // see [Record]
	strange bool // nothing follows, and there is a visit that followed none and may not follow for the times
}

// MaxCandidates is how many visits an exit has as candidates, at most.
const MaxCandidates = 16

// A Journey is a packet's way, from where it was first seen. Copies of it have ways of their own from where they were
// made.
type Journey struct {
	Flow   string
	From   string // the host, or the port that it came from
	Origin Origin
	Visits []*Visit // the first is the start; each is there before those that follow it
}

// Origin says what is known of where a journey comes from.
type Origin uint8

// The origins.
const (
	Began   Origin = iota // at a host or a CPU
	Unseen                // a switch, which has no record of it
	Alike                 // it may have come by several exits, or as one of several packets
	Unwired               // a wire that is not known
)

// Options say which visits may follow each other.
type Options struct {
	// ClockError is the most by which two synchronised clocks may differ.
	ClockError time.Duration
	// Within is the longest time on a wire: packets with the same key that are further apart are different ones.
	Within time.Duration
}

// Defaults of [Options].
const (
	DefaultClockError = time.Millisecond
	DefaultWithin     = 10 * time.Second
)

// Join makes the journeys of records, which may come in any order; they are sorted by when they began. Records of the
// same visit by several sessions are taken together.
//
// A visit follows an exit if their keys are equal, a wire joins the ports, and the times allow it. It does so for
// certain only if the visit is the only one that may follow this exit, and the exit the only one that the visit may
// have come by.
func Join(records []Record, w Wiring, o Options) []Journey {
	o.ClockError, o.Within = cmp.Or(o.ClockError, DefaultClockError), cmp.Or(o.Within, DefaultWithin)
	visits := visitsOf(records)
	m := newMeetings(visits, w, o)
	m.meet(visits)
	m.strangers(visits)
	for _, v := range visits {
		for _, e := range v.Exits {
			e.settle(w)
		}
	}
	var all []Journey
	for _, v := range visits {
		if !v.settled {
			all = append(all, v.journey(w))
		}
	}
	for _, v := range visits {
		if !v.reached { // it follows itself, by the times of clocks that cannot be compared
			v.settled = false
			v.from[0].Next, v.from[0].Candidates, v.from[0].Alike = nil, []*Visit{v}, 1
			all = append(all, v.journey(w))
		}
	}
	slices.SortStableFunc(all, func(a, b Journey) int { return compare(a.Visits[0], b.Visits[0]) })
	return all
}

// journey begins with a visit.
func (v *Visit) journey(w Wiring) Journey {
	from, origin := v.origin(w)
	return Journey{v.flow, from, origin, v.onward()}
}

// onward are the visit and all that certainly follow it.
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

// settle decides how an exit goes on.
func (e *Exit) settle(w Wiring) {
	if len(e.Candidates) == 1 && len(e.Candidates[0].from) == 1 {
		e.Next, e.Candidates, e.Alike = e.Candidates[0], nil, 0
		e.Next.settled = true
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

// origin is where a visit came from, as far as is known.
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

// visitsOf gathers records of the same visit. Copies of a packet have several exits; records of one by several sessions
// are of one exit, of which the record with the most to say says how it ended.
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
		end   string // where ended says nothing
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
		v.Doubt = v.Doubt || r.Doubt
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

// merge takes a record of another session of the same exit.
func (e *Exit) merge(r Record) {
	if e.Left = min(e.Left, r.Left); r.Known && !e.known {
		e.Path, e.End, e.known = r.Path, r.End, true
	}
	if len(e.Notes) == 0 {
		e.Notes = r.Notes
	}
}
