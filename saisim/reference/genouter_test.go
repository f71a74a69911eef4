package reference_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"tamtam/sai"
	"tamtam/tam/altmark"
)

// A wrapper makes outer headers that flows of alternate marking add or remove, and packets with such headers. It has
// its own random numbers, so that other cases do not change.
type wrapper struct {
	wrapping *rand.Rand // nil means that there are no outer headers
}

// wrappedOf returns random numbers for outer headers in one case of five, otherwise nil.
func wrappedOf(seed uint64) *rand.Rand {
	if seed%5 == 3 {
		return rand.New(rand.NewPCG(seed, 6))
	}
	return nil
}

// wrapped runs do with random numbers for outer headers, if there are any.
func (g *gen) wrapped(do func()) {
	if g.wrapping == nil {
		return
	}
	was := g.Rand
	g.Rand = g.wrapping
	do()
	g.Rand = was
}

// prepareOuters makes the objects that outer headers need.
func (g *gen) prepareOuters() {
	g.wrapped(func() {
		if !g.routes {
			g.routes = true
			g.furnishRouter()
		}
		for _, vlan := range g.pool[sai.ObjectTypeVLAN] {
			g.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN,
				sai.RouterInterfaceAttrVirtualRouterID, g.vr(), sai.RouterInterfaceAttrVLANID, vlan)
		}
		if !g.marking {
			g.furnishMarking()
		}
	})
}

// outerFlowOp makes the entries of a flow that adds or removes outer headers, if there can be one.
func (g *gen) outerFlowOp() {
	t := g.chip.Tables()
	if len(t.AltMarkOuters) == 0 || len(t.AltMarks) == 0 {
		return
	}
	o, lane := pick(g, t.AltMarkOuters...), pick(g, t.AltMarks...)
	for range 20 {
		if lane.Encap != o.Ends && (lane.Encap || lane.Role == altmark.Terminator) {
			break
		}
		lane = pick(g, t.AltMarks...)
	}
	g.flowOf(lane.Lane, o.Index)
}

// furnishOuters makes most flows add or remove outer headers.
func (g *gen) furnishOuters() {
	g.wrapped(func() {
		if !g.marking {
			return
		}
		for lane := range 8 {
			g.encapProfileOp(lane)
		}
		for _, index := range g.flowIndexes() {
			g.outerOp(index)
		}
		for range 8 {
			g.outerFlowOp()
			g.routeEntryOp()
		}
		g.localOp(pick[byte](g, 3, 4))
		for range 1 + g.IntN(3) {
			g.set(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrMTU, sai.Uint(68+g.IntN(300)))
		}
		g.bindFlows()
	})
}

// ends returns the addresses of an outer header.
func (g *gen) ends() (src, dst [16]byte) {
	src, dst = g.ip6(), g.ip6()
	if g.chance(90) {
		src[15], dst[15] = 1, byte(3+g.IntN(2))
	}
	return src, dst
}

// localOp makes an address local to the switch.
func (g *gen) localOp(n byte) {
	a := netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: n})
	key := sai.RouteEntry{Switch: g.sw, VR: g.vr(), Dest: netip.PrefixFrom(a, 128)}
	_ = g.chip.Remove(context.Background(), sai.EntryKey(key))
	_ = g.chip.CreateEntry(context.Background(), key, attrs(sai.RouteEntryAttrPacketAction, sai.PacketActionForward,
		sai.RouteEntryAttrNextHopID, g.cpu))
}

// encapProfileOp makes a profile of an initiator that adds outer headers, or of a terminator.
func (g *gen) encapProfileOp(lane int) {
	method := pick(g, altmark.MethodWords()...)
	marks := []string{"ipv6-altmark-l", "ipv6-altmark-d"}
	v := map[string]any{
		"lane": lane, "role": "initiator", "method": method, "interval": altmark.MinInterval, "mark": pick(g, marks...),
		"slot-sync": method != "muxed" || g.chance(50), "guard-ns": g.Uint64N(300_000), "early-ns": g.Uint64N(300_000),
		"encap": true,
	}
	if method == "double" {
		v["mark"], v["mark2"] = marks[0], marks[1]
	}
	if g.chance(40) {
		v["role"], v["encap"], v["clear"] = "terminator", false, g.chance(20)
	}
	if g.slow {
		v["interval"] = 1
	}
	text, err := entryWith("profile", v)
	if err != nil {
		panic(err) // cannot happen: only words and numbers
	}
	if g.chance(15) {
		g.set(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrEntry, text)
		return
	}
	g.create(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName, sai.Bytes(altmark.ObjectProfile),
		sai.GenericProgrammableAttrEntry, text)
}

// outerOp gives the flow of an index an outer header.
func (g *gen) outerOp(index uint32) {
	src, dst := g.ends()
	e := &altmark.ChipEncap{Src: netip.AddrFrom16(src).String(), Dst: netip.AddrFrom16(dst).String()}
	f := altmark.ChipFlowOf{Index: index, FlowMonID: g.flowMonID()}
	if g.chance(50) {
		e.HopByHop, e.HopLimit = g.chance(50), 1+g.IntN(254)
		f.Encap = e
	} else {
		f.FlowMonID, f.Decap = pick[uint32](g, 0, 1), e
	}
	text, err := entryWith("flow", f)
	if err != nil {
		panic(err) // cannot happen: only words and numbers
	}
	if g.chance(20) {
		g.set(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrEntry, text)
		return
	}
	g.create(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName, sai.Bytes(altmark.ObjectFlow),
		sai.GenericProgrammableAttrEntry, text)
}

// outersOp sometimes changes outer headers.
func (g *gen) outersOp() {
	g.wrapped(func() {
		if !g.marking {
			return
		}
		switch g.IntN(8) {
		case 0:
			g.outerOp(g.flowIndex())
		case 1:
			g.encapProfileOp(g.lane())
		case 2:
			g.localOp(byte(3 + g.IntN(2)))
		case 5:
			g.set(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrMTU, sai.Uint(68+g.IntN(1000)))
		case 3:
			g.outerFlowOp()
		case 4:
			g.set(sai.ObjectTypePort, sai.PortAttrMTU, sai.Uint(100+g.IntN(600)))
		}
	})
}

// changeOuters runs outersOp after all earlier changes. An index that loses its entries and gets others in one change
// is not emptied in the reference, which sees only the state between two packets.
func (p *pair) changeOuters() {
	if p.wrapping != nil {
		p.configure()
		p.outersOp()
	}
}

// outerFrame sends more packets to the router, and adds correct or wrong outer headers to some of them.
func (g *gen) outerFrame(b []byte) []byte {
	g.wrapped(func() {
		if g.chance(85) {
			copy(b, ownMAC[:])
		}
		l3 := 14
		for len(b) >= l3+4 && (b[l3-2] == 0x81 && b[l3-1] == 0 || b[l3-2] == 0x88 && b[l3-1] == 0xa8) {
			l3 += 4
		}
		v4 := len(b) > l3 && b[l3-2] == 8 && b[l3-1] == 0
		if !v4 && (len(b) <= l3 || b[l3-2] != 0x86 || b[l3-1] != 0xdd) || !g.chance(50) {
			return
		}
		inner := append([]byte{}, b[l3:]...)
		size := len(inner)
		switch {
		case v4 && size >= 4:
			size = int(binary.BigEndian.Uint16(inner[2:]))
		case !v4 && size >= 6:
			size = 40 + int(binary.BigEndian.Uint16(inner[4:]))
		}
		next, first := byte(41), pick[byte](g, 60, 60, 60, 0)
		if v4 {
			next = 4
		}
		var options []byte
		if g.chance(85) {
			options = binary.BigEndian.AppendUint32([]byte{next, 0, 0x12, 4}, pick[uint32](g, 0, 1)<<12|g.Uint32N(4)<<10)
		} else {
			options = g.optionsHeader(nil)
			options[0] = next
		}
		src, dst := g.ends()
		tc := g.dscp()<<2 | pick[byte](g, 0, 0, 0, 1, 2, 3)
		b = append(b[:l3-2], 0x86, 0xdd, 0x60|tc>>4, tc<<4, 0, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(len(options)+size))
		b = append(append(append(b, first, pick[byte](g, 64, 64, 1, 0)), src[:]...), dst[:]...)
		b = append(append(b, options...), inner...)
		if g.chance(15) {
			b[l3+g.IntN(len(b)-l3)] ^= byte(1 << g.IntN(8))
		}
		if g.chance(10) { // changes a byte after the addresses
			b[l3+40+g.IntN(min(16, len(b)-l3-40))] = byte(g.IntN(64))
		}
	})
	return b
}

// outerWords returns the names of the counters of outer headers, in order.
func outerWords() []string { return []string{"put around", "taken off", "too long", "damaged"} }

// outers returns the events of outer headers that must occur.
func outers() (all []string) {
	for _, w := range outerWords() {
		all = append(all, "outer: "+w)
	}
	return all
}

// noteOuters counts the events of outer headers.
func (p *pair) noteOuters(words []uint64) {
	for i, n := range words {
		if n > 0 {
			p.saw["outer: "+outerWords()[i%4]] += int(n)
		}
	}
}
