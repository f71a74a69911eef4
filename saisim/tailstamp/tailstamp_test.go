package tailstamp_test

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/saisim/tailstamp"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// This is the layout of the record, byte by byte.
func TestRecordBytes(t *testing.T) {
	for _, tt := range []struct {
		name string
		rec  tailstamp.Record
		hex  string
	}{
		{
			name: "switch 2020 (0x7e4), in Ethernet4, out Ethernet8, 1234 ns apart",
			rec: tailstamp.Record{
				SwitchID: 2020,
				Ingress:  tailstamp.Timestamp{Seconds: 1_700_000_000, Nanoseconds: 999_999_000},
				Egress:   tailstamp.Timestamp{Seconds: 1_700_000_001, Nanoseconds: 234},
				InPort:   4, OutPort: 8,
			},
			hex: "000007e4 0000 6553f100 3b9ac618 0000 6553f101 000000ea 0004 0008 0000 5a10",
		},
		{
			name: "punted to the CPU, clock not synchronised, 48-bit seconds",
			rec: tailstamp.Record{
				SwitchID: 0xffffffff,
				Ingress:  tailstamp.Timestamp{Seconds: 1<<48 - 1, Nanoseconds: 1},
				InPort:   tailstamp.NoPort, OutPort: tailstamp.CPUPort,
				Flags: tailstamp.NoEgress | tailstamp.Unsynchronised,
			},
			hex: "ffffffff ffff ffffffff 00000001 0000 00000000 00000000 ffff ffff 0000 5a13",
		},
		{
			name: "the clock was set while the frame was there",
			rec: tailstamp.Record{
				SwitchID: 7, Ingress: tailstamp.Timestamp{Seconds: 2}, Egress: tailstamp.Timestamp{Seconds: 1},
				Flags: tailstamp.ClockSet,
			},
			hex: "00000007 0000 00000002 00000000 0000 00000001 00000000 0000 0000 0000 5a14",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.hex)
			if got := (tailstamp.V1{}).Append(nil, tt.rec); !bytes.Equal(got, want) {
				t.Errorf("Append:\n got %x\nwant %x", got, want)
			}
			got, ok := tailstamp.V1{}.Decode(want)
			if !ok || got != tt.rec {
				t.Errorf("Decode = %+v, %v; want %+v", got, ok, tt.rec)
			}
		})
	}
}

// Any content of a record is read back: seconds of 48 bits and known flags. Earlier bytes stay, and free memory is
// used.
func TestAnyRecordComesBack(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		any64 := func() uint64 { return rnd.Uint64() >> rnd.IntN(64) }
		for range 1000 {
			r := tailstamp.Record{
				SwitchID: uint32(any64()), InPort: uint16(any64()), OutPort: uint16(any64()), Flags: tailstamp.Flags(any64()),
				Ingress: tailstamp.Timestamp{Seconds: any64(), Nanoseconds: uint32(any64() % 1e9)},
				Egress:  tailstamp.Timestamp{Seconds: any64(), Nanoseconds: uint32(any64() % 1e9)},
			}
			before := bytes.Repeat([]byte{0xa5}, rnd.IntN(100))
			room := append(make([]byte, 0, rnd.IntN(200)), before...)
			frame := tailstamp.V1{}.Append(room, r)
			r.Ingress.Seconds, r.Egress.Seconds = r.Ingress.Seconds&(1<<48-1), r.Egress.Seconds&(1<<48-1)
			r.Flags &= tailstamp.NoEgress | tailstamp.Unsynchronised | tailstamp.ClockSet
			n := len(before)
			got, ok := tailstamp.V1{}.Decode(frame[n:])
			if !ok || got != r || !bytes.Equal(frame[:n], before) {
				t.Fatalf("%+v behind %d bytes comes back as %+v %v: %x", r, n, got, ok, frame)
			}
			if cap(room) >= n+tailstamp.Size && n > 0 && &room[0] != &frame[0] {
				t.Fatalf("with room for %d bytes the frame of %d moved", cap(room), len(frame))
			}
		}
	})
}

// BenchmarkPut measures the cost of writing a record.
func BenchmarkPut(b *testing.B) {
	var buf [tailstamp.Size]byte
	r := tailstamp.Record{SwitchID: 7, Ingress: tailstamp.Timestamp{Seconds: 1_700_000_000}, InPort: 4, OutPort: 8}
	for i := range b.N {
		r.Ingress.Nanoseconds = uint32(i)
		r.Put(&buf)
	}
}

func TestNotARecord(t *testing.T) {
	good := tailstamp.V1{}.Append(nil, tailstamp.Record{SwitchID: 1})
	for _, tt := range []struct {
		name string
		mend func(b []byte) []byte
		ok   bool
	}{
		{"whole", func(b []byte) []byte { return b }, true},
		{"unknown flag bits are ignored", func(b []byte) []byte { b[31] |= 0x08; return b }, true},
		{"wrong mark", func(b []byte) []byte { b[30] = 0x5b; return b }, false},
		{"version 2", func(b []byte) []byte { b[31] = 0x20; return b }, false},
		{"short", func(b []byte) []byte { return b[1:] }, false},
		{"long", func(b []byte) []byte { return append(b, 0) }, false},
		{"a reserved byte", func(b []byte) []byte { b[28] = 1; return b }, false},
		{"the other reserved byte", func(b []byte) []byte { b[29] = 0x80; return b }, false},
		{"the last nanosecond of a second", func(b []byte) []byte { copy(b[10:], "\x3b\x9a\xc9\xff"); return b }, true},
		{"10^9 ns at ingress", func(b []byte) []byte { copy(b[10:], "\x3b\x9a\xca\x00"); return b }, false},
		{"10^9 ns at egress", func(b []byte) []byte { copy(b[20:], "\x3b\x9a\xca\x00"); return b }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, ok := tailstamp.V1{}.Decode(tt.mend(bytes.Clone(good)))
			if ok != tt.ok || ok && r.Flags != 0 {
				t.Errorf("Decode = %+v, %v; want ok=%v", r, ok, tt.ok)
			}
		})
	}
}

const (
	macs   = "020000000002 020000000001"
	udp4   = "0800 4500001c000040004011 0000 0a000001 0a000002 1000 2000 0008 0000" // 28-byte datagram
	hosts6 = "20010db8000000000000000000000001 20010db8000000000000000000000002"
	udp6   = "86dd 6000000000081140 20010db8000000000000000000000001 20010db8000000000000000000000002 1000 2000 0008 0000"
	pad    = "000000000000000000000000000000000000" // 18 bytes: 42 -> 60
	rec1   = "00000001 0000 00000001 00000001 0000 00000001 00000002 0000 0004 0000 5a10"
	rec2   = "00000002 0000 00000001 00000003 0000 00000001 00000004 0008 000c 0000 5a10"
)

func TestDecodeFrame(t *testing.T) {
	for _, tt := range []struct {
		name, frame string
		switches    []uint32
		end         int
	}{
		{"IPv4 behind padding, one hop", macs + udp4 + pad + rec1, []uint32{1}, 60},
		{"IPv4 behind padding, two hops, oldest first", macs + udp4 + pad + rec1 + rec2, []uint32{1, 2}, 60},
		{"IPv4, no padding", macs + udp4 + rec1, []uint32{1}, 42},
		{"IPv4 in a VLAN", macs + "8100 0064" + udp4 + pad + rec1, []uint32{1}, 64},
		{"IPv4 in two VLANs", macs + "88a8 0064 8100 0065" + udp4 + rec1, []uint32{1}, 50},
		{"IPv6", macs + udp6 + rec2 + rec1, []uint32{2, 1}, 62},
		{"no record", macs + udp4 + pad, nil, 60},
		{"the mark inside the datagram is payload",
			macs + "0800 4500003c000040004011 0000 0a000001 0a000002 1000 2000 0028 0000" + rec1, nil, 74},
		{"record begins inside the datagram", macs + "0800 4500001d000040004011 0000 0a000001 0a000002 1000 2000 0009 0000" +
			rec1, nil, 74},
		{"not IP", macs + "88b5" + pad + pad + rec1, nil, 82},
		{"802.3 length field", macs + "0060 aaaa03000000" + udp4 + rec1, nil, 82},
		{"damaged: IPv4 longer than the frame", macs + "0800 4500ffff000040004011 0000 0a000001 0a000002" + rec1, nil, 66},
		{"damaged: IHL 4", macs + "0800 4400001c000040004011 0000 0a000001 0a000002" + rec1, nil, 66},
		{"five VLAN tags", macs + "81000001 81000001 81000001 81000001 81000001" + udp4 + rec1, nil, 94},
		{"an FCS behind two hops", macs + udp4 + pad + rec1 + rec2 + "deadbeef", []uint32{1, 2}, 60},
		{"an FCS between two hops", macs + udp4 + pad + rec1 + "deadbeef" + rec2, []uint32{1, 2}, 60},
		{"an FCS in front of two hops", macs + udp4 + pad + "deadbeef" + rec1 + rec2, []uint32{1, 2}, 64},
		{"length 0, as offloading cards capture it",
			macs + "0800 45000000000040004011 0000 0a000001 0a000002 1000 2000 0008 0000" + rec1, nil, 74},
		{"IPv6 with length 0 and UDP", macs + "86dd 6000000000001140" + hosts6 + "1000 2000 0008 0000" + rec1, nil, 94},
		{"IPv6 with no next header", macs + "86dd 6000000000003b40" + hosts6 + rec1, []uint32{1}, 54},
		{"IPv6 longer than the frame", macs + "86dd 6000000000291140" + hosts6 + "1000 2000 0008 0000" + rec1, nil, 94},
		{"a jumbogram that is short", macs + "86dd 6000000000000040" + hosts6 + "1100 c204 00000008" + rec1, nil, 94},
		{"empty", "", nil, 0},
		{"cut in the type", macs + "08", nil, 13},
	} {
		t.Run(tt.name, func(t *testing.T) {
			recs, end := tailstamp.Decode(unhex(t, tt.frame))
			var ids []uint32
			for _, r := range recs {
				ids = append(ids, r.SwitchID)
			}
			if len(ids) != len(tt.switches) || end != tt.end {
				t.Fatalf("Decode = switches %v, end %d; want %v, %d", ids, end, tt.switches, tt.end)
			}
			for i := range ids {
				if ids[i] != tt.switches[i] {
					t.Errorf("switches %v, want %v", ids, tt.switches)
				}
			}
		})
	}
}

func TestTimes(t *testing.T) {
	when := time.Date(2026, 2, 28, 23, 59, 59, 999_999_999, time.UTC)
	ts := tailstamp.At(when)
	if !ts.Time().Equal(when) {
		t.Errorf("At(%v).Time() = %v", when, ts.Time())
	}
	later := tailstamp.Timestamp{Seconds: ts.Seconds + 1, Nanoseconds: 0}
	r := tailstamp.Record{Ingress: ts, Egress: later}
	if d, ok := r.Latency(); !ok || d != time.Nanosecond {
		t.Errorf("Latency = %v, %v; want 1ns over the second's edge", d, ok)
	}
	r.Flags = tailstamp.NoEgress
	if _, ok := r.Latency(); ok {
		t.Error("a record without egress time has a latency")
	}
	if r.Flags = tailstamp.ClockSet; r.Flags != 4 {
		t.Errorf("flag %d on the wire, want 4", r.Flags)
	}
	if _, ok := r.Latency(); ok {
		t.Error("a record between whose times the clock was set has a latency")
	}
	if !(tailstamp.Timestamp{}).IsZero() || ts.IsZero() {
		t.Error("IsZero")
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 2*tailstamp.Size)
	if n := testing.AllocsPerRun(100, func() { buf = tailstamp.V1{}.Append(buf[:0], tailstamp.Record{}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzDecode checks that every decoded record encodes to the same bytes. Records never overlap the datagram or each
// other. Bytes after the padded datagram that are not a record are counted.
func FuzzDecode(f *testing.F) {
	f.Add(unhex(f, macs+udp4+pad+rec1+rec2))
	f.Add(unhex(f, macs+udp6+rec1))
	f.Add(unhex(f, macs+"8100 0064"+udp4+rec1))
	f.Add(unhex(f, macs+"8100 0064"+udp4+pad+"00000000"+rec1+"5a10"+rec2+"00005a10"))
	f.Add(unhex(f, macs+"86dd 6000000000000040"+hosts6+"1100 c204 00010000"+rec1))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		tail := tailstamp.ReadTail(frame)
		if len(tail.Records) == 0 {
			if tail.Begin != len(frame) || tail.Skipped != 0 {
				t.Fatalf("without a record %+v of %d bytes", tail, len(frame))
			}
			return
		}
		end, ok := tailstamp.DatagramEnd(frame)
		if !ok || tail.Begin < end {
			t.Fatalf("records begin at %d, datagram ends at %d, %v", tail.Begin, end, ok)
		}
		at, padded := tail.Begin, max(end, 60)
		skipped := max(0, at-padded)
		for i, r := range tail.Records {
			r.Flags &^= tailstamp.Searched
			enc := tailstamp.V1{}.Append(nil, r)
			next := at
			for ; next+len(enc) <= len(frame); next++ {
				if b := frame[next:][:len(enc)]; bytes.Equal(enc[:31], b[:31]) && enc[31]&^0xf == b[31]&^0xf {
					break
				}
			}
			if next+len(enc) > len(frame) || i == 0 && next != at {
				t.Fatalf("record %d: %x is not in %x behind %d", i, enc, frame, at)
			}
			skipped += next - at
			at = next + len(enc)
		}
		skipped += len(frame) - at
		tags := 4 * tailstamp.MaxTags // padding may come after that many tags
		if tail.Skipped > skipped || tail.Skipped < skipped-tags {
			t.Fatalf("%d bytes skipped of %d that are no record in %x", tail.Skipped, skipped, frame)
		}
	})
}
