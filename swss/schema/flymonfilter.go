package schema

import (
	"errors"
	"net/netip"

	"tamtam/tam/flymon"
)

// FlyMonFilter returns the match of a flow group's rule as a task's filter. It fails if a filter cannot express the
// match.
func FlyMonFilter(rule ACLRule) (flymon.Filter, error) {
	var f flymon.Filter
	var errs []error
	for _, m := range rule.Matches {
		if want := filterMatch(&f, m); want != "" {
			name := matchSpecs[m.Field].name
			errs = append(errs, &FieldError{
				Object: CfgACLRule + "|" + rule.Key.Config(), Field: name, Value: rule.Fields()[name], Want: want,
			})
		}
	}
	return f, errors.Join(errs...)
}

// filterMatch adds a match to a filter. If the filter cannot express the match, want describes a match that it can
// express.
func filterMatch(f *flymon.Filter, m ACLMatch) (want string) {
	switch m.Field {
	case MatchSrcIP, MatchSrcIPv6:
		return filterAddr(f, &f.SrcIP, m)
	case MatchDstIP, MatchDstIPv6:
		return filterAddr(f, &f.DstIP, m)
	case MatchIPProtocol, MatchNextHeader:
		f.Protocol, f.HasProtocol = uint8(m.Value), true
	case MatchL4SrcPort:
		f.SrcPort = flymon.Ports{Lo: uint16(m.Value), Hi: uint16(m.Value), Has: true}
	case MatchL4DstPort:
		f.DstPort = flymon.Ports{Lo: uint16(m.Value), Hi: uint16(m.Value), Has: true}
	case MatchL4SrcPortRange:
		f.SrcPort = flymon.Ports{Lo: m.Min, Hi: m.Max, Has: true}
	case MatchL4DstPortRange:
		f.DstPort = flymon.Ports{Lo: m.Min, Hi: m.Max, Has: true}
	case MatchEtherType:
		return filterVersion(f, etherTypeVersions, m.Value,
			"0x0800 or 0x86DD: the filter of a task tells IPv4 and IPv6 apart")
	case MatchIPType:
		return filterVersion(f, ipTypeVersions, IPType(m.Value), "ANY, IPV4ANY or IPV6ANY")
	default:
		return "no such match: the filter of a task has addresses, ports, the protocol and the IP version"
	}
	return ""
}

// filterAddr adds a match of a source or destination address, and its IP version.
func filterAddr(f *flymon.Filter, to *netip.Prefix, m ACLMatch) (want string) {
	p, ok := prefixOf(m.Addr, m.AddrMask)
	if !ok {
		want = "a prefix: the filter of a task has no other masks"
	}
	*to = p
	f.Version = 4
	if m.Addr.Is6() {
		f.Version = 6
	}
	return want
}

// IP versions of values of EtherType and IP_TYPE; 0 means any.
var (
	etherTypeVersions = map[uint64]uint8{0x0800: 4, 0x86dd: 6}
	ipTypeVersions    = map[IPType]uint8{IPTypeAny: 0, IPTypeIPv4Any: 4, IPTypeIPv6Any: 6}
)

// filterVersion adds the IP version that a value implies. It returns want if the value implies none.
func filterVersion[T comparable](f *flymon.Filter, versions map[T]uint8, v T, want string) string {
	version, ok := versions[v]
	if !ok {
		return want
	}
	if version != 0 {
		f.Version = version
	}
	return ""
}

// prefixOf returns an address under a mask as a prefix, or false if the mask is not a prefix.
func prefixOf(a, mask netip.Addr) (netip.Prefix, bool) {
	if !mask.IsValid() {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	n, ok := maskLen(mask)
	return netip.PrefixFrom(a, n).Masked(), ok
}
