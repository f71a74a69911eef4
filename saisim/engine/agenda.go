package engine

import (
	"math/bits"

	"tamtam/saisim/profile"
)

// An agenda holds the pending events. Nearly all events are due within the next cycles and are in a wheel, which has a
// list for each cycle. Later events are in a heap. At most one event of each class and port is pending, so a list
// consists of links between event numbers and needs no allocation.
type agenda struct {
	far  heap[event]
	near int                    // number of events in the wheel
	used [wheelSpan / 64]uint64 // one bit for each cycle that has events
	list [wheelSpan]uint16      // number of the first event of a cycle, zero if there is none
	next [numClasses*profile.MaxLanes + 1]uint16
}

// number returns the event's place in lists. Numbers have the order of keys.
func (e event) number() uint16 { return uint16(e.class()*profile.MaxLanes+int(e.port())) + 1 }

func eventNumbered(n uint16) uint32 {
	return eventKey(int(n-1)/profile.MaxLanes, PortID((n-1)%profile.MaxLanes))
}

// push adds an event. The event must not be due before now.
func (a *agenda) push(now Cycle, e event) {
	if e.at-now >= wheelSpan {
		a.far.push(e)
		return
	}
	i, n := e.at%wheelSpan, e.number()
	a.near++
	a.used[i/64] |= 1 << (i % 64)
	at := &a.list[i]
	for *at != 0 && *at < n {
		at = &a.next[*at]
	}
	a.next[n], *at = *at, n
}

// empty reports whether there are no events.
func (a *agenda) empty() bool { return a.near == 0 && len(a.far) == 0 }

// first returns the first event, and false if there is none. No event may be before now.
func (a *agenda) first(now Cycle) (e event, ok bool) {
	if a.near == 0 {
		if len(a.far) == 0 {
			return event{}, false
		}
		return a.far[0], true
	}
	i := now % wheelSpan
	word, w := int(i/64), a.used[i/64]>>(i%64)<<(i%64)
	for w == 0 {
		word = (word + 1) % len(a.used)
		w = a.used[word]
	}
	i = Cycle(word*64 + bits.TrailingZeros64(w))
	e = event{now + (i-now)%wheelSpan, eventNumbered(a.list[i])}
	if len(a.far) > 0 && a.far[0].before(e) {
		e = a.far[0]
	}
	return e, true
}

// pop removes the event that first returned.
func (a *agenda) pop(e event) {
	if len(a.far) > 0 && a.far[0] == e {
		a.far.pop()
		return
	}
	i := e.at % wheelSpan
	a.unlink(i, &a.list[i])
}

func (a *agenda) unlink(i Cycle, at *uint16) {
	*at = a.next[*at]
	a.near--
	if a.list[i] == 0 {
		a.used[i/64] &^= 1 << (i % 64)
	}
}

// cancel removes a pending event.
func (a *agenda) cancel(e event) {
	i, n := e.at%wheelSpan, e.number()
	for at := &a.list[i]; *at != 0; at = &a.next[*at] {
		if *at == n {
			a.unlink(i, at)
			return
		}
	}
	all := a.far
	a.far = a.far[:0]
	for _, f := range all { // pushing overwrites only what has been read
		if f != e {
			a.far.push(f)
		}
	}
}

// remove deletes the event with the given key, if there is one. It scans all events, so it is for control calls only.
func (a *agenda) remove(key uint32) {
	var kept heap[event]
	for _, e := range a.far {
		if e.key != key {
			kept.push(e)
		}
	}
	a.far = kept
	n := event{key: key}.number()
	for i := range a.list {
		for at := &a.list[i]; *at != 0; at = &a.next[*at] {
			if *at == n {
				a.unlink(Cycle(i), at)
				return
			}
		}
	}
}
