package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// traceFields returns the options of a packet trace, which are the leaves of trace-packet's input.
func traceFields() []kit.Leaf {
	bytes := &kit.Kind{Label: "<hexadecimal>", Parse: parseFrame}
	mac := &kit.Kind{Label: "<H:H:H:H:H:H>", Parse: kit.ParseName}
	proto := &kit.Kind{Label: "<tcp | udp | icmp | 0-255>", Parse: kit.ParseName}
	return []kit.Leaf{
		{Word: "src", Kind: kit.IPAddress, Help: "IP address"},
		{Word: "dst", Kind: kit.IPAddress, Help: "IP address"},
		{Word: "protocol", Kind: proto, Help: "Above IP; without, udp"},
		{Word: "src-port", Kind: kit.Number(0, 65535), Help: "Without, 10000"},
		{Word: "dst-port", Kind: kit.Number(0, 65535), Help: "Without, 20000"},
		{Word: "vlan", Kind: kit.Number(0, 4094), Help: "Of a tag; without, there is none"},
		{Word: "ttl", Kind: kit.Number(0, 255), Help: "Without, 64"},
		{Word: "dscp", Kind: kit.Number(0, 63), Help: "Without, 0"},
		{Word: "size", Kind: kit.Number(42, 9216), Help: "Bytes of the frame, without FCS"},
		{Word: "src-mac", Kind: mac, Help: "Without, that of the neighbour, or 02:00:00:00:00:01"},
		{Word: "dst-mac", Kind: mac, Help: "Without, that of the router interface at the port"},
		{Word: "tcp-flags", Kind: kit.Number(0, 255), Help: "Without, 16: ACK"},
		{Word: "frame", Kind: bytes, Help: "All bytes of the frame, instead of all else"},
	}
}

// parseFrame accepts the bytes of a frame.
func parseFrame(text string) (string, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) < 14 || len(b) > 9216 {
		return "", fmt.Errorf("%.40q (%d characters) is not 14 to 9216 bytes in hexadecimal", text, len(text))
	}
	return text, nil
}

// packetTraceCommand returns the command that shows the fate of a packet without sending it.
func packetTraceCommand() *kit.Command {
	port := &kit.Kind{Label: "<EthernetN | alias>", Parse: kit.ParseName, Live: kit.LiveInterfaces}
	parts := []any{"show", kit.Keyword("packet-trace", "What would become of a packet, without sending it"),
		kit.Keyword("in", "Where it comes in"), kit.Arg("in", port, "The port")}
	for _, f := range traceFields() {
		parts = append(parts, kit.Opt(kit.Keyword(f.Word, f.Help), kit.Arg(f.Word, f.Kind, f.Help)))
	}
	return &kit.Command{Modes: kit.InExec, Form: kit.Seq(parts...), Show: showPacketTrace}
}

func showPacketTrace(ctx context.Context, c *kit.Call) (*kit.View, error) {
	in, err := resolveInterface(ctx, c.Session, c.Args["in"])
	if err != nil {
		return nil, err
	}
	input := map[string]any{"in": in}
	for _, f := range traceFields() {
		if text := c.Args[f.Word]; text != "" {
			input[f.Word] = f.Kind.JSON(text)
		}
	}
	v, err := ask(ctx, c.Session, "trace-packet", input)
	if err != nil {
		return nil, err
	}
	t := tree.Of(v)
	data, _ := v.(map[string]any)
	return kit.Framed(data, func(p *kit.Printout) { writePacketTrace(p, t) }), nil
}

// ask requests an operation of the switch, and returns its answer.
func ask(ctx context.Context, s *kit.Session, operation string, input map[string]any) (any, error) {
	id := rand.Text()
	input["id"] = id
	if err := operate(ctx, s, operation, input); err != nil {
		return nil, err
	}
	found, err := s.Client.One(ctx, gpb.GetRequest_ALL, kit.AnswerPath(id))
	if err != nil {
		return nil, err
	}
	text, _ := found.Value.(string)
	v, err := tree.DecodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("the switch's answer cannot be read: %w", err)
	}
	return v, nil
}

// writePacketTrace writes the expected fate of a packet in detail.
func writePacketTrace(p *kit.Printout, t tree.Node) {
	p.Field(5, "In", fmt.Sprintf("%s, %s bytes", t.Text("in"), t.Text("bytes")))
	p.Field(5, "Fate", t.Text("fate"))
	if note := t.Text("note"); note != "" {
		p.Field(5, "Note", note)
	}
	if route := t.Text("pending-route"); route != "" {
		p.Field(5, "Note", route)
	}
	p.Line("")
	var rows [][]string
	for _, l := range t.Items("lookups") {
		hit := map[string]string{"true": "hit", "false": "miss"}[l.Text("hit")]
		rows = append(rows, []string{
			l.Text("table"), kit.OrDash(l.Text("at")), hit, kit.OrDash(l.Text("key")), kit.OrDash(l.Text("entry")),
			kit.OrDash(l.Text("does")),
		})
	}
	p.Table([]kit.Column{
		kit.Col("Table", 14, 2), kit.Col("At", 8, 2), kit.Col("", 4, 2), kit.Col("Looked up", 9, 2), kit.Col("Entry", 8, 2),
		kit.Col("Does", 4, 0),
	}, rows)
	p.Line("")
	rows = nil
	var below []string
	for _, c := range t.Items("copies") {
		fate := c.Text("fate")
		if why := c.Text("why"); why != "" {
			fate += ": " + why
		}
		if trap := c.Text("trap"); trap != "" {
			fate += " (" + trap + ")"
		}
		rows = append(rows, []string{
			c.Text("copy"), fate, kit.OrDash(c.Text("out")), kit.OrDash(c.Text("queue")), c.Text("cycle"), c.Text("bytes"),
		})
		for _, r := range c.Items("rewrite") {
			below = append(below, fmt.Sprintf("copy %s: %s %s -> %s", c.Text("copy"), r.Text("field"),
				kit.OrDash(r.Text("was")), kit.OrDash(r.Text("is"))))
		}
	}
	p.Table([]kit.Column{
		kit.Col("Copy", 4, 2), kit.Col("Fate", 8, 2), kit.Col("Out", 10, 2), kit.Col("Queue", 5, 2), kit.Col("Cycle", 14, 2),
		kit.Col("Bytes", 5, 0),
	}, rows)
	p.After(below)
	var counters []string
	for _, c := range t.Items("counters") {
		counters = append(counters, fmt.Sprintf("%6s  %s", signed(c.Text("by")), c.Text("counter")))
	}
	if len(counters) > 0 {
		p.Line("")
		p.Line("Counters:")
		p.Line("%s", strings.Join(counters, "\n"))
	}
	writeWouldPass(p, t.At("would-pass"))
}

// writeWouldPass writes which change of one entry would let a packet pass.
func writeWouldPass(p *kit.Printout, t tree.Node) {
	if !t.Exists() {
		return
	}
	p.Line("")
	changes := t.Items("if")
	if len(changes) == 0 {
		p.Line("No change of one entry would let it pass, of %s tried", t.Text("tried"))
	} else {
		p.Line("It would pass by one of these changes, each traced again:")
	}
	for _, c := range changes {
		p.Line("  %s: %s", c.Text("change"), c.Text("fate"))
	}
	if n := t.Text("not-tried"); n != "0" {
		p.Line("  of %s more it is unknown: they were not tried", n)
	}
}

func signed(number string) string {
	if strings.HasPrefix(number, "-") {
		return number
	}
	return "+" + number
}
