package models

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// ruleNumbers holds the fields of a rule that leaves show as numbers, with the range of the leaves.
var ruleNumbers = map[string]struct{ least, most uint64 }{
	"PRIORITY": {1, schema.MaxFlowGroupPriority}, "ETHER_TYPE": {0, 0xffff}, "IP_PROTOCOL": {0, 0xff},
	"NEXT_HEADER": {0, 0xff},
	"DSCP":        {0, 0x3f}, "TTL": {0, 0xff}, "IPV6_FLOW_LABEL": {0, 0xfffff}, "L4_SRC_PORT": {0, 0xffff},
	"L4_DST_PORT": {0, 0xffff},
}

var maskedMAC = regexp.MustCompile(`^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}(/[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5})?$`)

// ruleShown reports whether ruleLeaves can express a field of a rule. They cannot express a number with a mask, nor
// flags that must be clear.
func ruleShown(r tree.Record, field string) bool {
	field = strings.TrimSuffix(strings.ToUpper(field), "@")
	if n, ok := ruleNumbers[field]; ok {
		v, err := strconv.ParseUint(r.Field(field), 0, 64)
		return err == nil && n.least <= v && v <= n.most
	}
	switch field {
	case tree.NullField, "IN_PORTS", strings.ToUpper(wantsIPv6):
		return true
	case "PACKET_ACTION": // it is the default
		return strings.EqualFold(r.Field(field), schema.PacketForward)
	case "IP_TYPE":
		return strings.EqualFold(r.Field(field), schema.IPTypeAny.String()) || ipVersion().Get(r) != nil
	case "SRC_MAC", "DST_MAC":
		return maskedMAC.MatchString(r.Field(field))
	case "SRC_IP", "DST_IP", "SRC_IPV6", "DST_IPV6":
		return isPrefix(tree.First(prefix(field).Get(r)), strings.HasSuffix(field, "V6"))
	case "SRC_IP_MASK", "DST_IP_MASK", "SRC_IPV6_MASK", "DST_IPV6_MASK":
		return ruleShown(r, strings.TrimSuffix(field, "_MASK"))
	case "TCP_FLAGS":
		return tcpFlags().Get(r) != nil
	case "L4_SRC_PORT_RANGE", "L4_DST_PORT_RANGE":
		_, _, ok := strings.Cut(tree.First(ports(strings.TrimSuffix(field, "_RANGE")).Get(r)), "..")
		return ok
	}
	return false
}

// isPrefix reports whether a text is an address or a prefix of a family.
func isPrefix(text string, v6 bool) bool {
	a, err := netip.ParseAddr(text)
	if err != nil {
		p, err := netip.ParsePrefix(text)
		return err == nil && p.Addr().Is6() == v6
	}
	return a.Is6() == v6 && a.Zone() == ""
}

// otherFields returns the codec of all fields of a rule that no other leaf can express, as FIELD=VALUE. So a client
// always sees the complete match.
func otherFields() tree.Codec {
	get := func(r tree.Record) []string {
		var out []string
		for _, f := range slices.Sorted(maps.Keys(r.Fields)) {
			if !ruleShown(r, f) {
				out = append(out, f+"="+r.Fields[f])
			}
		}
		return out
	}
	return tree.Codec{Get: get, Put: func(r tree.Record, v []string) error {
		for _, old := range get(r) {
			name, _, _ := strings.Cut(old, "=")
			delete(r.Fields, name)
		}
		for _, text := range v {
			name, value, ok := strings.Cut(text, "=")
			if !ok || name == "" || value == "" {
				return fmt.Errorf("%q is not FIELD=VALUE", text)
			}
			r.Set(name, value)
			if ruleShown(r, name) {
				return fmt.Errorf("%s has a leaf of its own for %q", name, value)
			}
		}
		return nil
	}}
}

// ruleFields returns the codec of all fields of a rule except its priority, as FIELD=VALUE.
func ruleFields() tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		var out []string
		for _, f := range slices.Sorted(maps.Keys(r.Fields)) {
			if f != tree.NullField && !strings.EqualFold(f, "PRIORITY") {
				out = append(out, f+"="+r.Fields[f])
			}
		}
		return out
	}}
}

func ipVersion() tree.Codec { return words("IP_TYPE", "", "IPV4", "IPV4ANY", "IPV6", "IPV6ANY") }

func tcpFlags() tree.Codec {
	return flags("TCP_FLAGS", "TCP_FIN", "TCP_SYN", "TCP_RST", "TCP_PSH", "TCP_ACK", "TCP_URG")
}
