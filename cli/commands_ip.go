package cli

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Roots of the paths in the tree that commands use.
const (
	routingModule = "tamtam-routing"
	routingRoot   = routingModule + ":routing"
	fdbRoot       = routingModule + ":fdb"
)

// ipWords contains the words that differ between the commands of IPv4 and IPv6.
var ipWords = map[string]struct{ family, address, prefix, neighbor string }{
	"ip":   {"ip", "<A.B.C.D>", "<A.B.C.D/length>", "arp"},
	"ipv6": {"ipv6", "<X:X::X>", "<X:X::X/length>", "neighbor"},
}

func ipCommands() []*kit.Command {
	var out []*kit.Command
	for _, family := range []string{"ip", "ipv6"} {
		out = append(out, familyCommands(family)...)
	}
	var (
		mac   = &kit.Kind{Label: "<XX:XX:XX:XX:XX:XX>", Parse: kit.ParseMAC}
		vlan  = kit.Number(1, 4094)
		iface = &kit.Kind{Label: "<EthernetN | PortChannelN>", Parse: kit.ParseName, Live: kit.LiveInterfaces}
		table = []kit.Element{kit.Keyword("mac", "Ethernet addresses"), kit.Keyword("address-table", "Where addresses are")}
	)
	entry := append(slices.Clone(table), kit.Arg("mac", mac, "Address"), kit.Keyword("Vlan", "Its VLAN"),
		kit.Arg("vlan", vlan, "Number"))
	return append(out,
		kit.Same(kit.InConfig, setLoopback, "interface", kit.Keyword("Loopback", "Addresses of the switch itself"),
			kit.Arg("name", kit.Number(0, 9999), "Number")),
		&kit.Command{
			Modes: kit.InConfig, Do: setStaticMAC,
			Form: kit.Form{Fixed: append(slices.Clone(entry), kit.Keyword("interface", "Behind this port"),
				kit.Arg("interface", iface, "Name"))},
			No: &kit.Form{Fixed: entry},
		},
		agingTime.Single(kit.InConfig, func(*kit.Call) (*gpb.Path, error) { return tree.Path(fdbRoot), nil }, table...))
}

func familyCommands(family string) []*kit.Command {
	w := ipWords[family]
	var (
		addr     = &kit.Kind{Label: w.address, Parse: parseName6}
		prefix   = &kit.Kind{Label: w.prefix, Parse: parseName6}
		routed   = &kit.Kind{Label: "<EthernetN | PortChannelN | VlanN>", Parse: parseRouted}
		mac      = &kit.Kind{Label: "<XX:XX:XX:XX:XX:XX>", Parse: kit.ParseMAC}
		ip       = kit.Keyword(family, "Internet protocol")
		route    = kit.Keyword("route", "Where packets go")
		neighbor = kit.Keyword(w.neighbor, "Who is on the link")
		to       = kit.Arg("prefix", prefix, "Where it leads")
		metric   = kit.Opt(kit.Keyword("distance", "The smallest is taken; default 0"),
			kit.Arg("distance", kit.Number(0, 255), "Distance"))
		by      = kit.Keyword("interface", "Out of this interface")
		through = kit.Arg("interface", routed, "Name")

		blackhole = kit.Keyword("blackhole", "Nowhere")
	)
	return []*kit.Command{
		{
			Modes: kit.InConfig, Do: setRoute,
			Form: kit.Seq(ip, route, to, kit.Arg("next-hop", addr, "The router that is next"), kit.Opt(by, through), metric),
			No: kit.NoForm(ip, route, to, kit.Opt(kit.Arg("next-hop", addr, "Only this way, not the whole route")),
				kit.Opt(by, through),
				kit.Opt(blackhole), metric),
		},
		{Modes: kit.InConfig, Do: setRoute, Form: kit.Seq(ip, route, to, by, through, metric)},
		{Modes: kit.InConfig, Do: setRoute, Form: kit.Seq(ip, route, to, blackhole, metric)},
		kit.Same(kit.InInterface, setAddress, ip, kit.Keyword("address", "Address of the interface"),
			kit.Arg("prefix", prefix, "Address and length of its subnet")),
		{
			Modes: kit.InInterface, Do: setNeighbor, No: kit.NoForm(ip, neighbor, kit.Arg("address", addr, "Address")),
			Form: kit.Seq(ip, neighbor, kit.Arg("address", addr, "Address"), kit.Arg("mac", mac, "Its address on the link")),
		},
	}
}

// parseName6 accepts anything like an address or prefix. The switch checks it.
func parseName6(text string) (string, error) {
	if text == "" || strings.ContainsAny(text, " |,") || !strings.ContainsAny(text, ".:") {
		return "", fmt.Errorf("%q is no address", text)
	}
	return text, nil
}

var routedName = regexp.MustCompile(`(?i)^(Ethernet|PortChannel|Vlan|Loopback)([0-9]{1,4})$`)

// parseRouted returns SONiC's name of an interface that can route.
func parseRouted(text string) (string, error) {
	m := routedName.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%q is no EthernetN, PortChannelN, VlanN or LoopbackN", text)
	}
	for _, kind := range []string{"Ethernet", "PortChannel", "Vlan", "Loopback"} {
		if strings.EqualFold(kind, m[1]) {
			return kind + m[2], nil
		}
	}
	return "", nil
}

func routedPath(name string, below ...any) *gpb.Path {
	return tree.Path(append([]any{routingRoot, "interfaces", tree.In("interface", "name", name)}, below...)...)
}

func setLoopback(ctx context.Context, c *kit.Call) error {
	name := "Loopback" + c.Args["name"]
	if c.No {
		return c.Session.RemoveEntry(ctx, "interface "+name, routedPath(name))
	}
	loopback := tree.ListEntry(routingModule, map[string]any{"name": name}, nil)
	if err := c.Session.Client.Set(ctx, kit.Change{Path: routedPath(name), Value: loopback}); err != nil {
		return err
	}
	c.Session.Mode, c.Session.Interface = kit.ModeInterface, name
	return nil
}

// setAddress adds an address to the interface, which makes it a routed interface. When its last address is removed, the
// interface stops routing, as in SONiC.
func setAddress(ctx context.Context, c *kit.Call) error {
	prefix := c.Args["prefix"]
	path := routedPath(c.Session.Interface, "addresses", tree.In("address", "prefix", prefix))
	if !c.No {
		return c.Session.Client.Set(ctx, kit.Change{Path: path,
			Value: tree.ListEntry(routingModule, map[string]any{"prefix": prefix}, nil)})
	}
	found, err := c.Session.Client.Configured(ctx, routedPath(c.Session.Interface))
	if err != nil {
		return err
	}
	all := found.Items("addresses", "address")
	if !slices.ContainsFunc(all, func(a tree.Node) bool { return a.Text("prefix") == prefix }) {
		return fmt.Errorf("%s has no address %s", c.Session.Interface, prefix)
	}
	// Other settings of the interface.
	own := kit.Configured(found, "mtu") + kit.Configured(found, "mac-address") + kit.Configured(found, "vrf")
	if len(all) == 1 && !strings.HasPrefix(c.Session.Interface, "Loopback") && own == "" {
		path = routedPath(c.Session.Interface)
	}
	return c.Session.Client.Set(ctx, kit.Change{Path: path})
}

func setNeighbor(ctx context.Context, c *kit.Call) error {
	path := tree.Path(routingRoot, "neighbors", tree.In2("neighbor", "interface", c.Session.Interface, "address",
		c.Args["address"]))
	if c.No {
		return c.Session.RemoveEntry(ctx, "neighbor "+c.Args["address"]+" on "+c.Session.Interface, path)
	}
	keys := map[string]any{"interface": c.Session.Interface, "address": c.Args["address"]}
	value := tree.ListEntry(routingModule, keys, map[string]any{"mac-address": c.Args["mac"]})
	return c.Session.Client.Set(ctx, kit.Change{Path: path, Value: value})
}

func routePath(prefix string, below ...any) *gpb.Path {
	return tree.Path(append([]any{routingRoot, "static-routes", tree.In("route", "prefix", prefix)}, below...)...)
}

// setRoute adds a next hop to a route, or removes the route or one of its next hops.
func setRoute(ctx context.Context, c *kit.Call) error {
	prefix := c.Args["prefix"]
	path := routePath(prefix)
	nextHop := c.Args["next-hop"]
	if name := c.Args["interface"]; name != "" {
		nextHop += "@" + name
	}
	if c.Has("blackhole") {
		nextHop += "blackhole"
	}
	if c.No && nextHop == "" {
		return c.Session.RemoveEntry(ctx, "route "+prefix, path)
	}
	if c.No {
		return removeNextHop(ctx, c.Session, prefix, nextHop, c.Args["distance"])
	}
	if d := c.Args["distance"]; d != "" && d != "0" {
		nextHop += "#" + d
	}
	config := map[string]any{"next-hop": []string{nextHop}}
	return c.Session.Client.Set(ctx, kit.Change{Path: path,
		Value: tree.ListEntry(routingModule, map[string]any{"prefix": prefix}, config)})
}

// removeNextHop removes one next hop from a route. A given distance must match too. With the last next hop, the route
// is removed.
func removeNextHop(ctx context.Context, s *kit.Session, prefix, nextHop, distance string) error {
	found, err := s.Existing(ctx, "route "+prefix, routePath(prefix))
	if err != nil {
		return err
	}
	all := found.Texts("config", "next-hop")
	var gone []kit.Change
	for _, w := range all {
		to, of, _ := strings.Cut(w, "#")
		if to == nextHop && (distance == "" || cmp.Or(of, "0") == distance) {
			gone = append(gone, kit.Change{Path: routePath(prefix, "config", tree.In("next-hop", ".", w))})
		}
	}
	switch len(gone) {
	case 0:
		return fmt.Errorf("route %s has no way %s: it has %s", prefix, nextHop, strings.Join(all, ", "))
	case len(all):
		gone = []kit.Change{{Path: routePath(prefix)}}
	}
	return s.Client.Set(ctx, gone...)
}

func setStaticMAC(ctx context.Context, c *kit.Call) error {
	vlan, err := strconv.ParseUint(c.Args["vlan"], 10, 16)
	if err != nil {
		return err
	}
	path := tree.Path(fdbRoot, "static-entries", tree.In2("entry", "vlan-id", c.Args["vlan"], "mac-address",
		c.Args["mac"]))
	if c.No {
		return c.Session.RemoveEntry(ctx, "address "+c.Args["mac"]+" in Vlan"+c.Args["vlan"], path)
	}
	port, err := resolveInterface(ctx, c.Session, c.Args["interface"])
	if err != nil {
		return err
	}
	keys := map[string]any{"vlan-id": vlan, "mac-address": c.Args["mac"]}
	return c.Session.Client.Set(ctx, kit.Change{Path: path,
		Value: tree.ListEntry(routingModule, keys, map[string]any{"port": port})})
}

// agingTime is the only leaf of the table of addresses.
var agingTime = kit.Leaf{
	Word: "aging-time", Help: "After which a learned address goes", Kind: kit.Number(0, 1000000),
	Value:   "Seconds; 0: never",
	Default: "600",
}
