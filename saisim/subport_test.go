package saisim_test

import (
	"bytes"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// withTag returns a frame with a VLAN tag.
func withTag(frame []byte, tci uint16) []byte {
	return slices.Insert(slices.Clone(frame), 12, 0x81, 0, byte(tci>>8), byte(tci))
}

// subPort makes a sub-port of the i-th port, with the MAC address of interface i.
func (r *router) subPort(i int, vlan uint64) sai.OID {
	r.Helper()
	return r.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrVirtualRouterID, r.vr,
		sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeSubPort, sai.RouterInterfaceAttrPortID, r.oid(r.Ports()[i]),
		sai.RouterInterfaceAttrOuterVLANID, sai.Uint(vlan), sai.RouterInterfaceAttrSrcMACAddress, rifMAC(i))
}

// Frames with the VLAN of a sub-port are routed there, and leave a sub-port with its VLAN and the priority that they
// had. The port itself keeps its untagged frames.
func TestSubPorts(t *testing.T) {
	r := newRouter(t)
	in, out := r.subPort(0, 10), r.subPort(1, 20)
	r.make(sai.NeighborEntry{Switch: r.sw, RIF: out, IP: at4(9, 9)}, sai.NeighborEntryAttrDstMACAddress, sai.MAC(host(27)))
	r.neighbor(1, at4(1, 9), 21)
	there, here := packet(0, at4(0, 9), at4(9, 9), 64, 100), packet(0, at4(0, 9), at4(1, 9), 64, 100)
	for _, tt := range []struct {
		name     string
		in, want []byte // nil means that nothing leaves
	}{
		{"from a sub-port to another", withTag(there, 0xa00a), withTag(routed(there, 1, 27), 0xa014)},
		{"from a port to a sub-port", there, withTag(routed(there, 1, 27), 20)},
		{"from a sub-port to a port", withTag(here, 0xa00a), routed(here, 1, 21)},
		{"from a port to a port", here, routed(here, 1, 21)},
		{"with a priority tag", withTag(there, 0xa000), withTag(routed(there, 1, 27), 0xa014)},
		{"with another VLAN", withTag(there, 11), nil},
		{"with two tags", withTag(withTag(there, 10), 10), nil},
	} {
		outs := r.send(r.Ports()[0], tt.in)
		switch {
		case tt.want == nil && len(outs) == 0:
		case len(outs) != 1 || outs[0].port != r.Ports()[1] || !bytes.Equal(outs[0].data, tt.want):
			t.Errorf("%s: out came %v, want %x", tt.name, outs, tt.want)
		}
	}
	counts := r.State().Interfaces
	if n := counts[config.ID(in)]; n[1] != 2 || n[5] != 1 {
		t.Errorf("the sub-port has counted %v, want 2 packets in and one error", n)
	}
	if n := counts[config.ID(out)]; n[3] != 3 {
		t.Errorf("the other sub-port has counted %v, want 3 packets out", n)
	}
	r.refused(sai.StatusItemAlreadyExists, sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrVirtualRouterID, r.vr,
		sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeSubPort, sai.RouterInterfaceAttrPortID, r.oid(r.Ports()[0]),
		sai.RouterInterfaceAttrOuterVLANID, sai.Uint(10))
	r.remove(sai.ObjectTypeRouterInterface, in)
	if outs := r.send(r.Ports()[0], withTag(there, 10)); len(outs) != 0 {
		t.Errorf("without the sub-port: out came %v", outs)
	}
	_ = r.subPort(0, 10)
}

// tunnel makes a tunnel with a loopback in the default virtual router.
func (r *router) tunnel(pairs ...any) sai.OID {
	r.Helper()
	overlay := r.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrVirtualRouterID, r.vr,
		sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeLoopback)
	return r.create(sai.ObjectTypeTunnel, append(pairs, sai.TunnelAttrType, sai.TunnelTypeIpinip,
		sai.TunnelAttrOverlayInterface, overlay, sai.TunnelAttrUnderlayInterface, overlay)...)
}

// A packet whose tunnel ends at the chip leaves without its outer header. The TTL, DSCP and ECN of that go to the inner
// one as the tunnel says. RFC 6040, figure 4, has the combinations of ECN.
func TestTunnelEnds(t *testing.T) {
	for _, tt := range []struct {
		name         string
		pairs        []any
		outer, inner byte // TOS
		want         byte // TOS, with TTL 8 of the outer header; 0xff means that the packet is dropped
	}{
		{"uniform", nil, 0x28, 0x10, 0x28},
		{"pipe", []any{sai.TunnelAttrDecapDSCPMode, sai.TunnelDSCPModePipeModel}, 0x28, 0x10, 0x10},
		{"CE into ECT(0)", nil, 0x2b, 0x12, 0x2b},
		{"ECT(1) into ECT(0)", nil, 0x29, 0x12, 0x29},
		{"ECT(0) into ECT(1)", nil, 0x2a, 0x11, 0x29},
		{"CE into a packet without ECN", nil, 0x2b, 0x10, 0xff},
		{"CE into a packet without ECN, copied", []any{sai.TunnelAttrDecapECNMode,
			sai.TunnelDecapECNModeCopyFromOuter}, 0x2b, 0x10, 0x2b},
	} {
		r := newRouter(t)
		r.neighbor(1, at4(1, 9), 21)
		r.create(sai.ObjectTypeTunnelTermTableEntry, sai.TunnelTermTableEntryAttrVrID, r.vr,
			sai.TunnelTermTableEntryAttrType, sai.TunnelTermTableEntryTypeP2mp, sai.TunnelTermTableEntryAttrDstIP,
			sai.IP{Addr: at4(0, 1)}, sai.TunnelTermTableEntryAttrTunnelType, sai.TunnelTypeIpinip,
			sai.TunnelTermTableEntryAttrActionTunnelID, r.tunnel(tt.pairs...))
		inner := packet(0, at4(0, 9), at4(1, 9), 64, 100)
		inner[15] = tt.inner
		sum(inner)
		outer := packet(0, at4(0, 7), at4(0, 1), 8, 100)[:34]
		outer[15], outer[16], outer[17], outer[23] = tt.outer, byte((len(inner)+6)>>8), byte(len(inner)+6), 4
		sum(outer)
		outs := r.send(r.Ports()[0], append(outer, inner[14:]...))
		if tt.want == 0xff {
			if n := r.FrameCounts().Dropped[drop.Decap]; len(outs) != 0 || n != 1 {
				t.Errorf("%s: out came %v, %d were dropped", tt.name, outs, n)
			}
			continue
		}
		want := slices.Clone(inner)
		want[15], want[22] = tt.want, 8
		if want = routed(want, 1, 21); len(outs) != 1 || !bytes.Equal(outs[0].data, want) {
			t.Errorf("%s: out came %v, want %x", tt.name, outs, want)
		}
	}
}
