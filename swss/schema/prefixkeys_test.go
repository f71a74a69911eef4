package schema

import (
	"net/netip"
	"slices"
	"testing"
)

func TestPrefixKeys(t *testing.T) {
	p := Dest{Prefix: netip.MustParsePrefix("10.0.0.0/8")}
	q := Dest{VRF: "Vrf1", Prefix: p.Prefix}
	var x PrefixKeys
	want := func(p Dest, keys ...string) {
		t.Helper()
		if got := x.Keys(p); !slices.Equal(got, keys) {
			t.Errorf("keys of %s are %q, want %q", p, got, keys)
		}
	}
	want(p)
	x.Remove(p, "a")
	x.Add(p, "b")
	x.Add(q, "z")
	x.Add(p, "a")
	x.Add(p, "c")
	want(p, "a", "b", "c")
	x.Remove(p, "b")
	want(p, "a", "c")
	x.Remove(p, "no such key")
	want(p, "a", "c")
	x.Remove(p, "a")
	x.Remove(p, "c")
	want(p)
	want(q, "z")
}
