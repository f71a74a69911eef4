package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// whyFields are the options of a flow: the leaves of why-flow's input.
func whyFields() []leaf {
	proto := &argKind{label: "<tcp | udp | icmp | 0-255>", parse: parseName}
	return []leaf{
		{word: "protocol", kind: proto, help: "Above IP; without, any"},
		{word: "src-port", kind: number(0, 65535), help: "Without, any"},
		{word: "dst-port", kind: number(0, 65535), help: "Without, any"},
		{word: "last", kind: number(1, 1000), help: "How many packets are told; without, 10"},
	}
}

// whyFlowCommand shows what became of a flow's packets.
func whyFlowCommand() *command {
	parts := []any{"show", "tam", kw("why", "What became of packets"), kw("flow", "Of those from one address to another"),
		arg("src", ipAddress, "From"), arg("dst", ipAddress, "To")}
	for _, f := range whyFields() {
		parts = append(parts, opt(kw(f.word, f.help), arg(f.word, f.kind, f.help)))
	}
	return &command{modes: inExec, form: seq(parts...), show: showWhyFlow}
}

func showWhyFlow(ctx context.Context, c *call) (*view, error) {
	input := map[string]any{"src": c.args["src"], "dst": c.args["dst"]}
	for _, f := range whyFields() {
		if text := c.args[f.word]; text != "" {
			input[f.word] = f.kind.json(text)
		}
	}
	v, err := c.sh.ask(ctx, "why-flow", input)
	if err != nil {
		return nil, err
	}
	t := tree{v}
	data, _ := v.(map[string]any)
	return framed(data, func(p *printout) { p.whyFlow(t) }), nil
}

// atLeast is a count that others may have to be added to.
func atLeast(t tree) string {
	if t.text("at-least") == "true" {
		return ">= " + t.text("count")
	}
	return t.text("count")
}

func (p *printout) whyFlow(t tree) {
	p.field(8, "Flow", t.text("flow"))
	drops := "all since " + t.text("drops-since")
	if t.text("drops-complete") != "true" {
		drops = "since " + t.text("drops-since") + "; those before are forgotten"
	}
	p.field(8, "Drops", drops)
	others := "from " + t.text("watched-since") + " on"
	if t.text("ends-complete") != "true" {
		others += ", of which some are forgotten"
	}
	p.field(8, "Others", others)
	if n := t.text("unclear"); n != "" {
		p.field(8, "Unclear", n+" more have these addresses, and headers too long to know their protocol or ports")
	}
	if n := t.text("damaged"); n != "" {
		p.field(8, "Damaged", n+" more have an IP header that is damaged, and may be of any flow")
	}
	p.line("")
	if len(listOf(t, "fates")) == 0 {
		if t.text("unclear") != "" || t.text("damaged") != "" {
			p.line("No other packet is known that is of it. Those that come now are.")
		} else {
			p.line("No packet of it is known. Those that come now are.")
		}
		return
	}
	var rows [][]string
	for _, f := range listOf(t, "fates") {
		rows = append(rows, []string{f.text("fate"), orDash(f.text("out")), atLeast(f), f.text("first"), f.text("last")})
	}
	p.table([]column{{"Fate", 8, 2}, {"At", 10, 2}, {"Packets", 7, 2}, {"First", 27, 2}, {"Last", 27, 0}}, rows)
	for _, e := range listOf(t, "packets") {
		p.line("")
		p.end(e)
	}
}

// end writes where a packet ended, and by which entries.
func (p *printout) end(e tree) {
	p.line("%s", endText(e))
	for _, l := range listOf(e, "lookups") {
		hit := map[string]string{"true": "hit", "false": "miss"}[l.text("hit")]
		words := []string{fmt.Sprintf("%-15s", l.text("table")), hit}
		for _, name := range []string{"at", "key", "entry"} {
			if w := l.text(name); w != "" {
				words = append(words, w)
			}
		}
		if does := l.text("does"); does != "" {
			words = append(words, "-> "+does)
		}
		p.line("  %s", strings.Join(words, "  "))
	}
	m, _ := e.v.(map[string]any)
	unknown, _ := m["unknown"].([]any)
	for _, u := range unknown {
		p.line("  not known: %v", u)
	}
}

// endText is an end in a line.
func endText(e tree) string {
	text := fmt.Sprintf("%s  in %s, %s bytes: %s", e.text("time"), e.text("in"), e.text("bytes"), e.text("fate"))
	if out := e.text("out"); out != "" {
		text += " at " + out
	}
	if q := e.text("queue"); q != "" {
		text += fmt.Sprintf(" queue %s, behind %s bytes", q, e.text("depth"))
	}
	if why := e.text("why"); why != "" {
		text += fmt.Sprintf(": %s (%s)", why, e.text("text"))
	}
	return text
}

// dropsCommand shows the book of drops.
func dropsCommand(by string) *command {
	parts := []any{"show", kw("drops", "Packets that were dropped, and why")}
	if by != "" {
		kind := oneOf(choice{"reason", "Why; as the port counters have it"}, choice{"port", "Whose counters have it"},
			choice{"rule", "The entry that decided"}, choice{"flow", "Addresses, protocol and ports"})
		parts = append(parts, kw("by", "How they are counted"), arg("by", kind, "What they have in common"))
	}
	parts = append(parts, opt(kw("last", "How many of the last are told"), arg("last", number(0, 1000), "Without, 10")))
	return &command{modes: inExec, form: seq(parts...), show: showDrops}
}

func showDrops(ctx context.Context, c *call) (*view, error) {
	input := map[string]any{}
	if by := c.args["by"]; by != "" {
		input["by"] = by
	}
	if last := c.args["last"]; last != "" {
		input["last"] = number(0, 1000).json(last)
	}
	v, err := c.sh.ask(ctx, "list-drops", input)
	if err != nil {
		return nil, err
	}
	t := tree{v}
	data, _ := v.(map[string]any)
	return framed(data, func(p *printout) { p.drops(t) }), nil
}

func (p *printout) drops(t tree) {
	p.field(9, "Dropped", t.text("total")+" since "+t.text("since"))
	p.field(9, "Known", fmt.Sprintf("the last %s; %s are forgotten", t.text("kept"), t.text("forgotten")))
	if n := t.text("lost"); n != "" {
		p.field(9, "Lost", n+" more, between interfaces and ports: not among these, but in the ports' counters of drops")
	}
	if t.text("keeps") == "all" {
		text := "all are kept, the last %s; %s are forgotten"
		p.field(9, "Others", fmt.Sprintf(text, t.text("others-kept"), t.text("others-forgotten")))
	}
	p.line("")
	by := t.text("by")
	if len(listOf(t, "rows")) == 0 {
		p.line("%s", noDrops(t))
		return
	}
	var rows [][]string
	for _, r := range listOf(t, "rows") {
		rows = append(rows, []string{r.text("count"), r.text("name"), orDash(r.text("text") + reasonsOf(r))})
	}
	p.table([]column{{"Packets", 7, 2}, {strings.ToUpper(by[:1]) + by[1:], 10, 2}, {"Why", 8, 0}}, rows)
	if (by == "rule" || by == "flow") && t.text("forgotten") != "0" {
		p.line("")
		p.line("%s drops more are forgotten, of which the %s is not known", t.text("forgotten"), by)
	}
	for _, e := range listOf(t, "last") {
		p.line("")
		p.end(e)
	}
}

// noDrops says what it means that there is no row: no packet was dropped, or none of those that were is kept.
func noDrops(t tree) string {
	if t.text("total") == "0" {
		return "No packet was dropped since " + t.text("since") + ", when the chip began."
	}
	return "No drop is kept, so that the " + t.text("by") + " of none is known."
}

// reasonsOf are the reasons of a row's drops, the most frequent ones too where they are several.
func reasonsOf(r tree) string {
	m, _ := r.v.(map[string]any)
	reasons, _ := m["reasons"].(map[string]any)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, fmt.Sprintf("%s %v", name, reasons[name]))
	}
	return strings.Join(all, ", ")
}
