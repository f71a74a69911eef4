package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// whyFields returns the options of a flow, which are the leaves of why-flow's input.
func whyFields() []kit.Leaf {
	proto := &kit.Kind{Label: "<tcp | udp | icmp | 0-255>", Parse: kit.ParseName}
	return []kit.Leaf{
		{Word: "protocol", Kind: proto, Help: "Above IP; without, any"},
		{Word: "src-port", Kind: kit.Number(0, 65535), Help: "Without, any"},
		{Word: "dst-port", Kind: kit.Number(0, 65535), Help: "Without, any"},
		{Word: "last", Kind: kit.Number(1, 1000), Help: "Number of packets to show; without, 10"},
	}
}

// whyFlowCommand returns the command that shows the fate of a flow's packets.
func whyFlowCommand() *kit.Command {
	parts := []any{"show", "tam", kit.Keyword("why", "The fate of packets"),
		kit.Keyword("flow", "Of those from one address to another"),
		kit.Arg("src", kit.IPAddress, "From"), kit.Arg("dst", kit.IPAddress, "To")}
	for _, f := range whyFields() {
		parts = append(parts, kit.Opt(kit.Keyword(f.Word, f.Help), kit.Arg(f.Word, f.Kind, f.Help)))
	}
	return &kit.Command{Modes: kit.InExec, Form: kit.Seq(parts...), Show: showWhyFlow}
}

func showWhyFlow(ctx context.Context, c *kit.Call) (*kit.View, error) {
	input := map[string]any{"src": c.Args["src"], "dst": c.Args["dst"]}
	for _, f := range whyFields() {
		if text := c.Args[f.Word]; text != "" {
			input[f.Word] = f.Kind.JSON(text)
		}
	}
	v, err := ask(ctx, c.Session, "why-flow", input)
	if err != nil {
		return nil, err
	}
	t := tree.Of(v)
	data, _ := v.(map[string]any)
	return kit.Framed(data, func(p *kit.Printout) { writeWhyFlow(p, t) }), nil
}

// atLeast returns a count, with ">=" in front if it may be incomplete.
func atLeast(t tree.Node) string {
	if t.Text("at-least") == "true" {
		return ">= " + t.Text("count")
	}
	return t.Text("count")
}

func writeWhyFlow(p *kit.Printout, t tree.Node) {
	p.Field(8, "Flow", t.Text("flow"))
	drops := "all since " + t.Text("drops-since")
	if t.Text("drops-complete") != "true" {
		drops = "since " + t.Text("drops-since") + "; those before are forgotten"
	}
	p.Field(8, "Drops", drops)
	others := "from " + t.Text("watched-since") + " on"
	if t.Text("ends-complete") != "true" {
		others += ", of which some are forgotten"
	}
	p.Field(8, "Others", others)
	if n := t.Text("unclear"); n != "" {
		p.Field(8, "Unclear", n+" more have these addresses, and headers too long to know their protocol or ports")
	}
	if n := t.Text("damaged"); n != "" {
		p.Field(8, "Damaged", n+" more have an IP header that is damaged, and may be of any flow")
	}
	p.Line("")
	if len(t.Items("fates")) == 0 {
		if t.Text("unclear") != "" || t.Text("damaged") != "" {
			p.Line("No other packet is known that is of it. Those that come now are.")
		} else {
			p.Line("No packet of it is known. Those that come now are.")
		}
		return
	}
	var rows [][]string
	for _, f := range t.Items("fates") {
		rows = append(rows, []string{f.Text("fate"), kit.OrDash(f.Text("out")), atLeast(f), f.Text("first"), f.Text("last")})
	}
	p.Table([]kit.Column{kit.Col("Fate", 8, 2), kit.Col("At", 10, 2), kit.Col("Packets", 7, 2), kit.Col("First", 27, 2),
		kit.Col("Last", 27, 0)}, rows)
	for _, e := range t.Items("packets") {
		p.Line("")
		writeEnd(p, e)
	}
}

// writeEnd writes where a packet ended, and the entries that it hit.
func writeEnd(p *kit.Printout, e tree.Node) {
	p.Line("%s", endText(e))
	for _, l := range e.Items("lookups") {
		hit := map[string]string{"true": "hit", "false": "miss"}[l.Text("hit")]
		words := []string{fmt.Sprintf("%-15s", l.Text("table")), hit}
		for _, name := range []string{"at", "key", "entry"} {
			if w := l.Text(name); w != "" {
				words = append(words, w)
			}
		}
		if does := l.Text("does"); does != "" {
			words = append(words, "-> "+does)
		}
		p.Line("  %s", strings.Join(words, "  "))
	}
	kit.WriteBursts(p, e)
	m, _ := e.Value.(map[string]any)
	unknown, _ := m["unknown"].([]any)
	for _, u := range unknown {
		p.Line("  unknown: %v", u)
	}
}

// endText returns the end of a packet as a line.
func endText(e tree.Node) string {
	text := fmt.Sprintf("%s  in %s, %s bytes: %s", e.Text("time"), e.Text("in"), e.Text("bytes"), e.Text("fate"))
	if out := e.Text("out"); out != "" {
		text += " at " + out
	}
	if q := e.Text("queue"); q != "" {
		text += fmt.Sprintf(" queue %s, behind %s bytes", q, e.Text("depth"))
	}
	if why := e.Text("why"); why != "" {
		text += fmt.Sprintf(": %s (%s)", why, e.Text("text"))
	}
	return text
}

// dropsCommand returns the command that shows the counts of drops.
func dropsCommand(by string) *kit.Command {
	parts := []any{"show", kit.Keyword("drops", "Packets that were dropped, and why")}
	if by != "" {
		kind := kit.OneOf(kit.Pick("reason", "Why; as the port counters have it"), kit.Pick("port", "Whose counters have it"),
			kit.Pick("rule", "The entry that decided"), kit.Pick("flow", "Addresses, protocol and ports"))
		parts = append(parts, kit.Keyword("by", "How they are counted"), kit.Arg("by", kind, "What they have in common"))
	}
	parts = append(parts, kit.Opt(kit.Keyword("last", "Number of the last ones to show"),
		kit.Arg("last", kit.Number(0, 1000), "Without, 10")))
	filter := &kit.Kind{Label: "<filter>", Parse: parseFilter, Next: nextOfFilter}
	parts = append(parts, kit.Opt(kit.Keyword("where", "Only those that a filter selects"),
		kit.Arg("where", filter, "Such as \"src-ip in 10.0.0.0/8 and drop.reason = acl\"")))
	return &kit.Command{Modes: kit.InExec, Form: kit.Seq(parts...), Show: showDrops}
}

// parseFilter accepts each filter; the switch compiles it, and names what is wrong.
func parseFilter(text string) (string, error) { return text, nil }

// nextOfFilter returns how an unfinished filter of drops may continue.
func nextOfFilter(ctx context.Context, s *kit.Session, text string) ([]kit.Next, error) {
	v, err := ask(ctx, s, "list-drops", map[string]any{"complete": text})
	if err != nil {
		return nil, err
	}
	t := tree.Of(v)
	from, err := strconv.Atoi(t.Text("from"))
	if err != nil || from < 0 || from > len(text) {
		return nil, fmt.Errorf("from is %q, want a place in the filter", t.Text("from"))
	}
	var list []kit.Next
	for _, c := range t.Items("candidates") {
		list = append(list, kit.Next{From: from, Text: c.Text("text"), Help: c.Text("help")})
	}
	return list, nil
}

func showDrops(ctx context.Context, c *kit.Call) (*kit.View, error) {
	input := map[string]any{}
	if by := c.Args["by"]; by != "" {
		input["by"] = by
	}
	if last := c.Args["last"]; last != "" {
		input["last"] = kit.Number(0, 1000).JSON(last)
	}
	if where := c.Args["where"]; where != "" {
		input["where"] = where
	}
	v, err := ask(ctx, c.Session, "list-drops", input)
	if err != nil {
		return nil, err
	}
	t := tree.Of(v)
	data, _ := v.(map[string]any)
	return kit.Framed(data, func(p *kit.Printout) { writeDrops(p, t) }), nil
}

func writeDrops(p *kit.Printout, t tree.Node) {
	p.Field(9, "Dropped", t.Text("total")+" since "+t.Text("since"))
	p.Field(9, "Known", fmt.Sprintf("the last %s; %s are forgotten", t.Text("kept"), t.Text("forgotten")))
	if n := t.Text("matched"); n != "" {
		text := "%s of these; of %s more it is unknown, since a value is not"
		p.Field(9, "Matched", fmt.Sprintf(text, n, t.Text("unknown")))
	}
	if n := t.Text("lost"); n != "" {
		p.Field(9, "Lost", n+" more, between interfaces and ports: not among these, but in the ports' counters of drops")
	}
	if t.Text("keeps") == "all" {
		text := "all are kept, the last %s; %s are forgotten"
		p.Field(9, "Others", fmt.Sprintf(text, t.Text("others-kept"), t.Text("others-forgotten")))
	}
	p.Line("")
	by := t.Text("by")
	if len(t.Items("rows")) == 0 {
		p.Line("%s", noDrops(t))
		return
	}
	var rows [][]string
	for _, r := range t.Items("rows") {
		rows = append(rows, []string{r.Text("count"), r.Text("name"), kit.OrDash(r.Text("text") + reasonsOf(r))})
	}
	p.Table([]kit.Column{kit.Col("Packets", 7, 2), kit.Col(strings.ToUpper(by[:1])+by[1:], 10, 2), kit.Col("Why", 8, 0)},
		rows)
	if (by == "rule" || by == "flow") && t.Text("forgotten") != "0" {
		p.Line("")
		p.Line("%s drops more are forgotten, of which the %s is unknown", t.Text("forgotten"), by)
	}
	for _, e := range t.Items("last") {
		p.Line("")
		writeEnd(p, e)
	}
}

// noDrops explains a missing row: no packet was dropped, or no dropped packet is stored.
func noDrops(t tree.Node) string {
	if t.Text("matched") == "0" {
		return "No drop that is kept meets the filter."
	}
	if t.Text("total") == "0" {
		return "No packet was dropped since " + t.Text("since") + ", when the chip began."
	}
	return "No drop is kept, so that the " + t.Text("by") + " of none is known."
}

// reasonsOf returns the reasons of a row's drops, each with its count.
func reasonsOf(r tree.Node) string {
	m, _ := r.Value.(map[string]any)
	reasons, _ := m["reasons"].(map[string]any)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, fmt.Sprintf("%s %v", name, reasons[name]))
	}
	return strings.Join(all, ", ")
}
