package models

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// interfacesPath is the list of ports.
const interfacesPath = "/interfaces/interface"

// A cage is a group of ports at one place of the front panel. They have the same index as the first port. Without an
// index, the cage has only the first port.
type cage struct {
	ports  []string // in order of their numbers
	lanes  []string
	speeds int
	row    map[string]string // the row of the first port
}

// finishBreakout rewrites the PORT rows of a cage according to its breakout mode. Without a mode the cage becomes one
// port again.
func finishBreakout(c tree.Change) error {
	name := c.Keys()[0]
	cg, err := findCage(c, name)
	if err != nil {
		return err
	}
	n, speed := 1, cg.speeds
	if fields := c.Fields(schema.CfgBreakout); fields != nil {
		b, err := schema.ParseBreakout(name, fields)
		if err != nil {
			return err
		}
		if !c.Changed("config/num-breakouts") && !c.Changed("config/breakout-speed") {
			return nil
		}
		n, speed = b.Groups[0].Count, int(b.Groups[0].Speeds[0])
	}
	if len(cg.lanes)%n != 0 {
		return fmt.Errorf("a cage of %d lanes cannot be split into %d ports", len(cg.lanes), n)
	}
	return cg.split(c, n, speed)
}

// breakoutMakes returns the ports that a mode of the cage could create: one starting at each of its lanes.
func breakoutMakes(c tree.Change) (path string, keys []string) {
	cg, err := findCage(c, c.Keys()[0])
	if err != nil {
		return interfacesPath, nil
	}
	base, _ := schema.PortNumber(cg.ports[0])
	for i := range cg.lanes {
		keys = append(keys, fmt.Sprintf("Ethernet%d", int(base)+i))
	}
	return interfacesPath, keys
}

// findCage returns the ports that share the cage of a port. The port must be the first of its cage.
func findCage(c tree.Change, name string) (cage, error) {
	all, err := c.Entries(interfacesPath, schema.CfgPort)
	if err != nil {
		return cage{}, err
	}
	row, ok := all[name]
	if !ok {
		return cage{}, fmt.Errorf("there is no port %s", name)
	}
	cg := cage{row: row}
	for p, r := range all {
		if p == name || row["index"] != "" && r["index"] == row["index"] {
			cg.ports = append(cg.ports, p)
		}
	}
	schema.SortNames(cg.ports)
	if cg.ports[0] != name {
		return cage{}, fmt.Errorf("%s is not the first port of its cage, %s is", name, cg.ports[0])
	}
	for _, p := range cg.ports {
		cg.lanes = append(cg.lanes, strings.Split(all[p]["lanes"], ",")...)
		s, err := strconv.Atoi(all[p]["speed"])
		if err != nil {
			return cage{}, fmt.Errorf("port %s has speed %q", p, all[p]["speed"])
		}
		cg.speeds += s
	}
	return cg, nil
}

// split divides the cage into n ports with the settings of the first.
func (cg cage) split(c tree.Change, n, speed int) error {
	base, ok := schema.PortNumber(cg.ports[0])
	if !ok {
		return fmt.Errorf("%s has no number", cg.ports[0])
	}
	alias := cg.row["alias"]
	if len(cg.ports) > 1 {
		alias = strings.TrimSuffix(alias, "/1")
	}
	index := cmp.Or(cg.row["index"], strconv.Itoa(int(base)))
	per := len(cg.lanes) / n
	var wanted []string
	var errs []error
	for i := range n {
		name := fmt.Sprintf("Ethernet%d", int(base)+i*per)
		wanted = append(wanted, name)
		fields := maps.Clone(cg.row)
		if i > 0 {
			delete(fields, "description")
		}
		fields["lanes"] = strings.Join(cg.lanes[i*per:(i+1)*per], ",")
		fields["speed"] = strconv.Itoa(speed)
		fields["index"] = index
		if alias != "" {
			fields["alias"] = alias
			if n > 1 {
				fields["alias"] = fmt.Sprintf("%s/%d", alias, i+1)
			}
		}
		errs = append(errs, c.PutEntry(interfacesPath, name, schema.CfgPort, fields, slices.Contains(cg.ports, name)))
	}
	for _, p := range cg.ports {
		if !slices.Contains(wanted, p) {
			errs = append(errs, c.RemoveEntry(interfacesPath, p))
		}
	}
	return errors.Join(errs...)
}

// finishSpeed gives a port whose speed a Set deletes the speed of the breakout mode of its cage. Without a mode there
// is no default, and the Set is refused because the row has no speed.
func finishSpeed(c tree.Change) error {
	row := c.Fields(schema.CfgPort)
	if row == nil || (tree.Record{Fields: row}).Field("speed") != "" || !c.Changed("ethernet/config/port-speed") {
		return nil
	}
	all, err := c.Entries(interfacesPath, schema.CfgPort)
	if err != nil {
		return err
	}
	ports := slices.Clone(c.Keys())
	for p, r := range all {
		if p != c.Keys()[0] && row["index"] != "" && r["index"] == row["index"] {
			ports = append(ports, p)
		}
	}
	schema.SortNames(ports)
	fields, err := c.Read(swss.ConfigDB, schema.CfgBreakout, ports[0])
	if err != nil {
		return err
	}
	mode, err := schema.ParseBreakout(ports[0], fields)
	i := slices.Index(ports, c.Keys()[0])
	for _, g := range mode.Groups {
		if err == nil && i < g.Count {
			tree.Record{Fields: row}.Set("speed", strconv.Itoa(int(g.Speeds[0])))
			return nil
		}
		i -= g.Count
	}
	return nil
}

// breakoutModule returns the mapping of openconfig-platform-port: the interfaces of each port on the front panel. The
// mode is written at their interface.
func breakoutModule() tree.Module {
	speed := readOnly(words("speed", "", speeds...))
	groups := func(db swss.DBName, table, at string) tree.Row {
		return tree.Row{
			DB: db, Table: table, Key: "{*}", Of: "index speed lanes", Each: "name index", Fold: breakoutGroups,
			Leaves: append(numbers(at, "num-breakouts", "num-physical-channels"), leaf(at+"/breakout-speed", speed)),
		}
	}
	inForce := groups(swss.ApplDB, schema.AppPort, "state")
	inForce.Entry = true
	return tree.Module{Name: "openconfig-platform-port", Groups: []tree.Group{{
		Path: "/components/component/port/breakout-mode/groups/group",
		View: "it is written in " + interfacesPath + "/breakout-mode",
		Rows: []tree.Row{inForce, groups(swss.ConfigDB, schema.CfgPort, "config")},
	}}}
}

// breakoutGroups returns the groups of alike interfaces of each port on the front panel, in the order of their first
// interfaces. Each interface has its port's number, its speed and its lanes.
func breakoutGroups(interfaces map[string]string) map[string]string {
	type group struct {
		Speed string `json:"speed"`
		Lanes string `json:"num-physical-channels"`
		Count int    `json:"num-breakouts,string"`
	}
	ports := map[string][]group{}
	for _, name := range slices.SortedFunc(maps.Keys(interfaces), schema.CompareNames) {
		f := strings.Split(interfaces[name], "|")
		if len(f) != 3 || f[0] == "" || f[2] == "" {
			continue
		}
		g := group{f[1], strconv.Itoa(strings.Count(f[2], ",") + 1), 0}
		same := func(o group) bool { return o.Speed == g.Speed && o.Lanes == g.Lanes }
		i := slices.IndexFunc(ports[f[0]], same)
		if i < 0 {
			i = len(ports[f[0]])
			ports[f[0]] = append(ports[f[0]], g)
		}
		ports[f[0]][i].Count++
	}
	out := map[string]string{}
	for port, groups := range ports {
		for i, g := range groups {
			if text, err := json.Marshal(g); err == nil {
				out[fmt.Sprintf("%s%s %d", portComponent, port, i+1)] = string(text)
			}
		}
	}
	return out
}
