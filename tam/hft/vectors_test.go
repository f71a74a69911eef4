package hft

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/tam/ipfix"
)

// vectorTemplates and vectorRecords are those of countersyncd's test of its IPFIX actor: two templates with a
// statistic of a port and one of an extension, and two messages with two records each.
const (
	vectorTemplates = `
		000a002c 00000000 00000001 00000000 0002001c 01000003 01450008 80010008 00010002 80020008 80038004
		000a002c 00000000 00000001 00000000 0002001c 01010003 01450008 80010008 00010002 80020008 80038004`
	vectorRecords = `
		000a0048 00000000 00000002 00000000
		0100001c 0000000000000001 0000000000000001 0000000000000001
		0100001c 0000000000000002 0000000000000002 0000000000000003
		000a0048 00000000 00000002 00000000
		0100001c 0000000000000001 0000000000000001 0000000000000004
		0101001c 0000000000000002 0000000000000002 0000000000000007`
	vectorCut     = `000a0048 00000000 00000002 00000000 0100001c`
	vectorUnknown = `000a002c 00000000 00000002 00000000 0300001c 0000000000000001 0000000000000001 0000000000000001`
)

// vectorColumns are the columns of the templates.
var vectorColumns = []Column{
	{Statistic: Statistic{1, 1, 2}, Object: "Ethernet0"},
	{Statistic: Statistic{2, 0x20000003, 0x20000004}, Object: "Ethernet1"},
}

func octets(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newDecoder(t testing.TB, interval time.Duration, event func(Event)) *Decoder {
	t.Helper()
	d, err := NewDecoder(0, interval, event)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// text returns a record in one line.
func text(r *Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d@%d", r.Template, r.At)
	for i, c := range r.Columns {
		fmt.Fprintf(&b, " %s(%d)/%d.%d=%d", c.Object, c.Label, c.Type, c.ID, r.Values[i])
	}
	return b.String()
}

// countersyncd's valid vectors are decoded, with the names of its session, and its malformed ones are refused.
func TestDecodeVectors(t *testing.T) {
	d := newDecoder(t, 0, nil)
	if err := d.Session(octets(t, vectorTemplates), map[uint16]string{1: "Ethernet0", 2: "Ethernet1"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	each := func(r *Record) { got = append(got, text(r)) }
	err := d.Messages(octets(t, vectorCut), each)
	if err == nil || err.Error() != "ipfix: byte 2: length: 72, want 20 as the datagram has" || got != nil {
		t.Errorf("a cut message: %v, records %q", err, got)
	}
	if err := d.Messages(octets(t, vectorUnknown), each); err != nil || got != nil || d.Counts().WithoutTemplate != 1 {
		t.Errorf("an unknown template: %v, records %q, %+v", err, got, d.Counts())
	}
	if err := d.Messages(octets(t, vectorRecords), each); err != nil {
		t.Error(err)
	}
	want := []string{
		"256@1 Ethernet0(1)/1.2=1 Ethernet1(2)/536870915.536870916=1",
		"256@2 Ethernet0(1)/1.2=2 Ethernet1(2)/536870915.536870916=3",
		"256@1 Ethernet0(1)/1.2=1 Ethernet1(2)/536870915.536870916=4",
		"257@2 Ethernet0(1)/1.2=2 Ethernet1(2)/536870915.536870916=7",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The encoder produces countersyncd's vectors, byte by byte.
func TestEncodeVectors(t *testing.T) {
	var templates []template
	var got []byte
	for id := range uint16(2) {
		m, err := newTemplate(256+id, vectorColumns)
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, m)
		got = m.appendMessage(got, header{sequence: 1})
	}
	if want := octets(t, vectorTemplates); !bytes.Equal(got, want) {
		t.Errorf("templates\n%x\nwant\n%x", got, want)
	}
	got = got[:0]
	type record struct {
		template int
		at       uint64
		values   []uint64
	}
	for _, m := range [][]record{
		{{0, 1, []uint64{1, 1}}, {0, 2, []uint64{2, 3}}}, {{0, 1, []uint64{1, 4}}, {1, 2, []uint64{2, 7}}},
	} {
		b := appendHeader(nil, header{sequence: 2})
		for _, r := range m {
			b = templates[r.template].appendSet(b, r.at, r.values)
		}
		setLength(b, 0)
		got = append(got, b...)
	}
	if want := octets(t, vectorRecords); !bytes.Equal(got, want) {
		t.Errorf("records\n%x\nwant\n%x", got, want)
	}
}

// The longest template has 8188 statistics, as countersyncd's helper of tests computes.
func TestLongest(t *testing.T) {
	if MaxStatistics != 8188 {
		t.Errorf("%d statistics, want 8188", MaxStatistics)
	}
}

// Each violation is reported with its offset, from the beginning of what was received.
func TestRefused(t *testing.T) {
	const good = "000a002c 00000000 00000000 00000000 0002001c 01000003 01450008 80010008 00010002 80020008 00010002"
	for _, c := range []struct{ message, want string }{
		{"", "byte 0: message: 0 bytes, want the 16 of its header and more"},
		{"000a", "byte 0: message: 2 bytes, want the 16 of its header and more"},
		{good + "0009001000000000 00000000 00000000", "byte 44: version: 9, want 10"},
		{good + "000a0018 00000000 00000000 00000000 01000008 01020304",
			"byte 64: set: 4 bytes for template 256, whose records have 24 and more"},
		{"000a0024 00000000 00000000 00000000 00020014 01000002 80010008 00010002 01450008",
			"byte 24: template: 256, field 1: e65538id1 in 8 bytes, want observationTimeNanoseconds in 8 bytes before the " +
				"statistics"},
		{"000a0024 00000000 00000000 00000000 00020014 01000002 01450004 80010008 00010002",
			"byte 24: template: 256, field 1: observationTimeNanoseconds in 4 bytes, want observationTimeNanoseconds in 8 " +
				"bytes before the statistics"},
		{"000a0024 00000000 00000000 00000000 00020014 01000002 01450008 80010009 00010002",
			"byte 28: template: 256, field 2: a statistic in 9 bytes, want 1 to 8"},
		{"000a0024 00000000 00000000 00000000 00020014 01000002 01450008 8001ffff 00010002",
			"byte 28: template: 256, field 2: a statistic in 65535 bytes, want 1 to 8"},
		{"000a0024 00000000 00000000 00000000 00020014 01000002 01450008 80010008 00000002",
			"byte 28: template: 256, field 2: enterprise number 0x2 has object type 0, want a type of SAI, or 32473 for a " +
				"conforming stream"},
		{"000a0028 00000000 00000000 00000000 00020018 01000003 01450008 80010008 00010002 00010008",
			"byte 36: template: 256, field 3: octetDeltaCount, want only statistics after observationTimeNanoseconds"},
		{"000a002c 00000000 00000000 00000000 0002001c 01000003 01450008 80010008 00010002 80010008 00010002",
			"byte 36: template: 256, field 3: statistic 2 of object type 1 and label 1 is there twice"},
		{"000a002c 00000000 00000000 00000000 0002001c 01000003 01450008 80010008 00010002 90010008 00007ed9",
			"byte 36: template: 256, field 3: saiPortStat is of a stream of format ipfix, want sonic as the fields before"},
		{"000a0024 00000000 00000000 00000000 00020014 01000002 01450008 f0010008 00007ed9",
			"byte 28: template: 256, field 2: element 28673 of enterprise 32473 is no statistic"},
		{good + "000a002c 00000000 00000000 00000000 0100001c 8000000000000000 0000000000000001 0000000000000001",
			"byte 64: observationTimeNanoseconds: 0x8000000000000000 in a stream of format sonic, want a time since 1970"},
		{"000a003c 00000000 00000000 00000000 00020014 01000002 01450008 90010008 00007ed9 " +
			"01000018 0000000000000000 0000000000000001 00000000",
			"byte 40: observationTimeNanoseconds: 0x0 in a stream of format ipfix, want a time since 1970"},
	} {
		d := newDecoder(t, 0, nil)
		err := d.Messages(octets(t, c.message), func(r *Record) { t.Errorf("%s: record %s", c.message, text(r)) })
		var fault *ipfix.Error
		if !errors.As(err, &fault) || fault.Error() != "ipfix: "+strings.ReplaceAll(c.want, "saiPortStat", "e32473id4097") {
			t.Errorf("%s:\n%v\nwant\nipfix: %s", c.message, err, c.want)
		}
	}
}

// A decoder reports that it needs a template before it decodes what needs it.
func TestLacks(t *testing.T) {
	d := newDecoder(t, 0, nil)
	for _, c := range []struct {
		messages string
		want     bool
	}{
		{vectorRecords, true}, {vectorUnknown, true}, {vectorTemplates, false}, {"", false}, {"000a", false},
		{"000a0014 00000000 00000000 00000000 01000000", true},
	} {
		if got := d.Lacks(octets(t, c.messages)); got != c.want {
			t.Errorf("%s: %v, want %v", c.messages, got, c.want)
		}
	}
	if err := d.Session(octets(t, vectorTemplates), nil); err != nil || d.Lacks(octets(t, vectorRecords)) {
		t.Errorf("%v; templates that are held are missing", err)
	}
}

// Templates of something else are neither faults nor records of a stream.
func TestOther(t *testing.T) {
	d := newDecoder(t, 0, nil)
	err := d.Messages(octets(t, "000a0024 00000000 00000000 00000000 0002000c 01000001 00010008"+
		"01000008 00000000"), nil)
	if err == nil { // eight bytes are missing
		t.Error("a short record is no fault")
	}
	if err := d.Messages(octets(t, "000a001c 00000000 00000000 00000000 0100000c 0000000000000005"), nil); err != nil ||
		d.Counts().Other != 1 {
		t.Errorf("%v, %+v", err, d.Counts())
	}
}

func FuzzMessages(f *testing.F) {
	for _, v := range []string{vectorTemplates, vectorRecords, vectorCut, vectorUnknown} {
		f.Add(octets(f, v), octets(f, vectorRecords))
	}
	for _, format := range []Format{SONiC, Conforming} {
		var all []byte
		c := Config{Format: format, Size: 600, Refresh: time.Second, RefreshMessages: 2, Interval: time.Millisecond}
		s, err := NewStream(c, func(m Message) { all = append(all, m.Bytes...) })
		if err != nil {
			f.Fatal(err)
		}
		for i := range 3 {
			columns := []Column{port("Ethernet0", 1, 1), port("Ethernet4", 2, uint32(i))}
			if err := s.Configure(columns); err != nil {
				f.Fatal(err)
			}
			if err := s.Sample(time.Unix(int64(i), 0), int64(i)*1e6, []uint64{1, 2}); err != nil {
				f.Fatal(err)
			}
		}
		s.Flush()
		f.Add(all, all)
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		d := newDecoder(t, 0, func(e Event) { _ = e.Text() })
		_ = d.Session(two, map[uint16]string{1: "Ethernet0"})
		for _, b := range [][]byte{one, two, one} {
			_ = d.Lacks(b)
			err := d.Messages(b, func(r *Record) {
				if len(r.Values) != len(r.Columns) || r.At < 0 {
					t.Errorf("%d values of %d columns at %d", len(r.Values), len(r.Columns), r.At)
				}
			})
			var e *ipfix.Error
			if err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(b) || e.Field == "") {
				t.Errorf("%v", err)
			}
		}
		for _, c := range d.Streams() {
			if c.Known && c.Interval > 0 && c.Exact+c.Gaps+c.Irregular != c.Samples-1 {
				t.Errorf("%+v: want a verdict for each gap", c)
			}
			_ = c.Text()
		}
	})
}
