package altmark

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// EncapSize is the number of bytes that encapsulation adds to a packet: 40 of IPv6, 8 of options.
const EncapSize = 48

// Maximum and default of the hop limit of encapsulated packets.
const (
	MaxEncapHopLimit     = 254
	DefaultEncapHopLimit = 64
)

// An OptionsHeader is the IPv6 extension header that contains the AltMark option.
type OptionsHeader uint8

// The extension headers. They determine the nodes that read the option (RFC 9343, section 4).
const (
	DestinationOptions OptionsHeader = iota // read by the far end, and by nodes on the path that look for it
	HopByHopOptions                         // read by all nodes on the path
)

var optionsWords = []string{"destination", "hop-by-hop"}

// OptionsWords lists the words for extension headers in configuration.
func OptionsWords() []string { return slices.Clone(optionsWords) }

// String returns the word for the header.
func (h OptionsHeader) String() string { return wordAt(optionsWords, int(h)) }

// ParseOptionsHeader parses a word of [OptionsWords].
func ParseOptionsHeader(s string) (OptionsHeader, error) {
	if i := slices.Index(optionsWords, s); i >= 0 {
		return OptionsHeader(i), nil
	}
	return 0, fmt.Errorf("encap-header %q, want %s", s, strings.Join(optionsWords, ", "))
}

// An Encap is an outer IPv6 header with an AltMark option, which an initiator adds and a terminator removes. Routers
// must not insert an option into forwarded packets (RFC 9343, section 5). Without addresses there is no encapsulation.
type Encap struct {
	Src, Dst netip.Addr
	Header   OptionsHeader // type of the options header; for an initiator only
	HopLimit uint8         // hop limit of encapsulated packets, for an initiator only; zero means DefaultEncapHopLimit
}

// Given reports whether there is encapsulation.
func (e Encap) Given() bool { return e.Src.IsValid() || e.Dst.IsValid() }

// ParseEncapAddress parses an address of the outer header. It accepts only IPv6 addresses that routers forward.
func ParseEncapAddress(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" || !a.IsGlobalUnicast() {
		return netip.Addr{}, fmt.Errorf("%q, want an IPv6 address that is routed: global or unique local, of one host", s)
	}
	return a, nil
}

// checkEncap returns an error if the session's encapsulation is incomplete or contradicts its other settings.
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
		bad("encap-dst is given and flow-mon-id is not: the option has one, and the other points identify flows by it")
	}
	if s.Clear {
		bad("clear is true and encap-dst is given: the terminator takes off the header with its marks")
	}
	if s.Foreign != CountForeign {
		bad("foreign-marks is %s and encap-dst is given: nothing comes marked in a header that is new", s.Foreign)
	}
	return errors.Join(errs...)
}
