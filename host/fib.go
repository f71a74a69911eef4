package host

import (
	"net/netip"
	"slices"
	"time"
)

// A Hop is a next hop: a neighbour at an interface. The zero Hop, alone in a route, is a blackhole.
type Hop struct {
	Interface string
	Addr      netip.Addr
}

type fib struct {
	routes  map[netip.Prefix][]Hop
	subnets map[netip.Prefix]string // interface by subnet, of interfaces that are up
	lengths [2][129]int             // number of prefixes of each length, IPv4 and IPv6
	up      map[string]bool
}

func newFIB() fib {
	return fib{routes: map[netip.Prefix][]Hop{}, subnets: map[netip.Prefix]string{}, up: map[string]bool{}}
}

func familyOf(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 0
	}
	return 1
}

// SetRoute sets the next hops of a prefix; without hops it removes the route. Subnets of interfaces need no route.
func (s *Stack) SetRoute(now time.Time, p netip.Prefix, hops []Hop) {
	s.Advance(now)
	p = p.Masked()
	if _, had := s.fib.routes[p]; had {
		s.fib.lengths[familyOf(p)][p.Bits()]--
		delete(s.fib.routes, p)
	}
	if len(hops) > 0 {
		s.fib.lengths[familyOf(p)][p.Bits()]++
		s.fib.routes[p] = slices.Clone(hops)
	}
}

// connect replaces the subnets with those of the interfaces.
func (t *fib) connect(ifs map[string]*iface) {
	for p := range t.subnets {
		t.lengths[familyOf(p)][p.Bits()]--
	}
	clear(t.subnets)
	clear(t.up)
	for name, x := range ifs {
		if !x.Up || x.MAC == (MAC{}) {
			continue
		}
		t.up[name] = true
		for _, a := range x.addrs {
			p := a.Masked()
			if p.Addr().IsLinkLocalUnicast() {
				continue
			}
			old, taken := t.subnets[p]
			if !taken {
				t.lengths[familyOf(p)][p.Bits()]++
			}
			if !taken || name < old {
				t.subnets[p] = name
			}
		}
	}
}

// lookup returns the next hop of an address by the longest prefix that has a usable hop.
func (t *fib) lookup(ip netip.Addr) (Hop, bool) {
	f := familyOf(netip.PrefixFrom(ip, 0))
	for bits := ip.BitLen(); bits >= 0; bits-- {
		if t.lengths[f][bits] == 0 {
			continue
		}
		p, _ := ip.Prefix(bits)
		if name, ok := t.subnets[p]; ok {
			return Hop{name, ip}, true
		}
		for _, h := range t.routes[p] {
			if h == (Hop{}) {
				return h, false
			}
			if !t.up[h.Interface] {
				continue
			}
			if !h.Addr.IsValid() || h.Addr.IsUnspecified() { // the destination is on the interface's link
				h.Addr = ip
			}
			return h, true
		}
	}
	return Hop{}, false
}

// subnet returns the interface whose subnet contains an address, and that subnet.
func (t *fib) subnet(ip netip.Addr) (name string, p netip.Prefix, ok bool) {
	f := familyOf(netip.PrefixFrom(ip, 0))
	for bits := ip.BitLen(); bits >= 0; bits-- {
		if t.lengths[f][bits] == 0 {
			continue
		}
		p, _ = ip.Prefix(bits)
		if name, ok = t.subnets[p]; ok {
			return name, p, true
		}
	}
	return "", netip.Prefix{}, false
}
