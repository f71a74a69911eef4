package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector"
	"tamtam/collector/marks"
	"tamtam/internal/randtest"
	"tamtam/saisim/drop"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/altmark"
	"tamtam/tam/ipfix"
)

var epoch = time.Unix(1700000000, 0).UTC()

var flow = collector.Flow{Protocol: 6, Source: netip.MustParseAddr("192.0.2.1"),
	Destination: netip.MustParseAddr("192.0.2.2"),
	SourcePort:  1234, DestPort: 80}

// listen returns a collector's socket.
func listen(t testing.TB) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func dial(t testing.TB, to ...string) *Exporter {
	t.Helper()
	x, err := Dial(t.Context(), Options{To: to, Domain: 1, MTU: 1500, Refresh: time.Minute, RefreshMessages: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.close)
	return x
}

// received prints this number of messages that arrived at conn, and returns the fields of the records that are not
// options.
func received(t *testing.T, conn *net.UDPConn, messages uint64) (all []map[string]any) {
	t.Helper()
	var out bytes.Buffer
	p := NewPrinter(&out, true, 0)
	buf := make([]byte, 1<<16)
	for range messages {
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Datagram(netip.AddrPort{}, buf[:n]); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Report(); err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(&out); d.More(); {
		var r struct {
			Options bool
			Error   string
			Lost    uint64 `json:"records_lost"`
			Without uint64 `json:"sets_without_template"`
			Fields  map[string]any
		}
		d.UseNumber()
		if err := d.Decode(&r); err != nil || r.Error != "" || r.Lost+r.Without > 0 {
			t.Fatalf("%v, %+v", err, r)
		}
		if !r.Options && r.Fields != nil {
			all = append(all, r.Fields)
		}
	}
	return all
}

// said returns fields as text.
func said(fields map[string]any) string {
	b, _ := json.Marshal(fields)
	return string(b)
}

// Each hop is a record with its known values and flags. Unknown values are absent.
func TestTailStamp(t *testing.T) {
	at := func(s uint64, ns uint32) tailstamp.Timestamp { return tailstamp.Timestamp{Seconds: s, Nanoseconds: ns} }
	conn := listen(t)
	x := dial(t, conn.LocalAddr().String())
	x.TailStamp(epoch, collector.StampedFrame{Number: 7, Time: epoch, Flow: flow, Records: []tailstamp.Record{
		{SwitchID: 1, InPort: 0, OutPort: 4, Ingress: at(1700000000, 100), Egress: at(1700000000, 600)},
		{SwitchID: 2, InPort: 8, OutPort: 12, Ingress: at(1700000000, 550), Egress: at(1700000000, 1250),
			Flags: tailstamp.Unsynchronised},
		{SwitchID: 3, InPort: tailstamp.NoPort, OutPort: tailstamp.CPUPort, Ingress: at(1<<40, 0), Flags: tailstamp.NoEgress},
	}})
	later := flow
	later.Source, later.Destination = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	later.LaterFragment, later.Protocol = true, 17
	x.TailStamp(epoch, collector.StampedFrame{Number: 8, Time: time.Unix(-5, 0), Flow: later, Records: []tailstamp.Record{
		{SwitchID: 1, InPort: 0, OutPort: 4, Ingress: at(0, 0), Egress: at(1700000000, 5)}}})
	x.TailStamp(epoch, collector.StampedFrame{Number: 9, Time: epoch, Flow: flow, Records: []tailstamp.Record{
		{SwitchID: 1, InPort: tailstamp.NoPort, OutPort: 4, Ingress: at(1700000000, 100), Egress: at(1600000000, 600),
			Flags: tailstamp.ClockSet},
		{SwitchID: 2, InPort: 8, OutPort: tailstamp.CPUPort, Ingress: at(1700000000, 550), Flags: tailstamp.NoEgress}}})
	x.Flush(epoch)
	const web = `"packetDeltaCount":1,"protocolIdentifier":6,"sourceIPv4Address":"192.0.2.1","sourceTransportPort":1234,`
	want := []string{
		`{"collectionTimeMilliseconds":"2023-11-14T22:13:20Z","destinationIPv4Address":"192.0.2.2",` +
			`"destinationTransportPort":80,` +
			`"egressInterface":5,"flowEndMilliseconds":"2023-11-14T22:13:20Z",` +
			`"flowEndNanoseconds":"2023-11-14T22:13:20.0000006Z",` +
			`"flowStartMilliseconds":"2023-11-14T22:13:20Z","flowStartNanoseconds":"2023-11-14T22:13:20.0000001Z",` +
			`"ingressInterface":1,` +
			web + `"tamtamFrameNumber":7,"tamtamHopCount":3,"tamtamHopFlags":0,"tamtamHopIndex":1,"tamtamResidence":500,` +
			`"tamtamSwitchId":1}`,
		`{"collectionTimeMilliseconds":"2023-11-14T22:13:20Z","destinationIPv4Address":"192.0.2.2",` +
			`"destinationTransportPort":80,` +
			`"egressInterface":13,"flowEndMilliseconds":"2023-11-14T22:13:20Z",` +
			`"flowEndNanoseconds":"2023-11-14T22:13:20.00000125Z",` +
			`"flowStartMilliseconds":"2023-11-14T22:13:20Z","flowStartNanoseconds":"2023-11-14T22:13:20.00000055Z",` +
			`"ingressInterface":9,` +
			web + `"tamtamFrameNumber":7,"tamtamHopCount":3,"tamtamHopFlags":2,"tamtamHopIndex":2,"tamtamLinkDelay":-50,` +
			`"tamtamResidence":700,"tamtamSwitchId":2}`,
		`{"collectionTimeMilliseconds":"2023-11-14T22:13:20Z","destinationIPv4Address":"192.0.2.2",` +
			`"destinationTransportPort":80,` +
			web + `"tamtamFrameNumber":7,"tamtamHopCount":3,"tamtamHopFlags":29,"tamtamHopIndex":3,"tamtamSwitchId":3}`,
		`{"destinationIPv6Address":"2001:db8::2","egressInterface":5,` +
			`"flowEndMilliseconds":"2023-11-14T22:13:20Z","flowEndNanoseconds":"2023-11-14T22:13:20.000000005Z",` +
			`"ingressInterface":1,` +
			`"packetDeltaCount":1,"protocolIdentifier":17,"sourceIPv6Address":"2001:db8::1","tamtamFrameNumber":8,` +
			`"tamtamHopCount":1,` +
			`"tamtamHopFlags":20,"tamtamHopIndex":1,"tamtamSwitchId":1}`,
		`{"collectionTimeMilliseconds":"2023-11-14T22:13:20Z","destinationIPv4Address":"192.0.2.2",` +
			`"destinationTransportPort":80,` +
			`"egressInterface":5,"flowEndMilliseconds":"2020-09-13T12:26:40Z",` +
			`"flowEndNanoseconds":"2020-09-13T12:26:40.0000006Z",` +
			`"flowStartMilliseconds":"2023-11-14T22:13:20Z","flowStartNanoseconds":"2023-11-14T22:13:20.0000001Z",` +
			web + `"tamtamFrameNumber":9,"tamtamHopCount":2,"tamtamHopFlags":68,"tamtamHopIndex":1,"tamtamSwitchId":1}`,
		`{"collectionTimeMilliseconds":"2023-11-14T22:13:20Z","destinationIPv4Address":"192.0.2.2",` +
			`"destinationTransportPort":80,` +
			`"flowStartMilliseconds":"2023-11-14T22:13:20Z","flowStartNanoseconds":"2023-11-14T22:13:20.00000055Z",` +
			`"ingressInterface":9,` +
			web + `"tamtamFrameNumber":9,"tamtamHopCount":2,"tamtamHopFlags":13,"tamtamHopIndex":2,"tamtamSwitchId":2}`,
	}
	got := received(t, conn, x.Sent()[0].Messages)
	for i, fields := range got {
		if i >= len(want) || said(fields) != want[i] {
			t.Errorf("record %d:\ngot  %s\nwant %s", i+1, said(fields), want[min(i, len(want)-1)])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
}

// randomResult returns a partly known result of alternate marking, and the fields of its record.
func randomResult(r *rand.Rand) (marks.Result, map[string]any) {
	p := marks.Result{Path: "west-east", From: "leaf1", To: "leaf2", Period: r.Uint64() >> 4,
		Start: altmark.Time{Seconds: 1700000000, Nanoseconds: r.Uint32N(1e9)}, Status: marks.Status(1 + r.IntN(3)),
		Revised: r.IntN(2) == 0}
	for range r.IntN(4) {
		p.Reasons = append(p.Reasons, "leaf2: "+strings.Repeat("clock-step é", 1+r.IntN(60)))
	}
	reasons := strings.Join(p.Reasons, "; ")
	start := p.Start.Std()
	want := map[string]any{"tamtamPath": p.Path, "tamtamFrom": p.From, "tamtamTo": p.To, "tamtamPeriod": p.Period,
		"tamtamPeriodStatus": uint64(p.Status), "tamtamReasons": shorten(reasons, 1500-headers-notReasons),
		"tamtamRevised":         p.Revised,
		"flowStartNanoseconds":  start.Format(time.RFC3339Nano),
		"flowStartMilliseconds": start.Truncate(time.Millisecond).Format(time.RFC3339Nano)}
	if p.Counted = r.IntN(2) == 0; p.Counted {
		p.Sent, p.Received, p.SentBytes, p.ReceivedBytes = r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()
		maps.Copy(want, map[string]any{"tamtamSentPackets": p.Sent, "packetDeltaCount": p.Received,
			"tamtamSentOctets":      p.SentBytes,
			"layer2OctetDeltaCount": p.ReceivedBytes})
	}
	some := func(name string, v *time.Duration, valid *bool) {
		if *valid = r.IntN(2) == 0; *valid {
			*v = time.Duration(r.Uint64())
			want[name] = int64(*v)
		}
	}
	var lost time.Duration
	some("tamtamLostPackets", &lost, &p.LossValid)
	p.Lost = int64(lost)
	some("tamtamDelay", &p.Delay, &p.DelayValid)
	some("tamtamRawDelay", &p.RawDelay, &p.RawDelayValid)
	some("tamtamJitter", &p.Jitter, &p.JitterValid)
	if p.Window.Count = r.IntN(3); p.Window.Count > 0 {
		p.Window.Min, p.Window.Mean, p.Window.Max = 1, 2, 3
		maps.Copy(want, map[string]any{"tamtamWindowDelays": uint64(p.Window.Count), "tamtamWindowMinDelay": int64(1),
			"tamtamWindowMeanDelay": int64(2), "tamtamWindowMaxDelay": int64(3)})
	}
	return p, want
}

// A result of alternate marking is exported with its known values, status and reasons. Two collectors receive the same.
func TestAltMark(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		one, two := listen(t), listen(t)
		x := dial(t, one.LocalAddr().String(), two.LocalAddr().String())
		var results []marks.Result
		var want []map[string]any
		for range 10 {
			p, w := randomResult(r)
			results, want = append(results, p), append(want, w)
		}
		x.AltMark(epoch, results)
		x.Flush(epoch)
		for i, conn := range []*net.UDPConn{one, two} {
			got := received(t, conn, x.Sent()[i].Messages)
			for i := range want {
				if i >= len(got) || said(got[i]) != said(want[i]) {
					t.Fatalf("record %d:\ngot  %s\nwant %s", i+1, said(got[min(i, len(got)-1)]), said(want[i]))
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d records, want %d", len(got), len(want))
			}
		}
	})
}

// Records without a listener are counted or refused, never lost silently. A later listener receives templates first.
func TestNoListener(t *testing.T) {
	conn := listen(t)
	to := conn.LocalAddr().String()
	x := dial(t, to)
	frame := collector.StampedFrame{Flow: flow, Time: epoch, Records: make([]tailstamp.Record, 1)}
	conn.Close()
	for x.Sent()[0].Refused == 0 {
		if t.Context().Err() != nil {
			t.Fatal("nothing says that nobody listens")
		}
		x.TailStamp(epoch, frame)
		x.Flush(epoch)
	}
	again, err := net.ListenPacket("udp", to)
	if err != nil {
		t.Skip(err) // another process now uses the port
	}
	defer again.Close()
	before := x.Sent()[0]
	for range 3 {
		x.TailStamp(epoch, frame)
		x.Flush(epoch)
	}
	d := ipfix.NewDecoder(0)
	buf := make([]byte, 1<<16)
	for range x.Sent()[0].Messages - before.Messages {
		if err := again.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, _, err := again.ReadFrom(buf)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Message(buf[:n], func(*ipfix.DataRecord) {}); err != nil {
			t.Fatal(err)
		}
	}
	if c := d.Counts(); c.Records < 2 {
		t.Errorf("%+v, want records", c)
	}
}

// The counters of sent and unsent records are a line of text, and a record.
func TestSent(t *testing.T) {
	conn := listen(t)
	x := dial(t, conn.LocalAddr().String())
	x.to[0].conn.Close() // makes every further message fail
	x.TailStamp(epoch, collector.StampedFrame{Flow: flow, Time: epoch, Records: make([]tailstamp.Record, 3)})
	x.Flush(epoch)
	s := x.Sent()[0]
	if s.NotSent < 4 || s.Messages != 0 || s.Records != 0 || !strings.Contains(s.String(), "records not sent: ") {
		t.Errorf("%v", s)
	}
	s = Sent{To: "c:4739", Records: 5, Messages: 2, Refused: 3}
	if got, want := s.String(),
		"IPFIX to c:4739: 5 records in 2 messages sent, refused 3 times: no process listened"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDialRefuses(t *testing.T) {
	good := Options{To: []string{"127.0.0.1:4739"}, Domain: 1, MTU: 1500, Refresh: time.Second, RefreshMessages: 1}
	for want, change := range map[string]func(*Options){
		"MTU 100, want 560 to 65535": func(o *Options) { o.MTU = 100 },
		"observation domain 0":       func(o *Options) { o.Domain = 0 },
		"no collector":               func(o *Options) { o.To = nil },
		`collector "nowhere"`:        func(o *Options) { o.To = []string{"nowhere"} },
		"want more than 0":           func(o *Options) { o.Refresh = 0 },
	} {
		o := good
		change(&o)
		if _, err := Dial(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, list := range []string{"", "a", "a:1,", ":4739", "a:"} {
		if to, err := Split(list); err == nil {
			t.Errorf("%q: %q", list, to)
		}
	}
	if to, err := Split("a:1,[::1]:2"); err != nil || !slices.Equal(to, []string{"a:1", "[::1]:2"}) {
		t.Errorf("%q, %v", to, err)
	}
}

// A record of maximum length fits in the smallest message.
func TestLongestRecords(t *testing.T) {
	conn := listen(t)
	x, err := Dial(t.Context(), Options{To: []string{conn.LocalAddr().String()}, Domain: 1, MTU: MinMTU,
		Refresh: time.Minute, RefreshMessages: 9})
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	long := strings.Repeat("x", 5000)
	p := marks.Result{Path: long, From: long, To: long, Reasons: []string{long}, Start: altmark.Time{Seconds: 1},
		Counted: true, LossValid: true, DelayValid: true, RawDelayValid: true, JitterValid: true}
	p.Window.Count = 1
	x.AltMark(epoch, []marks.Result{p})
	x.TailStamp(epoch, collector.StampedFrame{Flow: flow, Records: make([]tailstamp.Record, 2)})
	x.Flush(epoch)
	if s := x.Sent()[0]; s.NotSent != 0 {
		t.Fatal(s)
	}
	got := received(t, conn, x.Sent()[0].Messages)
	if len(got) != 3 || !strings.HasSuffix(got[0]["tamtamReasons"].(string), "x...") {
		t.Errorf("%d records, %v", len(got), got)
	}
}

// Exporting a frame needs no allocation once its templates were sent.
func TestExportAllocatesNothing(t *testing.T) {
	conn := listen(t)
	x := dial(t, conn.LocalAddr().String())
	f := collector.StampedFrame{Flow: flow, Time: epoch, Records: make([]tailstamp.Record, 3)}
	x.TailStamp(epoch, f)
	if n := testing.AllocsPerRun(1000, func() { x.TailStamp(epoch, f) }); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// Text is quoted. Unknown elements, faults and counters are shown.
func TestPrinterText(t *testing.T) {
	var out strings.Builder
	p := NewPrinter(&out, false, 0)
	from := netip.MustParseAddrPort("192.0.2.9:4739")
	m := []byte{0, 10, 0, 53, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 0, 2, 0, 24, 1, 0, 0, 4, 0, 82, 255, 255, 0, 7, 0, 2, 0,
		7, 0, 2,
		127, 0, 0, 1, 1, 0, 0, 13, 3, 'a', 27, '"', 0, 80, 0, 81, 5}
	for _, b := range [][]byte{m, m[:20], m} {
		if err := p.Datagram(from, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Report(); err != nil {
		t.Fatal(err)
	}
	const record = `192.0.2.9:4739 domain 3 template 256 sequence 0 interfaceName="a\x1b\"" sourceTransportPort=80 ` +
		`sourceTransportPort#2=81 id32512=0x05` + "\n"
	const want = record + "192.0.2.9:4739: ipfix: byte 2: length: 53, want 20 as the datagram has\n" + record +
		"192.0.2.9:4739: 2 records in 3 messages, 0 lost, 1 messages that are wrong, 2 messages that came late\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	for i := range MaxExporters + 5 {
		if err := p.Datagram(netip.AddrPortFrom(from.Addr(), uint16(i+1)), m); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.decoders) != MaxExporters || p.beyond == 0 || p.Records() == 0 {
		t.Errorf("%d exporters, %d beyond", len(p.decoders), p.beyond)
	}
}

func TestFlags(t *testing.T) {
	if got := reflect.DeepEqual([]int{noEgress, unsynchronised, noResidence, noLinkDelay, badIngress, badEgress},
		[]int{1, 2, 4, 8, 16, 32}); !got {
		t.Error("the flags are not those that docs/reference/ipfix.md has")
	}
}

// Drop reasons have the chip's names beside their numbers, in both layouts. A number without a name is shown alone.
func TestReasonsAreNamed(t *testing.T) {
	k := &ipfix.Kind{Name: "drops"}
	for _, name := range []string{"tamtamDropReason", "tamtamDropReasonIngress", "tamtamDropReasonEgress"} {
		k.Fields = append(k.Fields, field(name, 0))
	}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		p := NewPrinter(&out, asJSON, 0)
		e, err := ipfix.NewEncoder(ipfix.Config{Domain: 2, Size: 1400, Refresh: time.Hour, RefreshMessages: 100,
			Kinds: []*ipfix.Kind{k}}, func(m ipfix.Message) {
			if err := p.Datagram(netip.MustParseAddrPort("10.0.0.1:9"), m.Bytes); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range [][3]int{{int(drop.Blackhole), 0, int(drop.QueueLimit) + 1}, {250, 255, 1}} {
			r := k.NewRecord()
			for i := range n {
				r.Set(i, ipfix.Uint(uint64(n[i])))
			}
			if err := e.Add(epoch, 0, r); err != nil {
				t.Fatal(err)
			}
		}
		e.Flush()
		want := []string{
			fmt.Sprintf("tamtamDropReason=%d:blackhole tamtamDropReasonIngress=0:none tamtamDropReasonEgress=%d:queue-limit\n",
				drop.Blackhole, drop.QueueLimit+1),
			"tamtamDropReason=250 tamtamDropReasonIngress=255 tamtamDropReasonEgress=1:port-down\n"}
		if asJSON {
			want = []string{
				`"reasons":{"tamtamDropReason":"blackhole","tamtamDropReasonEgress":"queue-limit",` +
					`"tamtamDropReasonIngress":"none"}`,
				`"reasons":{"tamtamDropReasonEgress":"port-down"}`}
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s\nhas not %s", &out, w)
			}
		}
	}
}
