package collector

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tamtam/collector/capture"
	"tamtam/internal/randtest"
	"tamtam/saisim/tailstamp"
)

// at returns a time of day, in nanoseconds after a fixed second.
func at(ns uint32) tailstamp.Timestamp { return tailstamp.Timestamp{Seconds: 1000, Nanoseconds: ns} }

func hop(id uint32, in, out uint16, ingress, egress uint32, flags tailstamp.Flags) tailstamp.Record {
	return tailstamp.Record{SwitchID: id, InPort: in, OutPort: out, Ingress: at(ingress), Egress: at(egress), Flags: flags}
}

// stamped returns frame padded to the minimum, with records after it.
func stamped(frame []byte, records ...tailstamp.Record) []byte {
	b := append([]byte(nil), frame...)
	for len(b) < 60 {
		b = append(b, 0)
	}
	for _, r := range records {
		b = tailstamp.V1{}.Append(b, r)
	}
	return b
}

var (
	web   = cat(macs, ipv4(6, 0, tcp))
	video = cat(macs, tag, ipv6(17, tcp))
)

// twoHops returns a collector that received a web flow across two switches, sometimes on another path. It also received
// a UDP flow punted to the CPU, and frames without records.
func twoHops() *TailStamp {
	c := NewTailStamp(0, 0, false)
	add := func(frame []byte) { c.Add(frame, time.Unix(1000, 0).UTC(), len(frame)) }
	for i := range uint32(10) {
		add(stamped(web, hop(1, 0, 4, 100, 600+i, 0), hop(2, 8, 12, 1600+2*i, 2000+2*i, 0)))
	}
	add(stamped(web, hop(1, 0, 5, 100, 700, 0), hop(3, 8, 12, 1600, 1500, tailstamp.Unsynchronised)))
	add(stamped(video, hop(1, 0, tailstamp.CPUPort, 5, 0, tailstamp.NoEgress)))
	add(web)
	add(make([]byte, 60))
	cutFrame := stamped(web, hop(1, 0, 4, 1, 2, 0))
	c.Add(cutFrame[:80], time.Unix(1001, 0).UTC(), len(cutFrame))
	return c
}

func TestReportText(t *testing.T) {
	const want = `15 frames: 12 stamped with 23 records, 2 without a record, 1 cut by the snap length

TCP 192.0.2.1:12345 > 192.0.2.2:80: 11 frames stamped
  path 1 of 2: 10 frames
  hop  switch         in         out  count  min ns   avg   p50   p90   p99   max
    1       1  Ethernet0   Ethernet4     10     500   505   504   508   509   509
                                link     10    1000  1005  1004  1008  1009  1009
    2       2  Ethernet8  Ethernet12     10     400   400   400   400   400   400
                                 all     10    1900  1909  1908  1916  1918  1918
  path 2 of 2: 1 frame
  hop  switch         in         out  count  min ns   avg   p50   p90   p99   max
    1       1  Ethernet0   Ethernet5      1     600   600   600   600   600   600
                                link      1     900   900   900   900   900   900
    2       3  Ethernet8  Ethernet12      1    -100  -100  -100  -100  -100  -100
                                 all      1    1400  1400  1400  1400  1400  1400
  hop 2: 1 frame with a clock that was not synchronised

UDP [2001:db8::1]:12345 > [2001:db8::2]:80: 1 frame stamped
  hop  switch         in  out  count  min ns  avg  p50  p90  p99  max
    1       1  Ethernet0  CPU      0       -    -    -    -    -    -
  hop 1: 1 frame without an egress time
`
	var b strings.Builder
	if err := twoHops().Report().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, b.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// Bytes after a datagram that belong to no record are counted and shown. So are records that were found by search, and
// frames with an unknown end.
func TestSkippedBytes(t *testing.T) {
	c := NewTailStamp(0, 0, false)
	one, two := hop(1, 0, 4, 100, 600, 0), hop(2, 8, 12, 1600, 2000, 0)
	fcs, trailer := []byte("\xde\xad\xbe\xef"), []byte("sixteen bytes...")
	offloaded := bytes.Clone(web)
	offloaded[16], offloaded[17] = 0, 0
	for _, frame := range [][]byte{
		stamped(web, one, two),
		cat(stamped(web, one, two), trailer),
		stamped(cat(stamped(web, one), fcs), two),
		stamped(offloaded, one, two),
	} {
		c.Add(frame, time.Unix(1000, 0), len(frame))
	}
	const want = `4 frames: 3 stamped with 6 records, 0 without a record
2 frames with 20 bytes behind the datagram that belong to no record; 3 records found by search
1 frame whose IP length is not valid: where records would be is not known

TCP 192.0.2.1:12345 > 192.0.2.2:80: 3 frames stamped
  hop  switch         in         out  count  min ns   avg   p50   p90   p99   max
    1       1  Ethernet0   Ethernet4      3     500   500   500   500   500   500
                                link      3    1000  1000  1000  1000  1000  1000
    2       2  Ethernet8  Ethernet12      3     400   400   400   400   400   400
                                 all      3    1900  1900  1900  1900  1900  1900
  hop 1: 2 frames whose record was found by search
  hop 2: 1 frame whose record was found by search
`
	var text, asJSON strings.Builder
	if err := errors.Join(c.Report().WriteText(&text), c.Report().WriteJSON(&asJSON)); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	for _, want := range []string{`"ip_length_unknown": 1`, `"skipped_bytes": 20`, `"frames_with_skipped_bytes": 2`,
		`"records_found_by_search": 3`, `"found_by_search": 2`} {
		if !strings.Contains(asJSON.String(), want) {
			t.Errorf("JSON lacks %s:\n%s", want, &asJSON)
		}
	}
}

func TestReportJSON(t *testing.T) {
	var b bytes.Buffer
	if err := twoHops().Report().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var r struct {
		Frames, Stamped, Records, Cut int
		Plain                         int `json:"without_record"`
		Flows                         []struct {
			Protocol, Source string
			SourcePort       int `json:"source_port"`
			Paths            []struct {
				Hops []struct {
					SwitchID int    `json:"switch_id"`
					OutPort  string `json:"out_port"`
					Latency  struct {
						Count int
						P90   int `json:"p90_ns"`
					}
					Delay *struct {
						Max int `json:"max_ns"`
					} `json:"delay_from_previous"`
				}
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Frames != 15 || r.Stamped != 12 || r.Records != 23 || r.Cut != 1 || r.Plain != 2 || len(r.Flows) != 2 {
		t.Errorf("totals %+v", r)
	}
	hops := r.Flows[0].Paths[0].Hops
	if hops[0].Delay != nil || hops[1].Delay.Max != 1009 || hops[1].SwitchID != 2 || hops[0].Latency.P90 != 508 ||
		hops[0].OutPort != "Ethernet4" {
		t.Errorf("hops of the first path:\n%s", b.String())
	}
}

func TestDifference(t *testing.T) {
	day := tailstamp.Timestamp{Seconds: 86400}
	tests := []struct {
		name     string
		from, to tailstamp.Timestamp
		want     int64
		ok       bool
	}{
		{"later", at(1), at(3), 2, true},
		{"earlier", at(3), at(1), -2, true},
		{"across a second", tailstamp.Timestamp{Seconds: 1, Nanoseconds: 999999999}, tailstamp.Timestamp{Seconds: 2}, 1,
			true},
		{"not taken", tailstamp.Timestamp{}, day, 0, false},
		{"not taken either", day, tailstamp.Timestamp{}, 0, false},
		{"no time of day", at(1), at(1e9), 0, false},
		{"too far", day, tailstamp.Timestamp{Seconds: 1<<48 - 1}, 0, false},
	}
	for _, tt := range tests {
		if got, ok := difference(tt.from, tt.to); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %d, %v; want %d, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestSummaryIsExact(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 50}, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewSource(int64(seed)))
		d := distribution{}
		var values []int64
		var sum int64
		for range 1 + random.Intn(500) {
			v := random.Int63n(100) - 20
			values = append(values, v)
			sum += v
			d.add(v)
		}
		slices.Sort(values)
		n := int64(len(values))
		rank := func(percent int64) int64 { return values[(n*percent+99)/100-1] }
		want := Summary{Count: n, Min: values[0], Max: values[n-1], P50: rank(50), P90: rank(90), P99: rank(99),
			Avg: int64(math.Floor(float64(sum)/float64(n) + 0.5))}
		if got := d.summary(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
	var huge, none distribution
	huge.addTimes(math.MaxInt64, 3)
	huge.addTimes(math.MaxInt64-2, 3)
	if got := huge.summary().Avg; got != math.MaxInt64-1 {
		t.Errorf("average of huge values %d, want %d", got, int64(math.MaxInt64-1))
	}
	if got := none.summary(); got != (Summary{}) {
		t.Errorf("summary of nothing: %+v", got)
	}
}

func TestDecodeTailStamp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.pcap")
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	frame := stamped(web, hop(7, 0, 4, 100, 600, 0), hop(8, 0, tailstamp.CPUPort, 700, 0,
		tailstamp.NoEgress|tailstamp.Unsynchronised))
	for range 2 {
		if err := w.Write(time.Unix(1000, 1), frame, len(frame)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	decode := func(opts DecodeOptions) (string, error) {
		var b strings.Builder
		err := DecodeTailStamp(t.Context(), &b, path, opts)
		return b.String(), err
	}

	text, err := decode(DecodeOptions{Packets: true})
	line := "1 1970-01-01T00:16:40.000000001Z TCP 192.0.2.1:12345 > 192.0.2.2:80" +
		" | switch 7 Ethernet0 1000.000000100 -> Ethernet4 1000.000000600" +
		" | switch 8 Ethernet0 1000.000000700 -> CPU - (clock not synchronised)\n"
	if err != nil || !strings.HasPrefix(text, line) || !strings.Contains(text,
		"2 frames: 2 stamped with 4 records, 0 without a record\n") {
		t.Errorf("%v, text:\n%s", err, text)
	}

	text, err = decode(DecodeOptions{JSON: true, Packets: true})
	var packet packetJSON
	var report Report
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := cmp.Or(err, decoder.Decode(&packet), decoder.Decode(&packet), decoder.Decode(&report)); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if packet.Packet != 2 || packet.Records[1].Egress != "" || !packet.Records[1].Unsynchronised || report.Records != 4 ||
		report.File != path {
		t.Errorf("packet %+v, report %+v", packet, report)
	}

	// If a capture is damaged, the frames before the damage are reported, and the error contains its position.
	if err := os.Truncate(path, 24+16+int64(len(frame))+10); err != nil {
		t.Fatal(err)
	}
	text, err = decode(DecodeOptions{})
	const damage = "packet 2 at byte 164: the file ends after 10 of the 16 bytes"
	if err == nil || !strings.Contains(err.Error(), damage) || !strings.Contains(text, "1 frame: 1 stamped") ||
		!strings.Contains(text, damage) {
		t.Errorf("error %v, text:\n%s", err, text)
	}
	if err := DecodeTailStamp(t.Context(), &strings.Builder{}, path+".none", DecodeOptions{}); err == nil {
		t.Error("no error for a file that is not there")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	var b strings.Builder
	if err := DecodeTailStamp(ended, &b, path, DecodeOptions{}); !errors.Is(err, context.Canceled) || b.Len() > 0 {
		t.Errorf("after the end of its context: %v, %q", err, b.String())
	}
}

func FuzzAdd(f *testing.F) {
	f.Add(stamped(web, hop(1, 0, 4, 1, 2, 0)), 0)
	f.Add(stamped(video, hop(1, 0, 4, 1, 2, 0), hop(2, 0, 4, 1, 1e9, 3)), 10)
	f.Add(cat(macs, ipv6(44, make([]byte, 8))), 0)
	f.Fuzz(func(t *testing.T, frame []byte, more int) {
		if more < 0 || more > 1<<20 {
			return
		}
		c := NewTailStamp(0, 0, false)
		records := c.Add(frame, time.Unix(0, 0), len(frame)+more)
		r := c.Report()
		if r.Records != int64(len(records)) || r.Stamped+r.Plain+r.Cut+r.Unread+r.NoLength != 1 ||
			len(r.Flows) != int(r.Stamped) {
			t.Fatalf("%d records, report %+v", len(records), r)
		}
		if err := r.WriteText(&strings.Builder{}); err != nil {
			t.Fatal(err)
		}
	})
}

// Paths beyond the limit are counted together and reported. The figures of kept paths are unaffected.
func TestPathsAreBounded(t *testing.T) {
	c := NewTailStamp(2, 0, false)
	add := func(frame []byte) { c.Add(frame, time.Unix(1000, 0).UTC(), len(frame)) }
	for range 3 {
		add(stamped(web, hop(1, 0, 4, 100, 600, 0)))
		add(stamped(web, hop(1, 0, 5, 100, 700, 0)))
		add(stamped(web, hop(1, 0, 6, 100, 800, 0))) // a third path of a known flow
		add(stamped(video, hop(1, 0, 4, 100, 900, 0)))
	}
	r := c.Report()
	if r.Stamped != 12 || r.Beyond != 6 || len(r.Flows) != 1 || r.Flows[0].Frames != 9 || r.Flows[0].Beyond != 3 ||
		len(r.Flows[0].Paths) != 2 {
		t.Fatalf("report %+v", r)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const want = "6 stamped frames of flows and paths beyond the first 2 that had room, which alone are below (--paths)\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("the text does not say %q:\n%s", want, b.String())
	}
}

// Paths of very many hops, which only an attacker makes, use the capacity of several paths. The longest path that a TTL
// allows always fits, and kept paths continue to count.
func TestHopsAreBounded(t *testing.T) {
	c := NewTailStamp(1000, 0, false)
	add := func(port uint16, hops int) {
		records := slices.Repeat([]tailstamp.Record{hop(1, port, 4, 100, 600, 0)}, hops)
		frame := stamped(web, records...)
		c.Add(frame, time.Unix(1000, 0).UTC(), len(frame))
	}
	for port := range uint16(20) {
		add(port, 1500)
	}
	add(0, 1500)
	add(20, 500)
	add(21, 1)
	r := c.Report()
	if c.hops != 8000 || r.Beyond != 16 || len(r.Flows[0].Paths) != 6 || r.Flows[0].Paths[0].Frames != 2 {
		t.Errorf("of 8,000 hops %d are taken, by %d paths; %d frames beyond", c.hops, c.paths, r.Beyond)
	}
	c = NewTailStamp(1, 0, false)
	if add(0, 255); c.beyond != 0 {
		t.Error("no room for the one path that was asked for")
	}
}

// Percentiles of many distinct latencies are marked, in text and JSON. With exact they are not marked.
func TestSketchedPercentilesAreMarked(t *testing.T) {
	for _, exact := range []bool{false, true} {
		c := NewTailStamp(0, 0, exact)
		for i := range uint32(1000) {
			frame := stamped(web, hop(1, 0, 4, 100, 600+1000*i, 0))
			c.Add(frame, time.Unix(1000, 0).UTC(), len(frame))
		}
		var text, js strings.Builder
		r := c.Report()
		if err := errors.Join(r.WriteText(&text), r.WriteJSON(&js)); err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct{ all, want string }{
			{text.String(), "~ within 1 % and 1 ns: of more than 256 different values (--exact), or than had room (--memory)\n"},
			{js.String(), `"percentiles_within": 0.01`},
		} {
			if strings.Contains(x.all, x.want) == exact {
				t.Errorf("exact %v, and %q is there: %v:\n%s", exact, x.want, !exact, x.all)
			}
		}
	}
}
