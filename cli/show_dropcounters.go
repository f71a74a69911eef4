package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Paths of debug counters in the tree.
const (
	debugCounters     = "tamtam-debugcounter:debug-counters"
	debugCapabilities = "tamtam-debugcounter:debug-counter-capabilities"
	persistentDrops   = "tamtam-debugcounter:persistent-drops"
)

// dropCounters returns the debug counters, only those of a group or type if the call names one.
func dropCounters(ctx context.Context, c *kit.Call) ([]tree.Node, map[string]any, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(debugCounters))
	if err != nil {
		return nil, nil, err
	}
	entries := slices.DeleteFunc(found.Sorted("debug-counter"), func(e tree.Node) bool {
		return c.Has("group") && e.Text("state", "group") != c.Args["group"] ||
			c.Has("type") && e.Text("state", "type") != c.Args["type"]
	})
	return entries, kit.One(debugCounters, found), nil
}

// aliasOf returns the displayed name of a counter.
func aliasOf(e tree.Node) string {
	if alias := e.Text("state", "alias"); alias != "" {
		return alias
	}
	return e.Name()
}

// showDropConfiguration shows the columns of SONiC's command, and the status of each counter.
func showDropConfiguration(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := dropCounters(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	below := kit.WhyNots(entries)
	for _, e := range entries {
		state := e.At("state")
		first := []string{
			e.Name(), aliasOf(e), kit.OrDash(state.Text("group")), kit.OrDash(state.Text("type")),
			kit.OrDash(kit.Title(state.Text("status"))),
			"", kit.OrDash(state.Text("description")), kit.OrDash(state.Text("drop-monitor-status")),
			kit.OrDash(state.Text("window")), kit.OrDash(state.Text("drop-count-threshold")),
			kit.OrDash(state.Text("incident-count-threshold")),
		}
		for _, r := range e.SortedBy("drop-reason", "reasons", "reason") {
			name := r.Plain("drop-reason")
			first[5] = name
			rows, first = append(rows, first), make([]string, len(first))
			below = append(below, kit.WhyNotLine(e.Name()+" "+name, r.At("state"))...)
		}
		if first[0] != "" {
			rows = append(rows, first)
		}
	}
	return kit.TableView(data, []kit.Column{
		kit.Col("Counter", 12, 2), kit.Col("Alias", 12, 2), kit.Col("Group", 8, 2), kit.Col("Type", 20, 2),
		kit.Col("Status", 7, 2), kit.Col("Reasons", 20, 2),
		kit.Col("Description", 11, 2), kit.Col("Drop Monitor", 12, 2), kit.Col("Window", 6, 2),
		kit.Col("Drops", 5, 2), kit.Col("Incidents", 9, 0),
	}, rows, below), nil
}

// showDropCounts shows the columns of SONiC's command: the standard counters of ports, then the debug counters of
// ports, then those of the switch.
func showDropCounts(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := dropCounters(ctx, c)
	if err != nil {
		return nil, err
	}
	ports, _, err := readInterfaces(ctx, c.Session, &kit.Call{Session: c.Session, Args: map[string]string{}})
	if err != nil {
		return nil, err
	}
	ports = slices.DeleteFunc(ports, func(e tree.Node) bool { return !strings.HasPrefix(e.Name(), "Ethernet") })
	var ofPorts, ofSwitch []tree.Node
	for _, e := range entries {
		if strings.HasPrefix(e.Text("state", "type"), "SWITCH_") {
			ofSwitch = append(ofSwitch, e)
		} else {
			ofPorts = append(ofPorts, e)
		}
	}
	chosen := c.Has("group") || c.Has("type")
	if len(ofPorts) > 0 || !chosen {
		maps.Copy(data, kit.InterfacesData(ports))
	}
	return kit.Framed(data, func(p *kit.Printout) {
		var since kit.Sinces
		if len(ofPorts) > 0 || !chosen {
			writePortDrops(p, ports, ofPorts, !chosen, &since)
		}
		if len(ofSwitch) > 0 {
			if len(ofPorts) > 0 || !chosen {
				p.Line("")
			}
			columns, row := []kit.Column{kit.Col("Device", 14, 2)}, []string{"switch"}
			for _, e := range ofSwitch {
				columns = append(columns, kit.Col(aliasOf(e), 8, 2))
				row = append(row, kit.Counted(e, "state", "packets"))
				if e.Text("state", "packets") != "" {
					since.Add(aliasOf(e), []string{""}, map[string]string{"": e.Text("state", "counted-since")})
				}
			}
			p.Table(columns, [][]string{row})
		}
		p.After(append(since.Lines(), kit.WhyNots(entries)...))
	}), nil
}

// writePortDrops writes the counters of ports, one line per port. If all is set, it includes the standard counters.
func writePortDrops(p *kit.Printout, ports, counters []tree.Node, all bool, since *kit.Sinces) {
	columns := []kit.Column{kit.Col("Iface", 14, 2), kit.Col("State", 5, 2)}
	standard := [][2]string{
		{"RX_ERR", "in-errors"}, {"RX_DROPS", "in-discards"}, {"TX_ERR", "out-errors"}, {"TX_DROPS", "out-discards"},
	}
	if !all {
		standard = nil
	}
	for _, s := range standard {
		columns = append(columns, kit.Col(s[0], 8, 2))
	}
	if all {
		since.AddPorts("RX_ERR to TX_DROPS", ports, func(port tree.Node) (string, string) {
			state := port.At("state", "counters")
			return state.Text("in-discards"), state.Text("counted-since")
		})
	}
	of := map[string][]string{}
	for _, e := range counters {
		columns = append(columns, kit.Col(aliasOf(e), 8, 2))
		at := map[string]string{}
		items := e.Items("ports", "port")
		for _, x := range items {
			at[x.Plain("port")] = kit.Counted(x, "state", "packets")
		}
		since.AddPorts(aliasOf(e), items, func(port tree.Node) (string, string) {
			return port.Text("state", "packets"), port.Text("state", "counted-since")
		})
		for _, port := range ports {
			of[port.Name()] = append(of[port.Name()], kit.OrDash(at[port.Name()]))
		}
	}
	var rows [][]string
	for _, port := range ports {
		row := []string{port.Name(), stateLetter(port)}
		for _, s := range standard {
			row = append(row, kit.Counted(port, "state", "counters", s[1]))
		}
		rows = append(rows, append(row, of[port.Name()]...))
	}
	p.Table(columns, rows)
}

// showDropCapabilities shows the columns of SONiC's command.
func showDropCapabilities(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(debugCapabilities))
	if err != nil {
		return nil, err
	}
	types := found.SortedBy("type", "capability")
	return kit.Framed(kit.One(debugCapabilities, found), func(p *kit.Printout) {
		if len(types) == 0 {
			p.Line("The switch does not report that it can count drops by reason")
			return
		}
		var rows [][]string
		for _, t := range types {
			rows = append(rows, []string{t.Plain("type"), kit.Counted(t, "state", "count")})
		}
		p.Table([]kit.Column{kit.Col("Counter Type", 20, 2), kit.Col("Total", 5, 0)}, rows)
		for _, t := range types {
			p.Line("")
			p.Line("%s", t.Plain("type"))
			for _, r := range t.Texts("state", "drop-reason") {
				p.Line("        %s", r)
			}
		}
	}), nil
}

// clickedDropCounter returns the lines for SONiC's "config dropcounters". If install is set, its words are NAME TYPE
// REASONS and options, which create a counter. Otherwise the words are NAME REASONS, and no is the text before each
// drop-reason.
func clickedDropCounter(install bool, no string) func([]string) ([]string, error) {
	form := "NAME [REASON,REASON]"
	if install {
		form = "NAME TYPE [REASON,REASON] [-a ALIAS] [-g GROUP] [-d DESC] [-w SECONDS -dct DROPS -ict INCIDENTS]"
	}
	return func(words []string) ([]string, error) {
		known := map[string]string{
			"-a": "alias", "--alias": "alias", "-g": "group", "--group": "group", "-d": "desc", "--desc": "desc",
		}
		for _, o := range watchOptions {
			known[o.short], known[o.long] = rowField{name: o.field}.word(), rowField{name: o.field}.word()
		}
		places, options, err := clickedOptions(words, known)
		if n := watchNumbers(words); err == nil && n != 0 && n != len(watchOptions) {
			err = errors.New("persistent drops need all three: -w, -dct and -ict")
		}
		need := 2
		if install {
			need = 3
		}
		if err == nil && (len(places) != need || !install && options != "") {
			err = fmt.Errorf("%d words", len(words))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: want %s", err, form)
		}
		name := kit.Quote(places[0])
		lines := []string{"configure"}
		if install {
			lines = append(lines, "drop-counter "+name+" type "+kit.Quote(places[1])+options)
		}
		for reason := range strings.SplitSeq(strings.Trim(places[need-1], "[]"), ",") {
			if reason = strings.TrimSpace(reason); reason == "" {
				return nil, fmt.Errorf("a reason is empty: want %s", form)
			}
			lines = append(lines, no+"drop-reason "+name+" "+kit.Quote(reason))
		}
		return lines, nil
	}
}

// clickedOptions separates positional words from options with a value. It returns the options in the form of the shell.
func clickedOptions(words []string, known map[string]string) (places []string, options string, err error) {
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "-") {
			places = append(places, words[i])
			continue
		}
		word, ok := known[words[i]]
		if !ok || i+1 == len(words) {
			return nil, "", fmt.Errorf("%s is not understood, or has no value", words[i])
		}
		options += " " + word + " " + kit.Quote(words[i+1])
		i++
	}
	return places, options, nil
}
