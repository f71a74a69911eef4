package saisim_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// local makes a session that copies frames unchanged to a port. pairs are further attributes.
func (r *rig) local(to saisim.PortID, pairs ...any) sai.OID {
	r.Helper()
	return r.create(sai.ObjectTypeMirrorSession, append([]any{sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
		sai.MirrorSessionAttrMonitorPort, r.oid(to)}, pairs...)...)
}

// erspan makes a session from 192.0.2.1 to .2, or 2001:db8::1 to ::2.
func (r *rig) erspan(to saisim.PortID, kind sai.Enum, v6 bool, pairs ...any) sai.OID {
	r.Helper()
	src, dst, version := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), 4
	if v6 {
		src, dst, version = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 6
	}
	gre := sai.Uint(0x88be)
	if kind == sai.ErspanEncapsulationTypeIii {
		gre = 0x22eb
	}
	return r.create(sai.ObjectTypeMirrorSession, append([]any{sai.MirrorSessionAttrType,
		sai.MirrorSessionTypeEnhancedRemote,
		sai.MirrorSessionAttrMonitorPort, r.oid(to), sai.MirrorSessionAttrErspanEncapsulationType, kind,
		sai.MirrorSessionAttrIphdrVersion, sai.Uint(version), sai.MirrorSessionAttrTOS, sai.Uint(0x2c),
		sai.MirrorSessionAttrTTL, sai.Uint(63),
		sai.MirrorSessionAttrSrcIPAddress, sai.IP{Addr: src}, sai.MirrorSessionAttrDstIPAddress, sai.IP{Addr: dst},
		sai.MirrorSessionAttrSrcMACAddress, sai.MAC{2, 0, 0, 0, 2, 1}, sai.MirrorSessionAttrDstMACAddress,
		sai.MAC{2, 0, 0, 0, 2, 2},
		sai.MirrorSessionAttrGREProtocolType, gre}, pairs...)...)
}

// on returns the frames that left by a port.
func on(outs []sent, id saisim.PortID) (frames [][]byte) {
	for _, o := range outs {
		if o.port == id {
			frames = append(frames, o.data)
		}
	}
	return frames
}

// A mirror session encapsulates a frame, byte by byte.
func TestMirrorEncapsulation(t *testing.T) {
	frame := udpFrame(1, 2, 100)
	tagged := eth(host(2), host(1), tag(0x8100, 0xa064), frame[12:])
	macs := []byte{2, 0, 0, 0, 2, 2, 2, 0, 0, 0, 2, 1}
	outer4 := func(n int) []byte { // checksum filled in below
		b := append([]byte{8, 0, 0x45, 0x2c}, u16(uint16(20+n))...)
		return append(b, 0, 0, 0x40, 0, 63, 47, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2)
	}
	outer6 := func(n int) []byte {
		b := append([]byte{0x86, 0xdd, 0x62, 0xc0, 0, 0}, u16(uint16(n))...)
		b = append(b, 47, 63)
		s, d := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
		return append(append(b, s.AsSlice()...), d.AsSlice()...)
	}
	gre, zero := []byte{0, 0, 0x88, 0xbe}, make([]byte, 4)
	l3 := sai.ErspanEncapsulationTypeMirrorL3GRETunnel
	for _, tt := range []struct {
		name    string
		session func(r *rig) sai.OID
		frame   []byte
		want    []byte
	}{
		{"SPAN", func(r *rig) sai.OID { return r.local(7) }, frame, frame},
		{"SPAN of a tagged frame", func(r *rig) sai.OID { return r.local(7) }, tagged, tagged},
		{"SPAN truncated", func(r *rig) sai.OID { return r.local(7, sai.MirrorSessionAttrTruncateSize, sai.Uint(64)) }, frame,
			frame[:64]},
		{"RSPAN", func(r *rig) sai.OID {
			return r.create(sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrType, sai.MirrorSessionTypeRemote,
				sai.MirrorSessionAttrMonitorPort, r.oid(7), sai.MirrorSessionAttrVLANID, sai.Uint(500),
				sai.MirrorSessionAttrVLANPri, sai.Uint(5))
		}, frame, slices.Concat(frame[:12], tag(0x8100, 0xa000|500), frame[12:])},
		{"GRE over IPv4", func(r *rig) sai.OID { return r.erspan(7, l3, false) }, frame,
			sum(slices.Concat(macs, outer4(4+100), gre, frame))},
		{"GRE over IPv6", func(r *rig) sai.OID { return r.erspan(7, l3, true) }, frame,
			slices.Concat(macs, outer6(4+100), gre, frame)},
		{"GRE in a VLAN, truncated", func(r *rig) sai.OID {
			return r.erspan(7, l3, true, sai.MirrorSessionAttrVLANHeaderValid, sai.Bool(true), sai.MirrorSessionAttrVLANID,
				sai.Uint(9),
				sai.MirrorSessionAttrTruncateSize, sai.Uint(80))
		}, frame, slices.Concat(macs, tag(0x8100, 9), outer6(4+80), gre, frame[:80])},
		{"ERSPAN II", func(r *rig) sai.OID {
			return r.erspan(7, sai.ErspanEncapsulationTypeIi, false, sai.MirrorSessionAttrErspanSessionID, sai.Uint(0x155))
		}, frame, sum(slices.Concat(macs, outer4(16+100), []byte{0x10, 0, 0x88, 0xbe, 0, 0, 0, 0, 0x10, 0, 0x01, 0x55, 0, 0,
			0, 0}, frame))},
		{"ERSPAN II of a tagged frame, truncated", func(r *rig) sai.OID {
			return r.erspan(7, sai.ErspanEncapsulationTypeIi, false, sai.MirrorSessionAttrTruncateSize, sai.Uint(70))
		}, tagged, sum(slices.Concat(macs, outer4(16+70), []byte{0x10, 0, 0x88, 0xbe, 0, 0, 0, 0, 0x10, 0x64, 0xbc, 0, 0, 0,
			0, 0}, tagged[:70]))},
		{"ERSPAN III", func(r *rig) sai.OID {
			return r.erspan(7, sai.ErspanEncapsulationTypeIii, false, sai.MirrorSessionAttrErspanSessionID, sai.Uint(0x155))
		}, frame, sum(slices.Concat(macs, outer4(20+100), []byte{0x10, 0, 0x22, 0xeb, 0, 0, 0, 0, 0x20, 0, 0x01, 0x55}, zero,
			[]byte{0, 0, 0x80, 2}, frame))},
		{"ERSPAN III of a tagged frame, truncated", func(r *rig) sai.OID {
			return r.erspan(7, sai.ErspanEncapsulationTypeIii, false, sai.MirrorSessionAttrTruncateSize, sai.Uint(70))
		}, tagged, sum(slices.Concat(macs, outer4(20+70), []byte{0x10, 0, 0x22, 0xeb, 0, 0, 0, 0, 0x20, 0x64, 0xa4, 0}, zero,
			[]byte{0, 0, 0x80, 2}, tagged[:70]))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			r.leave(7)
			r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrIngressMirrorSession, sai.OIDs{tt.session(r)})
			got := on(r.send(0, tt.frame), 7)
			if n := len(macs) + 34; len(got) == 1 && len(tt.want) > n && tt.want[36] == 0x22 {
				// ERSPAN III contains the time of the frame's arrival, in units of 100 ns.
				at := r.TimeOfDay(r.Now())
				says := binary.BigEndian.Uint32(got[0][n:])
				if ago := uint32(at.UnixNano()/100) - says; ago > 100 {
					t.Errorf("the copy was received %d * 100 ns ago, want at most 10 us", ago)
				}
				clear(got[0][n:][:4])
			}
			if len(got) != 1 || !bytes.Equal(got[0], tt.want) {
				t.Fatalf("got  %x\nwant %x", got, tt.want)
			}
			got = on(r.send(0, tt.frame), 7)
			if len(tt.want) > 46 && tt.want[34] == 0x10 && binary.BigEndian.Uint32(got[0][38:]) != 1 {
				t.Errorf("the second copy has the sequence number %x, want 1", got[0][38:42])
			}
		})
	}
}

// An egress mirror copy is made where the egress pipe ends: the length of the pipe in cycles after the scheduler.
func TestEgressMirrorTime(t *testing.T) {
	r := newRig(t, profile.Small())
	r.leave(7)
	r.send(1, udpFrame(2, 1, 100))
	r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrEgressMirrorSession, sai.OIDs{r.local(7)})
	outs := r.send(0, udpFrame(1, 2, 100))
	p := r.Profile()
	pipe := saisim.Cycle(p.EgressStages*p.StageCycles + p.Deparser)
	if len(outs) != 2 || outs[0].port != 1 || outs[1].port != 7 || outs[1].at-outs[0].at != pipe {
		t.Errorf("%v, want the copy %d cycles later", outs, pipe)
	}
}

// Invalid combinations are refused, by name.
func TestMirrorRefusals(t *testing.T) {
	r := newRig(t, profile.Small())
	base := func(kind sai.Enum, pairs ...any) []any {
		return append([]any{sai.MirrorSessionAttrType, kind, sai.MirrorSessionAttrMonitorPort, r.oid(7)}, pairs...)
	}
	local := sai.MirrorSessionTypeLocal
	for _, tt := range []struct {
		name  string
		want  sai.Status
		pairs []any
	}{
		{"sampling", sai.StatusAttrNotSupported0 - 2, base(local, sai.MirrorSessionAttrSampleRate, sai.Uint(10))},
		{"truncated to nothing", sai.StatusInvalidParameter, base(local, sai.MirrorSessionAttrTruncateSize, sai.Uint(10))},
		{"VLAN 4095", sai.StatusInvalidParameter, base(sai.MirrorSessionTypeRemote, sai.MirrorSessionAttrVLANID,
			sai.Uint(4095))},
		{"to the CPU", sai.StatusInvalidParameter, []any{sai.MirrorSessionAttrType, local, sai.MirrorSessionAttrMonitorPort,
			r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrCPUPort).(sai.OID)}},
	} {
		t.Run(tt.name, func(t *testing.T) { r.refused(tt.want, sai.ObjectTypeMirrorSession, tt.pairs...) })
	}
	session := r.local(7)
	r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrIngressMirrorSession, sai.OIDs{session})
	if err := r.Remove(r.Context(), sai.Obj(sai.ObjectTypeMirrorSession, session)); err == nil {
		t.Error("a session in use was removed")
	}
}
