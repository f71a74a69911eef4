package saisim_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

// clamp makes an MSS clamp.
func (r *rig) clamp(label string, records int, filter string) sai.OID {
	r.Helper()
	return r.create(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName,
		sai.Bytes(tailstamp.ObjectClamp), sai.GenericProgrammableAttrEntry, clampEntry(label, records, filter))
}

func clampEntry(label string, records int, filter string) sai.Bytes {
	return sai.Bytes(fmt.Sprintf(`{"attributes":[{"clamp":{"value":{"label":%q,"records":%d,"filter":%q}}}]}`, label,
		records, filter))
}

// options returns a TCP header from port 1000 to port 80 with options and payload. Its checksum is for ip4 and ip6.
func options(flags byte, o ...byte) []byte {
	b := append(tcp(1000, 80, flags, 0), o...)
	b[12] = byte(len(b)/4) << 4
	return b
}

var (
	mss1460 = []byte{2, 4, 1460 >> 8, 1460 & 0xff}
	linux   = append(bytes.Clone(mss1460), 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7) // options that Linux sends
	oddly   = append(append([]byte{1}, mss1460...), 1, 1, 1)
)

// summed sets the correct checksum of a frame's TCP segment. The frame has an IP packet at l3 and the segment at l4.
func summed(f []byte, l3, l4 int) []byte {
	binary.BigEndian.PutUint16(f[l4+16:], 0)
	binary.BigEndian.PutUint16(f[l4+16:], tcpSum(f, l3, l4))
	return f
}

// tcpSum returns the checksum of a segment with its pseudo header (RFC 9293, section 3.1). It is 0 if the segment's
// checksum is correct.
func tcpSum(f []byte, l3, l4 int) uint16 {
	pseudo := f[l3+12 : l3+20]
	end := l3 + int(binary.BigEndian.Uint16(f[l3+2:]))
	if f[l3]>>4 == 6 {
		pseudo, end = f[l3+8:l3+40], l3+40+int(binary.BigEndian.Uint16(f[l3+4:]))
	}
	b := append(slices.Concat(pseudo, []byte{0, 6}), u16(uint16(end-l4))...)
	if b = append(b, f[l4:end]...); len(b)%2 != 0 {
		b = append(b, 0)
	}
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// A clamp for two records counts segments with SYN that arrive where a frame with a record may have 1518 bytes. FCS (4
// bytes), Ethernet (14), IP (20 or 40), TCP (20) and records (64) leave 1396 or 1376 bytes, 4 fewer per tag.
func TestClamp(t *testing.T) {
	a, b := host(1), host(2)
	const syn, synAck, ack = 2, 18, 16
	auth := func(p []byte) []byte { return append([]byte{6, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}, p...) }
	atomic := func(p []byte) []byte { return append([]byte{6, 9, 0, 0, 0, 0, 0, 1}, p...) }
	first := func(p []byte) []byte { return append([]byte{6, 0, 0, 1, 0, 0, 0, 1}, p...) }
	v4 := func(p []byte) []byte { return ip4(1, 2, 6, 0, p) }
	offset := func(f []byte, words byte) []byte { f[12] = words << 4; return f }
	for _, tt := range []struct {
		name   string
		frame  []byte
		l3, l4 int
		became tailstamp.SYNCount // SYNSeen if the clamp does not count it
		at     int                // offset of the MSS in the frame
		want   uint16
	}{
		{"SYN", eth(b, a, v4(options(syn, mss1460...))), 14, 34, tailstamp.SYNClamped, 56, 1396},
		{"SYN with ACK and other options", eth(b, a, v4(options(synAck, linux...))), 14, 34, tailstamp.SYNClamped, 56, 1396},
		{"the MSS in two words", eth(b, a, v4(options(syn, oddly...))), 14, 34, tailstamp.SYNClamped, 57, 1396},
		{"with payload", eth(b, a, v4(append(options(syn, mss1460...), 7, 8, 9))), 14, 34, tailstamp.SYNClamped, 56, 1396},
		{"behind options of IPv4", withIPOptions(eth(b, a, v4(options(syn, mss1460...)))), 14, 38, tailstamp.SYNClamped, 60,
			1396},
		{"with a tag", eth(b, a, tag(0x8100, 1), v4(options(syn, mss1460...))), 18, 38, tailstamp.SYNClamped, 60, 1392},
		{"with two tags", eth(b, a, tag(0x8100, 1), tag(0x8100, 7), v4(options(syn, mss1460...))), 22, 42,
			tailstamp.SYNClamped, 64, 1388},
		{"IPv6", eth(b, a, ip6(1, 2, 6, options(syn, mss1460...))), 14, 54, tailstamp.SYNClamped, 76, 1376},
		{"IPv6, behind an authentication header", eth(b, a, ip6(1, 2, 51, auth(options(syn, mss1460...)))), 14, 66,
			tailstamp.SYNClamped, 88, 1376},
		{"IPv6, an atomic fragment", eth(b, a, ip6(1, 2, 44, atomic(options(syn, mss1460...)))), 14, 62, tailstamp.SYNClamped,
			84, 1376},

		{"just small enough", eth(b, a, v4(options(syn, 2, 4, 1396>>8, 1396&0xff))), 14, 34, tailstamp.SYNSmall, 56, 1396},
		{"one more", eth(b, a, v4(options(syn, 2, 4, 1397>>8, 1397&0xff))), 14, 34, tailstamp.SYNClamped, 56, 1396},
		{"0", eth(b, a, v4(options(syn, 2, 4, 0, 0))), 14, 34, tailstamp.SYNSmall, 56, 0},
		{"no options", eth(b, a, v4(options(syn))), 14, 34, tailstamp.SYNWithout, 0, 0},
		{"an MSS behind the end of options", eth(b, a, v4(options(syn, append([]byte{1, 1, 1, 0}, mss1460...)...))), 14, 34,
			tailstamp.SYNWithout, 60, 1460},

		{"an option of length 0", eth(b, a, v4(options(syn, append(bytes.Clone(mss1460), 3, 0, 0, 0)...))), 14, 34,
			tailstamp.SYNMalformed, 56, 1460},
		{"an option beyond the header", eth(b, a, v4(options(syn, append(bytes.Clone(mss1460), 3, 5, 0, 0)...))), 14, 34,
			tailstamp.SYNMalformed, 56, 1460},
		{"an option that is its kind", eth(b, a, v4(options(syn, append(bytes.Clone(mss1460), 1, 1, 1, 3)...))), 14, 34,
			tailstamp.SYNMalformed, 56, 1460},
		{"an MSS of 3 bytes", eth(b, a, v4(options(syn, 2, 3, 5, 0))), 14, 34, tailstamp.SYNMalformed, 56, 0x500},
		{"an MSS twice", eth(b, a, v4(options(syn, append(bytes.Clone(mss1460), mss1460...)...))), 14, 34,
			tailstamp.SYNMalformed, 56, 1460},
		{"a header of 4 words", eth(b, a, v4(offset(options(syn, mss1460...), 4))), 14, 34, tailstamp.SYNMalformed, 56, 1460},
		{"a header beyond the packet", eth(b, a, v4(offset(options(syn, mss1460...), 7))), 14, 34, tailstamp.SYNMalformed, 56,
			1460},

		{"a first fragment", eth(b, a, ip4(1, 2, 6, 0x2000, options(syn, mss1460...))), 14, 34, tailstamp.SYNCut, 56, 1460},
		{"IPv6, a first fragment", eth(b, a, ip6(1, 2, 44, first(options(syn, mss1460...)))), 14, 62, tailstamp.SYNCut, 84,
			1460},

		{"no SYN", eth(b, a, v4(options(ack, mss1460...))), 14, 34, tailstamp.SYNSeen, 56, 1460},
		{"UDP", eth(b, a, ip4(1, 2, 17, 0, options(syn, mss1460...))), 14, 34, tailstamp.SYNSeen, 56, 1460},
		{"another port", eth(b, a, v4(append([]byte{3, 0xe8, 0, 81}, options(syn, mss1460...)[4:]...))), 14, 34,
			tailstamp.SYNSeen, 56, 1460},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			r.SetWire(0, true, 1518)
			r.clamp("s", 2, "dst-port=80")
			out := r.send(0, summed(bytes.Clone(tt.frame), tt.l3, tt.l4))
			if len(out) == 0 {
				t.Fatalf("nothing left: %s", r.dropped(0))
			}
			got := out[0].data
			shift := len(got) - len(tt.frame) // an untagged port removes the tag
			if tt.at > 0 && binary.BigEndian.Uint16(got[tt.at+shift:]) != tt.want {
				t.Errorf("MSS %d, want %d", binary.BigEndian.Uint16(got[tt.at+shift:]), tt.want)
			}
			if sum := tcpSum(got, tt.l3+shift, tt.l4+shift); sum != 0 {
				t.Errorf("the checksum is wrong by %#x", sum)
			}
			want := saisim.State{}.SYNs[0]
			if tt.became != tailstamp.SYNSeen {
				want[tailstamp.SYNSeen], want[tt.became] = 1, 1
			}
			if got := r.syns(); got != want {
				t.Errorf("counted %d, want %d", got, want)
			}
		})
	}
}

// syns returns the sum of the clamps' counts.
func (r *rig) syns() (sum [tailstamp.NumSYNCounts]uint64) {
	for _, x := range r.State().SYNs {
		for i, n := range x {
			sum[i] += n
		}
	}
	return sum
}

// withIPOptions adds a word of options to the IPv4 packet of an untagged frame.
func withIPOptions(f []byte) []byte {
	f = slices.Concat(f[:34], []byte{1, 1, 1, 0}, f[34:])
	f[14]++
	f[17] += 4
	return f
}

// A full segment of a connection whose SYN was clamped has room for the last record on the wire, but not for one more
// byte.
func TestClampMakesRoom(t *testing.T) {
	for _, tt := range []struct {
		name    string
		records int
		segment func(n int) []byte // n bytes of payload, and records of other switches
		mss     int
	}{
		{"IPv4", 1, func(n int) []byte { return eth(host(1), host(2), ip4(2, 1, 6, 0, tcp(80, 1000, 16, n))) }, 1428},
		{"IPv6", 1, func(n int) []byte { return eth(host(1), host(2), ip6(2, 1, 6, tcp(80, 1000, 16, n))) }, 1408},
		{"the third switch", 3, func(n int) []byte {
			f := eth(host(1), host(2), ip4(2, 1, 6, 0, tcp(80, 1000, 16, n)))
			for range 2 {
				f = tailstamp.V1{}.Append(f, tailstamp.Record{SwitchID: 9})
			}
			return f
		}, 1364},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			r.SetWire(0, true, 1518)
			r.clamp("s", tt.records, "src-port=1000")
			syn := eth(host(2), host(1), ip4(1, 2, 6, 0, options(2, mss1460...)))
			if tt.name == "IPv6" {
				syn = eth(host(2), host(1), ip6(1, 2, 6, options(2, mss1460...)))
			}
			out := r.send(0, syn)
			at := bytes.Index(out[0].data, []byte{2, 4, byte(tt.mss >> 8), byte(tt.mss)})
			if at < 0 {
				t.Fatalf("no MSS of %d in %x", tt.mss, out[0].data)
			}
			r.stampAll(7)
			for n, want := range map[int]bool{tt.mss: true, tt.mss + 1: false} {
				if out := r.send(1, tt.segment(n)); len(out) != 1 || out[0].stamped != want {
					t.Errorf("segment of %d bytes: %v, want stamped %v", n, out, want)
				}
			}
		})
	}
}

// If several clamps match, the one with the lowest limit applies, in any order of creation, and each counts the
// segment. A removed clamp has no effect. Copies for the CPU and for mirror sessions are as received.
func TestClampsTogether(t *testing.T) {
	r := newRig(t, profile.Small())
	r.SetWire(0, true, 1518)
	ids := []sai.OID{r.clamp("a", 1, "any"), r.clamp("b", 3, "ip=4"), r.clamp("b", 8, "ip=6"),
		r.clamp("c", 2, "protocol=6")}
	mss := func(data []byte) uint16 { return binary.BigEndian.Uint16(data[56:]) }
	syn := summed(eth(host(2), host(1), ip4(1, 2, 6, 0, options(2, mss1460...))), 14, 34)
	if out := r.send(0, syn); mss(out[0].data) != 1364 {
		t.Errorf("MSS %d, want 1364", mss(out[0].data))
	}
	r.remove(sai.ObjectTypeGenericProgrammable, ids[1])
	if out := r.send(0, syn); mss(out[0].data) != 1396 {
		t.Errorf("MSS %d, want 1396", mss(out[0].data))
	}
	r.set(sai.ObjectTypeGenericProgrammable, ids[3], sai.GenericProgrammableAttrEntry, clampEntry("c", 4, "any"))
	r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeIp2me, sai.HostifTrapAttrPacketAction,
		sai.PacketActionTrap)
	punted := bytes.Clone(syn)
	copy(punted, []byte{2, 0, 0, 0, 0, 0xaa}) // the switch's own address
	if out := r.send(0, punted); len(out) != 1 || out[0].port != saisim.CPUPort || !bytes.Equal(out[0].data, punted) {
		t.Errorf("for the CPU: %v", out)
	}
	if got := r.State().SYNs; len(got) != 3 {
		t.Errorf("%d clamps count", len(got))
	}
}

// An MSS below MinMSS is never written.
func TestClampWithoutRoom(t *testing.T) {
	r := newRig(t, profile.Small())
	r.SetWire(0, true, 18+40+32+tailstamp.MinMSS-1)
	r.clamp("s", 1, "any")
	syn := eth(host(2), host(1), ip4(1, 2, 6, 0, options(2, mss1460...)))
	if out := r.send(0, syn); binary.BigEndian.Uint16(out[0].data[56:]) != 1460 || r.syns()[tailstamp.SYNNoRoom] != 1 {
		t.Errorf("%v, counted %d", out, r.syns())
	}
	r.SetWire(0, true, 18+40+32+tailstamp.MinMSS)
	if out := r.send(0, syn); binary.BigEndian.Uint16(out[0].data[56:]) != tailstamp.MinMSS ||
		r.syns()[tailstamp.SYNClamped] != 1 {
		t.Errorf("%v, counted %d", out, r.syns())
	}
}

// All errors of a clamp are reported, and nothing changes. The profile limits the number of clamps.
func TestClampEntries(t *testing.T) {
	p := profile.Small()
	p.MSSClamps = 2
	r := newRig(t, p)
	id := r.clamp("s", 1, "any")
	for _, tt := range []struct {
		entry sai.Bytes
		want  []string
	}{
		{clampEntry("", 9, "colour=red"), []string{`label "", want 1 to 64 bytes`, "records is 9, want 1 to 8",
			`filter field "colour"`}},
		{clampEntry(strings.Repeat("x", 65), 0, "src-port=2-1"), []string{"want 1 to 64 bytes", "records is 0",
			`src-port "2-1"`}},
		{sai.Bytes(`{"attributes":[]}`), []string{"clamp is missing"}},
		{sai.Bytes(`{"attributes":[{"clamp":{"value":{"label":"s","records":1,"filter":"any","port":1}}}]}`),
			[]string{`unknown field "port"`}},
		{sai.Bytes(`{"attributes":[{"clamp":{"value":{"label":"s","records":"1"}}}]}`),
			[]string{"records is a string, want int"}},
		{sai.Bytes(`[`), []string{"entry: "}},
	} {
		err := r.Set(context.Background(), sai.Obj(sai.ObjectTypeGenericProgrammable, id),
			sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: tt.entry})
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", tt.entry, err, want)
			}
		}
	}
	if rows := r.Tables().MSSClamps; len(rows) != 1 || rows[0].Label != "s" || rows[0].Records != 1 {
		t.Errorf("rows %+v", rows)
	}
	name := attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes(tailstamp.ObjectClamp))
	if n, err := r.Availability(context.Background(), sai.ObjectTypeGenericProgrammable, name); n != 2 || err != nil {
		t.Errorf("availability %d, %v", n, err)
	}
	r.clamp("s", 1, "any")
	r.refused(sai.StatusInsufficientResources, sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName,
		sai.Bytes(tailstamp.ObjectClamp), sai.GenericProgrammableAttrEntry, clampEntry("s", 1, "any"))
	p.MSSClamps = 0
	r = newRig(t, p)
	if n, err := r.Availability(context.Background(), sai.ObjectTypeGenericProgrammable, name); n != 0 || err != nil {
		t.Errorf("availability without clamps %d, %v", n, err)
	}
}

// Clamped segments allocate nothing on the heap either.
func TestClampsDoNotAllocate(t *testing.T) {
	countsAllocations(t)
	l := newClampLoad(t)
	l.allocatesNothing(t, 10_000)
	if n := l.syns(); n[tailstamp.SYNClamped] == 0 || n[tailstamp.SYNClamped] != n[tailstamp.SYNSeen] {
		t.Errorf("counted %d", n)
	}
}

// newClampLoad returns a load of segments with SYN, all of which are clamped.
func newClampLoad(t testing.TB) *load {
	l := newLoad(t, 0, true)
	for i := range l.frames {
		l.frames[i] = eth(host(byte((i+1)%32+1)), host(byte(i+1)), ip4(byte(i+1), byte((i+1)%32+1), 6, 0,
			options(2, mss1460...)))
		l.SetWire(saisim.PortID(1+4*i), true, 1400)
	}
	l.clamp("s", 1, "dst-port=80,src-ip=10.0.0.0/8")
	return l
}

// BenchmarkClamp measures MSS clamps with packets with SYN and without.
func BenchmarkClamp(b *testing.B) {
	for _, syn := range []bool{false, true} {
		b.Run(fmt.Sprintf("SYN=%v", syn), func(b *testing.B) {
			l := newLoad(b, 0, true)
			l.clamp("s", 1, "any")
			if syn {
				l = newClampLoad(b)
			}
			l.step(10_000)
			b.ReportAllocs()
			for b.Loop() {
				l.step(1000)
			}
		})
	}
}
