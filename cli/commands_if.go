package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tam"
	"tamtam/cli/tree"
)

func interfaceCommands() []*kit.Command {
	var (
		iface = &kit.Kind{Label: "<EthernetN | PortChannelN | alias>", Parse: kit.ParseName, Live: kit.LiveInterfaces}
		port  = &kit.Kind{Label: "<EthernetN | alias>", Parse: kit.ParseName, Live: kit.LiveInterfaces}
		vlan  = kit.Number(1, 4094)
		num   = kit.Number(0, 9999)
	)
	out := []*kit.Command{
		{Modes: kit.InConfig, Form: kit.Seq("interface", kit.Arg("name", iface, "Name")), Do: enterInterface("")},
		{Modes: kit.InConfig, Form: kit.Seq("interface Ethernet", kit.Arg("name", num, "Number")),
			Do: enterInterface("Ethernet")},
		kit.Same(kit.InConfig, enterInterface("PortChannel"), "interface PortChannel", kit.Arg("name", num, "Number")),
		kit.Same(kit.InConfig, enterInterface("Vlan"), "interface Vlan", kit.Arg("name", vlan, "Number")),
		{
			Modes: kit.InConfig, Do: setBreakout,
			Form: kit.Seq("interface breakout port", kit.Arg("port", port, "The cage's first port"),
				"mode", kit.Arg("mode", kit.BreakoutMode, "Such as 1x100G, 2x50G, 4x25G")),
			No: kit.NoForm("interface breakout port", kit.Arg("port", port, "The cage's first port")),
		},
		kit.Same(kit.InInterface, attachFlowGroup, "flow-group", kit.Arg("name", tam.GroupName, "Name of the flow group")),
		{
			Modes: kit.InInterface, Do: setChannelGroup,
			Form: kit.Seq(kit.Keyword("channel-group", "Join a port channel"),
				kit.Arg("value", num, "Number of the port channel")),
			No: kit.NoForm(kit.Keyword("channel-group", "Leave the port channel")),
		},
		{
			Modes: kit.InInterface, Do: setVLANMember("UNTAGGED"),
			Form: kit.Seq("switchport", kit.Keyword("access", "Frames without tag"), "Vlan", kit.Arg("value", vlan, "Number")),
			No: kit.NoForm("switchport", kit.Keyword("access", "Frames without tag"), "Vlan",
				kit.Opt(kit.Arg("value", vlan, "Number"))),
		},
		kit.Same(kit.InInterface, setVLANMember("TAGGED"), "switchport", kit.Keyword("trunk", "Frames with tag"),
			kit.Keyword("allowed", "These may pass"), "Vlan", kit.Arg("value", vlan, "Number")),
	}
	for _, l := range interfaceLeaves {
		out = append(out, l.Single(kit.InInterface, func(c *kit.Call) (*gpb.Path, error) {
			return interfacePath(c.Session.Interface), onlyFor(c.Session, l.Word, "Ethernet", "PortChannel")
		}))
	}
	for _, l := range channelLeaves {
		out = append(out, l.Single(kit.InInterface, func(c *kit.Call) (*gpb.Path, error) {
			return interfacePath(c.Session.Interface, l.Box), onlyFor(c.Session, l.Word, "PortChannel")
		}))
	}
	return out
}

// channelLeaves are the leaves that only a port channel has.
var channelLeaves = []kit.Leaf{
	{
		Word: "static", Help: "No LACP: each member that is up carries traffic", Undo: "LACP selects the members that do",
		Name: "lag-type", Box: "aggregation", Means: "STATIC", Default: "LACP",
	},
	{
		Word: "min-links", Help: "How many members must carry traffic for it to be up", Undo: "Back to 1",
		Kind: kit.Number(1, 1024), Value: "Members", Box: "aggregation",
	},
	{
		Word: "fast-rate", Help: "LACP: the partner is to speak every second, not every 30", Undo: "Back to every 30 seconds",
		Name: "interval", Box: "aggregation", Means: "FAST", Default: "SLOW",
	},
	{
		Word: "fallback", Help: "LACP: one member carries traffic while no partner is heard", Undo: "None does then",
		Box: "aggregation", Default: "false",
	},
}

// interfaceLeaves are the leaves of a port or port channel.
var interfaceLeaves = []kit.Leaf{
	{
		Word: "description", Help: "Words of the user", Value: "Text, to the end of the line",
		Kind: &kit.Kind{Label: "<text>", Parse: parseDescription, Text: true},
	},
	{
		Word: "mtu", Help: "Largest frame without Ethernet header and FCS", Undo: "Back to 9100",
		Kind: kit.Number(68, 9216), Value: "Octets",
	},
	{Word: "shutdown", Help: "Disable the interface", Undo: "Enable the interface", Name: "enabled", Inverse: true},
}

func parseDescription(text string) (string, error) {
	if text == "" || len(text) > 255 {
		return "", fmt.Errorf("a description has 1 to 255 octets, not %d", len(text))
	}
	return text, nil
}

func interfacePath(name string, below ...any) *gpb.Path {
	return tree.Path(append([]any{kit.InterfacesRoot, tree.In("interface", "name", name)}, below...)...)
}

func vlanPath(id string, below ...any) *gpb.Path {
	return tree.Path(append([]any{vlansRoot, tree.In("vlan", "vlan-id", id)}, below...)...)
}

var interfaceName = regexp.MustCompile(`(?i)^(Ethernet|PortChannel)([0-9]{1,4})$`)

// resolveInterface returns SONiC's name of an interface that may be given as its alias or in a different case.
func resolveInterface(ctx context.Context, s *kit.Session, text string) (string, error) {
	if m := interfaceName.FindStringSubmatch(text); m != nil {
		kind := "Ethernet"
		if strings.EqualFold(m[1], "PortChannel") {
			kind = "PortChannel"
		}
		found, err := s.Client.Configured(ctx, interfacePath(kind+m[2], "config"))
		if err != nil || found.Exists() {
			return kind + m[2], err
		}
		return "", s.Missing(ctx, "interface "+kind+m[2], interfacePath(kind+m[2]))
	}
	found, err := s.Client.All(ctx, tree.Path(kit.InterfacesRoot))
	if err != nil {
		return "", err
	}
	var names []string
	for _, i := range found.Sorted("interface") {
		alias := i.Text("state", "alias")
		if strings.EqualFold(alias, text) {
			return i.Name(), nil
		}
		names = append(names, i.Name(), alias)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	return "", fmt.Errorf("no interface has the name or alias %s%s", text, kit.Suggest(text, names))
}

// enterInterface returns the action that enters the mode of an interface. Port channels and VLANs are created if they
// do not exist.
func enterInterface(kind string) func(context.Context, *kit.Call) error {
	return func(ctx context.Context, c *kit.Call) error {
		name := kind + c.Args["name"]
		path, made := interfacePath(name), tree.ListEntry("openconfig-interfaces", map[string]any{"name": name}, nil)
		if kind == "Vlan" {
			vlan := map[string]any{"vlan-id": json.Number(c.Args["name"])}
			path, made = vlanPath(c.Args["name"]), tree.ListEntry("tamtam-interfaces", vlan, nil)
		}
		switch {
		case c.No:
			return c.Session.RemoveEntry(ctx, "interface "+name, path)
		case kind == "PortChannel", kind == "Vlan":
			if err := c.Session.Client.Set(ctx, kit.Change{Path: path, Value: made}); err != nil {
				return err
			}
		default:
			var err error
			if name, err = resolveInterface(ctx, c.Session, name); err != nil {
				return err
			}
		}
		c.Session.Mode, c.Session.Interface = kit.ModeInterface, name
		return nil
	}
}

// onlyFor returns an error if the command does not apply to the interface's kind.
func onlyFor(s *kit.Session, what string, kinds ...string) error {
	if !slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(s.Interface, k) }) {
		return fmt.Errorf("%s has no %s: it is for %s", s.Interface, what, strings.Join(kinds, " and "))
	}
	return nil
}

// attachFlowGroup adds the interface to the interfaces of a flow group, or removes it from them.
func attachFlowGroup(ctx context.Context, c *kit.Call) error {
	if err := onlyFor(c.Session, "flow-group", "Ethernet", "PortChannel"); err != nil {
		return err
	}
	name := c.Args["name"]
	group, err := c.Session.Existing(ctx, "flow group "+name, tam.FlowGroups.Path(name))
	if err != nil {
		return err
	}
	if !c.No {
		return c.Session.Client.Set(ctx, kit.Change{Path: tam.FlowGroups.Path(name, "config", "interfaces"),
			Value: []string{c.Session.Interface}})
	}
	attached := group.Texts("config", "interfaces")
	if !slices.Contains(attached, c.Session.Interface) {
		return fmt.Errorf("flow group %s is not attached to %s", name, c.Session.Interface)
	}
	one := tam.FlowGroups.Path(name, "config", tree.In("interfaces", ".", c.Session.Interface))
	if err := c.Session.Client.Set(ctx, kit.Change{Path: one}); err != nil {
		return err
	}
	if len(attached) == 1 {
		c.Session.Warn("flow group %s is attached to no interface now: it matches on all of them", name)
	}
	return nil
}

// setBreakout splits a front-panel port into several ports, or makes it one port again.
func setBreakout(ctx context.Context, c *kit.Call) error {
	port, err := resolveInterface(ctx, c.Session, c.Args["port"])
	if err != nil {
		return err
	}
	path := interfacePath(port, "breakout-mode", "groups", tree.In("group", "index", "1"))
	if c.No {
		return c.Session.Client.Set(ctx, kit.Change{Path: path})
	}
	count, speed, _ := strings.Cut(c.Args["mode"], "x")
	config := map[string]any{"num-breakouts": json.Number(count), "breakout-speed": "SPEED_" + speed + "B"}
	return c.Session.Client.Set(ctx, kit.Change{Path: path,
		Value: tree.ListEntry("tamtam-interfaces", map[string]any{"index": 1}, config)})
}

// setChannelGroup makes the port a member of a port channel, or removes it from its port channel.
func setChannelGroup(ctx context.Context, c *kit.Call) error {
	if err := onlyFor(c.Session, "channel-group", "Ethernet"); err != nil {
		return err
	}
	member := func(channel string) *gpb.Path {
		return interfacePath(channel, "aggregation", "members", tree.In("member", "interface", c.Session.Interface))
	}
	if !c.No {
		if _, err := resolveInterface(ctx, c.Session, "PortChannel"+c.Args["value"]); err != nil {
			return err // otherwise the Set would create the port channel
		}
		value := tree.ListEntry("tamtam-interfaces", map[string]any{"interface": c.Session.Interface}, nil)
		return c.Session.Client.Set(ctx, kit.Change{Path: member("PortChannel" + c.Args["value"]), Value: value})
	}
	found, err := c.Session.Client.Configured(ctx, tree.Path(kit.InterfacesRoot))
	if err != nil {
		return err
	}
	for _, i := range found.Items("interface") {
		for _, m := range i.Items("aggregation", "members", "member") {
			if m.Text("interface") == c.Session.Interface {
				return c.Session.Client.Set(ctx, kit.Change{Path: member(i.Name())})
			}
		}
	}
	return fmt.Errorf("%s is in no port channel", c.Session.Interface)
}

// setVLANMember returns the action that adds the interface to a VLAN, or removes it.
func setVLANMember(tagging string) func(context.Context, *kit.Call) error {
	return func(ctx context.Context, c *kit.Call) error {
		if err := onlyFor(c.Session, "switchport", "Ethernet", "PortChannel"); err != nil {
			return err
		}
		member := tree.In("member", "interface", c.Session.Interface)
		if !c.No {
			if _, err := c.Session.Existing(ctx, "VLAN "+c.Args["value"], vlanPath(c.Args["value"])); err != nil {
				return err // otherwise the Set would create the VLAN
			}
			keys, config := map[string]any{"interface": c.Session.Interface}, map[string]any{"tagging-mode": tagging}
			value := tree.ListEntry("tamtam-interfaces", keys, config)
			return c.Session.Client.Set(ctx, kit.Change{Path: vlanPath(c.Args["value"], "members", member), Value: value})
		}
		found, err := c.Session.Client.Configured(ctx, tree.Path(vlansRoot))
		if err != nil {
			return err
		}
		for _, v := range found.Items("vlan") {
			id := v.Text("vlan-id")
			for _, m := range v.Items("members", "member") {
				its := m.Text("config", "tagging-mode")
				if m.Text("interface") == c.Session.Interface && its == tagging &&
					(c.Args["value"] == "" || c.Args["value"] == id) {
					return c.Session.Client.Set(ctx, kit.Change{Path: vlanPath(id, "members", member)})
				}
			}
		}
		return fmt.Errorf("%s is in no such VLAN", c.Session.Interface)
	}
}
