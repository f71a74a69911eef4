package hft

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tamtam/tam/ipfix"
)

// Limits of the state that a [Decoder] keeps, whatever it receives. Templates are limited as in [ipfix.Decoder].
const (
	MaxFields    = 1 << 17 // fields of all templates together
	MaxStreams   = 1024
	MaxNames     = 1 << 17 // names of objects, for all templates together, and as many for all labels
	maxNameBytes = 128     // bytes of a name
)

// A Record is a received record. It is valid only until the callback returns.
type Record struct {
	Format   Format
	Domain   uint32
	Template uint16
	Sequence uint32
	Exported time.Time // export time of the message
	At       int64     // time of the values, in nanoseconds since 1970
	Interval int64     // of the stream, in nanoseconds; zero if it is unknown yet
	Columns  []Column  // object names are empty if they are unknown; the names of statistics always are
	Values   []uint64  // one for each column
}

// Counts holds the counters of a [Decoder].
type Counts struct {
	ipfix.Counts
	Samples    uint64 `json:"samples"`    // records with statistics
	Statistics uint64 `json:"statistics"` // values of these records
	Other      uint64 `json:"other_records"`
	// Refused counts records whose time is impossible.
	Refused uint64 `json:"records_refused"`
	// Beyond counts records of streams beyond MaxStreams, whose cadence is not checked, and names beyond MaxNames.
	Beyond uint64 `json:"beyond"`
}

// A Decoder decodes the streams of one exporter. It must be used by one goroutine only.
type Decoder struct {
	ipfix      *ipfix.Decoder
	enterprise uint32
	interval   int64 // given by the user; zero means unknown
	event      func(Event)
	counts     Counts
	streams    map[streamKey]*stream
	names      map[templateKey]*naming
	named      int // names in all of names
	labelled   int // labels whose objects are known, in all streams
	record     Record
	message    []byte
	fault      error
	received   func(*ipfix.Template) // called for each template of a message; nil outside of Session
}

type templateKey struct {
	domain   uint32
	template uint16
}

// A streamKey identifies a stream: SONiC gives each group one object type, and this module one domain.
type streamKey struct {
	domain, objectType uint32
}

// A naming holds what is known about a template beside its fields.
type naming struct {
	objects  map[uint16]object // by index of the field, from options records
	labels   map[uint16]string // by label, from a session
	interval int64
}

type object struct {
	label uint16
	name  string
}

// A layout is the meaning of a template's fields. A template of something else has none.
type layout struct {
	format  Format
	columns []Column
	stale   bool // true if names were received since the columns got theirs
	// compared is true if the names were compared with those that the stream had for the labels.
	compared bool
}

// An options is the place of the values in an options record that a decoder reads.
type options struct {
	template, index, label, name, interval int // -1 for a value that is not there
}

// NewDecoder returns a decoder. Elements of this enterprise number are those of a conforming stream; zero means
// [ipfix.DefaultEnterprise]. interval is the time between records, or zero if it is unknown. event is called for each
// event, before the record that causes it. It may be nil.
func NewDecoder(enterprise uint32, interval time.Duration, event func(Event)) (*Decoder, error) {
	if enterprise == 0 {
		enterprise = ipfix.DefaultEnterprise
	}
	if enterprise > MaxEnterprise || interval < 0 {
		return nil, fmt.Errorf("hft: enterprise number %d and interval %v, want at most %d, and not less than 0",
			enterprise, interval, MaxEnterprise)
	}
	if event == nil {
		event = func(Event) {}
	}
	d := &Decoder{ipfix: ipfix.NewDecoder(enterprise), enterprise: enterprise, interval: int64(interval), event: event,
		streams: map[streamKey]*stream{}, names: map[templateKey]*naming{}}
	d.ipfix.AllowFields(1+MaxStatistics, MaxFields)
	d.ipfix.Check(d.check)
	return d, nil
}

// Counts returns the counters.
func (d *Decoder) Counts() Counts {
	d.counts.Counts = d.ipfix.Counts()
	return d.counts
}

// Streams returns the state of the streams, by domain and object type.
func (d *Decoder) Streams() (all []Cadence) {
	keys := slices.SortedFunc(maps.Keys(d.streams), func(a, b streamKey) int {
		return cmp.Or(cmp.Compare(a.domain, b.domain), cmp.Compare(a.objectType, b.objectType))
	})
	for _, k := range keys {
		all = append(all, d.streams[k].report(k))
	}
	return all
}

// Messages decodes messages that follow each other, as a datagram of generic netlink has them, and calls each for every
// record. It returns an [*ipfix.Error] with the first fault, whose offset counts from the beginning of b. Messages
// after one of impossible length cannot be read.
func (d *Decoder) Messages(b []byte, each func(*Record)) error {
	return split(b, func(message []byte) error {
		d.message, d.fault = message, nil
		return cmp.Or(d.ipfix.Message(message, func(r *ipfix.DataRecord) { d.data(r, each) }), d.fault)
	})
}

// split calls read for each of the messages in b, and returns the first fault.
func split(b []byte, read func(message []byte) error) (first error) {
	for at := 0; ; {
		n := len(b) - at
		if n >= headerLen {
			if length := int(binary.BigEndian.Uint16(b[at+2:])); length >= headerLen && length < n {
				n = length
			}
		}
		if err := read(b[at : at+n]); err != nil && first == nil {
			first = err
			if fault := (*ipfix.Error)(nil); errors.As(err, &fault) {
				moved := *fault
				moved.Offset += at
				first = &moved
			}
		}
		if at += n; at >= len(b) {
			return first
		}
	}
}

// Lacks reports whether messages have a data set whose template is neither held nor in front of it. A reader that gets
// templates by sessions then reads the sessions again, and loses nothing.
func (d *Decoder) Lacks(b []byte) bool {
	lacks := false
	_ = split(b, func(m []byte) error {
		if len(m) < headerLen {
			return nil
		}
		domain, templates := binary.BigEndian.Uint32(m[12:]), false
		for at := headerLen; at+setHeaderLen <= len(m); {
			id, n := binary.BigEndian.Uint16(m[at:]), int(binary.BigEndian.Uint16(m[at+2:]))
			templates = templates || id < firstTemplate
			lacks = lacks || id >= firstTemplate && !templates && !d.Knows(domain, id)
			at += max(n, setHeaderLen)
		}
		return nil
	})
	return lacks
}

// Knows reports whether the decoder holds a template.
func (d *Decoder) Knows(domain uint32, template uint16) bool {
	return d.ipfix.Template(domain, template) != nil
}

// Session adds the templates of a session, as in session_config, and the names of its objects by label. Names that the
// decoder had for these templates are dropped. Faults are reported as in [Decoder.Messages].
func (d *Decoder) Session(templates []byte, labels map[uint16]string) error {
	ids := []templateKey(nil)
	d.received = func(t *ipfix.Template) { ids = append(ids, templateKey{t.Domain, t.ID}) }
	err := split(templates, d.ipfix.OutOfBand)
	d.received = nil
	for _, k := range ids {
		d.forget(k)
		if d.named+len(labels) > MaxNames || len(d.names) >= ipfix.MaxTemplates {
			d.counts.Beyond++
			continue
		}
		d.naming(k).labels = labels
		d.named += len(labels)
		d.rename(k)
	}
	return err
}

// naming returns the names of a template, and makes it if there are none.
func (d *Decoder) naming(k templateKey) *naming {
	n := d.names[k]
	if n == nil {
		n = &naming{objects: map[uint16]object{}}
		d.names[k] = n
	}
	return n
}

// forget drops the names of a template.
func (d *Decoder) forget(k templateKey) {
	if n := d.names[k]; n != nil {
		d.named -= len(n.objects) + len(n.labels)
		delete(d.names, k)
	}
}

// rename makes the columns of a template get their names again.
func (d *Decoder) rename(k templateKey) {
	if t := d.ipfix.Template(k.domain, k.template); t != nil {
		if l, ok := t.Meaning.(*layout); ok {
			l.stale = true
		}
	}
}

// check derives the meaning of a template, or returns why it is refused.
func (d *Decoder) check(t *ipfix.Template) (field int, reason string) {
	if t.Scope > 0 {
		if o := optionsOf(t); o != nil {
			t.Meaning = o
		}
		return 0, ""
	}
	if !slices.ContainsFunc(t.Fields, func(f ipfix.FieldSpec) bool { return f.Enterprise != 0 }) {
		return 0, "" // no statistics: a template of something else
	}
	if f := &t.Fields[0]; f.Enterprise != 0 || f.ID != observationTime || f.Length != timeLen {
		return 0, fmt.Sprintf("%s in %d bytes, want observationTimeNanoseconds in %d bytes before the statistics",
			f.Name(), f.Length, timeLen)
	}
	l := &layout{columns: make([]Column, len(t.Fields)-1), stale: true}
	seen := make(map[Statistic]bool, len(l.columns))
	for i := range l.columns {
		f := &t.Fields[1+i]
		s, format, reason := d.statistic(f, uint16(1+i))
		if reason == "" && i > 0 && format != l.format {
			reason = fmt.Sprintf("%s is of a stream of format %s, want %s as the fields before", f.Name(), format, l.format)
		}
		if reason == "" && format == SONiC && seen[s] {
			reason = fmt.Sprintf("statistic %d of object type %d and label %d is there twice", s.ID, s.Type, s.Label)
		}
		if reason != "" {
			return 1 + i, reason
		}
		seen[s] = true
		l.format, l.columns[i] = format, Column{Statistic: s}
	}
	t.Meaning = l
	k := templateKey{t.Domain, t.ID}
	if old := d.ipfix.Template(t.Domain, t.ID); old != nil && !same(old, l) {
		d.event(Event{Kind: Redefined, Domain: t.Domain, Template: t.ID})
		if n := d.names[k]; n != nil && n.labels != nil { // those of options come with the template
			d.forget(k)
		}
	}
	if d.received != nil {
		d.received(t)
	}
	return 0, ""
}

// same reports whether a template has the fields of a layout.
func same(t *ipfix.Template, l *layout) bool {
	old, ok := t.Meaning.(*layout)
	return ok && slices.EqualFunc(old.columns, l.columns, func(a, b Column) bool {
		return a.Type == b.Type && a.ID == b.ID && (a.Label == b.Label || l.format == Conforming)
	})
}

// statistic returns the statistic of a field, or why it is none. The label of a conforming stream's field follows from
// options records.
func (d *Decoder) statistic(f *ipfix.FieldSpec, index uint16) (s Statistic, format Format, reason string) {
	switch {
	case f.Enterprise == 0:
		return s, 0, f.Name() + ", want only statistics after observationTimeNanoseconds"
	case f.Length == 0 || f.Length > timeLen:
		return s, 0, fmt.Sprintf("a statistic in %d bytes, want 1 to %d", f.Length, timeLen)
	case f.Enterprise == d.enterprise:
		objectType, id, ok := typeOfElement(f.ID)
		if !ok {
			return s, 0, fmt.Sprintf("element %d of enterprise %d is no statistic", f.ID, f.Enterprise)
		}
		return Statistic{Type: objectType, ID: id}, Conforming, ""
	}
	if s = statisticOf(f.Enterprise, f.ID); s.Type == 0 {
		return s, 0, fmt.Sprintf("enterprise number %#x has object type 0, want a type of SAI, or %d for a conforming stream",
			f.Enterprise, d.enterprise)
	}
	return s, SONiC, ""
}

// optionsOf returns the places of the values in options records of a template, or nil if the decoder does not read
// them.
func optionsOf(t *ipfix.Template) *options {
	o := &options{-1, -1, -1, -1, -1}
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Element == nil || f.Learned {
			continue
		}
		switch f.Element.Name {
		case "templateId":
			o.template = i
		case "informationElementIndex":
			o.index = i
		case "tamtamObjectLabel":
			o.label = i
		case "tamtamObjectName":
			o.name = i
		case "tamtamSampleInterval":
			o.interval = i
		}
	}
	if o.template < 0 || min(o.index, o.label, o.name) < 0 && o.interval < 0 {
		return nil
	}
	return o
}

// data decodes a record.
func (d *Decoder) data(r *ipfix.DataRecord, each func(*Record)) {
	switch m := r.Meaning.(type) {
	case *options:
		d.describe(r, m)
	case *layout:
		d.sample(r, m, each)
	default:
		if r.Scope == 0 {
			d.counts.Other++
		}
	}
}

// describe keeps what an options record reports about a template.
func (d *Decoder) describe(r *ipfix.DataRecord, o *options) {
	number := func(i int) uint64 {
		v, _ := ipfix.Unsigned(r.Values[i])
		return v
	}
	for _, i := range []int{o.template, o.index, o.label, o.name, o.interval} {
		if i >= 0 && r.Fields[i].Raw(r.Values[i]) {
			return // counted by the decoder
		}
	}
	k := templateKey{r.Domain, uint16(number(o.template))}
	if d.names[k] == nil && len(d.names) >= ipfix.MaxTemplates {
		d.counts.Beyond++
		return
	}
	n := d.naming(k)
	if o.interval >= 0 {
		n.interval = int64(min(number(o.interval), math.MaxInt64))
	}
	if min(o.index, o.label, o.name) < 0 {
		return
	}
	index, is := uint16(number(o.index)), object{uint16(number(o.label)), ""}
	if name := r.Values[o.name]; len(name) <= maxNameBytes {
		was, known := n.objects[index]
		if known && was.label == is.label && was.name == string(name) {
			return
		}
		if !known && d.named >= MaxNames {
			d.counts.Beyond++
			return
		}
		if !known {
			d.named++
		}
		is.name = string(name)
		n.objects[index] = is
		d.rename(k)
	}
}

// named gives the columns of a layout the names that are known.
func (l *layout) named(n *naming) {
	l.stale, l.compared = false, false
	for i := range l.columns {
		c := &l.columns[i]
		switch {
		case n == nil:
		case l.format == Conforming:
			o := n.objects[uint16(1+i)]
			c.Label, c.Object = o.label, o.name
		default:
			c.Object = n.labels[c.Label]
		}
	}
}

// sample decodes a record of statistics, and checks its place in its stream.
func (d *Decoder) sample(r *ipfix.DataRecord, l *layout, each func(*Record)) {
	v, _ := ipfix.Unsigned(r.Values[0])
	at := int64(v)
	if l.format == Conforming {
		t, ok := ipfix.FromNTP(v)
		if at = t.UnixNano(); !ok {
			at = -1
		}
	}
	if at < 0 {
		d.counts.Refused++
		if d.fault == nil {
			d.fault = &ipfix.Error{Offset: cap(d.message) - cap(r.Values[0]), Field: "observationTimeNanoseconds",
				Reason: fmt.Sprintf("%#x in a stream of format %s, want a time since 1970", v, l.format)}
		}
		return
	}
	k := templateKey{r.Domain, r.ID}
	if l.stale {
		l.named(d.names[k])
	}
	out := &d.record
	out.Format, out.Domain, out.Template, out.Sequence, out.Exported = l.format, r.Domain, r.ID, r.Sequence, r.Exported
	out.At, out.Columns, out.Values = at, l.columns, out.Values[:0]
	for _, b := range r.Values[1:] {
		v, _ := ipfix.Unsigned(b)
		out.Values = append(out.Values, v)
	}
	d.counts.Samples++
	d.counts.Statistics += uint64(len(out.Values))
	d.follow(out, l, k)
	each(out)
}

// follow checks the cadence of the record's stream, and withdraws the templates that the stream has left.
func (d *Decoder) follow(r *Record, l *layout, k templateKey) {
	key := streamKey{r.Domain, l.columns[0].Type}
	s := d.streams[key]
	if s == nil {
		if len(d.streams) == MaxStreams {
			d.counts.Beyond++
			r.Interval = d.interval
			return
		}
		s = &stream{given: d.interval}
		d.streams[key] = s
	}
	if n := d.names[k]; n != nil && n.interval > 0 {
		s.announced = n.interval
	}
	left := s.add(r.Template, r.At, func(e Event) {
		e.Domain, e.Type = r.Domain, key.objectType
		d.event(e)
	})
	for _, id := range left {
		d.ipfix.Withdraw(r.Domain, id)
		d.forget(templateKey{r.Domain, id})
	}
	if !l.compared && d.relabelled(s, l) {
		s.counts[Relabelled]++
		d.event(Event{Kind: Relabelled, Domain: r.Domain, Type: key.objectType, Template: r.Template, At: r.At})
	}
	r.Interval, _ = s.interval()
}

// relabelled reports whether a label of the layout was another object's in this stream. Objects without a name are not
// compared.
func (d *Decoder) relabelled(s *stream, l *layout) (changed bool) {
	l.compared = true
	if s.objects == nil {
		s.objects = map[uint16]string{}
	}
	for i := range l.columns {
		c := &l.columns[i]
		if c.Object == "" {
			continue
		}
		was, known := s.objects[c.Label]
		if !known {
			if d.labelled == MaxNames {
				d.counts.Beyond++
				continue
			}
			d.labelled++
		}
		changed = changed || known && was != c.Object
		s.objects[c.Label] = c.Object
	}
	return changed
}
