package schema

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// MatchField is a match of an ACL rule, named as in ACL_RULE.
type MatchField uint8

// The matches of SONiC's ACL rules. Those marked TAM exist only in tables of type TAM.
const (
	MatchSrcMAC MatchField = iota // TAM
	MatchDstMAC                   // TAM
	MatchEtherType
	MatchVLANID
	MatchIPType // Value is an IPType
	MatchSrcIP
	MatchDstIP
	MatchSrcIPv6
	MatchDstIPv6
	MatchIPProtocol
	MatchNextHeader
	MatchDSCP
	MatchTTL           // TAM; also the hop limit
	MatchIPv6FlowLabel // TAM
	MatchICMPType
	MatchICMPCode
	MatchICMPv6Type
	MatchICMPv6Code
	MatchL4SrcPort
	MatchL4DstPort
	MatchL4SrcPortRange
	MatchL4DstPortRange
	MatchTCPFlags
	MatchTC
	MatchInPorts
	MatchOutPorts
	MatchOutPort
	MatchTunnelVNI
	MatchTunnelTerm // Value is 0 or 1
	MatchInnerSrcMAC
	MatchInnerDstMAC
	MatchInnerEtherType
	MatchInnerIPProtocol
	MatchInnerSrcIP
	MatchInnerSrcIPv6
	MatchInnerL4SrcPort
	MatchInnerL4DstPort
	MatchBTHOpcode
	MatchAETHSyndrome
	MatchMetaData
	matchCount
)

type matchKind uint8

const (
	kindNumber     matchKind = iota // a number that is compared with all bits of mask
	kindMasked                      // a value v, or a value and a mask v/m
	kindMaskedOnly                  // a value and a mask v/m
	kindIPv4                        // a.b.c.d, a.b.c.d/len, or with a second field _MASK
	kindIPv6                        // as kindIPv4, with an IPv6 address
	kindMAC                         // one address
	kindMaskedMAC                   // mac or mac/mask
	kindRange                       // min-max
	kindPorts                       // list of ports
	kindPort                        // one port
	kindIPType                      // a word
	kindBool                        // true or false
)

type matchSpec struct {
	name string
	kind matchKind
	min  uint64
	mask uint64 // highest value and widest mask
	tam  bool   // true if the field exists only in tables of type TAM
	hex  bool   // true if the value is written as 0x and hex digits
}

var matchSpecs = [matchCount]matchSpec{
	MatchSrcMAC:          {name: "SRC_MAC", kind: kindMaskedMAC, tam: true},
	MatchDstMAC:          {name: "DST_MAC", kind: kindMaskedMAC, tam: true},
	MatchEtherType:       {name: "ETHER_TYPE", kind: kindNumber, mask: 0xffff, hex: true},
	MatchVLANID:          {name: "VLAN_ID", kind: kindNumber, min: 1, mask: 0xfff},
	MatchIPType:          {name: "IP_TYPE", kind: kindIPType},
	MatchSrcIP:           {name: "SRC_IP", kind: kindIPv4},
	MatchDstIP:           {name: "DST_IP", kind: kindIPv4},
	MatchSrcIPv6:         {name: "SRC_IPV6", kind: kindIPv6},
	MatchDstIPv6:         {name: "DST_IPV6", kind: kindIPv6},
	MatchIPProtocol:      {name: "IP_PROTOCOL", kind: kindNumber, mask: 0xff},
	MatchNextHeader:      {name: "NEXT_HEADER", kind: kindNumber, mask: 0xff},
	MatchDSCP:            {name: "DSCP", kind: kindMasked, mask: 0x3f},
	MatchTTL:             {name: "TTL", kind: kindMasked, mask: 0xff, tam: true},
	MatchIPv6FlowLabel:   {name: "IPV6_FLOW_LABEL", kind: kindMasked, mask: 0xfffff, tam: true, hex: true},
	MatchICMPType:        {name: "ICMP_TYPE", kind: kindNumber, mask: 0xff},
	MatchICMPCode:        {name: "ICMP_CODE", kind: kindNumber, mask: 0xff},
	MatchICMPv6Type:      {name: "ICMPV6_TYPE", kind: kindNumber, mask: 0xff},
	MatchICMPv6Code:      {name: "ICMPV6_CODE", kind: kindNumber, mask: 0xff},
	MatchL4SrcPort:       {name: "L4_SRC_PORT", kind: kindNumber, mask: 0xffff},
	MatchL4DstPort:       {name: "L4_DST_PORT", kind: kindNumber, mask: 0xffff},
	MatchL4SrcPortRange:  {name: "L4_SRC_PORT_RANGE", kind: kindRange},
	MatchL4DstPortRange:  {name: "L4_DST_PORT_RANGE", kind: kindRange},
	MatchTCPFlags:        {name: "TCP_FLAGS", kind: kindMasked, mask: 0x3f, hex: true},
	MatchTC:              {name: "TC", kind: kindNumber, mask: 0xff},
	MatchInPorts:         {name: "IN_PORTS", kind: kindPorts},
	MatchOutPorts:        {name: "OUT_PORTS", kind: kindPorts},
	MatchOutPort:         {name: "OUT_PORT", kind: kindPort},
	MatchTunnelVNI:       {name: "TUNNEL_VNI", kind: kindNumber, mask: 0xffffffff},
	MatchTunnelTerm:      {name: "TUNNEL_TERM", kind: kindBool},
	MatchInnerSrcMAC:     {name: "INNER_SRC_MAC", kind: kindMAC},
	MatchInnerDstMAC:     {name: "INNER_DST_MAC", kind: kindMAC},
	MatchInnerEtherType:  {name: "INNER_ETHER_TYPE", kind: kindNumber, mask: 0xffff, hex: true},
	MatchInnerIPProtocol: {name: "INNER_IP_PROTOCOL", kind: kindNumber, mask: 0xff},
	MatchInnerSrcIP:      {name: "INNER_SRC_IP", kind: kindIPv4},
	MatchInnerSrcIPv6:    {name: "INNER_SRC_IPV6", kind: kindIPv6},
	MatchInnerL4SrcPort:  {name: "INNER_L4_SRC_PORT", kind: kindNumber, mask: 0xffff},
	MatchInnerL4DstPort:  {name: "INNER_L4_DST_PORT", kind: kindNumber, mask: 0xffff},
	MatchBTHOpcode:       {name: "BTH_OPCODE", kind: kindMaskedOnly, mask: 0xff, hex: true},
	MatchAETHSyndrome:    {name: "AETH_SYNDROME", kind: kindMaskedOnly, mask: 0xff, hex: true},
	MatchMetaData:        {name: "META_DATA", kind: kindNumber, mask: 0xffffffff},
}

var matchByName = func() map[string]MatchField {
	m := make(map[string]MatchField, matchCount)
	for f := range matchCount {
		m[matchSpecs[f].name] = f
	}
	return m
}()

// String returns the field's name in ACL_RULE.
func (f MatchField) String() string {
	if f < matchCount {
		return matchSpecs[f].name
	}
	return "MatchField(" + utoa(f) + ")"
}

// MatchSet is a set of match fields.
type MatchSet uint64

// Matches returns the set of the given matches.
func Matches(fields ...MatchField) MatchSet {
	var s MatchSet
	for _, f := range fields {
		s |= 1 << f
	}
	return s
}

// Has reports whether f is in the set.
func (s MatchSet) Has(f MatchField) bool { return s>>f&1 == 1 }

// Fields returns the matches of the set in order.
func (s MatchSet) Fields() []MatchField {
	var out []MatchField
	for ; s != 0; s &= s - 1 {
		out = append(out, MatchField(bits.TrailingZeros64(uint64(s))))
	}
	return out
}

// IPType is the value of match IP_TYPE.
type IPType uint8

// The values of IP_TYPE.
const (
	IPTypeAny IPType = iota
	IPTypeIP
	IPTypeNonIP
	IPTypeIPv4Any
	IPTypeNonIPv4
	IPTypeIPv6Any
	IPTypeNonIPv6
)

var ipTypeNames = []string{"ANY", "IP", "NON_IP", "IPV4ANY", "NON_IPV4", "IPV6ANY", "NON_IPV6"}

// String returns the word in ACL_RULE.
func (t IPType) String() string {
	if int(t) < len(ipTypeNames) {
		return ipTypeNames[t]
	}
	return "IPType(" + utoa(t) + ")"
}

// ACLMatch is one match of a rule. Field determines which members hold it:
//
//   - Value and Mask for numbers, IP_TYPE and booleans; bits outside Mask are zero
//   - Addr and AddrMask for IP addresses, both of one family; bits outside AddrMask are zero
//   - MAC and MACMask for MAC addresses
//   - Min and Max for ranges
//   - Ports for ports
type ACLMatch struct {
	Field          MatchField
	Value, Mask    uint64
	Addr, AddrMask netip.Addr
	MAC, MACMask   MAC
	Min, Max       uint16
	Ports          []string // sorted names; in CONFIG_DB possibly aliases
}

// parseMatch parses the value v of field f. mask is the value of the field's _MASK, "" if there is none. If v is
// invalid, want describes the valid form.
func parseMatch(f MatchField, v, mask string) (m ACLMatch, want string) {
	s := matchSpecs[f]
	m.Field = f
	switch s.kind {
	case kindNumber, kindMasked, kindMaskedOnly:
		return parseNumberMatch(m, s, v)
	case kindIPv4, kindIPv6:
		return parseIPMatch(m, s.kind == kindIPv4, v, mask)
	case kindMAC, kindMaskedMAC:
		return parseMACMatch(m, s.kind == kindMaskedMAC, v)
	case kindRange:
		return parseRangeMatch(m, v)
	case kindPorts, kindPort:
		return parsePortMatch(m, s.kind == kindPort, v)
	case kindIPType:
		i := slices.Index(ipTypeNames, strings.ToUpper(v))
		if i < 0 {
			return m, oneOf(ipTypeNames)
		}
		m.Value, m.Mask = uint64(i), 0xffffffff
	case kindBool:
		yes := strings.EqualFold(v, "true")
		if !yes && !strings.EqualFold(v, "false") {
			return m, "true or false"
		}
		m.Mask = 1
		if yes {
			m.Value = 1
		}
	}
	return m, ""
}

func parseRangeMatch(m ACLMatch, v string) (ACLMatch, string) {
	lo, hi, ok := strings.Cut(v, "-")
	a, okA := cNumber(lo)
	b, okB := cNumber(hi)
	if !ok || !okA || !okB || a > b || b > 65535 {
		return m, "min-max in 0..65535"
	}
	m.Min, m.Max = uint16(a), uint16(b)
	return m, ""
}

func parsePortMatch(m ACLMatch, single bool, v string) (ACLMatch, string) {
	m.Ports = splitList(v)
	SortNames(m.Ports)
	if len(m.Ports) == 0 || slices.ContainsFunc(m.Ports, func(p string) bool { return !validAlias(p) }) {
		return m, "ports separated by commas"
	}
	if single && len(m.Ports) > 1 {
		return m, "one port"
	}
	return m, ""
}

func parseNumberMatch(m ACLMatch, s matchSpec, v string) (ACLMatch, string) {
	want := rangeWords(s.min, s.mask)
	text, maskText, hasMask := strings.Cut(v, "/")
	if s.kind == kindMasked {
		want += ", or value/mask"
	}
	if s.kind == kindMaskedOnly {
		want = "value/mask, each in 0.." + utoa(s.mask)
	}
	n, ok := cNumber(text)
	m.Mask = s.mask
	if hasMask {
		var okMask bool
		m.Mask, okMask = cNumber(maskText)
		ok = ok && okMask && m.Mask <= s.mask
	}
	if !ok || n < s.min || n > s.mask || hasMask && s.kind == kindNumber || !hasMask && s.kind == kindMaskedOnly ||
		m.Field == MatchVLANID && n > 4095 {
		return m, want
	}
	m.Value = n & m.Mask
	return m, ""
}

func parseIPMatch(m ACLMatch, v4 bool, v, mask string) (ACLMatch, string) {
	family, example := "IPv6", "2001:db8::1 or 2001:db8::/32"
	if v4 {
		family, example = "IPv4", "192.0.2.1 or 192.0.2.0/24"
	}
	want := "an " + family + " address or prefix such as " + example
	text, length, hasLen := strings.Cut(v, "/")
	a, err := netip.ParseAddr(text)
	if err != nil || a.Is4() != v4 || a.Zone() != "" || a.Is4In6() {
		return m, want
	}
	ones := a.BitLen()
	if hasLen {
		n, err := strconv.ParseUint(length, 10, 8)
		if err != nil || int(n) > ones {
			return m, want
		}
		ones = int(n)
	}
	m.AddrMask = prefixMask(ones, v4)
	if mask != "" {
		k, err := netip.ParseAddr(mask)
		if err != nil || k.Is4() != v4 || k.Zone() != "" {
			return m, "a mask written as an " + family + " address"
		}
		if hasLen {
			return m, "either a prefix length or a mask, not both"
		}
		m.AddrMask = k
	}
	m.Addr = andAddr(a, m.AddrMask)
	return m, ""
}

func prefixMask(ones int, v4 bool) netip.Addr {
	hi, lo := ^uint64(0), ^uint64(0)
	if v4 {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-ones))))
	}
	if ones <= 64 {
		hi, lo = hi<<(64-ones), 0
	} else {
		lo <<= 128 - ones
	}
	b := binary.BigEndian.AppendUint64(nil, hi)
	return netip.AddrFrom16([16]byte(binary.BigEndian.AppendUint64(b, lo)))
}

func andAddr(a, mask netip.Addr) netip.Addr {
	x, k := a.AsSlice(), mask.AsSlice()
	for i := range x {
		x[i] &= k[i]
	}
	out, _ := netip.AddrFromSlice(x)
	return out
}

func parseMACMatch(m ACLMatch, maskable bool, v string) (ACLMatch, string) {
	text, maskText, hasMask := strings.Cut(v, "/")
	mac, ok := ParseMAC(text)
	mask := MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	if hasMask {
		var okMask bool
		mask, okMask = ParseMAC(maskText)
		ok = ok && okMask
	}
	if !ok || hasMask && !maskable {
		if maskable {
			return m, "a MAC address or address/mask such as 52:54:00:00:00:00/ff:ff:ff:00:00:00"
		}
		return m, "a MAC address such as 52:54:00:12:34:56"
	}
	for i := range mac {
		mac[i] &= mask[i]
	}
	m.MAC, m.MACMask = mac, mask
	return m, ""
}

// format writes the match into the fields of a rule, in canonical form.
func (m ACLMatch) format(f map[string]string) {
	name := matchSpecs[m.Field].name
	text, mask := m.text()
	f[name] = text
	if mask != "" {
		f[name+"_MASK"] = mask
	}
}

// text returns the value of the match's field. mask is the value of the field's _MASK, if the mask cannot be part of
// the value.
func (m ACLMatch) text() (value, mask string) {
	switch matchSpecs[m.Field].kind {
	case kindNumber, kindMasked, kindMaskedOnly:
		return m.numberText(), ""
	case kindIPv4, kindIPv6:
		if ones, ok := maskLen(m.AddrMask); ok {
			return m.Addr.String() + "/" + strconv.Itoa(ones), ""
		}
		return m.Addr.String(), m.AddrMask.String()
	case kindMAC, kindMaskedMAC:
		if m.MACMask != (MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) {
			return m.MAC.String() + "/" + m.MACMask.String(), ""
		}
		return m.MAC.String(), ""
	case kindRange:
		return utoa(m.Min) + "-" + utoa(m.Max), ""
	case kindPorts, kindPort:
		return strings.Join(m.Ports, ","), ""
	case kindIPType:
		return IPType(m.Value).String(), ""
	}
	return strconv.FormatBool(m.Value == 1), "" // kindBool
}

// numberText formats a number, with its mask if that does not cover all bits or is required.
func (m ACLMatch) numberText() string {
	s := matchSpecs[m.Field]
	text := utoa(m.Value)
	if s.hex {
		text = hexNumber(m.Value)
	}
	if s.kind != kindNumber && m.Mask != s.mask || s.kind == kindMaskedOnly {
		text += "/" + hexNumber(m.Mask)
	}
	return text
}

func hexNumber(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

// maskLen returns the prefix length of a mask, or false if the mask is not a prefix.
func maskLen(mask netip.Addr) (int, bool) {
	ones := 0
	for _, b := range mask.AsSlice() {
		ones += bits.LeadingZeros8(^b)
		if b != 0xff {
			break
		}
	}
	return ones, mask == prefixMask(ones, mask.Is4())
}

// String returns the match as a field of a rule and its value.
func (m ACLMatch) String() string {
	value, mask := m.text()
	if mask != "" {
		value += " mask " + mask
	}
	return m.Field.String() + " " + value
}
