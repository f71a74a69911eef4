package cli

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
	"tamtam/cli/vrf"
)

// ipVersion returns 4 or 6 for the family of an address or prefix, or 0 if text is neither.
func ipVersion(text string) int {
	addr, _, _ := strings.Cut(text, "/")
	switch a, err := netip.ParseAddr(addr); {
	case err != nil:
		return 0
	case a.Is4():
		return 4
	}
	return 6
}

// readRouting returns the parts of the routing data that a command shows.
func readRouting(ctx context.Context, c *kit.Call, parts ...tree.Part) (tree.Node, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(routingRoot))
	return found.Keep(parts...), err
}

// ofFamily returns the entries of a list of the routing data whose address or prefix has a family, or all if family is
// 0.
func ofFamily(family int, list ...string) tree.Part {
	return tree.Part{Path: list, Of: func(e tree.Node) bool {
		return family == 0 || ipVersion(cmp.Or(e.Text("prefix"), e.Text("address"))) == family
	}}
}

// addressesList is the path of the interfaces' addresses in the routing data.
var addressesList = []string{"interfaces", "interface", "addresses", "address"}

// byPrefix sorts entries by network, the shorter prefix first.
func byPrefix(entries []tree.Node) []tree.Node {
	slices.SortStableFunc(entries, func(a, b tree.Node) int {
		return comparePrefixes(a.Text("prefix"), b.Text("prefix"))
	})
	return entries
}

// nextHopText formats a next hop of a route as routers do.
func nextHopText(nextHop string) string {
	to, distance, _ := strings.Cut(nextHop, "#")
	addr, name, _ := strings.Cut(to, "@")
	switch {
	case to == "blackhole":
		return "blackhole"
	case addr == "":
		to = "is directly connected, " + name
	case name != "":
		to = "via " + addr + ", " + name
	default:
		to = "via " + addr
	}
	if distance != "" {
		to += ", distance " + distance
	}
	return to
}

// A routeLine is a displayed route.
type routeLine struct {
	prefix   netip.Prefix
	code     string
	nextHops []string
	status   string
	reason   string
}

// showRoutes shows the routes of the default VRF in a family: connected ones, static ones with their status, and those
// of a routing daemon.
func showRoutes(family int) func(context.Context, *kit.Call) (*kit.View, error) {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		routing, err := readRouting(ctx, c, tree.Part{Path: []string{"routes"}}, tree.Part{Path: []string{"static-routes"}},
			tree.Part{Path: []string{"interfaces", "interface"}, Of: func(i tree.Node) bool { return vrf.Of(i) == "default" }})
		if err != nil {
			return nil, err
		}
		routing = routing.Keep(ofFamily(family, "routes", "route"), ofFamily(family, "static-routes", "route"),
			ofFamily(family, addressesList...))
		lacking := readUnprogrammed(ctx, c)
		lines := routeLines(routing, lacking)
		data := kit.One(routingRoot, withStatuses(routing, lacking))
		text := func(p *kit.Printout) {
			p.Line("Codes: C - connected, S - static, R - of a routing daemon, > - in the ASIC, ? - unknown whether it is")
			for _, l := range lines {
				mark := " "
				switch l.status {
				case "active":
					mark = ">"
				case "": // no daemon has reported the route yet
					mark = "?"
				}
				head := l.code + mark + " " + l.prefix.String()
				for _, w := range l.nextHops {
					p.Line("%s %s", head, w)
					head = strings.Repeat(" ", len(head))
				}
				if l.reason != "" {
					p.Line("     %s: %s", l.status, l.reason)
				}
			}
		}
		return kit.NewView(data, text), nil
	}
}

// unprogrammed contains the routes of a routing daemon that are not in the ASIC.
type unprogrammed struct {
	rows  map[string]any // rows of STATE_DB, by key of ROUTE_TABLE
	known bool           // whether all other routes are in the ASIC
}

// readUnprogrammed reads the routes of a routing daemon that are not in the ASIC. orchagent lists them. While it is not
// ready, or its list is incomplete, the state of the other routes is unknown.
func readUnprogrammed(ctx context.Context, c *kit.Call) (u unprogrammed) {
	read := func(names ...any) (map[string]any, error) {
		path := tree.Path(append([]any{"STATE_DB", "localhost"}, names...)...)
		path.Origin = "sonic-db"
		found, err := c.Session.Client.All(ctx, path)
		row, _ := found.Value.(map[string]any)
		return row, err
	}
	health, healthErr := read("TAMTAM_HEALTH", "orchagent")
	rows, err := read("ROUTE_TABLE")
	_, more := rows["more"]
	u.rows = rows
	u.known = healthErr == nil && err == nil && !more && health["state"] == "ready"
	return u
}

// status returns the status of a route by its key in ROUTE_TABLE, and the reason. The status is "" if it is unknown.
func (u unprogrammed) status(key string) (status, reason string) {
	row, listed := u.rows[key].(map[string]any)
	switch {
	case listed:
		status, _ = row["status"].(string)
		reason, _ = row["reason"].(string)
	case u.known:
		status = "active"
	}
	return status, reason
}

// withStatuses returns routing data in which the routes of a routing daemon have their status, if it is known, and the
// reason.
func withStatuses(routing tree.Node, lacking unprogrammed) tree.Node {
	static := map[string]bool{}
	for _, r := range routing.Items("static-routes", "route") {
		static[r.Text("prefix")] = true
	}
	for _, r := range routing.Items("routes", "route") {
		state, found := r.At("state").Value.(map[string]any)
		if !found || static[wholePrefix(r.Text("prefix"))] {
			continue
		}
		status, reason := lacking.status(r.Text("prefix"))
		for name, value := range map[string]string{"status": status, "reason": reason} {
			if value != "" {
				state[name] = value
			}
		}
	}
	return routing
}

// wholePrefix returns a prefix of ROUTE_TABLE with its length.
func wholePrefix(prefix string) string {
	if strings.Contains(prefix, "/") {
		return prefix
	}
	return prefix + map[int]string{4: "/32", 6: "/128"}[ipVersion(prefix)]
}

func routeLines(routing tree.Node, lacking unprogrammed) []routeLine {
	var lines []routeLine
	line := func(prefix, code string, nextHops []string, status, reason string) {
		if p, err := netip.ParsePrefix(prefix); err == nil && len(nextHops) > 0 {
			lines = append(lines, routeLine{p.Masked(), code, nextHops, status, reason})
		}
	}
	add := func(prefix, code string, nextHops []string, state tree.Node) {
		line(prefix, code, nextHops, state.Word("status"), state.Text("reason"))
	}
	for _, i := range routing.Sorted("interfaces", "interface") {
		for _, a := range i.Items("addresses", "address") {
			add(a.Text("prefix"), "C", []string{"is directly connected, " + i.Name()}, a.At("state"))
		}
	}
	forwarded := map[string]tree.Node{}
	for _, r := range routing.Items("routes", "route") {
		forwarded[wholePrefix(r.Text("prefix"))] = r
	}
	nextHops := func(t tree.Node) (out []string) {
		for _, w := range t.Texts("next-hop") {
			out = append(out, nextHopText(w))
		}
		return out
	}
	for _, r := range routing.Items("static-routes", "route") {
		prefix := r.Text("prefix")
		to := nextHops(forwarded[prefix].At("state"))
		if to == nil {
			to = nextHops(r.At("config"))
		}
		delete(forwarded, prefix)
		add(prefix, "S", to, r.At("state"))
	}
	for prefix, r := range forwarded {
		code := "R"
		if r.Text("state", "protocol") == "static" {
			code = "S"
		}
		status, reason := lacking.status(r.Text("prefix"))
		line(prefix, code, nextHops(r.At("state")), status, reason)
	}
	slices.SortFunc(lines, func(a, b routeLine) int {
		if c := a.prefix.Compare(b.prefix); c != 0 {
			return c
		}
		return strings.Compare(a.code+strings.Join(a.nextHops, ","), b.code+strings.Join(b.nextHops, ","))
	})
	return lines
}

func showIPInterfaces(family int) func(context.Context, *kit.Call) (*kit.View, error) {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		routing, err := readRouting(ctx, c, ofFamily(family, addressesList...),
			tree.Part{Path: []string{"interfaces", "interface", "state"}, Of: kit.Inactive})
		if err != nil {
			return nil, err
		}
		data := kit.One(routingRoot, routing)
		var rows [][]string
		var why []string
		for _, i := range routing.Sorted("interfaces", "interface") {
			why = append(why, kit.WhyNotLine(i.Name(), i.At("state"))...)
			for _, a := range byPrefix(i.Items("addresses", "address")) {
				prefix := a.Text("prefix")
				rows = append(rows, []string{i.Name(), prefix, kit.OrDash(a.Text("state", "status"))})
				if !kit.Inactive(i.At("state")) {
					why = append(why, kit.WhyNotLine(i.Name()+" "+prefix, a.At("state"))...)
				}
			}
		}
		return kit.TableView(data, []kit.Column{kit.Col("Interface", 14, 2), kit.Col("Address", 18, 2),
			kit.Col("Status", 8, 0)}, rows, why), nil
	}
}

func showNeighbors(family int) func(context.Context, *kit.Call) (*kit.View, error) {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		routing, err := readRouting(ctx, c, ofFamily(family, "neighbors", "neighbor"),
			ofFamily(family, "host-neighbors", "neighbor"))
		if err != nil {
			return nil, err
		}
		data := kit.One(routingRoot, routing)
		var rows [][]string
		var why []string
		for _, n := range routing.SortedBy("interface", "neighbors", "neighbor") {
			address := n.Text("address")
			mac, status := kit.OrDash(kit.Configured(n, "mac-address")), kit.OrDash(n.Text("state", "status"))
			rows = append(rows, []string{address, mac, n.Text("interface"), "Static", status, "-"})
			why = append(why, kit.WhyNotLine(address, n.At("state"))...)
		}
		for _, n := range routing.SortedBy("interface", "host-neighbors", "neighbor") {
			rows = append(rows, []string{
				n.Text("address"), kit.OrDash(n.Text("state", "mac-address")), n.Text("interface"), "Dynamic",
				kit.OrDash(strings.ToLower(n.Word("state", "neighbor-state"))), kit.OrDash(n.Text("state", "confirmed")),
			})
		}
		columns := []kit.Column{
			kit.Col("Address", 16, 2), kit.Col("MacAddress", 17, 2), kit.Col("Iface", 12, 2), kit.Col("Type", 7, 2),
			kit.Col("Status", 10, 2),
			kit.Col("Confirmed", 20, 0),
		}
		return kit.TableView(data, columns, rows, why), nil
	}
}

func showMACs(ctx context.Context, c *kit.Call) (*kit.View, error) {
	fdb, err := c.Session.Client.All(ctx, tree.Path(fdbRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range fdb.SortedBy("vlan-id", "entries", "entry") {
		kind, port := kit.Title(e.Word("state", "entry-type")), e.Text("state", "port")
		rows = append(rows, []string{e.Text("vlan-id"), e.Text("mac-address"), kind, port})
	}
	var why []string
	for _, e := range fdb.SortedBy("vlan-id", "static-entries", "entry") {
		why = append(why, kit.WhyNotLine("Vlan"+e.Text("vlan-id")+" "+e.Text("mac-address"), e.At("state"))...)
	}
	columns := []kit.Column{kit.Col("Vlan", 4, 2), kit.Col("MacAddress", 17, 2), kit.Col("Type", 7, 2),
		kit.Col("Port", 12, 0)}
	return kit.TableView(kit.One(fdbRoot, fdb), columns, rows, why), nil
}

func familyWord(text string) string {
	if ipVersion(text) == 4 {
		return "ip"
	}
	return "ipv6"
}
