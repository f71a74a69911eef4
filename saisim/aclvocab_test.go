package saisim_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// A spec is a packet in words; frame gives its bytes. The matches of the ACL
// test are evaluated on the spec, so that they share nothing with the parser.
type spec struct {
	in               saisim.PortID
	dst, src         byte // hosts
	tags             []uint16
	kind             string // ipv4, ipv6, arp, other
	saddr, daddr     byte
	proto            byte
	frag             string // "", head, tail
	sport, dport     uint16
	tcpFlags         byte
	icmpType, icmpCo byte
	tos, ttl         byte
	id               uint16
	flow             uint32
	options          bool // IPv6: behind a hop-by-hop header
}

func (s *spec) frame() []byte {
	var l4 []byte
	switch s.proto {
	case 6:
		l4 = tcp(s.sport, s.dport, s.tcpFlags, 4)
	case 1, 58:
		l4 = append([]byte{s.icmpType, s.icmpCo}, make([]byte, 30)...)
	default:
		l4 = udp(s.sport, s.dport, 16)
	}
	var f [][]byte
	for _, t := range s.tags {
		f = append(f, tag(0x8100, t))
	}
	switch s.kind {
	case "ipv4":
		frag := map[string]uint16{"head": 0x2000, "tail": 5}[s.frag]
		p := ip4(s.saddr, s.daddr, s.proto, frag, l4)
		p[2+1], p[2+8] = s.tos, s.ttl
		binary.BigEndian.PutUint16(p[2+4:], s.id)
		f = append(f, p)
	case "ipv6":
		next := s.proto
		if s.frag != "" {
			l4 = append([]byte{next, 0, 0, map[string]byte{"head": 1, "tail": 0x10}[s.frag], 0, 0, 0, 1}, l4...)
			next = 44
		}
		if s.options {
			l4 = append([]byte{next, 0, 1, 4, 0, 0, 0, 0}, l4...)
			next = 0
		}
		p := ip6(s.saddr, s.daddr, next, l4)
		binary.BigEndian.PutUint32(p[2:], 6<<28|uint32(s.tos)<<20|s.flow)
		p[2+7] = s.ttl
		f = append(f, p)
	case "arp":
		f = append(f, u16(0x0806), []byte{0, 1, 8, 0, 6, 4, 0, s.proto}, make([]byte, 20))
	default:
		f = append(f, u16(0x88b5), make([]byte, 40))
	}
	return eth(host(s.dst), host(s.src), f...)
}

func (s *spec) ip() bool    { return s.kind == "ipv4" || s.kind == "ipv6" }
func (s *spec) whole() bool { return s.ip() && s.frag != "tail" }
func (s *spec) icmp() bool  { return s.whole() && s.kind == "ipv4" && s.proto == 1 }
func (s *spec) icmp6() bool { return s.whole() && s.kind == "ipv6" && s.proto == 58 }

func randomSpec(rnd *rand.Rand) *spec {
	few := func(n int) byte { return byte(1 + rnd.IntN(n)) }
	s := &spec{
		in: saisim.PortID(rnd.IntN(4)), dst: few(4), src: few(4), saddr: few(6), daddr: few(6),
		sport: uint16(1000 + rnd.IntN(5)), dport: uint16(80 + rnd.IntN(5)), tcpFlags: byte(rnd.IntN(64)),
		icmpType: byte(rnd.IntN(4)), icmpCo: byte(rnd.IntN(3)), tos: byte(rnd.IntN(256)), ttl: byte(60 + rnd.IntN(5)),
		id: uint16(rnd.IntN(4)), flow: uint32(rnd.IntN(4)), options: rnd.IntN(3) == 0,
	}
	s.kind = []string{"ipv4", "ipv4", "ipv4", "ipv6", "ipv6", "arp", "other"}[rnd.IntN(7)]
	s.proto = []byte{6, 6, 17, 17, 1, 58}[rnd.IntN(6)]
	if s.kind == "arp" {
		s.proto = byte(rnd.IntN(3))
	}
	s.frag = []string{"", "", "", "head", "tail"}[rnd.IntN(5)]
	for range rnd.IntN(3) {
		s.tags = append(s.tags, uint16(rnd.IntN(8))<<13|uint16(1+rnd.IntN(3)))
	}
	return s
}

// vlan is the VLAN that the packet is in: that of the tag, or the port's, 1.
func (s *spec) vlan() uint16 {
	if len(s.tags) > 0 {
		return s.tags[0] & 0xfff
	}
	return 1
}

// A condition is one match: for the chip, and in words.
type condition struct {
	attr  sai.Attr
	holds func(s *spec) bool
}

func num(id sai.AttrID, data, mask uint64, of func(s *spec) (uint64, bool)) condition {
	return condition{
		sai.Attr{ID: id, Value: sai.Match(sai.Uint(data), sai.Uint(mask))},
		func(s *spec) bool { v, ok := of(s); return ok && v&mask == data&mask },
	}
}

func address(id sai.AttrID, p netip.Prefix, six bool, of func(s *spec) byte) condition {
	bits := 32
	base := netip.MustParseAddr("10.0.0.0")
	if six {
		bits, base = 128, netip.MustParseAddr("2001:db8::")
	}
	m := make([]byte, bits/8)
	for i := range p.Bits() {
		m[i/8] |= 0x80 >> (i % 8)
	}
	mask, _ := netip.AddrFromSlice(m)
	return condition{
		sai.Attr{ID: id, Value: sai.Match(sai.IP{Addr: p.Addr()}, sai.IP{Addr: mask})},
		func(s *spec) bool {
			b := base.AsSlice()
			b[len(b)-1] = of(s)
			a, _ := netip.AddrFromSlice(b)
			return (s.kind == "ipv6") == six && s.ip() && p.Contains(a)
		},
	}
}

// conditions returns one random match of every kind; ports and ranges are
// objects of r.
func (r *rig) conditions(rnd *rand.Rand, ports []sai.OID, ranges map[sai.Enum][]sai.OID) []condition {
	full := func(w uint64) uint64 {
		if rnd.IntN(4) == 0 {
			return rnd.Uint64() & w
		}
		return w
	}
	pick := func(n int) uint64 { return uint64(rnd.IntN(n)) }
	ports4 := func(s *spec) bool { return s.whole() && (s.proto == 6 || s.proto == 17) }
	mac := func(id sai.AttrID, of func(s *spec) byte) condition {
		n := byte(1 + rnd.IntN(4))
		return condition{
			sai.Attr{ID: id, Value: sai.Match(sai.MAC(host(n)), sai.MAC{255, 255, 255, 255, 255, 255})},
			func(s *spec) bool { return of(s) == n },
		}
	}
	prefix := func(six bool) netip.Prefix {
		b := netip.MustParseAddr("10.0.0.0").AsSlice()
		if six {
			b = netip.MustParseAddr("2001:db8::").AsSlice()
		}
		b[len(b)-1] = byte(1 + rnd.IntN(6))
		a, _ := netip.AddrFromSlice(b)
		return netip.PrefixFrom(a, len(b)*8-rnd.IntN(4))
	}
	enum := func(id sai.AttrID, v sai.Enum, holds func(s *spec) bool) condition {
		return condition{sai.Attr{ID: id, Value: sai.Match(v, sai.Enum(-1))}, holds}
	}
	ipTypes := []condition{
		enum(sai.ACLEntryAttrFieldACLIPType, sai.ACLIPTypeAny, func(*spec) bool { return true }),
		enum(sai.ACLEntryAttrFieldACLIPType, sai.ACLIPTypeIP, (*spec).ip),
		enum(sai.ACLEntryAttrFieldACLIPType, sai.ACLIPTypeNonIP, func(s *spec) bool { return !s.ip() }),
		enum(sai.ACLEntryAttrFieldACLIPType, sai.ACLIPTypeIPv4Any, func(s *spec) bool { return s.kind == "ipv4" }),
		enum(sai.ACLEntryAttrFieldACLIPType, sai.ACLIPTypeNonIPv4, func(s *spec) bool { return s.kind != "ipv4" }),
		enum(sai.ACLEntryAttrFieldACLIPType, sai.ACLIPTypeIPv6Any, func(s *spec) bool { return s.kind == "ipv6" }),
		enum(sai.ACLEntryAttrFieldACLIPType, sai.ACLIPTypeNonIPv6, func(s *spec) bool { return s.kind != "ipv6" }),
		enum(sai.ACLEntryAttrFieldACLIPType, sai.ACLIPTypeArp, func(s *spec) bool { return s.kind == "arp" }),
		enum(sai.ACLEntryAttrFieldACLIPType, sai.ACLIPTypeArpRequest,
			func(s *spec) bool { return s.kind == "arp" && s.proto == 1 }),
		enum(sai.ACLEntryAttrFieldACLIPType, sai.ACLIPTypeArpReply, func(s *spec) bool {
			return s.kind == "arp" && s.proto == 2
		}),
	}
	frags := []condition{
		enum(sai.ACLEntryAttrFieldACLIPFrag, sai.ACLIPFragAny, func(s *spec) bool { return s.ip() && s.frag != "" }),
		enum(sai.ACLEntryAttrFieldACLIPFrag, sai.ACLIPFragNonFrag, func(s *spec) bool { return s.ip() && s.frag == "" }),
		enum(sai.ACLEntryAttrFieldACLIPFrag, sai.ACLIPFragNonFragOrHead, (*spec).whole),
		enum(sai.ACLEntryAttrFieldACLIPFrag, sai.ACLIPFragHead, func(s *spec) bool { return s.ip() && s.frag == "head" }),
		enum(sai.ACLEntryAttrFieldACLIPFrag, sai.ACLIPFragNonHead, func(s *spec) bool { return s.ip() && s.frag == "tail" }),
	}
	vlans := []condition{
		enum(sai.ACLEntryAttrFieldPacketVLAN, sai.PacketVLANUntag, func(s *spec) bool { return len(s.tags) == 0 }),
		enum(sai.ACLEntryAttrFieldPacketVLAN, sai.PacketVLANSingleOuterTag, func(s *spec) bool { return len(s.tags) == 1 }),
		enum(sai.ACLEntryAttrFieldPacketVLAN, sai.PacketVLANDoubleTag, func(s *spec) bool { return len(s.tags) == 2 }),
	}
	tagged := rnd.IntN(2) == 0
	n := rnd.IntN(4)
	some := sai.OIDs{ports[n], ports[(n+1)%4]}
	dr := rnd.IntN(2)
	return []condition{
		mac(sai.ACLEntryAttrFieldSrcMAC, func(s *spec) byte { return s.src }),
		mac(sai.ACLEntryAttrFieldDstMAC, func(s *spec) byte { return s.dst }),
		num(sai.ACLEntryAttrFieldEtherType, []uint64{0x800, 0x86dd, 0x806, 0x88b5}[pick(4)], full(0xffff),
			func(s *spec) (uint64, bool) {
				return map[string]uint64{"ipv4": 0x800, "ipv6": 0x86dd, "arp": 0x806, "other": 0x88b5}[s.kind], true
			}),
		num(sai.ACLEntryAttrFieldOuterVLANID, 1+pick(3), full(0xfff),
			func(s *spec) (uint64, bool) { return uint64(s.vlan()), true }),
		num(sai.ACLEntryAttrFieldOuterVLANPri, pick(8), full(7), func(s *spec) (uint64, bool) {
			if len(s.tags) == 0 {
				return 0, true
			}
			return uint64(s.tags[0] >> 13), true
		}),
		num(sai.ACLEntryAttrFieldInnerVLANID, 1+pick(3), full(0xfff), func(s *spec) (uint64, bool) {
			return uint64(append(s.tags, 0, 0)[1] & 0xfff), len(s.tags) == 2
		}),
		num(sai.ACLEntryAttrFieldIPProtocol, []uint64{6, 17, 1}[pick(3)], full(0xff),
			func(s *spec) (uint64, bool) { return uint64(s.proto), s.ip() }),
		num(sai.ACLEntryAttrFieldIPv6NextHeader, []uint64{6, 17, 58}[pick(3)], full(0xff),
			func(s *spec) (uint64, bool) { return uint64(s.proto), s.kind == "ipv6" }),
		num(sai.ACLEntryAttrFieldDSCP, pick(64), full(0x3f), func(s *spec) (uint64, bool) {
			return uint64(s.tos >> 2),
				s.ip()
		}),
		num(sai.ACLEntryAttrFieldECN, pick(4), full(3), func(s *spec) (uint64, bool) { return uint64(s.tos & 3), s.ip() }),
		num(sai.ACLEntryAttrFieldTOS, pick(256), full(0xff), func(s *spec) (uint64, bool) { return uint64(s.tos), s.ip() }),
		num(sai.ACLEntryAttrFieldTTL, 60+pick(5), full(0xff), func(s *spec) (uint64, bool) { return uint64(s.ttl), s.ip() }),
		num(sai.ACLEntryAttrFieldIPIdentification, pick(4), full(0xffff),
			func(s *spec) (uint64, bool) { return uint64(s.id), s.kind == "ipv4" }),
		num(sai.ACLEntryAttrFieldIPv6FlowLabel, pick(4), full(0xfffff),
			func(s *spec) (uint64, bool) { return uint64(s.flow), s.kind == "ipv6" }),
		num(sai.ACLEntryAttrFieldTCPFlags, pick(64), full(0x3f), func(s *spec) (uint64, bool) {
			return uint64(s.tcpFlags),
				s.whole() && s.proto == 6
		}),
		num(sai.ACLEntryAttrFieldL4SrcPort, 1000+pick(5), full(0xffff),
			func(s *spec) (uint64, bool) { return uint64(s.sport), ports4(s) }),
		num(sai.ACLEntryAttrFieldL4DstPort, 80+pick(5), full(0xffff),
			func(s *spec) (uint64, bool) { return uint64(s.dport), ports4(s) }),
		num(sai.ACLEntryAttrFieldICMPType, pick(4), full(0xff), func(s *spec) (uint64, bool) {
			return uint64(s.icmpType),
				s.icmp()
		}),
		num(sai.ACLEntryAttrFieldICMPCode, pick(3), full(0xff), func(s *spec) (uint64, bool) {
			return uint64(s.icmpCo),
				s.icmp()
		}),
		num(sai.ACLEntryAttrFieldICMPv6Type, pick(4), full(0xff), func(s *spec) (uint64, bool) {
			return uint64(s.icmpType),
				s.icmp6()
		}),
		num(sai.ACLEntryAttrFieldICMPv6Code, pick(3), full(0xff), func(s *spec) (uint64, bool) {
			return uint64(s.icmpCo),
				s.icmp6()
		}),
		address(sai.ACLEntryAttrFieldSrcIP, prefix(false), false, func(s *spec) byte { return s.saddr }),
		address(sai.ACLEntryAttrFieldDstIP, prefix(false), false, func(s *spec) byte { return s.daddr }),
		address(sai.ACLEntryAttrFieldSrcIPv6, prefix(true), true, func(s *spec) byte { return s.saddr }),
		address(sai.ACLEntryAttrFieldDstIPv6, prefix(true), true, func(s *spec) byte { return s.daddr }),
		ipTypes[rnd.IntN(len(ipTypes))], frags[rnd.IntN(len(frags))], vlans[rnd.IntN(len(vlans))],
		{sai.Attr{ID: sai.ACLEntryAttrFieldHasVLANTag, Value: sai.Match(sai.Bool(tagged), nil)},
			func(s *spec) bool { return (len(s.tags) > 0) == tagged }},
		{sai.Attr{ID: sai.ACLEntryAttrFieldInPorts, Value: sai.Match(some, nil)},
			func(s *spec) bool { return int(s.in) == n || int(s.in) == (n+1)%4 }},
		{sai.Attr{ID: sai.ACLEntryAttrFieldInPort, Value: sai.Match(ports[n], nil)},
			func(s *spec) bool { return int(s.in) == n }},
		{sai.Attr{ID: sai.ACLEntryAttrFieldACLRangeType, Value: sai.Match(sai.OIDs{
			ranges[sai.ACLRangeTypeL4DstPortRange][dr], ranges[sai.ACLRangeTypePacketLength][0]}, nil)},
			func(s *spec) bool {
				lo, hi := uint16(81+dr), uint16(83+dr)
				return ports4(s) && s.dport >= lo && s.dport <= hi && len(s.frame())+4 >= 60 && len(s.frame())+4 <= 90
			}},
	}
}

// Every match field against a matcher that goes through all entries one by one,
// on a thousand random tables and packets. The order in which entries are
// created, and that others came and went, does not matter.
func TestVocabulary(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	randtest.Run(t, randtest.Cases{Count: 24}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		one, two := newVocabulary(t, rnd), newVocabulary(t, rnd)
		type entry struct {
			label    string
			priority int
			conds    []int
			seed     uint64
		}
		var entries []entry
		for i := range 60 {
			e := entry{label: fmt.Sprintf("e%d", i), priority: 1 + rnd.IntN(8), seed: rnd.Uint64()}
			for range 1 + rnd.IntN(4) {
				e.conds = append(e.conds, rnd.IntN(32))
			}
			entries = append(entries, e)
		}
		holds := map[string]func(*spec) bool{}
		priority := map[string]int{}
		for i := range entries {
			e, f := entries[i], entries[len(entries)-1-i]
			holds[e.label] = one.add(e.label, e.priority, e.conds, e.seed)
			priority[e.label] = e.priority
			two.add(f.label, f.priority, f.conds, f.seed)
		}
		two.churn(rnd)
		hits := 0
		for range 250 {
			s := randomSpec(rnd)
			best := 0
			for l, h := range holds {
				if h(s) {
					best = max(best, priority[l])
				}
			}
			got, other := one.hit(s), two.hit(s)
			if got != other {
				t.Fatalf("%+v hits %q, and %q where the entries came in another order", s, got, other)
			}
			if got == "" && best > 0 || got != "" && (!holds[got](s) || priority[got] != best) {
				t.Fatalf("%+v hits %q of priority %d, want priority %d", s, got, priority[got], best)
			}
			if got != "" {
				hits++
			}
		}
		if hits < 40 {
			t.Errorf("only %d of 250 packets hit an entry", hits)
		}
	})
}

// A vocabulary is a chip with one table that has every field.
type vocabulary struct {
	*rig
	table  sai.OID
	ports  []sai.OID
	ranges map[sai.Enum][]sai.OID
	counts map[string]sai.OID
	was    map[string]uint64
}

func newVocabulary(t *testing.T, rnd *rand.Rand) *vocabulary {
	p := profile.Default()
	p.Default = []profile.DefaultPorts{{First: 0, Count: 4, Lanes: 1, Mbps: 100_000}}
	p.FDB = 4
	v := &vocabulary{rig: newRig(t, p), ranges: map[sai.Enum][]sai.OID{}, counts: map[string]sai.OID{},
		was: map[string]uint64{}}
	for id := range saisim.PortID(4) {
		v.ports = append(v.ports, v.oid(id))
	}
	for _, vid := range []int{2, 3} {
		vlan := v.vlan(vid)
		for id := range saisim.PortID(4) {
			v.member(vlan, v.bp(id), sai.VLANTaggingModeTagged)
		}
	}
	for i := range uint64(2) {
		v.ranges[sai.ACLRangeTypeL4DstPortRange] = append(v.ranges[sai.ACLRangeTypeL4DstPortRange],
			v.create(sai.ObjectTypeACLRange, sai.ACLRangeAttrType, sai.ACLRangeTypeL4DstPortRange, sai.ACLRangeAttrLimit,
				sai.Range{Min: 81 + i, Max: 83 + i}))
	}
	v.ranges[sai.ACLRangeTypePacketLength] = []sai.OID{
		v.create(sai.ObjectTypeACLRange, sai.ACLRangeAttrType, sai.ACLRangeTypePacketLength, sai.ACLRangeAttrLimit,
			sai.Range{Min: 60, Max: 90})}
	pairs := []any{sai.ACLTableAttrACLStage, sai.ACLStageIngress,
		sai.ACLTableAttrFieldACLRangeType, sai.Enums{sai.ACLRangeTypeL4DstPortRange, sai.ACLRangeTypePacketLength}}
	for _, c := range v.conditions(rnd, v.ports, v.ranges) {
		if c.attr.ID != sai.ACLEntryAttrFieldACLRangeType {
			pairs = append(pairs, c.attr.ID-sai.AttrID(sai.ObjectTypeACLEntry-sai.ObjectTypeACLTable)<<32, sai.Bool(true))
		}
	}
	v.table = v.create(sai.ObjectTypeACLTable, pairs...)
	v.set(sai.ObjectTypeSwitch, v.sw, sai.SwitchAttrIngressACL, v.table)
	return v
}

// add creates an entry with some of the conditions that a seed gives, and
// returns the conditions in words.
func (v *vocabulary) add(label string, priority int, which []int, seed uint64) func(*spec) bool {
	v.Helper()
	all := v.conditions(rand.New(rand.NewPCG(seed, 2)), v.ports, v.ranges)
	counter := v.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, v.table, sai.ACLCounterAttrEnablePacketCount,
		sai.Bool(true),
		sai.ACLCounterAttrLabel, sai.Text(label))
	pairs := []any{sai.ACLEntryAttrTableID, v.table, sai.ACLEntryAttrPriority, sai.Uint(priority),
		sai.ACLEntryAttrActionCounter, sai.Do(counter)}
	used := map[int]bool{}
	var conds []condition
	for _, i := range which {
		i %= len(all)
		if used[i] {
			continue
		}
		used[i] = true
		conds = append(conds, all[i])
		pairs = append(pairs, all[i].attr.ID, all[i].attr.Value)
	}
	v.create(sai.ObjectTypeACLEntry, pairs...)
	v.counts[label] = counter
	return func(s *spec) bool {
		for _, c := range conds {
			if !c.holds(s) {
				return false
			}
		}
		return true
	}
}

// churn adds entries that match everything and removes them again.
func (v *vocabulary) churn(rnd *rand.Rand) {
	var gone []sai.OID
	for range 20 {
		c := v.conditions(rnd, v.ports, v.ranges)[rnd.IntN(30)]
		gone = append(gone, v.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, v.table,
			sai.ACLEntryAttrPriority, sai.Uint(100), c.attr.ID, c.attr.Value))
	}
	rnd.Shuffle(len(gone), func(i, j int) { gone[i], gone[j] = gone[j], gone[i] })
	for _, e := range gone {
		v.remove(sai.ObjectTypeACLEntry, e)
	}
}

// hit sends the packet and returns the label of the entry that counted it.
func (v *vocabulary) hit(s *spec) (label string) {
	v.Helper()
	v.send(s.in, s.frame())
	for l, c := range v.counts {
		if n := v.packets(c); n != v.was[l] {
			if label != "" || n != v.was[l]+1 {
				v.Fatalf("%+v is counted by %s and %s", s, label, l)
			}
			label, v.was[l] = l, n
		}
	}
	return label
}
