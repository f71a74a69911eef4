package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/sflow"
	"tamtam/cli/tam"
	"tamtam/cli/tree"
	"tamtam/internal/printable"
)

// The running configuration consists of the commands that restore it. Most rows of CONFIG_DB are nodes of the tree, and
// appear as the commands of their modes. The switch reports which rows these commands reproduce. Any other row, or part
// of a row, is written first, as a row command. So the row exists when later commands refer to it or add fields to it.

// A running is a running configuration in the making: the text so far, and what it is made from.
type running struct {
	kit.Printout
	lost []string            // comments about configuration that no command can express
	rows map[rowID]tree.Node // all rows of CONFIG_DB; empty if the switch does not report rows
	said map[rowID]bool      // rows that the commands written so far restore
}

type rowID struct{ table, key string }

// readRunning reads the configuration below roots, and all rows.
func readRunning(ctx context.Context, s *kit.Session, roots ...string) (*running, []tree.Node, map[string]any, error) {
	paths := make([]*gpb.Path, len(roots))
	for i, root := range roots {
		paths[i] = tree.Path(root)
	}
	found := make([]tree.Node, len(roots))
	r := &running{rows: map[rowID]tree.Node{}, said: map[rowID]bool{}}
	for i, path := range paths {
		var err error
		if found[i], err = s.Client.Configured(ctx, path); kit.UnlessDenied(err) != nil {
			return nil, nil, nil, err
		}
		r.hidden(roots[i], err)
	}
	all, err := s.Client.All(ctx, tree.Path(rowsRoot))
	if kit.UnlessDenied(err) != nil {
		return nil, nil, nil, err
	}
	r.hidden(rowsRoot, err)
	for _, row := range all.Items("row") {
		id := rowID{row.Plain("table"), row.Plain("key")}
		r.rows[id] = row
	}
	if err := findLost(ctx, s, r); err != nil {
		return nil, nil, nil, err
	}
	data := kit.One(rowsRoot, all)
	for i, root := range roots {
		maps.Copy(data, kit.One(root, found[i]))
	}
	return r, found, data, nil
}

// hidden records that a part is omitted because the user may not see it. So the output is not mistaken for the whole
// configuration.
func (r *running) hidden(root string, err error) {
	if err != nil {
		r.lost = append(r.lost, fmt.Sprintf("! /%s is left out: the user may not see it", root))
	}
}

// findLost finds tables with more rows than the tree contains. gNMI cannot name some keys, such as * or invalid UTF-8.
func findLost(ctx context.Context, s *kit.Session, r *running) error {
	tables, err := s.Client.All(ctx, tree.Path(configTables))
	if err != nil || len(r.rows) == 0 {
		return kit.UnlessDenied(err)
	}
	has := map[string]uint64{}
	for id := range r.rows {
		has[id.table]++
	}
	for _, t := range tables.Sorted("table") {
		if n, known := t.Count("state", "rows"); known && n > has[t.Name()] {
			r.lost = append(r.lost, fmt.Sprintf("! %s: %d more of a key that gNMI cannot name", t.Name(), n-has[t.Name()]))
		}
	}
	return nil
}

// says reports whether commands should restore a row, and records that they do.
func (r *running) says(table string, key ...string) bool {
	id := rowID{table, strings.Join(key, "|")}
	row, there := r.rows[id]
	if there && row.Word("state", "told") == "NONE" || !there && len(r.rows) > 0 {
		return false
	}
	r.said[id] = true
	return true
}

// finished returns the complete text, with the rows that no command restores first.
func (r *running) finished(tables func(rowID) bool) string {
	var p kit.Printout
	p.Line("configure terminal")
	kinds := map[string]rowKind{}
	for _, k := range rowKinds() {
		kinds[k.table] = k
	}
	ids := slices.SortedFunc(maps.Keys(r.rows), func(a, b rowID) int {
		if a.table != b.table {
			return strings.Compare(a.table, b.table)
		}
		return tree.Natural(a.key, b.key)
	})
	for _, l := range r.lost {
		p.Line("%s", l)
	}
	for _, id := range ids {
		for _, text := range r.rows[id].Texts("state", "unapplied") {
			if tables(id) {
				p.Line("! %s|%s: %s", printable.Line(id.table), printable.Line(id.key), printable.Line(text))
			}
		}
	}
	for _, id := range ids {
		if tables(id) {
			writeRow(&p, kinds[id.table], id, r.rows[id], r.said[id])
		}
	}
	p.WriteString(r.String())
	p.Line("end")
	return p.String()
}

// writeRow writes the part of a row that no other command restores.
func writeRow(p *kit.Printout, k rowKind, id rowID, row tree.Node, said bool) {
	fields := row.At("config", "field")
	if said {
		if row.Word("state", "told") != "REST" {
			return
		}
		fields = row.At("state", "rest")
	}
	var texts []string
	for _, f := range fields.Items() {
		texts = append(texts, f.Plain())
	}
	line := "row " + kit.Quote(id.table) + " " + kit.Quote(id.key)
	for _, t := range texts {
		line += " " + kit.Quote(t)
	}
	if k.table != "" {
		if own, ok := k.line(id.key, texts); ok {
			line = own
		}
	}
	switch invalid := row.Text("state", "invalid"); {
	case line != printable.Line(line):
		p.Line("! not to be written, of its control characters: %s", printable.Line(line))
	case invalid != "":
		p.Line("! not valid, %s: %s", invalid, line)
	default:
		p.WriteString(line + "\n")
	}
}

// showRunning writes the configuration as commands. Run with -f, or pasted at the prompt, they restore it.
func showRunning(ctx context.Context, c *kit.Call) (*kit.View, error) {
	r, found, data, err := readRunning(ctx, c.Session, tam.TamRoot, kit.InterfacesRoot, vlansRoot, routingRoot, fdbRoot,
		sflow.Root)
	if err != nil {
		return nil, err
	}
	root, interfaces, vlans, routing, fdb := found[0], found[1], found[2], found[3], found[4]
	text := func(p *kit.Printout) {
		r.links(vlans)
		r.tam(root)
		r.interfaces(interfaces, vlans, root)
		r.routing(routing)
		r.fdb(fdb)
		r.sflow(found[5])
		r.features(root)
		p.WriteString(r.finished(func(rowID) bool { return true }))
	}
	return kit.NewView(data, text), nil
}

func showRunningTAM(ctx context.Context, c *kit.Call) (*kit.View, error) {
	r, found, data, err := readRunning(ctx, c.Session, tam.TamRoot)
	if err != nil {
		return nil, err
	}
	root := found[0]
	text := func(p *kit.Printout) {
		r.tam(root)
		for _, name := range attachedInterfaces(root) {
			var lines kit.Printout
			r.attached(&lines, name, root)
			writeBlock(&r.Printout, "interface "+name, &lines)
		}
		r.features(root)
		p.WriteString(r.finished(func(id rowID) bool {
			return id.table == "TAM" || strings.HasPrefix(id.table, "TAM_") ||
				id.table == aclRule && strings.HasPrefix(id.key, "TAM|")
		}))
	}
	delete(data, rowsRoot)
	return kit.NewView(data, text), nil
}

// links writes the commands that create VLANs, which the other commands refer to.
func (r *running) links(vlans tree.Node) {
	for _, v := range vlans.SortedBy("vlan-id", "vlan") {
		if r.says("VLAN", "Vlan"+v.Text("vlan-id")) {
			r.Line("interface Vlan %s", v.Text("vlan-id"))
			r.Line("!")
		}
	}
}

// tam writes the mode config-tam except its features.
func (r *running) tam(root tree.Node) {
	var lines kit.Printout
	if r.says("TAM_SWITCH_TABLE", "global") {
		writeSingles(&lines, " ", root.At("switch"), tam.SwitchLeaves...)
	}
	for _, o := range []tam.Object{tam.Collector, tam.Sampler, tam.FlowGroup} {
		r.objects(&lines, " ", o, o.Entries(root))
	}
	writeBlock(&r.Printout, "tam", &lines)
}

// aclRule is the table with the matches of flow groups.
const aclRule = "ACL_RULE"

// objects writes the commands that create entries.
func (r *running) objects(p *kit.Printout, indent string, o tam.Object, entries []tree.Node) {
	for _, e := range entries {
		isGroup := o.Word == tam.FlowGroup.Word
		if !o.Exact(e) || isGroup && !r.saysGroup(e) || !isGroup && !r.says(o.Table, e.Name()) {
			continue
		}
		words := ""
		for _, need := range []bool{true, false} {
			for _, l := range o.Leaves {
				if l.Need == need {
					words += l.Words(e)
				}
			}
		}
		p.Line("%s%s %s%s", indent, o.Word, kit.Quote(e.Name()), words)
	}
}

// saysGroup does the work of says for a flow group. The same commands write the row of the group and that of its rule.
// If the group's row had no id, a command would choose one.
func (r *running) saysGroup(e tree.Node) bool {
	rows := []rowID{{tam.FlowGroup.Table, e.Name()}, {aclRule, "TAM|" + e.Name()}}
	for _, id := range rows {
		row, there := r.rows[id]
		if there && row.Word("state", "told") == "NONE" {
			return false
		}
	}
	interfaces := e.Texts("config", "interfaces")
	if len(r.rows) > 0 && (tam.GroupID.Text(e) == "" || len(e.Texts("config", "other-fields")) > 0 ||
		!slices.Equal(interfaces, slices.SortedStableFunc(slices.Values(interfaces), inOrder))) {
		return false
	}
	r.says(rows[1].table, rows[1].key) // result ignored: the group may have no rule
	return r.says(rows[0].table, rows[0].key)
}

// inOrder orders interfaces for the running configuration. Port channels precede ports, because ports join them.
func inOrder(a, b string) int {
	channel := func(name string) int { return kit.IntOf(!strings.HasPrefix(name, "PortChannel")) }
	if n := channel(a) - channel(b); n != 0 {
		return n
	}
	return tree.Natural(a, b)
}

// writeSingles writes the commands of leaves outside of lists, one per line.
func writeSingles(p *kit.Printout, indent string, t tree.Node, leaves ...kit.Leaf) {
	for _, l := range leaves {
		if words := l.Words(t); words != "" {
			p.Line("%s%s", indent, words[1:])
		}
	}
}

// writeBlock writes lines after the command that enters their mode. It writes nothing if there are no lines.
func writeBlock(p *kit.Printout, head string, lines *kit.Printout) {
	if lines.Len() > 0 {
		p.Line("%s\n%s!", head, lines)
	}
}

// attachedInterfaces returns the interfaces that flow groups are attached to.
func attachedInterfaces(root tree.Node) []string {
	seen := map[string]bool{}
	var out []string
	for _, g := range root.Items("flowgroups", "flowgroup") {
		for _, i := range g.Texts("config", "interfaces") {
			if !seen[i] {
				seen[i] = true
				out = append(out, i)
			}
		}
	}
	slices.SortFunc(out, inOrder)
	return out
}

func (r *running) attached(p *kit.Printout, iface string, root tree.Node) {
	for _, g := range root.Sorted("flowgroups", "flowgroup") {
		for _, i := range g.Texts("config", "interfaces") {
			if i == iface && r.said[rowID{tam.FlowGroup.Table, g.Name()}] {
				p.Line(" flow-group %s", kit.Quote(g.Name()))
			}
		}
	}
}

// interfaces writes the mode of each interface. Port channels are first, because ports join them.
func (r *running) interfaces(interfaces, vlans, root tree.Node) {
	channel := map[string]string{} // port channel of each member
	all := links(interfaces)
	slices.SortStableFunc(all, func(a, b tree.Node) int { return inOrder(a.Name(), b.Name()) })
	for _, i := range all {
		number, _ := strings.CutPrefix(i.Name(), "PortChannel")
		for _, m := range i.Items("aggregation", "members", "member") {
			if channel[m.Text("interface")] == "" && r.says("PORTCHANNEL_MEMBER", i.Name(), m.Text("interface")) {
				channel[m.Text("interface")] = number
			}
		}
	}
	for _, i := range all {
		if !r.there(i.Name()) {
			continue // it exists only because of nodes below it
		}
		table := "PORT"
		if strings.HasPrefix(i.Name(), "PortChannel") {
			table = "PORTCHANNEL"
		}
		var lines kit.Printout
		if r.says(table, i.Name()) {
			writeSingles(&lines, " ", i, interfaceLeaves...)
			writeSingles(&lines, " ", i, channelLeaves...)
		}
		if number := channel[i.Name()]; number != "" {
			lines.Line(" channel-group %s", number)
		}
		r.vlans(&lines, i.Name(), vlans)
		r.attached(&lines, i.Name(), root)
		r.Line("interface %s\n%s!", spaced(i.Name()), &lines)
	}
}

// spaced returns "PortChannel 1" for PortChannel1, as in the command that creates it.
func spaced(name string) string {
	if number, ok := strings.CutPrefix(name, "PortChannel"); ok {
		return "PortChannel " + number
	}
	return name
}

func (r *running) vlans(p *kit.Printout, iface string, vlans tree.Node) {
	for _, v := range vlans.SortedBy("vlan-id", "vlan") {
		for _, m := range v.Items("members", "member") {
			switch {
			case m.Text("interface") != iface || kit.Configured(m, "tagging-mode") == "" ||
				!r.says("VLAN_MEMBER", "Vlan"+v.Text("vlan-id"), iface):
			case kit.Configured(m, "tagging-mode") == "UNTAGGED":
				p.Line(" switchport access Vlan %s", v.Text("vlan-id"))
			default:
				p.Line(" switchport trunk allowed Vlan %s", v.Text("vlan-id"))
			}
		}
	}
}

// routedTable returns the table of an interface that routes.
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

// routing writes the addresses and neighbours of interfaces, and the routes.
func (r *running) routing(routing tree.Node) {
	neighbors := map[string][]tree.Node{}
	for _, n := range routing.SortedBy("address", "neighbors", "neighbor") {
		neighbors[n.Text("interface")] = append(neighbors[n.Text("interface")], n)
	}
	for _, i := range routing.Sorted("interfaces", "interface") {
		r.routed(i, neighbors[i.Name()])
	}
	for _, route := range byPrefix(routing.Items("static-routes", "route")) {
		if !r.says("STATIC_ROUTE", "default|"+route.Text("prefix")) {
			continue
		}
		for _, nextHop := range route.Texts("config", "next-hop") {
			to, distance, _ := strings.Cut(nextHop, "#")
			addr, name, _ := strings.Cut(to, "@")
			words := addr
			if name != "" {
				words += " interface " + name
			}
			if distance != "" {
				words += " distance " + distance
			}
			r.Line("%s route %s %s", familyWord(route.Text("prefix")), route.Text("prefix"), strings.TrimSpace(words))
		}
	}
}

// there reports whether an interface exists. If so, entering its mode does not create it.
func (r *running) there(name string) bool {
	if strings.HasPrefix(name, "Loopback") || len(r.rows) == 0 {
		return true
	}
	for _, table := range []string{"PORT", "PORTCHANNEL", "VLAN"} {
		if row, ok := r.rows[rowID{table, name}]; ok {
			return row.Text("state", "invalid") == ""
		}
	}
	return false
}

// routed writes the mode of an interface that routes. The command of its first address creates its row; a loopback's
// row is created in any case. An interface without an address, or with its own MTU, MAC address or VRF, remains a row
// command.
func (r *running) routed(i tree.Node, neighbors []tree.Node) {
	table, name := routedTable(i.Name()), i.Name()
	if !r.there(name) {
		return
	}
	var lines kit.Printout
	for _, a := range byPrefix(i.Items("addresses", "address")) {
		if r.says(table, name, a.Text("prefix")) {
			lines.Line(" %s address %s", familyWord(a.Text("prefix")), a.Text("prefix"))
		}
	}
	loopback := strings.HasPrefix(name, "Loopback")
	own := i.Text("config", "mtu") + i.Text("config", "mac-address") + i.Text("config", "vrf")
	if own == "" && (loopback || lines.Len() > 0) {
		r.says(table, name)
	}
	for _, n := range neighbors {
		if r.says("NEIGH", name, n.Text("address")) {
			w := familyWord(n.Text("address"))
			lines.Line(" %s %s %s %s", w, ipWords[w].neighbor, n.Text("address"), kit.Configured(n, "mac-address"))
		}
	}
	for _, kind := range []string{"Loopback", "Vlan"} {
		if number, ok := strings.CutPrefix(name, kind); ok {
			name = kind + " " + number
		}
	}
	if lines.Len() > 0 || loopback && r.said[rowID{table, i.Name()}] {
		r.Line("interface %s\n%s!", spaced(name), &lines)
	}
}

func (r *running) fdb(fdb tree.Node) {
	if r.says("SWITCH", "switch") {
		writeSingles(&r.Printout, "mac address-table ", fdb, agingTime)
	}
	for _, e := range fdb.SortedBy("vlan-id", "static-entries", "entry") {
		if r.there(kit.Configured(e, "port")) && r.says("FDB", "Vlan"+e.Text("vlan-id"), e.Text("mac-address")) {
			r.Line("mac address-table %s Vlan %s interface %s", e.Text("mac-address"), e.Text("vlan-id"),
				kit.Configured(e, "port"))
		}
	}
}

// features writes the modes of features, after everything that their objects refer to. A feature is enabled last, so
// that nothing is measured before everything is configured.
func (r *running) features(root tree.Node) {
	for _, f := range tam.Features() {
		var lines kit.Printout
		for _, o := range f.Objects {
			r.objects(&lines, "  ", o, o.Entries(root))
		}
		for _, configured := range root.Items("features", "feature") {
			active := configured.Word("config", "status") == "ACTIVE"
			if configured.Name() == f.Ref && active && r.says("TAM_FEATURES_TABLE", f.Ref) {
				lines.Line("  enable")
			}
		}
		writeBlock(&r.Printout, "tam\n "+f.Word, &lines)
	}
}

// configTables is the container that lists the tables of CONFIG_DB.
const configTables = "tamtam-status:config-tables"

// sflow writes the configuration of sFlow.
func (r *running) sflow(found tree.Node) {
	if r.says("SFLOW", "global") {
		writeSingles(&r.Printout, "sflow ", found, sflow.Leaves...)
	}
	for _, o := range []tam.Object{sflow.Collector, sflow.Session} {
		r.objects(&r.Printout, "sflow ", o, o.Entries(found))
	}
}
