package ipfix

import (
	"fmt"
	"strings"
	"testing"
)

// Unknown elements of an enterprise are decoded as the exporter describes them, and named with its number.
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

// description returns a message that describes element 5 of enterprise 77 with this type and name.
func description(kind byte, name string) []byte {
	const template = "0003 001a 0100 0004 0002 015a 0004 012f 0002 0153 0001 0155 ffff"
	return message(fmt.Sprintf(template+"0100 %04x 0000004d 0005 %02x %02x %x", 12+len(name), kind, len(name), name))
}

// shown returns the text of element 5 of enterprise 77, with the octets ff 41, after these messages.
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

// Invalid descriptions and those that contradict an earlier one are ignored. A value that does not fit its type is raw.
func TestNotLearned(t *testing.T) {
	for _, b := range [][]byte{
		message(""), description(200, "theirs"), description(byte(String), "a b"), description(byte(String), ""),
		description(byte(String), strings.Repeat("x", 65)),
		description(byte(Unsigned32), "theirs"), // a type that never has a variable length
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

// An element of tamtam's enterprise that the decoder does not know is learned, as that of any other. One that it knows
// is not.
func TestLearnedOwn(t *testing.T) {
	d := NewDecoder(77)
	names := ""
	for _, b := range [][]byte{
		message("0003 001a 0100 0004 0002 015a 0004 012f 0002 0153 0001 0155 ffff" +
			"0100 0018 0000004d 7001 02 03 616263 0000004d 0003 02 01 78"),
		message("0002 0018 0101 0002 f001 0002 0000004d 8003 0002 0000004d 0101 0008 0005 0006"),
	} {
		if err := d.Message(b, func(r *DataRecord) {
			for i := range r.Fields {
				if r.Scope == 0 {
					names += r.Fields[i].Name() + " "
				}
			}
		}); err != nil {
			t.Errorf("%x: %v", b, err)
		}
	}
	if want := "e77:abc tamtamHopCount "; names != want {
		t.Errorf("%q, want %q", names, want)
	}
}
