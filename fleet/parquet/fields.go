package parquet

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	"tamtam/collector"
	"tamtam/collector/result"
	"tamtam/tam/query"
)

// A row holds the values of the columns of a row that a scan has read, or bounds of them for a whole row group.
type row struct {
	numbers []query.Range
	known   []bool // numbers that are not null
	words   []*word
}

func newRow(t *scanTable) *row {
	n := len(t.columns)
	return &row{make([]query.Range, n), make([]bool, n), make([]*word, n)}
}

// set sets a column to an entry of a dictionary.
func (r *row) set(column int, e entry) {
	r.words[column], r.numbers[column], r.known[column] = e.word, query.Exactly(e.number), e.known
}

// A word is a text of a dictionary.
type word struct {
	text   string
	flow   collector.Flow // the five-tuple in the text, once parsed
	parsed bool
	isFlow bool
}

// tuple returns the five-tuple that the text contains.
func (w *word) tuple() (*collector.Flow, bool) {
	if !w.parsed {
		w.flow, w.isFlow = collector.FlowFromText(w.text)
		w.parsed = true
	}
	return &w.flow, w.isFlow
}

// A scanTable declares how rows of a kind are scanned.
type scanTable struct {
	kind    string
	columns []string // paths of columns; fields and numbers refer to them by their index
	fields  []scanField
	spreads []spread
	usual   string        // numbers that are shown if a question names none
	amends  []result.Kind // partitions whose amendments concern these rows
	table   *query.Table[row]
}

// The columns of each table begin with these.
const (
	startColumn = iota
	lengthColumn
	flagsColumn
)

// A scanField is a field of a filter or a grouping, from one column, or from that column and others.
type scanField struct {
	query.Field[row]
	column int
	others []int
	none   bool // a negative number in the column means that there is no value
}

// columns returns all columns of the field.
func (f *scanField) columns() []int { return append([]int{f.column}, f.others...) }

// A spread is a distribution of packets' latencies, in several columns of its own.
type spread struct {
	name                    string
	count, sum, least, most int
	buckets                 int
	packets                 int // column with the number of packets, of which the distribution may lack some
	help                    string
}

// column returns the index of a column.
func (t *scanTable) column(name string) int { return slices.Index(t.columns, name) }

// text declares a field with one text. An empty text is unknown, unless none is set: then there is no value.
func (t *scanTable) text(name, column, help string, key, none bool) {
	i := t.column(column)
	f := query.Field[row]{Name: name, Help: help, Kind: query.Text, Key: key,
		Text: query.One(func(r *row) (string, bool) { return r.words[i].text, r.words[i].text != "" })}
	if none {
		f.Whole = func(*row) bool { return true }
	}
	t.fields = append(t.fields, scanField{Field: f, column: i})
}

// number declares a field with one number, which is unknown if it is null.
func (t *scanTable) number(name, column, help string, kind query.Kind, total query.Total) {
	i := t.column(column)
	f := query.Field[row]{Name: name, Help: help, Kind: kind, Total: total,
		Number: query.One(func(r *row) (query.Range, bool) { return r.numbers[i], r.known[i] })}
	t.fields = append(t.fields, scanField{Field: f, column: i})
}

// optional declares a field with one number or, if the column has a negative one, without a value. It is unknown if the
// column is null.
func (t *scanTable) optional(name, column, help string, kind query.Kind) {
	i := t.column(column)
	f := query.Field[row]{Name: name, Help: help, Kind: kind, Whole: func(r *row) bool { return r.known[i] },
		Number: query.One(func(r *row) (query.Range, bool) {
			return r.numbers[i], r.known[i] && r.numbers[i].Low >= 0
		})}
	t.fields = append(t.fields, scanField{Field: f, column: i, none: true})
}

// extreme declares the least or the greatest number of a distribution. It is only a bound if the distribution lacks
// packets of the row, as lacks reports by other columns.
func (t *scanTable) extreme(name, column, help string, total query.Total, lacks func(r *row) bool, others ...int) {
	i := t.column(column)
	f := query.Field[row]{Name: name, Help: help, Kind: query.Duration, Total: total, Bounded: true,
		Number: query.One(func(r *row) (query.Range, bool) {
			if lacks(r) {
				return bound(r.numbers[i], total), r.known[i]
			}
			return r.numbers[i], r.known[i]
		})}
	t.fields = append(t.fields, scanField{Field: f, column: i, others: others})
}

// packetsColumn is the column with the number of packets.
const packetsColumn = "packets"

// bound returns the bounds of a least or greatest number, of which only some of the numbers are known.
func bound(x query.Range, total query.Total) query.Range {
	if total == query.Most {
		return query.Range{Low: x.Low, High: math.MaxInt64}
	}
	return query.Range{Low: min(0, x.Low), High: x.High}
}

// flow declares the fields of a five-tuple, as the page's views of rows have them.
func (t *scanTable) flow(column string) {
	i := t.column(column)
	ports := func(r *row) (*collector.Flow, bool) {
		f, ok := r.words[i].tuple()
		return f, ok && (f.Protocol == 6 || f.Protocol == 17) && !f.LaterFragment
	}
	noPorts := func(r *row) bool { f, ok := r.words[i].tuple(); return ok && !f.LaterFragment }
	t.text("flow", column, "the flow, as it is shown", false, false)
	for _, f := range []query.Field[row]{
		{Name: "src-ip", Help: "source address", Kind: query.Address, Address: query.One(func(r *row) (netip.Addr, bool) {
			f, ok := r.words[i].tuple()
			return f.Source, ok
		})},
		{Name: "dst-ip", Help: "destination address", Kind: query.Address,
			Address: query.One(func(r *row) (netip.Addr, bool) {
				f, ok := r.words[i].tuple()
				return f.Destination, ok
			})},
		{Name: "src-port", Help: "source port", Kind: query.Count, Whole: noPorts,
			Number: query.One(func(r *row) (query.Range, bool) {
				f, ok := ports(r)
				return query.Exactly(int64(f.SourcePort)), ok
			})},
		{Name: "dst-port", Help: "destination port", Kind: query.Count, Whole: noPorts,
			Number: query.One(func(r *row) (query.Range, bool) {
				f, ok := ports(r)
				return query.Exactly(int64(f.DestPort)), ok
			})},
	} {
		t.fields = append(t.fields, scanField{Field: f, column: i})
	}
}

// spread declares a distribution.
func (t *scanTable) spread(name, count, prefix, help string) {
	s := spread{name: name, help: help, count: t.column(count), sum: t.column(prefix + "_sum_ns"),
		least: t.column(prefix + "_min_ns"), most: t.column(prefix + "_max_ns"),
		buckets: t.column(prefix + "_buckets.list.element"), packets: t.column(packetsColumn)}
	t.spreads = append(t.spreads, s)
}

func (t *scanTable) done() *scanTable {
	t.table = &query.Table[row]{Rows: t.kind}
	for i := range t.fields {
		t.table.Fields = append(t.table.Fields, t.fields[i].Field)
	}
	return t
}

// fieldOf returns the declaration of a field of the table.
func (t *scanTable) fieldOf(f *query.Field[row]) *scanField {
	i := slices.IndexFunc(t.fields, func(x scanField) bool { return x.Name == f.Name })
	return &t.fields[i]
}

// spreadOf returns the distribution whose least or greatest number is in a column, or nil.
func (t *scanTable) spreadOf(column int) *spread {
	i := slices.IndexFunc(t.spreads, func(s spread) bool { return s.least == column || s.most == column })
	if i < 0 {
		return nil
	}
	return &t.spreads[i]
}

func hopTable() *scanTable {
	t := &scanTable{kind: "hops", usual: "packets,delay,delay.p99,delay.max", amends: []result.Kind{result.Stamps},
		columns: strings.Fields(`window_start_ns window_length_ns flags flow path hop switch_id in_port out_port packets
			packets_residence_unknown residence_count residence_sum_ns residence_min_ns residence_max_ns
			residence_buckets.list.element link_count link_sum_ns link_min_ns link_max_ns link_buckets.list.element`)}
	t.number("time", "window_start_ns", "begin of the window", query.Time, query.NoTotal)
	t.flow("flow")
	t.text("path", "path", "switches and ports of the whole path", false, false)
	t.number("hop", "hop", "position on the path, from 0", query.Count, query.NoTotal)
	t.number("switch-id", "switch_id", "number of the switch, as in stamps", query.Count, query.NoTotal)
	t.number("in-port", "in_port", "number of the ingress port, as in stamps", query.Count, query.NoTotal)
	t.number("out-port", "out_port", "number of the egress port, as in stamps", query.Count, query.NoTotal)
	t.number("packets", "packets", "stamped packets, each once at every switch", query.Count, query.Sum)
	t.number("packets.untimed", "packets_residence_unknown", "packets whose time in the switch is unknown", query.Count,
		query.Sum)
	packets, onLink := t.column(packetsColumn), t.column("link_count")
	unknown := t.column("packets_residence_unknown")
	untimed := func(r *row) bool { return r.numbers[unknown].High > 0 }
	untimedLink := func(r *row) bool { return r.numbers[onLink].Low < r.numbers[packets].High }
	t.extreme("delay.min", "residence_min_ns", "least time of a packet in the switch", query.Between, untimed, unknown)
	t.extreme("delay.max", "residence_max_ns", "greatest time of a packet in the switch", query.Most, untimed, unknown)
	t.extreme("link.min", "link_min_ns", "least time of a packet on the link before", query.Between, untimedLink, onLink,
		packets)
	t.extreme("link.max", "link_max_ns", "greatest time of a packet on the link before", query.Most, untimedLink, onLink,
		packets)
	t.spread("delay", "residence_count", "residence", "time of packets in the switch")
	t.spread("link", "link_count", "link", "time of packets on the link before")
	return t.done()
}

func dropTable() *scanTable {
	t := &scanTable{kind: "drops", usual: "packets", amends: []result.Kind{result.Drops, result.Records},
		columns: strings.Fields(`window_start_ns window_length_ns flags switch port queue reason rule flow packets first_ns
			last_ns source`)}
	t.number("time", "window_start_ns", "begin of the window", query.Time, query.NoTotal)
	t.text("drop.reason", "reason", "why packets were dropped", false, false)
	t.text("drop.rule", "rule", "the rule that decided, if one is known", false, false)
	t.text("switch", "switch", "where", false, false)
	t.text("port", "port", "where; none if packets were dropped before they had one", false, true)
	t.optional("queue", "queue", "queue of the port; none if packets were dropped before they were for one", query.Count)
	t.flow("flow")
	t.number("packets", "packets", "dropped packets", query.Count, query.Sum)
	t.number("first", "first_ns", "time of the first", query.Time, query.NoTotal)
	t.number("last", "last_ns", "time of the last", query.Time, query.NoTotal)
	// sources may report the same packets, so that their numbers are never added
	t.text("source", "source", "kind of report: ipfix, sflow or record", true, false)
	return t.done()
}

// scanTables holds the kinds of rows that add up, and so can be scanned. A row of another kind may replace an earlier
// one, such as a period that was reported again.
var scanTables = []*scanTable{hopTable(), dropTable()}
