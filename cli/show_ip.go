package cli

import (
	"context"
	"net/netip"
	"slices"
	"strings"
)

// ipVersion is 4 or 6: the family of an address or prefix; 0: it is neither.
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

func (c *call) routing(ctx context.Context) (tree, map[string]any, error) {
	found, err := c.sh.client.all(ctx, gpath(routingRoot))
	return found, one(routingRoot, found), err
}

// byPrefix orders entries by network, the shorter first.
func byPrefix(entries []tree) []tree {
	slices.SortStableFunc(entries, func(a, b tree) int {
		p, errP := netip.ParsePrefix(a.text("prefix"))
		q, errQ := netip.ParsePrefix(b.text("prefix"))
		if errP != nil || errQ != nil {
			return strings.Compare(a.text("prefix"), b.text("prefix"))
		}
		if c := p.Addr().Compare(q.Addr()); c != 0 {
			return c
		}
		return p.Bits() - q.Bits()
	})
	return entries
}

// wayText writes a next hop of a route as routers do.
func wayText(way string) string {
	to, distance, _ := strings.Cut(way, "#")
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

// A routeLine is one route of the table that is shown.
type routeLine struct {
	prefix netip.Prefix
	code   string
	ways   []string
	status string
	reason string
}

// showRoutes writes the routes of a family: connected ones, static ones with
// what became of them, and those of a routing daemon.
func showRoutes(family int) func(context.Context, *call) (*view, error) {
	return func(ctx context.Context, c *call) (*view, error) {
		routing, data, err := c.routing(ctx)
		if err != nil {
			return nil, err
		}
		lines := routeLines(routing, family, c.unprogrammed(ctx))
		text := func(p *printout) {
			p.line("Codes: C - connected, S - static, R - of a routing daemon, > - in the ASIC, ? - nobody says whether it is")
			for _, l := range lines {
				mark := " "
				switch l.status {
				case "active":
					mark = ">"
				case "": // no daemon has reported it, or not yet
					mark = "?"
				}
				head := l.code + mark + " " + l.prefix.String()
				for _, w := range l.ways {
					p.line("%s %s", head, w)
					head = strings.Repeat(" ", len(head))
				}
				if l.reason != "" {
					p.line("     %s: %s", l.status, l.reason)
				}
			}
		}
		return &view{data, text}, nil
	}
}

// unprogrammed are the routes of a routing daemon that are not in the ASIC.
type unprogrammed struct {
	rows  map[string]any // of STATE_DB, by key of ROUTE_TABLE
	known bool           // all others are in the ASIC
}

// unprogrammed reads the routes of a routing daemon that are not in the ASIC. orchagent lists them; while it is not
// ready, or lists only some of many, nothing is known of the others.
func (c *call) unprogrammed(ctx context.Context) (u unprogrammed) {
	read := func(names ...any) (map[string]any, error) {
		path := gpath(append([]any{"STATE_DB", "localhost"}, names...)...)
		path.Origin = "sonic-db"
		found, err := c.sh.client.all(ctx, path)
		row, _ := found.v.(map[string]any)
		return row, err
	}
	health, healthErr := read("TAMTAM_HEALTH", "orchagent")
	rows, err := read("ROUTE_TABLE")
	_, more := rows["more"]
	u.rows = rows
	u.known = healthErr == nil && err == nil && !more && health["state"] == "ready"
	return u
}

// status returns the status of a route by its key in ROUTE_TABLE, and the reason; "" if it is not known.
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

func routeLines(routing tree, family int, lacking unprogrammed) []routeLine {
	var lines []routeLine
	line := func(prefix, code string, ways []string, status, reason string) {
		if p, err := netip.ParsePrefix(prefix); err == nil && ipVersion(prefix) == family && len(ways) > 0 {
			lines = append(lines, routeLine{p.Masked(), code, ways, status, reason})
		}
	}
	add := func(prefix, code string, ways []string, state tree) {
		line(prefix, code, ways, state.word("status"), state.text("reason"))
	}
	for _, i := range routing.sorted("interfaces", "interface") {
		for _, a := range i.items("addresses", "address") {
			add(a.text("prefix"), "C", []string{"is directly connected, " + i.name()}, a.at("state"))
		}
	}
	forwarded := map[string]tree{}
	for _, r := range routing.items("routes", "route") {
		prefix := r.text("prefix")
		if !strings.Contains(prefix, "/") {
			prefix += map[int]string{4: "/32", 6: "/128"}[ipVersion(prefix)]
		}
		forwarded[prefix] = r
	}
	ways := func(t tree) (out []string) {
		for _, w := range t.texts("next-hop") {
			out = append(out, wayText(w))
		}
		return out
	}
	for _, r := range routing.items("static-routes", "route") {
		prefix := r.text("prefix")
		to := ways(forwarded[prefix].at("state"))
		if to == nil {
			to = ways(r.at("config"))
		}
		delete(forwarded, prefix)
		add(prefix, "S", to, r.at("state"))
	}
	for prefix, r := range forwarded {
		code := "R"
		if r.text("state", "protocol") == "static" {
			code = "S"
		}
		status, reason := lacking.status(r.text("prefix"))
		line(prefix, code, ways(r.at("state")), status, reason)
	}
	slices.SortFunc(lines, func(a, b routeLine) int {
		if c := a.prefix.Compare(b.prefix); c != 0 {
			return c
		}
		return strings.Compare(a.code+strings.Join(a.ways, ","), b.code+strings.Join(b.ways, ","))
	})
	return lines
}

func showIPInterfaces(family int) func(context.Context, *call) (*view, error) {
	return func(ctx context.Context, c *call) (*view, error) {
		routing, data, err := c.routing(ctx)
		if err != nil {
			return nil, err
		}
		var rows [][]string
		var why []string
		for _, i := range routing.sorted("interfaces", "interface") {
			why = append(why, whyNotLine(i.name(), i.at("state"))...)
			for _, a := range byPrefix(i.items("addresses", "address")) {
				prefix := a.text("prefix")
				if ipVersion(prefix) != family {
					continue
				}
				rows = append(rows, []string{i.name(), prefix, orDash(a.text("state", "status"))})
				if !inactive(i.at("state")) {
					why = append(why, whyNotLine(i.name()+" "+prefix, a.at("state"))...)
				}
			}
		}
		return tableView(data, []column{{"Interface", 14, 2}, {"Address", 18, 2}, {"Status", 8, 0}}, rows, why), nil
	}
}

func showNeighbors(family int) func(context.Context, *call) (*view, error) {
	return func(ctx context.Context, c *call) (*view, error) {
		routing, data, err := c.routing(ctx)
		if err != nil {
			return nil, err
		}
		var rows [][]string
		var why []string
		for _, n := range routing.sortedBy("interface", "neighbors", "neighbor") {
			address := n.text("address")
			if family != 0 && ipVersion(address) != family {
				continue
			}
			mac, status := orDash(config(n, "mac-address")), orDash(n.text("state", "status"))
			rows = append(rows, []string{address, mac, n.text("interface"), "Static", status, "-"})
			why = append(why, whyNotLine(address, n.at("state"))...)
		}
		for _, n := range routing.sortedBy("interface", "host-neighbors", "neighbor") {
			if family != 0 && ipVersion(n.text("address")) != family {
				continue
			}
			rows = append(rows, []string{
				n.text("address"), orDash(n.text("state", "mac-address")), n.text("interface"), "Dynamic",
				orDash(strings.ToLower(n.word("state", "neighbor-state"))), orDash(n.text("state", "confirmed")),
			})
		}
		columns := []column{
			{"Address", 16, 2}, {"MacAddress", 17, 2}, {"Iface", 12, 2}, {"Type", 7, 2}, {"Status", 10, 2},
			{"Confirmed", 20, 0},
		}
		return tableView(data, columns, rows, why), nil
	}
}

func showMACs(ctx context.Context, c *call) (*view, error) {
	fdb, err := c.sh.client.all(ctx, gpath(fdbRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range fdb.sortedBy("vlan-id", "entries", "entry") {
		kind, port := title(e.word("state", "entry-type")), e.text("state", "port")
		rows = append(rows, []string{e.text("vlan-id"), e.text("mac-address"), kind, port})
	}
	var why []string
	for _, e := range fdb.sortedBy("vlan-id", "static-entries", "entry") {
		why = append(why, whyNotLine("Vlan"+e.text("vlan-id")+" "+e.text("mac-address"), e.at("state"))...)
	}
	columns := []column{{"Vlan", 4, 2}, {"MacAddress", 17, 2}, {"Type", 7, 2}, {"Port", 12, 0}}
	return tableView(one(fdbRoot, fdb), columns, rows, why), nil
}

func familyWord(text string) string {
	if ipVersion(text) == 4 {
		return "ip"
	}
	return "ipv6"
}
