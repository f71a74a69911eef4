package record

import (
	"net/netip"
	"strings"
	"testing"
)

// Identities decode to the values that were encoded, in an operator's terms.
func TestIdentities(t *testing.T) {
	var x Identities
	x.Text(IdentityRule, "EDGE|RULE_1")
	x.ID(IdentityEntry, 0x80000000012)
	x.Address(IdentitySource, 10, 0x020000000102)
	x.Route(netip.MustParsePrefix("10.9.0.0/16"))
	x.Route(netip.MustParsePrefix("2001:db8::/32"))
	x.NextHop(netip.MustParseAddr("10.2.0.8"))
	x.NextHop(netip.MustParseAddr("fe80::1"))
	x.MAC(IdentityNeighbor, 0x02aabbccddee)
	x.Queue(3, 70000)
	x.Text(IdentityEgressRule, "a\nb\xff")
	x.Text(99, "?")
	want := []struct{ kind, text, table string }{
		{"rule", "EDGE|RULE_1", "chip.acl"}, {"acl_entry", "0x80000000012", "chip.acl"},
		{"source", "02:00:00:00:01:02 in VLAN 10", "chip.learning"},
		{"route", "10.9.0.0/16", "chip.ipv4_route"}, {"route", "2001:db8::/32", "chip.ipv6_route"},
		{"next_hop", "10.2.0.8", "chip.next_hop"},
		{"next_hop", "fe80::1", "chip.next_hop"}, {"neighbor", "02:aa:bb:cc:dd:ee", "chip.next_hop"},
		{"queue", "3, 70000 bytes in it", ""},
		{"egress_rule", `a\nb\xff`, "chip.egress_acl"}, {"kind_99", "3f", ""},
	}
	got, err := (&Record{Identities: x.Bytes()}).Known()
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v %v", got, err)
	}
	for i, w := range want {
		if table, _ := got[i].Says(); got[i].Kind.String() != w.kind || got[i].Text() != w.text || table != w.table {
			t.Errorf("%s %q, of table %q, want %v", got[i].Kind, got[i].Text(), table, w)
		}
	}
}

// An identity that does not fit is left out, and Left reports that. A smaller identity after it may still fit.
func TestIdentitiesWithoutRoom(t *testing.T) {
	var x Identities
	for range 8 {
		x.Text(IdentityRule, strings.Repeat("r", 28))
	}
	if len(x.Bytes()) != 240 || x.Left {
		t.Fatalf("%d bytes, left out: %v", len(x.Bytes()), x.Left)
	}
	x.Route(netip.MustParsePrefix("::/0"))
	x.Queue(1, 2)
	x.Text(IdentityRule, strings.Repeat("r", 300))
	if got, err := (&Record{Identities: x.Bytes()}).Known(); err != nil || len(got) != 9 || got[8].Kind != IdentityQueue ||
		!x.Left {
		t.Fatalf("%v %v, left out: %v", got, err, x.Left)
	}
	if x.Reset(); len(x.Bytes()) != 0 || x.Left {
		t.Errorf("%d bytes are left behind", len(x.Bytes()))
	}
}

// An identity that does not fit its kind is refused, and never decoded as 0.
func TestBadIdentities(t *testing.T) {
	for _, bad := range []string{"\x01", "\x01\x02a", "\x01\x00", "\x02\x01a", "\x06\x05\x21abcd", "\x06\x02\x00a",
		"\x07\x05abcde", "\x08\x04abcd", "\x0a\x01a", "\x05\x06abcdef"} {
		if got, err := (&Record{Identities: []byte(bad)}).Known(); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

func FuzzIdentities(f *testing.F) {
	var x Identities
	x.Text(IdentityRule, "EDGE|RULE_1")
	x.Route(netip.MustParsePrefix("10.9.0.0/16"))
	x.Queue(3, 7)
	f.Add(x.Bytes())
	f.Add([]byte("\x06\x11\x80abcdefghijklmnop\x63\x00"))
	f.Add(append([]byte{'0', 254}, make([]byte, 254)...))
	f.Add(append([]byte{'0', 255}, make([]byte, 255)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := (&Record{Identities: b}).Known()
		if err != nil {
			return
		}
		n := 0
		for _, x := range list {
			n += 2 + len(x.Value)
			x.Says()
			for _, c := range x.Text() + x.Kind.String() {
				if c < ' ' || c > '~' {
					t.Fatalf("%v is written as %q", x, x.Text())
				}
			}
		}
		if n != len(b) {
			t.Fatalf("%d of %d bytes are in %v", n, len(b), list)
		}
	})
}
