// Package trimming shows how the switch trims packets, and how many.
//
// What belongs here: these commands, with SONiC's words. What does not: the counters of queues, which package cli shows
// with the others of queues.
package trimming

import (
	"context"
	"fmt"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// root is the path of trimming in the tree.
const root = "tamtam-trimming:switch-trimming"

// A Resolver returns the name of the interface that a user means.
type Resolver func(ctx context.Context, s *kit.Session, text string) (string, error)

// Shows adds the commands that show. port is the kind of the name of a port.
func Shows(
	add func(show func(context.Context, *kit.Call) (*kit.View, error), parts ...any), port *kit.Kind, resolve Resolver,
) {
	trimming := kit.Keyword("switch-trimming", "What becomes of packets that queues trim")
	add(showGlobal, "show", trimming, kit.Keyword("global", "Size, DSCP, traffic class and queue of trimmed packets"))
	add(showCapabilities, "show", trimming, kit.Keyword("capabilities", "What the switch can do"))
	add(showSwitch, "show", kit.Keyword("switch", "The switch as a whole"), kit.Keyword("counters", "Trimmed packets"))
	add(showPorts(resolve), "show interface", kit.Keyword("trim-counters", "Packets that queues of ports trimmed"),
		kit.Only(port))
}

// showGlobal shows the settings that are in force, in SONiC's form.
func showGlobal(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(root))
	if err != nil {
		return nil, err
	}
	state := found.At("state")
	var rows [][]string
	for _, s := range [][2]string{{"size", "size"}, {"dscp-value", "DSCP value"}, {"tc-value", "TC value"},
		{"queue-index", "queue index"}} {
		v := state.Text(s[0])
		if v == "" {
			v = "N/A"
		}
		rows = append(rows, []string{"Packet trimming " + s[1], v})
	}
	return kit.TableView(kit.One(root, found), []kit.Column{kit.Col("Configuration", 27, 2), kit.Col("Value", 7, 0)}, rows,
		kit.WhyNotLine("SWITCH_TRIMMING", state)), nil
}

// showCapabilities shows what the ASIC can do.
func showCapabilities(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(root))
	if err != nil {
		return nil, err
	}
	can := found.At("capabilities", "state")
	list := func(leaf string) string {
		if names := can.Texts(leaf); len(names) > 0 {
			return strings.Join(names, ", ")
		}
		return "N/A"
	}
	return kit.TableView(kit.One(root, found), []kit.Column{kit.Col("Capability", 27, 2), kit.Col("Value", 7, 0)},
		[][]string{{"Packet trimming", kit.OrDash(can.Text("capable"))}, {"DSCP resolution modes", list("dscp-mode")},
			{"Queue resolution modes", list("queue-mode")}, {"Traffic classes", kit.OrDash(can.Text("traffic-classes"))},
			{"Unicast queues of a port", kit.OrDash(can.Text("unicast-queues"))}}, nil), nil
}

// showSwitch shows the counters of the whole switch.
func showSwitch(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(root))
	if err != nil {
		return nil, err
	}
	columns := []kit.Column{kit.Col("TrimSent/pkts", 13, 2), kit.Col("TrimDrop/pkts", 13, 0)}
	return kit.TableView(kit.One(root, found), columns,
		[][]string{{kit.Counted(found, "state", "counters", "out-trim-pkts"),
			kit.Counted(found, "state", "counters", "dropped-trim-pkts")}}, nil), nil
}

// showPorts returns the function that shows the counters of ports.
func showPorts(resolve Resolver) func(ctx context.Context, c *kit.Call) (*kit.View, error) {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		only := ""
		if text := c.Args["name"]; text != "" {
			name, err := resolve(ctx, c.Session, text)
			if err != nil {
				return nil, err
			}
			only = name
		}
		found, err := c.Session.Client.All(ctx, tree.Path(kit.InterfacesRoot))
		if err != nil {
			return nil, err
		}
		var rows [][]string
		var shown []any
		for _, e := range found.Sorted("interface") {
			if only != "" && e.Name() != only || !strings.HasPrefix(e.Name(), "Ethernet") {
				continue
			}
			row := []string{e.Name()}
			for _, leaf := range []string{"trim-pkts", "out-trim-pkts", "dropped-trim-pkts"} {
				row = append(row, kit.Counted(e, "state", "counters", leaf))
			}
			rows, shown = append(rows, row), append(shown, map[string]any{
				"name": e.Name(), "state": map[string]any{"counters": e.At("state", "counters").Value}})
		}
		data := map[string]any{kit.InterfacesRoot: map[string]any{"interface": shown}}
		return kit.TableView(data, []kit.Column{kit.Col("Interface", 14, 2), kit.Col("TRIM_PKTS", 10, 2),
			kit.Col("TRIM_TX_PKTS", 12, 2), kit.Col("TRIM_DRP_PKTS", 13, 0)}, rows, nil), nil
	}
}

// ClickedConfig returns the lines for SONiC's "config switch-trimming global", behind which there are options.
func ClickedConfig(words []string) ([]string, error) {
	options := map[string]string{"-s": "size", "--size": "size", "-d": "dscp-value", "--dscp": "dscp-value",
		"-t": "tc-value", "--tc": "tc-value", "-q": "queue-index", "--queue": "queue-index"}
	line := "switch-trimming global"
	for i := 0; i < len(words); i += 2 {
		field, known := options[words[i]]
		switch {
		case !known:
			return nil, fmt.Errorf("%q is not understood: want --size, --dscp, --tc or --queue", words[i])
		case i+1 == len(words):
			return nil, fmt.Errorf("%s has no value", words[i])
		}
		line += " " + field + " " + kit.Quote(words[i+1])
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("no options are provided: want --size, --dscp, --tc or --queue")
	}
	return []string{"configure", line}, nil
}
