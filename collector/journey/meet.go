package journey

import (
	"cmp"
	"slices"
	"time"
)

// An arrival is where packets with the same key and TTL come, or leave for.
type arrival struct {
	key Key
	at  Port
	ttl int
}

// A timeline has what came, or left, in order of time; and what has times that cannot be compared.
type timeline[T any] struct{ sure, doubted []T }

// Meetings have what may follow each other by key, port and TTL, so that of many packets that are alike nobody compares
// each with each.
type meetings struct {
	wiring Wiring
	Options
	visits map[arrival]*timeline[*Visit]
	exits  map[arrival]*timeline[*Exit] // by where they lead; the TTL is that before them
}

func newMeetings(visits []*Visit, w Wiring, o Options) *meetings {
	m := &meetings{w, o, map[arrival]*timeline[*Visit]{}, map[arrival]*timeline[*Exit]{}}
	for _, v := range visits {
		put(m.visits, v.arrival(), v, v.Doubt)
		for _, e := range v.Exits {
			if far, ok := m.far(e); ok {
				put(m.exits, far, e, v.Doubt)
			}
		}
	}
	for _, line := range m.exits {
		slices.SortStableFunc(line.sure, func(a, b *Exit) int { return cmp.Compare(a.Left, b.Left) })
	}
	return m
}

func put[T any](all map[arrival]*timeline[T], at arrival, x T, doubted bool) {
	line := all[at]
	if line == nil {
		line = &timeline[T]{}
		all[at] = line
	}
	if doubted {
		line.doubted = append(line.doubted, x)
	} else {
		line.sure = append(line.sure, x)
	}
}

func (v *Visit) arrival() arrival { return arrival{v.key, Port{v.Switch, v.In}, v.ttl} }

// far is where an exit leads, with the TTL before it; false if it ended in the switch, or its wire is not known.
func (m *meetings) far(e *Exit) (arrival, bool) {
	port, ok := m.wiring.Ports[Port{e.at.Switch, e.Out}]
	return arrival{e.at.key, port, e.at.ttl}, ok && e.Out != "" && e.End == ""
}

// meet finds what may follow each exit, and what each visit may have come by: TTLs and times allow it. A switch takes
// one from a TTL, or none.
func (m *meetings) meet(visits []*Visit) {
	for _, v := range visits {
		for _, e := range v.Exits {
			far, ok := m.far(e)
			for less := 0; ok && less <= 1; less++ {
				far.ttl = v.ttl - less
				order := func(x *Visit) int { return m.order(x.Arrived - e.Left) }
				for _, list := range fitting(m.visits[far], v.Doubt, order) {
					e.candidates(list)
				}
				if far == v.arrival() && (v.Doubt || order(v) == 0) {
					e.Alike-- // it is among them
				}
			}
		}
		at := v.arrival()
		for more := range 2 {
			at.ttl = v.ttl + more
			order := func(x *Exit) int { return -m.order(v.Arrived - x.Left) }
			for _, list := range fitting(m.exits[at], v.Doubt, order) {
				v.origins(list)
			}
		}
	}
}

// order is 0 if a packet may have been so long on a wire, less if it came too early, more if too late.
func (o Options) order(d time.Duration) int {
	switch {
	case d < -o.ClockError:
		return -1
	case d > o.Within:
		return 1
	}
	return 0
}

// fitting are those of a timeline for which order, which grows along it, is 0, and those of which it is not known.
func fitting[T any](line *timeline[T], doubt bool, order func(T) int) [][]T {
	if line == nil {
		return nil
	}
	if doubt {
		return [][]T{line.sure, line.doubted}
	}
	at := func(x T, want int) int { return order(x) - want }
	first, _ := slices.BinarySearchFunc(line.sure, 0, at)
	behind, _ := slices.BinarySearchFunc(line.sure, 1, at)
	return [][]T{line.sure[first:behind], line.doubted}
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

// origins adds exits that a visit may have come by.
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
