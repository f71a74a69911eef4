package truth

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A FlowKey is a set of fields that distinguish flows.
type FlowKey uint8

// These are the fields of flow keys.
const (
	ByIn FlowKey = 1 << iota // port at which the frame entered
	ByVLAN
	BySrc // IP addresses
	ByDst
	ByProtocol
	BySrcPort
	ByDstPort
	ByDSCP

	By5Tuple = BySrc | ByDst | ByProtocol | BySrcPort | ByDstPort
)

// A key identifies a flow. Fields that the group does not divide by are zero.
type key struct {
	in       string
	vlan     uint16
	ip       uint8 // 4 or 6; zero if addresses are not part of the key
	src, dst [16]byte
	proto    uint8
	sport    uint16
	dport    uint16
	dscp     uint8
}

func (k FlowKey) of(x *fields, in string) (v key) {
	if k&ByIn != 0 {
		v.in = in
	}
	if k&ByVLAN != 0 {
		v.vlan = x.vlan
	}
	if x.ip && k&(BySrc|ByDst) != 0 {
		v.ip = 4
		if x.v6 {
			v.ip = 6
		}
	}
	if x.ip && k&BySrc != 0 {
		v.src = x.src.As16()
	}
	if x.ip && k&ByDst != 0 {
		v.dst = x.dst.As16()
	}
	if k&ByProtocol != 0 {
		v.proto = x.proto
	}
	if k&BySrcPort != 0 {
		v.sport = x.sport
	}
	if k&ByDstPort != 0 {
		v.dport = x.dport
	}
	if k&ByDSCP != 0 {
		v.dscp = x.tos >> 2
	}
	return v
}

// compare orders flows in reports.
func (k *key) compare(o *key) int {
	pack := func(k *key) []byte {
		b := append([]byte(k.in), 0, k.ip)
		b = append(append(b, k.src[:]...), k.dst[:]...)
		b = append(b, k.proto)
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, k.sport), k.dport)
		return append(binary.BigEndian.AppendUint16(b, k.vlan), k.dscp)
	}
	return slices.Compare(pack(k), pack(o))
}

// A flow holds the numbers of one flow.
type flow struct {
	frames, bytes           uint64
	delivered, toCPU, losts uint64
	delay                   delays
}

// A group is a Group with its numbers.
type group struct {
	Group
	frames, bytes, delivered, deliveredBytes, toCPU uint64
	copies, inFlight                                int64
	lost                                            map[Loss]uint64
	delay                                           delays
	paths                                           map[*hop]uint64
	flows                                           map[key]*flow
	leftOut                                         uint64
	kept                                            []Delivery
}

func (g *group) admit(x *fields, in string, bytes uint64) member {
	m := member{g: g}
	g.frames++
	g.inFlight++
	g.bytes += bytes
	if g.Flows == 0 {
		return m
	}
	k := g.Flows.of(x, in)
	m.f = g.flows[k]
	if m.f == nil {
		if len(g.flows) >= g.MaxFlows {
			g.leftOut++
			return m
		}
		m.f = &flow{}
		g.flows[k] = m.f
	}
	m.f.frames++
	m.f.bytes += bytes
	return m
}

func (f *frame) lost(l Loss) {
	for _, m := range f.in {
		m.g.inFlight--
		m.g.lost[l]++
		if m.f != nil {
			m.f.losts++
		}
	}
}

func (f *frame) punted() {
	for _, m := range f.in {
		m.g.inFlight--
		m.g.toCPU++
		if m.f != nil {
			m.f.toCPU++
		}
	}
}

func (f *frame) delivered(at Time, id uint64, length int, way *hop) {
	ps := at.Since(f.entered)
	for _, m := range f.in {
		g := m.g
		g.inFlight--
		g.delivered++
		g.deliveredBytes += uint64(max(length, 60) + 4)
		g.delay.add(ps)
		g.paths[way]++
		if m.f != nil {
			m.f.delivered++
			m.f.delay.add(ps)
		}
		if g.KeepDelays > 0 {
			g.kept = append(g.kept, Delivery{Frame: id, At: at, DelayPs: ps})
			if len(g.kept) >= 2*g.KeepDelays {
				g.trim()
			}
		}
	}
}

// trim keeps the deliveries that left first. The result does not depend on the order in which they were reported.
func (g *group) trim() {
	slices.SortFunc(g.kept, func(a, b Delivery) int {
		return cmp.Or(cmp.Compare(a.At.Sec, b.At.Sec), cmp.Compare(a.At.Ps, b.At.Ps), cmp.Compare(a.Frame, b.Frame),
			cmp.Compare(a.DelayPs, b.DelayPs))
	})
	g.kept = g.kept[:min(len(g.kept), g.KeepDelays)]
}
