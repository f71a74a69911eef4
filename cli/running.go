package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// showRunning writes the configuration as commands. Read back with -f, or pasted at the prompt,
// they restore it.
func showRunning(ctx context.Context, c *call) (*view, error) {
	roots := []string{tamRoot, interfacesRoot, vlansRoot, routingRoot, fdbRoot}
	paths := make([]*gpb.Path, len(roots))
	for i, root := range roots {
		paths[i] = gpath(root)
	}
	found, err := c.sh.client.get(ctx, gpb.GetRequest_CONFIG, paths...)
	if err != nil {
		return nil, err
	}
	tables, err := c.sh.client.get(ctx, gpb.GetRequest_STATE, gpath(configTables))
	if err != nil {
		return nil, err
	}
	tam, interfaces, vlans, routing, fdb := found[0], found[1], found[2], found[3], found[4]
	data := one(configTables, tables[0])
	for i, root := range roots {
		maps.Copy(data, one(root, found[i]))
	}
	text := func(p *printout) {
		p.line("configure terminal")
		p.runningLinks(interfaces, vlans)
		p.runningTAM(tam)
		p.runningInterfaces(interfaces, vlans, tam)
		p.runningRouting(routing)
		p.runningFDB(fdb)
		p.runningFeatures(tam)
		p.leftOut(tables[0], tam)
		p.line("end")
	}
	return &view{data, text}, nil
}

func showRunningTAM(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.config(ctx, gpath(tamRoot))
	if err != nil {
		return nil, err
	}
	text := func(p *printout) {
		p.line("configure terminal")
		p.runningTAM(found)
		for _, name := range attachedInterfaces(found) {
			p.line("interface %s", name)
			p.runningAttached(name, found)
			p.line("!")
		}
		p.runningFeatures(found)
		p.line("end")
	}
	return &view{one(tamRoot, found), text}, nil
}

// runningLinks writes what creates interfaces: breakouts first, since they create the ports that
// the rest names.
func (p *printout) runningLinks(interfaces, vlans tree) {
	for _, i := range interfaces.sorted("interface") {
		for _, g := range i.items("breakout-mode", "groups", "group") {
			if mode := breakoutOf(g); mode != "" {
				p.line("interface breakout port %s mode %s", i.name(), mode)
			}
		}
	}
	for _, v := range vlans.sortedBy("vlan-id", "vlan") {
		p.line("interface Vlan %s", v.text("vlan-id"))
		p.line("!")
	}
}

// runningTAM writes the mode config-tam up to its features. Flow groups that
// have an id come before those that will get one.
func (p *printout) runningTAM(tam tree) {
	var lines printout
	lines.singles(" ", tam.at("switch"), switchLeaves...)
	for _, o := range []object{collector, sampler} {
		lines.running(" ", o, o.entries(tam))
	}
	groups := flowGroup.entries(tam)
	slices.SortStableFunc(groups, func(a, b tree) int {
		return btoi(groupID.text(a) == "") - btoi(groupID.text(b) == "")
	})
	lines.running(" ", flowGroup, groups)
	p.block("tam", &lines)
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
	return naturally(out)
}

func (p *printout) runningAttached(iface string, tam tree) {
	for _, g := range tam.sorted("flowgroups", "flowgroup") {
		for _, i := range g.texts("config", "interfaces") {
			if i == iface {
				p.line(" flow-group %s", quote(g.name()))
			}
		}
	}
}

// runningInterfaces writes the mode of each interface: port channels first,
// since ports join them.
func (p *printout) runningInterfaces(interfaces, vlans, tam tree) {
	channel := map[string]string{} // of a member
	var ports, channels []tree
	for _, i := range links(interfaces) {
		number, isChannel := strings.CutPrefix(i.name(), "PortChannel")
		if !isChannel {
			ports = append(ports, i)
			continue
		}
		channels = append(channels, i)
		for _, m := range i.items("aggregation", "members", "member") {
			channel[m.text("interface")] = number
		}
	}
	for _, i := range append(channels, ports...) {
		p.line("interface %s", spaced(i.name()))
		p.singles(" ", i, interfaceLeaves...)
		if number := channel[i.name()]; number != "" {
			p.line(" channel-group %s", number)
		}
		p.runningVLANs(i.name(), vlans)
		p.runningAttached(i.name(), tam)
		p.line("!")
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

func (p *printout) runningVLANs(iface string, vlans tree) {
	for _, v := range vlans.sortedBy("vlan-id", "vlan") {
		for _, m := range v.items("members", "member") {
			switch {
			case m.text("interface") != iface:
			case config(m, "tagging-mode") == "UNTAGGED":
				p.line(" switchport access Vlan %s", v.text("vlan-id"))
			default:
				p.line(" switchport trunk allowed Vlan %s", v.text("vlan-id"))
			}
		}
	}
}

// configTables is the container that says what tables there are in CONFIG_DB.
const configTables = "tamtam-status:config-tables"

// shownTables are the tables of CONFIG_DB whose rows the running configuration
// has commands for.
func shownTables() []string {
	list := []string{
		"PORT", "PORTCHANNEL", "PORTCHANNEL_MEMBER", "VLAN", "VLAN_MEMBER", "BREAKOUT_CFG", "SWITCH", "FDB",
		"INTERFACE", "VLAN_INTERFACE", "PORTCHANNEL_INTERFACE", "LOOPBACK_INTERFACE", "STATIC_ROUTE", "NEIGH",
		"TAM_SWITCH_TABLE", "TAM_FEATURES_TABLE",
	}
	for _, o := range objects() {
		list = append(list, o.table)
	}
	return list
}

// leftOut names, in comments, what is in CONFIG_DB but not written above. ACL rules that are the
// match of a flow group are above, except fields that no command can express.
func (p *printout) leftOut(tables, tam tree) {
	above := map[string]uint64{}
	for _, g := range tam.items("flowgroups", "flowgroup") {
		if g.text("config", "priority") != "" { // it has a rule
			above["ACL_RULE"]++
		}
	}
	shown := shownTables()
	var lines printout
	for _, t := range tables.sorted("table") {
		rows, known := t.count("state", "rows")
		if slices.Contains(shown, t.name()) || known && rows <= above[t.name()] {
			continue
		}
		switch n := rows - above[t.name()]; {
		case !known:
			lines.line("! %s: rows, it is not known how many", t.name())
		case n == 1:
			lines.line("! %s: 1 row", t.name())
		default:
			lines.line("! %s: %d rows", t.name(), n)
		}
	}
	for _, g := range tam.sorted("flowgroups", "flowgroup") {
		if others := g.texts("config", "other-fields"); len(others) > 0 {
			lines.line("! ACL_RULE of flow group %s: %s", quote(g.name()), strings.Join(others, " "))
		}
	}
	if lines.Len() > 0 {
		p.line("! not shown here, in CONFIG_DB:\n%s!", &lines)
	}
}
