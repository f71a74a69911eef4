package tam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Leaves of a flow group besides its matches.
var (
	GroupID = declaredIn("TAM_FLOWGROUP_TABLE", []kit.Leaf{{
		Word: "id", Help: "Number of the flow group; default the lowest that is free", Value: "Number", Label: "   Id",
	}})[0]
	groupPriority = kit.Leaf{
		Word: "priority", Help: "Where flow groups overlap, the higher wins; default 100", Undo: "Back to 100",
		Kind: kit.Number(1, 1024), Value: "Priority", Label: "   Priority",
	}
	groupVersion = kit.Leaf{
		Word: "ip-version", Help: "Match only packets of this family", Undo: "Match packets of both families",
		Value: "Family", Label: "   IP Version", Show: func(e tree.Node) string { return kit.Configured(e, "ip-version") },
		Kind: &kit.Kind{
			Label: "{ipv4|ipv6}", Choices: []kit.Choice{kit.Pick("ipv4", "IPv4 packets only"),
				kit.Pick("ipv6", "IPv6 packets only")},
			ToTree:   func(text string) any { return strings.ToUpper(text) },
			FromTree: strings.ToLower,
		},
	}
)

// groupMatches are the fields of packets that a flow group matches.
var groupMatches = []kit.Leaf{
	{
		Word: "src-mac", Help: "Source MAC address", Kind: kit.MACMatch, Label: "   SRC MAC",
		Box: "l2", Name: "source-mac", Mask: "source-mac-mask",
	},
	{
		Word: "dst-mac", Help: "Destination MAC address", Kind: kit.MACMatch, Label: "   DST MAC",
		Box: "l2", Name: "destination-mac", Mask: "destination-mac-mask",
	},
	{Word: "ethertype", Help: "EtherType", Kind: kit.EtherType, Label: "   Ether Type", Box: "l2"},
	{
		Word: "src-ip", Help: "Source address or prefix", Kind: kit.IPPrefix, Label: "   SRC IP",
		Box: "ip", Name: "source-address",
	},
	{
		Word: "dst-ip", Help: "Destination address or prefix", Kind: kit.IPPrefix, Label: "   DST IP",
		Box: "ip", Name: "destination-address",
	},
	{Word: "protocol", Help: "IP protocol", Kind: kit.IPProtocol, Label: "   Protocol", Box: "ip"},
	{Word: "dscp", Help: "DSCP", Kind: kit.Number(0, 63), Label: "   DSCP", Box: "ip"},
	{
		Word: "hop-limit", Help: "Hop limit, of IPv4 the TTL", Kind: kit.Number(0, 255), Label: "   Hop Limit", Box: "ip",
	},
	{Word: "ttl", Help: "The same as hop-limit", Kind: kit.Number(0, 255), Box: "ip", Name: "hop-limit", Alias: true},
	{
		Word: "flow-label", Help: "IPv6 flow label", Kind: kit.Number(0, 1<<20-1), Label: "   Flow Label",
		Box: "ipv6", Name: "source-flow-label",
	},
	{
		Word: "src-l4-port", Help: "Source port or range", Kind: kit.PortMatch, Label: "   SRC Port",
		Box: "transport", Name: "source-port",
	},
	{
		Word: "dst-l4-port", Help: "Destination port or range", Kind: kit.PortMatch, Label: "   DST L4 Port",
		Box: "transport", Name: "destination-port",
	},
	{Word: "tcp-flags", Help: "TCP flags that are set", Kind: kit.TCPFlags, Label: "   TCP Flags", Box: "transport"},
}

// FlowGroup describes flow groups.
var FlowGroup = Object{
	List: FlowGroups, Table: "TAM_FLOWGROUP_TABLE", Word: "flow-group", Help: "Which packets are meant",
	tally:  "Flow Groups",
	Leaves: slices.Concat([]kit.Leaf{GroupID, groupVersion}, groupMatches, []kit.Leaf{groupPriority}),
}

// flowGroupCommand returns the command of flow groups. It is like the command of other objects, but its "no" form can
// list fields to remove.
func flowGroupCommand() *kit.Command {
	cmd := FlowGroup.Command(kit.InTAM)
	for _, l := range FlowGroup.Leaves {
		if l.Word != GroupID.Word {
			cmd.No.Options = append(cmd.No.Options, kit.Opt(kit.Keyword(l.Word, cmp.Or(l.Undo, l.Help))))
		}
	}
	ids := &idPool{}
	cmd.Do = func(ctx context.Context, c *kit.Call) error {
		if c.No {
			return removeFlowGroup(ctx, c, ids)
		}
		return setFlowGroup(ctx, c, ids)
	}
	return cmd
}

// familyOf returns the container for the IP fields of a command. The family follows from the addresses and the
// ip-version in the command, or else from the existing flow group. The default is ipv4.
func familyOf(args map[string]string, group tree.Node) (string, error) {
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
	if family == "" && (group.At("ipv6", "config").Exists() || group.Word("config", "ip-version") == "IPV6") {
		family = "ipv6"
	}
	if family == "" {
		family = "ipv4"
	}
	return family, nil
}

// setFlowGroup creates a flow group or changes the given fields.
func setFlowGroup(ctx context.Context, c *kit.Call, ids *idPool) error {
	name := c.Args["name"]
	found, err := c.Session.Client.Configured(ctx, FlowGroups.Path(name))
	if err != nil {
		return err
	}
	d := FlowGroup.draft(name)
	if d.Family, err = familyOf(c.Args, found); err != nil {
		return err
	}
	FlowGroup.fill(d, c.Args)
	id, _ := strconv.ParseUint(c.Args["id"], 10, 32) // 0 if no id is given
	return ids.put(ctx, c.Session.Client, name, d, id, !found.Exists())
}

// put writes the entry. A new flow group without id gets the lowest unused id. If another client uses this id
// meanwhile, put tries again with a different one.
func (p *idPool) put(ctx context.Context, c *kit.Client, name string, d kit.Draft, id uint64, isNew bool) error {
	picks := isNew && id == 0
	for {
		if picks {
			var err error
			if id, err = p.lowest(ctx, c); err != nil {
				return err
			}
			d.Configured("")["id"] = id
		}
		err := c.Set(ctx, kit.Change{Path: FlowGroups.Path(name), Value: d.Entry})
		if err == nil && id != 0 && p.used != nil {
			p.used[id] = true
		}
		if err == nil || !picks {
			return err
		}
		p.used = nil
		if free, again := p.lowest(ctx, c); again != nil || free == id {
			return err // the error is not about the id
		}
	}
}

// idPool contains the used ids of flow groups. All ids below the field free are used.
type idPool struct {
	used map[uint64]bool // nil if not read yet
	free uint64
}

// lowest returns the lowest unused flow group id. The used ids are read once. If another client uses an id meanwhile,
// the write fails, and the ids are read again.
func (p *idPool) lowest(ctx context.Context, c *kit.Client) (uint64, error) {
	if p.used == nil {
		found, err := c.Configured(ctx, FlowGroups.Path("*", "config", "id"))
		if err != nil {
			return 0, err
		}
		p.used, p.free = map[uint64]bool{}, 1
		for _, id := range found.Items() {
			if n, ok := id.Count(); ok {
				p.used[n] = true
			}
		}
	}
	for p.used[p.free] {
		p.free++
	}
	return p.free, nil
}

func (p *idPool) release(id uint64) {
	delete(p.used, id)
	p.free = min(p.free, max(id, 1))
}

// removeFlowGroup deletes a flow group, or only the given fields.
func removeFlowGroup(ctx context.Context, c *kit.Call, ids *idPool) error {
	name := c.Args["name"]
	group, err := c.Session.Existing(ctx, "flow group "+name, FlowGroups.Path(name))
	if err != nil {
		return err
	}
	if changes := removedFields(c); len(changes) > 0 {
		return c.Session.Client.Set(ctx, changes...)
	}
	if err := c.Session.Client.Set(ctx, kit.Change{Path: FlowGroups.Path(name)}); err != nil {
		return err
	}
	if id, ok := group.At("config", "id").Count(); ok && ids.used != nil {
		ids.release(id)
	}
	return nil
}

// removedFields returns the deletions of the fields that a "no flow-group" names.
func removedFields(c *kit.Call) []kit.Change {
	var out []kit.Change
	for _, l := range FlowGroup.Leaves {
		if !c.Has(l.Word) {
			continue
		}
		for _, place := range l.Places() {
			for _, name := range []string{l.TreeName(), l.Mask} {
				if name != "" {
					out = append(out, kit.Change{Path: tree.Below(FlowGroups.Path(c.Args["name"]), append(place, name)...)})
				}
			}
		}
	}
	return out
}
