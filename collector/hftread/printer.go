package hftread

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/sai"
	"tamtam/tam/hft"
	"tamtam/tam/ipfix"
)

// MaxExporters is the maximum number of addresses and ports that a [Printer] distinguishes. Datagrams of other
// exporters are only counted.
const MaxExporters = 16

// Options are the options of a [Printer].
type Options struct {
	Format     string        // text, json or csv
	Enterprise uint32        // of conforming streams; zero means [ipfix.DefaultEnterprise]
	Interval   time.Duration // between records; zero if it is unknown
	Notes      io.Writer     // gets events, faults and the report if the format is csv
	// Each is called for each record, unless it is nil. The record is valid only until it returns.
	Each func(exporter string, r *Record) error
}

// A Record is a record with the names of its columns.
type Record struct {
	*hft.Record
	Statistics []Name // one for each column
}

// A Name is a statistic with its names.
type Name struct {
	Type string   // short name of the object type: PORT
	SAI  string   // SAI's name of the statistic
	Name string   // its short name: IF_IN_OCTETS
	Kind hft.Kind // meaning of its values
}

// A Session is a session of HIGH_FREQUENCY_TELEMETRY_SESSION_TABLE: the templates of a group, and its objects by label.
type Session struct {
	Templates []byte
	Labels    map[uint16]string
}

// A Printer prints the records of streams as they arrive, and what is wrong with them.
type Printer struct {
	options  Options
	out      *bufio.Writer
	notes    *bufio.Writer // out, unless the format is csv
	json     *json.Encoder // nil for other formats
	decoders map[netip.AddrPort]*hft.Decoder
	sessions []Session
	names    map[statistic]Name
	beyond   uint64
	records  int64
	line     []byte
	record   Record
	err      error // first error of out
}

type statistic struct{ objectType, id uint32 }

// maxNames is the maximum number of statistics whose names are kept.
const maxNames = 1 << 14

// New returns a printer to out. An error names the invalid option.
func New(out io.Writer, o Options) (*Printer, error) {
	if _, err := hft.NewDecoder(o.Enterprise, o.Interval, nil); err != nil {
		return nil, err
	}
	p := &Printer{options: o, out: bufio.NewWriter(out), decoders: map[netip.AddrPort]*hft.Decoder{},
		names: map[statistic]Name{}}
	p.notes = p.out
	switch o.Format {
	case "json":
		p.json = json.NewEncoder(p.out)
	case "csv":
		p.notes = bufio.NewWriter(o.Notes)
		p.out.WriteString("time_ns,exporter,domain,template,type,object,label,statistic,kind,value\n")
	case "text":
	default:
		return nil, fmt.Errorf("format %q, want text, json or csv", o.Format)
	}
	return p, nil
}

// Records returns the number of printed records.
func (p *Printer) Records() int64 { return p.records }

// Lacks reports whether a datagram needs a template that the printer does not have.
func (p *Printer) Lacks(from netip.AddrPort, payload []byte) bool {
	d := p.decoder(from)
	return d != nil && d.Lacks(payload)
}

// Sessions replaces the sessions, whose templates and names count for every exporter. It prints faults of templates.
func (p *Printer) Sessions(list []Session) error {
	p.sessions = list
	for from, d := range p.decoders {
		p.session(from, d)
	}
	return p.flush()
}

func (p *Printer) session(from netip.AddrPort, d *hft.Decoder) {
	for _, s := range p.sessions {
		if err := d.Session(s.Templates, s.Labels); err != nil {
			p.fault(from, fmt.Errorf("session: %w", err))
		}
	}
}

// decoder returns the decoder of an exporter, or nil beyond MaxExporters.
func (p *Printer) decoder(from netip.AddrPort) *hft.Decoder {
	d := p.decoders[from]
	if d != nil || len(p.decoders) == MaxExporters {
		return d
	}
	d, err := hft.NewDecoder(p.options.Enterprise, p.options.Interval, func(e hft.Event) { p.event(from, &e) })
	if err != nil {
		panic(err) // New has ruled it out
	}
	p.decoders[from] = d
	p.session(from, d)
	return d
}

// Datagram prints the records of messages. It returns an error of the output, or of Options.Each. Faults of the
// messages are printed.
func (p *Printer) Datagram(from netip.AddrPort, payload []byte) error {
	d := p.decoder(from)
	if d == nil {
		p.beyond++
		return nil
	}
	if err := d.Messages(payload, func(r *hft.Record) { p.print(from, r) }); err != nil {
		p.fault(from, err)
	}
	return p.flush()
}

func (p *Printer) flush() error {
	p.err = errors.Join(p.err, p.out.Flush())
	if p.notes != p.out {
		p.err = errors.Join(p.err, p.notes.Flush())
	}
	return p.err
}

// exporter returns the name of an exporter.
func exporter(from netip.AddrPort) string {
	if !from.IsValid() || from.Addr().IsUnspecified() {
		return "local" // a Unix socket or a file
	}
	return from.String()
}

// note prints one line that is not a record: object as JSON, or the result of text.
func (p *Printer) note(object any, text func() string) {
	if p.json != nil {
		p.err = errors.Join(p.err, p.json.Encode(object))
		return
	}
	_, err := fmt.Fprintln(p.notes, text())
	p.err = errors.Join(p.err, err)
}

func (p *Printer) fault(from netip.AddrPort, fault error) {
	p.note(struct {
		Exporter string `json:"exporter"`
		Error    string `json:"error"`
	}{exporter(from), fault.Error()}, func() string { return fmt.Sprintf("%s: %v", exporter(from), fault) })
}

func (p *Printer) event(from netip.AddrPort, e *hft.Event) {
	p.note(struct {
		Exporter string `json:"exporter"`
		Event    string `json:"event"`
		Domain   uint32 `json:"domain"`
		Type     string `json:"type,omitempty"`
		Template uint16 `json:"template"`
		At       int64  `json:"time_ns"`
		Gap      int64  `json:"gap_ns,omitempty"`
		Missing  uint64 `json:"missing,omitempty"`
		Text     string `json:"text"`
	}{exporter(from), e.Kind.String(), e.Domain, typeName(e.Type), e.Template, e.At, e.Gap, e.Missing, e.Text()},
		func() string {
			return fmt.Sprintf("%s domain %d %s template %d at %s: %s: %s", exporter(from), e.Domain, typeName(e.Type),
				e.Template, instant(e.At), e.Kind, e.Text())
		})
}

// instant returns a time in nanoseconds since 1970 as text.
func instant(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

const objectTypePrefix = "SAI_OBJECT_TYPE_"

// typeName returns the short name of an object type, its number if it has none, or "" for 0.
func typeName(t uint32) string {
	name := ""
	if t > 0 && t <= 1<<16-1 {
		name, _ = strings.CutPrefix(sai.ObjectType(t).String(), objectTypePrefix)
	} else if t > 0 {
		name = strconv.FormatUint(uint64(t), 10)
	}
	return name
}

// Named returns the names of a statistic. One without a name has its number.
func Named(objectType, id uint32) Name {
	n := Name{Type: typeName(objectType)}
	if objectType <= 1<<16-1 {
		n.SAI = sai.StatID(uint64(objectType)<<32 | uint64(id)).String()
	}
	if _, ok := sai.LookupStat(n.SAI); !ok {
		n.SAI = fmt.Sprintf("SAI_%s_STAT_%d", n.Type, id)
	}
	_, n.Name, _ = strings.Cut(n.SAI, "_STAT_")
	n.Kind = hft.KindOf(n.SAI)
	return n
}

// name returns the names of a column's statistic.
func (p *Printer) name(c *hft.Column) Name {
	key := statistic{c.Type, c.ID}
	n, ok := p.names[key]
	if !ok {
		n = Named(c.Type, c.ID)
		if len(p.names) < maxNames {
			p.names[key] = n
		}
	}
	return n
}

// object returns the name of a column's object, or its label.
func object(c *hft.Column) string {
	if c.Object != "" {
		return c.Object
	}
	return "label" + strconv.Itoa(int(c.Label))
}

func (p *Printer) print(from netip.AddrPort, r *hft.Record) {
	p.records++
	p.record.Record, p.record.Statistics = r, p.record.Statistics[:0]
	for i := range r.Columns {
		p.record.Statistics = append(p.record.Statistics, p.name(&r.Columns[i]))
	}
	var err error
	switch p.options.Format {
	case "json":
		err = p.json.Encode(p.asJSON(from))
	case "csv":
		p.line = p.csv(p.line[:0], from)
		_, err = p.out.Write(p.line)
	default:
		p.line = p.text(p.line[:0], from)
		_, err = p.out.Write(p.line)
	}
	if p.options.Each != nil {
		err = errors.Join(err, p.options.Each(exporter(from), &p.record))
	}
	p.err = errors.Join(p.err, err)
}

// A recordJSON is a record as JSON.
type recordJSON struct {
	Exporter string      `json:"exporter"`
	Format   string      `json:"format"`
	Domain   uint32      `json:"domain"`
	Template uint16      `json:"template"`
	Sequence uint32      `json:"sequence"`
	Exported time.Time   `json:"exported"`
	At       int64       `json:"time_ns"`
	Values   []valueJSON `json:"values"`
}

type valueJSON struct {
	Type   string `json:"type"`
	Object string `json:"object"` // empty if it is unknown
	Label  uint16 `json:"label"`
	Name   string `json:"statistic"`
	Kind   string `json:"kind"`
	Value  uint64 `json:"value"`
}

func (p *Printer) asJSON(from netip.AddrPort) recordJSON {
	r := p.record.Record
	j := recordJSON{Exporter: exporter(from), Format: r.Format.String(), Domain: r.Domain, Template: r.Template,
		Sequence: r.Sequence, Exported: r.Exported, At: r.At, Values: make([]valueJSON, len(r.Values))}
	for i := range r.Columns {
		c, n := &r.Columns[i], &p.record.Statistics[i]
		j.Values[i] = valueJSON{n.Type, c.Object, c.Label, n.Name, n.Kind.String(), r.Values[i]}
	}
	return j
}

// text appends a record as text: the values of each object follow its name.
func (p *Printer) text(b []byte, from netip.AddrPort) []byte {
	r := p.record.Record
	b = fmt.Appendf(b, "%s domain %d template %d sequence %d at %s", exporter(from), r.Domain, r.Template, r.Sequence,
		instant(r.At))
	for i := range r.Columns {
		c := &r.Columns[i]
		if i == 0 || object(c) != object(&r.Columns[i-1]) {
			b = fmt.Appendf(b, " %s", printable(object(c)))
		}
		b = append(b, ' ')
		b = append(b, p.record.Statistics[i].Name...)
		b = append(b, '=')
		b = strconv.AppendUint(b, r.Values[i], 10)
	}
	return append(b, '\n')
}

// printable returns a name, quoted unless it is one word.
func printable(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '"' || r == ',' || r > '~' }) {
		return strconv.Quote(name)
	}
	return name
}

// csv appends a record as lines, one for each statistic.
func (p *Printer) csv(b []byte, from netip.AddrPort) []byte {
	r := p.record.Record
	head := fmt.Sprintf("%d,%s,%d,%d,", r.At, exporter(from), r.Domain, r.Template)
	for i := range r.Columns {
		c, n := &r.Columns[i], &p.record.Statistics[i]
		b = append(b, head...)
		b = append(b, n.Type...)
		b = append(b, ',')
		if name := c.Object; strings.ContainsAny(name, "\",\r\n") {
			b = append(append(append(b, '"'), strings.ReplaceAll(name, `"`, `""`)...), '"')
		} else {
			b = append(b, name...)
		}
		b = append(b, ',')
		b = strconv.AppendUint(b, uint64(c.Label), 10)
		b = append(append(b, ','), n.Name...)
		b = append(append(b, ','), n.Kind.String()...)
		b = append(b, ',')
		b = strconv.AppendUint(b, r.Values[i], 10)
		b = append(b, '\n')
	}
	return b
}

// exporterCounts holds the counters of one exporter.
type exporterCounts struct {
	Exporter string `json:"exporter"`
	hft.Counts
	Streams []streamJSON `json:"streams"`
}

type streamJSON struct {
	TypeName string `json:"type"`
	hft.Cadence
}

// Report prints the counters of each exporter, and the cadence of each stream.
func (p *Printer) Report() error {
	froms := make([]netip.AddrPort, 0, len(p.decoders))
	for from := range p.decoders {
		froms = append(froms, from)
	}
	slices.SortFunc(froms, netip.AddrPort.Compare)
	for _, from := range froms {
		d := p.decoders[from]
		j := exporterCounts{Exporter: exporter(from), Counts: d.Counts(), Streams: []streamJSON{}}
		for _, c := range d.Streams() {
			j.Streams = append(j.Streams, streamJSON{typeName(c.Type), c})
		}
		p.note(j, j.text)
	}
	if p.beyond > 0 {
		p.note(struct {
			Beyond uint64 `json:"datagrams_beyond"`
		}{p.beyond}, func() string {
			return fmt.Sprintf("%d datagrams of exporters beyond the first %d, of which nothing is known",
				p.beyond, MaxExporters)
		})
	}
	return p.flush()
}

func (j *exporterCounts) text() string {
	c := &j.Counts
	text := fmt.Sprintf("%s: %d records with %d values in %d messages, %d lost", j.Exporter, c.Samples, c.Statistics,
		c.Messages, c.Lost)
	for _, more := range []struct {
		n    uint64
		what string
	}{
		{c.Bad, "messages that are wrong"}, {c.Reserved, "sets with a reserved id"},
		{c.Refused, "records with an impossible time"},
		{c.WithoutTemplate, "sets without a template"}, {c.Late, "messages that came late"},
		{c.Undecoded, "records that could not be read, or were lost beside them"},
		{c.Other, "records of something else"}, {c.Beyond, "streams or names beyond the limits"},
	} {
		if more.n > 0 {
			text += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	for i := range j.Streams {
		s := &j.Streams[i]
		text += fmt.Sprintf("\n%s domain %d %s: %s", j.Exporter, s.Domain, s.TypeName, s.Text())
	}
	return text
}

// Enterprise checks an enterprise number of conforming streams.
func Enterprise(number uint32) error {
	if number == 0 || number > hft.MaxEnterprise {
		return fmt.Errorf("%d: want 1 to %d, such as %d", number, hft.MaxEnterprise, ipfix.DefaultEnterprise)
	}
	return nil
}
