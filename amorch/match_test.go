package amorch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// match returns the match of packets in a session's last period.
func (b *bench) match(session string) string {
	return b.Row(swss.CountersDB, schema.CountersAltMark, session)["MATCH"]
}

// When the packets of a session change, its measurement begins again. The cause may be an edit of its rule, or other
// sessions of higher priority. Changes that do not affect its packets have no effect.
func TestMatchChanges(t *testing.T) {
	const all, udp = "DST_IP 10.0.0.2/32", "IP_PROTOCOL 17"
	voice := []string{"DST_IP", "10.0.0.2", "IP_PROTOCOL", "17", "L4_SRC_PORT", "5001"}
	above := func(b *bench, priority string, fields ...string) {
		b.Set(schema.AppACLRule, "TAM:voice", append([]string{"PRIORITY", priority}, fields...)...)
		b.session("s2", "voice", initiator())
	}
	web := func(b *bench, fields ...string) {
		b.rule("web", append([]string{"DST_IP", "10.0.0.2", "IP_PROTOCOL", "17"}, fields...)...)
	}
	for name, tt := range map[string]struct {
		before, change func(b *bench)
		match          string
		first          bool
		flags          string // flags that remain in later periods
	}{
		"nothing": {change: func(*bench) {}, match: all + ", " + udp},
		"narrower": {change: func(b *bench) { web(b, "L4_SRC_PORT", "5001") },
			match: all + ", " + udp + ", L4_SRC_PORT 5001", first: true},
		"a range": {change: func(b *bench) { web(b, "L4_SRC_PORT_RANGE", "5001-5003") },
			match: all + ", " + udp + ", L4_SRC_PORT_RANGE 5001-5003", first: true},
		"the same": {change: func(b *bench) { web(b, "ETHER_TYPE", "0x0800") }, match: all + ", " + udp,
			first: true},
		"another priority": {change: func(b *bench) { web(b, "PRIORITY", "7") }, match: all + ", " + udp,
			first: true},
		"a session above": {change: func(b *bench) { above(b, "200", voice...) },
			match: all + ", " + udp + "; without L4_SRC_PORT 5001", first: true},
		"a session above, wider": {change: func(b *bench) { above(b, "200", "IP_PROTOCOL", "17") },
			match: all + ", " + udp + "; without all of them", first: true},
		"a session above, elsewhere": {change: func(b *bench) {
			above(b, "200", "DST_IP", "10.0.0.3", "L4_SRC_PORT",
				"5001")
		}, match: all + ", " + udp},
		"a session above, of IPv6": {change: func(b *bench) { above(b, "200", "DST_IPV6", "2001:db8::2") },
			match: all + ", " + udp},
		"a session above, of TCP": {change: func(b *bench) { above(b, "200", "TCP_FLAGS", "0x2/0x2") },
			match: all + ", " + udp},
		"a session below": {change: func(b *bench) { above(b, "50", voice...) }, match: all + ", " + udp},
		"a session beside": {change: func(b *bench) { above(b, "100", voice...) },
			match: all + ", " + udp + "; without L4_SRC_PORT 5001", first: true, flags: "shadowed"},
		"a session above, by the mark": {change: func(b *bench) {
			s := initiator()
			s.Mark = altmark.DSCP3
			b.Set(schema.AppACLRule, "TAM:voice", "PRIORITY", "200", "DSCP", "1/0x37")
			b.session("s2", "voice", s)
		}, match: all + ", " + udp + "; without DSCP 0/0x36", first: true, flags: "shadowed"},
		"a session above ends": {before: func(b *bench) { above(b, "200", voice...) },
			change: func(b *bench) { b.Del(schema.AppTAMAltMark, "s2") }, match: all + ", " + udp, first: true},
		"a session above has another rule": {before: func(b *bench) { above(b, "200", voice...) },
			change: func(b *bench) { above(b, "200", "DST_IP", "10.0.0.2", "IP_PROTOCOL", "17", "L4_SRC_PORT", "5002") },
			match:  all + ", " + udp + "; without L4_SRC_PORT 5002", first: true},
		"interfaces": {change: func(b *bench) { web(b, "IN_PORTS", "Ethernet0") }, match: all + ", " + udp, first: true,
			flags: "interfaces"},
		"interfaces of the table": {change: func(b *bench) {
			b.Set(schema.AppACLTable, "TAM", "TYPE", "TAM", "STAGE", "INGRESS", "PORTS", "Ethernet0", "POLICY_DESC",
				"flow groups")
		}, match: all + ", " + udp, first: true, flags: "interfaces"},
		"interfaces from the start": {before: func(b *bench) { web(b, "IN_PORTS", "Ethernet0") }, change: func(*bench) {},
			match: all + ", " + udp},
		"narrower, and back at once": {change: func(b *bench) {
			web(b, "L4_SRC_PORT", "5001")
			b.Step()
			b.Del(schema.AppACLRule, "TAM:web")
			web(b)
		}, match: all + ", " + udp, first: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 8, 100)
			web(b)
			if tt.before != nil {
				tt.before(b)
			}
			b.session("s1", "web", initiator())
			b.Step()
			seconds := func(n int) (flags []string) {
				for range n {
					b.Pass(100 * time.Millisecond)
					for _, c := range []int{0, 1} {
						b.count("s1", c, 10)
					}
					b.Pass(900 * time.Millisecond)
					flags = append(flags, b.Row(swss.CountersDB, schema.CountersAltMark, "s1")["FLAGS"])
				}
				return flags
			}
			if flags := seconds(8); flags[7] != "" {
				t.Fatalf("before the change: %q", flags)
			}
			tt.change(b)
			b.Step()
			flags := seconds(8)
			if first := strings.Contains(strings.Join(flags[:4], " "), "first"); first != tt.first {
				t.Errorf("flags %q after the change, want first %v", flags, tt.first)
			}
			if flags[7] != tt.flags || b.match("s1") != tt.match {
				t.Errorf("at the end flags %q and match %q, want %q and %q", flags[7], b.match("s1"), tt.flags, tt.match)
			}
		})
	}
}

// A flow group can be limited to interfaces, or match fields that differ from link to link. If no packet matches it,
// its packets may arrive elsewhere or with other values. The periods of a transit are then flagged.
func TestNothingOfALink(t *testing.T) {
	for field, value := range map[string]string{"IN_PORTS": "Ethernet0", "TTL": "64", "SRC_MAC": "02:00:00:00:00:01",
		"DST_MAC": "02:00:00:00:00:01", "VLAN_ID": "10", "TC": "3"} {
		for role, want := range map[altmark.Role]string{altmark.Initiator: "", altmark.Transit: "interfaces"} {
			b := newBench(t, 8, 100)
			b.rule("web", "DST_IP", "10.0.0.2", field, value)
			s := initiator()
			s.Role = role
			b.session("s1", "web", s)
			b.Step()
			b.Pass(8 * time.Second)
			if got := b.Row(swss.CountersDB, schema.CountersAltMark, "s1")["FLAGS"]; got != want {
				t.Errorf("%s, %v: flags %q, want %q", field, role, got, want)
			}
		}
	}
}

// A sample is a packet. A test determines independently whether a rule matches it.
type sample struct {
	v6                     bool
	proto, dscp            uint64
	src, dst, sport, dport uint64
	flags                  uint64
}

func randomSample(rnd *rand.Rand) sample {
	return sample{rnd.IntN(3) == 0, []uint64{1, 6, 17, 58, 99}[rnd.IntN(5)], rnd.Uint64N(8), rnd.Uint64N(4),
		rnd.Uint64N(4), rnd.Uint64N(4), rnd.Uint64N(4), rnd.Uint64N(4)}
}

func (p sample) ported() bool { return p.proto == 6 || p.proto == 17 }

func (p sample) matches(m schema.ACLMatch) bool {
	last := func() (uint64, uint64) {
		a, k := m.Addr.AsSlice(), m.AddrMask.AsSlice()
		return uint64(a[len(a)-1]), uint64(k[len(k)-1])
	}
	switch m.Field {
	case schema.MatchSrcIP, schema.MatchSrcIPv6:
		v, k := last()
		return p.v6 == m.Addr.Is6() && p.src&k == v
	case schema.MatchDstIP, schema.MatchDstIPv6:
		v, k := last()
		return p.v6 == m.Addr.Is6() && p.dst&k == v
	case schema.MatchIPProtocol:
		return p.proto == m.Value
	case schema.MatchNextHeader:
		return p.v6 && p.proto == m.Value
	case schema.MatchDSCP:
		return p.dscp&m.Mask == m.Value
	case schema.MatchL4SrcPort:
		return p.ported() && p.sport == m.Value
	case schema.MatchL4DstPort:
		return p.ported() && p.dport == m.Value
	case schema.MatchL4SrcPortRange:
		return p.ported() && uint64(m.Min) <= p.sport && p.sport <= uint64(m.Max)
	case schema.MatchTCPFlags:
		return p.proto == 6 && p.flags&m.Mask == m.Value
	case schema.MatchEtherType:
		return p.v6 == (m.Value == 0x86dd)
	case schema.MatchIPType:
		return p.v6 == (schema.IPType(m.Value) == schema.IPTypeIPv6Any)
	}
	return true
}

func randomMatches(t *testing.T, rnd *rand.Rand) []schema.ACLMatch {
	fields := map[string]string{}
	n := fmt.Sprint(rnd.IntN(4))
	for range rnd.IntN(4) {
		switch rnd.IntN(10) {
		case 0:
			fields["SRC_IP"] = "10.0.0." + n + "/" + []string{"32", "31", "24"}[rnd.IntN(3)]
		case 1:
			fields["DST_IP"] = "10.0.0." + n + "/" + []string{"32", "31", "24"}[rnd.IntN(3)]
		case 2:
			fields["DST_IPV6"] = "2001:db8::" + n + "/" + []string{"128", "127", "64"}[rnd.IntN(3)]
		case 3:
			fields["IP_PROTOCOL"] = []string{"6", "17", "1"}[rnd.IntN(3)]
		case 4:
			fields["DSCP"] = fmt.Sprintf("%d/%#x", 2*rnd.IntN(4), 2*rnd.IntN(4))
		case 5:
			fields["L4_SRC_PORT"] = n
		case 6:
			fields["L4_SRC_PORT_RANGE"] = n + "-" + fmt.Sprint(3)
		case 7:
			fields["L4_DST_PORT"] = n
		case 8:
			fields["TCP_FLAGS"] = n + "/0x3"
		case 9:
			fields["ETHER_TYPE"] = []string{"0x0800", "0x86dd"}[rnd.IntN(2)]
		}
	}
	typ, _ := schema.BuiltinACLType(schema.ACLTypeTAM)
	rule, err := schema.ParseACLRule(typ, "TAM|r", fields)
	if err != nil {
		return randomMatches(t, rnd)
	}
	return rule.Matches
}

// Two switches have sessions with random rules and priorities. If a flow group has the same match text at both, and no
// flag, it gets the same packets at both. The test finds these packets by a search of all rules. A region contains
// exactly the packets of the matches that it is made from.
func TestEqualMatchesAreOfTheSamePackets(t *testing.T) {
	var same, differ int
	fixed := randtest.Cases{Count: 400}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0x3a7c4))
		type rule struct {
			matches  []schema.ACLMatch
			priority uint32
		}
		pool := []rule{{randomMatches(t, rnd), 100}}
		for range 4 {
			pool = append(pool, rule{randomMatches(t, rnd), uint32(98 + rnd.IntN(5))})
		}
		s := initiator()
		wins := func(rules []rule, p sample) (all []int) {
			var best uint32
			for i, r := range rules {
				hit := true
				for _, m := range r.matches {
					hit = hit && p.matches(m)
				}
				switch {
				case !hit || r.priority < best:
				case r.priority == best:
					all = append(all, i)
				default:
					best, all = r.priority, []int{i}
				}
			}
			return all
		}
		var switches [2][]rule
		var effects [2]effect
		for i := range switches {
			x := newMatches()
			switches[i] = append(switches[i], pool[0])
			for _, r := range pool[1:] {
				if rnd.IntN(3) > 0 {
					switches[i] = append(switches[i], r)
				}
			}
			if rnd.IntN(4) == 0 {
				switches[i][0].matches = randomMatches(t, rnd)
			}
			for j, r := range switches[i] {
				x.add(&matched{session: &session{Name: fmt.Sprint(j)}, region: regionOf(r.matches, nil, s), marks: 1,
					in: orch.ACLInForce{Lowest: r.priority, Highest: r.priority}, hash: uint64(j)})
			}
			effects[i] = x.effective(x.of["0"])
		}
		equal := effects[0].text == effects[1].text && !effects[0].shadowed && !effects[1].shadowed
		if equal {
			same++
		} else {
			differ++
		}
		for range 400 {
			p := randomSample(rnd)
			var got [2]bool
			for i, rules := range switches {
				won := wins(rules, p)
				if got[i] = len(won) == 1 && won[0] == 0; len(won) > 1 && won[0] == 0 && !effects[i].shadowed {
					t.Errorf("packet %+v is of %d rules at once, and %q is certain", p, len(won), effects[i].text)
				}
			}
			if equal && got[0] != got[1] {
				t.Errorf("packet %+v: %v at the one, %v at the other, and both match %s", p, got[0], got[1], effects[0].text)
			}
		}
		a, b := regionOf(pool[1].matches, nil, s), regionOf(pool[2].matches, nil, s)
		both, some := a.and(b)
		for range 100 {
			p := randomSample(rnd)
			inA, inB := len(wins(pool[1:2], p)) > 0, len(wins(pool[2:3], p)) > 0
			if inA && inB && !some {
				t.Errorf("packet %+v is of %s and of %s, which have none together", p, a.text(nil), b.text(nil))
			}
			if a.holds(b) && inB && !inA {
				t.Errorf("packet %+v is of %s and not of %s, which holds that", p, b.text(nil), a.text(nil))
			}
			if some && (!a.holds(both) || !b.holds(both)) {
				t.Errorf("%s and %s have %s together, and do not hold it", a.text(nil), b.text(nil), both.text(nil))
			}
		}
	})
	if run.Whole(fixed) && (same < run.Count/10 || differ < run.Count/10) {
		t.Errorf("of %d cases %d have equal matches and %d others, want a tenth of each at least", run.Count, same, differ)
	}
}

// Flow groups of some interfaces overlap only if they have an interface in common. FlowMonIDs and marks separate
// packets too.
func TestRegions(t *testing.T) {
	one, two, both := []sai.OID{1}, []sai.OID{2}, []sai.OID{1, 2}
	plain := initiator()
	monID := func(id uint32) altmark.Session {
		return altmark.Session{Role: altmark.Transit, Mark: altmark.IPv6Loss,
			FlowMonID: altmark.FlowMonID{Given: true, ID: id}}
	}
	v4 := altmark.Session{Mark: altmark.IPv4Reserved}
	for _, tt := range []struct {
		a, b         region
		some, ab, ba bool // a and b overlap; a contains b; b contains a
	}{
		{regionOf(nil, one, plain), regionOf(nil, two, plain), false, false, false},
		{regionOf(nil, both, plain), regionOf(nil, two, plain), true, true, false},
		{regionOf(nil, nil, plain), regionOf(nil, two, plain), true, true, false},
		{regionOf(nil, []sai.OID{}, plain), regionOf(nil, nil, plain), false, false, true},
		{regionOf(nil, nil, monID(1)), regionOf(nil, nil, monID(2)), false, false, false},
		{regionOf(nil, nil, monID(1)), regionOf(nil, nil, monID(1)), true, true, true},
		{regionOf(nil, nil, plain), regionOf(nil, nil, monID(1)), true, true, false},
		{regionOf(nil, nil, v4), regionOf(nil, nil, monID(1)), false, false, false},
		{regionOf(nil, nil, plain), regionOf(nil, nil, v4), true, true, false},
	} {
		_, some := tt.a.and(tt.b)
		if some != tt.some || tt.a.holds(tt.b) != tt.ab || tt.b.holds(tt.a) != tt.ba {
			t.Errorf("%s (%v) and %s (%v): together %v, holds %v, is held %v, want %v, %v, %v", tt.a.text(nil), tt.a.ports,
				tt.b.text(nil), tt.b.ports, some, tt.a.holds(tt.b), tt.b.holds(tt.a), tt.some, tt.ab, tt.ba)
		}
	}
}

// With many flow groups of higher priority, the match text has a limited length, and is the same for the same flow
// groups.
func TestManyAbove(t *testing.T) {
	texts := map[string]bool{}
	for _, n := range []int{3, 3, 60, 60, 61, 500, 500, 501} {
		x := newMatches()
		add := func(name string, priority uint32, fields ...schema.ACLMatch) *matched {
			m := &matched{session: &session{Name: name}, region: regionOf(fields, nil, initiator()),
				in: orch.ACLInForce{Lowest: priority, Highest: priority}}
			x.add(m)
			return m
		}
		all := add("all", 1)
		for i := range n {
			add(fmt.Sprint(i), 2, schema.ACLMatch{Field: schema.MatchL4DstPort, Value: uint64(i), Mask: 0xffff})
		}
		e := x.effective(all)
		if texts[e.text] = true; len(e.text) > altmark.MaxMatch {
			t.Errorf("%d flow groups above: %d bytes, want at most %d", n, len(e.text), altmark.MaxMatch)
		}
	}
	if len(texts) != 5 {
		t.Errorf("%d texts, want 5: %v", len(texts), texts)
	}
}
