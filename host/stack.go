package host

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// A MAC is an Ethernet address.
type MAC [6]byte

// String returns the address as six hexadecimal bytes with colons.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

func (m MAC) isGroup() bool { return m[0]&1 != 0 }

func (m MAC) isHost() bool { return !m.isGroup() && m != MAC{} }

var broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// Timers are the intervals and timeouts of the stack.
type Timers struct {
	// Retransmit is the time between attempts to reach a neighbour (RFC 4861's RETRANS_TIMER), Attempts their number
	// (MAX_MULTICAST_SOLICIT and MAX_UNICAST_SOLICIT).
	Retransmit time.Duration
	Attempts   int
	// Reachable is how long a confirmation counts (REACHABLE_TIME). Delay is the time that a STALE neighbour has to
	// confirm itself after a packet was sent to it, before it is probed (DELAY_FIRST_PROBE_TIME).
	Reachable, Delay time.Duration
	// Refresh is the time after its last confirmation at which a neighbour is probed although the stack itself sends it
	// nothing.
	Refresh time.Duration
	// Failed is how long a failed neighbour is not solicited again, except for a new packet.
	Failed time.Duration
}

// Limits bound the state and the errors of the stack.
type Limits struct {
	Neighbors int // maximum number of neighbours in the table
	Asked     int // maximum number of neighbours that have not answered yet
	// ErrorRate is the long-term limit of errors per second, ErrorBurst the maximum burst.
	ErrorRate, ErrorBurst int
}

// Config configures a stack.
type Config struct {
	Timers Timers
	Limits Limits
}

// DefaultConfig returns the times of RFC 4861, section 10, Linux's limit of ICMP errors, and a refresh of silent
// neighbours every five minutes, as in SONiC's arp_update.
func DefaultConfig() Config {
	return Config{
		Timers: Timers{
			Retransmit: time.Second, Attempts: 3, Reachable: 30 * time.Second, Delay: 5 * time.Second,
			Refresh: 5 * time.Minute, Failed: 5 * time.Second,
		},
		Limits: Limits{Neighbors: 16384, Asked: 1024, ErrorRate: 1000, ErrorBurst: 50},
	}
}

// An Interface is a router interface. One without a MAC address is a loopback: its addresses are the stack's at all
// interfaces, and it neither receives nor sends frames.
type Interface struct {
	Name  string
	MAC   MAC
	Also  MAC // MAC address of the router, if frames may be sent to it, too; zero means none
	MTU   int // maximum length of IP packets, in bytes
	Up    bool
	Addrs []netip.Prefix // addresses with the length of their subnet; link-local ones are optional
	// LinkLocal enables IPv6 without a configured address.
	LinkLocal bool
}

// A Frame is an outgoing Ethernet frame, without VLAN tag and FCS.
type Frame struct {
	Interface string
	Data      []byte
}

// A Stack is the switch as a host. It is used by one goroutine at a time.
type Stack struct {
	sender
	ifs    map[string]*iface
	own    map[netip.Addr]*address // addresses of all interfaces that are up, except link-local ones
	neighs map[neighKey]*neighbor
	states [Static + 1]int // number of neighbours by state
	static map[neighKey]MAC
	wanted map[neighKey]bool
	fib    fib
	tokens bucket

	datagrams map[datagramKey]*datagram // incomplete packets
	fragments uint32                    // number of fragmented IPv6 packets

	hears bool      // true if messages are kept
	heard []Message // messages for Messages
}

// A sender holds the shared state of a stack: time, timers, output, events and counters.
type sender struct {
	cfg    Config
	now    time.Time
	timers timers
	order  uint64
	ident  uint16 // identification of the next IPv4 packet
	out    []Frame
	events []Event
	counts [numCounters]uint64
}

type iface struct {
	Interface
	addrs map[netip.Addr]*address
}

func (x *iface) mine(dst MAC) bool { return dst == x.MAC || dst == x.Also && dst != (MAC{}) }

type address struct {
	netip.Prefix
	on        *iface
	tentative bool // true while duplicate address detection is running
	duplicate bool // true if another host has the address: it is not used
	announces int  // number of remaining announcements
	due       time.Time
	defended  time.Time // time of the last defence
	gone      bool
}

// usable reports whether the stack may use the address.
func (a *address) usable() bool { return a != nil && !a.tentative && !a.duplicate && a.on.Up }

// New returns a stack without interfaces.
func New(cfg Config) *Stack {
	return &Stack{
		sender: sender{cfg: cfg}, ifs: map[string]*iface{}, own: map[netip.Addr]*address{}, neighs: map[neighKey]*neighbor{},
		datagrams: map[datagramKey]*datagram{},
		static:    map[neighKey]MAC{}, wanted: map[neighKey]bool{}, fib: newFIB(),
		tokens: bucket{rate: cfg.Limits.ErrorRate, burst: cfg.Limits.ErrorBurst, left: float64(cfg.Limits.ErrorBurst)},
	}
}

// Configure replaces the interfaces at a time. New addresses are announced or checked for duplicates. Neighbours are
// removed if their interface is gone or down, or if none of its subnets contains them any more.
func (s *Stack) Configure(now time.Time, all []Interface) {
	s.Advance(now)
	next := map[string]*iface{}
	for _, i := range all {
		i.Addrs = slices.Clone(i.Addrs)
		x := s.ifs[i.Name]
		if x == nil {
			x = &iface{addrs: map[netip.Addr]*address{}}
		}
		s.set(x, i)
		next[i.Name] = x
	}
	for name, x := range s.ifs {
		if next[name] == nil {
			x.Up = false
			for _, a := range x.addrs {
				a.gone = true
			}
		}
	}
	s.ifs = next
	clear(s.own)
	for _, x := range s.ifs {
		for ip, a := range x.addrs {
			if x.Up && !ip.IsLinkLocalUnicast() {
				s.own[ip] = a
			}
		}
	}
	s.fib.connect(s.ifs)
	s.dropStrangers()
	for _, k := range slices.SortedFunc(maps.Keys(s.wanted), compareKeys) {
		s.ask(k)
	}
}

func (s *Stack) set(x *iface, i Interface) {
	fresh := x.MAC != i.MAC || i.Up && !x.Up // all addresses are announced again
	x.Interface = i
	want := map[netip.Addr]netip.Prefix{}
	for _, p := range i.Addrs {
		want[p.Addr()] = p
	}
	if ll := linkLocal(i); ll.IsValid() {
		if _, set := want[ll.Addr()]; !set {
			want[ll.Addr()] = ll
		}
	}
	for ip, a := range x.addrs {
		if want[ip] != a.Prefix || fresh {
			a.gone = true
			delete(x.addrs, ip)
		}
	}
	for _, ip := range slices.SortedFunc(maps.Keys(want), netip.Addr.Compare) { // in a fixed order
		if x.addrs[ip] == nil {
			a := &address{Prefix: want[ip], on: x}
			x.addrs[ip] = a
			if x.Up && x.MAC != (MAC{}) {
				s.begin(a)
			}
		}
	}
}

// linkLocal returns the link-local address of an interface, invalid if it has no IPv6.
func linkLocal(i Interface) netip.Prefix {
	v6 := i.LinkLocal || slices.ContainsFunc(i.Addrs, func(p netip.Prefix) bool { return p.Addr().Is6() })
	if !v6 || i.MAC == (MAC{}) {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(EUI64(i.MAC), 64)
}

// EUI64 returns the link-local address of a MAC address, RFC 4291 appendix A.
func EUI64(m MAC) netip.Addr {
	return netip.AddrFrom16([16]byte{
		0: 0xfe, 1: 0x80, 8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5],
	})
}

// Constants of RFC 5227 and RFC 4862.
const (
	announceNumber   = 2
	announceInterval = 2 * time.Second
	defendInterval   = 10 * time.Second
)

// begin starts the use of an address: IPv4 is announced at once, IPv6 is first checked for duplicates.
func (s *sender) begin(a *address) {
	if a.Addr().Is4() {
		a.announces = announceNumber
		s.announce(a)
		return
	}
	a.tentative = true
	s.sendSolicitation(a.on, a.Addr(), solicitedNodeMAC(a.Addr()), netip.IPv6Unspecified(), solicitedNode(a.Addr()))
	a.due = s.now.Add(s.cfg.Timers.Retransmit)
	s.after(a.due, timer{address: a})
}

func (s *sender) announce(a *address) {
	a.announces--
	if a.Addr().Is4() {
		s.sendARP(a.on, arpRequest, broadcast, a.Addr(), MAC{}, a.Addr())
	} else {
		s.sendAdvertisement(a.on, allNodesMAC, a.Addr(), allNodes, a.Addr(), false)
	}
	if a.due = (time.Time{}); a.announces > 0 {
		a.due = s.now.Add(announceInterval)
		s.after(a.due, timer{address: a})
	}
}

func (s *sender) addressDue(a *address) {
	if a.tentative { // no host has objected
		a.tentative = false
		a.announces = 1
	}
	s.announce(a)
}

// conflict handles a message of another host that has one of the stack's addresses.
func (s *sender) conflict(a *address, mac MAC) {
	s.counts[Conflicts]++
	if a.tentative {
		a.tentative, a.duplicate, a.due = false, true, time.Time{}
	} else if !a.duplicate && (a.defended.IsZero() || s.now.Sub(a.defended) >= defendInterval) {
		a.defended = s.now
		a.announces = 1
		s.announce(a)
	}
	s.events = append(s.events, Event{Kind: Duplicate, Interface: a.on.Name, Addr: a.Addr(), MAC: mac})
}

// Retry makes a stack check again an address that was a duplicate.
func Retry(s *Stack, now time.Time, on string, addr netip.Addr) {
	s.Advance(now)
	if x := s.ifs[on]; x != nil && x.Up {
		if a := x.addrs[addr]; a != nil && a.duplicate {
			a.duplicate = false
			s.begin(a)
		}
	}
}

// DuplicateProbe returns a frame that probes whether a host has an address: as in RFC 5227 for IPv4, as in RFC 4862 for
// IPv6.
func DuplicateProbe(from MAC, addr netip.Addr) []byte {
	x, s := &iface{Interface: Interface{MAC: from, Up: true}}, &sender{}
	if addr.Is4() {
		s.sendARP(x, arpRequest, broadcast, netip.IPv4Unspecified(), MAC{}, addr)
	} else {
		s.sendSolicitation(x, addr, solicitedNodeMAC(addr), netip.IPv6Unspecified(), solicitedNode(addr))
	}
	return s.out[0].Data
}

// An AddressState is the state of one of the stack's own addresses.
type AddressState struct {
	Interface string
	Prefix    netip.Prefix
	MAC       MAC  // MAC address of the interface; zero for a loopback
	Tentative bool // true while duplicate address detection is running
	Duplicate bool // true if another host has the address: it is not used
}

// Addresses returns the stack's own addresses, sorted.
func (s *Stack) Addresses() []AddressState {
	var all []AddressState
	for name, x := range s.ifs {
		for _, a := range x.addrs {
			all = append(all, AddressState{name, a.Prefix, x.MAC, a.tentative, a.duplicate})
		}
	}
	slices.SortFunc(all, func(a, b AddressState) int {
		if a.Interface != b.Interface {
			return compareText(a.Interface, b.Interface)
		}
		return a.Prefix.Addr().Compare(b.Prefix.Addr())
	})
	return all
}

// Advance runs all timers up to and including a time.
func (s *Stack) Advance(now time.Time) {
	for len(s.timers) > 0 && !s.timers[0].at.After(now) {
		t := heap.Pop(&s.timers).(timer)
		if !t.stands() {
			continue
		}
		if t.at.After(s.now) {
			s.now = t.at
		}
		if t.address != nil {
			s.addressDue(t.address)
		} else {
			s.neighborDue(t.neighbor)
		}
	}
	if now.After(s.now) {
		s.now = now
	}
}

// Resume reports that the stack could neither send nor receive since the last time that it was given: all timers are
// delayed by that duration.
func (s *Stack) Resume(now time.Time) {
	d := now.Sub(s.now)
	if d <= 0 {
		return
	}
	s.now = now
	var later timers
	for _, t := range s.timers {
		if t.stands() {
			later = append(later, t)
		}
	}
	for i := range later {
		t := &later[i]
		if t.at = t.at.Add(d); t.address != nil {
			t.address.due = t.at
		} else {
			t.neighbor.due = t.at
		}
	}
	s.timers = later
	heap.Init(&s.timers)
}

// Next returns the time of the next timer, false if there is none.
func (s *Stack) Next() (time.Time, bool) {
	for len(s.timers) > 0 && !s.timers[0].stands() {
		heap.Pop(&s.timers)
	}
	if len(s.timers) == 0 {
		return time.Time{}, false
	}
	return s.timers[0].at, true
}

// A timer is for an address or a neighbour. It is valid only as long as that address or neighbour waits for the timer's
// time.
type timer struct {
	at       time.Time
	order    uint64
	address  *address
	neighbor *neighbor
}

func (t *timer) stands() bool {
	if t.address != nil {
		return !t.address.gone && t.address.due.Equal(t.at)
	}
	return !t.neighbor.gone && t.neighbor.due.Equal(t.at)
}

func (s *sender) after(at time.Time, t timer) {
	s.order++
	t.at, t.order = at, s.order
	heap.Push(&s.timers, t)
}

// timers is a heap, by time and then in the order of insertion.
type timers []timer

func (h timers) Len() int { return len(h) }
func (h timers) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].order < h[j].order
}
func (h timers) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *timers) Push(x any) { *h = append(*h, x.(timer)) }

// Pop implements heap.Interface.
func (h *timers) Pop() any {
	old := *h
	n := len(old) - 1
	t := old[n]
	old[n] = timer{}
	*h = old[:n]
	return t
}

// Frames returns the frames to send, and clears them.
func (s *sender) Frames() []Frame {
	out := s.out
	s.out = nil
	return out
}

// Events returns the events, and clears them.
func (s *sender) Events() []Event {
	e := s.events
	s.events = nil
	return e
}

// Receive processes a frame that came in at an interface, without VLAN tag and FCS. undelivered means that the chip
// could not forward it, due to the neighbour, MTU or TTL, and that it is the only copy. The data is only read, during
// the call.
func (s *Stack) Receive(now time.Time, at string, undelivered bool, data []byte) {
	s.Advance(now)
	s.counts[Received]++
	x := s.ifs[at]
	switch {
	case x == nil || !x.Up || x.MAC == MAC{}:
		s.counts[DropInterface]++
	case len(data) < ethHeader:
		s.counts[DropShort]++
	default:
		f := received{in: x, dst: MAC(data[:6]), src: MAC(data[6:12]), undelivered: undelivered}
		s.receive(&f, binary.BigEndian.Uint16(data[12:]), data[ethHeader:])
	}
}

// A received frame, as far as it is parsed.
type received struct {
	in          *iface
	dst, src    MAC
	undelivered bool
}

func (s *Stack) receive(f *received, etherType uint16, b []byte) {
	switch etherType {
	case etherARP:
		s.receiveARP(f, b)
	case etherIPv4, etherIPv6:
		p, why, ok := parseIP(b, etherType == etherIPv4)
		if !ok {
			s.counts[why]++
			return
		}
		s.receiveIP(f, &p)
	default:
		s.counts[DropEtherType]++
	}
}

func (s *sender) send(x *iface, dst MAC, etherType uint16, payload []byte) {
	if !x.Up {
		return
	}
	b := make([]byte, 0, max(ethHeader+len(payload), 60))
	b = append(append(b, dst[:]...), x.MAC[:]...)
	b = append(binary.BigEndian.AppendUint16(b, etherType), payload...)
	for len(b) < 60 {
		b = append(b, 0)
	}
	s.out = append(s.out, Frame{x.Name, b})
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
