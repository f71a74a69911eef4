package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// The running configuration is the commands that make it. Most rows of CONFIG_DB are nodes of the tree, and come as
// the commands of their modes; the switch says which rows these make again (told). What they do not make, or not
// whole, comes first, as the row that it is: then whatever refers to it finds it, and commands that only add to it
// find what is to be there.

// A running is the running configuration while it is written.
type running struct {
	printout
	lost []string       // what cannot be said at all
	rows map[rowID]tree // all rows of CONFIG_DB; none: the switch does not tell them
	said map[rowID]bool // rows that commands make
}

type rowID struct{ table, key string }

// readRunning gets what is configured below roots, and all rows.
func (s *Shell) readRunning(ctx context.Context, roots ...string) (*running, []tree, map[string]any, error) {
	paths := make([]*gpb.Path, len(roots))
	for i, root := range roots {
		paths[i] = gpath(root)
	}
	found := make([]tree, len(roots))
	r := &running{rows: map[rowID]tree{}, said: map[rowID]bool{}}
	for i, path := range paths {
		var err error
		if found[i], err = s.client.config(ctx, path); unlessDenied(err) != nil {
			return nil, nil, nil, err
		}
		r.hidden(roots[i], err)
	}
	all, err := s.client.all(ctx, gpath(rowsRoot))
	if unlessDenied(err) != nil {
		return nil, nil, nil, err
	}
	r.hidden(rowsRoot, err)
	for _, row := range all.items("row") {
		id := rowID{row.plain("table"), row.plain("key")}
		r.rows[id] = row
	}
	if err := s.findLost(ctx, r); err != nil {
		return nil, nil, nil, err
	}
	data := one(rowsRoot, all)
	for i, root := range roots {
		maps.Copy(data, one(root, found[i]))
	}
	return r, found, data, nil
}

// hidden notes what the user may not see, so that nobody takes what is printed for all.
func (r *running) hidden(root string, err error) {
	if err != nil {
		r.lost = append(r.lost, fmt.Sprintf("! /%s is left out: the user may not see it", root))
	}
}

// findLost finds tables with more rows than the tree has: a key may be one that gNMI cannot name, such as * or what
// is not UTF-8.
func (s *Shell) findLost(ctx context.Context, r *running) error {
	tables, err := s.client.all(ctx, gpath(configTables))
	if err != nil || len(r.rows) == 0 {
		return unlessDenied(err)
	}
	has := map[string]uint64{}
	for id := range r.rows {
		has[id.table]++
	}
	for _, t := range tables.sorted("table") {
		if n, known := t.count("state", "rows"); known && n > has[t.name()] {
			r.lost = append(r.lost, fmt.Sprintf("! %s: %d more of a key that gNMI cannot name", t.name(), n-has[t.name()]))
		}
	}
	return nil
}

// says reports whether commands are to make a row, which then counts as made.
func (r *running) says(table string, key ...string) bool {
	id := rowID{table, strings.Join(key, "|")}
	row, there := r.rows[id]
	if there && row.word("state", "told") == "NONE" || !there && len(r.rows) > 0 {
		return false
	}
	r.said[id] = true
	return true
}

// finished is the whole: first the rows of tables that no command made.
func (r *running) finished(tables func(rowID) bool) string {
	var p printout
	p.line("configure terminal")
	kinds := map[string]rowKind{}
	for _, k := range rowKinds() {
		kinds[k.table] = k
	}
	ids := slices.SortedFunc(maps.Keys(r.rows), func(a, b rowID) int {
		if a.table != b.table {
			return strings.Compare(a.table, b.table)
		}
		return natural(a.key, b.key)
	})
	for _, l := range r.lost {
		p.line("%s", l)
	}
	for _, id := range ids {
		for _, text := range r.rows[id].texts("state", "unapplied") {
			if tables(id) {
				p.line("! %s|%s: %s", printable(id.table), printable(id.key), printable(text))
			}
		}
	}
	for _, id := range ids {
		if tables(id) {
			p.row(kinds[id.table], id, r.rows[id], r.said[id])
		}
	}
	p.WriteString(r.String())
	p.line("end")
	return p.String()
}

// row writes what of a row no other command makes.
func (p *printout) row(k rowKind, id rowID, row tree, said bool) {
	fields := row.at("config", "field")
	if said {
		if row.word("state", "told") != "REST" {
			return
		}
		fields = row.at("state", "rest")
	}
	var texts []string
	for _, f := range fields.items() {
		texts = append(texts, f.plain())
	}
	line := "row " + quote(id.table) + " " + quote(id.key)
	for _, t := range texts {
		line += " " + quote(t)
	}
	if k.table != "" {
		if own, ok := k.line(id.key, texts); ok {
			line = own
		}
	}
	switch invalid := row.text("state", "invalid"); {
	case line != printable(line):
		p.line("! not to be written, of its control characters: %s", printable(line))
	case invalid != "":
		p.line("! not valid, %s: %s", invalid, line)
	default:
		p.WriteString(line + "\n")
	}
}

// showRunning writes the configuration as commands. Read back with -f, or pasted at the prompt,
// they restore it.
func showRunning(ctx context.Context, c *call) (*view, error) {
	r, found, data, err := c.sh.readRunning(ctx, tamRoot, interfacesRoot, vlansRoot, routingRoot, fdbRoot,
		sflowRoot)
	if err != nil {
		return nil, err
	}
	tam, interfaces, vlans, routing, fdb := found[0], found[1], found[2], found[3], found[4]
	text := func(p *printout) {
		r.links(vlans)
		r.tam(tam)
		r.interfaces(interfaces, vlans, tam)
		r.routing(routing)
		r.fdb(fdb)
		r.sflow(found[5])
		r.features(tam)
		p.WriteString(r.finished(func(rowID) bool { return true }))
	}
	return &view{data, text}, nil
}

func showRunningTAM(ctx context.Context, c *call) (*view, error) {
	r, found, data, err := c.sh.readRunning(ctx, tamRoot)
	if err != nil {
		return nil, err
	}
	tam := found[0]
	text := func(p *printout) {
		r.tam(tam)
		for _, name := range attachedInterfaces(tam) {
			var lines printout
			r.attached(&lines, name, tam)
			r.block("interface "+name, &lines)
		}
		r.features(tam)
		p.WriteString(r.finished(func(id rowID) bool {
			return id.table == "TAM" || strings.HasPrefix(id.table, "TAM_") ||
				id.table == aclRule && strings.HasPrefix(id.key, "TAM|")
		}))
	}
	delete(data, rowsRoot)
	return &view{data, text}, nil
}

// links writes what creates VLANs, which the rest names.
func (r *running) links(vlans tree) {
	for _, v := range vlans.sortedBy("vlan-id", "vlan") {
		if r.says("VLAN", "Vlan"+v.text("vlan-id")) {
			r.line("interface Vlan %s", v.text("vlan-id"))
			r.line("!")
		}
	}
}

// tam writes the mode config-tam up to its features.
func (r *running) tam(tam tree) {
	var lines printout
	if r.says("TAM_SWITCH_TABLE", "global") {
		lines.singles(" ", tam.at("switch"), switchLeaves...)
	}
	for _, o := range []object{collector, sampler, flowGroup} {
		r.objects(&lines, " ", o, o.entries(tam))
	}
	r.block("tam", &lines)
}

// aclRule is the table with the matches of flow groups.
const aclRule = "ACL_RULE"

// objects writes the commands that create entries.
func (r *running) objects(p *printout, indent string, o object, entries []tree) {
	for _, e := range entries {
		isGroup := o.word == flowGroup.word
		if !o.exact(e) || isGroup && !r.saysGroup(e) || !isGroup && !r.says(o.table, e.name()) {
			continue
		}
		words := ""
		for _, need := range []bool{true, false} {
			for _, l := range o.leaves {
				if l.need == need {
					words += l.words(e)
				}
			}
		}
		p.line("%s%s %s%s", indent, o.word, quote(e.name()), words)
	}
}

// saysGroup is says for a flow group: its row and that of its rule are written by the same commands, one of which
// would choose an id where there is none.
func (r *running) saysGroup(e tree) bool {
	rows := []rowID{{flowGroup.table, e.name()}, {aclRule, "TAM|" + e.name()}}
	for _, id := range rows {
		row, there := r.rows[id]
		if there && row.word("state", "told") == "NONE" {
			return false
		}
	}
	interfaces := e.texts("config", "interfaces")
	if len(r.rows) > 0 && (groupID.text(e) == "" || len(e.texts("config", "other-fields")) > 0 ||
		!slices.Equal(interfaces, slices.SortedStableFunc(slices.Values(interfaces), inOrder))) {
		return false
	}
	r.says(rows[1].table, rows[1].key) // it may have no rule
	return r.says(rows[0].table, rows[0].key)
}

// inOrder is that of interfaces in the running configuration: port channels come before ports, since these join them.
func inOrder(a, b string) int {
	channel := func(name string) int { return btoi(!strings.HasPrefix(name, "PortChannel")) }
	if n := channel(a) - channel(b); n != 0 {
		return n
	}
	return natural(a, b)
}

// singles writes the commands of leaves that are in no list, each on a line.
func (p *printout) singles(indent string, t tree, leaves ...leaf) {
	for _, l := range leaves {
		if words := l.words(t); words != "" {
			p.line("%s%s", indent, words[1:])
		}
	}
}

// block writes lines under the command that enters their mode; no lines, no
// block.
func (p *printout) block(head string, lines *printout) {
	if lines.Len() > 0 {
		p.line("%s\n%s!", head, lines)
	}
}

// attachedInterfaces are the interfaces that flow groups are attached to.
func attachedInterfaces(tam tree) []string {
	seen := map[string]bool{}
	var out []string
	for _, g := range tam.items("flowgroups", "flowgroup") {
		for _, i := range g.texts("config", "interfaces") {
			if !seen[i] {
				seen[i] = true
				out = append(out, i)
			}
		}
	}
	slices.SortFunc(out, inOrder)
	return out
}

func (r *running) attached(p *printout, iface string, tam tree) {
	for _, g := range tam.sorted("flowgroups", "flowgroup") {
		for _, i := range g.texts("config", "interfaces") {
			if i == iface && r.said[rowID{flowGroup.table, g.name()}] {
				p.line(" flow-group %s", quote(g.name()))
			}
		}
	}
}

// interfaces writes the mode of each interface: port channels first,
// since ports join them.
func (r *running) interfaces(interfaces, vlans, tam tree) {
	channel := map[string]string{} // of a member
	all := links(interfaces)
	slices.SortStableFunc(all, func(a, b tree) int { return inOrder(a.name(), b.name()) })
	for _, i := range all {
		number, _ := strings.CutPrefix(i.name(), "PortChannel")
		for _, m := range i.items("aggregation", "members", "member") {
			if channel[m.text("interface")] == "" && r.says("PORTCHANNEL_MEMBER", i.name(), m.text("interface")) {
				channel[m.text("interface")] = number
			}
		}
	}
	for _, i := range all {
		if !r.there(i.name()) {
			continue // there is only something below it
		}
		table := "PORT"
		if strings.HasPrefix(i.name(), "PortChannel") {
			table = "PORTCHANNEL"
		}
		var lines printout
		if r.says(table, i.name()) {
			lines.singles(" ", i, interfaceLeaves...)
			lines.singles(" ", i, channelLeaves...)
		}
		if number := channel[i.name()]; number != "" {
			lines.line(" channel-group %s", number)
		}
		r.vlans(&lines, i.name(), vlans)
		r.attached(&lines, i.name(), tam)
		r.line("interface %s\n%s!", spaced(i.name()), &lines)
	}
}

// spaced writes PortChannel1 as "PortChannel 1", the form of the command that
// makes it.
func spaced(name string) string {
	if number, ok := strings.CutPrefix(name, "PortChannel"); ok {
		return "PortChannel " + number
	}
	return name
}

func (r *running) vlans(p *printout, iface string, vlans tree) {
	for _, v := range vlans.sortedBy("vlan-id", "vlan") {
		for _, m := range v.items("members", "member") {
			switch {
			case m.text("interface") != iface || config(m, "tagging-mode") == "" ||
				!r.says("VLAN_MEMBER", "Vlan"+v.text("vlan-id"), iface):
			case config(m, "tagging-mode") == "UNTAGGED":
				p.line(" switchport access Vlan %s", v.text("vlan-id"))
			default:
				p.line(" switchport trunk allowed Vlan %s", v.text("vlan-id"))
			}
		}
	}
}

// routedTable is the table of an interface that routes.
func routedTable(name string) string {
	for kind, table := range map[string]string{
		"PortChannel": "PORTCHANNEL_INTERFACE", "Vlan": "VLAN_INTERFACE", "Loopback": "LOOPBACK_INTERFACE",
	} {
		if strings.HasPrefix(name, kind) {
			return table
		}
	}
	return "INTERFACE"
}

// routing writes the addresses and neighbours of interfaces, and routes.
func (r *running) routing(routing tree) {
	neighbors := map[string][]tree{}
	for _, n := range routing.sortedBy("address", "neighbors", "neighbor") {
		neighbors[n.text("interface")] = append(neighbors[n.text("interface")], n)
	}
	for _, i := range routing.sorted("interfaces", "interface") {
		r.routed(i, neighbors[i.name()])
	}
	for _, route := range byPrefix(routing.items("static-routes", "route")) {
		if !r.says("STATIC_ROUTE", route.text("prefix")) {
			continue
		}
		for _, way := range route.texts("config", "next-hop") {
			to, distance, _ := strings.Cut(way, "#")
			addr, name, _ := strings.Cut(to, "@")
			words := addr
			if name != "" {
				words += " interface " + name
			}
			if distance != "" {
				words += " distance " + distance
			}
			r.line("%s route %s %s", familyWord(route.text("prefix")), route.text("prefix"), strings.TrimSpace(words))
		}
	}
}

// there reports whether an interface is, so that its mode can be entered without making it.
func (r *running) there(name string) bool {
	if strings.HasPrefix(name, "Loopback") || len(r.rows) == 0 {
		return true
	}
	for _, table := range []string{"PORT", "PORTCHANNEL", "VLAN"} {
		if row, ok := r.rows[rowID{table, name}]; ok {
			return row.text("state", "invalid") == ""
		}
	}
	return false
}

// routed writes the mode of an interface that routes. Commands make its row with its first address, and that of a
// loopback in any case; another, and an own MTU or MAC address, stays a row.
func (r *running) routed(i tree, neighbors []tree) {
	table, name := routedTable(i.name()), i.name()
	if !r.there(name) {
		return
	}
	var lines printout
	for _, a := range byPrefix(i.items("addresses", "address")) {
		if r.says(table, name, a.text("prefix")) {
			lines.line(" %s address %s", familyWord(a.text("prefix")), a.text("prefix"))
		}
	}
	loopback := strings.HasPrefix(name, "Loopback")
	own := i.text("config", "mtu") + i.text("config", "mac-address")
	if own == "" && (loopback || lines.Len() > 0) {
		r.says(table, name)
	}
	for _, n := range neighbors {
		if r.says("NEIGH", name, n.text("address")) {
			w := familyWord(n.text("address"))
			lines.line(" %s %s %s %s", w, ipWords[w].neighbor, n.text("address"), config(n, "mac-address"))
		}
	}
	for _, kind := range []string{"Loopback", "Vlan"} {
		if number, ok := strings.CutPrefix(name, kind); ok {
			name = kind + " " + number
		}
	}
	if lines.Len() > 0 || loopback && r.said[rowID{table, i.name()}] {
		r.line("interface %s\n%s!", spaced(name), &lines)
	}
}

func (r *running) fdb(fdb tree) {
	if r.says("SWITCH", "switch") {
		r.singles("mac address-table ", fdb, agingTime)
	}
	for _, e := range fdb.sortedBy("vlan-id", "static-entries", "entry") {
		if r.there(config(e, "port")) && r.says("FDB", "Vlan"+e.text("vlan-id"), e.text("mac-address")) {
			r.line("mac address-table %s Vlan %s interface %s", e.text("mac-address"), e.text("vlan-id"), config(e, "port"))
		}
	}
}

// features comes after everything that the features' objects name. A feature is enabled
// last, so that nothing is measured before everything is configured.
func (r *running) features(tam tree) {
	for _, f := range features() {
		var lines printout
		for _, o := range f.objects {
			r.objects(&lines, "  ", o, o.entries(tam))
		}
		for _, configured := range tam.items("features", "feature") {
			active := configured.word("config", "status") == "ACTIVE"
			if configured.name() == f.ref && active && r.says("TAM_FEATURES_TABLE", f.ref) {
				lines.line("  enable")
			}
		}
		r.block("tam\n "+f.word, &lines)
	}
}

// configTables is the container that says what tables there are in CONFIG_DB.
const configTables = "tamtam-status:config-tables"
