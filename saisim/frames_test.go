package saisim_test

import (
	"bytes"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

// Whatever is received, the chip does not fail, and frames that are not stamped leave as received.
func FuzzFrames(f *testing.F) {
	f.Add(udpFrame(1, 2, 60), uint16(0))
	f.Add(eth(host(2), host(1), tag(0x8100, 100), ip6(1, 2, 44, append([]byte{17, 0, 0, 1, 0, 0, 0, 1}, udp(1, 2, 9)...))),
		uint16(7))
	f.Add(eth(host(2), host(1), u16(60), make([]byte, 60)), uint16(0))
	f.Add(eth(host(2), host(1), ip6(1, 2, 0, []byte{0, 255, 1, 1, 1, 1, 1, 1})), uint16(0))
	f.Add([]byte{1}, uint16(1000))
	r := newRig(f, profile.Small())
	v := r.vlan(100)
	for id := range saisim.PortID(8) {
		r.member(v, r.bp(id), sai.VLANTaggingModeTagged)
	}
	table := r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldIPProtocol, sai.Bool(true), sai.ACLTableAttrFieldL4DstPort,
		sai.Bool(true))
	r.entry(table, 2, sai.ACLEntryAttrFieldL4DstPort, sai.Match(sai.Uint(53), sai.Uint(0xffff)))
	r.entry(table, 1, r.stampAction(7)...)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
	f.Fuzz(func(t *testing.T, data []byte, extra uint16) {
		r.TB = t
		if len(data) == 0 {
			return
		}
		in := saisim.Frame{Data: data, Len: len(data) + int(extra)}
		before := r.FrameCounts()
		outs := r.sendAt(0, r.Now(), in)
		if b := r.FrameCounts(); !b.Balanced() || b.InFlight != 0 || b.Received != before.Received+1 {
			t.Fatalf("books %+v", b)
		}
		for _, o := range outs {
			checkLeft(t, in, o)
		}
	})
}

// checkLeft checks that a frame left as received, without its tag if the tag named the untagged VLAN, and with a record
// if it was stamped.
func checkLeft(t *testing.T, in saisim.Frame, o sent) {
	t.Helper()
	want := in.Data
	if len(want) >= 18 && o.port != saisim.CPUPort && want[12] == 0x81 && want[13] == 0 {
		if vid := (uint16(want[14])<<8 | uint16(want[15])) & 0xfff; vid < 2 {
			want = append(bytes.Clone(want[:12]), want[16:]...)
		}
	}
	if !o.stamped {
		if !bytes.Equal(o.data, want) || o.length-len(o.data) != in.Len-len(in.Data) {
			t.Fatalf("%x of %d bytes left as %v", in.Data, in.Len, o)
		}
		return
	}
	want = pad(want, 60)
	recs, end := tailstamp.Decode(o.data)
	if len(recs) == 0 || !bytes.Equal(o.data[:len(want)], want) || len(o.data) != len(want)+tailstamp.Size ||
		end > len(want) {
		t.Fatalf("%x left stamped as %v", in.Data, o)
	}
}
