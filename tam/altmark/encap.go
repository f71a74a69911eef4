package altmark

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// EncapSize is by how many bytes a packet is longer with a header around it: 40 of IPv6, 8 of options.
const EncapSize = 48

// Bounds and default of the hop limit with which encapsulated packets leave.
const (
	MaxEncapHopLimit     = 254
	DefaultEncapHopLimit = 64
)

// An OptionsHeader is the extension header of IPv6 in which an AltMark option stands.
type OptionsHeader uint8

// The extension headers: who is to read the option, by RFC 9343 section 4.
const (
	DestinationOptions OptionsHeader = iota // the far end, and those on the way who look for it
	HopByHopOptions                         // all on the way
)

var optionsWords = []string{"destination", "hop-by-hop"}

// OptionsWords lists the words for extension headers in configuration.
func OptionsWords() []string { return slices.Clone(optionsWords) }

// String returns the word for it.
func (h OptionsHeader) String() string { return wordAt(optionsWords, int(h)) }

// ParseOptionsHeader reads a word of [OptionsWords].
func ParseOptionsHeader(s string) (OptionsHeader, error) {
	if i := slices.Index(optionsWords, s); i >= 0 {
		return OptionsHeader(i), nil
	}
	return 0, fmt.Errorf("encap-header %q, want %s", s, strings.Join(optionsWords, ", "))
}

// An Encap is the header of IPv6 with an AltMark option that an initiator puts around packets and a terminator takes
// off (RFC 9343, section 5): routers put no option into packets of others. Without addresses there is none.
type Encap struct {
	Src, Dst netip.Addr
	Header   OptionsHeader // of an initiator
	HopLimit uint8         // of an initiator: with which packets leave; 0: DefaultEncapHopLimit
}

// Given reports whether there is one.
func (e Encap) Given() bool { return e.Src.IsValid() || e.Dst.IsValid() }

// ParseEncapAddress reads an address of such a header: one of IPv6 that routers forward packets from and to.
func ParseEncapAddress(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" || !a.IsGlobalUnicast() {
		return netip.Addr{}, fmt.Errorf("%q, want an IPv6 address that is routed: global or unique local, of one host", s)
	}
	return a, nil
}

// checkEncap requires of a session with a header what makes it one.
func (s Session) checkEncap() error {
	e := s.Encap
	if !e.Given() {
		if e != (Encap{}) {
			return errors.New("encap-header or encap-hop-limit is given, but encap-src and encap-dst are not")
		}
		return nil
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case !e.Src.IsValid() || !e.Dst.IsValid():
		bad("one of encap-src and encap-dst is given, want both: the header is from one and to the other")
	case e.Src == e.Dst:
		bad("encap-src and encap-dst are both %s, want the addresses of two switches", e.Src)
	}
	if s.Role != Initiator && (e.HopLimit != 0 || e.Header != DestinationOptions) {
		bad("encap-header or encap-hop-limit is given, but the role is %s: only an initiator writes the header", s.Role)
	}
	if s.Role == Transit {
		bad("encap-src and encap-dst are given, but the role is %s: "+
			"an initiator puts headers on, a terminator takes them off", s.Role)
	}
	if s.Mark.family() != familyOption {
		bad("encap-dst is given and mark is %s, want %s or %s: bits of the option in the header", s.Mark, IPv6Loss, IPv6Delay)
	}
	if !s.FlowMonID.Given {
		bad("encap-dst is given and flow-mon-id is not: the option has one, and the other points tell flows by it")
	}
	if s.Clear {
		bad("clear is true and encap-dst is given: the terminator takes off the header with its marks")
	}
	if s.Foreign != CountForeign {
		bad("foreign-marks is %s and encap-dst is given: nothing comes marked in a header that is new", s.Foreign)
	}
	return errors.Join(errs...)
}
