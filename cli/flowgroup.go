package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// match is one field of a flow group: how it is written, where it is in the
// tree, how it is shown.
type match struct {
	word  string // keyword of the command
	help  string
	kind  *argKind
	label string // in show commands
	box   string // container below the flow group; "ip" is ipv4 or ipv6
	leaf  string
	mask  string // leaf of the mask behind "/", or empty
}

// matches lists the fields in the order in which they are shown.
func matches() []match {
	return []match{
		{"src-mac", "Source MAC address", macMatch, "SRC MAC", "l2", "source-mac", "source-mac-mask"},
		{"dst-mac", "Destination MAC address", macMatch, "DST MAC", "l2", "destination-mac", "destination-mac-mask"},
		{"ethertype", "EtherType", etherType, "Ether Type", "l2", "ethertype", ""},
		{"src-ip", "Source address or prefix", ipPrefix, "SRC IP", "ip", "source-address", ""},
		{"dst-ip", "Destination address or prefix", ipPrefix, "DST IP", "ip", "destination-address", ""},
		{"protocol", "IP protocol", ipProtocol, "Protocol", "ip", "protocol", ""},
		{"dscp", "DSCP", number(0, 63), "DSCP", "ip", "dscp", ""},
		{"hop-limit", "Hop limit, of IPv4 the TTL", number(0, 255), "Hop Limit", "ip", "hop-limit", ""},
		{"ttl", "The same as hop-limit", number(0, 255), "", "ip", "hop-limit", ""},
		{"flow-label", "IPv6 flow label", number(0, 1<<20-1), "Flow Label", "ipv6", "source-flow-label", ""},
		{"src-l4-port", "Source port or range", portMatch, "SRC Port", "transport", "source-port", ""},
		{"dst-l4-port", "Destination port or range", portMatch, "DST L4 Port", "transport", "destination-port", ""},
		{"tcp-flags", "TCP flags that are set", tcpFlags, "TCP Flags", "transport", "tcp-flags", ""},
	}
}

// value is a field's text as the tree has it.
func (m match) value(text string) any {
	switch m.leaf {
	case "ethertype":
		if n, ok := map[string]int{"ipv4": 0x0800, "ipv6": 0x86dd, "arp": 0x0806}[text]; ok {
			return n
		}
		n, _ := parseUint(text)
		return n
	case "protocol":
		if n, ok := map[string]int{"tcp": 6, "udp": 17, "icmp": 1, "icmpv6": 58}[text]; ok {
			return n
		}
	case "tcp-flags":
		var out []string
		for _, f := range strings.Split(text, ",") {
			out = append(out, "TCP_"+strings.ToUpper(f))
		}
		return out
	case "source-port", "destination-port":
		if low, high, isRange := strings.Cut(text, "-"); isRange {
			return low + ".." + high
		}
	}
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return n
	}
	return text
}

// read is the field's text in a flow group of the tree, as the command takes
// it; empty when it is not configured.
func (m match) read(group tree) string {
	box := group.at(m.box, "config")
	if m.box == "ip" {
		if box = group.at("ipv4", "config"); !box.at(m.leaf).exists() {
			box = group.at("ipv6", "config")
		}
	}
	text := box.text(m.leaf)
	switch {
	case text == "":
	case m.mask != "":
		if mask := box.text(m.mask); mask != "" && strings.ToLower(mask) != "ff:ff:ff:ff:ff:ff" {
			text += "/" + mask
		}
	case m.leaf == "ethertype":
		if n, err := strconv.ParseUint(text, 10, 16); err == nil {
			text = fmt.Sprintf("0x%04x", n)
		}
	case m.leaf == "tcp-flags":
		text = strings.ToLower(strings.ReplaceAll(text, "TCP_", ""))
	case m.box == "transport":
		text = strings.Replace(text, "..", "-", 1)
	case strings.HasSuffix(m.leaf, "address"):
		if p, err := netip.ParsePrefix(text); err == nil && p.IsSingleIP() {
			text = p.Addr().String()
		}
	}
	return text
}

// familyOf is the container that the IP fields of a command belong in, given
// the flow group as it is: of the family that an address or ip-version names.
func familyOf(args map[string]string, group tree) (string, error) {
	family := args["ip-version"]
	if args["flow-label"] != "" {
		if family == "ipv4" {
			return "", errors.New("IPv4 has no flow-label")
		}
		family = "ipv6"
	}
	for _, word := range []string{"src-ip", "dst-ip"} {
		text := args[word]
		if text == "" {
			continue
		}
		its := "ipv4"
		if strings.Contains(text, ":") {
			its = "ipv6"
		}
		if family != "" && family != its {
			return "", fmt.Errorf("address %s of %s is not of the family %s that the rest of the command names", text, word, family)
		}
		family = its
	}
	if family == "" && (group.at("ipv6", "config").exists() || group.word("config", "ip-version") == "IPV6") {
		family = "ipv6"
	}
	if family == "" {
		family = "ipv4"
	}
	return family, nil
}

func flowGroupPath(name string, below ...any) *gpb.Path {
	return gpath(append([]any{tamRoot, "flowgroups", keyed{"flowgroup", "name", name}}, below...)...)
}

// setFlowGroup creates a flow group or changes the fields that are named.
func setFlowGroup(ctx context.Context, c *call) error {
	name := c.args["name"]
	found, err := c.sh.client.get(ctx, gpb.GetRequest_CONFIG, flowGroupPath(name))
	if err != nil {
		return err
	}
	group := found[0]
	family, err := familyOf(c.args, group)
	if err != nil {
		return err
	}
	config := map[string]any{"name": name}
	entry := map[string]any{"openconfig-tam:name": name, "openconfig-tam:config": config}
	for _, leaf := range []string{"id", "priority"} {
		if text := c.args[leaf]; text != "" {
			config[leaf], _ = strconv.ParseUint(text, 10, 32) // number has checked it
		}
	}
	if v := c.args["ip-version"]; v != "" {
		config["ip-version"] = strings.ToUpper(v)
	}
	for _, m := range matches() {
		if text := c.args[m.word]; text != "" {
			m.put(entry, family, text)
		}
	}
	return c.sh.putFlowGroup(ctx, name, entry, config, !group.exists())
}

// put writes a field into a flow group's entry.
func (m match) put(entry map[string]any, family, text string) {
	box := m.box
	if box == "ip" {
		box = family
	}
	box = "openconfig-tam:" + box
	if entry[box] == nil {
		entry[box] = map[string]any{"config": map[string]any{}}
	}
	config := entry[box].(map[string]any)["config"].(map[string]any)
	if m.mask != "" {
		addr, mask, masked := strings.Cut(text, "/")
		if !masked {
			mask = "ff:ff:ff:ff:ff:ff"
		}
		config[m.leaf], config[m.mask] = addr, mask
		return
	}
	config[m.leaf] = m.value(text)
}

// putFlowGroup writes the entry. A new flow group without id gets the lowest
// that is not used, and another when somebody else takes that one meanwhile.
func (s *Shell) putFlowGroup(ctx context.Context, name string, entry, config map[string]any, isNew bool) error {
	picks := isNew && config["id"] == nil
	for {
		if picks {
			id, err := s.freeID(ctx)
			if err != nil {
				return err
			}
			config["id"] = id
		}
		err := s.client.set(ctx, change{path: flowGroupPath(name), value: entry})
		if id, ok := config["id"].(uint64); ok && err == nil && s.ids != nil {
			s.ids.used[id] = true
		}
		if err == nil || !picks {
			return err
		}
		s.ids = nil
		if id, again := s.freeID(ctx); again != nil || id == config["id"] {
			return err // not because of the id
		}
	}
}

// idPool remembers which flow group ids are used; below free all are.
type idPool struct {
	used map[uint64]bool
	free uint64
}

// freeID is the lowest flow group id that is not used. The used ones are asked
// for once: who takes one meanwhile makes the write fail, and they are asked for
// again.
func (s *Shell) freeID(ctx context.Context) (uint64, error) {
	pool := s.ids
	if pool == nil {
		found, err := s.client.get(ctx, gpb.GetRequest_CONFIG, flowGroupPath("*", "config", "id"))
		if err != nil {
			return 0, err
		}
		pool = &idPool{used: map[uint64]bool{}, free: 1}
		for _, id := range found[0].items() {
			if n, ok := id.count(); ok {
				pool.used[n] = true
			}
		}
		s.ids = pool
	}
	for pool.used[pool.free] {
		pool.free++
	}
	return pool.free, nil
}

func (p *idPool) release(id uint64) {
	delete(p.used, id)
	p.free = min(p.free, max(id, 1))
}

// removeFlowGroup deletes a flow group, or only the fields that are named.
func removeFlowGroup(ctx context.Context, c *call) error {
	name := c.args["name"]
	found, err := c.sh.client.get(ctx, gpb.GetRequest_CONFIG, flowGroupPath(name))
	if err != nil {
		return err
	}
	group := found[0]
	if !group.exists() {
		return fmt.Errorf("flow group %s does not exist", name)
	}
	changes := removedFields(c)
	if len(changes) > 0 {
		return c.sh.client.set(ctx, changes...)
	}
	if err := c.sh.client.set(ctx, change{path: flowGroupPath(name)}); err != nil {
		return err
	}
	if id, ok := group.at("config", "id").count(); ok && c.sh.ids != nil {
		c.sh.ids.release(id)
	}
	return nil
}

// removedFields are the deletions of the fields that a "no flow-group" names.
func removedFields(c *call) []change {
	var out []change
	remove := func(box, leaf string) {
		if leaf != "" {
			out = append(out, change{path: flowGroupPath(c.args["name"], box, "config", leaf)})
		}
	}
	for _, m := range matches() {
		switch {
		case !c.has(m.word):
		case m.box == "ip":
			remove("ipv4", m.leaf)
			remove("ipv6", m.leaf)
		default:
			remove(m.box, m.leaf)
			remove(m.box, m.mask)
		}
	}
	for _, leaf := range []string{"priority", "ip-version"} {
		if c.has(leaf) {
			out = append(out, change{path: flowGroupPath(c.args["name"], "config", leaf)})
		}
	}
	return out
}
