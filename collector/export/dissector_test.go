package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/ipfix"
	"tamtam/tam/record"
)

// The dissector has all of tamtam's elements, by number, name and type.
func TestDissectorKnowsElements(t *testing.T) {
	text, err := os.ReadFile(dissector)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  \[(\d+)\] = \{"(\w+)", "(\w)"\},$`).FindAllSubmatch(text, -1) {
		got[string(m[1])] = string(m[2]) + " " + string(m[3])
	}
	kinds := map[ipfix.Type]string{ipfix.String: "s", ipfix.Boolean: "b", ipfix.Signed64: "i"}
	for _, e := range ipfix.Own() {
		kind := kinds[e.Type]
		if kind == "" {
			kind = "u"
		}
		if want := e.Name + " " + kind; got[fmt.Sprint(e.ID)] != want {
			t.Errorf("element %d is %q in the dissector, want %q", e.ID, got[fmt.Sprint(e.ID)], want)
		}
	}
	if len(got) != len(ipfix.Own()) {
		t.Errorf("%d elements in the dissector, want %d", len(got), len(ipfix.Own()))
	}
}

// ethernet returns an Ethernet II frame with an IP packet of this protocol.
func ethernet(v6 bool, tagged bool, protocol byte, payload []byte) []byte {
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	if tagged {
		b = append(b, 0x81, 0, 0, 10)
	}
	if v6 {
		b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
		b = append(append(b, protocol, 64, 0x20, 1, 0xd, 0xb8), make([]byte, 11)...)
		b = append(append(b, 1, 0x20, 1, 0xd, 0xb8), make([]byte, 11)...)
		return append(append(b, 2), payload...)
	}
	b = append(b, 8, 0, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(20+len(payload)))
	return append(append(b, 0, 0, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2), payload...)
}

func udp(to uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{4, 210}, to)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	return append(append(b, 0, 0), payload...)
}

// erspan returns a copy in ERSPAN of type II.
func erspan(v6 bool, frame []byte) []byte {
	return ethernet(v6, false, 47, append([]byte{0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 0}, frame...))
}

// stampedFrames returns frames with stamps, plain and in copies, and frames without stamps.
func stampedFrames() (all [][]byte) {
	at := func(ns uint32) tailstamp.Timestamp { return tailstamp.Timestamp{Seconds: 1700000000, Nanoseconds: ns} }
	for n := range 16 {
		f := ethernet(n%2 == 1, n%4 > 1, 17, udp(80, make([]byte, 30+n)))
		for i := range n % 4 {
			r := tailstamp.Record{SwitchID: uint32(10*n + i), InPort: uint16(4 * i), OutPort: uint16(8 * n),
				Ingress: at(uint32(1000 * n)),
				Egress:  at(uint32(1500*n + i)), Flags: tailstamp.Flags(n % 3 & 2)}
			if n%7 == 3 {
				r.Flags |= tailstamp.ClockSet
			}
			if n%5 == 4 {
				r.Flags, r.Egress, r.OutPort = tailstamp.NoEgress, tailstamp.Timestamp{}, tailstamp.CPUPort
			}
			f = tailstamp.V1{}.Append(f, r)
		}
		if n >= 8 {
			f = erspan(n >= 12, f)
		}
		all = append(all, f)
	}
	return all
}

// hasTshark skips a test that is not enabled, or if there is no tshark.
func hasTshark(t *testing.T) {
	t.Helper()
	if os.Getenv(collectorsVariable) == "" {
		t.Skip(collectorsVariable + " is not set: make ipfix-test")
	}
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip(err)
	}
}

// dissected writes frames to a capture, and returns the fields that tshark finds in each.
func dissected(t *testing.T, frames [][]byte, fields ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frames.pcap")
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if err := w.Write(epoch, f, len(f)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"-T", "fields", "-t", "e"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	out, err := tshark(path, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// The dissector finds the stamps and their values.
func TestDissectStamps(t *testing.T) {
	hasTshark(t)
	frames := stampedFrames()
	got := dissected(t, frames, "tamtam.stamp.switch", "tamtam.stamp.residence", "tamtam.stamp.in_port",
		"tamtam.stamp.out_port",
		"tamtam.stamp.no_egress", "tamtam.stamp.unsynchronised", "tamtam.stamp.clock_set", "tamtam.stamp.ingress")
	bit := map[bool]string{true: "1", false: "0"}
	for n, f := range frames {
		inner := f
		if m, ok := collector.Mirrored(f); ok {
			inner = m
		}
		records, _ := tailstamp.Decode(inner)
		if len(records) != n%4 {
			t.Fatalf("frame %d has %d records", n, len(records))
		}
		var columns [8][]string
		for _, r := range records {
			row := []string{number(r.SwitchID), "", number(r.InPort), number(r.OutPort), bit[r.Flags&tailstamp.NoEgress != 0],
				bit[r.Flags&tailstamp.Unsynchronised != 0], bit[r.Flags&tailstamp.ClockSet != 0],
				r.Ingress.Time().Format("Jan _2, 2006 15:04:05.000000000 UTC")}
			if ns, ok := collector.Residence(r); ok {
				row[1] = number(ns)
			}
			for i, v := range row {
				if v != "" {
					columns[i] = append(columns[i], v)
				}
			}
		}
		want := make([]string, len(columns))
		for i, c := range columns {
			want[i] = strings.Join(c, ",")
		}
		if n >= len(got) || got[n] != strings.Join(want, "\t") {
			t.Errorf("frame %d:\ngot  %q\nwant %q", n, got[n], strings.Join(want, "\t"))
		}
	}
}

// The dissector shows identities in the same form as tamtam.
func TestDissectIdentities(t *testing.T) {
	hasTshark(t)
	var known record.Identities
	known.Text(record.IdentityRule, "EDGE|RULE_1")
	known.ID(record.IdentityEntry, 0x8000000000012)
	known.Address(record.IdentitySource, 10, 0x020000000102)
	known.Route(netip.MustParsePrefix("10.9.0.0/16"))
	known.Route(netip.MustParsePrefix("2001:db8::/32"))
	known.NextHop(netip.MustParseAddr("10.2.0.8"))
	known.NextHop(netip.MustParseAddr("fe80::1"))
	known.MAC(record.IdentityNeighbor, 0x02aabbccddee)
	known.Queue(3, 70000)
	r := record.Record{Bits: []byte{1}, Plan: 99, Identities: known.Bytes()}
	list, err := r.Known()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, x := range list {
		want = append(want, x.Kind.String()+" "+x.Text())
	}
	r2 := r
	// an unknown kind, an invalid prefix, and a truncated one
	r2.Identities = append(bytes.Clone(r.Identities), 99, 1, 0, 6, 2, 1, 1, 8, 200)
	payload := func(r *record.Record) []byte { return udp(9070, r.Append(ethernet(false, false, 6, make([]byte, 40)))) }
	got := dissected(t, [][]byte{ethernet(false, false, 17, payload(&r)), ethernet(false, false, 17, payload(&r2))},
		"tamtam.record.identity")
	for i := range 2 {
		if len(got) != 2 || got[i] != strings.Join(want, ",") {
			t.Errorf("%d: %q\nwant %q", i, got, strings.Join(want, ","))
		}
	}
}

// The dissector finds table records in UDP and ERSPAN, and mistakes no other frame for one.
func TestDissectRecords(t *testing.T) {
	hasTshark(t)
	r := record.Record{Bits: []byte{1, 0xab}, Switch: 7, Plan: 99, In: record.Time{Seconds: 1700000000, Nanoseconds: 5},
		At: record.Time{Seconds: 1700000000, Nanoseconds: 905}, InPort: 4, OutPort: record.NoPort, Length: 100, Why: 2,
		Unsynchronised: true,
		Trap:           3, Queue: 5, InLane: 40, OutLane: record.NoPort, Identities: []byte{9, 1, 7}}
	payload := r.Append(ethernet(false, false, 6, make([]byte, 40)))
	old := r
	old.Old, old.Identities = true, nil
	bad := bytes.Clone(payload)
	bad[len(bad)-2] ^= 1
	got := dissected(t, [][]byte{
		ethernet(false, false, 17, udp(9070, payload)), ethernet(true, true, 17, udp(9070, payload)), erspan(true, payload),
		ethernet(false, false, 17, udp(9070, old.Append(nil))),
		ethernet(false, false, 17, udp(9070, bad)), ethernet(false, false, 6, udp(9070, payload)),
	}, "tamtam.record.bits", "tamtam.record.switch", "tamtam.record.plan", "tamtam.record.in_port",
		"tamtam.record.out_port",
		"tamtam.record.length", "tamtam.record.reason", "tamtam.record.unsynchronised", "tamtam.record.taken",
		"tamtam.record.trap", "tamtam.record.queue", "tamtam.record.in_lane", "tamtam.record.identities")
	const both = "01ab\t7\t99\t4\t65535\t100\t2\t1\tNov 14, 2023 22:13:20.000000905 UTC"
	const want = both + "\t3\t5\t40\t090107"
	for i, line := range got {
		if i < 3 && line != want || i == 3 && strings.TrimRight(line, "\t") != both ||
			i > 3 && strings.Trim(line, "\t") != "" {
			t.Errorf("frame %d: %q", i, line)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d frames", len(got))
	}
}
