// Package buffers shows the counters of queues, the watermarks of queues, ingress priority groups and buffer pools, the
// drops of priority groups, and flow control, and clears them, with SONiC's words.
//
// What belongs here: these commands. What does not: schedulers and traps, which package cli shows.
package buffers

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Paths of the lists in the tree.
const (
	queuesRoot = "tamtam-qos:queues"
	groupsRoot = "tamtam-qos:priority-groups"
	poolsRoot  = "tamtam-qos:buffer-pools"
	flowRoot   = "tamtam-qos:flow-control"
)

// A Show is the function of a command that shows something.
type Show = func(context.Context, *kit.Call) (*kit.View, error)

// A watermark is one of SONiC's watermarks: what its commands say, its leaf without the table's name, and the word of
// the request that clears it.
type watermark struct {
	object, part []kit.Element // the words before and behind "watermark"
	root, list   string
	leaf, prefix string // prefix precedes the numbers in the heads of columns; empty for objects that are not of ports
	request      string
}

func watermarks() []watermark {
	queue := []kit.Element{kit.Keyword("queue", "Egress queues")}
	group := []kit.Element{kit.Keyword("priority-group", "Ingress priority groups")}
	return []watermark{
		{queue, []kit.Element{kit.Keyword("unicast", "Of unicast queues, which all queues are")},
			queuesRoot, "queue", "watermark", "UC", "Q_SHARED_UNI"},
		{group, []kit.Element{kit.Keyword("shared", "In the part of the pool that they share")},
			groupsRoot, "priority-group", "shared-watermark", "PG", "PG_SHARED"},
		{group, []kit.Element{kit.Keyword("headroom", "In their headroom")},
			groupsRoot, "priority-group", "headroom-watermark", "PG", "PG_HEADROOM"},
		{[]kit.Element{kit.Keyword("buffer-pool", "Buffer pools")}, nil, poolsRoot, "buffer-pool", "watermark", "",
			"BUFFER_POOL"},
		{[]kit.Element{kit.Keyword("headroom-pool", "The headroom of buffer pools")}, nil,
			poolsRoot, "buffer-pool", "headroom-watermark", "", "HEADROOM_POOL"},
	}
}

// A table is one of the two tables of watermarks that commands show and clear: its word, its leaf, and the kind of its
// clearing.
type table struct {
	word kit.Element
	leaf string
	kind string
}

func tables() []table {
	return []table{
		{kit.Keyword("watermark", "The most octets held since a user cleared it"), "user", "watermarks"},
		{kit.Keyword("persistent-watermark", "The same, with a clearing of its own"), "persistent", "persistent-watermarks"},
	}
}

// words returns the words of a command about a watermark.
func (w watermark) words(first any, t table) []any {
	parts := []any{first}
	for _, list := range [][]kit.Element{w.object, {t.word}, w.part} {
		for _, e := range list {
			parts = append(parts, e)
		}
	}
	return parts
}

// Shows adds the commands that show.
func Shows(add func(show Show, parts ...any)) {
	for _, w := range watermarks() {
		for _, t := range tables() {
			if w.prefix == "" {
				add(showPools(t.leaf+"-"+w.leaf), w.words("show", t)...)
				continue
			}
			add(showParts(w.root, w.list, w.prefix, func(e tree.Node) string {
				return kit.OrDash(e.Text("state", t.leaf+"-"+w.leaf))
			}), w.words("show", t)...)
		}
	}
	add(showParts(groupsRoot, "priority-group", "PG", func(e tree.Node) string {
		return kit.Counted(e, "state", "dropped-packets")
	}), "show", kit.Keyword("priority-group", "Ingress priority groups"), kit.Keyword("drop", "Packets without room"),
		"counters")
	port := kit.Maybe(&kit.Kind{Label: "<EthernetN>", Parse: kit.ParseName, Live: kit.LiveInterfaces}, "Only of this port")
	bursts := kit.Keyword("bursts", "Times in which they held much, and the flows that made them")
	queue := kit.Keyword("queue", "Egress queues")
	add(showBursts(false), "show", queue, bursts, port)
	add(showBursts(true), "show", queue, bursts, kit.Keyword("detail", "All flows of each"), port)
	pfc := kit.Keyword("pfc", "Priority flow control")
	add(showPFC, "show", pfc, "counters")
	add(showPriorities, "show", pfc, kit.Keyword("priority", "Priorities with flow control"))
}

// Clears adds the commands that clear: the kind and the name of the operation clear-counters.
func Clears(add func(kind, name string, parts ...any)) {
	for _, w := range watermarks() {
		for _, t := range tables() {
			add(t.kind, w.request, w.words("clear", t)...)
		}
	}
	add("priority-groups", "", "clear", kit.Keyword("priority-group", "Ingress priority groups"),
		kit.Keyword("drop", "Packets without room"), "counters")
	add("flow-control", "", "clear", kit.Keyword("pfc", "Priority flow control"), "counters")
}

// showParts shows a number of each queue or priority group: a row for each port, as SONiC does.
func showParts(root, list, prefix string, value func(e tree.Node) string) Show {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		found, err := c.Session.Client.All(ctx, tree.Path(root))
		if err != nil {
			return nil, err
		}
		of, parts := map[string]map[int]string{}, 0
		for _, e := range found.Sorted(list) {
			port, index, _ := strings.Cut(e.Name(), ":")
			n, err := strconv.Atoi(index)
			if err != nil {
				continue
			}
			if of[port] == nil {
				of[port] = map[int]string{}
			}
			of[port][n], parts = value(e), max(parts, n+1)
		}
		columns := []kit.Column{kit.Col("Port", 12, 2)}
		for n := range parts {
			columns = append(columns, kit.Col(prefix+strconv.Itoa(n), 6, 2))
		}
		var rows [][]string
		for _, port := range tree.SortNaturally(slices.Collect(maps.Keys(of))) {
			row := []string{port}
			for n := range parts {
				row = append(row, kit.OrDash(of[port][n]))
			}
			rows = append(rows, row)
		}
		return kit.TableView(kit.One(root, found), columns, rows, nil), nil
	}
}

// showPools shows a watermark of each buffer pool.
func showPools(leaf string) Show {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		found, err := c.Session.Client.All(ctx, tree.Path(poolsRoot))
		if err != nil {
			return nil, err
		}
		var rows [][]string
		for _, e := range found.Sorted("buffer-pool") {
			rows = append(rows, []string{e.Name(), kit.OrDash(e.Text("state", leaf))})
		}
		return kit.TableView(kit.One(poolsRoot, found), []kit.Column{kit.Col("Pool", 24, 2), kit.Col("Bytes", 12, 0)},
			rows, nil), nil
	}
}

// showPFC shows the frames of flow control that ports received and sent, by priority.
func showPFC(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(flowRoot))
	if err != nil {
		return nil, err
	}
	columns := []kit.Column{kit.Col("Port", 12, 2), kit.Col("Way", 3, 2)}
	for n := range 8 {
		columns = append(columns, kit.Col("PFC"+strconv.Itoa(n), 6, 2))
	}
	var rows [][]string
	for _, d := range []struct{ way, leaf string }{{"Rx", "received"}, {"Tx", "sent"}} {
		for _, e := range found.Sorted("ports", "port") {
			row := []string{e.Name(), d.way}
			for n := range 8 {
				row = append(row, kit.Counted(e, "state", d.leaf+"-frames-"+strconv.Itoa(n)))
			}
			rows = append(rows, row)
		}
	}
	return kit.TableView(kit.One(flowRoot, found), columns, rows, nil), nil
}

// showPriorities shows which priorities of each port have flow control.
func showPriorities(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(flowRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range found.Sorted("ports", "port") {
		rows = append(rows, []string{e.Name(), kit.OrDash(strings.Join(e.At("state").Texts("enabled-priority"), ","))})
	}
	return kit.TableView(kit.One(flowRoot, found), []kit.Column{
		kit.Col("Port", 12, 2), kit.Col("Lossless priorities", 10, 0),
	}, rows, nil), nil
}

// ShowQueues returns the function that shows the counters of the queues of all ports, or of one. resolve returns the
// name of the interface that a user means.
func ShowQueues(resolve func(ctx context.Context, s *kit.Session, text string) (string, error)) Show {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		port := ""
		if text := c.Args["name"]; text != "" {
			name, err := resolve(ctx, c.Session, text)
			if err != nil {
				return nil, err
			}
			port = name
		}
		return queueCounters(ctx, c, port)
	}
}

// queueCounters shows the counters of queues, of one port if its name is not empty.
func queueCounters(ctx context.Context, c *kit.Call, port string) (*kit.View, error) {
	queues, err := c.Session.Client.All(ctx, tree.Path(queuesRoot))
	if err != nil {
		return nil, err
	}
	leaves := []string{
		"transmitted-packets", "transmitted-octets", "dropped-packets", "wred-dropped-packets", "ecn-marked-packets",
		"trimmed-packets", "trim-sent-packets", "trim-dropped-packets", "occupancy", "watermark",
	}
	var rows [][]string
	for _, e := range queues.Sorted("queue") {
		owner, index, _ := strings.Cut(e.Name(), ":")
		if port != "" && port != owner {
			continue
		}
		row := []string{owner, index}
		for _, leaf := range leaves {
			row = append(row, kit.Counted(e, "state", leaf))
		}
		rows = append(rows, row)
	}
	return kit.TableView(kit.One(queuesRoot, queues), []kit.Column{
		kit.Col("Port", 12, 2), kit.Col("Queue", 5, 2), kit.Col("Packets", 10, 2), kit.Col("Bytes", 12, 2),
		kit.Col("Dropped", 9, 2), kit.Col("WRED", 9, 2),
		kit.Col("ECN", 9, 2), kit.Col("Trim", 8, 2), kit.Col("TrimSent", 8, 2), kit.Col("TrimDrop", 8, 2),
		kit.Col("Holds", 8, 2), kit.Col("Most", 8, 0),
	}, rows, nil), nil
}
