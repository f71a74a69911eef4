package hftread

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/tam/hft"
	"tamtam/tam/ipfix"
)

var from = netip.MustParseAddrPort("192.0.2.1:4000")

// column returns a column with a statistic by SAI's name.
func column(t *testing.T, object string, label uint16, name string) hft.Column {
	t.Helper()
	id, ok := sai.LookupStat(name)
	if !ok {
		t.Fatalf("SAI has no statistic %s", name)
	}
	statistic := hft.Statistic{Label: label, Type: uint32(id.ObjectType()), ID: uint32(id)}
	return hft.Column{Statistic: statistic, Object: object, Name: name}
}

// messages returns the messages of a stream that changes once, with a record missing before the change.
func messages(t *testing.T, format hft.Format) (list [][]byte) {
	t.Helper()
	c := hft.Config{Format: format, Domain: 7, Size: ipfix.MaxSize, Bulk: 1, Refresh: time.Minute, RefreshMessages: 100,
		Interval: time.Millisecond}
	s, err := hft.NewStream(c, func(m hft.Message) { list = append(list, bytes.Clone(m.Bytes)) })
	if err != nil {
		t.Fatal(err)
	}
	eth0 := column(t, "Ethernet0", 1, "SAI_PORT_STAT_IF_IN_OCTETS")
	for i, columns := range [][]hft.Column{
		{eth0, column(t, "Ethernet4", 2, "SAI_PORT_STAT_OUT_WATERMARK_BYTES")}, {eth0},
	} {
		if err := s.Configure(columns); err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{int64(3 * i), int64(3*i + 1)} {
			if err := s.Sample(time.Unix(100, 0), 1e6*at+1e6, []uint64{uint64(10 + at), 5}[:len(columns)]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return list
}

// printed returns what a printer writes of messages, and its notes.
func printed(t *testing.T, o Options, sessions []Session, list ...[]byte) (out, notes string) {
	t.Helper()
	var b, n bytes.Buffer
	o.Notes = &n
	p, err := New(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Sessions(sessions); err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if err := p.Datagram(from, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Report(); err != nil {
		t.Fatal(err)
	}
	return b.String(), n.String()
}

// golden returns a file of testdata.
func golden(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

// A conforming stream has all names itself. Records, events and the report are lines.
func TestText(t *testing.T) {
	out, _ := printed(t, Options{Format: "text"}, nil, append(messages(t, hft.Conforming), []byte{0, 10})...)
	same(t, out, golden(t, "conforming.txt"))
}

// In SONiC's format an object without a session has only its label.
func TestLabelOnly(t *testing.T) {
	list := messages(t, hft.SONiC)
	out, _ := printed(t, Options{Format: "text"}, nil, list[:2]...)
	same(t, out, golden(t, "labels.txt"))
	sessions := []Session{{list[0], map[uint16]string{1: "Ethernet0", 2: "Eth 4,\"x\""}}}
	out, _ = printed(t, Options{Format: "text"}, sessions, list[1])
	same(t, strings.Split(out, "\n")[0], `192.0.2.1:4000 domain 7 template 256 sequence 0 at 1970-01-01T00:00:00.001Z `+
		`Ethernet0 IF_IN_OCTETS=10 "Eth 4,\"x\"" OUT_WATERMARK_BYTES=5`)
	out, notes := printed(t, Options{Format: "csv", Interval: time.Second}, sessions, list[1], list[2])
	same(t, out, `
time_ns,exporter,domain,template,type,object,label,statistic,kind,value
1000000,192.0.2.1:4000,7,256,PORT,Ethernet0,1,IF_IN_OCTETS,counter,10
1000000,192.0.2.1:4000,7,256,PORT,"Eth 4,""x""",2,OUT_WATERMARK_BYTES,watermark,5
2000000,192.0.2.1:4000,7,256,PORT,Ethernet0,1,IF_IN_OCTETS,counter,11
2000000,192.0.2.1:4000,7,256,PORT,"Eth 4,""x""",2,OUT_WATERMARK_BYTES,watermark,5
`)
	same(t, notes, `
192.0.2.1:4000 domain 7 PORT template 256 at 1970-01-01T00:00:00.002Z: irregular: 1ms since the record before, want 1s
192.0.2.1:4000: 2 records with 4 values in 2 messages, 0 lost
192.0.2.1:4000 domain 7 PORT: 2 times every 1s (given), 0 of 1 gaps exact, 1 irregular gaps
`)
}

func TestJSON(t *testing.T) {
	out, _ := printed(t, Options{Format: "json"}, []Session{{[]byte{1}, nil}}, messages(t, hft.SONiC)[3:]...)
	same(t, out, golden(t, "sonic.json"))
	if out, _ := printed(t, Options{Format: "json"}, nil, messages(t, hft.Conforming)...); !strings.Contains(out,
		`{"exporter":"192.0.2.1:4000","event":"gap","domain":7,"type":"PORT","template":263,"time_ns":4000000,`+
			`"gap_ns":2000000,"missing":1,"text":"2ms since the record before, want 1ms: 1 times are missing"}`) {
		t.Error(out)
	}
}

// Only so many exporters are kept apart, and the rest is counted. Each is called for each record, and its error ends.
func TestBounds(t *testing.T) {
	var b bytes.Buffer
	calls, fails := 0, errors.New("full")
	p, err := New(&b, Options{Format: "text", Each: func(who string, r *Record) error {
		if calls++; who != "192.0.2.1:1" || r.Statistics[1].Kind != hft.Watermark {
			t.Errorf("%s %+v", who, r.Statistics)
		}
		return fails
	}})
	if err != nil {
		t.Fatal(err)
	}
	list := messages(t, hft.SONiC)
	for i := range uint16(MaxExporters + 2) {
		if err := p.Datagram(netip.AddrPortFrom(from.Addr(), 1+i), list[0]); err != nil {
			t.Fatal(err)
		}
	}
	if p.Lacks(netip.AddrPortFrom(from.Addr(), 1), list[1]) || p.Lacks(netip.AddrPortFrom(from.Addr(), 99), list[1]) ||
		!p.Lacks(netip.AddrPortFrom(from.Addr(), 1), list[4]) {
		t.Error("templates are missing that are there, or the reverse")
	}
	if err := p.Datagram(netip.AddrPortFrom(from.Addr(), 1), list[1]); !errors.Is(err, fails) || calls != 1 {
		t.Errorf("%v after %d records", err, calls)
	}
	if err := p.Report(); !errors.Is(err, fails) || !strings.HasSuffix(b.String(),
		"2 datagrams of exporters beyond the first 16, of which nothing is known\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if _, err := New(io.Discard, Options{Format: "xml"}); err == nil {
		t.Error("format xml is accepted")
	}
	if _, err := New(io.Discard, Options{Format: "csv", Enterprise: 65537}); err == nil {
		t.Error("an enterprise number of a statistic is accepted")
	}
	for number, good := range map[uint32]bool{0: false, 1: true, 65535: true, 65536: false} {
		if (Enterprise(number) == nil) != good {
			t.Errorf("enterprise number %d: %v", number, Enterprise(number))
		}
	}
}

// Names are SAI's. What has no name has its number.
func TestNamed(t *testing.T) {
	for _, c := range []struct {
		objectType, id uint32
		want           Name
	}{
		{1, 0, Name{"PORT", "SAI_PORT_STAT_IF_IN_OCTETS", "IF_IN_OCTETS", hft.Counter}},
		{1, 99999, Name{"PORT", "SAI_PORT_STAT_99999", "99999", hft.Counter}},
		{0x20000003, 0x20000004, Name{"536870915", "SAI_536870915_STAT_536870916", "536870916", hft.Counter}},
	} {
		if got := Named(c.objectType, c.id); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
	for name, want := range map[string]hft.Kind{
		"SAI_QUEUE_STAT_WATERMARK_BYTES": hft.Watermark, "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES": hft.Level,
		"SAI_QUEUE_STAT_DELAY_WATERMARK_NS": hft.Watermark, "SAI_QUEUE_STAT_PACKETS": hft.Counter,
		"SAI_PORT_STAT_IF_OUT_QLEN": hft.Level, "SAI_BUFFER_POOL_STAT_XOFF_ROOM_CURR_OCCUPANCY_BYTES": hft.Level,
		"SAI_PORT_STAT_ETHER_STATS_JABBERS": hft.Counter, "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": hft.Counter,
	} {
		if _, ok := sai.LookupStat(name); !ok || hft.KindOf(name) != want {
			t.Errorf("%s: %s, want %s; SAI has it: %v", name, hft.KindOf(name), want, ok)
		}
	}
}

// A file with messages is read to its end or its first fault, which is named with its offset.
func TestMessages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	good := bytes.Join(messages(t, hft.SONiC), nil)
	for _, c := range []struct {
		data []byte
		is   bool
		n    int
		want string
	}{
		{good, true, 6, ""},
		{nil, false, 0, ""},
		{[]byte("\x00\x0a"), true, 0, "byte 0: message: 2 bytes, want the 16 of its header and more"},
		{append(bytes.Clone(good), "\x00\x09............."...), true, 6, "byte 240: message: 15 bytes, want the 16"},
		{append(bytes.Clone(good), "\x00\x09.............."...), true, 6, "byte 240: version: 9, want 10"},
		{append(bytes.Clone(good), "\x00\x0a\x00\x0f............"...), true, 6, "byte 242: length: 15, want 16 and more"},
		{append(bytes.Clone(good), "\x00\x0a\x00\x11............"...), true, 6, "byte 240: message: 16 bytes, want 17"},
		{[]byte("\xd4\xc3\xb2\xa1"), false, 0, "byte 0"},
	} {
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if is, err := IsMessages(path); is != c.is || err != nil {
			t.Errorf("%.30x: %v %v, want %v", c.data, is, err, c.is)
		}
		n := 0
		err := Messages(path, func() bool { return true }, func(netip.AddrPort, []byte) error {
			n++
			return nil
		})
		if n != c.n || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), path+": "+c.want) {
			t.Errorf("%d messages, want %d; %v, want %s", n, c.n, err, c.want)
		}
	}
	full := errors.New("full")
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	all := func() bool { return true }
	if err := Messages(path, all, func(netip.AddrPort, []byte) error { return full }); err != full {
		t.Error(err)
	}
	if err := Messages(path, func() bool { return false }, nil); err != nil {
		t.Error(err)
	}
	if err := Messages(path+"x", all, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := IsMessages(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
