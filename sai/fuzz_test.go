package sai

import (
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"

	"tamtam/internal/randtest"
)

// sample returns one attribute of each kind and form.
func sample() []AttrID {
	type shape struct {
		k Kind
		f Form
	}
	seen := map[shape]bool{}
	var list []AttrID
	for _, o := range objects {
		for _, m := range ObjectMeta(o.id).Attrs {
			if s := (shape{m.Kind, m.Form}); !seen[s] {
				seen[s] = true
				list = append(list, m.ID)
			}
		}
	}
	return list
}

// Every text that parses as a value is formatted and parsed again as the same value.
func FuzzParseValue(f *testing.F) {
	ids := sample()
	for _, tt := range texts {
		for i, id := range ids {
			if m, n := Meta(id), Meta(tt.id); m.Kind == n.Kind && m.Form == n.Form {
				f.Add(uint16(i), tt.text)
			}
		}
	}
	for i := range ids {
		for _, s := range []string{"", "null", "0:null", "1:", "-1", "disabled", "&mask:", "1&mask:0x", "{}", "[]", `\x`,
			"::%eth0", "+1", "oid:0x", "true:1:"} {
			f.Add(uint16(i), s)
		}
	}
	f.Fuzz(func(t *testing.T, i uint16, text string) {
		id := ids[int(i)%len(ids)]
		_, _ = ParseCount(id, text)
		v, err := ParseValue(id, text)
		if err != nil {
			return
		}
		again, err := FormatValue(id, v)
		if err != nil {
			t.Fatalf("%s: %q is %#v, which cannot be written: %v", id, text, v, err)
		}
		w, err := ParseValue(id, again)
		if err != nil || !reflect.DeepEqual(v, w) {
			t.Fatalf("%s: %q is %#v, written %q, read %#v, %v", id, text, v, again, w, err)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{
		"SAI_OBJECT_TYPE_ACL_TABLE:oid:0x7000000000001",
		`SAI_OBJECT_TYPE_FDB_ENTRY:{"bvid":"oid:0x26000000000001","mac":"00:00:00:00:00:01",` +
			`"switch_id":"oid:0x21000000000000"}`,
		`SAI_OBJECT_TYPE_ROUTE_ENTRY:{"dest":"10.0.0.0/8","switch_id":"oid:0x21000000000000","vr":"oid:0x3000000000001"}`,
		`SAI_OBJECT_TYPE_NEIGHBOR_ENTRY:{"ip":"10.0.0.1","rif":"oid:0x6000000000001","switch_id":"oid:0x21000000000000"}`,
		"SAI_OBJECT_TYPE_ROUTE_ENTRY:oid:0x1", "SAI_OBJECT_TYPE_PORT:{}", "", ":",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err != nil {
			return
		}
		again, err := ParseKey(FormatKey(k))
		if err != nil || again != k {
			t.Fatalf("%q is %+v, written %q, read %+v, %v", text, k, FormatKey(k), again, err)
		}
	})
}

// randomValue returns a valid value of the attribute.
func randomValue(r *rand.Rand, m *AttrMeta) Value {
	plain := func() Value { return randomPlain(r, m) }
	switch m.Form {
	case FormField:
		if r.IntN(4) == 0 {
			return Field{}
		}
		data := plain()
		switch m.Kind {
		case KindBool, KindOID, KindOIDList:
			return Match(data, nil)
		case KindU8List:
			mask := make(Bytes, len(data.(Bytes)))
			for i := range mask {
				mask[i] = byte(r.Uint32())
			}
			return Match(data, mask)
		case KindEnum:
			return Match(data, Enum(r.Int32())*Enum(1-2*r.IntN(2)))
		}
		return Match(data, plain())
	case FormAction:
		if r.IntN(4) == 0 {
			return Action{}
		}
		return Do(plain())
	}
	return plain()
}

func randomPlain(r *rand.Rand, m *AttrMeta) Value {
	n := r.IntN(4)
	width := map[Kind]int{KindU8: 8, KindU16: 16, KindU32: 32, KindU64: 64, KindU16List: 16, KindU32List: 32,
		KindU16Range: 16, KindU32Range: 32, KindTimespec: 32}[m.Kind]
	number := func() uint64 { return r.Uint64() >> (64 - width) }
	enum := func() Enum {
		if m.Enum == nil || r.IntN(5) == 0 {
			return Enum(r.Int32())
		}
		return m.Enum.Values[r.IntN(len(m.Enum.Values))]
	}
	switch v := m.zero(n).(type) {
	case Bool:
		return Bool(r.IntN(2) == 0)
	case Uint:
		return Uint(number())
	case Int:
		if m.Kind == KindS8 {
			return Int(int8(r.Uint32()))
		}
		return Int(int32(r.Uint32()))
	case Enum:
		return enum()
	case OID:
		return OID(r.Uint64())
	case MAC:
		for i := range v {
			v[i] = byte(r.Uint32())
		}
		return v
	case IP:
		var b [16]byte
		for i := 15; i >= r.IntN(16); i-- {
			b[i] = byte(r.Uint32())
		}
		if m.Kind == KindIPv4 || m.Kind == KindIP && n == 0 {
			return IP{netip.AddrFrom4([4]byte(b[12:]))}
		}
		return IP{netip.AddrFrom16(b)}
	case Pointer:
		return Pointer(r.Uint64())
	case Text:
		b := make([]byte, r.IntN(33))
		for i := range b {
			b[i] = byte(1 + r.IntN(255))
		}
		return Text(b)
	case Bytes:
		for i := range v {
			v[i] = byte(r.Uint32())
		}
		return v
	case Uints:
		for i := range v {
			v[i] = number()
		}
		return v
	case Enums:
		for i := range v {
			v[i] = enum()
		}
		return v
	case OIDs:
		for i := range v {
			v[i] = OID(r.Uint64())
		}
		return v
	case Range:
		return Range{number(), number()}
	case Ranges:
		for i := range v {
			v[i] = Range{r.Uint64(), r.Uint64()}
		}
		return v
	case ACLCapability:
		v.ActionListMandatory = n > 1
		for i := range v.Actions {
			v.Actions[i] = Enum(r.IntN(50))
		}
		return v
	case QoSMap:
		params := func() QoSMapParams {
			b := func() uint8 { return uint8(r.Uint32()) }
			return QoSMapParams{TC: b(), DSCP: b(), Dot1p: b(), Prio: b(), PG: b(), Queue: b(), Color: Enum(r.IntN(5)),
				MPLSExp: b(), FC: b()}
		}
		for i := range v {
			v[i] = QoSMapEntry{params(), params()}
		}
		return v
	case ACLResources:
		for i := range v {
			v[i] = ACLResource{Enum(r.IntN(2)), Enum(r.IntN(5)), r.Uint32()}
		}
		return v
	}
	return nil
}

// Every value of every attribute survives formatting and parsing.
func TestRoundTrip(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, o := range objects {
			for _, m := range ObjectMeta(o.id).Attrs {
				for range 20 {
					v := randomValue(r, m)
					text, err := FormatValue(m.ID, v)
					if err != nil {
						t.Fatalf("%s: %#v: %v", m.Name, v, err)
					}
					got, err := ParseValue(m.ID, text)
					if err != nil || !reflect.DeepEqual(got, v) {
						t.Fatalf("%s: %#v is written %q and read %#v, %v", m.Name, v, text, got, err)
					}
				}
			}
		}
	})
}
