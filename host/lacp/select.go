package lacp

import (
	"cmp"
	"maps"
	"slices"
)

// ready reports whether all waiting ports have waited long enough: then they are attached together.
func (g *aggregate) ready() bool {
	return !slices.ContainsFunc(g.ports, func(p *port) bool {
		return p.mux == MuxWaiting && p.selected && !p.waitUntil.IsZero()
	})
}

// fits reports whether a port can be in an aggregation with the partner it has.
func (p *port) fits() bool {
	return p.enabled() && p.receiver >= ReceiverCurrent && p.partner.System != p.of.System
}

// eligible reports whether a port counts in the choice of a partner. A selected port still counts when its partner has
// expired.
func (p *port) eligible() bool { return p.fits() || p.selected && p.receiver == ReceiverExpired }

// choose runs the selection logic, 6.4.14. It selects one of the partners of the ports, each with one speed, and keeps
// it as long as it is present. Otherwise it prefers the partner with most ports, then the fastest, then the lowest
// system and key. A port whose partner has expired stays selected until it is defaulted.
func (g *aggregate) choose() {
	count := map[group]int{}
	for _, p := range g.ports {
		if p.eligible() {
			count[p.group()]++
		}
	}
	if count[g.partner] == 0 {
		g.partner = group{}
		for _, c := range slices.SortedFunc(maps.Keys(count), compareGroups) {
			if count[c] > count[g.partner] {
				g.partner = c
			}
		}
	}
	taken := false // a partner that does not aggregate gets one port
	for _, p := range g.ports {
		is := count[g.partner] > 0 && p.group() == g.partner && p.eligible()
		p.selected = is && !(g.partner.individual && taken)
		taken = taken || is
	}
	g.fallBack(len(count) > 0)
}

// fallBack makes the first port that is up carry traffic while no port has a partner.
func (g *aggregate) fallBack(heard bool) {
	alone := func(p *port) bool { return p.receiver == ReceiverDefaulted && p.enabled() }
	one := -1
	if g.Fallback && !heard {
		one = slices.IndexFunc(g.ports, func(p *port) bool { return p.fallback && alone(p) })
		if one < 0 {
			one = slices.IndexFunc(g.ports, alone)
		}
	}
	for i, p := range g.ports {
		if p.fallback = i == one; p.fallback {
			p.selected = true
		}
	}
}

func compareGroups(a, b group) int {
	return cmp.Or(cmp.Compare(b.speed, a.speed), cmp.Compare(a.system.Priority, b.system.Priority),
		slices.Compare(a.system.MAC[:], b.system.MAC[:]),
		cmp.Compare(a.key, b.key), cmp.Compare(a.port, b.port))
}
