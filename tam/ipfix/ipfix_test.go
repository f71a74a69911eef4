package ipfix

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
)

// flow is a kind like those that tamtam sends, with fields of every length.
var flow = &Kind{Name: "flow", Fields: []Field{
	{Element: Standard("packetDeltaCount")},
	{Element: Standard("sourceIPv4Address"), Group: 1},
	{Element: Standard("sourceIPv6Address"), Group: 2},
	{Element: Standard("sourceTransportPort"), Group: 3},
	{Element: Standard("forwardingStatus"), Group: 3, Length: 1},
	{Element: Standard("sourceMacAddress"), Group: 4},
	{Element: Standard("flowStartNanoseconds"), Group: 4},
	{Element: Standard("dataLinkFrameSection"), Group: 5},
	{Element: OwnElement("tamtamResidence")},
	{Element: OwnElement("tamtamReasons"), Group: 5},
	{Element: OwnElement("tamtamRevised")},
}}

// about is a kind of options records.
var about = &Kind{Name: "about", Scope: 1, Fields: []Field{
	{Element: Standard("exportingProcessId")}, {Element: Standard("notSentFlowTotalCount")},
}}

var epoch = time.Unix(1700000000, 0)

func config(kinds ...*Kind) Config {
	return Config{Domain: 7, Size: 600, Refresh: time.Minute, RefreshMessages: 1000, Kinds: kinds, Describe: kinds}
}

func newEncoder(t testing.TB, c Config, send func(Message)) *Encoder {
	t.Helper()
	e, err := NewEncoder(c, send)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func add(t testing.TB, e *Encoder, now time.Time, kind int, r *Record) {
	t.Helper()
	if err := e.Add(now, kind, r); err != nil {
		t.Fatal(err)
	}
}

// simple returns a record of flow.
func simple(n uint64) *Record {
	r := flow.NewRecord()
	r.Set(0, Uint(n))
	r.Set(10, Bool(true))
	return r
}

// The bytes of a message are those of RFC 7011.
func TestMessage(t *testing.T) {
	var got []byte
	e := newEncoder(t, config(about), func(m Message) { got = append(got, m.Bytes...) })
	r := about.NewRecord()
	r.Set(0, Uint(5))
	r.Set(1, Uint(258))
	add(t, e, epoch, 0, r)
	e.Flush()
	want := "000a 0036 6553f100 00000000 00000007" +
		"0003 0012 0101 0002 0001 0090 0004 00a6 0008" + // options template 257 with one field of scope
		"0101 0010 00000005 0000000000000102"
	want = strings.Replace(strings.ReplaceAll(want, " ", ""), "000a0036", fmt.Sprintf("000a%04x", len(got)), 1)
	if h := hex.EncodeToString(got); h != want {
		t.Errorf("got  %s\nwant %s", h, want)
	}
	if len(got) != 16+18+16 {
		t.Errorf("%d bytes", len(got))
	}
}

// A decoded time has the encoded nanoseconds, whether a reader rounds or truncates. Times outside NTP's era are
// refused.
func TestNTP(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		for range 200 {
			sec, ns := r.Uint64N(1<<32-ntpEpoch), r.Uint32N(1e9)
			v, ok := NTP(sec, ns)
			at, ok2 := FromNTP(v)
			cut := (v & (1<<32 - 1)) * 1e9 >> 32
			if !ok || !ok2 || !at.Equal(time.Unix(int64(sec), int64(ns))) || cut != uint64(ns) {
				t.Errorf("%d.%09d: %x, %v, %v", sec, ns, v, at, cut)
			}
		}
	})
	for _, bad := range []struct {
		s  uint64
		ns uint32
	}{{2085978496, 0}, {1 << 47, 5}, {1, 1e9}} {
		if v, ok := NTP(bad.s, bad.ns); ok {
			t.Errorf("%v is %x", bad, v)
		}
	}
	if v, ok := NTP(2085978495, 999999999); !ok || v>>32 != 1<<32-1 {
		t.Errorf("the last second of the era: %x, %v", v, ok)
	}
}

// randomRecord returns a record of flow, and the values that a reader must find, by name.
func randomRecord(r *rand.Rand) (*Record, map[string]any) {
	rec, want := flow.NewRecord(), map[string]any{}
	set := func(i int, v Value, sees any) {
		rec.Set(i, v)
		want[flow.Fields[i].Name] = sees
	}
	text := func(most int) string { return strings.Repeat("é", r.IntN(most)/2) }
	set(0, Uint(r.Uint64()), nil)
	want["packetDeltaCount"] = rec.values[0].n
	residence := int64(r.Uint64())
	set(8, Int(residence), residence)
	revised := r.IntN(2) == 0
	set(10, Bool(revised), revised)
	if r.IntN(2) == 0 {
		rec.Know(1)
		a := netip.AddrFrom4([4]byte{byte(r.Uint32()), 2, 3, byte(r.Uint32())})
		set(1, Addr(a), a.String())
	} else {
		rec.Know(2)
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], r.Uint64())
		binary.BigEndian.PutUint64(b[8:], r.Uint64())
		a := netip.AddrFrom16(b)
		set(2, Addr(a), a.String())
	}
	if r.IntN(2) == 0 {
		rec.Know(3)
		port, status := r.Uint64N(65536), r.Uint64N(256)
		set(3, Uint(port), port)
		set(4, Uint(status), status)
	}
	if r.IntN(2) == 0 {
		rec.Know(4)
		mac := [6]byte{1, 2, 3, byte(r.Uint32()), 5, byte(r.Uint32())}
		n := uint64(0)
		for _, b := range mac {
			n = n<<8 | uint64(b)
		}
		set(5, Uint(n), fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]))
		ns := r.Uint32N(1e9)
		v, _ := NTP(1700000000, ns)
		set(6, Uint(v), time.Unix(1700000000, int64(ns)).UTC().Format(time.RFC3339Nano))
	}
	if r.IntN(2) == 0 {
		rec.Know(5)
		frame := make([]byte, r.IntN(300))
		for i := range frame {
			frame[i] = byte(r.Uint32())
		}
		set(7, Bytes(frame), hex.EncodeToString(frame))
		s := text(270)
		set(9, Text(s), s)
	}
	return rec, want
}

// The decoder returns what was encoded, for every set of known groups and every split of records into messages, even if
// templates are repeated. No message exceeds its size, and no sequence number is missing.
func TestRoundTrip(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := config(flow, about)
		c.Size, c.Enterprise = 700+r.IntN(2000), r.Uint32N(3)*4711
		c.Refresh, c.RefreshMessages = time.Duration(1+r.IntN(20))*time.Second, 1+r.IntN(10)
		d := NewDecoder(c.Enterprise)
		var got []map[string]any
		e := newEncoder(t, c, func(m Message) {
			if len(m.Bytes) > c.Size {
				t.Errorf("a message of %d bytes, want at most %d", len(m.Bytes), c.Size)
			}
			before := d.Counts().Records
			if err := d.Message(m.Bytes, func(rec *DataRecord) {
				if rec.Scope > 0 {
					return
				}
				fields := map[string]any{}
				for i := range rec.Fields {
					fields[rec.Fields[i].Name()] = rec.Fields[i].Value(rec.Values[i])
				}
				got = append(got, fields)
			}); err != nil {
				t.Errorf("%v\n%x", err, m.Bytes)
			}
			if n := d.Counts().Records - before; n != uint64(m.Records) {
				t.Errorf("%d records in a message that has %d", m.Records, n)
			}
		})
		var want []map[string]any
		now := epoch
		for range 200 {
			rec, fields := randomRecord(r)
			add(t, e, now, 0, rec)
			want = append(want, fields)
			if r.IntN(5) == 0 {
				add(t, e, now, 1, about.NewRecord())
			}
			if r.IntN(10) == 0 {
				e.Flush()
			}
			now = now.Add(time.Duration(r.IntN(1000)) * time.Millisecond)
		}
		e.Flush()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d records, want %d, or others", len(got), len(want))
		}
		if c := d.Counts(); c.Lost+c.Undecoded+c.Late+c.WithoutTemplate+c.Bad != 0 {
			t.Errorf("%+v", c)
		}
	})
}

// exchange passes n messages of one record each to a decoder, except those whose numbers are in lost.
func exchange(t *testing.T, c Config, n int, every time.Duration, lost ...int) (*Decoder, []int) {
	d, number := NewDecoder(0), 0
	var got []int
	e := newEncoder(t, c, func(m Message) {
		if number++; slices.Contains(lost, number) {
			return
		}
		if err := d.Message(m.Bytes, func(r *DataRecord) {
			if r.Scope == 0 {
				got = append(got, number)
			}
		}); err != nil {
			t.Fatal(err)
		}
	})
	for i := range n {
		add(t, e, epoch.Add(time.Duration(i)*every), 0, simple(1))
		e.Flush()
	}
	return d, got
}

// A lost template is repeated by time and by count. Until then its records are counted as undecoded.
func TestTemplateLost(t *testing.T) {
	byTime, byCount := config(flow), config(flow)
	byTime.Refresh = 5 * time.Second
	byCount.RefreshMessages = 5
	for name, c := range map[string]Config{"time": byTime, "count": byCount} {
		c.Size = 1400
		d, got := exchange(t, c, 10, time.Second, 1)
		n := d.Counts()
		if !slices.Equal(got, []int{6, 7, 8, 9, 10}) || n.WithoutTemplate != 4 || n.Undecoded != 4 || n.Lost != 0 {
			t.Errorf("by %s: read %v, %+v", name, got, n)
		}
	}
}

// Sequence numbers reveal a lost message. A late message is not lost twice. An exporter that restarts has lost nothing.
func TestSequence(t *testing.T) {
	c := config(flow)
	c.Size = 1400
	d, _ := exchange(t, c, 10, time.Millisecond, 4, 5, 9)
	if n := d.Counts(); n.Lost != 3 || n.Undecoded != 0 {
		t.Errorf("%+v, want 3 lost", n)
	}
	var all [][]byte
	e := newEncoder(t, c, func(m Message) { all = append(all, bytes.Clone(m.Bytes)) })
	for range 12 {
		add(t, e, epoch, 0, simple(1))
		e.Flush()
	}
	d = NewDecoder(0)
	read := func(i int) {
		if err := d.Message(all[i], func(*DataRecord) {}); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{0, 1, 3, 2, 4} {
		read(i)
	}
	if n := d.Counts(); n.Late != 1 || n.Lost != 1 {
		t.Errorf("%+v, want one late, that is among the lost", n)
	}
	for i := range all { // the same messages again, from the first
		read(i)
	}
	if n := d.Counts(); n.Lost != 1 || n.Undecoded != 0 {
		t.Errorf("%+v, want no more lost by an exporter that began anew", n)
	}
}

// The encoder refuses a record that it cannot encode, names the field, and sends nothing of the record.
func TestEncoderRefuses(t *testing.T) {
	sent := 0
	e := newEncoder(t, config(flow), func(m Message) { sent += m.Records })
	types := len(e.types)
	for want, change := range map[string]func(*Record){
		"sourceTransportPort is 65536, want at most 16 bits": func(r *Record) { r.Know(3); r.Set(3, Uint(65536)) },
		"forwardingStatus is 256, want at most 8 bits":       func(r *Record) { r.Know(3); r.Set(4, Uint(256)) },
		"tamtamRevised is 0, want 1 or 2":                    func(r *Record) { r.Set(10, Value{}) },
		"a record of 596 bytes, want at most 580": func(r *Record) {
			r.Know(5)
			r.Set(7, Bytes(make([]byte, 575)))
		},
		"dataLinkFrameSection is 70000 bytes": func(r *Record) {
			r.Know(5)
			r.Set(7, Bytes(make([]byte, 70000)))
		},
	} {
		r := simple(1)
		change(r)
		if err := e.Add(epoch, 0, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if e.Flush(); sent != types {
		t.Errorf("%d records sent, want %d", sent, types)
	}
	for want, change := range map[string]func(*Config){
		"messages of at most 100 bytes, want 512 to 65535": func(c *Config) { c.Size = 100 },
		"want more than 0": func(c *Config) { c.Refresh = 0 },
		"kind k: 0 fields": func(c *Config) { c.Kinds = []*Kind{{Name: "k"}} },
		"kind k: sourceTransportPort, its first field, is in group 1": func(c *Config) {
			c.Kinds = []*Kind{{Name: "k", Fields: flow.Fields[3:]}}
			c.Kinds[0].Fields = slices.Clone(flow.Fields[3:4])
			c.Kinds[0].Fields[0].Group = 1
		},
	} {
		c := config(flow)
		change(&c)
		if _, err := NewEncoder(c, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A record needs no allocation once its template was sent.
func TestAddAllocatesNothing(t *testing.T) {
	e := newEncoder(t, config(flow), func(Message) {})
	r := simple(1)
	r.Know(1)
	r.Set(1, Addr(netip.MustParseAddr("192.0.2.1")))
	now := epoch
	if n := testing.AllocsPerRun(5000, func() {
		now = now.Add(time.Second)
		if e.Add(now, 0, r) != nil {
			t.Fail()
		}
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

// message returns a message of these sets, given in hexadecimal.
func message(sets string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(sets, " ", ""))
	if err != nil {
		panic(err)
	}
	m := make([]byte, headerLen, headerLen+len(b))
	binary.BigEndian.PutUint16(m, version)
	binary.BigEndian.PutUint16(m[2:], uint16(headerLen+len(b)))
	return append(m, b...)
}

// Each violation of RFC 7011 is reported with its offset.
func TestDecoderRefuses(t *testing.T) {
	const ports = "0002 000c 0100 0001 0007 0002" // template 256: sourceTransportPort
	for _, tt := range []struct {
		b    []byte
		want string
	}{
		{nil, "byte 0: message: 0 bytes"},
		{append(message(""), 0), "byte 2: length: 16, want 17"},
		{[]byte{0, 9, 0, 16, 15: 0}, "byte 0: version: 9, want 10"},
		{message("0002"), "byte 16: set: 2 bytes"},
		{message("0100 0003"), "byte 18: length of the set: 3, want 4 to 4"},
		{message("0002 0040"), "byte 18: length of the set: 64"},
		{message("0002 0008 00ff 0001"), "byte 20: template id: 255"},
		{message("0002 0008 0100 0000"), "byte 22: field count: 0 withdraws template 256"},
		{message("0002 0008 0100 0002"), "byte 24: template: 0 bytes for 2 fields"},
		{message("0002 000c 0100 0001 8007 0002"), "byte 28: enterprise number: template 256 ends"},
		{message("0002 0010 0100 0001 8007 0002 00000000"), "byte 28: enterprise number: 0"},
		{message("0002 000c 0100 0001 00d2 0000"), "byte 20: template: 256 has records of no bytes"},
		{message("0003 000a 0100 0001 0000"), "byte 24: scope field count: 0, want 1 to 1"},
		{message("0002 000e 0100 0001 0007 0002 0100"), "byte 28: padding: 0x1, want 0"},
		{message(ports + "0100 0005 01"), "byte 32: set: 1 bytes for template 256, whose records have 2"},
		{message(ports + "0100 0007 0050 01"), "byte 34: padding: 0x1, want 0"},
		{message("0002 000c 0100 0001 0052 ffff 0100 0007 05 61 62"), "byte 32: interfaceName: 5 bytes, the set has 2 more"},
		{message("0002 000c 0100 0001 0052 ffff 0100 0006 ff 00"), "byte 32: interfaceName: the set ends in its length"},
	} {
		d := NewDecoder(0)
		err := d.Message(tt.b, func(*DataRecord) {})
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%x: %v, want %q", tt.b, err, tt.want)
		}
		if d.Counts().Bad != 1 {
			t.Errorf("%x: %+v, want one that is bad", tt.b, d.Counts())
		}
	}
}

// The state that an exporter can make a decoder keep is limited.
func TestDecoderBounds(t *testing.T) {
	d := NewDecoder(0)
	var err error
	for domain := range uint32(MaxDomains + 1) {
		m := message("")
		binary.BigEndian.PutUint32(m[12:], domain)
		err = d.Message(m, func(*DataRecord) {})
	}
	if err == nil || !strings.Contains(err.Error(), "observation domain: 64, beyond the first 64") {
		t.Error(err)
	}
	d = NewDecoder(0)
	for id := range MaxTemplates + 1 {
		err = d.Message(message(fmt.Sprintf("0002 000c %04x 0001 0007 0002", 256+id)), func(*DataRecord) {})
	}
	if err == nil || !strings.Contains(err.Error(), "beyond 2048 templates") || d.templates != MaxTemplates {
		t.Error(err, d.templates)
	}
}

// Unknown elements are shown by their numbers and bytes.
func TestUnknown(t *testing.T) {
	d := NewDecoder(99)
	got := ""
	err := d.Message(message("0002 0018 0100 0003 8001 0004 00000001 7fff 0002 0007 0001 0100 000b 01020304 0506 50"),
		func(r *DataRecord) {
			for i := range r.Fields {
				got += fmt.Sprint(r.Fields[i].Name(), "=", r.Fields[i].Value(r.Values[i]), " ")
			}
		})
	if want := "e1id1=01020304 id32767=0506 sourceTransportPort=80 "; err != nil || got != want {
		t.Errorf("%q, want %q; %v", got, want, err)
	}
}

// The tables are in order, which lookup requires, and names are unique.
func TestElements(t *testing.T) {
	names := map[string]bool{}
	for _, table := range [][]Element{standard, own} {
		for i, e := range table {
			if names[e.Name] || i > 0 && table[i-1].ID >= e.ID || lookup(table, e.ID).Name != e.Name {
				t.Errorf("element %d, %s", e.ID, e.Name)
			}
			names[e.Name] = true
		}
	}
	for _, e := range own {
		if e.Text == "" || !strings.HasPrefix(e.Name, "tamtam") || !e.Own {
			t.Errorf("own element %d, %s: text %q, own %v", e.ID, e.Name, e.Text, e.Own)
		}
	}
}

func FuzzMessage(f *testing.F) {
	var seeds [][]byte
	e := newEncoder(f, config(flow, about), func(m Message) { seeds = append(seeds, bytes.Clone(m.Bytes)) })
	for group := range uint8(6) {
		r := simple(uint64(group))
		if group > 0 {
			r.Know(group)
		}
		add(f, e, epoch, 0, r)
		add(f, e, epoch, 1, about.NewRecord())
	}
	e.Flush()
	for _, s := range seeds {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		d := NewDecoder(0)
		for _, b := range [][]byte{one, two, one} {
			err := d.Message(b, func(r *DataRecord) {
				for i := range r.Fields {
					_ = r.Fields[i].Value(r.Values[i])
				}
			})
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(b) || e.Field == "") {
				t.Errorf("%v", err)
			}
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	e := newEncoder(b, config(flow), func(Message) {})
	r := simple(1)
	for b.Loop() {
		if err := e.Add(epoch, 0, r); err != nil {
			b.Fatal(err)
		}
	}
}
