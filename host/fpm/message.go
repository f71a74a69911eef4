package fpm

import (
	"fmt"
	"iter"
	"net/netip"
)

// A Message is one message of zebra, about a route or a next hop. Both are nil for messages about anything else.
type Message struct {
	Route   *Route
	NextHop *NextHop
}

// Types of routes, as in rtnetlink(7).
const (
	Unicast     = 1
	Blackhole   = 6
	Unreachable = 7 // drops, and sends an ICMP error
	Prohibit    = 8 // like Unreachable
)

// A Route is added, replaced or, with Gone, deleted.
type Route struct {
	Gone     bool
	Dest     netip.Prefix // bits after its length are zero
	Table    uint32       // routing table of the kernel; 254 is that of the default VRF
	Protocol uint8        // RTPROT_ number of its protocol
	Type     uint8        // Unicast, ...
	Group    uint32       // ID of the next hop, instead of Hops; 0 if there is none
	Hops     []Hop
	Raw      []byte // the message as received, valid as long as the frame
}

// A Hop is a next hop: an address on the link of an interface, or the link itself.
type Hop struct {
	Gateway netip.Addr // invalid if the destination is on the link
	Index   uint32     // index of the interface; 0 if there is none
	Weight  uint16     // 1 to 256
	Encap   bool       // true if packets would have to be encapsulated or labelled
}

// A NextHop is a next hop to which routes refer by its ID, or a group of those.
type NextHop struct {
	Gone      bool
	ID        uint32
	Blackhole bool
	Hop       Hop      // the next hop, if it is not a group
	Members   []Member // the members, if it is a group
}

// A Member of a group of next hops.
type Member struct {
	ID     uint32
	Weight uint16 // 1 to 256
}

// MostHops is the maximum number of next hops of a route or a group, as in SONiC: more than zebra supports.
const MostHops = 514

// Numbers of netlink's messages and attributes.
const (
	newRoute, delRoute     = 24, 25
	newNextHop, delNextHop = 104, 105

	familyIPv4, familyIPv6 = 2, 10

	rtaDst, rtaOIF, rtaGateway, rtaMultipath, rtaTable = 1, 4, 5, 9, 15
	rtaVia, rtaEncapType, rtaEncap, rtaNHID            = 18, 21, 22, 30

	nhaID, nhaGroup, nhaBlackhole, nhaOIF, nhaGateway, nhaEncapType, nhaEncap = 1, 2, 4, 5, 6, 7, 8
)

// Parse iterates over the messages of a frame. An unreadable message is skipped, with an error that contains the
// reason. If its end is unknown, the iteration ends with it.
func Parse(frame []byte) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for len(frame) > 0 {
			kind, body, rest, err := nextMessage(frame)
			if err != nil {
				yield(Message{}, err)
				return
			}
			m, err := parse(kind, body)
			if m.Route != nil {
				m.Route.Raw = frame[:messageHead+len(body)]
			}
			frame = rest
			if !yield(m, err) {
				return
			}
		}
	}
}

func parse(kind uint16, body []byte) (m Message, err error) {
	switch kind {
	case newRoute, delRoute:
		m.Route, err = parseRoute(body)
		if m.Route != nil {
			m.Route.Gone = kind == delRoute
		}
	case newNextHop, delNextHop:
		m.NextHop, err = parseNextHop(body)
		if m.NextHop != nil {
			m.NextHop.Gone = kind == delNextHop
		}
	}
	return m, err
}

// parseRoute reads a struct rtmsg and its attributes. It returns nil for families other than IPv4 and IPv6.
func parseRoute(b []byte) (*Route, error) {
	const head = 12
	if len(b) < head {
		return nil, fmt.Errorf("a message of a route of %d bytes, want %d or more", len(b), head)
	}
	family, bits := b[0], int(b[1])
	if family != familyIPv4 && family != familyIPv6 {
		return nil, nil
	}
	r := &Route{Table: uint32(b[4]), Protocol: b[5], Type: b[7]}
	dest := unspecified(family)
	var one Hop
	one.Weight = 1
	single := false
	err := attributes(b[head:], func(kind uint16, v []byte) (err error) {
		switch kind {
		case rtaDst:
			dest, err = address("destination", family, v)
		case rtaTable:
			r.Table, err = number("table", v)
		case rtaNHID:
			r.Group, err = number("next hop", v)
		case rtaOIF:
			single = true
			one.Index, err = number("interface", v)
		case rtaMultipath:
			r.Hops, err = multipath(v, family)
		default:
			single = single || kind == rtaGateway || kind == rtaVia
			err = one.attribute(kind, v, family)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if bits > dest.BitLen() {
		return nil, fmt.Errorf("a prefix of %d bits of %s, want at most %d", bits, dest, dest.BitLen())
	}
	r.Dest = netip.PrefixFrom(dest, bits).Masked()
	if single && r.Hops == nil {
		r.Hops = []Hop{one}
	}
	return r, nil
}

// attribute reads an attribute of a next hop of a route.
func (h *Hop) attribute(kind uint16, v []byte, family uint8) (err error) {
	switch kind {
	case rtaGateway:
		h.Gateway, err = address("gateway", family, v)
	case rtaVia:
		h.Gateway, err = via(v)
	case rtaEncap, rtaEncapType:
		h.Encap = true
	}
	return err
}

// multipath reads a list of struct rtnexthop, each with attributes.
func multipath(b []byte, family uint8) (hops []Hop, err error) {
	const head = 8
	for len(b) > 0 {
		if len(hops) == MostHops {
			return nil, fmt.Errorf("a route of more than %d next hops", MostHops)
		}
		if len(b) < head {
			return nil, fmt.Errorf("%d bytes behind the last next hop, want %d or more", len(b), head)
		}
		n := int(native.Uint16(b))
		if n < head || n > len(b) {
			return nil, fmt.Errorf("a next hop of %d bytes, want %d to %d", n, head, len(b))
		}
		h := Hop{Index: native.Uint32(b[4:]), Weight: uint16(b[3]) + 1}
		err := attributes(b[head:n], func(kind uint16, v []byte) error { return h.attribute(kind, v, family) })
		if err != nil {
			return nil, err
		}
		hops = append(hops, h)
		b = b[min(aligned(n), len(b)):]
	}
	return hops, nil
}

// parseNextHop reads a struct nhmsg and its attributes.
func parseNextHop(b []byte) (*NextHop, error) {
	const head = 8
	if len(b) < head {
		return nil, fmt.Errorf("a message of a next hop of %d bytes, want %d or more", len(b), head)
	}
	family := b[0]
	n := &NextHop{Hop: Hop{Weight: 1}}
	err := attributes(b[head:], func(kind uint16, v []byte) (err error) {
		switch kind {
		case nhaID:
			n.ID, err = number("ID of a next hop", v)
		case nhaGroup:
			n.Members, err = members(v)
		case nhaBlackhole:
			n.Blackhole = true
		case nhaOIF:
			n.Hop.Index, err = number("interface", v)
		case nhaGateway:
			n.Hop.Gateway, err = address("gateway", family, v)
		case nhaEncap, nhaEncapType:
			n.Hop.Encap = true
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case n.ID == 0:
		return nil, fmt.Errorf("a next hop without ID")
	}
	return n, nil
}

// members reads a list of struct nexthop_grp.
func members(b []byte) ([]Member, error) {
	const each = 8
	if len(b)%each != 0 || len(b) == 0 || len(b)/each > MostHops {
		return nil, fmt.Errorf("a group of %d bytes, want 1 to %d times %d", len(b), MostHops, each)
	}
	list := make([]Member, 0, len(b)/each)
	for ; len(b) > 0; b = b[each:] {
		list = append(list, Member{ID: native.Uint32(b), Weight: uint16(b[4]) + 1})
	}
	return list, nil
}
