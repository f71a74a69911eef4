package host

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// A State is the state of a neighbour, as in RFC 4861 section 7.3.2 and in Linux.
type State uint8

// The states.
const (
	Incomplete State = iota + 1 // solicited, no answer yet
	Reachable                   // confirmed recently
	Stale                       // known, not confirmed recently
	Delay                       // stale, and a packet was sent to it
	Probe                       // probed by unicast
	Failed                      // did not answer
	Static                      // set by SetStatic
)

var stateNames = [...]string{"", "INCOMPLETE", "REACHABLE", "STALE", "DELAY", "PROBE", "FAILED", "STATIC"}

// String returns Linux's name of the state; STATIC is Linux's PERMANENT.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// known reports whether the neighbour has a MAC address in this state.
func (s State) known() bool { return s == Reachable || s == Stale || s == Delay || s == Probe }

// A Kind is the kind of an [Event].
type Kind uint8

// The kinds.
const (
	Resolved  Kind = iota + 1 // a neighbour has a MAC address, or a new one
	Forgotten                 // a resolved neighbour has no MAC address any more
	Duplicate                 // another host, with MAC, has one of the stack's addresses
)

// An Event is a change of a neighbour or an address.
type Event struct {
	Kind      Kind
	Interface string
	Addr      netip.Addr
	MAC       MAC
}

// A Neighbor is an entry of the neighbour table.
type Neighbor struct {
	Interface string
	Addr      netip.Addr
	MAC       MAC // zero if unknown
	State     State
	// Confirmed is the time of the last confirmation; zero if there was none.
	Confirmed time.Time
}

type neighKey struct {
	on   string
	addr netip.Addr
}

type neighbor struct {
	neighKey
	mac       MAC
	state     State
	confirmed time.Time // time of the last confirmation
	changed   time.Time // time of the last change of the MAC address
	tries     int
	due       time.Time
	waiting   []waiting
	gone      bool
}

// A waiting packet waits for the MAC address of a neighbour.
type waiting struct {
	packet []byte // IP packet; the stack's own is split when it is sent
	in     *iface // ingress interface; nil if the packet is the stack's own
	l2     MAC    // the frame's destination MAC address
}

// maxWaiting is the maximum number of packets that wait for a neighbour.
const maxWaiting = 3

// SetStatic sets the MAC address of a neighbour from another source, or removes it if mac is zero. The stack neither
// solicits nor ages the neighbour. Its own entry is dropped without an event.
func (s *Stack) SetStatic(now time.Time, on string, addr netip.Addr, mac MAC) {
	s.Advance(now)
	k := neighKey{on, addr}
	if mac == (MAC{}) {
		if _, was := s.static[k]; was {
			delete(s.static, k)
			if s.wanted[k] {
				s.ask(k)
			}
		}
		return
	}
	s.static[k] = mac
	if n := s.neighs[k]; n != nil {
		held := n.waiting
		n.waiting = nil
		s.remove(n)
		for _, w := range held {
			s.deliver(s.ifs[on], mac, &w)
		}
	}
}

// Want makes the stack solicit a neighbour until it answers, for as long as wanted is true because a route leads to it.
func (s *Stack) Want(now time.Time, on string, addr netip.Addr, wanted bool) {
	s.Advance(now)
	k := neighKey{on, addr}
	if !wanted {
		delete(s.wanted, k)
		return
	}
	s.wanted[k] = true
	s.ask(k)
}

// Restore adds a neighbour from an earlier run. It counts as known and is probed by unicast.
func (s *Stack) Restore(now time.Time, on string, addr netip.Addr, mac MAC) {
	s.Advance(now)
	k := neighKey{on, addr}
	n := s.neighs[k]
	if n != nil && n.state.known() || s.static[k] != (MAC{}) || !s.onLink(k) || !mac.isHost() {
		return
	}
	if n == nil {
		if n = s.create(k); n == nil {
			return
		}
	}
	n.mac, n.changed = mac, s.now
	s.probe(n)
}

// Neighbors returns the table of learned neighbours, sorted by interface and address.
func (s *Stack) Neighbors() []Neighbor {
	all := make([]Neighbor, 0, len(s.neighs))
	for _, n := range s.neighs {
		all = append(all, n.row())
	}
	slices.SortFunc(all, func(a, b Neighbor) int {
		if a.Interface != b.Interface {
			return compareText(a.Interface, b.Interface)
		}
		return a.Addr.Compare(b.Addr)
	})
	return all
}

// Neighbor returns a learned neighbour, false if there is none.
func (s *Stack) Neighbor(on string, addr netip.Addr) (Neighbor, bool) {
	n := s.neighs[neighKey{on, addr}]
	if n == nil {
		return Neighbor{}, false
	}
	return n.row(), true
}

func (n *neighbor) row() Neighbor {
	return Neighbor{Interface: n.on, Addr: n.addr, MAC: n.mac, State: n.state, Confirmed: n.confirmed}
}

// onLink reports whether a neighbour is possible: its interface is up and has a subnet with the address.
func (s *Stack) onLink(k neighKey) bool {
	x := s.ifs[k.on]
	if x == nil || !x.Up || x.MAC == (MAC{}) {
		return false
	}
	own := x.addrs[k.addr]
	return own == nil && x.subnet(k.addr) != nil
}

// subnet returns the interface's own address in the most specific subnet that contains ip, nil if there is none.
func (x *iface) subnet(ip netip.Addr) (best *address) {
	for _, a := range x.addrs {
		if !a.Contains(ip) || !host(ip, a.Prefix) {
			continue
		}
		if best == nil || a.Bits() > best.Bits() || a.Bits() == best.Bits() && a.Addr().Less(best.Addr()) {
			best = a
		}
	}
	return best
}

// dropStrangers removes the neighbours that are no longer possible.
func (s *Stack) dropStrangers() {
	for _, n := range sorted(s.neighs) {
		if !s.onLink(n.neighKey) {
			s.fail(n, false)
		}
	}
}

func sorted(neighs map[neighKey]*neighbor) []*neighbor {
	all := make([]*neighbor, 0, len(neighs))
	for _, n := range neighs {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b *neighbor) int { return compareKeys(a.neighKey, b.neighKey) })
	return all
}

func compareKeys(a, b neighKey) int {
	if a.on != b.on {
		return compareText(a.on, b.on)
	}
	return a.addr.Compare(b.addr)
}

// create adds a neighbour, and returns nil if the table is full. A failed neighbour is replaced.
func (s *Stack) create(k neighKey) *neighbor {
	if len(s.neighs) >= s.cfg.Limits.Neighbors && s.states[Failed] > 0 {
		var first *neighbor
		for _, n := range s.neighs {
			if n.state == Failed && (first == nil || compareKeys(n.neighKey, first.neighKey) < 0) {
				first = n
			}
		}
		s.remove(first)
	}
	if len(s.neighs) >= s.cfg.Limits.Neighbors {
		s.counts[DropNeighbors]++
		return nil
	}
	n := &neighbor{neighKey: k}
	s.neighs[k] = n
	s.states[n.state]++
	return n
}

// ask starts to resolve a neighbour, unless it is known or already being resolved. It returns nil if that is
// impossible.
func (s *Stack) ask(k neighKey) *neighbor {
	n := s.neighs[k]
	switch {
	case s.static[k] != (MAC{}) || !s.onLink(k):
		return nil
	case n != nil && n.state != Failed:
		return n
	case s.states[Incomplete] >= s.cfg.Limits.Asked:
		s.counts[DropNeighbors]++
		return nil
	case n == nil:
		if n = s.create(k); n == nil {
			return nil
		}
	}
	s.become(n, Incomplete)
	n.tries, n.mac = 0, MAC{}
	s.solicit(n)
	return n
}

func (s *Stack) become(n *neighbor, to State) {
	s.states[n.state]--
	s.states[to]++
	n.state = to
}

// solicit sends one more solicitation for a neighbour: by broadcast, or by unicast if it is known.
func (s *Stack) solicit(n *neighbor) {
	n.tries++
	x := s.ifs[n.on]
	s.wake(n, s.cfg.Timers.Retransmit)
	from := x.source(n.addr)
	if from == nil {
		return
	}
	to := n.mac
	if n.addr.Is4() {
		if n.state != Probe {
			to = broadcast
		}
		s.sendARP(x, arpRequest, to, from.Addr(), MAC{}, n.addr)
		return
	}
	dst := n.addr
	if n.state != Probe {
		to, dst = solicitedNodeMAC(n.addr), solicitedNode(n.addr)
	}
	s.sendSolicitation(x, n.addr, to, from.Addr(), dst)
}

// source returns the address from which the interface sends to a neighbour, nil if it has none yet. It is the one in
// the neighbour's subnet, or else for IPv6 the link-local one.
func (x *iface) source(to netip.Addr) *address {
	if a := x.subnet(to); a.usable() {
		return a
	}
	if to.Is4() {
		return nil
	}
	if a := x.addrs[EUI64(x.MAC)]; a.usable() {
		return a
	}
	return nil
}

func (s *Stack) wake(n *neighbor, after time.Duration) {
	n.due = s.now.Add(after)
	s.after(n.due, timer{neighbor: n})
}

func (s *Stack) probe(n *neighbor) {
	s.become(n, Probe)
	n.tries = 0
	s.solicit(n)
}

func (s *Stack) neighborDue(n *neighbor) {
	t := &s.cfg.Timers
	switch n.state {
	case Incomplete, Probe:
		if n.tries < t.Attempts {
			s.solicit(n)
			return
		}
		s.fail(n, true)
	case Reachable:
		s.stale(n)
	case Stale, Delay:
		s.probe(n)
	case Failed:
		s.remove(n)
		if s.wanted[n.neighKey] {
			s.ask(n.neighKey)
		}
	}
}

// stale makes a neighbour known but not confirmed recently.
func (s *Stack) stale(n *neighbor) {
	s.become(n, Stale)
	last := n.confirmed
	if n.changed.After(last) {
		last = n.changed
	}
	s.wake(n, max(0, last.Add(s.cfg.Timers.Refresh).Sub(s.now)))
}

func (s *Stack) confirm(n *neighbor) {
	s.become(n, Reachable)
	n.confirmed = s.now
	s.wake(n, min(s.cfg.Timers.Reachable, s.cfg.Timers.Refresh))
}

// received processes the MAC address that a neighbour has sent, in an answer to the stack (solicited) or unsolicited.
// It adds a neighbour only if create is true.
func (s *Stack) received(k neighKey, mac MAC, solicited, create bool) {
	n := s.neighs[k]
	if s.static[k] != (MAC{}) || !mac.isHost() || !s.onLink(k) || n == nil && !create {
		return
	}
	if n == nil {
		if n = s.create(k); n == nil {
			return
		}
	}
	was, knew := n.mac, n.state.known()
	if knew && was != mac && s.now.Sub(n.changed) < lockTime && !n.changed.IsZero() {
		s.counts[DropConfirmSoon]++ // two hosts answer: the first one counts
		return
	}
	n.mac = mac
	if !knew || was != mac {
		n.changed = s.now
		s.events = append(s.events, Event{Kind: Resolved, Interface: k.on, Addr: k.addr, MAC: mac})
	}
	switch {
	case solicited:
		s.confirm(n)
	case !knew || was != mac:
		n.confirmed = s.now
		s.stale(n)
	}
	s.flush(n)
}

// lockTime is how long a neighbour keeps a new MAC address (Linux's locktime), so that two hosts with one address do
// not change it with every message.
const lockTime = time.Second

// flush sends the packets that wait for a neighbour, which is known now.
func (s *Stack) flush(n *neighbor) {
	held := n.waiting
	n.waiting = nil
	for _, w := range held {
		s.deliver(s.ifs[n.on], n.mac, &w)
	}
}

// fail handles a neighbour that does not answer. If asked is false, it removes a neighbour that is no longer possible,
// without errors to senders.
func (s *Stack) fail(n *neighbor, asked bool) {
	held, knew, mac := n.waiting, n.state.known(), n.mac
	n.waiting = nil
	if knew {
		s.events = append(s.events, Event{Kind: Forgotten, Interface: n.on, Addr: n.addr, MAC: mac})
	}
	if !asked {
		s.counts[DropUnresolved] += uint64(len(held))
		for _, w := range held {
			if w.in == nil {
				s.undeliverable(w.packet, "interface "+n.on+" went down, or has no subnet with "+n.addr.String()+" any more")
			}
		}
		s.remove(n)
		return
	}
	s.become(n, Failed)
	n.mac = MAC{}
	s.wake(n, s.cfg.Timers.Failed)
	for _, w := range held {
		s.counts[DropUnresolved]++
		s.unreachable(&w, n)
	}
	if knew && s.wanted[n.neighKey] {
		s.ask(n.neighKey) // the neighbour may have another MAC address
	}
}

func (s *Stack) remove(n *neighbor) {
	s.states[n.state]--
	n.gone = true
	delete(s.neighs, n.neighKey)
}

// toNeighbor sends a packet to a neighbour, or queues it until the neighbour is known. It returns the reason if it
// drops the packet.
func (s *Stack) toNeighbor(k neighKey, w waiting) (why string) {
	if mac, ok := s.static[k]; ok {
		s.deliver(s.ifs[k.on], mac, &w)
		return ""
	}
	n := s.ask(k)
	switch {
	case n == nil:
		s.counts[DropNoRoute]++
		return fmt.Sprintf("neighbour %s at %s cannot be asked for: the neighbour table is full", k.addr, k.on)
	case n.state.known():
		if n.state == Stale {
			s.become(n, Delay)
			s.wake(n, s.cfg.Timers.Delay)
		}
		s.deliver(s.ifs[k.on], n.mac, &w)
	case len(n.waiting) >= maxWaiting:
		s.counts[DropQueue]++
		return fmt.Sprintf("%d packets wait for neighbour %s at %s already", maxWaiting, k.addr, k.on)
	default:
		s.counts[Waiting]++
		n.waiting = append(n.waiting, w)
	}
	return ""
}

func (s *Stack) deliver(x *iface, mac MAC, w *waiting) {
	packet := w.outgoing()
	etherType := uint16(etherIPv4)
	if packet[0]>>4 == 6 {
		etherType = etherIPv6
	}
	if x == nil {
		return
	}
	if w.in != nil {
		s.counts[Forwarded]++
	} else if len(packet) > x.MTU {
		for _, part := range s.split(packet, x.MTU) {
			s.send(x, mac, etherType, part)
		}
		return
	}
	s.send(x, mac, etherType, packet)
}
