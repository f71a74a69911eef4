package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

func interfaceCommands() []*command {
	var (
		iface = &argKind{label: "<EthernetN | PortChannelN | alias>", parse: parseName, live: liveInterfaces}
		port  = &argKind{label: "<EthernetN | alias>", parse: parseName, live: liveInterfaces}
		vlan  = number(1, 4094)
		num   = number(0, 9999)
	)
	out := []*command{
		{modes: inConfig, form: seq("interface", arg("name", iface, "Name")), do: enterInterface("")},
		{modes: inConfig, form: seq("interface Ethernet", arg("name", num, "Number")), do: enterInterface("Ethernet")},
		same(inConfig, enterInterface("PortChannel"), "interface PortChannel", arg("name", num, "Number")),
		same(inConfig, enterInterface("Vlan"), "interface Vlan", arg("name", vlan, "Number")),
		{
			modes: inConfig, do: setBreakout,
			form: seq("interface breakout port", arg("port", port, "The cage's first port"),
				"mode", arg("mode", breakoutMode, "Such as 1x100G, 2x50G, 4x25G")),
			no: noForm("interface breakout port", arg("port", port, "The cage's first port")),
		},
		same(inInterface, attachFlowGroup, "flow-group", arg("name", groupName, "Name of the flow group")),
		{
			modes: inInterface, do: setChannelGroup,
			form: seq(kw("channel-group", "Join a port channel"), arg("value", num, "Number of the port channel")),
			no:   noForm(kw("channel-group", "Leave the port channel")),
		},
		{
			modes: inInterface, do: setVLANMember("UNTAGGED"),
			form: seq("switchport", kw("access", "Frames without tag"), "Vlan", arg("value", vlan, "Number")),
			no:   noForm("switchport", kw("access", "Frames without tag"), "Vlan", opt(arg("value", vlan, "Number"))),
		},
		same(inInterface, setVLANMember("TAGGED"), "switchport", kw("trunk", "Frames with tag"),
			kw("allowed", "These may pass"), "Vlan", arg("value", vlan, "Number")),
	}
	for _, l := range interfaceLeaves {
		out = append(out, l.single(inInterface, func(c *call) (*gpb.Path, error) {
			return interfacePath(c.sh.iface), c.sh.only(l.word, "Ethernet", "PortChannel")
		}))
	}
	for _, l := range channelLeaves {
		out = append(out, l.single(inInterface, func(c *call) (*gpb.Path, error) {
			return interfacePath(c.sh.iface, l.box), c.sh.only(l.word, "PortChannel")
		}))
	}
	return out
}

// channelLeaves are those of a port channel alone.
var channelLeaves = []leaf{
	{
		word: "static", help: "No LACP: each member that is up carries traffic", undo: "LACP says which members do",
		name: "lag-type", box: "aggregation", means: "STATIC", def: "LACP",
	},
	{
		word: "min-links", help: "How many members must carry traffic for it to be up", undo: "Back to 1",
		kind: number(1, 1024), value: "Members", box: "aggregation",
	},
	{
		word: "fast-rate", help: "LACP: the partner is to speak every second, not every 30", undo: "Back to every 30 seconds",
		name: "interval", box: "aggregation", means: "FAST", def: "SLOW",
	},
	{
		word: "fallback", help: "LACP: one member carries traffic while no partner is heard", undo: "None does then",
		box: "aggregation", def: "false",
	},
}

// interfaceLeaves are those of a port or port channel.
var interfaceLeaves = []leaf{
	{
		word: "description", help: "Words of the user", value: "Text, in quotes when it holds blanks",
		kind: &argKind{label: "<text>", parse: parseDescription},
	},
	{
		word: "mtu", help: "Largest frame without Ethernet header and FCS", undo: "Back to 9100",
		kind: number(68, 9216), value: "Octets",
	},
	{word: "shutdown", help: "Disable the interface", undo: "Enable the interface", name: "enabled", inverse: true},
}

func parseDescription(text string) (string, error) {
	if text == "" || len(text) > 255 {
		return "", fmt.Errorf("a description has 1 to 255 octets, not %d", len(text))
	}
	return text, nil
}

func interfacePath(name string, below ...any) *gpb.Path {
	return gpath(append([]any{interfacesRoot, keyed{"interface", "name", name}}, below...)...)
}

func vlanPath(id string, below ...any) *gpb.Path {
	return gpath(append([]any{vlansRoot, keyed{"vlan", "vlan-id", id}}, below...)...)
}

var interfaceName = regexp.MustCompile(`(?i)^(Ethernet|PortChannel)([0-9]{1,4})$`)

// resolve returns SONiC's name of an interface that may be written as its alias or in a different
// case.
func (s *Shell) resolve(ctx context.Context, text string) (string, error) {
	if m := interfaceName.FindStringSubmatch(text); m != nil {
		kind := "Ethernet"
		if strings.EqualFold(m[1], "PortChannel") {
			kind = "PortChannel"
		}
		found, err := s.client.config(ctx, interfacePath(kind+m[2], "config"))
		if err != nil || found.exists() {
			return kind + m[2], err
		}
		return "", fmt.Errorf("interface %s does not exist", kind+m[2])
	}
	found, err := s.client.all(ctx, gpath(interfacesRoot))
	if err != nil {
		return "", err
	}
	for _, i := range found.items("interface") {
		if strings.EqualFold(i.text("state", "alias"), text) {
			return i.name(), nil
		}
	}
	return "", fmt.Errorf("no interface has the name or alias %s", text)
}

// enterInterface goes to an interface. Port channels and VLANs are created if they do not exist.
func enterInterface(kind string) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		name := kind + c.args["name"]
		path, made := interfacePath(name), listed("openconfig-interfaces", map[string]any{"name": name}, nil)
		if kind == "Vlan" {
			vlan := map[string]any{"vlan-id": json.Number(c.args["name"])}
			path, made = vlanPath(c.args["name"]), listed("tamtam-interfaces", vlan, nil)
		}
		switch {
		case c.no:
			return c.sh.removeEntry(ctx, "interface "+name, path)
		case kind == "PortChannel", kind == "Vlan":
			if err := c.sh.client.set(ctx, change{path: path, value: made}); err != nil {
				return err
			}
		default:
			var err error
			if name, err = c.sh.resolve(ctx, name); err != nil {
				return err
			}
		}
		c.sh.mode, c.sh.iface = modeInterface, name
		return nil
	}
}

// only refuses a command on a kind of interface that it does not apply to.
func (s *Shell) only(what string, kinds ...string) error {
	if !slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(s.iface, k) }) {
		return fmt.Errorf("%s has no %s: it is for %s", s.iface, what, strings.Join(kinds, " and "))
	}
	return nil
}

// attachFlowGroup adds the interface to those of a flow group or removes it.
func attachFlowGroup(ctx context.Context, c *call) error {
	if err := c.sh.only("flow-group", "Ethernet", "PortChannel"); err != nil {
		return err
	}
	name := c.args["name"]
	group, err := c.sh.existing(ctx, "flow group "+name, flowGroups.path(name))
	if err != nil {
		return err
	}
	if !c.no {
		return c.sh.client.set(ctx, change{path: flowGroups.path(name, "config", "interfaces"), value: []string{c.sh.iface}})
	}
	attached := group.texts("config", "interfaces")
	if !slices.Contains(attached, c.sh.iface) {
		return fmt.Errorf("flow group %s is not attached to %s", name, c.sh.iface)
	}
	one := flowGroups.path(name, "config", keyed{"interfaces", ".", c.sh.iface})
	if err := c.sh.client.set(ctx, change{path: one}); err != nil {
		return err
	}
	if len(attached) == 1 {
		c.sh.warn("flow group %s is attached to no interface now: it matches on all of them", name)
	}
	return nil
}

// setBreakout splits the cage of a port, or makes it one port again.
func setBreakout(ctx context.Context, c *call) error {
	port, err := c.sh.resolve(ctx, c.args["port"])
	if err != nil {
		return err
	}
	path := interfacePath(port, "breakout-mode", "groups", keyed{"group", "index", "1"})
	if c.no {
		return c.sh.client.set(ctx, change{path: path})
	}
	count, speed, _ := strings.Cut(c.args["mode"], "x")
	config := map[string]any{"num-breakouts": json.Number(count), "breakout-speed": "SPEED_" + speed + "B"}
	return c.sh.client.set(ctx, change{path: path, value: listed("tamtam-interfaces", map[string]any{"index": 1}, config)})
}

// setChannelGroup makes the port a member of a port channel or of none.
func setChannelGroup(ctx context.Context, c *call) error {
	if err := c.sh.only("channel-group", "Ethernet"); err != nil {
		return err
	}
	member := func(channel string) *gpb.Path {
		return interfacePath(channel, "aggregation", "members", keyed{"member", "interface", c.sh.iface})
	}
	if !c.no {
		if _, err := c.sh.resolve(ctx, "PortChannel"+c.args["value"]); err != nil {
			return err // a Set would create the port channel
		}
		value := listed("tamtam-interfaces", map[string]any{"interface": c.sh.iface}, nil)
		return c.sh.client.set(ctx, change{path: member("PortChannel" + c.args["value"]), value: value})
	}
	found, err := c.sh.client.config(ctx, gpath(interfacesRoot))
	if err != nil {
		return err
	}
	for _, i := range found.items("interface") {
		for _, m := range i.items("aggregation", "members", "member") {
			if m.text("interface") == c.sh.iface {
				return c.sh.client.set(ctx, change{path: member(i.name())})
			}
		}
	}
	return fmt.Errorf("%s is in no port channel", c.sh.iface)
}

// setVLANMember puts the interface into a VLAN or takes it out.
func setVLANMember(tagging string) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		if err := c.sh.only("switchport", "Ethernet", "PortChannel"); err != nil {
			return err
		}
		member := keyed{"member", "interface", c.sh.iface}
		if !c.no {
			if _, err := c.sh.existing(ctx, "VLAN "+c.args["value"], vlanPath(c.args["value"])); err != nil {
				return err // a Set would create it
			}
			keys, config := map[string]any{"interface": c.sh.iface}, map[string]any{"tagging-mode": tagging}
			value := listed("tamtam-interfaces", keys, config)
			return c.sh.client.set(ctx, change{path: vlanPath(c.args["value"], "members", member), value: value})
		}
		found, err := c.sh.client.config(ctx, gpath(vlansRoot))
		if err != nil {
			return err
		}
		for _, v := range found.items("vlan") {
			id := v.text("vlan-id")
			for _, m := range v.items("members", "member") {
				its := m.text("config", "tagging-mode")
				if m.text("interface") == c.sh.iface && its == tagging && (c.args["value"] == "" || c.args["value"] == id) {
					return c.sh.client.set(ctx, change{path: vlanPath(id, "members", member)})
				}
			}
		}
		return fmt.Errorf("%s is in no such VLAN", c.sh.iface)
	}
}
