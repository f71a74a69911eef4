package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tamtam/cli/tree"
)

// InterfacesRoot is the path of the interfaces in the tree.
const InterfacesRoot = "openconfig-interfaces:interfaces"

// LiveNames returns a function that completes from the names in a list of the tree.
func LiveNames(list ...any) func(context.Context, *Session) ([]string, error) {
	return func(ctx context.Context, s *Session) ([]string, error) {
		found, err := s.Client.Configured(ctx, tree.Path(append(list, "config", "name")...))
		if err != nil {
			return nil, err
		}
		return tree.SortNaturally(found.Texts()), nil
	}
}

// LiveInterfaces returns the existing ports and port channels for completion.
func LiveInterfaces(ctx context.Context, s *Session) ([]string, error) {
	names, err := LiveNames(InterfacesRoot, tree.In("interface", "name", "*"))(ctx, s)
	return slices.DeleteFunc(names, func(name string) bool { return !IsLink(name) }), err
}

// ParseName accepts the names that the tree accepts: visible ASCII without "|".
func ParseName(text string) (string, error) {
	if text == "" || len(text) > 255 {
		return "", fmt.Errorf("a name has 1 to 255 characters, not %d", len(text))
	}
	for _, r := range text {
		if r <= ' ' || r > '~' || r == '|' {
			return "", fmt.Errorf("a name holds visible ASCII characters without \"|\", not %q", r)
		}
	}
	return text, nil
}

// hostnamePattern is that of the leaf hostname in openconfig-system, of the type domain-name.
var hostnamePattern = regexp.MustCompile(
	`^(([a-zA-Z0-9_]([a-zA-Z0-9\-_]){0,61})?[a-zA-Z0-9]\.)*([a-zA-Z0-9_]([a-zA-Z0-9\-_]){0,61})?[a-zA-Z0-9]\.?$`)

// ParseHostname accepts the names of a switch that the tree accepts. The prompt shows no others.
func ParseHostname(text string) (string, error) {
	if len(text) > 253 || !hostnamePattern.MatchString(text) {
		return "", fmt.Errorf("%q is not a name as in DNS: want up to 253 letters, digits, - and _, with dots between its "+
			"parts", text)
	}
	return text, nil
}

// MaxUint32 is the largest number of 32 bits.
const MaxUint32 = 1<<32 - 1

// Number returns the kind of a decimal number, or a hexadecimal one after 0x.
func Number(low, high uint64) *Kind {
	k := &Kind{Label: fmt.Sprintf("<%d-%d>", low, high), ToTree: Decimal, Parse: func(text string) (string, error) {
		n, err := parseUint(text)
		if err != nil || n < low || n > high {
			return "", fmt.Errorf("%q is not a number from %d to %d", text, low, high)
		}
		return strconv.FormatUint(n, 10), nil
	}}
	if high > MaxUint32 {
		k.ToTree = nil // RFC 7951 represents 64-bit numbers as strings
	}
	return k
}

// Decimal returns a number as the tree represents it.
func Decimal(text string) any { return json.Number(text) }

func parseUint(text string) (uint64, error) {
	if hex, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		return strconv.ParseUint(hex, 16, 64)
	}
	return strconv.ParseUint(text, 10, 64)
}

// OneOf returns the kind of a parameter that must be one of the given words.
func OneOf(choices ...Choice) *Kind {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = c.Word
	}
	return &Kind{Label: "{" + strings.Join(names, "|") + "}", Choices: choices}
}

// Whether returns the kind of a boolean of the tree.
func Whether(yes, no string) *Kind {
	k := OneOf(Pick("true", yes), Pick("false", no))
	k.ToTree = func(text string) any { return text == "true" }
	return k
}

var (
	// IPAddress is an address of either family.
	IPAddress = &Kind{Label: "<A.B.C.D | A:B::C>", Parse: func(text string) (string, error) {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return "", fmt.Errorf("%q is not an IPv4 or IPv6 address", text)
		}
		return a.String(), nil
	}}

	// IPPrefix is an address, or a prefix of addresses.
	IPPrefix = &Kind{
		Label: "<A.B.C.D[/len] | A:B::C[/len]>", Parse: parsePrefix,
		FromTree: func(text string) string {
			if p, err := netip.ParsePrefix(text); err == nil && p.IsSingleIP() {
				return p.Addr().String()
			}
			return text
		},
	}

	// MACMatch is a MAC address, with a mask or without.
	MACMatch = &Kind{Label: "<H:H:H:H:H:H[/mask]>", Parse: ParseMAC}

	// PortMatch is a port, or a range of ports.
	PortMatch = &Kind{
		Label: "<0-65535 | low-high>", Parse: parsePorts,
		ToTree: func(text string) any {
			if low, high, isRange := strings.Cut(text, "-"); isRange {
				return low + ".." + high
			}
			return json.Number(text)
		},
		FromTree: func(text string) string { return strings.Replace(text, "..", "-", 1) },
	}

	// EtherType is an EtherType, by number or name.
	EtherType = &Kind{
		Label:   "<0x600-0xffff>",
		Choices: []Choice{Pick("ipv4", "0x0800"), Pick("ipv6", "0x86dd"), Pick("arp", "0x0806")},
		Parse: func(text string) (string, error) {
			n, err := parseUint(text)
			if err != nil || n < 0x600 || n > 0xffff {
				return "", fmt.Errorf("%q is not an EtherType from 0x600 to 0xffff", text)
			}
			return fmt.Sprintf("0x%04x", n), nil
		},
		ToTree: func(text string) any {
			if n, ok := map[string]int{"ipv4": 0x0800, "ipv6": 0x86dd, "arp": 0x0806}[text]; ok {
				return n
			}
			n, _ := parseUint(text) // parse has checked the number
			return n
		},
		FromTree: func(text string) string {
			n, err := strconv.ParseUint(text, 10, 16)
			if err != nil {
				return text
			}
			return fmt.Sprintf("0x%04x", n)
		},
	}

	// IPProtocol is a protocol of IP, by number or name.
	IPProtocol = &Kind{
		Label:   "<0-255>",
		Choices: []Choice{Pick("tcp", "6"), Pick("udp", "17"), Pick("icmp", "1"), Pick("icmpv6", "58")},
		Parse:   Number(0, 255).Parse,
		ToTree: func(text string) any {
			n, named := map[string]string{"tcp": "6", "udp": "17", "icmp": "1", "icmpv6": "58"}[text]
			if !named {
				n = text
			}
			return json.Number(n)
		},
	}

	// TCPFlags are flags of TCP.
	TCPFlags = &Kind{
		Label: "<fin,syn,rst,psh,ack,urg>", Parse: parseFlags,
		ToTree: func(text string) any {
			var out []string
			for f := range strings.SplitSeq(text, ",") {
				out = append(out, "TCP_"+strings.ToUpper(f))
			}
			return out
		},
		FromTree: func(text string) string { return strings.ToLower(strings.ReplaceAll(text, "TCP_", "")) },
	}

	// BreakoutMode is how a front-panel port is split into ports.
	BreakoutMode = &Kind{Label: "<NxSPEED>", Parse: func(text string) (string, error) {
		m := breakoutForm.FindStringSubmatch(strings.ToUpper(text))
		if m == nil {
			return "", fmt.Errorf("%q is not a breakout mode such as 1x100G, 2x50G or 4x25G", text)
		}
		return m[1] + "x" + m[2] + "G", nil
	}}

	breakoutForm = regexp.MustCompile(`^([1248])X(1|10|25|40|50|100|200|400|800)G$`)

	flagNames = []string{"fin", "syn", "rst", "psh", "ack", "urg"}
)

func parsePrefix(text string) (string, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return a.Unmap().String(), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return "", fmt.Errorf("%q is not an IPv4 or IPv6 address or prefix", text)
	}
	if p != p.Masked() {
		return "", fmt.Errorf("%s has bits set behind the prefix: want %s", text, p.Masked())
	}
	return p.String(), nil
}

// ParseMAC parses an address and, after "/", the mask of its significant bits.
func ParseMAC(text string) (string, error) {
	addr, mask, masked := strings.Cut(text, "/")
	out := make([]string, 0, 2)
	for _, part := range []string{addr, mask}[:1+IntOf(masked)] {
		hw, err := net.ParseMAC(part)
		if err != nil || len(hw) != 6 {
			return "", fmt.Errorf("%q is not a MAC address such as 00:11:22:33:44:55", part)
		}
		out = append(out, hw.String())
	}
	return strings.Join(out, "/"), nil
}

// IntOf returns 1 for true and 0 for false.
func IntOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// parsePorts parses a port or a range. The canonical range is "low-high".
func parsePorts(text string) (string, error) {
	refused := fmt.Errorf("%q is not a port or a range of ports such as 80 or 8000-8100", text)
	low, high, isRange := strings.Cut(strings.Replace(text, "..", "-", 1), "-")
	l, err := strconv.ParseUint(low, 10, 16)
	if err != nil {
		return "", refused
	}
	if !isRange {
		return strconv.FormatUint(l, 10), nil
	}
	h, err := strconv.ParseUint(high, 10, 16)
	if err != nil || h < l {
		return "", refused
	}
	return fmt.Sprintf("%d-%d", l, h), nil
}

// parseFlags parses names of TCP flags, separated by commas, in any order.
func parseFlags(text string) (string, error) {
	named := strings.Split(strings.ToLower(text), ",")
	var out []string
	for _, name := range flagNames {
		if slices.Contains(named, name) {
			out = append(out, name)
		}
	}
	if len(out) != len(named) {
		return "", errors.New("TCP flags are names with commas, each once: " + strings.Join(flagNames, ","))
	}
	return strings.Join(out, ","), nil
}

// IsLink reports whether a name is that of a port or a port channel.
func IsLink(name string) bool {
	return strings.HasPrefix(name, "Ethernet") || strings.HasPrefix(name, "PortChannel")
}
