package ipfix

import (
	"fmt"
	"strings"
	"testing"
)

// The user of a decoder can refuse a template, and the fault is at the field that it names.
func TestCheck(t *testing.T) {
	const templates = "0002 001c 0100 0003 0144 0008 8001 0008 00010002 0145 0008 0000 0000"
	for _, c := range []struct {
		field int
		want  string
	}{
		{-1, "ipfix: byte 20: template: 256: no"},
		{0, "ipfix: byte 24: template: 256, field 1: no"},
		{2, "ipfix: byte 36: template: 256, field 3: no"},
	} {
		d := NewDecoder(0)
		d.Check(func(*Template) (int, string) { return c.field, "no" })
		if err := d.Message(message(templates), nil); err == nil || err.Error() != c.want {
			t.Errorf("field %d: %v, want %s", c.field, err, c.want)
		}
		if d.Template(0, 256) != nil {
			t.Error("a refused template is held")
		}
	}
	d := NewDecoder(0)
	d.Check(func(t *Template) (int, string) {
		t.Meaning = len(t.Fields)
		return 0, ""
	})
	if err := d.Message(message(templates), nil); err != nil || d.Template(0, 256).Meaning != 3 {
		t.Errorf("%v %v", err, d.Template(0, 256))
	}
	d.Withdraw(0, 256)
	d.Withdraw(5, 256)
	if d.Template(0, 256) != nil || d.templates != 0 || d.specs != 0 {
		t.Errorf("%d templates and %d fields after the withdrawal of the only one", d.templates, d.specs)
	}
}

// A decoder accepts templates as long as its user allows.
func TestAllowFields(t *testing.T) {
	long := func(id, n int) []byte {
		return message(fmt.Sprintf("0002 %04x %04x %04x", 8+4*n, id, n) + strings.Repeat("0007 0002 ", n))
	}
	d := NewDecoder(0)
	if err := d.Message(long(256, 600), nil); err == nil || !strings.Contains(err.Error(), "600, want at most 512") {
		t.Error(err)
	}
	d.AllowFields(600, 1000)
	if err := d.Message(long(256, 600), nil); err != nil {
		t.Error(err)
	}
	if err := d.Message(long(257, 600), nil); err == nil || !strings.Contains(err.Error(), "with 1000 fields in all") {
		t.Error(err)
	}
}

// An encoder that continues for another has later template ids and sequence numbers, and repeats the records that it
// is given.
func TestContinued(t *testing.T) {
	about := &Kind{Name: "about", Scope: 1, Fields: []Field{{Element: Standard("templateId")},
		{Element: OwnElement("tamtamObjectName")}}}
	r := about.NewRecord()
	r.Set(0, Uint(1))
	r.Set(1, Text("Ethernet0"))
	c := config(about, flow)
	c.FirstID, c.Repeat = 300, []Repeated{{0, r}}
	d, got := NewDecoder(0), ""
	e, err := NewEncoder(c, func(m Message) {
		if err := d.Message(m.Bytes, func(r *DataRecord) { got += fmt.Sprint(r.ID, ":", r.Sequence, " ") }); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	e.Continue(7)
	described := len(e.types)
	add(t, e, epoch, 1, simple(5))
	e.Refresh()
	add(t, e, epoch, 1, simple(6))
	e.Flush()
	want := ""
	sequence := 7
	for range 2 {
		for range described {
			want += fmt.Sprint(300, ":", sequence, " ")
			sequence++
		}
		want += fmt.Sprintf("301:%d 302:%d ", sequence, sequence+1)
		sequence += 2
	}
	if got != want || e.TemplateID(1) != 302 || int(e.Sequence()) != sequence {
		t.Errorf("%s\nwant %s\ntemplate %d, next sequence number %d", got, want, e.TemplateID(1), e.Sequence())
	}
	r.Set(0, Uint(1<<16))
	c.Repeat = []Repeated{{0, r}}
	if _, err := NewEncoder(c, nil); err == nil || !strings.Contains(err.Error(), "templateId is 65536") {
		t.Error(err)
	}
}

// Templates that came on another way change no counter, and no sequence number.
func TestOutOfBand(t *testing.T) {
	d, records := NewDecoder(0), 0
	data := func(sequence byte) []byte {
		m := message("0100 0006 0001")
		m[11] = sequence
		return m
	}
	template := message("0002 000c 0100 0001 0007 0002 0100 0006 0009")
	for _, b := range [][]byte{nil, data(5), data(6), nil, data(7)} {
		var err error
		if b == nil {
			err = d.OutOfBand(template)
		} else {
			err = d.Message(b, func(*DataRecord) { records++ })
		}
		if err != nil {
			t.Error(err)
		}
	}
	if want := (Counts{Messages: 3, Records: 3}); d.Counts() != want || records != 3 {
		t.Errorf("%+v, %d records, want %+v", d.Counts(), records, want)
	}
	if err := d.OutOfBand(message("0002 000c 0005 0001 0007 0002")); err == nil {
		t.Error("a fault is not reported")
	}
}
