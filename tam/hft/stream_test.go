package hft

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/tam/ipfix"
)

// port returns a column with a statistic of a port.
func port(name string, label uint16, id uint32) Column {
	names := map[uint32]string{0: "SAI_PORT_STAT_IF_IN_OCTETS", 1: "SAI_PORT_STAT_IF_IN_UCAST_PKTS",
		66: "SAI_PORT_STAT_OUT_WATERMARK_BYTES"}
	if names[id] == "" {
		names[id] = fmt.Sprint("SAI_PORT_STAT_TEST_", id)
	}
	return Column{Statistic{label, 1, id}, name, names[id]}
}

func newStream(t testing.TB, c Config, columns []Column, send func(Message)) *Stream {
	t.Helper()
	s, err := NewStream(c, send)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Configure(columns); err != nil {
		t.Fatal(err)
	}
	return s
}

func sample(t testing.TB, s *Stream, now time.Time, at int64, values ...uint64) {
	t.Helper()
	if err := s.Sample(now, at, values); err != nil {
		t.Fatal(err)
	}
}

// The bytes of a stream in SONiC's format: a template message, then a message with a set for each record.
func TestSONiC(t *testing.T) {
	var got []byte
	c := Config{Domain: 7, Size: ipfix.MaxSize, Bulk: 2, Refresh: time.Minute, RefreshMessages: 2}
	s := newStream(t, c, []Column{port("Ethernet0", 1, 0)}, func(m Message) { got = append(got, m.Bytes...) })
	for i := range int64(5) {
		sample(t, s, time.Unix(100+i, 0), 1000*i, uint64(10+i))
	}
	want := octets(t, `
		000a0024 00000064 00000000 00000007 00020014 01000002 01450008 80010008 00010000
		000a0038 00000064 00000000 00000007 01000014 0000000000000000 000000000000000a
		                                    01000014 00000000000003e8 000000000000000b
		000a0038 00000066 00000002 00000007 01000014 00000000000007d0 000000000000000c
		                                    01000014 0000000000000bb8 000000000000000d
		000a0024 00000068 00000004 00000007 00020014 01000002 01450008 80010008 00010000`)
	if !bytes.Equal(got, want) {
		t.Errorf("\n%x\nwant\n%x", got, want)
	}
	got = nil
	if err := s.Configure([]Column{port("Ethernet4", 2, 0)}); err != nil { // sends the record that waits
		t.Fatal(err)
	}
	want = octets(t, "000a0024 00000068 00000004 00000007 01000014 0000000000000fa0 000000000000000e")
	if !bytes.Equal(got, want) {
		t.Errorf("\n%x\nwant\n%x", got, want)
	}
	want = octets(t, "000a0024 00000000 00000000 00000007 00020014 01010002 01450008 80020008 00010000")
	if !bytes.Equal(s.Templates(), want) || s.Sequence() != 5 {
		t.Errorf("\n%x\nwant\n%x, next record %d, want 5", s.Templates(), want, s.Sequence())
	}
}

// The templates of other columns are known before the stream switches to them. Columns that are replaced before they
// were used leave nothing behind.
func TestPrepare(t *testing.T) {
	for _, format := range []Format{SONiC, Conforming} {
		var got []string
		d, ids := newDecoder(t, 10, nil), &TemplateIDs{}
		c := Config{Format: format, Size: ipfix.MaxSize, Refresh: time.Minute, RefreshMessages: 100, IDs: ids}
		s := newStream(t, c, []Column{port("Ethernet0", 1, 0)}, func(m Message) {
			if err := d.Messages(m.Bytes, func(r *Record) {
				got = append(got, fmt.Sprint(r.At, ":", r.Columns[0].Label))
			}); err != nil {
				t.Error(err)
			}
		})
		s.Switch() // nothing is prepared
		sample(t, s, time.Unix(1, 0), 10, 5)
		for _, name := range []uint16{2, 3} {
			templates, err := s.Prepare([]Column{port(fmt.Sprint("Ethernet", 4*name), name, 0)})
			if err != nil || (templates != nil) != (format == SONiC) ||
				templates != nil && bytes.Equal(templates, s.Templates()) {
				t.Errorf("%s: templates %x: %v", format, templates, err)
			}
			sample(t, s, time.Unix(1, 0), int64(10*name), 6)
		}
		s.Switch()
		if len(got) != 3 || s.Sequence() == 0 {
			t.Errorf("%s: %q were sent before the switch, next record %d", format, got, s.Sequence())
		}
		sample(t, s, time.Unix(1, 0), 40, 7)
		s.Flush()
		if want := []string{"10:1", "20:1", "30:1", "40:3"}; !slices.Equal(got, want) || d.Counts().Lost != 0 {
			t.Errorf("%s: %q, want %q; %+v", format, got, want, d.Counts())
		}
		used := 0
		for _, is := range ids.used {
			if is {
				used++
			}
		}
		if used != s.ids {
			t.Errorf("%s: %d template ids are in use, want %d", format, used, s.ids)
		}
	}
}

// A stream without refresh sends no templates: its readers get them from the session.
func TestTemplatesFromSession(t *testing.T) {
	d, got := newDecoder(t, 0, nil), ""
	s := newStream(t, Config{Size: ipfix.MaxSize}, []Column{port("Ethernet0", 1, 0)}, func(m Message) {
		if err := d.Messages(m.Bytes, func(r *Record) { got += text(r) }); err != nil {
			t.Error(err)
		}
	})
	if err := d.Session(s.Templates(), map[uint16]string{1: "Ethernet0"}); err != nil {
		t.Fatal(err)
	}
	sample(t, s, time.Unix(1, 0), 5, 42)
	s.Flush()
	if want := "256@5 Ethernet0(1)/1.0=42"; got != want || d.Counts().Lost != 0 {
		t.Errorf("%s, want %s; %+v", got, want, d.Counts())
	}
}

// A conforming stream describes its elements (RFC 5610), names the objects of its fields, and has NTP's times. Any
// collector of IPFIX reads it.
func TestConforming(t *testing.T) {
	plain, d, got, all := ipfix.NewDecoder(0), newDecoder(t, 0, nil), "", ""
	c := Config{Format: Conforming, Size: ipfix.MinSize, Refresh: time.Minute, RefreshMessages: 100,
		Interval: time.Millisecond}
	columns := []Column{port("Ethernet0", 1, 0), port("Ethernet4", 2, 0), port("Ethernet4", 2, 66)}
	s := newStream(t, c, columns, func(m Message) {
		if err := plain.Message(m.Bytes, func(r *ipfix.DataRecord) {
			for i := range r.Fields {
				all += fmt.Sprint(r.Fields[i].Name(), "=", r.Fields[i].Value(r.Values[i]), " ")
			}
			all += "\n"
		}); err != nil {
			t.Error(err)
		}
		if err := d.Messages(m.Bytes, func(r *Record) { got += text(r) }); err != nil {
			t.Error(err)
		}
	})
	sample(t, s, time.Unix(100, 0), 1_000_000_001, 11, 12, 13)
	s.Flush()
	if want := "259@1000000001 Ethernet0(1)/1.0=11 Ethernet4(2)/1.0=12 Ethernet4(2)/1.66=13"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, want := range []string{
		"privateEnterpriseNumber=32473 informationElementId=4096 informationElementDataType=4 " +
			"informationElementSemantics=2 informationElementUnits=2 informationElementName=saiPortStatIfInOctets " +
			"informationElementDescription=SAI_PORT_STAT_IF_IN_OCTETS \n",
		"informationElementSemantics=1 informationElementUnits=2 informationElementName=saiPortStatOutWatermarkBytes ",
		"templateId=259 informationElementIndex=2 tamtamObjectLabel=2 tamtamObjectName=Ethernet4 \n",
		"templateId=259 tamtamSampleInterval=1000000 tamtamReplacedTemplate=0 \n",
		"observationTimeNanoseconds=1970-01-01T00:00:01.000000001Z e32473:saiPortStatIfInOctets=11 " +
			"e32473:saiPortStatIfInOctets=12 e32473:saiPortStatOutWatermarkBytes=13 \n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("missing %sin\n%s", want, all)
		}
	}
	if list := d.Streams(); len(list) != 1 || list[0].Interval != 1e6 || list[0].From != "announced" {
		t.Errorf("%+v", list)
	}
	for _, at := range []int64{-1, 2_086_000_000_000_000_000} {
		if err := s.Sample(time.Unix(100, 0), at, []uint64{1, 2, 3}); err == nil {
			t.Errorf("a record of %d ns is encoded", at)
		}
	}
}

// Statistics that have no number in the format are refused, and nothing changes.
func TestConfigureRefuses(t *testing.T) {
	for _, c := range []struct {
		format  Format
		columns []Column
		want    string
	}{
		{SONiC, []Column{port("Ethernet0", 1<<15, 0)}, "label 32768 of Ethernet0, want at most 32767"},
		{SONiC, []Column{port("Ethernet0", 1, 1<<15)}, "statistic 32768 of object type 1, want at most 32767, or an ext"},
		{SONiC, []Column{{Statistic{1, 1 << 16, 0}, "a", "b"}}, "object type 65536, want at most 32767"},
		{SONiC, []Column{port("Ethernet0", 1, 0), port("Ethernet0", 1, 0)},
			"statistic 0 of Ethernet0, label 1, is there twice"},
		{SONiC, []Column{port("Ethernet0", 1, 0), port("Ethernet4", 1, 1)}, "label 1 of Ethernet4 (object type and name " +
			"1 Ethernet4) is that of another object (1 Ethernet0): want a new one"},
		{SONiC, []Column{port("Ethernet8", 9, 0)}, "label 9 of Ethernet8 (object type and name 1 Ethernet8) is that of " +
			"another object (1 Ethernet4)"},
		{Conforming, []Column{port("Ethernet0", 1, 4096)}, "statistic 4096 of object type 1 has no number in a conforming"},
		{Conforming, []Column{{Statistic{1, 2, 0}, "a", "b"}}, "statistic 0 of object type 2 has no number"},
	} {
		before := []Column{port("Ethernet4", 9, 0)}
		s := newStream(t, Config{Format: c.format, Size: 600, Refresh: 1, RefreshMessages: 1}, before, func(Message) {})
		if err := s.Configure(c.columns); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.columns, err, c.want)
		}
		if !slices.Equal(s.Columns(), before) {
			t.Errorf("a refused configuration changed the columns to %v", s.Columns())
		}
	}
}

func TestNewStreamRefuses(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Size: 511}, "messages of at most 511 bytes, want 512 to 65535"},
		{Config{Size: 600, Bulk: -1}, "-1 records in a message"},
		{Config{Size: 600, Enterprise: 65536}, "enterprise number 65536, want at most 65535"},
		{Config{Size: 600, Refresh: 1}, "templates again after 1ns and 0 messages"},
		{Config{Size: 600, Format: Conforming}, "templates are never sent"},
	} {
		if _, err := NewStream(c.config, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.config, err, c.want)
		}
	}
	if _, err := NewDecoder(65536, 0, nil); err == nil {
		t.Error("a decoder has an enterprise number of a statistic")
	}
}

// Records with more statistics than a message has room for are split, and each part has the time. A reader knows when a
// part is missing.
func TestSplit(t *testing.T) {
	for _, format := range []Format{SONiC, Conforming} {
		columns := make([]Column, MaxStatistics+1)
		values := make([]uint64, len(columns))
		for i := range columns {
			columns[i] = port(fmt.Sprint("Ethernet", i/30), uint16(1+i/30), uint32(i%30))
			values[i] = uint64(i)
		}
		var got, partial, longest = []int(nil), 0, 0
		d := newDecoder(t, time.Millisecond, func(e Event) {
			if e.Kind == Partial {
				partial++
			}
		})
		lose := false
		c := Config{Format: format, Size: ipfix.MaxSize, Refresh: time.Minute, RefreshMessages: 100}
		s := newStream(t, c, columns, func(m Message) {
			longest = max(longest, len(m.Bytes))
			if lose && len(m.Bytes) < 100 { // the part with one statistic
				return
			}
			if err := d.Messages(m.Bytes, func(r *Record) { got = append(got, len(r.Values)) }); err != nil {
				t.Error(err)
			}
		})
		for i := range int64(4) {
			lose = i == 2
			sample(t, s, time.Unix(1, 0), 1e6*i, values...)
			s.Flush()
		}
		if want := []int{8188, 1, 8188, 1, 8188, 8188, 1}; !slices.Equal(got, want) || partial != 1 {
			t.Errorf("%s: records of %d statistics, want %d; %d times incomplete, want 1", format, got, want, partial)
		}
		if longest > ipfix.MaxSize || d.Counts().Lost != 1 {
			t.Errorf("%s: a message of %d bytes; %+v", format, longest, d.Counts())
		}
	}
}

// Encoding a record allocates nothing.
func TestSampleAllocates(t *testing.T) {
	for _, format := range []Format{SONiC, Conforming} {
		c := Config{Format: format, Size: ipfix.MinSize, Refresh: time.Hour, RefreshMessages: 1e9}
		columns := []Column{port("Ethernet0", 1, 0), port("Ethernet0", 1, 1)}
		s := newStream(t, c, columns, func(Message) {})
		values, at := []uint64{1, 2}, int64(0)
		if n := testing.AllocsPerRun(1000, func() {
			at += 1000
			if err := s.Sample(time.Unix(1, 0), at, values); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations for a record", format, n)
		}
	}
}

// Streams that are changed while they run lose and double no record. A reader gets each value with its object and time,
// and knows every record that was lost on the way.
func TestReconfigure(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20, Short: 10}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		const interval = 10 * time.Microsecond
		c := Config{Format: Format(r.IntN(2)), Domain: r.Uint32(), Size: 512 + r.IntN(3000), Bulk: r.IntN(5),
			Refresh: time.Minute, RefreshMessages: 1 + r.IntN(20), Interval: interval}
		lossy := r.IntN(2) == 0
		counted := map[EventKind]int{}
		var missing, lost uint64
		d := newDecoder(t, interval, func(e Event) {
			counted[e.Kind]++
			if e.Kind == Gap {
				missing += e.Missing
			}
		})
		want, got := map[string]uint64{}, map[string]uint64{}
		key := func(at int64, c *Column) string { return fmt.Sprint(at, c.Object, c.ID) }
		sendLost := false
		s, err := NewStream(c, func(m Message) {
			if sendLost && m.Records > 0 && c.Format == SONiC {
				lost += uint64(m.Records)
				return
			}
			if err := d.Messages(m.Bytes, func(r *Record) {
				for i := range r.Columns {
					c := &r.Columns[i]
					k := key(r.At, c)
					if c.Object == "" { // in SONiC's format names are those of the session
						t.Errorf("record %s has no names", text(r))
					}
					if _, twice := got[k]; twice {
						t.Errorf("%s came twice", k)
					}
					got[k] = r.Values[i]
				}
			}); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		var labels Labels
		at, switches, parts := int64(1e9), 0, 1
		for range 60 {
			columns := randomColumns(t, r, &labels)
			if err := s.Configure(columns); err != nil {
				t.Fatal(err)
			}
			if c.Format == SONiC {
				names := map[uint16]string{}
				for _, c := range columns {
					names[c.Label] = c.Object
				}
				if err := d.Session(s.Templates(), names); err != nil {
					t.Fatal(err)
				}
			}
			parts = max(parts, messageSize(s.config.Size).split(len(columns)))
			for i := range 1 + r.IntN(4) {
				values := make([]uint64, len(columns))
				for j := range columns {
					values[j] = r.Uint64()
				}
				if lossy && r.IntN(10) == 0 && at > 1e9 && i > 0 { // a message that is lost
					s.Flush()
					sendLost = true
					sample(t, s, time.Unix(0, at), at, values...)
					s.Flush()
					sendLost = c.Format != SONiC && sendLost
				} else {
					sample(t, s, time.Unix(0, at), at, values...)
				}
				for j := range columns {
					want[key(at, &columns[j])] = values[j]
				}
				at += int64(interval)
			}
			switches++
		}
		last := make([]uint64, len(s.Columns())) // arrives, so that the losses before it are known
		sample(t, s, time.Unix(0, at), at, last...)
		for i, c := range s.Columns() {
			want[key(at, &c)] = last[i]
		}
		s.Flush()
		if lost == 0 && !maps.Equal(got, want) {
			t.Errorf("%d values, want %d", len(got), len(want))
		}
		for k, v := range got {
			if want[k] != v {
				t.Errorf("%s is %d, want %d", k, v, want[k])
			}
		}
		counts := d.Counts()
		if counts.Lost != lost || counts.Bad > 0 || counts.WithoutTemplate > 0 || counts.Beyond > 0 {
			t.Errorf("%d records were lost: %+v", lost, counts)
		}
		for _, k := range []EventKind{Irregular, Duplicate, Late, Mixed, Redefined, Relabelled} {
			if counted[k] > 0 {
				t.Errorf("%d events %s", counted[k], k)
			}
		}
		if parts == 1 && (missing != lost || counted[Switched] != switches-1) {
			t.Errorf("%d records were lost and %d are missing; %d changes of templates, want %d",
				lost, missing, counted[Switched], switches-1)
		}
		if list := d.Streams(); len(list) != 1 || !list[0].Known {
			t.Errorf("%d streams: %+v", len(list), list)
		}
	})
}

// randomColumns returns columns of some objects, with labels as an orch gives them.
func randomColumns(t *testing.T, r *rand.Rand, labels *Labels) (columns []Column) {
	t.Helper()
	var objects []string
	for i := range 12 {
		if r.IntN(3) == 0 {
			objects = append(objects, fmt.Sprint("Ethernet", 4*i))
		}
	}
	if len(objects) == 0 {
		objects = []string{"Ethernet0"}
	}
	list, err := labels.Assign(objects)
	if err != nil {
		t.Fatal(err)
	}
	statistics := r.Perm(20)[:1+r.IntN(8)]
	for i, name := range objects {
		for _, id := range statistics {
			columns = append(columns, port(name, list[i], uint32(id)))
		}
	}
	return columns
}

// Objects get labels in the order of their names, from 1, and keep them. A label is never another object's.
func TestLabels(t *testing.T) {
	var l Labels
	for _, c := range []struct {
		objects string
		want    []uint16
	}{
		{"Ethernet8 Ethernet0 Ethernet16", []uint16{3, 1, 2}}, // as SONiC sorts: Ethernet16 before Ethernet8
		{"Ethernet4 Ethernet8", []uint16{4, 3}},
		{"Ethernet0", []uint16{1}},
		{"", []uint16{}},
	} {
		if got, err := l.Assign(strings.Fields(c.objects)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %v, want %v", c.objects, got, err, c.want)
		}
	}
	var all []string
	for i := range MaxLabel - 4 {
		all = append(all, fmt.Sprint("x", i))
	}
	if _, err := l.Assign(all); err != nil {
		t.Error(err)
	}
	if _, err := l.Assign([]string{"y"}); err == nil || !strings.Contains(err.Error(), "32767 labels were given") {
		t.Error(err)
	}
}

// Ids begin at 256, are in a row, and come again as late as possible.
func TestTemplateIDs(t *testing.T) {
	var ids TemplateIDs
	take := func(n int, want uint16, can bool) {
		t.Helper()
		if got, ok := ids.Take(n); got != want || ok != can {
			t.Errorf("%d ids: %d %v, want %d %v", n, got, ok, want, can)
		}
	}
	take(2, 256, true)
	take(0, 0, true)
	take(3, 258, true)
	ids.Release(256, 2)
	take(65000, 261, true)
	take(275, 65261, true)
	take(3, 0, false)
	take(2, 256, true)
	take(1, 0, false)
	ids.Release(300, 1)
	take(1, 300, true)
}
