package saisim_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

const headerFrom, headerTo = "2001:db8:ff::1", "2001:db8:ff::3"

// encapsulated returns a frame's bytes with a header around its IPv4 packet.
func encapsulated(frame []byte, option uint32) []byte {
	src, dst := netip.MustParseAddr(headerFrom).As16(), netip.MustParseAddr(headerTo).As16()
	b := append(append([]byte{}, frame[:12]...), 0x86, 0xdd, 0x60, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(8+binary.BigEndian.Uint16(frame[16:])))
	b = append(append(append(b, 60, 9), src[:]...), dst[:]...)
	b = binary.BigEndian.AppendUint32(append(b, 4, 0, 0x12, 4), option)
	return append(b, frame[14:]...)
}

// newEncapLoad returns a load in which a header is added to all packets, or removed from them.
func newEncapLoad(t testing.TB, ends bool) *load {
	l := newRoutedLoad(t, 0, false)
	r := &router{rig: l.rig, vr: l.get(sai.ObjectTypeSwitch, l.sw, sai.SwitchAttrDefaultVirtualRouterID).(sai.OID)}
	r.rifs[0] = sai.OID(l.Tables().Interfaces[0].ID)
	what, role := "encap", altmark.Initiator
	if ends {
		what, role = "decap", altmark.Terminator
		r.route(headerTo+"/128", l.get(sai.ObjectTypeSwitch, l.sw, sai.SwitchAttrCPUPort).(sai.OID))
		for i, f := range l.frames {
			l.frames[i] = encapsulated(f, 7<<12)
		}
	} else {
		far := netip.MustParseAddr("2001:db8::2")
		r.neighbor(0, far, 77)
		r.route(headerTo+"/128", r.hop(0, far))
	}
	m := &marker{rig: l.rig}
	m.table = m.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true))
	m.set(sai.ObjectTypeSwitch, m.sw, sai.SwitchAttrIngressACL, m.table)
	m.extension(altmark.ObjectProfile, settingsJSON(fmt.Sprintf(
		`{"lane":0,"role":%q,"method":"double","interval":-10,"mark":"ipv6-altmark-l",`+
			`"mark2":"ipv6-altmark-d","slot-sync":true,"guard-ns":1000,"early-ns":1000,"encap":%t}`, role, !ends)))
	m.extension(altmark.ObjectFlow, encapJSON(what, !ends))
	m.flow(0, 3)
	return l
}

func encapJSON(what string, hops bool) sai.Bytes {
	limit := ""
	if hops {
		limit = `,"hop-limit":9`
	}
	return sai.Bytes(
		fmt.Sprintf(`{"attributes":[{"flow":{"value":{"index":3,"flow-mon-id":7,%q:{"src":%q,"dst":%q%s}}}}]}`, what,
			headerFrom, headerTo, limit))
}

// Encapsulation only decrements the TTL of the received packet and puts 48 bytes before it. Decapsulation only removes
// them. The router interface where it arrived counts it as received.
func TestEncapsulated(t *testing.T) {
	for _, ends := range []bool{false, true} {
		l := newEncapLoad(t, ends)
		var got []byte
		l.SetOutput(func(o *saisim.Out) { got = bytes.Clone(o.Data) })
		if err := l.Receive(l.Ports()[1], l.Now(), saisim.Frame{Data: l.frames[1]}); err != nil {
			t.Fatal(err)
		}
		l.Advance(l.Now() + 100_000)
		plain := bytes.Clone(newRoutedLoad(t, 0, false).frames[1])
		plain[22]-- // the TTL, which each router decrements
		binary.BigEndian.PutUint16(plain[24:], binary.BigEndian.Uint16(plain[24:])+0x100)
		want := plain
		if !ends { // L is the period's lowest bit; if it is 1, the first packet is the pulse
			l := uint32(got[60] >> 3 & 1)
			want = encapsulated(plain, 7<<12|l<<11|l<<10)
		}
		if len(got) != len(want) || !bytes.Equal(got[12:], want[12:]) {
			t.Errorf("ends %t:\n got %x\nwant %x", ends, got, want)
		}
		var octets [2]uint64
		for _, n := range l.State().Interfaces {
			octets[0], octets[1] = octets[0]+n[0], octets[1]+n[2]
		}
		if in, out := uint64(len(l.frames[1])+4), uint64(len(got)+4); octets != [2]uint64{in, out} {
			t.Errorf("ends %t: router interfaces count %d octets in and out; want %d, %d", ends, octets, in, out)
		}
	}
}

// Adding and removing headers allocates nothing.
func TestEncapDoesNotAllocate(t *testing.T) {
	countsAllocations(t)
	for _, ends := range []bool{false, true} {
		l := newEncapLoad(t, ends)
		l.pause = 20 // all encapsulated packets leave by the same port
		l.allocatesNothing(t, 200_000)
		l.balanced()
		if b := l.FrameCounts(); l.sent == 0 || b.ToCPU > 0 {
			t.Errorf("ends %t: %d frames left; books %+v", ends, l.sent, b)
		}
	}
}

// An impossible header is refused, with valid values in the error.
func TestEncapRefused(t *testing.T) {
	for value, want := range map[string]string{
		`"encap":{"src":"10.0.0.1","dst":"2001:db8::2","hop-limit":9}`: `src of encap is ` +
			`"10.0.0.1", want an IPv6 address that is routed`,
		`"encap":{"src":"2001:db8::1","dst":"ff02::1","hop-limit":9}`: `dst of encap is ` +
			`"ff02::1", want an IPv6 address that is routed`,
		`"encap":{"src":"2001:db8::1","dst":"fe80::1","hop-limit":9}`: `dst of encap is ` +
			`"fe80::1", want`,
		`"encap":{"src":"2001:db8::1","dst":"2001:db8::2"}`: "hop-limit of encap " +
			"is 0, want 1 to 254",
		`"encap":{"src":"2001:db8::1","dst":"2001:db8::2","hop-limit":255}`: "hop-limit of encap " +
			"is 255, want 1 to 254",
		`"decap":{"src":"2001:db8::1","dst":"2001:db8::2","hop-limit":1}`: "decap has " +
			"hop-limit or hop-by-hop",
		`"decap":{"src":"2001:db8::1"}`: `dst of decap is ` +
			`"", want`,
		`"decap":{"src":"2001:db8::1","dst":"2001:db8::2"},"encap":{"src":"2001:db8::1",` +
			`"dst":"::2"}`: "encap and decap are given, want one of them",
	} {
		r := newRig(t, profile.Small())
		_, err := r.Create(t.Context(), sai.ObjectTypeGenericProgrammable, attrs(sai.GenericProgrammableAttrObjectName,
			sai.Bytes(altmark.ObjectFlow), sai.GenericProgrammableAttrEntry,
			sai.Bytes(`{"attributes":[{"flow":{"value":{"index":1,"flow-mon-id":2,`+value+`}}}]}`)))
		r.wantStatus(err, sai.StatusInvalidParameter)
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
	for settings, want := range map[string]string{
		`"role":"terminator","mark":"ipv6-altmark-l"`: "encap is true, but the role is terminator",
		`"role":"initiator","mark":"dscp0"`: `encap is true and mark is dscp0, mark2 "": want ipv6-altmark-l and ` +
			`ipv6-altmark-d`,
	} {
		r := newRig(t, profile.Small())
		_, err := r.Create(t.Context(), sai.ObjectTypeGenericProgrammable, attrs(sai.GenericProgrammableAttrObjectName,
			sai.Bytes(altmark.ObjectProfile), sai.GenericProgrammableAttrEntry, settingsJSON(
				`{"lane":0,"method":"step","interval":0,"slot-sync":true,"guard-ns":1,"early-ns":1,"encap":true,`+settings+`}`)))
		r.wantStatus(err, sai.StatusInvalidParameter)
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
}
