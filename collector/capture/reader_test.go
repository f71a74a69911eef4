package capture

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// got is a packet in the form that these tests compare. Nanos counts from the second 1795226788, in which the files of
// testdata were recorded.
type got struct {
	Nanos         int64
	Captured, Len int
}

func same(a, b Packet) bool {
	return a.Time.Equal(b.Time) && a.Len == b.Len && bytes.Equal(a.Data, b.Data)
}

func readAll(t *testing.T, next func() (Packet, error)) (all []Packet, err error) {
	t.Helper()
	for {
		p, err := next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		p.Data = bytes.Clone(p.Data)
		all = append(all, p)
	}
}

// The files were written by tcpdump, editcap and mergecap, and the expected content is that of tshark. cooked.pcap and
// raw.pcapng have the packets of micro.pcap with other link types.
func TestFilesOfOtherTools(t *testing.T) {
	tests := []struct {
		file string
		want []got
	}{
		{"nano.pcap", []got{{665085839, 98, 98}, {721124626, 98, 98}, {777160032, 98, 98}, {833127319, 98, 98},
			{889153546, 98, 98}, {898456925, 74, 74}, {898500915, 66, 66}}},
		{"micro.pcap", []got{{665081000, 42, 42}, {665118000, 98, 98}, {721141000, 98, 98}, {777203000, 98, 98},
			{833147000, 98, 98}, {857173000, 94, 94}}},
		{"tcpdump.pcap", []got{{665081000, 42, 42}, {665118000, 98, 98}, {721141000, 98, 98}, {777203000, 98, 98},
			{833147000, 98, 98}}},
		{"snap60.pcap", []got{{901414415, 60, 66}, {901416705, 60, 66}, {901429205, 60, 66}, {901431455, 60, 66},
			{901434975, 60, 66}, {901436835, 60, 66}}},
		{"nano.pcap.gz", []got{{665085839, 98, 98}, {721124626, 98, 98}, {777160032, 98, 98}, {833127319, 98, 98},
			{889153546, 98, 98}, {898456925, 74, 74}, {898500915, 66, 66}}},
		{"cooked.pcap", []got{{665081000, 42, 42}, {665118000, 98, 98}, {721141000, 98, 98}, {777203000, 98, 98},
			{833147000, 98, 98}, {857173000, 94, 94}}},
		{"raw.pcapng", []got{{665118000, 98, 98}, {721141000, 98, 98}, {777203000, 98, 98}, {833147000, 98, 98}}},
		{"comment.pcapng", []got{{574814104, 80, 94}, {665048399, 42, 42}, {665085839, 80, 98}, {721124626, 80, 98}}},
		{"two-interfaces.pcapng", []got{{574814104, 94, 94}, {665048399, 42, 42}, {665081539, 42, 42}, {665085839, 98, 98},
			{665118019, 98, 98}, {721124626, 98, 98}, {721141436, 98, 98}, {777160032, 98, 98}, {777203612, 98, 98},
			{833127319, 98, 98}, {833147809, 98, 98}, {857173568, 94, 94}}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			r, err := Open(filepath.Join("testdata", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			packets, err := readAll(t, r.Next)
			if err != nil {
				t.Fatal(err)
			}
			var gots []got
			for _, p := range packets {
				gots = append(gots, got{p.Time.Sub(time.Unix(1795226788, 0)).Nanoseconds(), len(p.Data), p.Len})
				if p.Cut() != (len(p.Data) < p.Len) {
					t.Errorf("Cut() = %v for %d of %d bytes", p.Cut(), len(p.Data), p.Len)
				}
			}
			if diff := cmp.Diff(tt.want, gots); diff != "" {
				t.Errorf("packets (-want +got):\n%s", diff)
			}
		})
	}
}

// Our readers agree with gopacket's on the files that gopacket reads correctly.
func TestAgreesWithGopacket(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pcap*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(content), file)
		if err != nil {
			continue // other tests cover files that are refused
		}
		ours, err := readAll(t, r.Next)
		if err != nil {
			continue
		}
		theirs := gopacketReads(t, unpacked(t, content))
		if len(ours) != len(theirs) {
			t.Errorf("%s: %d packets, gopacket has %d", file, len(ours), len(theirs))
			continue
		}
		for i, p := range ours {
			if !same(p, theirs[i]) {
				t.Errorf("%s: packet %d is %v, gopacket has %v", file, i+1, p, theirs[i])
			}
		}
	}
}

// unpacked returns a file without gzip compression.
func unpacked(t *testing.T, content []byte) []byte {
	t.Helper()
	if content[0] != 0x1f || content[1] != 0x8b {
		return content
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if content, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return content
}

// gopacketEthernet converts a packet of another link type to Ethernet, by gopacket's layers.
func gopacketEthernet(t *testing.T, link layers.LinkType, p Packet) Packet {
	t.Helper()
	e := layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6), EthernetType: layers.EthernetTypeIPv4}
	payload := p.Data
	switch link {
	case layers.LinkTypeEthernet:
		return p
	case layers.LinkTypeLinuxSLL:
		var sll layers.LinuxSLL
		if err := sll.DecodeFromBytes(p.Data, gopacket.NilDecodeFeedback); err != nil {
			t.Fatal(err)
		}
		e.EthernetType, payload = sll.EthernetType, p.Data[16:]
		if sll.AddrLen == 6 {
			copy(e.SrcMAC, sll.Addr)
		}
	default:
		if p.Data[0]>>4 == 6 {
			e.EthernetType = layers.EthernetTypeIPv6
		}
	}
	b := gopacket.NewSerializeBuffer()
	if err := e.SerializeTo(b, gopacket.SerializeOptions{}); err != nil {
		t.Fatal(err)
	}
	wire := p.Len - len(p.Data) + len(payload) + 14
	return Packet{Time: p.Time, Len: wire, Data: append(bytes.Clone(b.Bytes())[:14], payload...)}
}

func gopacketReads(t *testing.T, content []byte) (all []Packet) {
	t.Helper()
	var source interface {
		gopacket.PacketDataSource
		LinkType() layers.LinkType
	}
	var err error
	if binary.LittleEndian.Uint32(content) == blockSection {
		source, err = pcapgo.NewNgReader(bytes.NewReader(content), pcapgo.DefaultNgReaderOptions)
	} else {
		source, err = pcapgo.NewReader(bytes.NewReader(content))
	}
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, ci, err := source.ReadPacketData()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, gopacketEthernet(t, source.LinkType(), Packet{Time: ci.Timestamp, Data: data, Len: ci.Length}))
	}
}

func TestRefusedFiles(t *testing.T) {
	tests := []struct{ file, want string }{
		{"snoop.cap", "a snoop capture"},
		{"missing.pcap", "no such file"},
		{".", "is a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			r, err := Open(filepath.Join("testdata", tt.file))
			if err == nil {
				defer r.Close()
				_, err = readAll(t, r.Next)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// pcapBytes returns a pcap file: a header with this magic, and records with these fields, and data of the captured
// length.
func pcapBytes(order binary.AppendByteOrder, magic uint32, records ...[4]uint32) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = order.AppendUint32(b, 65535)
	b = order.AppendUint32(b, 1)
	for _, r := range records {
		for _, field := range r {
			b = order.AppendUint32(b, field)
		}
		b = append(b, make([]byte, min(r[2], 100))...)
	}
	return b
}

func TestPcapByteOrdersAndUnits(t *testing.T) {
	record := [4]uint32{1700000000, 123456, 60, 1514}
	tests := []struct {
		name  string
		order binary.AppendByteOrder
		magic uint32
		want  time.Time
	}{
		{"little-endian microseconds", binary.LittleEndian, 0xa1b2c3d4, time.Unix(1700000000, 123456000)},
		{"little-endian nanoseconds", binary.LittleEndian, 0xa1b23c4d, time.Unix(1700000000, 123456)},
		{"big-endian microseconds", binary.BigEndian, 0xa1b2c3d4, time.Unix(1700000000, 123456000)},
		{"big-endian nanoseconds", binary.BigEndian, 0xa1b23c4d, time.Unix(1700000000, 123456)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(pcapBytes(tt.order, tt.magic, record)), "x")
			if err != nil {
				t.Fatal(err)
			}
			p, err := r.Next()
			if err != nil || !p.Time.Equal(tt.want) || len(p.Data) != 60 || p.Len != 1514 {
				t.Errorf("packet at %v of %d/%d bytes, %v; want at %v of 60/1514", p.Time, len(p.Data), p.Len, err, tt.want)
			}
			for range 2 {
				if _, err = r.Next(); err != io.EOF {
					t.Errorf("after the last packet: %v, want EOF", err)
				}
			}
		})
	}
}

// with returns b with the bytes at offset replaced.
func with(b []byte, offset int, bytes ...byte) []byte {
	c := append([]byte(nil), b...)
	copy(c[offset:], bytes)
	return c
}

func TestDamagedPcap(t *testing.T) {
	good := pcapBytes(binary.LittleEndian, magicMicro, [4]uint32{1, 2, 60, 60}, [4]uint32{1, 3, 60, 60})
	second := 24 + 16 + 60
	tests := []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty", nil,
			"x: file header at byte 0: the file ends after 0 of the 4 bytes of the magic number (pcap or pcapng expected): " +
				"unexpected EOF"},
		{"cut magic", good[:3], "ends after 3 of the 4 bytes"},
		{"not a capture", []byte("hello, world, this is text"),
			"magic number 68 65 6c 6c is that of no known capture format"},
		{"cut file header", good[:20],
			"x: file header at byte 4: the file ends after 16 of the 20 bytes of the pcap file header"},
		{"version", with(good, 4, 9), "pcap version 9.4, want 2.4"},
		{"link type", with(good, 20, 105), "link type 105 (IEEE802_11)"},
		{"cut packet header", good[:second+7],
			"x: packet 2 at byte 100: the file ends after 7 of the 16 bytes of the packet's header"},
		{"no data", good[:second+16], "x: packet 2 at byte 116: the file ends after 0 of the 60 bytes of the packet's data"},
		{"cut data", good[:second+16+59],
			"x: packet 2 at byte 116: the file ends after 59 of the 60 bytes of the packet's data"},
		{"fraction", with(good, second+4, 0x40, 0x42, 0x0f, 0),
			"x: packet 2 at byte 104: fraction of a second 1000000, want below 1000000"},
		{"hostile length", with(good, second+8, 0xff, 0xff, 0xff, 0xff),
			"x: packet 2 at byte 108: captured length 4294967295, want at most 262144"},
		{"hostile original length", with(good, second+12, 0xff, 0xff, 0xff, 0xff),
			"x: packet 2 at byte 112: original length 4294967295, want at most 262144"},
		{"captured above original", with(good, second+12, 59),
			"x: packet 2 at byte 108: captured length 60 is above the original length 59"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(tt.content), "x")
			if err == nil {
				_, err = readAll(t, r.Next)
			}
			var damage *Error
			if !errors.As(err, &damage) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// A file that is truncated anywhere gives the packets before that point and an error, or the end if it is between two
// packets.
func TestEveryTruncation(t *testing.T) {
	for _, file := range []string{"testdata/nano.pcap", "testdata/comment.pcapng", "testdata/two-interfaces.pcapng"} {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(whole), file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := readAll(t, r.Next)
		if err != nil {
			t.Fatal(err)
		}
		for n := range whole {
			r, err := NewReader(iotest.HalfReader(bytes.NewReader(whole[:n])), file)
			if err != nil {
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%s cut to %d bytes: %v", file, n, err)
				}
				continue
			}
			packets, err := readAll(t, r.Next)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s cut to %d bytes: %v", file, n, err)
			}
			if len(packets) == len(want) && err == nil && n < len(whole)-32 {
				t.Errorf("%s cut to %d of %d bytes lost nothing", file, n, len(whole))
			}
			if !slices.EqualFunc(want[:len(packets)], packets, same) {
				t.Errorf("%s cut to %d bytes: packets %v, want %v", file, n, packets, want[:len(packets)])
			}
		}
	}
}

// A frame check sequence that the file declares is not part of the frame.
func TestFrameCheckSequenceIsRemoved(t *testing.T) {
	content := with(pcapBytes(binary.LittleEndian, magicNano, [4]uint32{1, 2, 64, 64}, [4]uint32{1, 2, 62, 64},
		[4]uint32{1, 2, 50, 64}), 23, 0x24)
	r, err := NewReader(bytes.NewReader(content), "x")
	if err != nil {
		t.Fatal(err)
	}
	packets, err := readAll(t, r.Next)
	if err != nil {
		t.Fatal(err)
	}
	for i, captured := range []int{60, 60, 50} {
		if p := packets[i]; len(p.Data) != captured || p.Len != 60 {
			t.Errorf("packet %d: %d of %d bytes, want %d of 60", i+1, len(p.Data), p.Len, captured)
		}
	}
}

func TestFailingReadIsNotTheEnd(t *testing.T) {
	content := pcapBytes(binary.LittleEndian, magicNano, [4]uint32{1, 2, 60, 60})
	broken := errors.New("disk on fire")
	r, err := NewReader(io.MultiReader(bytes.NewReader(content), iotest.ErrReader(broken)), "x")
	if err != nil {
		t.Fatal(err)
	}
	if packets, err := readAll(t, r.Next); len(packets) != 1 || !errors.Is(err, broken) {
		t.Errorf("%d packets and error %v, want 1 and %v", len(packets), err, broken)
	}
}

func TestReadingDoesNotAllocate(t *testing.T) {
	for _, file := range []string{"testdata/nano.pcap", "testdata/two-interfaces.pcapng"} {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(whole), file)
		if err != nil {
			t.Fatal(err)
		}
		allocs := testing.AllocsPerRun(5, func() { // 1 packet to warm up and 5 to measure, of at least 7
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		})
		if allocs > 0 {
			t.Errorf("%s: %v allocations a packet, want none", file, allocs)
		}
	}
}

func FuzzReader(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.*")
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil {
			f.Add(content)
		}
	}
	f.Add(pcapBytes(binary.BigEndian, magicMicro, [4]uint32{1, 2, 60, 60}, [4]uint32{1, 3, 0xffffffff, 60}))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := NewReader(bytes.NewReader(content), "fuzz")
		if err != nil {
			return
		}
		var last int64
		for {
			p, err := r.Next()
			if err != nil {
				var damage *Error
				if err != io.EOF && !errors.As(err, &damage) {
					t.Fatalf("error %v is no *Error", err)
				}
				break
			}
			if len(p.Data) > p.Len || len(p.Data) > MaxCaptured || p.Time.Unix() < 0 && !p.Time.IsZero() {
				t.Fatalf("packet of %d/%d bytes at %v", len(p.Data), p.Len, p.Time)
			}
			packed := content[0] == 0x1f && content[1] == 0x8b
			if r.src.offset <= last || r.src.offset > int64(len(content)) && !packed {
				t.Fatalf("offset %d after %d, of %d bytes", r.src.offset, last, len(content))
			}
			last = r.src.offset
		}
		if cap(r.buf) > MaxCaptured+ethernetHeader {
			t.Fatalf("buffer of %d bytes", cap(r.buf))
		}
	})
}

// Whatever pieces a file arrives in, its packets and its error are the same, also if it ends early.
func TestPiecesDoNotMatter(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.pcap*")
	for _, file := range files {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range [][]byte{whole, whole[:len(whole)-1], whole[:len(whole)*2/3]} {
			read := func(in io.Reader) string {
				r, err := NewReader(in, file)
				if err != nil {
					t.Fatal(err)
				}
				packets, err := readAll(t, r.Next)
				return fmt.Sprintf("%x %v", packets, err)
			}
			want := read(bytes.NewReader(content))
			for i, pieces := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
				if got := read(pieces(bytes.NewReader(content))); got != want {
					t.Errorf("%s of %d bytes, in pieces %d:\n%s, want\n%s", file, len(content), i, got, want)
				}
			}
		}
	}
}
