package packettrace

import (
	"net/netip"

	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/tam/query"
)

// A keptDrop is a drop that the chip keeps, as a filter needs it. Texts are made when they are needed.
type keptDrop struct {
	*saisim.Kept
	names  *names
	flow   saisim.Flow
	isFlow bool
	text   string // flow; "" until it is needed
	entry  string // rule; "" until it is needed
}

func (n *names) keptDrop(k *saisim.Kept) keptDrop {
	x := keptDrop{Kept: k, names: n}
	x.flow, x.isFlow = saisim.FlowOf(k.Data, k.Len)
	return x
}

func (d *keptDrop) rule() (string, bool) {
	if d.entry == "" {
		d.entry = d.names.rule(d.Kept)
	}
	return d.entry, true
}

func (d *keptDrop) flowText() (string, bool) {
	if d.text == "" && d.isFlow {
		d.text = flowText(d.flow)
	}
	return d.text, d.isFlow
}

func (d *keptDrop) protocol() (uint8, bool) {
	if d.flow.Proto == nil {
		return 0, false
	}
	return *d.flow.Proto, true
}

// portsKnown reports whether the packet's ports are known, or it is known that it has none.
func (d *keptDrop) portsKnown() bool {
	if d.flow.Proto == nil || d.flow.SrcPort != nil {
		return d.flow.SrcPort != nil
	}
	return *d.flow.Proto != protoTCP && *d.flow.Proto != protoUDP
}

// table returns the name of the i-th table that the packet was looked up in.
func (d *keptDrop) table(i int) (string, bool) {
	if i < len(d.Path) {
		return d.Path[i].Table, true
	}
	return "", false
}

func dropWords() (words []string) {
	for r := range drop.NumReasons {
		words = append(words, r.String())
	}
	return words
}

func number[R any](name, help string, k query.Kind, get func(*R) (int64, bool)) query.Field[R] {
	return query.Field[R]{Name: name, Help: help, Kind: k, Number: query.One(func(r *R) (query.Range, bool) {
		n, ok := get(r)
		return query.Exactly(n), ok
	})}
}

func text[R any](name, help string, get func(*R) (string, bool)) query.Field[R] {
	return query.Field[R]{Name: name, Help: help, Kind: query.Text, Text: query.One(get)}
}

// known makes a field whose value is known not to exist in a row that has none.
func known[R any](f query.Field[R], whole func(*R) bool) query.Field[R] {
	f.Whole = whole
	return f
}

// keptDrops declares the drops that the chip keeps.
var keptDrops = &query.Table[keptDrop]{Rows: "drops", Fields: []query.Field[keptDrop]{
	{Name: "drop.reason", Help: "why the packet was dropped", Kind: query.Text, Words: dropWords(), Closed: true,
		Text: query.One(func(d *keptDrop) (string, bool) { return d.Why.String(), true })},
	text("drop.rule", "the entry that decided", (*keptDrop).rule),
	text("in-port", "port where it arrived", func(d *keptDrop) (string, bool) { return d.names.port(d.In), true }),
	text("port", "port that counts it", func(d *keptDrop) (string, bool) { return d.names.port(d.Port), true }),
	known(number("queue", "queue of the port", query.Count,
		func(d *keptDrop) (int64, bool) { return int64(d.Queue), d.Queued }), func(*keptDrop) bool { return true }),
	known(number("queue.depth", "bytes in the queue before it", query.Bytes,
		func(d *keptDrop) (int64, bool) { return int64(d.Depth), d.Queued }), func(*keptDrop) bool { return true }),
	number("bytes", "its length without FCS", query.Bytes, func(d *keptDrop) (int64, bool) { return int64(d.Len), true }),
	text("flow", "the flow, as it is shown", (*keptDrop).flowText),
	{Name: "src-ip", Help: "source address", Kind: query.Address,
		Address: query.One(func(d *keptDrop) (netip.Addr, bool) { return d.flow.Src, d.isFlow })},
	{Name: "dst-ip", Help: "destination address", Kind: query.Address,
		Address: query.One(func(d *keptDrop) (netip.Addr, bool) { return d.flow.Dst, d.isFlow })},
	query.Protocol((*keptDrop).protocol),
	known(number("src-port", "source port", query.Count, func(d *keptDrop) (int64, bool) {
		if d.flow.SrcPort == nil {
			return 0, false
		}
		return int64(*d.flow.SrcPort), true
	}), (*keptDrop).portsKnown),
	known(number("dst-port", "destination port", query.Count, func(d *keptDrop) (int64, bool) {
		if d.flow.DstPort == nil {
			return 0, false
		}
		return int64(*d.flow.DstPort), true
	}), (*keptDrop).portsKnown),
	{Name: "table", Help: "a table that it was looked up in", Kind: query.Text, Text: (*keptDrop).table,
		Whole: func(d *keptDrop) bool { return d.Unkept == 0 }},
}}
