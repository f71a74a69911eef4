package ipfix

import (
	"fmt"
	"strings"
	"testing"
)

// templates returns a message with a number of templates from an id on, each with a number of fields of two bytes.
func templates(id, number, fields int) []byte {
	set := fmt.Sprintf("0002 %04x", 4+number*(4+4*fields))
	for i := range number {
		set += fmt.Sprintf("%04x %04x", id+i, fields) + strings.Repeat("0007 0002", fields)
	}
	return message(set)
}

// receives reports whether a decoder decodes a record of a template with one field.
func receives(d *Decoder, id int) (ok bool) {
	_ = d.Message(message(fmt.Sprintf("%04x 0006 0050", id)), func(*DataRecord) { ok = true })
	return ok
}

// However many exporters send as many templates as they can, the memory of all is bounded, and exporters with few
// templates keep theirs, whether they came earlier or later. An exporter that had to forget its templates counts what
// it cannot decode.
func TestMemory(t *testing.T) {
	m := NewMemory(2000, 40_000)
	forgot := 0
	decoder := func() *Decoder { return m.NewDecoder(0, func() { forgot++ }) }
	templatesOf := func(d *Decoder, number, fields int) {
		for id := range number {
			_ = d.Message(templates(256+id, 1, fields), func(*DataRecord) {})
		}
	}
	small, medium := decoder(), decoder()
	templatesOf(small, 4, 1)
	templatesOf(medium, 20, 1)
	var hostile []*Decoder
	for range 200 {
		d := decoder()
		templatesOf(d, 60, 20)
		hostile = append(hostile, d)
		for _, one := range []*Decoder{small, medium} {
			if !receives(one, 256+3) {
				t.Fatalf("behind %d hostile exporters: a template is missing", len(hostile))
			}
		}
	}
	late := decoder()
	if templatesOf(late, 20, 1); !receives(late, 256+19) {
		t.Error("a later exporter has no room for its templates")
	}
	all := 0
	for _, d := range append(hostile, small, medium, late) {
		all += d.held
	}
	if most := 203*m.each + m.shared; all > most || m.used > m.shared || forgot == 0 {
		t.Errorf("%d bytes are held, %d of the shared part, want at most %d and %d; %d forgot", all, m.used, most, m.shared,
			forgot)
	}
	x := hostile[0]
	for _, d := range hostile {
		if d.forgot {
			x = d
		}
	}
	if x.forgot {
		before := x.Counts()
		if receives(x, 256) {
			t.Error("a record is decoded by a template that was forgotten")
		}
		if now := x.Counts(); now.Undecoded != before.Undecoded+1 || now.WithoutTemplate != before.WithoutTemplate+1 {
			t.Errorf("%+v, want one more set without a template, and one more record undecoded than in %+v", now, before)
		}
	}
}

// If a described element is not kept, a template with it is refused: the records would be of unknown elements.
func TestElementsBeyond(t *testing.T) {
	d := NewDecoder(0)
	var err error
	for id := range maxLearned + 1 {
		b := description(byte(String), "x")
		b[len(b)-5], b[len(b)-4] = byte(id>>8), byte(id)
		err = d.Message(b, func(*DataRecord) {})
	}
	if err == nil || !strings.Contains(err.Error(), "1024 are described already") {
		t.Error(err)
	}
	err = d.Message(message("0002 0010 0101 0001 8405 ffff 0000004d"), func(*DataRecord) {})
	if err == nil || !strings.Contains(err.Error(), "with an element that was not kept") {
		t.Error(err)
	}
}
