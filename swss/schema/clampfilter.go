package schema

import (
	"errors"
	"net/netip"

	"tamtam/tam/flymon"
)

// ClampFilter returns a filter for the SYN segments whose MSS option limits the segments of a flow group: the group's
// match in the reverse direction. It ignores matches without a meaning there (ports of the switch, VLAN, TCP flags,
// TTL, DSCP), and masks that are not prefixes. So it may match more segments than needed. A flow group without TCP is
// an error.
func ClampFilter(rule ACLRule) (flymon.Filter, error) {
	f := flymon.Filter{Protocol: protocolTCP, HasProtocol: true}
	var errs []error
	for _, m := range rule.Matches {
		if want := clampMatch(&f, m); want != "" {
			name := matchSpecs[m.Field].name
			errs = append(errs, &FieldError{
				Object: CfgACLRule + "|" + rule.Key.Config(), Field: name, Value: rule.Fields()[name], Want: want,
			})
		}
	}
	return f, errors.Join(errs...)
}

const protocolTCP = 6

// clampMatch adds a match in the reverse direction. If no TCP segment can match, want describes a valid match.
func clampMatch(f *flymon.Filter, m ACLMatch) (want string) {
	const clamped = ": clamp-mss is for TCP"
	switch m.Field {
	case MatchSrcIP, MatchSrcIPv6:
		clampAddr(f, &f.DstIP, m)
	case MatchDstIP, MatchDstIPv6:
		clampAddr(f, &f.SrcIP, m)
	case MatchL4SrcPort:
		f.DstPort = flymon.Ports{Lo: uint16(m.Value), Hi: uint16(m.Value), Has: true}
	case MatchL4DstPort:
		f.SrcPort = flymon.Ports{Lo: uint16(m.Value), Hi: uint16(m.Value), Has: true}
	case MatchL4SrcPortRange:
		f.DstPort = flymon.Ports{Lo: m.Min, Hi: m.Max, Has: true}
	case MatchL4DstPortRange:
		f.SrcPort = flymon.Ports{Lo: m.Min, Hi: m.Max, Has: true}
	case MatchIPProtocol, MatchNextHeader:
		if m.Value != protocolTCP {
			return "6 or none" + clamped
		}
	case MatchEtherType:
		return filterVersion(f, etherTypeVersions, m.Value, "0x0800, 0x86DD or none"+clamped)
	case MatchIPType:
		return filterVersion(f, clampIPTypes, IPType(m.Value), "any but NON_IP"+clamped)
	case MatchICMPType, MatchICMPCode, MatchICMPv6Type, MatchICMPv6Code:
		return "no such match" + clamped
	}
	return ""
}

// clampIPTypes maps an IP_TYPE to the IP version of its TCP segments; 0 means any.
var clampIPTypes = map[IPType]uint8{
	IPTypeAny: 0, IPTypeIP: 0, IPTypeIPv4Any: 4, IPTypeNonIPv6: 4, IPTypeIPv6Any: 6, IPTypeNonIPv4: 6,
}

// clampAddr adds the longest prefix that contains all addresses under the mask.
func clampAddr(f *flymon.Filter, to *netip.Prefix, m ACLMatch) {
	*to, _ = prefixOf(m.Addr, m.AddrMask)
	if f.Version = 4; m.Addr.Is6() {
		f.Version = 6
	}
}
