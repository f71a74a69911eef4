package journey

import (
	"cmp"
	"slices"
	"time"
)

// An arrival is the port that packets with the same key and TTL reach.
type arrival struct {
	key Key
	at  Port
	ttl int
}

// A timeline holds entries in time order, and separately the entries with incomparable times.
type timeline[T any] struct{ sure, suspect []T }

// meetings indexes visits and exits by key, port and TTL, to avoid the comparison of all pairs among equal packets.
type meetings struct {
	wiring Wiring
	Options
	visits map[arrival]*timeline[*Visit]
	exits  map[arrival]*timeline[*Exit] // exits by destination and the packet's TTL before the exit
}

func newMeetings(visits []*Visit, w Wiring, o Options) *meetings {
	m := &meetings{w, o, map[arrival]*timeline[*Visit]{}, map[arrival]*timeline[*Exit]{}}
	for _, v := range visits {
		put(m.visits, v.arrival(), v, v.ClockSuspect)
		for _, e := range v.Exits {
			if far, ok := m.far(e); ok {
				put(m.exits, far, e, v.ClockSuspect)
			}
		}
	}
	for _, line := range m.exits {
		slices.SortStableFunc(line.sure, func(a, b *Exit) int { return cmp.Compare(a.Left, b.Left) })
	}
	return m
}

func put[T any](all map[arrival]*timeline[T], at arrival, x T, uncertain bool) {
	line := all[at]
	if line == nil {
		line = &timeline[T]{}
		all[at] = line
	}
	if uncertain {
		line.suspect = append(line.suspect, x)
	} else {
		line.sure = append(line.sure, x)
	}
}

func (v *Visit) arrival() arrival { return arrival{v.key, Port{v.Switch, v.In}, v.ttl} }

// far returns the destination of an exit, with the packet's TTL before the exit. It returns false if the packet ended
// in the switch or the wire is unknown.
func (m *meetings) far(e *Exit) (arrival, bool) {
	port, ok := m.wiring.Ports[Port{e.at.Switch, e.Out}]
	return arrival{e.at.key, port, e.at.ttl}, ok && e.Out != "" && e.End == ""
}

// meet finds the visits that may follow each exit, and the exits that each visit may have come from, by TTL and time. A
// switch decrements a TTL by one, or leaves it unchanged.
func (m *meetings) meet(visits []*Visit) {
	for _, v := range visits {
		for _, e := range v.Exits {
			if far, ok := m.far(e); ok {
				m.follow(e, far)
			}
		}
		m.trace(v)
	}
}

// follow finds the visits that may follow an exit to far.
func (m *meetings) follow(e *Exit, far arrival) {
	v := e.at
	order := func(x *Visit) int { return m.order(x.Arrived - e.Left) }
	for less := range 2 {
		far.ttl = v.ttl - less
		for _, list := range fitting(m.visits[far], v.ClockSuspect, order) {
			e.candidates(list)
		}
		if far == v.arrival() && (v.ClockSuspect || order(v) == 0) {
			e.Alike-- // e's own visit is one of the candidates
		}
	}
}

// trace finds the exits that a visit may have come from.
func (m *meetings) trace(v *Visit) {
	order := func(x *Exit) int { return -m.order(v.Arrived - x.Left) }
	at := v.arrival()
	for more := range 2 {
		at.ttl = v.ttl + more
		for _, list := range fitting(m.exits[at], v.ClockSuspect, order) {
			v.origins(list)
		}
	}
}

// strangers marks exits without a next visit and visits without a previous exit that would match except for their
// times.
func (m *meetings) strangers(visits []*Visit) {
	comes, goes := m.lone(visits)
	for _, v := range visits {
		at := v.arrival()
		before := at
		before.ttl++
		n := goes[at] + goes[before]
		for _, e := range v.Exits {
			far, ok := m.far(e)
			if !ok || !e.alone() {
				continue
			}
			e.strange = missed(comes, v, far)
			if far == at { // the exit leads to the port at which the packet arrived
				n--
			}
		}
		v.strange = len(v.from) == 0 && n > 0
	}
}

// lone counts visits without a previous exit, by their arrival, and exits without a next visit, by their destination.
func (m *meetings) lone(visits []*Visit) (comes, goes map[arrival]int) {
	comes, goes = map[arrival]int{}, map[arrival]int{}
	for _, v := range visits {
		if len(v.from) == 0 {
			comes[v.arrival()]++
		}
		for _, e := range v.Exits {
			if far, ok := m.far(e); ok && e.alone() {
				goes[far]++
			}
		}
	}
	return comes, goes
}

// missed reports whether another visit than v would match an exit to far except for its time.
func missed(comes map[arrival]int, v *Visit, far arrival) bool {
	behind := far
	behind.ttl--
	n := comes[far] + comes[behind]
	if far == v.arrival() && len(v.from) == 0 {
		n-- // v itself does not count
	}
	return n > 0
}

// alone reports whether nothing follows an exit.
func (e *Exit) alone() bool { return e.Next == nil && len(e.Candidates) == 0 }

// order returns 0 if d is a possible time on a wire, a negative number if it is too short, and a positive one if too
// long.
func (o Options) order(d time.Duration) int {
	switch {
	case d < -o.ClockError:
		return -1
	case d > o.Within:
		return 1
	}
	return 0
}

// fitting returns the entries of a timeline for which order is 0, and those with incomparable times. order must
// increase along the timeline.
func fitting[T any](line *timeline[T], uncertain bool, order func(T) int) [][]T {
	if line == nil {
		return nil
	}
	if uncertain {
		return [][]T{line.sure, line.suspect}
	}
	at := func(x T, want int) int { return order(x) - want }
	first, _ := slices.BinarySearchFunc(line.sure, 0, at)
	behind, _ := slices.BinarySearchFunc(line.sure, 1, at)
	return [][]T{line.sure[first:behind], line.suspect}
}

// candidates adds visits that may follow.
func (e *Exit) candidates(list []*Visit) {
	e.Alike += len(list)
	for _, v := range list {
		if len(e.Candidates) == MaxCandidates {
			return
		}
		if v != e.at {
			e.Candidates = append(e.Candidates, v)
		}
	}
}

// origins adds exits that a visit may have come from.
func (v *Visit) origins(list []*Exit) {
	for _, e := range list {
		if len(v.from) == 2 {
			return
		}
		if e.at != v {
			v.from = append(v.from, e)
		}
	}
}
