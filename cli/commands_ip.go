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
)

// Roots of the tree.
const (
	routingModule = "tamtam-routing"
	routingRoot   = routingModule + ":routing"
	fdbRoot       = routingModule + ":fdb"
)

// ipWords has what differs between the commands of the two families.
var ipWords = map[string]struct{ family, address, prefix, neighbor string }{
	"ip":   {"ip", "<A.B.C.D>", "<A.B.C.D/length>", "arp"},
	"ipv6": {"ipv6", "<X:X::X>", "<X:X::X/length>", "neighbor"},
}

func ipCommands() []*command {
	var out []*command
	for _, family := range []string{"ip", "ipv6"} {
		out = append(out, familyCommands(family)...)
	}
	var (
		mac   = &argKind{label: "<XX:XX:XX:XX:XX:XX>", parse: parseMAC}
		vlan  = number(1, 4094)
		iface = &argKind{label: "<EthernetN | PortChannelN>", parse: parseName, live: liveInterfaces}
		table = []element{kw("mac", "Ethernet addresses"), kw("address-table", "Where addresses are")}
	)
	entry := append(slices.Clone(table), arg("mac", mac, "Address"), kw("Vlan", "Its VLAN"), arg("vlan", vlan, "Number"))
	return append(out,
		same(inConfig, setLoopback, "interface", kw("Loopback", "Addresses of the switch itself"),
			arg("name", number(0, 9999), "Number")),
		&command{
			modes: inConfig, do: setStaticMAC,
			form: form{fixed: append(slices.Clone(entry), kw("interface", "Behind this port"), arg("interface", iface, "Name"))},
			no:   &form{fixed: entry},
		},
		agingTime.single(inConfig, func(*call) (*gpb.Path, error) { return gpath(fdbRoot), nil }, table...))
}

func familyCommands(family string) []*command {
	w := ipWords[family]
	var (
		addr     = &argKind{label: w.address, parse: parseName6}
		prefix   = &argKind{label: w.prefix, parse: parseName6}
		routed   = &argKind{label: "<EthernetN | PortChannelN | VlanN>", parse: parseRouted}
		mac      = &argKind{label: "<XX:XX:XX:XX:XX:XX>", parse: parseMAC}
		ip       = kw(family, "Internet protocol")
		route    = kw("route", "Where packets go")
		neighbor = kw(w.neighbor, "Who is on the link")
		to       = arg("prefix", prefix, "Where it leads")
		metric   = opt(kw("distance", "The smallest is taken; default 0"), arg("distance", number(0, 255), "Distance"))
		by       = kw("interface", "Out of this interface")
		through  = arg("interface", routed, "Name")

		blackhole = kw("blackhole", "Nowhere")
	)
	return []*command{
		{
			modes: inConfig, do: setRoute,
			form: seq(ip, route, to, arg("next-hop", addr, "The router that is next"), opt(by, through), metric),
			no: noForm(ip, route, to, opt(arg("next-hop", addr, "Only this way, not the whole route")), opt(by, through),
				opt(blackhole), metric),
		},
		{modes: inConfig, do: setRoute, form: seq(ip, route, to, by, through, metric)},
		{modes: inConfig, do: setRoute, form: seq(ip, route, to, blackhole, metric)},
		same(inInterface, setAddress, ip, kw("address", "Address of the interface"),
			arg("prefix", prefix, "Address and length of its subnet")),
		{
			modes: inInterface, do: setNeighbor, no: noForm(ip, neighbor, arg("address", addr, "Address")),
			form: seq(ip, neighbor, arg("address", addr, "Address"), arg("mac", mac, "Its address on the link")),
		},
	}
}

// parseName6 takes an address or prefix; the switch says what is wrong with it.
func parseName6(text string) (string, error) {
	if text == "" || strings.ContainsAny(text, " |,") || !strings.ContainsAny(text, ".:") {
		return "", fmt.Errorf("%q is no address", text)
	}
	return text, nil
}

var routedName = regexp.MustCompile(`(?i)^(Ethernet|PortChannel|Vlan|Loopback)([0-9]{1,4})$`)

// parseRouted is SONiC's name of an interface that may route.
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
	return gpath(append([]any{routingRoot, "interfaces", keyed{"interface", "name", name}}, below...)...)
}

func setLoopback(ctx context.Context, c *call) error {
	name := "Loopback" + c.args["name"]
	if c.no {
		return c.sh.removeEntry(ctx, "interface "+name, routedPath(name))
	}
	loopback := listed(routingModule, map[string]any{"name": name}, nil)
	if err := c.sh.client.set(ctx, change{path: routedPath(name), value: loopback}); err != nil {
		return err
	}
	c.sh.mode, c.sh.iface = modeInterface, name
	return nil
}

// existing returns what is configured at a path; an error if nothing is.
func (s *Shell) existing(ctx context.Context, what string, path *gpb.Path) (tree, error) {
	found, err := s.client.config(ctx, path)
	if err != nil {
		return tree{}, err
	}
	if !found.exists() {
		return tree{}, fmt.Errorf("%s does not exist", what)
	}
	return found, nil
}

// removeEntry deletes an entry; it is an error if there is none.
func (s *Shell) removeEntry(ctx context.Context, what string, path *gpb.Path) error {
	if _, err := s.existing(ctx, what, path); err != nil {
		return err
	}
	return s.client.set(ctx, change{path: path})
}

// setAddress gives the interface an address, and makes it one that routes. With
// its last address it no longer does, as in SONiC.
func setAddress(ctx context.Context, c *call) error {
	prefix := c.args["prefix"]
	path := routedPath(c.sh.iface, "addresses", keyed{"address", "prefix", prefix})
	if !c.no {
		return c.sh.client.set(ctx, change{path: path, value: listed(routingModule, map[string]any{"prefix": prefix}, nil)})
	}
	found, err := c.sh.client.config(ctx, routedPath(c.sh.iface))
	if err != nil {
		return err
	}
	all := found.items("addresses", "address")
	if !slices.ContainsFunc(all, func(a tree) bool { return a.text("prefix") == prefix }) {
		return fmt.Errorf("%s has no address %s", c.sh.iface, prefix)
	}
	own := config(found, "mtu") + config(found, "mac-address") // what else the interface has
	if len(all) == 1 && !strings.HasPrefix(c.sh.iface, "Loopback") && own == "" {
		path = routedPath(c.sh.iface)
	}
	return c.sh.client.set(ctx, change{path: path})
}

func setNeighbor(ctx context.Context, c *call) error {
	path := gpath(routingRoot, "neighbors", keyed2{"neighbor", "interface", c.sh.iface, "address", c.args["address"]})
	if c.no {
		return c.sh.removeEntry(ctx, "neighbor "+c.args["address"]+" on "+c.sh.iface, path)
	}
	keys := map[string]any{"interface": c.sh.iface, "address": c.args["address"]}
	value := listed(routingModule, keys, map[string]any{"mac-address": c.args["mac"]})
	return c.sh.client.set(ctx, change{path: path, value: value})
}

func routePath(prefix string, below ...any) *gpb.Path {
	return gpath(append([]any{routingRoot, "static-routes", keyed{"route", "prefix", prefix}}, below...)...)
}

// setRoute adds a way to a route, or removes the route, or one of its ways.
func setRoute(ctx context.Context, c *call) error {
	prefix := c.args["prefix"]
	path := routePath(prefix)
	way := c.args["next-hop"]
	if name := c.args["interface"]; name != "" {
		way += "@" + name
	}
	if c.has("blackhole") {
		way += "blackhole"
	}
	if c.no && way == "" {
		return c.sh.removeEntry(ctx, "route "+prefix, path)
	}
	if c.no {
		return c.sh.removeWay(ctx, prefix, way, c.args["distance"])
	}
	if d := c.args["distance"]; d != "" && d != "0" {
		way += "#" + d
	}
	config := map[string]any{"next-hop": []string{way}}
	return c.sh.client.set(ctx, change{path: path, value: listed(routingModule, map[string]any{"prefix": prefix}, config)})
}

// removeWay takes one way from a route, of any distance or of the one that is given. With its last way the route goes.
func (s *Shell) removeWay(ctx context.Context, prefix, way, distance string) error {
	found, err := s.existing(ctx, "route "+prefix, routePath(prefix))
	if err != nil {
		return err
	}
	all := found.texts("config", "next-hop")
	var gone []change
	for _, w := range all {
		to, of, _ := strings.Cut(w, "#")
		if to == way && (distance == "" || cmp.Or(of, "0") == distance) {
			gone = append(gone, change{path: routePath(prefix, "config", keyed{"next-hop", ".", w})})
		}
	}
	switch len(gone) {
	case 0:
		return fmt.Errorf("route %s has no way %s: it has %s", prefix, way, strings.Join(all, ", "))
	case len(all):
		gone = []change{{path: routePath(prefix)}}
	}
	return s.client.set(ctx, gone...)
}

func setStaticMAC(ctx context.Context, c *call) error {
	vlan, err := strconv.ParseUint(c.args["vlan"], 10, 16)
	if err != nil {
		return err
	}
	path := gpath(fdbRoot, "static-entries", keyed2{"entry", "vlan-id", c.args["vlan"], "mac-address", c.args["mac"]})
	if c.no {
		return c.sh.removeEntry(ctx, "address "+c.args["mac"]+" in Vlan"+c.args["vlan"], path)
	}
	port, err := c.sh.resolve(ctx, c.args["interface"])
	if err != nil {
		return err
	}
	keys := map[string]any{"vlan-id": vlan, "mac-address": c.args["mac"]}
	return c.sh.client.set(ctx, change{path: path, value: listed(routingModule, keys, map[string]any{"port": port})})
}

// agingTime is the one leaf of the table of addresses.
var agingTime = leaf{
	word: "aging-time", help: "After which a learned address goes", kind: number(0, 1000000), value: "Seconds; 0: never",
	def: "600",
}
