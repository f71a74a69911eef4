package ipfix

import (
	"fmt"
	"strings"
	"testing"
)

// Elements of an enterprise that are not known here are read as the exporter describes them, under its number.
func TestLearned(t *testing.T) {
	d := NewDecoder(0)
	got := ""
	c := config(flow)
	c.Enterprise = 77
	e := newEncoder(t, c, func(m Message) {
		if err := d.Message(m.Bytes, func(r *DataRecord) {
			for i := range r.Fields {
				if r.Scope == 0 {
					got += fmt.Sprint(r.Fields[i].Name(), "=", r.Fields[i].Value(r.Values[i]), " ")
				}
			}
		}); err != nil {
			t.Error(err)
		}
	})
	r := simple(5)
	r.Set(8, Int(-3))
	add(t, e, epoch, 0, r)
	e.Flush()
	if want := "packetDeltaCount=5 e77:tamtamResidence=-3 e77:tamtamRevised=true "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// description is a message that describes element 5 of enterprise 77, with this type and name.
func description(kind byte, name string) []byte {
	const template = "0003 001a 0100 0004 0002 015a 0004 012f 0002 0153 0001 0155 ffff"
	return message(fmt.Sprintf(template+"0100 %04x 0000004d 0005 %02x %02x %x", 12+len(name), kind, len(name), name))
}

// shown is how element 5 of enterprise 77, with the octets ff 41, is shown behind these messages.
func shown(t *testing.T, before ...[]byte) (text string) {
	t.Helper()
	d := NewDecoder(0)
	for _, b := range append(before, message("0002 0010 0101 0001 8005 ffff 0000004d 0101 0007 02 ff41")) {
		if err := d.Message(b, func(r *DataRecord) {
			text = fmt.Sprint(r.Fields[0].Name(), "=", r.Fields[0].Value(r.Values[0]))
		}); err != nil {
			t.Errorf("%x: %v", b, err)
		}
	}
	return text
}

// What is no description, or contradicts an earlier one, is not believed; a value that is none of its type is raw.
func TestNotLearned(t *testing.T) {
	for _, b := range [][]byte{
		message(""), description(200, "theirs"), description(byte(String), "a b"), description(byte(String), ""),
		description(byte(String), strings.Repeat("x", 65)),
		description(byte(Unsigned32), "theirs"), // which is never of variable length
	} {
		if got, want := shown(t, b), "e77id5=ff41"; got != want {
			t.Errorf("%x: %q, want %q", b, got, want)
		}
	}
	theirs := description(byte(String), "theirs")
	for _, before := range [][][]byte{{theirs}, {theirs, description(byte(OctetArray), "other")}} {
		if got, want := shown(t, before...), "e77:theirs=0xff41"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
