package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// ACL entries have more actions than dropping and mirroring.
func TestACLRewrites(t *testing.T) {
	frame := packet(0, at4(0, 9), at4(1, 20), 64, 100)
	bridged := eth(host(77), host(9), frame[12:])
	dscp := func(f []byte) []byte { f[15] = 46 << 2; return sum(f) }
	v6 := packet(0, at6(0, 9), at6(1, 20), 64, 100)
	for _, tt := range []struct {
		name    string
		in      saisim.PortID
		frame   []byte
		actions func(r *router) []any
		port    saisim.PortID
		want    []byte
	}{
		{"DSCP of a routed packet", 0, frame, func(*router) []any {
			return []any{sai.ACLEntryAttrActionSetDSCP,
				sai.Do(sai.Uint(46))}
		},
			1, dscp(routed(frame, 1, 20))},
		{"DSCP of an IPv6 packet", 0, v6, func(*router) []any {
			return []any{sai.ACLEntryAttrActionSetDSCP,
				sai.Do(sai.Uint(46))}
		},
			1, func() []byte { f := routed(v6, 1, 20); f[14], f[15] = 0x6b, 0x80; return f }()},
		{"DSCP of a bridged packet", 6, bridged, func(*router) []any {
			return []any{sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(46))}
		},
			7, dscp(eth(host(77), host(9), frame[12:]))},
		{"a next hop", 0, frame, func(r *router) []any {
			r.neighbor(2, at4(2, 30), 30)
			return []any{sai.ACLEntryAttrActionRedirect, sai.Do(r.hop(2, at4(2, 30)))}
		}, 2, routed(frame, 2, 30)},
		{"a next hop, of a bridged packet", 6, bridged, func(r *router) []any {
			r.neighbor(1, at4(1, 31), 31)
			return []any{sai.ACLEntryAttrActionRedirect, sai.Do(r.hop(1, at4(1, 31)))}
		}, 1, routed(bridged, 1, 31)},
		{"a group", 0, frame, func(r *router) []any {
			g := r.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeEcmp)
			r.create(sai.ObjectTypeNextHopGroupMember, sai.NextHopGroupMemberAttrNextHopGroupID, g,
				sai.NextHopGroupMemberAttrNextHopID, r.hop(1, at4(1, 20)))
			return []any{sai.ACLEntryAttrActionRedirect, sai.Do(g)}
		}, 1, routed(frame, 1, 20)},
		{"a next hop, of what is not IP", 6, eth(host(77), host(9), u16(0x88b5), make([]byte, 46)), func(r *router) []any {
			return []any{sai.ACLEntryAttrActionRedirect, sai.Do(r.hop(1, at4(1, 20)))}
		}, 7, eth(host(77), host(9), u16(0x88b5), make([]byte, 46))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRouter(t)
			r.neighbor(1, at4(1, 20), 20)
			r.neighbor(1, at6(1, 20), 20)
			r.send(7, eth(host(1), host(77), u16(0x88b5), make([]byte, 46)))
			table := r.acl(sai.ACLStageIngress)
			r.entry(table, 1, tt.actions(r)...)
			r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
			got := on(r.send(tt.in, tt.frame), tt.port)
			if len(got) != 1 || string(got[0]) != string(tt.want) {
				t.Errorf("got  %x\nwant %x\ndrops %s", got, tt.want, r.dropped(tt.in))
			}
		})
	}
}

// Entries match the traffic class that the port assigns to a frame. Egress entries match the traffic class that an
// ingress entry has set.
func TestTrafficClassMatch(t *testing.T) {
	r := newRig(t, profile.Small())
	r.send(1, udpFrame(2, 1, 60))
	is := func(tc int) []any {
		return []any{sai.ACLEntryAttrFieldTC, sai.Match(sai.Uint(tc), sai.Uint(0xff))}
	}
	in, out := r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldTC, sai.Bool(true)),
		r.acl(sai.ACLStageEgress, sai.ACLTableAttrFieldTC, sai.Bool(true))
	three := r.entry(in, 2, append(is(3), sai.ACLEntryAttrActionSetTC, sai.Do(sai.Uint(1)))...)
	one := r.entry(out, 2, is(1)...)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, in)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrEgressACL, out)
	r.send(0, udpFrame(1, 2, 60))
	if r.packets(three) != 0 || r.packets(one) != 0 {
		t.Error("class 0 hits entries of others")
	}
	r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrQoSDefaultTC, sai.Uint(3))
	r.send(0, udpFrame(1, 2, 60))
	if r.packets(three) != 1 || r.packets(one) != 1 {
		t.Errorf("class 3, then 1: counted %d and %d, want one each", r.packets(three), r.packets(one))
	}
}
