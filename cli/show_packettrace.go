package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// traceTable is where a switch keeps what it said would become of packets.
const traceTable = "TAMTAM_PACKET_TRACE"

// traceFields are the options of a packet trace: the leaves of trace-packet's input.
func traceFields() []leaf {
	bytes := &argKind{label: "<hexadecimal>", parse: parseFrame}
	mac := &argKind{label: "<H:H:H:H:H:H>", parse: parseName}
	proto := &argKind{label: "<tcp | udp | icmp | 0-255>", parse: parseName}
	return []leaf{
		{word: "src", kind: ipAddress, help: "IP address"},
		{word: "dst", kind: ipAddress, help: "IP address"},
		{word: "protocol", kind: proto, help: "Above IP; without, udp"},
		{word: "src-port", kind: number(0, 65535), help: "Without, 10000"},
		{word: "dst-port", kind: number(0, 65535), help: "Without, 20000"},
		{word: "vlan", kind: number(0, 4094), help: "Of a tag; without, there is none"},
		{word: "ttl", kind: number(0, 255), help: "Without, 64"},
		{word: "dscp", kind: number(0, 63), help: "Without, 0"},
		{word: "size", kind: number(42, 9216), help: "Bytes of the frame, without FCS"},
		{word: "src-mac", kind: mac, help: "Without, that of the neighbour, or 02:00:00:00:00:01"},
		{word: "dst-mac", kind: mac, help: "Without, that of the router interface at the port"},
		{word: "tcp-flags", kind: number(0, 255), help: "Without, 16: ACK"},
		{word: "frame", kind: bytes, help: "All bytes of the frame, instead of all else"},
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

// packetTraceCommand shows what would become of a packet.
func packetTraceCommand() *command {
	port := &argKind{label: "<EthernetN | alias>", parse: parseName, live: liveInterfaces}
	parts := []any{"show", kw("packet-trace", "What would become of a packet, without sending it"),
		kw("in", "Where it comes in"), arg("in", port, "The port")}
	for _, f := range traceFields() {
		parts = append(parts, opt(kw(f.word, f.help), arg(f.word, f.kind, f.help)))
	}
	return &command{modes: inExec, form: seq(parts...), show: showPacketTrace}
}

func showPacketTrace(ctx context.Context, c *call) (*view, error) {
	in, err := c.sh.resolve(ctx, c.args["in"])
	if err != nil {
		return nil, err
	}
	input := map[string]any{"in": in}
	for _, f := range traceFields() {
		if text := c.args[f.word]; text != "" {
			input[f.word] = f.kind.json(text)
		}
	}
	v, err := c.sh.ask(ctx, "trace-packet", input)
	if err != nil {
		return nil, err
	}
	t := tree{v}
	data, _ := v.(map[string]any)
	return framed(data, func(p *printout) { p.packetTrace(t) }), nil
}

// ask has the switch do an operation whose answer is a row of traceTable, and returns that.
func (s *Shell) ask(ctx context.Context, operation string, input map[string]any) (any, error) {
	id := rand.Text()
	input["id"] = id
	if err := s.operate(ctx, operation, input); err != nil {
		return nil, err
	}
	path := gpath("STATE_DB", "localhost", traceTable, id, "trace")
	path.Origin = "sonic-db"
	found, err := s.client.one(ctx, gpb.GetRequest_ALL, path)
	if err != nil {
		return nil, err
	}
	text, _ := found.v.(string)
	v, err := decodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("the switch's answer cannot be read: %w", err)
	}
	return v, nil
}

// packetTrace writes all that would become of a packet.
func (p *printout) packetTrace(t tree) {
	p.field(5, "In", fmt.Sprintf("%s, %s bytes", t.text("in"), t.text("bytes")))
	p.field(5, "Fate", t.text("fate"))
	if note := t.text("note"); note != "" {
		p.field(5, "Note", note)
	}
	if route := t.text("pending-route"); route != "" {
		p.field(5, "Note", route)
	}
	p.line("")
	var rows [][]string
	for _, l := range listOf(t, "lookups") {
		hit := map[string]string{"true": "hit", "false": "miss"}[l.text("hit")]
		rows = append(rows, []string{
			l.text("table"), orDash(l.text("at")), hit, orDash(l.text("key")), orDash(l.text("entry")), orDash(l.text("does")),
		})
	}
	p.table([]column{
		{"Table", 14, 2}, {"At", 8, 2}, {"", 4, 2}, {"Looked up", 9, 2}, {"Entry", 8, 2}, {"Does", 4, 0},
	}, rows)
	p.line("")
	rows = nil
	var below []string
	for _, c := range listOf(t, "copies") {
		fate := c.text("fate")
		if why := c.text("why"); why != "" {
			fate += ": " + why
		}
		if trap := c.text("trap"); trap != "" {
			fate += " (" + trap + ")"
		}
		rows = append(rows, []string{
			c.text("copy"), fate, orDash(c.text("out")), orDash(c.text("queue")), c.text("cycle"), c.text("bytes"),
		})
		for _, r := range listOf(c, "rewrite") {
			below = append(below, fmt.Sprintf("copy %s: %s %s -> %s", c.text("copy"), r.text("field"),
				orDash(r.text("was")), orDash(r.text("is"))))
		}
	}
	p.table([]column{
		{"Copy", 4, 2}, {"Fate", 8, 2}, {"Out", 10, 2}, {"Queue", 5, 2}, {"Cycle", 14, 2}, {"Bytes", 5, 0},
	}, rows)
	p.after(below)
	var counters []string
	for _, c := range listOf(t, "counters") {
		counters = append(counters, fmt.Sprintf("%6s  %s", signed(c.text("by")), c.text("counter")))
	}
	if len(counters) > 0 {
		p.line("")
		p.line("Counters:")
		p.line("%s", strings.Join(counters, "\n"))
	}
	p.wouldPass(t.at("would-pass"))
}

// wouldPass writes which change of one entry would let a packet pass.
func (p *printout) wouldPass(t tree) {
	if !t.exists() {
		return
	}
	p.line("")
	changes := listOf(t, "if")
	if len(changes) == 0 {
		p.line("No change of one entry would let it pass, of %s tried", t.text("tried"))
	} else {
		p.line("It would pass by one of these changes, each traced again:")
	}
	for _, c := range changes {
		p.line("  %s: %s", c.text("change"), c.text("fate"))
	}
	if n := t.text("not-tried"); n != "0" {
		p.line("  of %s more it is not known: they were not tried", n)
	}
}

func signed(number string) string {
	if strings.HasPrefix(number, "-") {
		return number
	}
	return "+" + number
}

// listOf are the members of a list that is no list of YANG.
func listOf(t tree, name string) []tree {
	m, _ := t.v.(map[string]any)
	list, _ := m[name].([]any)
	var all []tree
	for _, v := range list {
		all = append(all, tree{v})
	}
	return slices.Clip(all)
}
