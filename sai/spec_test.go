package sai

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"

	"tamtam/internal/randtest"
)

// garbage holds texts that are no values of a kind: out of range, of other types, or accepted only by other parsers
// of numbers and addresses.
var garbage = map[Kind][]string{
	KindBool:          {"", "1", "True", "yes"},
	KindU8:            {"", "256", "-1", "+1", "0x1", "1.0"},
	KindU16:           {"", "65536", "-1", "+1"},
	KindU32:           {"", "4294967296", "-1"},
	KindU64:           {"", "18446744073709551616", "-1"},
	KindS8:            {"", "128", "-129", "+1"},
	KindS32:           {"", "2147483648", "-2147483649", "+1"},
	KindEnum:          {"", "SAI_NO_SUCH_VALUE", "+1", "2147483648"},
	KindOID:           {"", "0x1", "oid:1", "oid:0x", "oid:0x+1", "oid:0x10000000000000000"},
	KindMAC:           {"", "02:00:00:00:00", "02-00-00-00-00-01", "02:00:00:00:00:0g", "2:0:0:0:0:1"},
	KindIPv4:          {"", "2001:db8::1", "10.0.0", "10.0.0.0/8", "010.0.0.1"},
	KindIPv6:          {"", "10.0.0.1", "fe80::1%eth0", "2001:db8::/32"},
	KindIP:            {"", "host", "fe80::1%eth0"},
	KindPointer:       {"", "1", "0x", "0x-1"},
	KindChardata:      {`\x`, `\q`, "123456789012345678901234567890123"},
	KindJSON:          {"", "{}", `{"json":"1:256"}`, `{"json":"2:1"}`, "1:1"},
	KindU8List:        {"", "1", "1:256", "2:1", "1:1,2", "1:null", "0:", "65537:null"},
	KindS8List:        {"", "1:128", "1:+1"},
	KindU16List:       {"", "1:65536", "1:-1"},
	KindU32List:       {"", "1:4294967296", "1:x"},
	KindS32List:       {"", "1:2147483648", "1:+1"},
	KindEnumList:      {"", "1:SAI_NO_SUCH_VALUE", "2:0"},
	KindOIDList:       {"", "1:1", "1:oid:1", "0:oid:0x1"},
	KindU16Range:      {"", "1", "1,65536", "-1,1", "1,2,3"},
	KindU32Range:      {"", "1,4294967296", "1"},
	KindU64RangeList:  {"", "1:1", "1:1,2,3", "1:1,x", "65537:1,2"},
	KindACLCapability: {"", "yes:0:null", "true:1:SAI_NO_SUCH_VALUE", "true:2:0"},
	KindACLResources: {"", `{"count":1,"list":[]}`, `{"count":1,"list":[{"avail_num":"-1",` +
		`"bind_point":"SAI_ACL_BIND_POINT_TYPE_PORT","stage":"SAI_ACL_STAGE_INGRESS"}]}`},
	KindTimespec:   {"", "1", "1,4294967296"},
	KindQoSMapList: {"", `{"count":1,"list":null}`, `{"count":1,"list":[{"key":{"tc":256},"value":{}}]}`},
}

// A text that is not a value is refused. The error names attribute, text and the valid form, and has the status of
// SAI's own metadata library.
func TestGarbage(t *testing.T) {
	for _, id := range sample() {
		m := Meta(id)
		if garbage[m.Kind] == nil {
			t.Errorf("%s: nothing is known to be no %s", m.Name, m.Kind)
		}
		for _, text := range garbage[m.Kind] {
			v, err := ParseValue(id, text)
			var e *TextError
			if !errors.As(err, &e) || e.Attr != id || e.Want == "" || !errors.Is(err, StatusInvalidParameter) {
				t.Errorf("%s %q of type %s is %v, %v", m.Name, text, m.Kind, v, err)
			}
		}
	}
}

// A value of one kind is not a value of another: it can be formatted only for attributes of its Go type.
func TestForeignValues(t *testing.T) {
	values := []Value{
		nil, Bool(true), Uint(1 << 63), Int(-1 << 62), OID(1), MAC{1}, IP{}, IP{netip.MustParseAddr("fe80::1%eth0")},
		Pointer(1), Text("123456789012345678901234567890123"), Text("a\x00"), Bytes{1}, Uints{1 << 40}, Enums{1}, OIDs{1},
		Range{1 << 40, 1 << 40}, Ranges{{1, 2}}, ACLCapability{Actions: []Enum{}}, ACLResources{{}}, QoSMap{{}}, Prefix{},
		Enum(1),
		Match(Uint(1), Text("m")), Match(nil, nil), Do(nil),
	}
	for _, id := range sample() {
		m := Meta(id)
		for _, v := range values {
			text, err := FormatValue(id, v)
			if err == nil {
				if w, err := ParseValue(id, text); err != nil || !reflect.DeepEqual(v, w) {
					t.Errorf("%s: %#v is written %q, read %#v, %v", m.Name, v, text, w, err)
				}
				continue
			}
			if e := (*TextError)(nil); !errors.As(err, &e) || e.Attr != id || e.Want == "" {
				t.Errorf("%s: %#v: %v does not say what would be right", m.Name, v, err)
			}
		}
	}
}

// MapOIDs replaces all object ids of a value, and nothing else, and the change can be reversed. The value itself
// stays unchanged.
func TestMapOIDs(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		up, down := func(o OID) OID { return o + 1<<40 }, func(o OID) OID { return o - 1<<40 }
		for _, id := range sample() {
			for range 20 {
				v := randomValue(r, Meta(id))
				before, _ := FormatValue(id, v)
				var was, is []OID
				References(v, func(o OID) { was = append(was, o) })
				w := MapOIDs(v, up)
				References(w, func(o OID) { is = append(is, down(o)) })
				if after, _ := FormatValue(id, v); after != before {
					t.Errorf("%s: %s has become %s", id, before, after)
				}
				if !reflect.DeepEqual(was, is) || !reflect.DeepEqual(MapOIDs(w, down), v) {
					t.Errorf("%s: %#v has become %#v", id, v, w)
				}
			}
		}
	})
	up := func(o OID) OID { return o + 10 }
	ip, net := netip.MustParseAddr("10.0.0.1"), netip.MustParsePrefix("10.0.0.0/8")
	for _, tt := range []struct{ from, to Key }{
		{Obj(ObjectTypePort, 1), Obj(ObjectTypePort, 11)},
		{EntryKey(FDBEntry{1, MAC{2}, 3}), EntryKey(FDBEntry{11, MAC{2}, 13})},
		{EntryKey(NeighborEntry{1, 2, ip}), EntryKey(NeighborEntry{11, 12, ip})},
		{EntryKey(RouteEntry{1, 2, net}), EntryKey(RouteEntry{11, 12, net})},
	} {
		if got := MapKey(tt.from, up); got != tt.to {
			t.Errorf("%s has become %s, want %s", tt.from, got, tt.to)
		}
	}
}

// A list that does not fit is answered with its length only, which is parsed as a list of that length.
func TestCounts(t *testing.T) {
	for _, id := range sample() {
		m := Meta(id)
		want := m.zero(3)
		n, list := ListLen(want)
		if list != m.Kind.List() && m.Kind != KindJSON || list && n != 3 {
			t.Errorf("%s: a list: %t, of %d", m.Kind, list, n)
		}
		if !m.Kind.List() || m.Form != FormPlain {
			continue
		}
		text, err := FormatCount(id, want)
		if err != nil {
			t.Errorf("%s: %v", m.Kind, err)
		}
		got, err := ParseCount(id, text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q is %#v, %v, want %#v", m.Kind, text, got, err, want)
		}
		for _, bad := range []string{"", "x", "-1", "65537", `{"count":-1}`, `{"count":65537}`} {
			if v, err := ParseCount(id, bad); err == nil {
				t.Errorf("%s: %q is %#v", m.Kind, bad, v)
			}
		}
	}
}
