package hft

import (
	"fmt"
	"time"

	"tamtam/tam/ipfix"
)

// optionTemplates is the number of templates of a conforming stream beside those of its records: type information,
// names of fields, and the stream itself.
const optionTemplates = 3

// Options records of a conforming stream: the object of each field, and the interval of the records of a template.
var (
	fieldOptions = ipfix.Kind{Name: "field", Scope: 2, Fields: []ipfix.Field{
		{Element: ipfix.Standard("templateId")}, {Element: ipfix.Standard("informationElementIndex")},
		{Element: ipfix.OwnElement("tamtamObjectLabel")}, {Element: ipfix.OwnElement("tamtamObjectName")},
	}}
	streamOptions = ipfix.Kind{Name: "stream", Scope: 1, Fields: []ipfix.Field{
		{Element: ipfix.Standard("templateId")}, {Element: ipfix.OwnElement("tamtamSampleInterval")},
		{Element: ipfix.OwnElement("tamtamReplacedTemplate")},
	}}
)

// Indexes of the kinds of a conforming stream.
const (
	fieldKind = iota
	streamKind
	dataKind // and those after it, one for each template of records
)

// conforming encodes records by RFC 7011.
type conforming struct {
	stream  *Stream
	size    messageSize
	encoder *ipfix.Encoder
	records []*ipfix.Record // one for each template
	waiting int             // records in the message
}

func newConforming(s *Stream, columns []Column, first uint16) (writer, error) {
	w := &conforming{stream: s, size: messageSize(s.config.Size)}
	c := ipfix.Config{Domain: s.config.Domain, Enterprise: s.config.Enterprise, Size: s.config.Size,
		Refresh: s.config.Refresh, RefreshMessages: s.config.RefreshMessages, FirstID: first,
		Kinds: []*ipfix.Kind{&fieldOptions, &streamOptions}}
	elements := map[uint16]*ipfix.Element{}
	for i := range w.size.split(len(columns)) {
		from, to := w.size.part(i, len(columns))
		k := &ipfix.Kind{Name: fmt.Sprint("records ", i+1),
			Fields: []ipfix.Field{{Element: ipfix.Standard("observationTimeNanoseconds")}}}
		id := first + optionTemplates + uint16(i)
		for j, column := range columns[from:to] {
			n, err := column.element()
			if err != nil {
				return nil, err
			}
			if elements[n] == nil {
				elements[n] = describe(n, column.Name)
			}
			k.Fields = append(k.Fields, ipfix.Field{Element: elements[n]})
			about := optionsRecord(&fieldOptions, ipfix.Uint(uint64(id)), ipfix.Uint(uint64(j+1)),
				ipfix.Uint(uint64(column.Label)), ipfix.Text(column.Object))
			c.Repeat = append(c.Repeat, ipfix.Repeated{Kind: fieldKind, Record: about})
		}
		replaced := uint64(0) // parts replace parts, as far as both have them
		if s.ids > optionTemplates+i {
			replaced = uint64(s.first) + optionTemplates + uint64(i)
		}
		about := optionsRecord(&streamOptions, ipfix.Uint(uint64(id)), ipfix.Uint(uint64(s.config.Interval)),
			ipfix.Uint(replaced))
		c.Repeat = append(c.Repeat, ipfix.Repeated{Kind: streamKind, Record: about})
		c.Kinds = append(c.Kinds, k)
		w.records = append(w.records, k.NewRecord())
	}
	c.Describe = c.Kinds
	var err error
	w.encoder, err = ipfix.NewEncoder(c, s.send)
	return w, err
}

// describe returns the element of a statistic.
func describe(number uint16, name string) *ipfix.Element {
	return &ipfix.Element{ID: number, Own: true, Name: elementName(name), Type: ipfix.Unsigned64,
		Semantics: KindOf(name).semantics(), Units: UnitsOf(name), Text: name}
}

// optionsRecord returns a record of a kind with these values.
func optionsRecord(k *ipfix.Kind, values ...ipfix.Value) *ipfix.Record {
	r := k.NewRecord()
	for i, v := range values {
		r.Set(i, v)
	}
	return r
}

func (w *conforming) begin(sequence uint32) { w.encoder.Continue(sequence) }

func (w *conforming) sequence() uint32 { return w.encoder.Sequence() }

func (w *conforming) sample(now time.Time, at int64, values []uint64) error {
	t, ok := ipfix.NTP(uint64(at/1e9), uint32(at%1e9))
	if !ok {
		return fmt.Errorf("hft: time %d ns, want one before 2036-02-07 in a conforming stream", at)
	}
	for i, r := range w.records {
		from, to := w.size.part(i, len(values))
		r.Set(0, ipfix.Uint(t))
		for j, v := range values[from:to] {
			r.Set(1+j, ipfix.Uint(v))
		}
		if err := w.encoder.Add(now, dataKind+i, r); err != nil {
			return err
		}
		if w.waiting++; w.waiting == w.stream.config.Bulk {
			w.flush()
		}
	}
	return nil
}

func (w *conforming) flush() {
	w.encoder.Flush()
	w.waiting = 0
}

// templates returns nil, because a conforming stream contains its templates.
func (w *conforming) templates() []byte { return nil }
