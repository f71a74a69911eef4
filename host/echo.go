package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// An Echo is an echo request that the host sends.
type Echo struct {
	// From is the source, an address of the host.
	From, To netip.Addr
	// Interface is the interface of a link-local To. It is empty for other addresses.
	Interface       string
	TTL             byte // TTL or hop limit
	Ident, Sequence uint16
	Payload         []byte
}

// A Message is an ICMP or ICMPv6 message that may answer an echo request of the host: an echo reply or an error.
type Message struct {
	From, To netip.Addr
	TTL      byte   // TTL or hop limit with which it arrived
	Data     []byte // the message, with a valid checksum
	// Cause is the cause of an error that the host itself has found, such as a neighbour that does not answer. It is
	// empty for a message that has arrived.
	Cause string
}

// maxHeard is the maximum number of messages that wait for a call of Messages.
const maxHeard = 256

// Hear makes the stack keep messages for [Stack.Messages], or drop them.
func (s *Stack) Hear(on bool) { s.hears, s.heard = on, nil }

// Messages returns the messages since the last call. The stack keeps at most 256, and counts the others as dropped.
func (s *Stack) Messages() []Message {
	m := s.heard
	s.heard = nil
	return m
}

// keep keeps a message for Messages.
func (s *Stack) keep(m Message) {
	if !s.hears || len(s.heard) >= maxHeard {
		s.counts[DropICMP]++
		return
	}
	s.counts[Answers]++
	m.Data = clone(m.Data)
	s.heard = append(s.heard, m)
}

// answers reports whether ICMP of a type, in IPv4 or IPv6, may answer an echo request.
func answers(v4 bool, kind byte) bool {
	if v4 {
		return slices.Contains([]byte{typeEchoReply, hostUnreachable.type4, timeExceeded.type4, typeParameter}, kind)
	}
	return kind == typeEchoReply6 || kind >= 1 && kind <= typeParameter6
}

// typeParameter and typeParameter6 are the types of parameter problems.
const (
	typeParameter  = 12
	typeParameter6 = 4
)

// EchoSource returns the address from which the host sends to another one. from selects it, if it is valid; on is the
// interface of a link-local to. The error names what is missing: a route, an address, or an interface that is up.
func (s *Stack) EchoSource(now time.Time, from, to netip.Addr, on string) (netip.Addr, error) {
	s.Advance(now)
	if s.ownAddress(to, on).usable() {
		if !from.IsValid() {
			return to, nil
		}
		return from, s.mayBeSource(from, on)
	}
	hop, err := s.hopTo(to, on)
	if err != nil {
		return netip.Addr{}, err
	}
	if from.IsValid() {
		return from, s.mayBeSource(from, hop.Interface)
	}
	best := s.sourceAt(s.ifs[hop.Interface], hop.Addr, to.IsLinkLocalUnicast())
	if !best.IsValid() {
		return best, fmt.Errorf("the switch has no usable address to send from to %s: give %s one", to, hop.Interface)
	}
	return best, nil
}

// sourceAt returns the address from which packets leave by an interface to a next hop: one in its subnet, else another
// one of the interface, else one of another interface, such as a loopback.
func (s *Stack) sourceAt(x *iface, hop netip.Addr, local bool) (best netip.Addr) {
	if a := x.subnet(hop); a.usable() && (local || !a.Addr().IsLinkLocalUnicast()) {
		return a.Addr()
	}
	pick := func(all map[netip.Addr]*address) {
		for ip, a := range all {
			if a.usable() && ip.Is4() == hop.Is4() && ip.IsLinkLocalUnicast() == local && (!best.IsValid() || ip.Less(best)) {
				best = ip
			}
		}
	}
	if pick(x.addrs); !best.IsValid() && !local {
		pick(s.own)
	}
	return best
}

// mayBeSource returns an error unless packets that leave by an interface may have the address as their source.
func (s *Stack) mayBeSource(from netip.Addr, on string) error {
	a := s.ownAddress(from, on)
	switch {
	case a == nil:
		var all []string
		for _, ip := range slices.SortedFunc(maps.Keys(s.own), netip.Addr.Compare) {
			if ip.Is4() == from.Is4() {
				all = append(all, ip.String())
			}
		}
		return fmt.Errorf("source %s is no address of the switch: there are %s", from, orNone(all))
	case a.tentative:
		return fmt.Errorf("source %s is not usable yet: it is being checked for duplicates", from)
	case a.duplicate:
		return fmt.Errorf("source %s is not usable: another host has it too", from)
	case !a.usable():
		return fmt.Errorf("source %s is not usable: %s is down", from, a.on.Name)
	}
	return nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// ownAddress returns the host's address ip, nil if there is none. on is the interface of a link-local one.
func (s *Stack) ownAddress(ip netip.Addr, on string) *address {
	if a := s.own[ip]; a != nil {
		return a
	}
	if x := s.ifs[on]; x != nil {
		return x.addrs[ip]
	}
	return nil
}

// hopTo returns the next hop to an address.
func (s *Stack) hopTo(to netip.Addr, on string) (Hop, error) {
	if !single(to) || s.fib.isBroadcast(to) {
		return Hop{}, fmt.Errorf("%s is not the address of a single host", to)
	}
	if to.IsLinkLocalUnicast() && to.Is6() {
		switch x := s.ifs[on]; {
		case on == "":
			return Hop{}, fmt.Errorf("%s is link-local: name its interface", to)
		case x == nil || x.MAC == (MAC{}):
			return Hop{}, fmt.Errorf("%s is no router interface: there are %s", on, orNone(s.routerInterfaces()))
		case !x.Up:
			return Hop{}, fmt.Errorf("interface %s is down", on)
		}
		return Hop{on, to}, nil
	}
	if hop, ok := s.fib.lookup(to); ok {
		if k := (neighKey{hop.Interface, hop.Addr}); s.static[k] == (MAC{}) && !s.onLink(k) {
			return hop, fmt.Errorf("the next hop %s to %s is in no subnet of %s", hop.Addr, to, hop.Interface)
		}
		return hop, nil
	}
	for _, name := range s.routerInterfaces() {
		if x := s.ifs[name]; !x.Up && slices.ContainsFunc(x.Addrs, func(p netip.Prefix) bool { return p.Contains(to) }) {
			return Hop{}, fmt.Errorf("no route to %s: %s, whose subnet has it, is down", to, name)
		}
	}
	return Hop{}, fmt.Errorf("no route to %s", to)
}

// routerInterfaces returns the names of the interfaces that send frames, sorted.
func (s *Stack) routerInterfaces() []string {
	var names []string
	for name, x := range s.ifs {
		if x.MAC != (MAC{}) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// SendEcho sends an echo request. An error names the cause for which it was not sent.
func (s *Stack) SendEcho(now time.Time, e Echo) error {
	s.Advance(now)
	b := make([]byte, 8, 8+len(e.Payload))
	binary.BigEndian.PutUint16(b[4:], e.Ident)
	binary.BigEndian.PutUint16(b[6:], e.Sequence)
	b = append(b, e.Payload...)
	if s.ownAddress(e.To, e.Interface).usable() {
		s.echoSelf(e, b)
		return nil
	}
	hop, err := s.hopTo(e.To, e.Interface)
	if err != nil {
		return err
	}
	if err := s.mayBeSource(e.From, hop.Interface); err != nil {
		return err
	}
	var packet []byte
	if e.To.Is4() {
		b[0] = typeEchoRequest
		binary.BigEndian.PutUint16(b[2:], ^fold(sum(0, b)))
		packet = s.buildIPv4(e.From, e.To, 0, b)
		packet[8] = e.TTL
		fixIPv4(packet)
	} else {
		b[0] = typeEchoRequest6
		packet = buildIPv6(e.From, e.To, e.TTL, b)
	}
	if why := s.toNeighbor(neighKey{hop.Interface, hop.Addr}, waiting{packet: packet}); why != "" {
		return errors.New(why)
	}
	s.counts[SentEchoRequests]++
	return nil
}

// echoSelf answers an echo request to the host's own address, as if it had arrived.
func (s *Stack) echoSelf(e Echo, b []byte) {
	if b[0] = typeEchoReply; e.To.Is6() {
		b[0] = typeEchoReply6
		binary.BigEndian.PutUint16(b[2:], sum6(e.To.As16(), e.From.As16(), protoICMPv6, b))
	} else {
		binary.BigEndian.PutUint16(b[2:], ^fold(sum(0, b)))
	}
	s.counts[SentEchoRequests]++
	s.keep(Message{From: e.To, To: e.From, TTL: ttl, Data: b})
}

// undeliverable keeps a message for a packet of the host's own that its neighbour did not receive: the error that a
// router would have sent, with its cause.
func (s *Stack) undeliverable(packet []byte, cause string) {
	p, _, ok := parseIP(packet, packet[0]>>4 == 4)
	if !ok || p.v4 && p.proto != protoICMP || !p.v4 && p.proto != protoICMPv6 {
		return
	}
	e := hostUnreachable
	b := []byte{e.type4, e.code4, 0, 0, 0, 0, 0, 0}
	if !p.v4 {
		b[0], b[1] = e.type6, e.code6
	}
	b = append(b, packet[:min(len(packet), maxError4-28)]...)
	if p.v4 {
		binary.BigEndian.PutUint16(b[2:], ^fold(sum(0, b)))
	} else {
		binary.BigEndian.PutUint16(b[2:], sum6(p.src.As16(), p.src.As16(), protoICMPv6, b))
	}
	s.keep(Message{From: p.src, To: p.src, TTL: ttl, Data: b, Cause: cause})
}

// EchoHint returns why the host may not reach an address at present, "" if it knows no reason.
func (s *Stack) EchoHint(to netip.Addr, on string) string {
	hop, err := s.hopTo(to, on)
	if err != nil {
		return ""
	}
	n := s.neighs[neighKey{hop.Interface, hop.Addr}]
	if n == nil || n.state != Incomplete && n.state != Failed {
		return ""
	}
	return fmt.Sprintf("neighbour %s at %s has not answered %s", n.addr, n.on, solicitedBy(n.addr))
}
