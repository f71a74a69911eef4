package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/saisim/drop"
	"tamtam/tam/ipfix"
)

// MaxExporters is the maximum number of addresses and ports that a [Printer] distinguishes. Datagrams of other
// exporters are only counted.
const MaxExporters = 256

// A Printer prints the records of IPFIX messages as they arrive, and their faults.
type Printer struct {
	out        *bufio.Writer
	json       *json.Encoder // nil for text output
	enterprise uint32
	decoders   map[netip.AddrPort]*ipfix.Decoder
	beyond     uint64
	records    int64
	err        error // first error of out
}

// NewPrinter returns a printer to out that treats elements of this enterprise number as tamtam's own. Zero means
// [ipfix.DefaultEnterprise].
func NewPrinter(out io.Writer, asJSON bool, enterprise uint32) *Printer {
	p := &Printer{out: bufio.NewWriter(out), enterprise: enterprise, decoders: map[netip.AddrPort]*ipfix.Decoder{}}
	if asJSON {
		p.json = json.NewEncoder(p.out)
	}
	return p
}

// Records returns the number of printed records.
func (p *Printer) Records() int64 { return p.records }

// recordJSON is a record. A repeated field has its number appended to its name.
type recordJSON struct {
	Exporter string         `json:"exporter"`
	Domain   uint32         `json:"domain"`
	Template uint16         `json:"template"`
	Options  bool           `json:"options,omitempty"`
	Sequence uint32         `json:"sequence"`
	Exported time.Time      `json:"exported"`
	Fields   map[string]any `json:"fields"`
	// Raw names the fields whose bytes have no known meaning, because their elements cannot have these values.
	Raw []string `json:"raw,omitempty"`
	// Reasons holds the chip's names of drop reasons, by field name.
	Reasons map[string]string `json:"reasons,omitempty"`
}

// Datagram prints the records of a message. It returns an error of the output. Faults of the message are printed.
func (p *Printer) Datagram(from netip.AddrPort, payload []byte) error {
	d := p.decoders[from]
	if d == nil {
		if len(p.decoders) == MaxExporters {
			p.beyond++
			return nil
		}
		d = ipfix.NewDecoder(p.enterprise)
		p.decoders[from] = d
	}
	err := d.Message(payload, func(r *ipfix.DataRecord) { p.record(from, r) })
	if err != nil {
		p.line(struct {
			Exporter string `json:"exporter"`
			Error    string `json:"error"`
		}{from.String(), err.Error()}, func() string { return fmt.Sprintf("%s: %v", from, err) })
	}
	if p.err == nil {
		p.err = p.out.Flush()
	}
	return p.err
}

// line prints one line: object as JSON, or the result of text.
func (p *Printer) line(object any, text func() string) {
	var err error
	if p.json != nil {
		err = p.json.Encode(object)
	} else {
		_, err = fmt.Fprintln(p.out, text())
	}
	if p.err == nil {
		p.err = err
	}
}

func (p *Printer) record(from netip.AddrPort, r *ipfix.DataRecord) {
	p.records++
	j := recordJSON{Exporter: from.String(), Domain: r.Domain, Template: r.ID, Options: r.Scope > 0, Sequence: r.Sequence,
		Exported: r.Exported, Fields: make(map[string]any, len(r.Fields))}
	names := make([]string, len(r.Fields))
	for i := range r.Fields {
		names[i] = r.Fields[i].Name()
		for n := 2; ; n++ {
			if _, twice := j.Fields[names[i]]; !twice {
				break
			}
			names[i] = r.Fields[i].Name() + "#" + strconv.Itoa(n)
		}
		j.Fields[names[i]] = r.Fields[i].Value(r.Values[i])
		if r.Fields[i].Raw(r.Values[i]) {
			j.Raw = append(j.Raw, names[i])
		}
		if why := reasonOf(&r.Fields[i], j.Fields[names[i]]); why != "" {
			if j.Reasons == nil {
				j.Reasons = map[string]string{}
			}
			j.Reasons[names[i]] = why
		}
	}
	p.line(j, func() string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s domain %d template %d sequence %d", from, r.Domain, r.ID, r.Sequence)
		if j.Options {
			b.WriteString(" options")
		}
		for i := range r.Fields {
			if slices.Contains(j.Raw, names[i]) {
				fmt.Fprintf(&b, " %s=raw:%s", names[i], j.Fields[names[i]])
				continue
			}
			fmt.Fprintf(&b, " %s=%s", names[i], valueText(&r.Fields[i], j.Fields[names[i]]))
			if why := j.Reasons[names[i]]; why != "" {
				b.WriteString(":" + why)
			}
		}
		return b.String()
	})
}

// reasonOf returns the chip's name of a drop reason, or "" for other fields and for numbers without a name.
func reasonOf(f *ipfix.FieldSpec, v any) string {
	n, ok := v.(uint64)
	if !ok || f.Element == nil || !f.Element.Own {
		return ""
	}
	switch f.Element.Name {
	case "tamtamDropReasonIngress", "tamtamDropReasonEgress":
		if n--; n+1 == 0 {
			return "none"
		}
	case "tamtamDropReason":
	default:
		return ""
	}
	if n >= uint64(drop.NumReasons) {
		return ""
	}
	return drop.Reason(n).String()
}

// valueText returns a value as text. Strings are quoted, because they may contain anything.
func valueText(f *ipfix.FieldSpec, v any) string {
	s, ok := v.(string)
	switch {
	case v == nil:
		return "-"
	case !ok:
		return fmt.Sprint(v)
	case f.Element == nil:
		return "0x" + s
	case f.Element.Type == ipfix.String:
		return strconv.Quote(s)
	}
	return s
}

// exporterCounts holds the counters of one exporter.
type exporterCounts struct {
	Exporter string `json:"exporter"`
	ipfix.Counts
}

// Report prints the counters of each exporter: records, losses and faults.
func (p *Printer) Report() error {
	froms := make([]netip.AddrPort, 0, len(p.decoders))
	for from := range p.decoders {
		froms = append(froms, from)
	}
	slices.SortFunc(froms, netip.AddrPort.Compare)
	for _, from := range froms {
		c := p.decoders[from].Counts()
		p.line(exporterCounts{from.String(), c}, func() string { return from.String() + ": " + countsText(c) })
	}
	if p.beyond > 0 {
		p.line(struct {
			Beyond uint64 `json:"messages_beyond"`
		}{p.beyond}, func() string {
			return fmt.Sprintf("%d messages of exporters beyond the first %d, of which nothing is known",
				p.beyond, MaxExporters)
		})
	}
	if p.err == nil {
		p.err = p.out.Flush()
	}
	return p.err
}

func countsText(c ipfix.Counts) string {
	text := fmt.Sprintf("%d records in %d messages, %d lost", c.Records, c.Messages, c.Lost)
	for _, more := range []struct {
		n    uint64
		what string
	}{
		{c.Bad, "messages that are wrong"}, {c.Reserved, "sets with a reserved id"},
		{c.Raw, "values that their elements cannot have, shown raw"}, {c.WithoutTemplate, "sets without a template"},
		{c.Undecoded, "records that could not be read, or were lost beside them"}, {c.Late, "messages that came late"},
	} {
		if more.n > 0 {
			text += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	return text
}
