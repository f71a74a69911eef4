package flymon

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A Filter selects the packets of a task: those that match all fields. The zero Filter matches all packets, including
// those without IP.
type Filter struct {
	SrcIP, DstIP     netip.Prefix // invalid means any
	SrcPort, DstPort Ports
	Protocol         uint8
	HasProtocol      bool
	Version          uint8 // IP version: 4, 6, or 0 for any; prefixes imply it
}

// Ports is an inclusive range of ports. If Has is false, it matches any ports, and packets without ports too.
type Ports struct {
	Lo, Hi uint16
	Has    bool
}

// FilterWords describes the syntax of a filter.
const FilterWords = `"any", or with commas between: src-ip=PREFIX, dst-ip=PREFIX, ` +
	`src-port=N or N-M, dst-port=N or N-M, protocol=N, ip=4 or 6`

// ParseFilter parses a filter in the syntax of [FilterWords]. An address stands for the prefix of that address only. An
// error names the field and what would be valid. A mix of IP versions is an error.
func ParseFilter(s string) (Filter, error) {
	var f Filter
	if s == "any" || s == "" {
		return f, nil
	}
	seen := map[string]bool{}
	for item := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok || seen[name] {
			return Filter{}, fmt.Errorf("filter %q, want each field once: %s", item, FilterWords)
		}
		seen[name] = true
		if err := f.set(name, value); err != nil {
			return Filter{}, err
		}
	}
	return f, f.check()
}

func (f *Filter) set(name, value string) (err error) {
	bad := func(want string) error { return fmt.Errorf("filter %s %q, want %s", name, value, want) }
	switch name {
	case "src-ip", "dst-ip":
		p, err := netip.ParsePrefix(value)
		if err != nil {
			a, err := netip.ParseAddr(value)
			if err != nil || a.Zone() != "" {
				return bad("an address or prefix of IPv4 or IPv6")
			}
			a = a.Unmap()
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if p.Addr().Is4In6() {
			return bad("an IPv4 address in its own form")
		}
		if name == "src-ip" {
			f.SrcIP = p.Masked()
		} else {
			f.DstIP = p.Masked()
		}
	case "src-port":
		f.SrcPort, err = parsePorts(value)
	case "dst-port":
		f.DstPort, err = parsePorts(value)
	case "protocol":
		n, err := strconv.ParseUint(value, 0, 8)
		if err != nil {
			return bad("0 to 255")
		}
		f.Protocol, f.HasProtocol = uint8(n), true
	case "ip":
		if value != "4" && value != "6" {
			return bad("4 or 6")
		}
		f.Version = value[0] - '0'
	default:
		return fmt.Errorf("filter field %q, want %s", name, FilterWords)
	}
	if err != nil {
		return bad("a port, or two with - between, the lower first")
	}
	return nil
}

func parsePorts(s string) (Ports, error) {
	a, b, ranged := strings.Cut(s, "-")
	lo, err := strconv.ParseUint(a, 10, 16)
	if err != nil {
		return Ports{}, err
	}
	hi := lo
	if ranged {
		if hi, err = strconv.ParseUint(b, 10, 16); err != nil {
			return Ports{}, err
		}
	}
	if hi < lo {
		return Ports{}, fmt.Errorf("%d is above %d", lo, hi)
	}
	return Ports{uint16(lo), uint16(hi), true}, nil
}

// check sets the version that the prefixes imply, and returns an error for contradictions.
func (f *Filter) check() error {
	for _, p := range []netip.Prefix{f.SrcIP, f.DstIP} {
		if !p.IsValid() {
			continue
		}
		v := uint8(4)
		if p.Addr().Is6() {
			v = 6
		}
		if f.Version != 0 && f.Version != v {
			return fmt.Errorf("filter %s: IPv4 and IPv6 at once, want one of them", f)
		}
		f.Version = v
	}
	return nil
}

// String returns the filter in the syntax of ParseFilter.
func (f Filter) String() string {
	var items []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			items = append(items, fmt.Sprintf(format, args...))
		}
	}
	add(f.SrcIP.IsValid(), "src-ip=%s", f.SrcIP)
	add(f.DstIP.IsValid(), "dst-ip=%s", f.DstIP)
	add(f.SrcPort.Has, "src-port=%s", f.SrcPort)
	add(f.DstPort.Has, "dst-port=%s", f.DstPort)
	add(f.HasProtocol, "protocol=%d", f.Protocol)
	add(f.Version != 0 && !f.SrcIP.IsValid() && !f.DstIP.IsValid(), "ip=%d", f.Version)
	if len(items) == 0 {
		return "any"
	}
	return strings.Join(items, ",")
}

// String returns the range in a filter's syntax: N, or N-M.
func (p Ports) String() string {
	if p.Lo == p.Hi {
		return strconv.Itoa(int(p.Lo))
	}
	return fmt.Sprintf("%d-%d", p.Lo, p.Hi)
}

// MarshalText returns the text of String.
func (f Filter) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText parses a filter as ParseFilter does.
func (f *Filter) UnmarshalText(b []byte) (err error) {
	*f, err = ParseFilter(string(b))
	return err
}

// Matches reports whether a packet matches the filter. ports is true if the packet has ports.
func (f *Filter) Matches(v *Vector, ports bool) bool {
	version := v.Version()
	return (f.Version == 0 || f.Version == version) &&
		(!f.HasProtocol || version != 0 && uint8(v[4]>>24) == f.Protocol) &&
		inPrefix(f.SrcIP, v[0], v[1]) && inPrefix(f.DstIP, v[2], v[3]) &&
		f.SrcPort.match(uint16(v[4]>>48), ports) && f.DstPort.match(uint16(v[4]>>32), ports)
}

func (p Ports) match(n uint16, has bool) bool { return !p.Has || has && p.Lo <= n && n <= p.Hi }

func inPrefix(p netip.Prefix, hi, lo uint64) bool {
	if !p.IsValid() {
		return true
	}
	m := prefix(uint8(p.Bits()))
	a, b := address(p.Addr())
	return hi&m[0] == a && lo&m[1] == b
}

// Meets reports whether a packet can match both filters.
func (f *Filter) Meets(o *Filter) bool {
	return (f.Version == 0 || o.Version == 0 || f.Version == o.Version) &&
		(!f.HasProtocol || !o.HasProtocol || f.Protocol == o.Protocol) &&
		f.SrcPort.meets(o.SrcPort) && f.DstPort.meets(o.DstPort) &&
		prefixesMeet(f.SrcIP, o.SrcIP) && prefixesMeet(f.DstIP, o.DstIP)
}

func (p Ports) meets(o Ports) bool { return !p.Has || !o.Has || p.Lo <= o.Hi && o.Lo <= p.Hi }

func prefixesMeet(a, b netip.Prefix) bool { return !a.IsValid() || !b.IsValid() || a.Overlaps(b) }

// Entries returns the number of TCAM entries that the filter needs. Port ranges are split into prefixes.
func (f *Filter) Entries() int { return len(f.SrcPort.Prefixes()) * len(f.DstPort.Prefixes()) }

// A PortPrefix matches the ports that equal Value under Mask.
type PortPrefix struct{ Value, Mask uint16 }

// Prefixes returns the prefixes of a range. The range of all ports has one prefix, whose mask is 0.
func (p Ports) Prefixes() []PortPrefix {
	if !p.Has {
		return []PortPrefix{{}}
	}
	var all []PortPrefix
	for lo, end := uint32(p.Lo), uint32(p.Hi)+1; lo < end; {
		size := lo & -lo
		if lo == 0 {
			size = 1 << 16
		}
		for lo+size > end {
			size /= 2
		}
		all = append(all, PortPrefix{uint16(lo), uint16(-size)})
		lo += size
	}
	return all
}
