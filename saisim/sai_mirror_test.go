package saisim_test

import (
	"net/netip"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
)

// sessionList returns a list of one mirror session to a port: local, or with the attributes of pairs.
func sessionList(to saisim.PortID, pairs func(d *dut) []any) func(d *dut) sai.Value {
	return func(d *dut) sai.Value {
		a := []any{sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal}
		if pairs != nil {
			a = pairs(d)
		}
		return sai.OIDs{d.create(sai.ObjectTypeMirrorSession, append(a, sai.MirrorSessionAttrMonitorPort, d.port(to).OID)...)}
	}
}

// saimirror.h: the effect of each session attribute on the copy. The original leaves by port 2, the copy by port 1.
func TestSAIMirrorSession(t *testing.T) {
	// session returns a mirror session of the frames received at port 0, with some attributes unless given.
	session := func(pairs ...any) specObject {
		return specObject{world: func(d *dut) {
			d.boot()
			d.unbridge(1)
		}, object: func(d *dut, with ...sai.Attr) sai.Key {
			for _, a := range append(attrs(pairs...), attrs(sai.MirrorSessionAttrMonitorPort, d.port(1).OID)...) {
				if _, given := sai.Find(with, a.ID); !given {
					with = append(with, a)
				}
			}
			k := d.make(sai.ObjectTypeMirrorSession, with...)
			d.set(d.port(0), sai.PortAttrIngressMirrorSession, sai.OIDs{k.OID})
			return k
		}, keep: true}
	}
	out := func(copied []byte) frames { return at(untagged, 2).and(copied, 1) }
	ip := func(s string) sai.IP { return sai.IP{Addr: netip.MustParseAddr(s)} }
	dmac, smac := sai.MAC{2, 0, 0, 0, 2, 2}, sai.MAC{2, 0, 0, 0, 2, 1}

	local := session(sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal)
	local.name = "local"
	otherPort := func(d *dut) sai.Value { return d.port(2).OID }
	thisPort := func(d *dut) sai.Value { return d.port(1).OID }
	small := []refusal{{sai.Uint(3), sai.StatusInvalidParameter}}
	local.rows = []specRow{
		{name: "goes to its monitor port", attr: sai.MirrorSessionAttrMonitorPort, value: otherPort, back: thisPort,
			in: in(untagged), with: at(untagged, 2, 2), without: out(untagged),
			refused: []refusal{{func(d *dut) sai.Value { return d.vlan1().OID }, sai.StatusInvalidParameter},
				{func(d *dut) sai.Value { return d.ofSwitch(sai.SwitchAttrCPUPort) }, sai.StatusInvalidParameter}}},
		{name: "is truncated", attr: sai.MirrorSessionAttrTruncateSize, value: sai.Uint(64), in: in(untagged),
			with: out(untagged[:64]), without: out(untagged), refused: small},
		{name: "is not truncated if it is shorter", attr: sai.MirrorSessionAttrTruncateSize,
			value: sai.Uint(len(untagged) + 1),
			in:    in(untagged), with: out(untagged), without: out(untagged)},
	}

	remote := session(sai.MirrorSessionAttrType, sai.MirrorSessionTypeRemote, sai.MirrorSessionAttrVLANID, sai.Uint(500))
	remote.name = "RSPAN"
	rspan := func(tpid, tci uint16) frames {
		return out(eth(untagged[:6], untagged[6:12], tag(tpid, tci), untagged[12:]))
	}
	remote.rows = []specRow{
		{name: "VLAN_ID", attr: sai.MirrorSessionAttrVLANID, value: sai.Uint(501), back: sai.Uint(500), in: in(untagged),
			with: rspan(0x8100, 501), without: rspan(0x8100, 500),
			refused: []refusal{{sai.Uint(4095), sai.StatusInvalidParameter}}},
		{name: "VLAN_PRI", attr: sai.MirrorSessionAttrVLANPri, value: sai.Uint(5), in: in(untagged),
			with: rspan(0x8100, 5<<13|500), without: rspan(0x8100, 500),
			refused: []refusal{{sai.Uint(8), sai.StatusInvalidParameter}}},
		{name: "VLAN_CFI", attr: sai.MirrorSessionAttrVLANCfi, value: sai.Uint(1), in: in(untagged),
			with: rspan(0x8100, 1<<12|500), without: rspan(0x8100, 500),
			refused: []refusal{{sai.Uint(2), sai.StatusInvalidParameter}}},
		{name: "VLAN_TPID", attr: sai.MirrorSessionAttrVLANTpid, value: sai.Uint(0x88a8), in: in(untagged),
			with: rspan(0x88a8, 500), without: rspan(0x8100, 500)},
	}

	// head holds the headers that ERSPAN adds. Checksum and length are recomputed.
	type head struct {
		dmac, smac sai.MAC
		tag        []byte
		tos, ttl   byte
		src, dst   netip.Addr
		gre        []byte
		data       []byte
	}
	first := head{dmac: dmac, smac: smac, tos: 0x2c, ttl: 63, src: ip("192.0.2.1").Addr, dst: ip("192.0.2.2").Addr,
		gre: []byte{0, 0, 0x88, 0xbe}, data: untagged}
	with := func(change func(h *head)) frames {
		h := first
		change(&h)
		n := 20 + len(h.gre) + len(h.data)
		f := slices.Concat(h.dmac[:], h.smac[:], []byte{8, 0, 0x45, h.tos}, u16(uint16(n)),
			[]byte{0, 0, 0x40, 0, h.ttl, 47, 0, 0},
			h.src.AsSlice(), h.dst.AsSlice(), h.gre, h.data)
		f = sum(f)
		return out(slices.Concat(f[:12], h.tag, f[12:]))
	}
	base := []any{sai.MirrorSessionAttrType, sai.MirrorSessionTypeEnhancedRemote,
		sai.MirrorSessionAttrErspanEncapsulationType, sai.ErspanEncapsulationTypeMirrorL3GRETunnel,
		sai.MirrorSessionAttrIphdrVersion, sai.Uint(4), sai.MirrorSessionAttrTOS, sai.Uint(0x2c), sai.MirrorSessionAttrTTL,
		sai.Uint(63),
		sai.MirrorSessionAttrSrcIPAddress, ip("192.0.2.1"), sai.MirrorSessionAttrDstIPAddress, ip("192.0.2.2"),
		sai.MirrorSessionAttrSrcMACAddress, smac, sai.MirrorSessionAttrDstMACAddress, dmac,
		sai.MirrorSessionAttrGREProtocolType, sai.Uint(0x88be)}
	erspan := session(base...)
	erspan.name = "ERSPAN"
	row := func(name string, attr sai.AttrID, value, back sai.Value, change func(h *head), refused ...refusal) specRow {
		return specRow{name: name, attr: attr, value: value, back: back, in: in(untagged), with: with(change),
			without: with(func(*head) {}), refused: refused}
	}
	erspan.rows = []specRow{
		row("TOS", sai.MirrorSessionAttrTOS, sai.Uint(0xb8), sai.Uint(0x2c), func(h *head) { h.tos = 0xb8 }),
		row("TTL", sai.MirrorSessionAttrTTL, sai.Uint(9), sai.Uint(63), func(h *head) { h.ttl = 9 }),
		row("SRC_IP_ADDRESS", sai.MirrorSessionAttrSrcIPAddress, ip("192.0.2.9"), ip("192.0.2.1"),
			func(h *head) { h.src = ip("192.0.2.9").Addr }, refusal{ip("2001:db8::1"), sai.StatusInvalidParameter}),
		row("DST_IP_ADDRESS", sai.MirrorSessionAttrDstIPAddress, ip("192.0.2.9"), ip("192.0.2.2"),
			func(h *head) { h.dst = ip("192.0.2.9").Addr }, refusal{ip("2001:db8::1"), sai.StatusInvalidParameter}),
		row("SRC_MAC_ADDRESS", sai.MirrorSessionAttrSrcMACAddress, dmac, smac, func(h *head) { h.smac = dmac }),
		row("DST_MAC_ADDRESS", sai.MirrorSessionAttrDstMACAddress, smac, dmac, func(h *head) { h.dmac = smac }),
		row("GRE_PROTOCOL_TYPE", sai.MirrorSessionAttrGREProtocolType, sai.Uint(0x6558), sai.Uint(0x88be),
			func(h *head) { h.gre = []byte{0, 0, 0x65, 0x58} }, refusal{sai.Uint(0x22eb), sai.StatusInvalidParameter}),
		row("TRUNCATE_SIZE", sai.MirrorSessionAttrTruncateSize, sai.Uint(40), nil, func(h *head) { h.data = untagged[:40] }),
		row("GRE_HEADER_FIRST_16BIT", sai.MirrorSessionAttrGREHeaderFirst16bit, sai.Uint(1), nil,
			func(h *head) { h.gre = []byte{0, 1, 0x88, 0xbe} }, refusal{sai.Uint(0x1000), sai.StatusInvalidParameter}),
		row("VLAN_HEADER_VALID", sai.MirrorSessionAttrVLANHeaderValid, sai.Bool(true), nil,
			func(h *head) { h.tag = tag(0x8100, 0) }),
	}
	inVLAN := session(append(base, sai.MirrorSessionAttrVLANHeaderValid, sai.Bool(true))...)
	inVLAN.name = "ERSPAN with a VLAN header"
	vlanRow := func(name string, attr sai.AttrID, value sai.Value, tpid, tci uint16) specRow {
		r := row(name, attr, value, nil, func(h *head) { h.tag = tag(tpid, tci) })
		r.without = with(func(h *head) { h.tag = tag(0x8100, 0) })
		return r
	}
	inVLAN.rows = []specRow{
		vlanRow("VLAN_ID", sai.MirrorSessionAttrVLANID, sai.Uint(77), 0x8100, 77),
		vlanRow("VLAN_PRI", sai.MirrorSessionAttrVLANPri, sai.Uint(3), 0x8100, 3<<13),
		vlanRow("VLAN_CFI", sai.MirrorSessionAttrVLANCfi, sai.Uint(1), 0x8100, 1<<12),
		vlanRow("VLAN_TPID", sai.MirrorSessionAttrVLANTpid, sai.Uint(0x9100), 0x9100, 0),
	}
	typeII := session(slices.Concat(base[:2], []any{sai.MirrorSessionAttrErspanEncapsulationType,
		sai.ErspanEncapsulationTypeIi},
		base[4:])...)
	typeII.name = "ERSPAN II"
	gre := func(id byte) func(h *head) {
		return func(h *head) { h.gre = []byte{0x10, 0, 0x88, 0xbe, 0, 0, 0, 0, 0x10, 0, 0, id, 0, 0, 0, 0} }
	}
	typeII.rows = []specRow{{name: "ERSPAN_SESSION_ID", attr: sai.MirrorSessionAttrErspanSessionID, value: sai.Uint(9),
		in:   in(untagged),
		with: with(gre(9)), without: with(gre(0)), refused: []refusal{{sai.Uint(1024), sai.StatusInvalidParameter}},
		see: func(d *dut, in ...frameAt) frames {
			left := d.send(in...)
			for _, f := range left {
				if f.port == 1 {
					clear(f.data[38:42]) // the sequence number, which continues
				}
			}
			return left
		}}}
	typeIII := session(slices.Concat(base[:2], []any{sai.MirrorSessionAttrErspanEncapsulationType,
		sai.ErspanEncapsulationTypeIii}, base[4:len(base)-1], []any{sai.Uint(0x22eb)})...)
	typeIII.name = "ERSPAN III"
	gre3 := func(id byte) func(h *head) {
		return func(h *head) {
			h.gre = []byte{0x10, 0, 0x22, 0xeb, 0, 0, 0, 0, 0x20, 0, 0, id, 0, 0, 0, 0, 0, 0, 0x80, 2}
		}
	}
	typeIII.rows = []specRow{{name: "ERSPAN_SESSION_ID", attr: sai.MirrorSessionAttrErspanSessionID, value: sai.Uint(9),
		in:   in(untagged),
		with: with(gre3(9)), without: with(gre3(0)), refused: []refusal{{sai.Uint(1024), sai.StatusInvalidParameter}},
		see: func(d *dut, in ...frameAt) frames {
			left := d.send(in...)
			for _, f := range left {
				if f.port == 1 {
					clear(f.data[38:42]) // the sequence number, which continues
					clear(f.data[46:50]) // time of the frame's arrival
				}
			}
			return left
		}}}
	runSpec(t, local, remote, erspan, inVLAN, typeII, typeIII)
}
