package pathtracing

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// probe returns a frame of IPv6 with these hop-by-hop options, a UDP header and a payload.
func probe(options []byte, tags ...uint16) []byte {
	for (len(options)+2)%8 != 0 {
		options = append(options, 0)
	}
	header := append([]byte{17, byte((len(options)+2)/8 - 1)}, options...)
	udp := append(header, 0x80, 1, 0x80, 2, 0, 12, 0, 0, 1, 2, 3, 4)
	frame := slices.Concat([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2})
	for _, tag := range tags {
		frame = binary.BigEndian.AppendUint16(frame, tag)
		frame = append(frame, 0, 7)
	}
	frame = append(frame, 0x86, 0xdd, 0x60, 0, 0, 0)
	frame = binary.BigEndian.AppendUint16(frame, uint16(len(udp)))
	frame = append(frame, 0, 64)
	addr, _ := hex.DecodeString("20010db8000000000000000000000001" + "20010db8000000000000000000000002")
	return slices.Concat(frame, addr, udp)
}

func option(places int, newestFirst ...Hop) []byte {
	out := []byte{Option, byte(HopSize * places)}
	for i := range places {
		b := Hop{}.Bytes()
		if i < len(newestFirst) {
			b = newestFirst[i].Bytes()
		}
		out = append(out, b[:]...)
	}
	return out
}

func TestDecode(t *testing.T) {
	one, two := Hop{111, 3, 0x5a}, Hop{4095, 15, 255}
	unknown := []byte{0x1e, 2, 9, 9, 1, 0}
	for _, tt := range []struct {
		name  string
		frame []byte
		want  List
		found bool
		err   string
	}{
		{"as sent", probe(option(12)), List{Places: 12}, true, ""},
		{"two hops: the newest is in front", probe(option(12, two, one)), List{[]Hop{one, two}, 12}, true, ""},
		{"full", probe(option(2, two, one)), List{[]Hop{one, two}, 2}, true, ""},
		{"behind other options and tags", probe(append(unknown, option(3, one)...), 0x88a8, 0x8100),
			List{[]Hop{one}, 3}, true, ""},
		{"other options only", probe(unknown), List{}, false, ""},
		{"no IPv6", []byte{12: 8, 13: 0, 60: 0}, List{}, false, ""},
		{"a cut frame", probe(option(12))[:60], List{}, false,
			"the hop-by-hop header is cut: 6 bytes behind the IPv6 header"},
		{"a cut option", probe(option(12))[:70], List{}, false, "the hop-by-hop header has 40 bytes, the packet 16"},
		{"an option beyond the header", probe([]byte{Option, 9, 0, 0, 0, 0}), List{}, false,
			"option 0x32 is longer than the hop-by-hop header"},
		{"half a hop", probe([]byte{Option, 4, 0, 0, 0, 0}), List{}, false, "the list has 4 bytes, want a multiple of 3"},
		{"no list", probe([]byte{Option, 0}), List{}, false, "the list has 0 bytes, want a multiple of 3"},
		{"an unused place between hops", probe(option(3, two, Hop{}, one)), List{}, false,
			"place 2 has no interface, though it is not unused"},
		{"load without interface", probe(option(3, Hop{0, 1, 0})), List{}, false,
			"place 1 has no interface, though it is not unused"},
	} {
		l, found, err := Decode(tt.frame)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if found != tt.found || text != tt.err || l.Places != tt.want.Places || !slices.Equal(l.Hops, tt.want.Hops) {
			t.Errorf("%s: %+v, %v, %q, want %+v, %v, %q", tt.name, l, found, text, tt.want, tt.found, tt.err)
		}
	}
	if l, _, _ := Decode(probe(option(2, two, one))); !l.Full() {
		t.Error("a list without unused places is not full")
	}
	if got, want := one.Bytes(), [3]byte{0x06, 0xf3, 0x5a}; got != want {
		t.Errorf("hop %x, want %x", got, want)
	}
}

// No frame, however damaged, stops the decoder.
func FuzzDecode(f *testing.F) {
	f.Add(probe(option(12, Hop{1, 2, 3})))
	f.Add(probe([]byte{1, 0, Option, 3, 0, 1, 2}, 0x8100))
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := bytes.Clone(frame)
		l, found, err := Decode(frame)
		if found && (err != nil || l.Places == 0 || len(l.Hops) > l.Places) || !bytes.Equal(frame, before) {
			t.Fatalf("%+v, %v, %v", l, found, err)
		}
	})
}

// tshark sees an IPv6 packet without faults whose hop-by-hop header has the option and its list.
func TestTshark(t *testing.T) {
	tool, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("needs tshark")
	}
	frame := probe(option(12, Hop{222, 0, 7}, Hop{111, 3, 0x5a}))
	file := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	file = append(file, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	file = append(file, 0, 0, 0, 0, 0, 0, 0, 0, byte(len(frame)), 0, 0, 0, byte(len(frame)), 0, 0, 0)
	path := filepath.Join(t.TempDir(), "probe.pcap")
	if err := os.WriteFile(path, append(file, frame...), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "-r", path, "-T", "fields", "-e", "ipv6.opt.type", "-e", "ipv6.opt.length",
		"-e", "udp.srcport", "-e", "_ws.malformed").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimRight(string(out), "\n\t"); got != "50\t36\t32769" && got != "0x32\t36\t32769" {
		t.Errorf("tshark reads %q", got)
	}
}
