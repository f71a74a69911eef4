package web

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	"tamtam/collector"
	"tamtam/collector/result"
	"tamtam/tam/query"
)

// A tuple is a flow's text with its parts.
type tuple struct {
	text string
	flow collector.Flow
	ok   bool // true if the text is a five-tuple
}

// flowFields returns the fields of a flow.
func flowFields[R any](of func(*R) *tuple) []query.Field[R] {
	port := func(which func(*collector.Flow) uint16) func(*R, int) (query.Range, bool) {
		return query.One(func(r *R) (query.Range, bool) {
			t := of(r)
			return query.Exactly(int64(which(&t.flow))), t.ok && hasPorts(&t.flow)
		})
	}
	// Packets of other protocols have no ports. Those of later fragments are unknown.
	noPorts := func(r *R) bool { t := of(r); return t.ok && !t.flow.LaterFragment }
	return []query.Field[R]{
		{Name: "flow", Help: "the flow, as it is shown", Kind: query.Text,
			Text: query.One(func(r *R) (string, bool) { return of(r).text, of(r).text != "" })},
		{Name: "src-ip", Help: "source address", Kind: query.Address,
			Address: query.One(func(r *R) (netip.Addr, bool) { return of(r).flow.Source, of(r).ok })},
		{Name: "dst-ip", Help: "destination address", Kind: query.Address,
			Address: query.One(func(r *R) (netip.Addr, bool) { return of(r).flow.Destination, of(r).ok })},
		query.Protocol(func(r *R) (uint8, bool) { return of(r).flow.Protocol, of(r).ok }),
		{Name: "src-port", Help: "source port", Kind: query.Count, Whole: noPorts,
			Number: port(func(f *collector.Flow) uint16 { return f.SourcePort })},
		{Name: "dst-port", Help: "destination port", Kind: query.Count, Whole: noPorts,
			Number: port(func(f *collector.Flow) uint16 { return f.DestPort })},
	}
}

// flagFields returns the fields of flags. exact may have further conditions.
func flagFields[R any](of func(*R) result.Flags, exact func(*R) bool) []query.Field[R] {
	var words []string
	for _, f := range flagText {
		words = append(words, f.word)
	}
	return []query.Field[R]{
		{Name: "flag", Help: "why the row may not be exact", Kind: query.Text, Words: words,
			Whole: func(*R) bool { return true },
			Text: func(r *R, i int) (string, bool) {
				flags := of(r)
				for _, f := range flagText {
					if flags&f.flag != 0 {
						if i == 0 {
							return f.word, true
						}
						i--
					}
				}
				return "", false
			}},
		{Name: "exact", Help: "the row is exact", Kind: query.Boolean,
			Text: query.One(func(r *R) (string, bool) { return query.YesNo(of(r) == 0 && exact(r)), true })},
	}
}

// counted returns the bounds of a count, in spite of flags: messages may be missing, or be counted twice.
func counted(n int64, flags result.Flags) query.Range {
	r := query.Exactly(n)
	if flags&(result.Gap|result.Silent|result.Overflow|result.Cut|result.Missing|result.Edge) != 0 {
		r.High = math.MaxInt64
	}
	if flags&(result.Twice|result.Searched) != 0 {
		r.Low = min(r.Low, 0)
	}
	return r
}

// countedRange returns the bounds of a count that has bounds even without flags.
func countedRange(n query.Range, flags result.Flags) query.Range {
	return query.Range{Low: counted(n.Low, flags).Low, High: counted(n.High, flags).High}
}

func tupleOf(text string) tuple {
	f, ok := collector.FlowFromText(text)
	return tuple{text, f, ok}
}

func hasPorts(f *collector.Flow) bool {
	return (f.Protocol == 6 || f.Protocol == 17) && !f.LaterFragment
}

// textField returns a field with one text, which is unknown if it is empty.
func textField[R any](name, help string, get func(*R) string) query.Field[R] {
	return query.Field[R]{Name: name, Help: help, Kind: query.Text,
		Text: query.One(func(r *R) (string, bool) { s := get(r); return s, s != "" })}
}

// keyField returns a field with one text that is part of every grouping.
func keyField[R any](name, help string, get func(*R) string) query.Field[R] {
	f := textField(name, help, get)
	f.Key = true
	return f
}

// numberField returns a field with one number.
func numberField[R any](name, help string, k query.Kind, total query.Total, get func(*R) (query.Range, bool),
) query.Field[R] {
	return query.Field[R]{Name: name, Help: help, Kind: k, Total: total, Bounded: total != query.NoTotal,
		Number: query.One(get)}
}

func timeField[R any](name, help string, get func(*R) int64) query.Field[R] {
	return numberField(name, help, query.Time, query.NoTotal, func(r *R) (query.Range, bool) {
		at := get(r)
		return query.Exactly(at), at != 0
	})
}

// listField returns a field with several texts. whole reports whether a row has no further ones.
func listField[R any](name, help string, get func(*R) []string, whole func(*R) bool) query.Field[R] {
	return query.Field[R]{Name: name, Help: help, Kind: query.Text, Whole: whole,
		Text: func(r *R, i int) (string, bool) {
			if list := get(r); i < len(list) {
				return list[i], true
			}
			return "", false
		}}
}

func always[R any](*R) bool { return true }

// spread are the delays of packets.
type spread struct {
	mean, least, p50, p90, p99, p999, most query.Range
	known                                  bool
}

// shares are the fields of a spread.
var shares = []struct {
	name, help string
	of         func(*spread) query.Range
}{
	{"delay", "mean delay", func(s *spread) query.Range { return s.mean }},
	{"delay.min", "least delay", func(s *spread) query.Range { return s.least }},
	{"delay.p50", "delay that half of the packets do not exceed", func(s *spread) query.Range { return s.p50 }},
	{"delay.p90", "delay that 90 % of the packets do not exceed", func(s *spread) query.Range { return s.p90 }},
	{"delay.p99", "delay that 99 % of the packets do not exceed", func(s *spread) query.Range { return s.p99 }},
	{"delay.p999", "delay that 99.9 % of the packets do not exceed", func(s *spread) query.Range { return s.p999 }},
	{"delay.max", "greatest delay", func(s *spread) query.Range { return s.most }},
}

func delayFields[R any](of func(*R) *spread) (list []query.Field[R]) {
	for _, x := range shares {
		list = append(list, numberField(x.name, x.help, query.Duration, query.Between, func(r *R) (query.Range, bool) {
			s := of(r)
			return x.of(s), s.known
		}))
	}
	return list
}

// spreadOf returns the spread of the sums of n packets' times, of which parts hold the distributions. It is unknown if
// a part lacks a packet.
//
// The joint distribution of the parts is unknown. A quantile of the sum is at least that of one part plus the least
// values of the others. It is at most that of one part plus the greatest values of the others. It is also at most the
// sum of quantiles of all parts, if no more packets exceed one of these together than may exceed the sum's.
func spreadOf(n int64, parts []*result.Distribution) (s spread) {
	lacks := func(d *result.Distribution) bool { return d.Count != n }
	if n <= 0 || len(parts) == 0 || slices.ContainsFunc(parts, lacks) {
		return s
	}
	var sum, least, most int64
	for _, d := range parts {
		sum, least, most = sum+d.Sum, least+d.Min, most+d.Max
	}
	s.known = true
	s.mean = query.Exactly(sum / n)
	quantile := func(thousandths int64) query.Range {
		rank := n - n/1000*(1000-thousandths) - n%1000*(1000-thousandths)/1000 // rounded up
		each := n - (n-rank)/int64(len(parts))
		r, all := query.Range{Low: least, High: most}, int64(0)
		for _, d := range parts {
			low, high := at(d, rank)
			r.Low, r.High = max(r.Low, least-d.Min+low), min(r.High, most-d.Max+high)
			_, high = at(d, each)
			all += high
		}
		r.High = max(r.Low, min(r.High, all))
		return r
	}
	s.p50, s.p90, s.p99, s.p999 = quantile(500), quantile(900), quantile(990), quantile(999)
	s.least, s.most = query.Range{Low: least, High: s.p50.High}, query.Range{Low: s.p999.Low, High: most}
	if len(parts) == 1 {
		s.least, s.most = query.Exactly(least), query.Exactly(most)
	}
	return s
}

// at returns bounds of the value of a rank: those of its bucket, or of all values if the buckets are missing.
func at(d *result.Distribution, rank int64) (low, high int64) {
	if low, high, ok := d.At(rank); ok {
		return low, high
	}
	return d.Min, d.Max
}

// A flowItem is a path of a flow, as filters need it.
type flowItem struct {
	tuple
	spread
	way      *way
	path     string   // the switches of the path
	switches []string // those that are known
	whole    bool     // all switches are known
	packets  query.Range
	reasons  []string    // of drops that were reported of the flow
	dropped  query.Range // number of these drops
	reported bool        // all reports of drops were received
}

// flowItems returns the paths of all flows.
func flowItems(q *request, n *net) (list []flowItem) {
	type drops struct {
		reasons []string
		by      map[string]query.Range // by source: sources may report the same packets
	}
	of := map[string]*drops{}
	for _, d := range q.snap.drops {
		x := of[d.flow]
		if x == nil {
			x = &drops{by: map[string]query.Range{}}
			of[d.flow] = x
		}
		if !slices.Contains(x.reasons, d.reason) {
			x.reasons = append(x.reasons, d.reason)
		}
		n := x.by[d.source]
		x.by[d.source] = query.Range{Low: n.Low + d.packets - d.perhaps, High: n.High + d.packets}
	}
	reported := q.snap.reportsDrops()
	for _, w := range q.snap.sortedWays() {
		x := flowItem{tuple: tupleOf(w.flow), way: w, path: n.wayText(w), whole: true, reported: reported}
		var parts []*result.Distribution
		for i := range w.hops {
			h := &w.hops[i]
			x.packets = query.Range{Low: max(x.packets.Low, h.packets-h.perhaps), High: max(x.packets.High, h.packets)}
			if h.known {
				x.switches = append(x.switches, n.name(h.sw))
			}
			x.whole = x.whole && h.known
			if parts = append(parts, &h.resident); i > 0 {
				parts = append(parts, &h.link)
			}
		}
		x.spread = spreadOf(x.packets.High, parts)
		if d := of[w.flow]; d != nil {
			x.reasons = d.reasons
			slices.Sort(x.reasons)
			for _, n := range d.by {
				x.dropped.Low, x.dropped.High = max(x.dropped.Low, n.Low), x.dropped.High+n.High
			}
		}
		list = append(list, x)
	}
	return list
}

// reportsDrops reports whether drops are reported, and no report is missing.
func (s *snapshot) reportsDrops() bool {
	if s.flags[dropRows] != 0 || s.left["drops"] > 0 || s.stopped || s.unread != "" {
		return false
	}
	found := len(s.drops) > 0
	for partition := range s.sources {
		found = found || strings.HasPrefix(partition, result.Drops.String()+"-")
	}
	return found
}

// flowTable declares the paths of flows.
var flowTable = &query.Table[flowItem]{Rows: "flows", Fields: slices.Concat(
	flowFields(func(r *flowItem) *tuple { return &r.tuple }),
	[]query.Field[flowItem]{
		textField("path", "switches in the order of the path", func(r *flowItem) string { return r.path }),
		listField("switch", "a switch on the path", func(r *flowItem) []string { return r.switches },
			func(r *flowItem) bool { return r.whole }),
		numberField("packets", "stamped packets", query.Count, query.Sum, func(r *flowItem) (query.Range, bool) {
			return countedRange(r.packets, r.way.flags), true
		}),
		numberField("windows", "windows of time with packets", query.Count, query.NoTotal,
			func(r *flowItem) (query.Range, bool) { return query.Exactly(int64(r.way.windows)), true }),
		timeField("from", "begin of the first window", func(r *flowItem) int64 { return r.way.from }),
		timeField("to", "end of the last window", func(r *flowItem) int64 { return r.way.to }),
	},
	delayFields(func(r *flowItem) *spread { return &r.spread }),
	[]query.Field[flowItem]{
		listField("drop.reason", "why packets of the flow were dropped, as reported",
			func(r *flowItem) []string { return r.reasons }, func(r *flowItem) bool { return r.reported }),
		{Name: "drops", Help: "dropped packets of the flow, as reported", Kind: query.Count, Bounded: true,
			Number: query.One(func(r *flowItem) (query.Range, bool) { return r.dropped, r.reported })},
	},
	flagFields(func(r *flowItem) result.Flags { return r.way.flags },
		func(r *flowItem) bool { return r.packets.Exact() }),
)}

// A dropItem is a row of drops.
type dropItem struct {
	*dropSum
	tuple tuple
}

// dropTable declares drops. Sources may report the same packets, so that their numbers are never added.
var dropTable = &query.Table[dropItem]{Rows: "drops", Fields: slices.Concat(
	[]query.Field[dropItem]{
		textField("drop.reason", "why packets were dropped", func(r *dropItem) string { return r.reason }),
		{Name: "drop.rule", Help: "the rule that decided", Kind: query.Text,
			Text:  query.One(func(r *dropItem) (string, bool) { return r.rule, r.rule != "" }),
			Whole: func(r *dropItem) bool { return r.rule != "" || !strings.Contains(r.reason, "acl") }},
		textField("switch", "where", func(r *dropItem) string { return r.sw }),
		{Name: "port", Help: "where; none if packets were dropped before they had one", Kind: query.Text,
			Whole: always[dropItem], Text: query.One(func(r *dropItem) (string, bool) { return r.port, r.port != "" })},
		{Name: "queue", Help: "queue of the port; none if packets were dropped before they were for one", Kind: query.Count,
			Whole: func(r *dropItem) bool { return r.queue != result.UnknownQueue },
			Number: query.One(func(r *dropItem) (query.Range, bool) {
				return query.Exactly(int64(r.queue)), r.queue >= 0
			})},
	},
	flowFields(func(r *dropItem) *tuple { return &r.tuple }),
	[]query.Field[dropItem]{
		numberField("packets", "dropped packets", query.Count, query.Sum, func(r *dropItem) (query.Range, bool) {
			return countedRange(query.Range{Low: r.packets - r.perhaps, High: r.packets}, r.flags), true
		}),
		timeField("first", "time of the first", func(r *dropItem) int64 { return r.first }),
		timeField("last", "time of the last", func(r *dropItem) int64 { return r.last }),
		{Name: "source", Help: "kind of report: ipfix, sflow or record", Kind: query.Text, Key: true,
			Text: query.One(func(r *dropItem) (string, bool) { return r.source, r.source != "" })},
	},
	flagFields(func(r *dropItem) result.Flags { return r.flags }, func(r *dropItem) bool { return r.perhaps == 0 }),
)}

// A periodItem is a period of alternate marking.
type periodItem struct {
	*result.Loss
	spread
}

func periodItems(list []result.Loss) []periodItem {
	items := make([]periodItem, len(list))
	for i := range list {
		l := &list[i]
		items[i] = periodItem{l, spreadOf(l.Delay.Count, []*result.Distribution{&l.Delay})}
	}
	return items
}

// counted returns the bounds of a number of packets, if it is known.
func (r *periodItem) counted(n int64) (query.Range, bool) { return counted(n, r.Flags), r.Known }

// periodTable declares the periods of alternate marking.
var periodTable = &query.Table[periodItem]{Rows: "periods", Fields: slices.Concat(
	[]query.Field[periodItem]{
		textField("flow", "flow, path or graph", func(r *periodItem) string { return r.Flow }),
		{Name: "cluster", Help: "cluster of the graph; none for a whole path", Kind: query.Text, Key: true,
			Whole: always[periodItem],
			Text:  query.One(func(r *periodItem) (string, bool) { return r.Cluster, r.Cluster != "" })},
		keyField("from", "where packets were sent", func(r *periodItem) string { return r.From }),
		keyField("to", "where packets were received", func(r *periodItem) string { return r.To }),
		numberField("period", "number of the period", query.Count, query.NoTotal, func(r *periodItem) (query.Range, bool) {
			return query.Exactly(int64(min(r.Period, math.MaxInt64))), true
		}),
		timeField("time", "begin of the period", func(r *periodItem) int64 { return r.Window.Start }),
		textField("status", "ok, or why the period is not", func(r *periodItem) string { return r.Status }),
		numberField("lost", "packets lost", query.Count, query.Sum,
			func(r *periodItem) (query.Range, bool) { return r.counted(r.Lost) }),
		numberField("sent", "packets sent", query.Count, query.Sum,
			func(r *periodItem) (query.Range, bool) { return r.counted(r.Sent) }),
		numberField("received", "packets received", query.Count, query.Sum,
			func(r *periodItem) (query.Range, bool) { return r.counted(r.Received) }),
	},
	delayFields(func(r *periodItem) *spread { return &r.spread }),
	[]query.Field[periodItem]{
		numberField("mean-delay", "mean delay of all packets", query.Duration, query.Between,
			func(r *periodItem) (query.Range, bool) { return query.Exactly(r.Mean.Delay), r.Mean.Known }),
	},
	flagFields(func(r *periodItem) result.Flags { return r.Flags },
		func(r *periodItem) bool { return r.Known && r.Status == "ok" }),
)}

// A packetItem is a packet with its path.
type packetItem struct {
	*result.Journey
	tuple    tuple
	switches []string
	reasons  []string
	delay    int64
	timed    bool
	depth    query.Range
	queued   bool // a depth is known
}

func packetItemOf(j *result.Journey) packetItem {
	x := packetItem{Journey: j, tuple: tupleOf(j.Flow)}
	for i := range j.Hops {
		h := &j.Hops[i]
		if !slices.Contains(x.switches, h.Switch) {
			x.switches = append(x.switches, h.Switch)
		}
		if h.Dropped != "" && !slices.Contains(x.reasons, h.Dropped) {
			x.reasons = append(x.reasons, h.Dropped)
		}
		if h.Depth >= 0 {
			x.depth, x.queued = query.Range{Low: max(x.depth.Low, h.Depth), High: max(x.depth.High, h.Depth)}, true
		} else {
			x.depth.High = math.MaxInt64
		}
	}
	if !x.whole() {
		x.depth.High = math.MaxInt64 // a switch that is not known may have had a longer queue
	}
	if n := len(j.Hops); n > 0 && treeOf(j).ends() == 1 && j.Hops[0].Arrival != 0 && j.Hops[n-1].Departure != 0 {
		x.delay, x.timed = j.Hops[n-1].Departure-j.Hops[0].Arrival, x.whole()
	}
	return x
}

// whole reports whether the packet's path is known from its begin to its end.
func (r *packetItem) whole() bool {
	const partial = result.Gap | result.Silent | result.Overflow | result.Cut | result.Missing | result.Edge
	return !r.Ambiguous && r.Flags&partial == 0
}

// wholeTables reports whether the tables are known that the packet executed in each switch.
func (r *packetItem) wholeTables() bool {
	return r.whole() && !slices.ContainsFunc(r.Hops, func(h result.JourneyHop) bool { return h.Tables == "" })
}

// tables returns the i-th list of tables of a packet.
func (r *packetItem) tables(i int) (string, bool) {
	for k := range r.Hops {
		if t := r.Hops[k].Tables; t != "" {
			if i == 0 {
				return t, true
			}
			i--
		}
	}
	return "", false
}

// packetTable declares packets.
var packetTable = &query.Table[packetItem]{Rows: "packets", Fields: slices.Concat(
	[]query.Field[packetItem]{timeField("time", "first arrival", func(r *packetItem) int64 { return r.Time })},
	flowFields(func(r *packetItem) *tuple { return &r.tuple }),
	[]query.Field[packetItem]{
		textField("origin", "host that sent it", func(r *packetItem) string { return r.From }),
		listField("switch", "a switch on the path", func(r *packetItem) []string { return r.switches },
			(*packetItem).whole),
		{Name: "tables", Help: "tables that a switch on the path executed", Kind: query.Text,
			Whole: (*packetItem).wholeTables, Text: (*packetItem).tables},
		textField("end", "how it ended", func(r *packetItem) string { return r.End }),
		listField("drop.reason", "why it, or a copy of it, was dropped", func(r *packetItem) []string { return r.reasons },
			(*packetItem).whole),
		numberField("delay", "time from the first arrival to the last departure", query.Duration, query.Between,
			func(r *packetItem) (query.Range, bool) { return query.Exactly(r.delay), r.timed }),
		numberField("queue.depth", "most bytes in a queue on the path", query.Bytes, query.Most,
			func(r *packetItem) (query.Range, bool) { return r.depth, r.queued }),
		{Name: "ambiguous", Help: "equal packets exist, so that its path is not certain", Kind: query.Boolean,
			Text: query.One(func(r *packetItem) (string, bool) { return query.YesNo(r.Ambiguous), true })},
	},
	flagFields(func(r *packetItem) result.Flags { return r.Flags }, func(r *packetItem) bool { return !r.Ambiguous }),
)}

// since returns a table whose times may be compared with durations since the start of a simulation.
func since[R any](p *Page, t *query.Table[R]) *query.Table[R] {
	if p.cfg.Zero.IsZero() {
		return t
	}
	with := *t
	with.Start = p.cfg.Zero.UnixNano()
	return &with
}
