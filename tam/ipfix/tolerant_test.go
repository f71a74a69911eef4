package ipfix

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
)

// read decodes messages with one decoder and returns each record as text.
func read(t *testing.T, d *Decoder, messages ...[]byte) (records []string, errs []error) {
	t.Helper()
	for _, m := range messages {
		err := d.Message(m, func(r *DataRecord) {
			var text []string
			for i := range r.Fields {
				f := &r.Fields[i]
				text = append(text, fmt.Sprintf("%s=%v/%v", f.Name(), f.Value(r.Values[i]), f.Raw(r.Values[i])))
			}
			records = append(records, strings.Join(text, " "))
		})
		if err != nil {
			errs = append(errs, err)
		}
	}
	return records, errs
}

// A fault loses only the values that it makes unreadable.
func TestFaultsAreConfined(t *testing.T) {
	const port = "0002 000c 0100 0001 0007 0002" // template 256: sourceTransportPort
	const data = "0100 0006 0050"
	for name, tt := range map[string]struct {
		b     []byte
		want  []string
		fault string
		count Counts
	}{
		"a field of an unexpected length": {
			b: message("0002 0010 0100 0002 0007 0004 0004 0001 0100 000e 00000050 06 00000051 11"),
			want: []string{"sourceTransportPort=0x00000050/true protocolIdentifier=6/false",
				"sourceTransportPort=0x00000051/true protocolIdentifier=17/false"}, count: Counts{Records: 2, Raw: 2}},
		"a time of 8 bytes instead of 4": {b: message("0002 000c 0100 0001 0096 0008 0100 000c 0000000000000001"),
			want: []string{"flowStartSeconds=0x0000000000000001/true"}, count: Counts{Records: 1, Raw: 1}},
		"an integer of variable length": {b: message("0002 000c 0100 0001 0007 ffff 0100 0007 02 0050"),
			want: []string{"sourceTransportPort=0x0050/true"}, count: Counts{Records: 1, Raw: 1}},
		"a field without bytes": {b: message("0002 0010 0100 0002 0007 0000 0004 0001 0100 0005 06"),
			want: []string{"sourceTransportPort=0x/true protocolIdentifier=6/false"}, count: Counts{Records: 1, Raw: 1}},
		"a text that is no UTF-8": {b: message("0002 000c 0100 0001 0052 ffff 0100 0006 01 ff" + data[:0]),
			want: []string{"interfaceName=0xff/true"}, count: Counts{Records: 1, Raw: 1}},
		"a boolean of 3": {b: message("0002 0010 0100 0001 8016 0001 00007ed9 0100 0005 03"),
			want: []string{"tamtamRevised=0x03/true"}, count: Counts{Records: 1, Raw: 1}},
		"a reserved set id": {b: message(port + "0005 0008 01020304" + data),
			want: []string{"sourceTransportPort=80/false"}, count: Counts{Records: 1, Reserved: 1}},
		"empty sets": {b: message("0002 0004" + port + "0100 0004 0003 0004 0101 0004" + data),
			want: []string{"sourceTransportPort=80/false"}, count: Counts{Records: 1}},
		"a set with a record that is cut": {b: message(port + "0100 0005 01" + data),
			want:  []string{"sourceTransportPort=80/false"},
			fault: "byte 32: set: 1 bytes for template 256, whose records have 2", count: Counts{Records: 1, Bad: 1}},
		"a template that is refused": {b: message("0002 0018 00ff 0001 0007 0002 0101 0000 0100 0001 0007 0002" + data),
			want: []string{"sourceTransportPort=80/false"}, fault: "byte 20: template id: 255",
			count: Counts{Records: 1, Bad: 1}},
		"a refused template in the place of one": {b: message(port + data + "0002 000c 0100 0001 00d2 0000" + data),
			want:  []string{"sourceTransportPort=80/false"},
			fault: "byte 38: template: 256 has records of no bytes", count: Counts{Records: 1, Bad: 1, WithoutTemplate: 1}},
		"bytes behind the message": {b: append(message(port+data), 1, 2, 3),
			want: []string{"sourceTransportPort=80/false"}, fault: "byte 2: length: 34, want 37",
			count: Counts{Records: 1, Bad: 1}},
		"a message that is cut": {b: slices.Clone(message(port + data + data)[:38]),
			want: []string{"sourceTransportPort=80/false"}, fault: "byte 2: length: 40, want 38",
			count: Counts{Records: 1, Bad: 1}},
		"a message that is cut within a set": {b: slices.Clone(message(port + "0100 000a 0050 0051 0052")[:37]),
			want:  []string{"sourceTransportPort=80/false", "sourceTransportPort=81/false"},
			fault: "byte 2: length: 38, want 37", count: Counts{Records: 2, Bad: 1}},
		"a message that is cut within templates": {b: slices.Clone(message(
			"0100 0006 0050 0002 0014 0100 0001 0007 0002 0101 0001 0007 0002")[:41]),
			fault: "byte 2: length: 42, want 41", count: Counts{Bad: 1, WithoutTemplate: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDecoder(0)
			got, errs := read(t, d, tt.b)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if len(errs) > 0 != (tt.fault != "") || len(errs) > 0 && !strings.Contains(errs[0].Error(), tt.fault) {
				t.Errorf("%v, want %q", errs, tt.fault)
			}
			if tt.count.Messages = 1; d.Counts() != tt.count {
				t.Errorf("%+v, want %+v", d.Counts(), tt.count)
			}
		})
	}
}

// anyField is a field of any element, with a length that may or may not fit its type.
type anyField struct {
	spec   []byte // bytes of the field in the template
	length int
	name   string
	kind   Type
	known  bool
}

// someField returns a random field.
func someField(r *rand.Rand) (f anyField) {
	f.length = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, Variable}[r.IntN(13)]
	id, enterprise := uint16(0), uint32(0)
	switch r.IntN(3) {
	case 0:
		e := standard[r.IntN(len(standard))]
		id, f.name, f.kind, f.known = e.ID, e.Name, e.Type, true
	case 1:
		e := own[r.IntN(len(own))]
		id, f.name, f.kind, f.known, enterprise = e.ID, e.Name, e.Type, true, DefaultEnterprise
	default:
		id, enterprise = uint16(r.IntN(1<<15)), 1+r.Uint32N(1000)
		f.name = fmt.Sprintf("e%did%d", enterprise, id)
	}
	if enterprise != 0 {
		id |= 1 << 15
	}
	f.spec = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, id), uint16(f.length))
	if enterprise != 0 {
		f.spec = binary.BigEndian.AppendUint32(f.spec, enterprise)
	}
	return f
}

// lengths holds the lengths that RFC 7011, sections 6.1 and 6.2, allows for each type. A missing type may have any
// length.
var lengths = map[string][]int{"unsigned8": {1}, "signed8": {1}, "boolean": {1}, "unsigned16": {1, 2},
	"signed16":   {1, 2},
	"unsigned32": {1, 2, 3, 4}, "signed32": {1, 2, 3, 4}, "unsigned64": {1, 2, 3, 4, 5, 6, 7, 8},
	"signed64": {1, 2, 3, 4, 5, 6, 7, 8}, "float32": {4}, "float64": {4, 8}, "macAddress": {6}, "ipv4Address": {4},
	"ipv6Address": {16}, "dateTimeSeconds": {4}, "dateTimeMilliseconds": {8}, "dateTimeMicroseconds": {8},
	"dateTimeNanoseconds": {8}}

// raw reports whether the decoder must keep a value as bytes.
func (f *anyField) raw(v []byte) bool {
	allowed, fixed := lengths[f.kind.String()]
	switch {
	case !f.known:
		return false
	case fixed && !slices.Contains(allowed, f.length):
		return true
	case f.kind == Boolean:
		return v[0] == 0 || v[0] > 2
	case f.kind == String:
		return strings.ToValidUTF8(string(v), "") != string(v)
	}
	return false
}

// Each record is decoded to its bytes, whatever the lengths of its fields and the sets beside it. A value is raw
// exactly if RFC 7011 does not allow it for its type.
func TestAnyFieldsAndSets(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 300}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 36))
		type record struct {
			template uint16
			names    []string
			raw      []bool
			values   []string
		}
		var want, got []record
		var count Counts
		templates := map[uint16][]anyField{}
		d := NewDecoder(0)
		for range 1 + r.IntN(4) {
			var sets []byte
			sequence := uint32(len(want))
			set := func(id uint16, body []byte) {
				sets = binary.BigEndian.AppendUint16(sets, id)
				sets = append(binary.BigEndian.AppendUint16(sets, uint16(4+len(body))), body...)
			}
			for range r.IntN(6) {
				switch r.IntN(5) {
				case 0:
					count.Reserved++
					set(uint16([]int{0, 1, 4, 9, 255}[r.IntN(5)]), make([]byte, r.IntN(9)))
				case 1:
					set([]uint16{2, 3, 256, 257, 999}[r.IntN(5)], nil)
				case 2:
					id := uint16(256 + r.IntN(3))
					fields := []anyField{someField(r)}
					for fields[0].length == 0 {
						fields[0] = someField(r)
					}
					for range r.IntN(6) {
						fields = append(fields, someField(r))
					}
					body := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, id), uint16(len(fields)))
					for _, f := range fields {
						body = append(body, f.spec...)
					}
					templates[id] = fields
					set(2, body)
				default:
					id := uint16(256 + r.IntN(4))
					var body []byte
					for range 1 + r.IntN(3) {
						x := record{template: id}
						for _, f := range templates[id] {
							n := f.length
							if n == Variable {
								n = r.IntN(20)
								if r.IntN(2) == 0 {
									body = append(body, byte(n))
								} else {
									body = append(body, 255, 0, byte(n))
								}
							}
							v := make([]byte, n)
							for i := range v {
								v[i] = byte(r.UintN(256)) >> r.IntN(8)
							}
							body = append(body, v...)
							x.names, x.raw = append(x.names, f.name), append(x.raw, f.raw(v))
							x.values = append(x.values, hex.EncodeToString(v))
							if f.raw(v) {
								count.Raw++
							}
						}
						if templates[id] != nil {
							want, count.Records = append(want, x), count.Records+1
						}
					}
					if templates[id] == nil {
						count.WithoutTemplate++
						body = []byte{1}
					}
					set(id, body)
				}
			}
			m := append(message(""), sets...)
			binary.BigEndian.PutUint16(m[2:], uint16(len(m)))
			binary.BigEndian.PutUint32(m[8:], sequence)
			count.Messages++
			err := d.Message(m, func(x *DataRecord) {
				one := record{template: x.ID}
				for i := range x.Fields {
					f := &x.Fields[i]
					one.names, one.raw = append(one.names, f.Name()), append(one.raw, f.Raw(x.Values[i]))
					one.values = append(one.values, hex.EncodeToString(x.Values[i]))
					if text := fmt.Sprint(f.Value(x.Values[i])); f.Raw(x.Values[i]) != strings.HasPrefix(text, "0x") &&
						f.Element != nil &&
						f.Element.Type != String {
						t.Errorf("%s: %s", f.Name(), text)
					}
				}
				got = append(got, one)
			})
			if err != nil {
				t.Fatalf("%x: %v", m, err)
			}
		}
		if !reflect.DeepEqual(got, want) || d.Counts() != count {
			t.Errorf("%+v\nwant %+v\n%+v, want %+v", got, want, d.Counts(), count)
		}
	})
}
