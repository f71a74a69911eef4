package export

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/collector/marks"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/altmark"
	"tamtam/tam/ipfix"
)

// collectorsVariable is the variable that enables TestCollectors, which starts third-party programs and waits for them.
const collectorsVariable = "TAMTAM_IPFIX"

// A reading is a record as text, by element. Times are milliseconds or nanoseconds since 1970, octets are hexadecimal.
type reading map[string]string

// key returns a key that is unique among the test's records: no two records with a begin have the same begin in
// milliseconds, and no two others have the same source port.
func (r reading) key() string {
	return cmp.Or(r["flowStartMilliseconds"], "port "+r["sourceTransportPort"])
}

// A relay forwards messages between an exporter and collectors from its own socket. It writes them to a capture, and
// may lose one.
type relay struct {
	*testing.T
	in      *net.UDPConn
	out     []net.Conn
	capture *capture.Writer
	port    uint16 // source port of the exporter in the capture
	lose    int    // number of the data message to lose; zero means none
	data    int
	passed  uint64 // number of messages received so far
}

func (l *lineup) relay(lose int) *relay {
	l.port++
	r := &relay{T: l.T, in: listen(l), capture: l.capture, port: l.port, lose: lose}
	for _, c := range l.collectors {
		conn, err := net.Dial("udp", c.address())
		if err != nil {
			l.Fatal(err)
		}
		l.Cleanup(func() { conn.Close() })
		r.out = append(r.out, conn)
	}
	return r
}

// give forwards a message.
func (r *relay) give(b []byte) {
	if binary.BigEndian.Uint32(b[12:]) != 0 {
		if r.data++; r.data == r.lose {
			return
		}
	}
	for _, conn := range r.out {
		if _, err := conn.Write(b); err != nil {
			r.Fatal(err)
		}
	}
	f := make([]byte, 42, 42+len(b)) // space for Ethernet, IPv4 and UDP headers
	f[12], f[14], f[22], f[23] = 8, 0x45, 64, 17
	binary.BigEndian.PutUint16(f[16:], uint16(28+len(b)))
	copy(f[26:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	binary.BigEndian.PutUint16(f[34:], r.port)
	binary.BigEndian.PutUint16(f[36:], 4739)
	binary.BigEndian.PutUint16(f[38:], uint16(8+len(b)))
	f = append(f, b...)
	if err := r.capture.Write(epoch, f, len(f)); err != nil {
		r.Fatal(err)
	}
}

// flush flushes an exporter, and forwards the messages.
func (r *relay) flush(x *Exporter) {
	x.Flush(epoch)
	buf := make([]byte, 1<<16)
	for ; r.passed < x.Sent()[0].Messages; r.passed++ {
		if err := r.in.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			r.Fatal(err)
		}
		n, err := r.in.Read(buf)
		if err != nil {
			r.Fatal(err)
		}
		r.give(buf[:n])
	}
}

func (r *relay) dial(domain uint32, messages int) *Exporter {
	x, err := Dial(r.Context(), Options{To: []string{r.in.LocalAddr().String()}, Domain: domain, MTU: 1500,
		Refresh:         time.Hour,
		RefreshMessages: messages})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(x.close)
	return x
}

// A lineup holds the available collectors, and the records that they should read.
type lineup struct {
	*testing.T
	dir        string
	capture    *capture.Writer
	collectors []*program
	port       uint16
	ms         uint64 // time of the last record in milliseconds
	want       []reading
	never      []string // keys of records that cannot be read, because their template is lost
}

func number[T int | int64 | uint8 | uint16 | uint32 | uint64](v T) string { return fmt.Sprint(v) }

// hops exports frames, which are either all equal or cover all variations. It stores the expected records.
func (l *lineup) hops(x *Exporter, frames int, alike bool, after func()) {
	for n := range frames {
		f := collector.StampedFrame{Number: int64(n + 1), Time: epoch.Add(5 * time.Millisecond), Flow: flow}
		f.Flow.SourcePort = uint16(2000 + n)
		if n%3 == 1 && !alike {
			f.Flow.Source, f.Flow.Destination = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
			f.Flow.Protocol = 17
		}
		hops := 1 + n%2
		if alike {
			hops = 1
		}
		for i := range hops {
			l.ms++
			in := tailstamp.Timestamp{Seconds: 1700000000, Nanoseconds: uint32(l.ms*1e6 + 123456)}
			r := tailstamp.Record{SwitchID: uint32(100 + i), InPort: uint16(4 * i), OutPort: uint16(4 + 8*n), Ingress: in,
				Egress: in}
			r.Egress.Nanoseconds += uint32(1e6 + 1000*n)
			if n == 4 && !alike {
				r.Flags, r.Egress, r.OutPort = tailstamp.NoEgress|tailstamp.Unsynchronised, tailstamp.Timestamp{}, tailstamp.CPUPort
			}
			f.Records = append(f.Records, r)
		}
		x.TailStamp(epoch, f)
		for i := range f.Records {
			l.want = append(l.want, wantHop(f, i))
		}
		after()
	}
}

// wantHop returns the record of a hop that a collector should read.
func wantHop(f collector.StampedFrame, i int) reading {
	hop, flags := f.Records[i], 0
	ns := func(t tailstamp.Timestamp) uint64 { return t.Seconds*1e9 + uint64(t.Nanoseconds) }
	w := reading{"protocolIdentifier": number(f.Flow.Protocol), "packetDeltaCount": "1",
		"collectionTimeMilliseconds": number(f.Time.UnixMilli()), "tamtamFrameNumber": number(f.Number),
		"tamtamSwitchId": number(hop.SwitchID), "tamtamHopIndex": number(i + 1), "tamtamHopCount": number(len(f.Records)),
		"sourceTransportPort": number(f.Flow.SourcePort), "destinationTransportPort": number(f.Flow.DestPort),
		"ingressInterface":      number(int(hop.InPort) + 1),
		"flowStartMilliseconds": number(ns(hop.Ingress) / 1e6), "flowStartNanoseconds": number(ns(hop.Ingress))}
	family := "IPv4"
	if f.Flow.Source.Is6() {
		family = "IPv6"
	}
	w["source"+family+"Address"], w["destination"+family+"Address"] = f.Flow.Source.String(), f.Flow.Destination.String()
	if hop.Flags != 0 {
		flags = noEgress | unsynchronised | noResidence
	} else {
		w["egressInterface"] = number(int(hop.OutPort) + 1)
		w["flowEndMilliseconds"], w["flowEndNanoseconds"] = number(ns(hop.Egress)/1e6), number(ns(hop.Egress))
		w["tamtamResidence"] = number(ns(hop.Egress) - ns(hop.Ingress))
	}
	if i > 0 {
		w["tamtamLinkDelay"] = number(int64(ns(hop.Ingress)) - int64(ns(f.Records[i-1].Egress)))
	}
	w["tamtamHopFlags"] = number(flags)
	return w
}

// periods exports results of alternate marking, one of them flagged and one revised.
func (l *lineup) periods(x *Exporter) {
	for n := range 3 {
		l.ms++
		p := marks.Result{Path: "west-east", From: "leaf1", To: "leaf2", Period: uint64(1000 + n),
			Start:  altmark.Time{Seconds: 1700000000, Nanoseconds: uint32(l.ms*1e6 + 1000)},
			Status: marks.OK, Counted: true, LossValid: n < 2, Lost: int64(3 - 4*n), DelayValid: n < 2, RawDelayValid: true,
			JitterValid: n == 1, Delay: time.Duration(5000 + n), RawDelay: time.Duration(6000 + n), Jitter: -7, Revised: n == 1}
		p.Counts = marks.Counts{Sent: 100, Received: uint64(97 + 4*n), SentBytes: 10000, ReceivedBytes: 9700}
		p.Window = marks.Delays{Count: n, Min: 1, Mean: 2, Max: 3}
		w := reading{"tamtamPath": p.Path, "tamtamFrom": p.From, "tamtamTo": p.To, "tamtamPeriod": number(p.Period),
			"tamtamRevised":         map[bool]string{true: "true", false: "false"}[p.Revised],
			"flowStartMilliseconds": number(1700000000000 + l.ms),
			"flowStartNanoseconds":  number(1700000000000000000 + l.ms*1e6 + 1000),
			"packetDeltaCount":      number(p.Received), "layer2OctetDeltaCount": "9700",
			"tamtamSentPackets": "100", "tamtamSentOctets": "10000", "tamtamRawDelay": number(int64(p.RawDelay))}
		if n == 2 {
			p.Status, p.Reasons = marks.Flagged, []string{"leaf1: clock-step", "leaf2: late-read"}
			w["tamtamReasons"] = "leaf1: clock-step; leaf2: late-read"
		} else {
			w["tamtamReasons"] = ""
			w["tamtamLostPackets"], w["tamtamDelay"] = number(p.Lost), number(int64(p.Delay))
		}
		w["tamtamPeriodStatus"] = number(uint8(p.Status))
		if p.JitterValid {
			w["tamtamJitter"] = "-7"
		}
		if n > 0 {
			w["tamtamWindowDelays"], w["tamtamWindowMinDelay"] = number(n), "1"
			w["tamtamWindowMeanDelay"], w["tamtamWindowMaxDelay"] = "2", "3"
		}
		x.AltMark(epoch, []marks.Result{p})
		l.want = append(l.want, w)
	}
}

// sections returns a kind with the other elements of a drop monitor: parts of the frame, and its fate.
func sections() *ipfix.Kind {
	k := &ipfix.Kind{Name: "sections"}
	for _, name := range []string{"flowStartMilliseconds", "sourceIPv4Address", "destinationIPv4Address",
		"protocolIdentifier",
		"sourceTransportPort", "destinationTransportPort", "ingressInterface", "packetDeltaCount", "droppedPacketDeltaCount",
		"forwardingStatus", "observationTimeNanoseconds", "dataLinkFrameSize", "ipHeaderPacketSection",
		"ipPayloadPacketSection",
		"dataLinkFrameSection"} {
		f := field(name, 0)
		if name == "forwardingStatus" {
			f.Length = 1
		}
		k.Fields = append(k.Fields, f)
	}
	return k
}

// dropped exports records of sections.
func (l *lineup) dropped(give func([]byte)) {
	k := sections()
	e, err := ipfix.NewEncoder(ipfix.Config{Domain: 2, Size: 1400, Refresh: time.Hour, RefreshMessages: 100,
		Kinds: []*ipfix.Kind{k}}, func(m ipfix.Message) { give(m.Bytes) })
	if err != nil {
		l.Fatal(err)
	}
	frame, err := hex.DecodeString("020000000002020000000001" + "0800" + "4500002600000000401100000a0000010a000002" +
		"0bb80050001200000102030405060708090a")
	if err != nil {
		l.Fatal(err)
	}
	for n := range 3 {
		l.ms++
		r := k.NewRecord()
		at, _ := ipfix.NTP(1700000000, uint32(l.ms*1e6+77))
		const acl = 130 // dropped by an ACL (RFC 7270)
		a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
		for i, v := range []ipfix.Value{ipfix.Uint(1700000000000 + l.ms), ipfix.Addr(a), ipfix.Addr(b), ipfix.Uint(17),
			ipfix.Uint(3000), ipfix.Uint(80), ipfix.Uint(uint64(n + 1)), ipfix.Uint(1), ipfix.Uint(1), ipfix.Uint(acl),
			ipfix.Uint(at),
			ipfix.Uint(uint64(len(frame))), ipfix.Bytes(frame[14:34]), ipfix.Bytes(frame[34:]), ipfix.Bytes(frame)} {
			r.Set(i, v)
		}
		if err := e.Add(epoch, 0, r); err != nil {
			l.Fatal(err)
		}
		l.want = append(l.want, reading{"flowStartMilliseconds": number(1700000000000 + l.ms),
			"sourceIPv4Address":      "10.0.0.1",
			"destinationIPv4Address": "10.0.0.2", "protocolIdentifier": "17", "sourceTransportPort": "3000",
			"destinationTransportPort": "80", "ingressInterface": number(n + 1), "packetDeltaCount": "1",
			"droppedPacketDeltaCount": "1",
			"forwardingStatus":        number(acl), "observationTimeNanoseconds": number(1700000000000000000 + l.ms*1e6 + 77),
			"dataLinkFrameSize": number(len(frame)), "ipHeaderPacketSection": hex.EncodeToString(frame[14:34]),
			"ipPayloadPacketSection": hex.EncodeToString(frame[34:]), "dataLinkFrameSection": hex.EncodeToString(frame)})
	}
	e.Flush()
}

// chipDrops forwards a chip's drop reports. The expected records are those of our own decoder. Tests of package device
// check that they match the packets' fates.
func (l *lineup) chipDrops(give func([]byte)) {
	text, err := os.ReadFile("testdata/dropreports.hex")
	if err != nil {
		l.Fatal(err)
	}
	d := ipfix.NewDecoder(0)
	for line := range strings.Lines(string(text)) {
		m, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			l.Fatal(err)
		}
		give(m)
		if err := d.Message(m, func(r *ipfix.DataRecord) {
			w := reading{}
			for i := range r.Fields {
				v := r.Fields[i].Value(r.Values[i])
				name := r.Fields[i].Name()
				if w[name] = fmt.Sprint(v); strings.HasSuffix(name, "Nanoseconds") {
					at, err := time.Parse(time.RFC3339Nano, w[name])
					if err != nil {
						l.Fatal(err)
					}
					w[name] = number(at.UnixNano())
				}
			}
			if r.Scope == 0 {
				l.want = append(l.want, w)
			}
		}); err != nil {
			l.Fatal(err)
		}
	}
}

// TestCollectors checks that third-party collectors read the exported data. Each supported element has the exported
// value in every record. Records after a lost template are read once the template is repeated. No collector finds a gap
// in the sequence.
func TestCollectors(t *testing.T) {
	if os.Getenv(collectorsVariable) == "" {
		t.Skip(collectorsVariable + " is not set: make ipfix-test")
	}
	l := &lineup{T: t, dir: t.TempDir(), port: 5000}
	path := filepath.Join(l.dir, "messages.pcap")
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	l.capture = w
	l.start()
	whole := l.relay(0)
	x := whole.dial(1, 1000)
	l.hops(x, 8, false, func() {})
	whole.flush(x)
	l.periods(x)
	whole.flush(x)
	l.dropped(l.relay(0).give)
	l.chipDrops(l.relay(0).give)
	sound := len(l.want)

	const again = 4 // templates are repeated after this number of messages, of which the first is lost
	lossy := l.relay(1)
	x = lossy.dial(3, again)
	l.hops(x, 8, true, func() { lossy.flush(x) })
	for _, r := range l.want[sound : sound+again] {
		l.never = append(l.never, r.key())
	}
	l.want = slices.Delete(l.want, sound, sound+again)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l.compare(path)
}

// compare reads the records of each collector, and prints the table.
func (l *lineup) compare(path string) {
	readers := []string{"tamtam"}
	verdicts := map[string]map[string]string{"tamtam": l.judge("tamtam", l.readTamtam(path), l.want, true)}
	if l.has("tshark") {
		readers = append(readers, "tshark")
		verdicts["tshark"] = l.judge("tshark", l.readTshark(path), l.want, true)
	}
	for _, c := range l.collectors {
		readers = append(readers, c.name)
		want := l.want
		if c.addressed {
			want = slices.DeleteFunc(slices.Clone(want), func(r reading) bool { return r["protocolIdentifier"] == "" })
		}
		verdicts[c.name] = l.judge(c.name, c.stop(len(want)), want, false)
	}
	l.Logf("| element | %s |", strings.Join(readers, " | "))
	l.Logf("| ---%s |", strings.Repeat(" | ---", len(readers)))
	for _, name := range l.elements() {
		cells := make([]string, len(readers))
		for i, r := range readers {
			if cells[i] = verdicts[r][name]; cells[i] == "" {
				cells[i] = "-"
			}
		}
		l.Logf("| `%s` | %s |", name, strings.Join(cells, " | "))
	}
	for _, row := range []string{"records read", "a template that was lost came again", "gaps in the sequence"} {
		cells := make([]string, len(readers))
		for i, r := range readers {
			cells[i] = verdicts[r][row]
		}
		l.Logf("| %s | %s |", row, strings.Join(cells, " | "))
	}
}

// elements returns the elements that were written, standard ones first, by number.
func (l *lineup) elements() (names []string) {
	for _, k := range []*ipfix.Kind{hopKind(), periodKind(), sections()} {
		for _, f := range k.Fields {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	for _, r := range l.want {
		for name := range r {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	place := func(name string) int {
		if strings.HasPrefix(name, "tamtam") {
			return 1<<16 + int(ipfix.OwnElement(name).ID)
		}
		return int(ipfix.Standard(name).ID)
	}
	slices.SortFunc(names, func(a, b string) int { return place(a) - place(b) })
	return names
}

// judge returns for each element how a collector has read it. A collector that does not distinguish absent values may
// omit a 0.
func (l *lineup) judge(who string, got, want []reading, reports bool) map[string]string {
	verdict := map[string]string{"records read": fmt.Sprintf("%d of %d", len(got), len(l.want)),
		"a template that was lost came again": "no"}
	byKey := map[string]reading{}
	for _, r := range got {
		if _, twice := byKey[r.key()]; twice {
			l.Errorf("%s: two records with %s", who, r.key())
		}
		byKey[r.key()] = r
	}
	for _, key := range l.never {
		if byKey[key] != nil {
			l.Errorf("%s: a record without a template was read: %v", who, byKey[key])
		}
	}
	if len(got) != len(want) {
		l.Errorf("%s: %d records, want %d", who, len(got), len(want))
	}
	seen := map[string]bool{}
	for _, r := range got {
		for name := range r {
			seen[name] = true
		}
	}
	for _, w := range want {
		r := byKey[w.key()]
		if r == nil {
			l.Errorf("%s: no record of %v", who, w)
			continue
		}
		for name, value := range w {
			got := r[name]
			if value == "0" && got == "" && !reports {
				got = value
			}
			l.judgeValue(who, name, got, value, seen[name], verdict)
		}
		for name, value := range r {
			if _, ok := w[name]; !ok {
				l.Errorf("%s: %s is %s in record %s, which has none", who, name, value, w.key())
			}
		}
	}
	if last := l.want[len(l.want)-1]; byKey[last.key()] != nil { // the record after the lost template was read
		verdict["a template that was lost came again"] = "yes"
	}
	equal := 0
	for name, v := range verdict {
		if v == "=" && !strings.HasPrefix(name, "tamtam") {
			equal++
		}
	}
	const least = 12 // number of elements that every collector supports: flow key, ports, times and packets
	if equal < least {
		l.Errorf("%s: %d standard elements were read, want %d and more", who, equal, least)
	}
	verdict["gaps in the sequence"] = l.gaps(who)
	return verdict
}

// judgeValue records how a value was read.
func (l *lineup) judgeValue(who, name, got, want string, seen bool, verdict map[string]string) {
	switch {
	case !seen:
	case got == want:
		if verdict[name] == "" {
			verdict[name] = "="
		}
	default:
		l.Errorf("%s: %s is %q, want %q", who, name, got, want)
		verdict[name] = "wrong"
	}
}

// gaps returns the number of sequence gaps that a collector found. Gaps in a capture are searched for separately.
func (l *lineup) gaps(who string) string {
	for _, c := range l.collectors {
		if c.name == who && c.gaps != nil {
			return c.gaps()
		}
	}
	if who == "tshark" || who == "tamtam" {
		return "0" // readTshark and readTamtam have checked the sequence
	}
	return "-"
}

// parsed returns the number in s, or fails the test.
func (l *lineup) parsed(s string) uint64 {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		l.Fatal(err)
	}
	return v
}
