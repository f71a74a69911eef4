package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Leaves of a flow group besides its matches.
var (
	groupID = leaf{
		word: "id", help: "Number of the flow group; default the lowest that is free", kind: number(1, maxUint32),
		value: "Number", label: "   Id",
	}
	groupPriority = leaf{
		word: "priority", help: "Where flow groups overlap, the higher wins; default 100", undo: "Back to 100",
		kind: number(1, 1024), value: "Priority", label: "   Priority",
	}
	groupVersion = leaf{
		word: "ip-version", help: "Match only packets of this family", undo: "Match packets of both families",
		value: "Family", label: "   IP Version", show: func(e tree) string { return config(e, "ip-version") },
		kind: &argKind{
			label: "{ipv4|ipv6}", choices: []choice{{"ipv4", "IPv4 packets only"}, {"ipv6", "IPv6 packets only"}},
			toTree:   func(text string) any { return strings.ToUpper(text) },
			fromTree: strings.ToLower,
		},
	}
)

// groupMatches are the fields of packets that a flow group matches.
var groupMatches = []leaf{
	{
		word: "src-mac", help: "Source MAC address", kind: macMatch, label: "   SRC MAC",
		box: "l2", name: "source-mac", mask: "source-mac-mask",
	},
	{
		word: "dst-mac", help: "Destination MAC address", kind: macMatch, label: "   DST MAC",
		box: "l2", name: "destination-mac", mask: "destination-mac-mask",
	},
	{word: "ethertype", help: "EtherType", kind: etherType, label: "   Ether Type", box: "l2"},
	{
		word: "src-ip", help: "Source address or prefix", kind: ipPrefix, label: "   SRC IP",
		box: "ip", name: "source-address",
	},
	{
		word: "dst-ip", help: "Destination address or prefix", kind: ipPrefix, label: "   DST IP",
		box: "ip", name: "destination-address",
	},
	{word: "protocol", help: "IP protocol", kind: ipProtocol, label: "   Protocol", box: "ip"},
	{word: "dscp", help: "DSCP", kind: number(0, 63), label: "   DSCP", box: "ip"},
	{
		word: "hop-limit", help: "Hop limit, of IPv4 the TTL", kind: number(0, 255), label: "   Hop Limit", box: "ip",
	},
	{word: "ttl", help: "The same as hop-limit", kind: number(0, 255), box: "ip", name: "hop-limit", alias: true},
	{
		word: "flow-label", help: "IPv6 flow label", kind: number(0, 1<<20-1), label: "   Flow Label",
		box: "ipv6", name: "source-flow-label",
	},
	{
		word: "src-l4-port", help: "Source port or range", kind: portMatch, label: "   SRC Port",
		box: "transport", name: "source-port",
	},
	{
		word: "dst-l4-port", help: "Destination port or range", kind: portMatch, label: "   DST L4 Port",
		box: "transport", name: "destination-port",
	},
	{word: "tcp-flags", help: "TCP flags that are set", kind: tcpFlags, label: "   TCP Flags", box: "transport"},
}

var flowGroup = object{
	tamList: flowGroups, table: "TAM_FLOWGROUP_TABLE", word: "flow-group", help: "Which packets are meant",
	tally:  "Flow Groups",
	leaves: slices.Concat([]leaf{groupID, groupVersion}, groupMatches, []leaf{groupPriority}),
}

// flowGroupCommand is like that of other objects, but "no" may name fields, to remove only those.
func flowGroupCommand() *command {
	cmd := flowGroup.command(inTAM)
	for _, l := range flowGroup.leaves {
		if l.word != groupID.word {
			cmd.no.options = append(cmd.no.options, opt(kw(l.word, cmp.Or(l.undo, l.help))))
		}
	}
	cmd.do = func(ctx context.Context, c *call) error {
		if c.no {
			return removeFlowGroup(ctx, c)
		}
		return setFlowGroup(ctx, c)
	}
	return cmd
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
			return "", fmt.Errorf("address %s of %s is not of the family %s that the rest of the command names",
				text, word, family)
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

// setFlowGroup creates a flow group or changes the fields that are named.
func setFlowGroup(ctx context.Context, c *call) error {
	name := c.args["name"]
	found, err := c.sh.client.config(ctx, flowGroups.path(name))
	if err != nil {
		return err
	}
	d := flowGroup.draft(name)
	if d.family, err = familyOf(c.args, found); err != nil {
		return err
	}
	flowGroup.fill(d, c.args)
	id, _ := strconv.ParseUint(c.args["id"], 10, 32) // 0: none is named
	return c.sh.putFlowGroup(ctx, name, d, id, !found.exists())
}

// putFlowGroup writes the entry. A new flow group without id gets the lowest unused one, and
// another if somebody else takes that one meanwhile.
func (s *Shell) putFlowGroup(ctx context.Context, name string, d draft, id uint64, isNew bool) error {
	picks := isNew && id == 0
	for {
		if picks {
			var err error
			if id, err = s.freeID(ctx); err != nil {
				return err
			}
			d.config("")["id"] = id
		}
		err := s.client.set(ctx, change{path: flowGroups.path(name), value: d.entry})
		if err == nil && id != 0 && s.ids != nil {
			s.ids.used[id] = true
		}
		if err == nil || !picks {
			return err
		}
		s.ids = nil
		if free, again := s.freeID(ctx); again != nil || free == id {
			return err // not because of the id
		}
	}
}

// idPool remembers which flow group ids are used; all below free are.
type idPool struct {
	used map[uint64]bool
	free uint64
}

// freeID returns the lowest unused flow group id. The used ones are fetched once: if somebody takes
// one meanwhile, the write fails, and they are fetched again.
func (s *Shell) freeID(ctx context.Context) (uint64, error) {
	pool := s.ids
	if pool == nil {
		found, err := s.client.config(ctx, flowGroups.path("*", "config", "id"))
		if err != nil {
			return 0, err
		}
		pool = &idPool{used: map[uint64]bool{}, free: 1}
		for _, id := range found.items() {
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
	group, err := c.sh.existing(ctx, "flow group "+name, flowGroups.path(name))
	if err != nil {
		return err
	}
	if changes := removedFields(c); len(changes) > 0 {
		return c.sh.client.set(ctx, changes...)
	}
	if err := c.sh.client.set(ctx, change{path: flowGroups.path(name)}); err != nil {
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
	for _, l := range flowGroup.leaves {
		if !c.has(l.word) {
			continue
		}
		for _, place := range l.places() {
			for _, name := range []string{l.leafName(), l.mask} {
				if name != "" {
					out = append(out, change{path: below(flowGroups.path(c.args["name"]), append(place, name)...)})
				}
			}
		}
	}
	return out
}
