package collector

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/tam/record"
)

// recordPlan returns the plan of a small switch. Every packet runs port, and ends there if it may not enter. Some
// packets run acl, where a hit may drop them. The other packets run fdb. The bits from the lowest are: acl ran, acl
// hit, fdb ran, fdb hit.
func recordPlan() *record.Plan {
	bit := func(i int) *int { return &i }
	g := &record.Graph{Program: "small", Pipeline: "switch", Init: "port", Reasons: []string{"none", "barred", "acl"},
		Nodes: []record.Node{{ID: "port", Kind: record.Table}, {ID: "acl.gate", Kind: record.Condition},
			{ID: "acl", Kind: record.Table}, {ID: "fdb", Kind: record.Table}},
		Edges: []record.Edge{
			{From: "port", To: "acl.gate", Label: record.Hit}, {From: "port", To: record.Exit, Label: record.Miss},
			{From: "acl.gate", To: "acl"}, {From: "acl.gate", To: "fdb"},
			{From: "acl", To: record.Exit, Label: record.Hit}, {From: "acl", To: "fdb", Label: record.Hit},
			{From: "acl", To: "fdb", Label: record.Miss},
			{From: "fdb", To: record.Exit, Label: record.Hit}, {From: "fdb", To: record.Exit, Label: record.Miss}}}
	p := &record.Plan{Program: "small", Pipeline: "switch", PHV: "8", Mode: record.ModeHit, Graph: g,
		Recorded: []record.Recorded{{Table: "acl", Bits: 2, Ran: bit(0), Hit: bit(1)},
			{Table: "fdb", Bits: 2, Ran: bit(2), Hit: bit(3)}}}
	p.Seal()
	return p
}

const (
	aclMiss, aclHit = 0b0001, 0b0011
	fdbMiss, fdbHit = 0b0100, 0b1100
)

// recorded returns a frame with its record, as the payload of a tunnel.
func recorded(p *record.Plan, bits byte, out uint16, why uint8, ns uint32) []byte {
	r := record.Record{Bits: []byte{bits}, Switch: 7, Plan: p.ID, In: record.Time{Seconds: 1000, Nanoseconds: 5},
		At:     record.Time{Seconds: 1000, Nanoseconds: 5 + ns},
		InPort: 1, OutPort: out, InLane: 1, OutLane: out, Queue: record.NoQueue, Length: 100, Why: why}
	return r.Append(cat(macs, ipv4(6, 0, tcp)))
}

func inUDP(payload []byte) []byte {
	n := 8 + len(payload)
	return cat([]byte{0x30, 0x39, 0x12, 0x34, byte(n >> 8), byte(n), 0, 0}, payload)
}

func inGRE(flags, protocol uint16, headers int, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, flags)
	b = binary.BigEndian.AppendUint16(b, protocol)
	return cat(b, make([]byte, headers), payload)
}

// FindRecord finds records in all supported positions, and in no other.
func TestFindRecord(t *testing.T) {
	p := recordPlan()
	payload := recorded(p, aclHit, record.NoPort, 2, 40)
	platform := func(b []byte, at int) []byte { b[at] |= 1; return b }
	options := ipv4(17, 0, inUDP(payload))
	options = cat(options[:22], []byte{1, 1, 1, 1}, options[22:])
	options[2] = 0x46
	binary.BigEndian.PutUint16(options[4:], uint16(len(options)-2))
	fragment := ipv4(17, 0x2000, inUDP(payload))
	long := ipv4(17, 0, inUDP(payload))
	long[5]++
	short := inUDP(payload)
	short[5]--
	for _, tt := range []struct {
		name  string
		frame []byte
		want  string
	}{
		{"UDP over IPv4", cat(macs, ipv4(17, 0, inUDP(payload))), "udp 192.0.2.1"},
		{"not to be fragmented", cat(macs, ipv4(17, 0x4000, inUDP(payload))), "udp 192.0.2.1"},
		{"behind padding of the mirrored frame", cat(macs, ipv4(17, 0, inUDP(payload)), make([]byte, 9)), "udp 192.0.2.1"},
		{"IPv4 options", cat(macs, options), "udp 192.0.2.1"},
		{"UDP over IPv6", cat(macs, ipv6(17, inUDP(payload))), "udp 2001:db8::1"},
		{"one tag", cat(macs, tag, ipv4(17, 0, inUDP(payload))), "udp 192.0.2.1"},
		{"two tags", cat(macs, stag, tag, ipv6(17, inUDP(payload))), "udp 2001:db8::1"},
		{"ERSPAN of type I", cat(macs, ipv4(47, 0, inGRE(0, 0x88be, 0, payload))), "erspan 192.0.2.1"},
		{"ERSPAN of type II", cat(macs, ipv4(47, 0, inGRE(0x1000, 0x88be, 12, payload))), "erspan 192.0.2.1"},
		{"ERSPAN of type II with a key", cat(macs, tag, ipv6(47, inGRE(0x3000, 0x88be, 16, payload))), "erspan 2001:db8::1"},
		{"ERSPAN of type III", cat(macs, ipv4(47, 0, inGRE(0x1000, 0x22eb, 16, payload))), "erspan 192.0.2.1"},
		{"GRE of another type", cat(macs, ipv4(47, 0, inGRE(0, 0x6558, 0, payload))), "erspan 192.0.2.1"},
		{"with a platform header", cat(macs, ipv4(47, 0, platform(inGRE(0x1000, 0x22eb, 24, payload), 19))),
			"erspan 192.0.2.1"},

		{"five tags", cat(macs, tag, tag, tag, tag, tag, ipv4(17, 0, inUDP(payload))), ""},
		{"TCP", cat(macs, ipv4(6, 0, inUDP(payload))), ""},
		{"fragment", cat(macs, fragment), ""},
		{"cut IPv4", cat(macs, long), ""},
		{"a length of UDP that is not there", cat(macs, ipv4(17, 0, short)), ""},
		{"GRE with IPv4", cat(macs, ipv4(47, 0, inGRE(0, 0x0800, 0, payload))), ""},
		{"GRE of version 1", cat(macs, ipv4(47, 0, inGRE(1, 0x88be, 0, payload))), ""},
		{"no record", cat(macs, ipv4(17, 0, inUDP(cat(macs, ipv4(6, 0, tcp))))), ""},
		{"ARP", cat(macs, []byte{8, 6}, payload), ""},
	} {
		got, ok := FindRecord(tt.frame)
		said := ""
		if ok {
			said = got.Encapsulation + " " + got.Exporter.String()
			if got.Plan != p.ID || got.Why != 2 || !bytes.Equal(got.Frame, cat(macs, ipv4(6, 0, tcp))) {
				t.Errorf("%s: %+v", tt.name, got)
			}
		}
		if said != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, said, tt.want)
		}
		for n := range tt.frame { // no read beyond the end of a truncated frame
			FindRecord(tt.frame[:n])
		}
	}
}

// smallRun returns a capture of the small switch.
func smallRun(p *record.Plan) [][]byte {
	var frames [][]byte
	add := func(n int, bits byte, out uint16, why uint8, ns uint32) {
		for i := range n {
			frames = append(frames, cat(macs, ipv4(17, 0, inUDP(recorded(p, bits, out, why, ns+uint32(i))))))
		}
	}
	add(4, fdbHit, 4, 0, 100)
	add(2, aclMiss|fdbHit, 4, 0, 200)
	add(2, aclMiss|fdbMiss, 5, 0, 200)
	add(1, aclHit, record.NoPort, 2, 50)
	add(1, 0, record.NoPort, 1, 20)
	return frames
}

func writeFrames(t *testing.T, frames [][]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "Ethernet9.pcap")
	w, err := capture.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		if err := w.Write(time.Unix(1000, int64(i)), f, len(f)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func decoded(t *testing.T, frames [][]byte, opts RecordOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := DecodeRecords(t.Context(), &out, writeFrames(t, frames), opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// wantParts looks for texts in sequence.
func wantParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("no %q, or not there:\n%s", part, text)
		}
		rest = after
	}
}

func TestDecodeRecords(t *testing.T) {
	p := recordPlan()
	other := *p
	other.ID++
	frames := append(smallRun(p), web, cat(macs, ipv4(17, 0, inUDP(recorded(&other, 0, 0, 0, 0)))))
	wantParts(t, decoded(t, frames, RecordOptions{Plans: []*record.Plan{p}}),
		"12 frames: 10 records, 1 without\n1 record of plan ", ", which was not given\n",
		"small switch, 8 bits, exec+hit\n10 packets: 10 with an exact path, 0 with several, 0 impossible\n4 of 4 paths "+
			"seen, 100 %, by the tables that ran; the 5 below differ also in what hit\n",
		"     1        4    40.00     100  102  101  103  103\n",
		"path 1: Ethernet1 to Ethernet4\n  port hit > fdb hit\n",
		"path 2: Ethernet1 to Ethernet4\n  port hit > acl miss > fdb hit\n",
		"path 3: Ethernet1 to Ethernet5\n  port hit > acl miss > fdb miss\n",
		"Ethernet1 to dropped: acl\n  port hit > acl hit\n",
		"dropped:\n", "TCP 192.0.2.1:12345 > 192.0.2.2:80: 1 packet, acl; last tables: port hit > acl hit\n")
	text := decoded(t, frames[:1], RecordOptions{Plans: []*record.Plan{p}, Packets: true})
	wantParts(t, text,
		"1 1000.000000105 switch 7, TCP 192.0.2.1:12345 > 192.0.2.2:80: Ethernet1 > Ethernet4, 100 ns; new: port hit > fdb "+
			"hit\n",
		"tables that no recorded packet ran: acl\n")
	wantParts(t, decoded(t, frames, RecordOptions{Plans: []*record.Plan{p}, Flow: "192.0.2.2:80"}),
		"10 records, 1 without\n")
	wantParts(t, decoded(t, frames, RecordOptions{Plans: []*record.Plan{p}, Flow: "UDP"}),
		"0 records, 1 without, 10 of other flows\n", "no records\n")
	var line recordedJSON
	if err := json.NewDecoder(strings.NewReader(decoded(t, frames,
		RecordOptions{Plans: []*record.Plan{p}, Packets: true, JSON: true}))).Decode(&line); err != nil ||
		!slices.Equal(line.Path, []string{"port hit", "fdb hit"}) || line.Paths != "1" || *line.LatencyNs != 100 ||
		line.Bits != "0c" {
		t.Errorf("%+v %v", line, err)
	}
}

// The identities of a packet are shown with the packet and with its drop. Rules have the names of their labels.
func TestIdentitiesAreReported(t *testing.T) {
	p := recordPlan()
	var known record.Identities
	known.Text(record.IdentityRule, "DATAAC#x")
	known.Route(netip.MustParsePrefix("10.9.0.0/16"))
	known.Queue(3, 7)
	r := record.Record{
		Bits: []byte{aclHit}, Plan: p.ID, InPort: 1, OutPort: record.NoPort, OutLane: record.NoPort, Queue: record.NoQueue,
		Why:        2,
		Identities: known.Bytes(), NoRoom: true,
	}
	frames := [][]byte{cat(macs, ipv4(17, 0, inUDP(r.Append(cat(macs, ipv4(6, 0, tcp))))))}
	opts := RecordOptions{Plans: []*record.Plan{p}, Packets: true,
		Names: map[string]string{"DATAAC#x": "DATAACL|RULE_OF_A_LONG_NAME"}}
	wantParts(t, decoded(t, frames, opts),
		"; by rule DATAACL|RULE_OF_A_LONG_NAME, route 10.9.0.0/16, queue 3, 7 bytes in it; some identities are left out\n",
		"1 packet, acl; by rule DATAACL|RULE_OF_A_LONG_NAME, route 10.9.0.0/16; last tables: port hit > acl hit\n")
	opts.JSON = true
	var line recordedJSON
	if err := json.NewDecoder(strings.NewReader(decoded(t, frames, opts))).Decode(&line); err != nil ||
		!line.IdentitiesLeftOut ||
		len(line.Identities) != 3 || line.Identities[1] != (identityJSON{"route", "10.9.0.0/16"}) {
		t.Errorf("%+v %v", line, err)
	}
}

// A table that the chip skips causes records without a path, and is identified by them.
func TestSkippedTableIsFound(t *testing.T) {
	p := recordPlan()
	var frames [][]byte
	for i := range 30 {
		bits := []byte{0, aclMiss, aclMiss}[i%3] // the chip skips fdb
		frames = append(frames, cat(macs, ipv4(17, 0, inUDP(recorded(p, bits, 4, 0, 10)))))
	}
	wantParts(t, decoded(t, frames, RecordOptions{Plans: []*record.Plan{p}}),
		"30 packets: 10 with an exact path, 0 with several, 20 impossible\n",
		"IMPOSSIBLE: no path of the graph has this record; the closest has it but that ", "acl",
		"suspicions:\n  fdb is skipped: explains 20 impossible records\n")
}

// A table that no packet runs is suspicious only if the probabilities were measured.
func TestMissingTableIsSuspectedByMeasuredProbabilities(t *testing.T) {
	for from, want := range map[string]string{"": "", "uniform": "", "seed 1": "",
		"counted": "acl is skipped, or the traffic is not what the switch counted for the plan: no packet ran it, about 13 " +
			"were expected to"} {
		p := recordPlan()
		p.ProbabilitiesFrom = from
		c, err := NewRecords(p)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			c.AddPayload(recorded(p, fdbHit, 4, 0, 1), netip.Addr{})
		}
		got := ""
		if s := c.Report().Plans[0].Suspicions; len(s) > 0 {
			got = s[0].String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", from, got, want)
		}
	}
}

// New, gone and changed paths between two captures are reported.
func TestCompareRecords(t *testing.T) {
	p := recordPlan()
	before := smallRun(p)
	var after [][]byte
	for range 10 {
		after = append(after, cat(macs, ipv4(17, 0, inUDP(recorded(p, aclHit|fdbHit, 4, 0, 300)))), before[0], before[1])
	}
	opts := RecordOptions{Plans: []*record.Plan{p}, Compare: writeFrames(t, before)}
	wantParts(t, decoded(t, after, opts), "compared with ",
		"new path: 33.33 % of packets, was 0.00 %\n    port hit > acl hit > fdb hit\n",
		"gone: 0.00 % of packets, was 20.00 %\n    port hit > acl miss > fdb hit\n")
	var barred [][]byte // packets that end at the port are no evidence about later tables
	for range 40 {
		barred = append(barred, before[len(before)-1])
	}
	if text := decoded(t, barred, opts); strings.Contains(text, "skipped") {
		t.Errorf("a suspicion without a reason:\n%s", text)
	}
	opts.JSON = true
	wantParts(t, decoded(t, after, opts), `"plans": [`, `"difference": {`, `"new": [`,
		`"path": "port hit > acl hit > fdb hit"`)
	wantParts(t, decoded(t, before, RecordOptions{Plans: []*record.Plan{p}, Compare: writeFrames(t, before)}),
		"no difference to ")
}

// missingRun returns a capture of packets of the small switch to a server. acl packets run the table acl, and past
// packets skip it. Half of all packets end before it.
func missingRun(p *record.Plan, server byte, acl, past int) (frames [][]byte) {
	add := func(n int, bits byte, out uint16, why uint8) {
		r := record.Record{Bits: []byte{bits}, Plan: p.ID, InPort: 1, OutPort: out, OutLane: out, Why: why}
		for range n {
			inner := r.Append(cat(macs, ipv4(6, 0, tcp)))
			inner[14+19] = server
			frames = append(frames, cat(macs, ipv4(17, 0, inUDP(inner))))
		}
	}
	add(acl, aclMiss|fdbHit, 4, 0)
	add(past, fdbHit, 4, 0)
	add(acl+past, 0, record.NoPort, 1)
	return frames
}

// A table that ran before is suspected if packets of the same kinds no longer run it, and if chance cannot explain
// that. It is not suspected if only the traffic changed.
func TestMissingTableIsSuspectedByAnotherCapture(t *testing.T) {
	p := recordPlan()
	for _, tt := range []struct {
		name          string
		before, after [][]byte
		want          string
	}{
		{"the same packets", missingRun(p, 2, 30, 10), missingRun(p, 2, 0, 40),
			"acl is skipped, or the switch is configured otherwise: no packet ran it, about 30 were expected to"},
		{"packets of two kinds", slices.Concat(missingRun(p, 2, 30, 10), missingRun(p, 3, 0, 40)),
			slices.Concat(missingRun(p, 2, 0, 20), missingRun(p, 3, 0, 80)),
			"acl is skipped, or the switch is configured otherwise: no packet ran it, about 15 were expected to"},
		{"packets to somebody else", missingRun(p, 2, 30, 10), missingRun(p, 3, 0, 40), ""},
		{"more of those that never ran it", slices.Concat(missingRun(p, 2, 30, 0), missingRun(p, 3, 0, 10)),
			missingRun(p, 3, 0, 1000), ""},
		{"few packets", missingRun(p, 2, 3, 1), missingRun(p, 2, 0, 4), ""},
		{"some run it still", missingRun(p, 2, 30, 10), missingRun(p, 2, 1, 40), ""},
		{"packets that end before it", missingRun(p, 2, 30, 10), missingRun(p, 2, 0, 40)[40:], ""},
		{"nothing changed", missingRun(p, 2, 30, 10), missingRun(p, 2, 30, 10), ""},
	} {
		_, after, _ := strings.Cut(decoded(t, tt.after, RecordOptions{Plans: []*record.Plan{p},
			Compare: writeFrames(t, tt.before)}), "suspicions:\n  ")
		if got := strings.TrimSpace(after); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// endingPlan returns the plan of the small switch with the ends of packets.
func endingPlan() *record.Plan {
	p := recordPlan()
	p.Graph.Nodes = append(p.Graph.Nodes, record.Node{ID: "egress_acl", Kind: record.Table})
	p.Graph.Reasons = append(p.Graph.Reasons, "egress-acl")
	p.Graph.Edges = p.Graph.Edges[:7] // packets from fdb go to the egress ACL, or past it
	p.Graph.Edges = append(p.Graph.Edges, record.Edge{From: "fdb", To: "egress_acl", Label: "filtered"},
		record.Edge{From: "fdb", To: record.Exit, Label: "sent"},
		record.Edge{From: "egress_acl", To: record.Exit, Label: record.Hit},
		record.Edge{From: "egress_acl", To: record.Exit, Label: record.Miss})
	p.Graph.Ends = []record.End{
		{From: "port", Label: record.Miss, How: []string{"barred"}},
		{From: "acl", Label: record.Hit, How: []string{"acl", record.EndCPU}},
		{From: "fdb", Label: "sent", How: []string{record.EndSent}},
		{From: "egress_acl", Label: record.Hit, How: []string{"egress-acl"}},
		{From: "egress_acl", Label: record.Miss, How: []string{record.EndSent}}}
	p.Graph.Version = 5
	p.Seal()
	return p
}

// The end of a packet excludes the paths that cannot have this end. A record without a remaining path is impossible.
func TestRecordsSayHowPacketsEnded(t *testing.T) {
	p := endingPlan()
	for _, tt := range []struct {
		name string
		bits byte
		out  uint16
		why  uint8
		want string
	}{
		{"by the egress ACL", aclHit | fdbHit, 4, 3, "port hit > acl hit > fdb hit > egress_acl hit"},
		{"by the ingress ACL", aclHit, record.NoPort, 2, "port hit > acl hit"},
		{"to the CPU", aclHit, record.NoPort, 0, "port hit > acl hit"},
		{"sent", aclHit | fdbMiss, 4, 0, "one of 2, with 0.667 port hit > acl hit > fdb miss"},
		{"sent, but without a way out", aclHit, 4, 0,
			"impossible: no path of the graph has this record; the closest has it but that fdb did not run"},
		{"for a reason of somewhere else", aclHit | fdbHit, record.NoPort, 2,
			"impossible: no path of the graph has this record; the closest has it but that fdb ran"},
		{"for a reason that no table has", aclHit | fdbHit, 4, 9,
			"impossible: no path of the graph has this record; the closest has it but that the packet was dropped: reason 9"},
		{"before it was looked up", 0, record.NoPort, 1, "port miss"},
	} {
		c, err := NewRecords(p)
		if err != nil {
			t.Fatal(err)
		}
		d, ok := c.AddPayload(recorded(p, tt.bits, tt.out, tt.why, 1), netip.Addr{})
		if got := d.Path(); !ok || got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	frames := [][]byte{cat(macs, ipv4(17, 0, inUDP(recorded(p, aclHit, record.NoPort, 2, 1))))}
	wantParts(t, decoded(t, frames, RecordOptions{Plans: []*record.Plan{p}}), "1 of 6 paths seen",
		"tables that no recorded packet ran: fdb, egress_acl\n")
}

// The number of paths seen is explained if the list below it is longer.
func TestListedPathsAreExplained(t *testing.T) {
	for _, tt := range []struct {
		seen  int
		paths []string // the number of paths that fit, of each line
		want  string
	}{
		{2, []string{"1", "1"}, ""},
		{1, []string{"1", "1"}, ", by the tables that ran; the 2 below differ also in what hit"},
		{1, []string{"1", "0", "3"}, "; 2 of the 3 below are not exact"},
		{0, []string{"0"}, "; 1 of the 1 below are not exact"},
		{1, []string{"1", "1", "0"}, ", by the tables that ran; the 3 below differ also in what hit, " +
			"and 1 of them are not exact"},
	} {
		r := RecordPlanReport{Coverage: RecordCoverage{Seen: tt.seen}}
		for _, n := range tt.paths {
			r.Paths = append(r.Paths, PathTotal{Paths: n})
		}
		if got := r.listed(); got != tt.want {
			t.Errorf("%d, %v: %q, want %q", tt.seen, tt.paths, got, tt.want)
		}
	}
}

// A damaged capture is reported up to the damage.
func TestDecodeRecordsDamaged(t *testing.T) {
	p := recordPlan()
	name := writeFrames(t, smallRun(p))
	whole, _ := os.ReadFile(name)
	if err := os.WriteFile(name, whole[:len(whole)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := DecodeRecords(t.Context(), &out, name, RecordOptions{Plans: []*record.Plan{p}})
	if err == nil || !strings.Contains(err.Error(), "packet 10") {
		t.Error(err)
	}
	wantParts(t, out.String(), "9 frames: 9 records", "incomplete: ")
}

func TestReadPlan(t *testing.T) {
	name := filepath.Join(t.TempDir(), "plan.json")
	for _, tt := range []struct{ text, want string }{
		{`{"id": 1, "phv": "8"}`, ""}, {`{}`, "no plan: it has no id"}, {`[]`, "it is a JSON array, want an object"},
		{``, "unexpected end"},
	} {
		if err := os.WriteFile(name, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPlan(name); err == nil != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
	if _, err := NewRecords(); err == nil {
		t.Error("no plan was taken")
	}
}

// For any input there is no panic, the results are parts of the frame, and the counters add up.
func FuzzFindRecord(f *testing.F) {
	p := recordPlan()
	payload := recorded(p, aclHit, 4, 0, 1)
	f.Add(cat(macs, ipv4(17, 0, inUDP(payload))))
	f.Add(cat(macs, tag, ipv6(47, inGRE(0x3000, 0x88be, 16, payload))))
	f.Add(cat(macs, ipv4(47, 0, inGRE(0x1000, 0x22eb, 16, payload))))
	f.Fuzz(func(t *testing.T, frame []byte) {
		c, err := NewRecords(p)
		if err != nil {
			t.Fatal(err)
		}
		got, found := FindRecord(frame)
		if found && len(got.Frame)+record.Len(len(got.Bits)) > len(frame) {
			t.Fatalf("%+v of %d bytes", got, len(frame))
		}
		if d, ok := c.Add(frame, len(frame)); ok && (!found || d.Plan != p.ID || d.Path() == "" || d.Fate() == "") {
			t.Fatalf("%+v", d)
		}
		c.AddPayload(frame, netip.Addr{})
		r := c.Report()
		var unknown int64
		for _, u := range r.Unknown {
			unknown += u.Records
		}
		if r.Frames != r.Records+r.Other+r.Cut+r.Wrong+r.LeftOut+unknown {
			t.Fatalf("%+v", r)
		}
		if err := r.WriteText(&bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
	})
}

// The mean latency of a comparison is of the packets with a known one. Without such packets it is unknown, not 0.
func TestCompareUnknownLatencies(t *testing.T) {
	report := func(latencies ...Summary) *RecordReport {
		r := &RecordReport{}
		for _, l := range latencies {
			r.Plans = append(r.Plans, RecordPlanReport{Paths: []PathTotal{{key: "a", plain: "a", Packets: 10, Latency: l}}})
		}
		return r
	}
	known := Summary{Count: 10, Avg: 50}
	for _, tt := range []struct {
		latencies []Summary
		want      string
	}{{[]Summary{{}}, "null"}, {[]Summary{known, {}}, "50"}, {[]Summary{{}, known}, "50"}} {
		d := report(tt.latencies...).Compare(&RecordReport{})
		text, err := json.Marshal(d.New)
		if want := `"mean_ns":` + tt.want + `,`; err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v, %s: want %s", err, text, want)
		}
	}
}

// A record with a bit that no table sets shows nothing: its packet may have run any table.
func TestStrayBitsShowNothing(t *testing.T) {
	p := recordPlan()
	c, err := NewRecords(p)
	if err != nil {
		t.Fatal(err)
	}
	f := cat(macs, ipv4(17, 0, inUDP(recorded(p, 1<<6, 4, 0, 7))))
	c.Add(f, len(f))
	r := c.Report().Plans[0]
	if r.Impossible != 1 || len(r.Coverage.Never)+len(r.Coverage.NoHit) > 0 {
		t.Errorf("%d impossible, %+v: want one, and no table that no packet ran", r.Impossible, r.Coverage)
	}
}
