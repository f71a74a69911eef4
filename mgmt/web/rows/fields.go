package rows

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	"tamtam/collector"
	"tamtam/collector/result"
	"tamtam/tam/query"
)

// A Tuple is a flow's text with its parts.
type Tuple struct {
	Text string
	flow collector.Flow
	ok   bool // true if the text is a five-tuple
}

// flowFields returns the fields of a flow.
func flowFields[R any](of func(*R) *Tuple) []query.Field[R] {
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
			Text: query.One(func(r *R) (string, bool) { return of(r).Text, of(r).Text != "" })},
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
		r = query.Range{Low: min(n, math.MaxInt64-1), High: math.MaxInt64}
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

// TupleOf returns a flow's text with its parts.
func TupleOf(text string) Tuple {
	f, ok := collector.FlowFromText(text)
	return Tuple{text, f, ok}
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

// Shares are the fields of a spread.
var Shares = []struct {
	Name, help string
	Of         func(*spread) query.Range
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
	for _, x := range Shares {
		list = append(list, numberField(x.Name, x.help, query.Duration, query.Between, func(r *R) (query.Range, bool) {
			s := of(r)
			return x.Of(s), s.known
		}))
	}
	return list
}

// SpreadOf returns the spread of the sums of n packets' times, of which parts hold the distributions. It is unknown if
// a part lacks a packet.
//
// The joint distribution of the parts is unknown. A quantile of the sum is at least that of one part plus the least
// values of the others. It is at most that of one part plus the greatest values of the others. It is also at most the
// sum of quantiles of all parts, if no more packets exceed one of these together than may exceed the sum's.
func SpreadOf(n int64, parts []*result.Distribution) (s spread) {
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

// A FlowItem is a path of a flow, as filters need it.
type FlowItem struct {
	Tuple
	spread
	Way      *Way
	Path     string   // the switches of the path
	switches []string // those that are known
	whole    bool     // all switches are known
	packets  query.Range
	stay     query.Range // longest mean time in a switch
	stays    bool        // stay is known
	// reasons are those of the reported drops of the flow, and dropped is the minimum of its drops. There may be more:
	// rows do not show which switches would report drops of the flow.
	reasons []string
	dropped int64
}

// Text returns the switches of a path as text. name returns the name of a switch.
func (w *Way) Text(name func(id uint32) string) string {
	var names []string
	for _, h := range w.Hops {
		if h.Known {
			names = append(names, name(h.Sw))
		} else {
			names = append(names, "?")
		}
	}
	return strings.Join(names, " → ")
}

// FlowItems returns the paths of all flows. name returns the name of a switch.
func FlowItems(s *Snapshot, name func(id uint32) string) (list []FlowItem) {
	type drops struct {
		reasons []string
		by      map[string]int64 // by source: sources may report the same packets
	}
	of := map[string]*drops{}
	for _, d := range s.Drops {
		x := of[d.Flow]
		if x == nil {
			x = &drops{by: map[string]int64{}}
			of[d.Flow] = x
		}
		if !slices.Contains(x.reasons, d.Reason) {
			x.reasons = append(x.reasons, d.Reason)
		}
		x.by[d.Source] = PlusBound(x.by[d.Source], d.packets().Low)
	}
	for _, w := range s.SortedWays() {
		x := FlowItem{Tuple: TupleOf(w.Flow), Way: w, Path: w.Text(name), whole: true}
		var parts []*result.Distribution
		for i := range w.Hops {
			h := &w.Hops[i]
			x.packets = query.Range{Low: max(x.packets.Low, h.Packets-h.Perhaps), High: max(x.packets.High, h.Packets)}
			if h.Known {
				x.switches = append(x.switches, name(h.Sw))
			}
			x.whole = x.whole && h.Known
			if mean, ok := h.Resident.Mean(); ok {
				x.stay.Low, x.stays = max(x.stay.Low, mean), true
			}
			if parts = append(parts, &h.Resident); i > 0 {
				parts = append(parts, &h.Link)
			}
		}
		x.stay.High = x.stay.Low
		if slices.ContainsFunc(w.Hops, func(h HopSum) bool { return h.Resident.Count == 0 }) {
			x.stay.High = math.MaxInt64
		}
		x.spread = SpreadOf(x.packets.High, parts)
		if x.spread.known && !x.packets.Exact() { // some of these packets may lie beside the chosen range
			x.spread.widen(&result.Distribution{Count: 1, Min: x.spread.least.Low, Max: x.spread.most.High})
		}
		if d := of[w.Flow]; d != nil {
			x.reasons = d.reasons
			slices.Sort(x.reasons)
			for _, n := range d.by {
				x.dropped = max(x.dropped, n)
			}
		}
		list = append(list, x)
	}
	return list
}

// reportsDrops reports whether drops are reported, and no report is missing.
func (s *Snapshot) reportsDrops() bool {
	if s.Flags[DropRows] != 0 || s.Left["drops"] > 0 || s.Stopped || s.Unread != "" {
		return false
	}
	found := len(s.Drops) > 0
	for partition := range s.sources {
		found = found || strings.HasPrefix(partition, result.Drops.String()+"-")
	}
	return found
}

// FlowTable declares the paths of flows.
var FlowTable = &query.Table[FlowItem]{Rows: "flows", Fields: slices.Concat(
	flowFields(func(r *FlowItem) *Tuple { return &r.Tuple }),
	[]query.Field[FlowItem]{
		textField("path", "switches in the order of the path", func(r *FlowItem) string { return r.Path }),
		listField("switch", "a switch on the path", func(r *FlowItem) []string { return r.switches },
			func(r *FlowItem) bool { return r.whole }),
		numberField("packets", "stamped packets", query.Count, query.Sum, func(r *FlowItem) (query.Range, bool) {
			return countedRange(r.packets, r.Way.Flags), true
		}),
		numberField("windows", "windows of time with packets", query.Count, query.NoTotal,
			func(r *FlowItem) (query.Range, bool) { return query.Exactly(int64(r.Way.Windows)), !r.Way.Late }),
		timeField("from", "begin of the first window", func(r *FlowItem) int64 { return r.Way.From }),
		timeField("to", "end of the last window", func(r *FlowItem) int64 { return r.Way.To }),
	},
	delayFields(func(r *FlowItem) *spread { return &r.spread }),
	[]query.Field[FlowItem]{
		numberField("stay", "longest mean time in a switch of the path", query.Duration, query.NoTotal,
			func(r *FlowItem) (query.Range, bool) { return r.stay, r.stays }),
		listField("drop.reason", "why packets of the flow were dropped, as reported",
			func(r *FlowItem) []string { return r.reasons }, func(*FlowItem) bool { return false }),
		{Name: "drops", Help: "dropped packets of the flow: at least those that were reported", Kind: query.Count,
			Bounded: true, Number: query.One(func(r *FlowItem) (query.Range, bool) {
				return query.Range{Low: min(r.dropped, math.MaxInt64-1), High: math.MaxInt64}, len(r.reasons) > 0
			})},
	},
	flagFields(func(r *FlowItem) result.Flags { return r.Way.Flags },
		func(r *FlowItem) bool { return r.packets.Exact() }),
)}

// packets returns the bounds of the number of packets.
func (x *DropSum) packets() query.Range {
	return countedRange(query.Range{Low: x.Packets - x.Perhaps, High: x.Packets}, x.Flags)
}

// ByRule reports whether the rule of an access list decided on drops for a reason.
func ByRule(reason string) bool { return strings.Contains(strings.ToLower(reason), "acl") }

// A DropItem is a row of drops.
type DropItem struct {
	*DropSum
	Tuple Tuple
}

// DropTable declares drops. Sources may report the same packets, so that their numbers are never added.
var DropTable = &query.Table[DropItem]{Rows: "drops", Fields: slices.Concat(
	[]query.Field[DropItem]{
		textField("drop.reason", "why packets were dropped", func(r *DropItem) string { return r.Reason }),
		{Name: "drop.rule", Help: "the rule that decided", Kind: query.Text,
			Text:  query.One(func(r *DropItem) (string, bool) { return r.Rule, r.Rule != "" }),
			Whole: func(r *DropItem) bool { return r.Rule != "" || !ByRule(r.Reason) }},
		textField("switch", "where", func(r *DropItem) string { return r.Sw }),
		{Name: "port", Help: "where; none if packets were dropped before they had one", Kind: query.Text,
			Whole: always[DropItem], Text: query.One(func(r *DropItem) (string, bool) { return r.Port, r.Port != "" })},
		{Name: "queue", Help: "queue of the port; none if packets were dropped before they were for one", Kind: query.Count,
			Whole: func(r *DropItem) bool { return r.Queue != result.UnknownQueue },
			Number: query.One(func(r *DropItem) (query.Range, bool) {
				return query.Exactly(int64(r.Queue)), r.Queue >= 0
			})},
	},
	flowFields(func(r *DropItem) *Tuple { return &r.Tuple }),
	[]query.Field[DropItem]{
		numberField("packets", "dropped packets", query.Count, query.Sum, func(r *DropItem) (query.Range, bool) {
			return r.packets(), true
		}),
		timeField("first", "time of the first", func(r *DropItem) int64 { return r.First }),
		timeField("last", "time of the last", func(r *DropItem) int64 { return r.Last }),
		{Name: "source", Help: "kind of report: ipfix, sflow or record", Kind: query.Text, Key: true,
			Text: query.One(func(r *DropItem) (string, bool) { return r.Source, r.Source != "" })},
	},
	flagFields(func(r *DropItem) result.Flags { return r.Flags }, func(r *DropItem) bool { return r.Perhaps == 0 }),
)}

// StatusText returns the status of a period in the words of confidence: a period whose numbers are not to be compared
// is not exact.
func StatusText(status string) string {
	if status == "flagged" {
		return "not exact"
	}
	return status
}

// A periodItem is a period of alternate marking.
type periodItem struct {
	*result.Loss
	spread
}

// PeriodItems returns the periods of a series as rows.
func PeriodItems(list []result.Loss) []periodItem {
	items := make([]periodItem, len(list))
	for i := range list {
		l := &list[i]
		items[i] = periodItem{l, SpreadOf(l.Delay.Count, []*result.Distribution{&l.Delay})}
	}
	return items
}

// counted returns the bounds of a number of packets, if it is known.
func (r *periodItem) counted(n int64) (query.Range, bool) { return counted(n, r.Flags), r.Known }

// PeriodTable declares the periods of alternate marking.
var PeriodTable = &query.Table[periodItem]{Rows: "periods", Fields: slices.Concat(
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
		textField("status", "ok, or why the period is not", func(r *periodItem) string { return StatusText(r.Status) }),
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

// A PacketItem is a packet with its path.
type PacketItem struct {
	*result.Journey
	tuple    Tuple
	switches []string
	reasons  []string
	delay    int64
	timed    bool
	depth    query.Range
	queued   bool // a depth is known
}

// PacketItemOf returns a journey as a row.
func PacketItemOf(j *result.Journey) PacketItem {
	x := PacketItem{Journey: j, tuple: TupleOf(j.Flow)}
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
	if n := len(j.Hops); n > 0 && TreeOf(j).Ends() == 1 && j.Hops[0].Arrival != 0 && j.Hops[n-1].Departure != 0 {
		x.delay, x.timed = j.Hops[n-1].Departure-j.Hops[0].Arrival, x.whole()
	}
	return x
}

// whole reports whether the packet's path is known from its begin to its end.
func (r *PacketItem) whole() bool {
	const partial = result.Gap | result.Silent | result.Overflow | result.Cut | result.Missing | result.Edge
	return !r.Ambiguous && r.Flags&partial == 0
}

// wholeTables reports whether the tables are known that the packet executed in each switch.
func (r *PacketItem) wholeTables() bool {
	return r.whole() && !slices.ContainsFunc(r.Hops, func(h result.JourneyHop) bool { return h.Tables == "" })
}

// tables returns the i-th list of tables of a packet.
func (r *PacketItem) tables(i int) (string, bool) {
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

// PacketTable declares packets.
var PacketTable = &query.Table[PacketItem]{Rows: "packets", Fields: slices.Concat(
	[]query.Field[PacketItem]{timeField("time", "first arrival", func(r *PacketItem) int64 { return r.Time })},
	flowFields(func(r *PacketItem) *Tuple { return &r.tuple }),
	[]query.Field[PacketItem]{
		textField("origin", "host that sent it", func(r *PacketItem) string { return r.From }),
		listField("switch", "a switch on the path", func(r *PacketItem) []string { return r.switches },
			(*PacketItem).whole),
		{Name: "tables", Help: "tables that a switch on the path executed", Kind: query.Text,
			Whole: (*PacketItem).wholeTables, Text: (*PacketItem).tables},
		textField("end", "how it ended", func(r *PacketItem) string { return r.End }),
		listField("drop.reason", "why it, or a copy of it, was dropped", func(r *PacketItem) []string { return r.reasons },
			(*PacketItem).whole),
		numberField("delay", "time from the first arrival to the last departure", query.Duration, query.Between,
			func(r *PacketItem) (query.Range, bool) { return query.Exactly(r.delay), r.timed }),
		numberField("queue.depth", "most bytes in a queue on the path", query.Bytes, query.Most,
			func(r *PacketItem) (query.Range, bool) { return r.depth, r.queued }),
		{Name: "ambiguous", Help: "equal packets exist, so that its path is not certain", Kind: query.Boolean,
			Text: query.One(func(r *PacketItem) (string, bool) { return query.YesNo(r.Ambiguous), true })},
	},
	flagFields(func(r *PacketItem) result.Flags { return r.Flags }, func(r *PacketItem) bool { return !r.Ambiguous }),
)}
