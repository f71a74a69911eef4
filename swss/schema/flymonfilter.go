package schema

import (
	"errors"
	"net/netip"

	"tamtam/tam/flymon"
)

// FlyMonFilter is what a flow group's rule matches, as a task's filter. What a filter cannot
// express is an error, and never silently dropped.
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

// filterMatch adds a match to a filter, and says what a filter could have in its place if it cannot have it.
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

// filterAddr adds a match of a source or destination address, and the IP version that goes with it.
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

// What EtherType and IP_TYPE say of the IP version; 0: any.
var (
	etherTypeVersions = map[uint64]uint8{0x0800: 4, 0x86dd: 6}
	ipTypeVersions    = map[IPType]uint8{IPTypeAny: 0, IPTypeIPv4Any: 4, IPTypeIPv6Any: 6}
)

// filterVersion adds the IP version that a value stands for; it gives want back if it stands for none.
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

// prefixOf is an address under a mask as a prefix.
func prefixOf(a, mask netip.Addr) (netip.Prefix, bool) {
	if !mask.IsValid() {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	n, ok := maskLen(mask)
	return netip.PrefixFrom(a, n).Masked(), ok
}
