package buffers

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

const burstsRoot = "tamtam-microburst:microbursts"

// showBursts returns the command that shows the bursts of queues, the newest last, each with the flow that had the most
// bytes. With detail, it shows all flows.
func showBursts(detail bool) Show {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) { return viewBursts(ctx, c, detail) }
}

func viewBursts(ctx context.Context, c *kit.Call, detail bool) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(burstsRoot))
	if err != nil {
		return nil, err
	}
	var queues, rows [][]string
	var below, flows []string
	for _, e := range found.At("queues").SortedBy("interface queue", "queue") {
		state := e.At("state")
		port, number := state.Text("interface"), state.Text("queue")
		if c.Has("name") && port != c.Args["name"] {
			continue
		}
		name := port + ":" + number
		queues = append(queues, []string{
			port, number, kit.OrDash(state.Text("threshold")), kit.Title(kit.OrDash(state.Text("status"))),
			kit.OrDash(state.Text("bursts")), kit.OrDash(state.Text("lost")), kit.OrDash(state.Text("peak")),
			micros(state.Text("duration")),
		})
		below = append(below, kit.WhyNotLine(name, state)...)
		for _, b := range byNumber(e.At("bursts").SortedBy("number", "burst")) {
			s := b.At("state")
			list := s.Texts("flow")
			first := "-"
			if len(list) > 0 {
				first = flowWords(list[0])
			}
			rows = append(rows, []string{
				port, number, s.Text("number"), s.Text("state"), clock(s.Text("begin")), micros(s.Text("duration")), s.Text("peak"),
				s.Text("packets"), s.Text("dropped-packets"), first,
			})
			if detail {
				flows = append(flows, flowLines(name+" "+s.Text("number"), s, list)...)
			}
		}
	}
	return kit.Framed(kit.One(burstsRoot, found), func(p *kit.Printout) {
		p.Table([]kit.Column{
			kit.Col("Port", 11, 2), kit.Col("Queue", 5, 2), kit.Col("Threshold", 9, 2), kit.Col("Status", 8, 2),
			kit.Col("Bursts", 8, 2),
			kit.Col("Lost", 6, 2), kit.Col("Peak", 9, 2), kit.Col("Total us", 10, 0),
		}, queues)
		p.Line("")
		p.Table([]kit.Column{
			kit.Col("Port", 11, 2), kit.Col("Queue", 5, 2), kit.Col("Number", 6, 2), kit.Col("State", 5, 2),
			kit.Col("Begin", 29, 2),
			kit.Col("us", 10, 2), kit.Col("Peak", 9, 2), kit.Col("Packets", 7, 2), kit.Col("Dropped", 7, 2),
			kit.Col("Most bytes", 20, 0),
		}, rows)
		p.After(append(flows, below...))
	}), nil
}

// byNumber sorts bursts by their numbers.
func byNumber(all []tree.Node) []tree.Node {
	number := func(e tree.Node) uint64 {
		n, _ := strconv.ParseUint(e.Text("state", "number"), 10, 64)
		return n
	}
	slices.SortStableFunc(all, func(x, y tree.Node) int { return cmp.Compare(number(x), number(y)) })
	return all
}

// flowLines returns a line for each flow of a burst.
func flowLines(name string, s tree.Node, list []string) (lines []string) {
	for _, f := range list {
		lines = append(lines, name+": "+flowWords(f))
	}
	if rest := s.Text("rest-bytes"); rest != "" && rest != "0" {
		lines = append(lines, name+": other flows have at most "+rest+" bytes each")
	}
	return lines
}

// flowWords returns a flow of a record for people.
func flowWords(text string) string {
	f := map[string]string{}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		f[name] = value
	}
	from, to, what := f["src"], f["dst"], "ether-type "+f["ether-type"]
	if p := f["protocol"]; p != "" {
		if what = "protocol " + p; p == "6" {
			what = "tcp"
		} else if p == "17" {
			what = "udp"
		}
		if f["src-port"] != "0" || f["dst-port"] != "0" {
			from, to = from+" "+f["src-port"], to+" "+f["dst-port"]
		}
	}
	bytes := f["bytes"]
	if over := f["over"]; over != "0" && over != "" {
		bytes = "at most " + bytes + ", " + over + " of them may be of others,"
	}
	return from + " > " + to + " " + what + ": " + bytes + " bytes"
}

// micros returns nanoseconds as microseconds.
func micros(ns string) string {
	n, err := strconv.ParseUint(ns, 10, 64)
	if err != nil {
		return kit.OrDash(ns)
	}
	return strconv.FormatFloat(float64(n)/1000, 'f', 3, 64)
}

// clock returns a time with nanoseconds, so that times in a column are aligned.
func clock(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return kit.OrDash(text)
	}
	return at.UTC().Format("2006-01-02 15:04:05.000000000")
}
