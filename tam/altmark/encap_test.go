package altmark_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"tamtam/tam/altmark"
)

// A session with encapsulation needs marks in the outer header, a FlowMonID, two addresses, and a role at an end.
func TestEncapCheck(t *testing.T) {
	a, b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	whole := altmark.Session{
		Role: altmark.Initiator, Method: altmark.Step, Mark: altmark.IPv6Loss, SlotSync: true, MaxDelay: time.Second / 8,
		FlowMonID: altmark.FlowMonID{Given: true}, Encap: altmark.Encap{Src: a, Dst: b},
	}
	for want, change := range map[string]func(s *altmark.Session){
		"": func(*altmark.Session) {},
		"one of encap-src and encap-dst is given, want both":   func(s *altmark.Session) { s.Encap.Src = netip.Addr{} },
		"encap-src and encap-dst are both 2001:db8::1":         func(s *altmark.Session) { s.Encap.Dst = a },
		"but the role is transit":                              func(s *altmark.Session) { s.Role = altmark.Transit },
		"mark is dscp0, want ipv6-altmark-l or ipv6-altmark-d": func(s *altmark.Session) { s.Mark = altmark.DSCP0 },
		"flow-mon-id is not":                                   func(s *altmark.Session) { s.FlowMonID.Given = false },
		"clear is true and encap-dst is given": func(s *altmark.Session) {
			s.Role,
				s.Clear = altmark.Terminator, true
		},
		"foreign-marks is drop and encap-dst is given": func(s *altmark.Session) { s.Foreign = altmark.DropForeign },
		"encap-hop-limit is given, but encap-src and encap-dst": func(s *altmark.Session) {
			s.Encap = altmark.Encap{HopLimit: 9}
		},
		"encap-hop-limit is given, but the role is terminator": func(s *altmark.Session) {
			s.Role, s.Encap.HopLimit = altmark.Terminator, 9
		},
	} {
		s := whole
		change(&s)
		if err := s.Check(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The addresses of an outer header must be routable addresses of one host.
func TestEncapAddresses(t *testing.T) {
	for _, bad := range []string{"", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "fe80::1%eth0", "ff02::1", "::1", "::",
		"2001:db8::1/64"} {
		if a, err := altmark.ParseEncapAddress(bad); err == nil {
			t.Errorf("%q is %s", bad, a)
		}
	}
	for _, good := range []string{"2001:db8::1", "fd00::1"} {
		if a, err := altmark.ParseEncapAddress(good); err != nil || a.String() != good {
			t.Errorf("%q is %s, %v", good, a, err)
		}
	}
}
