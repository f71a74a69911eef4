package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Where debug counters are in the tree.
const (
	debugCounters     = "tamtam-debugcounter:debug-counters"
	debugCapabilities = "tamtam-debugcounter:debug-counter-capabilities"
)

// dropCounters reads the debug counters, those of a group or type where the call names one.
func dropCounters(ctx context.Context, c *call) ([]tree, map[string]any, error) {
	found, err := c.sh.client.all(ctx, gpath(debugCounters))
	if err != nil {
		return nil, nil, err
	}
	entries := slices.DeleteFunc(found.sorted("debug-counter"), func(e tree) bool {
		return c.has("group") && e.text("state", "group") != c.args["group"] ||
			c.has("type") && e.text("state", "type") != c.args["type"]
	})
	return entries, one(debugCounters, found), nil
}

// aliasOf is what a counter is called where it is shown.
func aliasOf(e tree) string {
	if alias := e.text("state", "alias"); alias != "" {
		return alias
	}
	return e.name()
}

// showDropConfiguration has the columns of SONiC's command, and what became of each counter.
func showDropConfiguration(ctx context.Context, c *call) (*view, error) {
	entries, data, err := dropCounters(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	below := whyNots(entries)
	for _, e := range entries {
		state := e.at("state")
		first := []string{
			e.name(), aliasOf(e), orDash(state.text("group")), orDash(state.text("type")), orDash(title(state.text("status"))),
			"", orDash(state.text("description")),
		}
		for _, r := range e.sortedBy("drop-reason", "reasons", "reason") {
			name := r.plain("drop-reason")
			first[5] = name
			rows, first = append(rows, first), make([]string, len(first))
			below = append(below, whyNotLine(e.name()+" "+name, r.at("state"))...)
		}
		if first[0] != "" {
			rows = append(rows, first)
		}
	}
	return tableView(data, []column{
		{"Counter", 12, 2}, {"Alias", 12, 2}, {"Group", 8, 2}, {"Type", 20, 2}, {"Status", 7, 2}, {"Reasons", 20, 2},
		{"Description", 11, 0},
	}, rows, below), nil
}

// showDropCounts has the columns of SONiC's command: what ports have lost, and behind it the counters of ports; then
// those of the switch.
func showDropCounts(ctx context.Context, c *call) (*view, error) {
	entries, data, err := dropCounters(ctx, c)
	if err != nil {
		return nil, err
	}
	ports, interfaces, err := c.sh.interfaces(ctx, &call{sh: c.sh, args: map[string]string{}})
	if err != nil {
		return nil, err
	}
	maps.Copy(data, interfaces)
	var ofPorts, ofSwitch []tree
	for _, e := range entries {
		if strings.HasPrefix(e.text("state", "type"), "SWITCH_") {
			ofSwitch = append(ofSwitch, e)
		} else {
			ofPorts = append(ofPorts, e)
		}
	}
	chosen := c.has("group") || c.has("type")
	return framed(data, func(p *printout) {
		var since sinces
		if len(ofPorts) > 0 || !chosen {
			p.portDrops(ports, ofPorts, !chosen, &since)
		}
		if len(ofSwitch) > 0 {
			if len(ofPorts) > 0 || !chosen {
				p.line("")
			}
			columns, row := []column{{"Device", 14, 2}}, []string{"switch"}
			for _, e := range ofSwitch {
				columns = append(columns, column{aliasOf(e), 8, 2})
				row = append(row, counted(e, "state", "packets"))
				if e.text("state", "packets") != "" {
					since.add(aliasOf(e), []string{""}, map[string]string{"": e.text("state", "counted-since")})
				}
			}
			p.table(columns, [][]string{row})
		}
		p.after(append(since.lines(), whyNots(entries)...))
	}), nil
}

// portDrops writes the counters of ports, a line for each port; all: what ports count without them, too.
func (p *printout) portDrops(ports, counters []tree, all bool, since *sinces) {
	columns := []column{{"Iface", 14, 2}, {"State", 5, 2}}
	standard := [][2]string{
		{"RX_ERR", "in-errors"}, {"RX_DROPS", "in-discards"}, {"TX_ERR", "out-errors"}, {"TX_DROPS", "out-discards"},
	}
	if !all {
		standard = nil
	}
	for _, s := range standard {
		columns = append(columns, column{s[0], 8, 2})
	}
	if all {
		since.addPorts("RX_ERR to TX_DROPS", ports, func(port tree) (string, string) {
			state := port.at("state", "counters")
			return state.text("in-discards"), state.text("counted-since")
		})
	}
	of := map[string][]string{}
	for _, e := range counters {
		columns = append(columns, column{aliasOf(e), 8, 2})
		at := map[string]string{}
		items := e.items("ports", "port")
		for _, x := range items {
			at[x.plain("port")] = counted(x, "state", "packets")
		}
		since.addPorts(aliasOf(e), items, func(port tree) (string, string) {
			return port.text("state", "packets"), port.text("state", "counted-since")
		})
		for _, port := range ports {
			of[port.name()] = append(of[port.name()], orDash(at[port.name()]))
		}
	}
	var rows [][]string
	for _, port := range ports {
		if !strings.HasPrefix(port.name(), "Ethernet") {
			continue
		}
		row := []string{port.name(), stateLetter(port)}
		for _, s := range standard {
			row = append(row, counted(port, "state", "counters", s[1]))
		}
		rows = append(rows, append(row, of[port.name()]...))
	}
	p.table(columns, rows)
}

// showDropCapabilities has what SONiC's command has.
func showDropCapabilities(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(debugCapabilities))
	if err != nil {
		return nil, err
	}
	types := found.sortedBy("type", "capability")
	return framed(one(debugCapabilities, found), func(p *printout) {
		if len(types) == 0 {
			p.line("The switch does not say that it can count drops by reason")
			return
		}
		var rows [][]string
		for _, t := range types {
			rows = append(rows, []string{t.plain("type"), counted(t, "state", "count")})
		}
		p.table([]column{{"Counter Type", 20, 2}, {"Total", 5, 0}}, rows)
		for _, t := range types {
			p.line("")
			p.line("%s", t.plain("type"))
			for _, r := range t.texts("state", "drop-reason") {
				p.line("        %s", r)
			}
		}
	}), nil
}

// clickedDropCounter makes rows of SONiC's "config dropcounters": install NAME TYPE REASONS, with options, or with word
// drop-reason NAME REASONS.
func clickedDropCounter(install bool, no string) func([]string) ([]string, error) {
	form := "NAME [REASON,REASON]"
	if install {
		form = "NAME TYPE [REASON,REASON] [-a ALIAS] [-g GROUP] [-d DESC]"
	}
	return func(words []string) ([]string, error) {
		places, options, err := clickedOptions(words, map[string]string{
			"-a": "alias", "--alias": "alias", "-g": "group", "--group": "group", "-d": "desc", "--desc": "desc",
		})
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
		name := quote(places[0])
		lines := []string{"configure"}
		if install {
			lines = append(lines, "drop-counter "+name+" type "+quote(places[1])+options)
		}
		for reason := range strings.SplitSeq(strings.Trim(places[need-1], "[]"), ",") {
			if reason = strings.TrimSpace(reason); reason == "" {
				return nil, fmt.Errorf("a reason is empty: want %s", form)
			}
			lines = append(lines, no+"drop-reason "+name+" "+quote(reason))
		}
		return lines, nil
	}
}

// clickedOptions parts what stands by its place from options with a value, which are written as the shell has them.
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
		options += " " + word + " " + quote(words[i+1])
		i++
	}
	return places, options, nil
}
