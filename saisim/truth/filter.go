package truth

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A Filter selects the frames of a group. All its tests must hold. The zero Filter selects all frames.
type Filter struct{ tests []test }

// A test reports whether a frame matches that arrives at a port, given by name.
type test func(f *fields, in string) bool

// ParseFilter parses the matches of an ACL rule, named and written as in SONiC's ACL_RULE. Addresses have a prefix
// length. Numbers are written as 17, 0x11 or (TCP_FLAGS, DSCP, TTL, IPV6_FLOW_LABEL) value/mask, ranges as 1000-2000,
// IN_PORTS as Ethernet0,Ethernet4. PRIORITY and actions are ignored.
func ParseFilter(match map[string]string) (Filter, error) {
	var f Filter
	names := make([]string, 0, len(match))
	for name := range match {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t, err := parseTest(name, strings.TrimSpace(match[name]))
		if err != nil {
			return Filter{}, fmt.Errorf("%s %q: %w", name, match[name], err)
		}
		if t != nil {
			f.tests = append(f.tests, t)
		}
	}
	return f, nil
}

// Match reports whether the filter selects a frame that arrives at a port, given by name. length is the frame's
// complete length without FCS; data may be only its beginning. native is the VLAN of the port's untagged frames.
func (f Filter) Match(data []byte, length int, in string, native uint16) bool {
	var x fields
	x.parse(data, length, native)
	return f.match(&x, in)
}

func (f Filter) match(x *fields, in string) bool {
	for _, t := range f.tests {
		if !t(x, in) {
			return false
		}
	}
	return true
}

func parseTest(name, v string) (test, error) {
	switch name {
	case "PRIORITY":
		return nil, nil
	case "SRC_IP", "SRC_IPV6":
		return addressTest(v, name == "SRC_IP", func(f *fields) netip.Addr { return f.src })
	case "DST_IP", "DST_IPV6":
		return addressTest(v, name == "DST_IP", func(f *fields) netip.Addr { return f.dst })
	case "SRC_MAC":
		return macTest(v, func(f *fields) uint64 { return f.smac })
	case "DST_MAC":
		return macTest(v, func(f *fields) uint64 { return f.dmac })
	case "IN_PORTS":
		ports := strings.Split(v, ",")
		return func(_ *fields, in string) bool { return slices.Contains(ports, in) }, nil
	case "IP_TYPE":
		return typeTest(v)
	case "L4_SRC_PORT_RANGE", "L4_DST_PORT_RANGE":
		return rangeTest(v, name == "L4_SRC_PORT_RANGE")
	}
	for _, n := range numbers {
		if n.name == name {
			return n.test(v)
		}
	}
	if strings.Contains(name, "ACTION") {
		return nil, nil
	}
	return nil, fmt.Errorf("the oracle does not know this match")
}

// numbers are the matches that compare a number. get reports whether the frame has it.
var numbers = []numberField{
	{"ETHER_TYPE", 0xffff, false, func(f *fields) (uint64, bool) { return uint64(f.etherType), f.etherType != 0 }},
	{"VLAN_ID", 0xfff, false, func(f *fields) (uint64, bool) { return uint64(f.vlan), true }},
	{"IP_PROTOCOL", 0xff, false, func(f *fields) (uint64, bool) { return uint64(f.proto), f.ip }},
	{"NEXT_HEADER", 0xff, false, func(f *fields) (uint64, bool) { return uint64(f.proto), f.v6 }},
	{"DSCP", 0x3f, true, func(f *fields) (uint64, bool) { return uint64(f.tos >> 2), f.ip }},
	{"TTL", 0xff, true, func(f *fields) (uint64, bool) { return uint64(f.ttl), f.ip }},
	{"IPV6_FLOW_LABEL", 0xfffff, true, func(f *fields) (uint64, bool) { return uint64(f.label), f.v6 }},
	{"ICMP_TYPE", 0xff, false, func(f *fields) (uint64, bool) { return uint64(f.icmpType), f.icmp == 4 }},
	{"ICMP_CODE", 0xff, false, func(f *fields) (uint64, bool) { return uint64(f.icmpCo), f.icmp == 4 }},
	{"ICMPV6_TYPE", 0xff, false, func(f *fields) (uint64, bool) { return uint64(f.icmpType), f.icmp == 6 }},
	{"ICMPV6_CODE", 0xff, false, func(f *fields) (uint64, bool) { return uint64(f.icmpCo), f.icmp == 6 }},
	{"L4_SRC_PORT", 0xffff, false, func(f *fields) (uint64, bool) { return uint64(f.sport), f.ports }},
	{"L4_DST_PORT", 0xffff, false, func(f *fields) (uint64, bool) { return uint64(f.dport), f.ports }},
	{"TCP_FLAGS", 0x3f, true, func(f *fields) (uint64, bool) { return uint64(f.tcpFlags), f.tcp }},
}

type numberField struct {
	name   string
	max    uint64
	masked bool
	get    func(*fields) (uint64, bool)
}

func (n numberField) test(v string) (test, error) {
	value, mask, masked := strings.Cut(v, "/")
	want, err := strconv.ParseUint(value, 0, 32)
	bits := n.max
	if masked && n.masked && err == nil {
		bits, err = strconv.ParseUint(mask, 0, 32)
	} else if masked {
		err = strconv.ErrSyntax
	}
	if err != nil || want > n.max || bits > n.max {
		if n.masked {
			return nil, fmt.Errorf("want 0 to %d, or such a value/mask", n.max)
		}
		return nil, fmt.Errorf("want 0 to %d", n.max)
	}
	return func(f *fields, _ string) bool {
		got, ok := n.get(f)
		return ok && (got^want)&bits == 0
	}, nil
}

func addressTest(v string, v4 bool, get func(*fields) netip.Addr) (test, error) {
	p, err := netip.ParsePrefix(v)
	if a, e := netip.ParseAddr(v); e == nil && a.Zone() == "" {
		p, err = netip.PrefixFrom(a, a.BitLen()), nil
	}
	if err != nil || p.Addr().Is4() != v4 {
		return nil, fmt.Errorf("want an address or prefix of IPv%d", map[bool]int{true: 4, false: 6}[v4])
	}
	return func(f *fields, _ string) bool { return get(f).IsValid() && p.Contains(get(f)) }, nil
}

func macTest(v string, get func(*fields) uint64) (test, error) {
	value, mask, masked := strings.Cut(v, "/")
	want, ok := parseMAC(value)
	bits := uint64(1<<48 - 1)
	if masked && ok {
		bits, ok = parseMAC(mask)
	}
	if !ok {
		return nil, fmt.Errorf("want 02:00:00:00:00:01, or such an address/mask")
	}
	return func(f *fields, _ string) bool { return (get(f)^want)&bits == 0 }, nil
}

func parseMAC(s string) (uint64, bool) {
	b, err := hex.DecodeString(strings.NewReplacer(":", "", "-", "").Replace(s))
	if err != nil || len(b) != 6 {
		return 0, false
	}
	return be48(b), true
}

func rangeTest(v string, source bool) (test, error) {
	a, b, ok := strings.Cut(v, "-")
	lo, err1 := strconv.ParseUint(strings.TrimSpace(a), 10, 16)
	hi, err2 := strconv.ParseUint(strings.TrimSpace(b), 10, 16)
	if !ok || err1 != nil || err2 != nil || lo > hi {
		return nil, fmt.Errorf("want MIN-MAX, both 0 to 65535")
	}
	return func(f *fields, _ string) bool {
		p := f.dport
		if source {
			p = f.sport
		}
		return f.ports && uint64(p) >= lo && uint64(p) <= hi
	}, nil
}

func typeTest(v string) (test, error) {
	types := map[string]func(f *fields) bool{
		"ANY": func(*fields) bool { return true },
		"IP":  func(f *fields) bool { return f.ip }, "NON_IP": func(f *fields) bool { return !f.ip },
		"IPV4ANY": func(f *fields) bool { return f.v4 }, "NON_IPV4": func(f *fields) bool { return !f.v4 },
		"IPV6ANY": func(f *fields) bool { return f.v6 }, "NON_IPV6": func(f *fields) bool { return !f.v6 },
	}
	is := types[strings.ToUpper(v)]
	if is == nil {
		return nil, fmt.Errorf("want ANY, IP, NON_IP, IPV4ANY, NON_IPV4, IPV6ANY or NON_IPV6")
	}
	return func(f *fields, _ string) bool { return is(f) }, nil
}
