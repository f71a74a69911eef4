package ipfix

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// An Error describes the part of a message that violates RFC 7011.
type Error struct {
	Offset int    // offset of the part in the message, in bytes
	Field  string // name of the field at this offset
	Reason string // the value that was found, and what would be valid
}

// Error returns offset, field and reason in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("ipfix: byte %d: %s: %s", e.Offset, e.Field, e.Reason)
}

func wrong(offset int, field, format string, args ...any) error {
	return &Error{Offset: offset, Field: field, Reason: fmt.Sprintf(format, args...)}
}

// A FieldSpec is a field of a received template.
type FieldSpec struct {
	Enterprise uint32 // zero for an IANA element
	ID         uint16
	Length     uint16   // [Variable] if each value carries its own length
	Element    *Element // nil if the element is unknown
	Learned    bool     // the element was described by the exporter (RFC 5610)
}

// Name returns the element's name, or its numbers if the element is unknown. A learned name is prefixed with its
// enterprise number, because an exporter may choose any name.
func (f *FieldSpec) Name() string {
	switch {
	case f.Learned:
		return fmt.Sprintf("e%d:%s", f.Enterprise, f.Element.Name)
	case f.Element != nil:
		return f.Element.Name
	case f.Enterprise != 0:
		return fmt.Sprintf("e%did%d", f.Enterprise, f.ID)
	}
	return fmt.Sprintf("id%d", f.ID)
}

// undescribed reports whether the field is an enterprise's element that the decoder does not know.
func (f FieldSpec) undescribed() bool { return f.Enterprise != 0 && f.Element == nil }

// A Template is a received template.
type Template struct {
	Domain uint32
	ID     uint16
	Scope  int // the number of leading fields that are scope fields
	Fields []FieldSpec
	// Meaning holds what the user of the decoder derives from the fields. The decoder drops it with the template.
	Meaning any
	least   int // minimum size of a record of this template, in bytes
	types   *typeSpec
}

// A DataRecord is a received record. Its values are valid only until the callback returns.
type DataRecord struct {
	*Template
	Exported time.Time // export time of the message
	Sequence uint32    // sequence number of this record
	Values   [][]byte  // one per field, without the length prefix of variable ones
}

// Counts holds the counters of a [Decoder]. Records without a known template are in neither Records nor Lost.
type Counts struct {
	Messages uint64 `json:"messages"`
	Records  uint64 `json:"records"`
	Bad      uint64 `json:"bad_messages"` // number of messages that violate RFC 7011; their intact sets were read
	// Reserved counts skipped sets whose ids RFC 7011 reserves.
	Reserved uint64 `json:"sets_reserved"`
	// Raw counts values that their elements cannot have, by length or content: see [FieldSpec.Raw].
	Raw uint64 `json:"values_raw"`
	// WithoutTemplate counts sets whose template was not received or was refused.
	WithoutTemplate uint64 `json:"sets_without_template"`
	// Undecoded counts records that were not decoded: in sets without a template, in bad messages, or lost between such
	// messages. The next message's sequence number reveals them.
	Undecoded uint64 `json:"records_undecoded"`
	// Lost counts records that are missing by sequence number. A message that arrives after its successor counts both
	// here and in Late.
	Lost uint64 `json:"records_lost"`
	Late uint64 `json:"messages_late"`
}

// Limits of the state that a [Decoder] keeps, whatever it receives.
const (
	MaxDomains   = 64   // observation domains
	MaxTemplates = 2048 // in all domains together
	MaxFields    = 512  // per template, unless [Decoder.AllowFields] allows more
	maxSpecs     = 1 << 14

	// The exporter restarted if its sequence number is more than lateRecords behind, or behind in lateMessages messages
	// in a row.
	lateRecords, lateMessages = 1 << 16, 8
)

// A Decoder decodes the messages of one exporter, which is one address and port. It must be used by one goroutine only.
type Decoder struct {
	enterprise uint32
	domains    map[uint32]*domain
	templates  int
	specs      int // number of fields of all templates
	counts     Counts
	record     DataRecord
	maxFields  int // limit of the fields of a template
	maxSpecs   int // limit of specs
	learned    map[elementKey]*Element
	check      func(*Template) (field int, reason string) // nil if every template is accepted
	outside    bool                                       // true if the current message is not of the sequence
	fault      error                                      // first fault in the current message
	faults     int                                        // number of faults in the current message

	memory    *Memory // nil if only the decoder's own limits apply
	held      int     // estimated bytes that the decoder holds
	forget    func()  // called by forgetAll
	forgot    bool    // true if everything was forgotten since the last message
	unlearned bool    // true if a described element was not kept
}

// domain is the state of one observation domain.
type domain struct {
	templates map[uint16]*Template
	begun     bool
	sound     bool   // true if all records of the last message were counted
	next      uint32 // expected sequence number
	late      int    // number of consecutive messages that arrived after their successor
}

// NewDecoder returns a decoder that treats elements of this enterprise number as tamtam's own. Zero means
// [DefaultEnterprise].
func NewDecoder(enterprise uint32) *Decoder {
	if enterprise == 0 {
		enterprise = DefaultEnterprise
	}
	return &Decoder{enterprise: enterprise, domains: map[uint32]*domain{}, learned: map[elementKey]*Element{},
		maxFields: MaxFields, maxSpecs: maxSpecs}
}

// AllowFields replaces the limits of fields, for exporters with long templates: that of a template, and that of all
// templates together. A message has room for no more than 16377 fields of a template.
func (d *Decoder) AllowFields(template, all int) { d.maxFields, d.maxSpecs = template, all }

// Check makes the decoder call f for each valid template that it receives. If f returns a reason, the template is
// refused, and the reason is the fault of this field of the template. A negative field is the template itself.
func (d *Decoder) Check(f func(*Template) (field int, reason string)) { d.check = f }

// Withdraw drops a template that its exporter uses no more. Its sets are then without a template.
func (d *Decoder) Withdraw(domain uint32, template uint16) {
	if dom := d.domains[domain]; dom != nil {
		d.drop(dom, template)
	}
}

// Template returns a template that the decoder holds, or nil.
func (d *Decoder) Template(domain uint32, template uint16) *Template {
	if dom := d.domains[domain]; dom != nil {
		return dom.templates[template]
	}
	return nil
}

// Counts returns the counters.
func (d *Decoder) Counts() Counts { return d.counts }

// Message decodes a message and calls each for every record. It returns an [*Error] that describes the first fault. A
// fault invalidates at most the rest of its set, because the lengths of the sets lead past it. A truncated message is
// read up to its end. Sets without a template and values that their element cannot have are counted, not errors.
func (d *Decoder) Message(b []byte, each func(*DataRecord)) error {
	d.counts.Messages++
	d.fault, d.faults = nil, 0
	if d.forgot {
		d.forgot = false
		d.counts.Undecoded++
	}
	if m := d.memory; m != nil { // one buffer for all decoders
		d.record.Values = m.values
		defer func() { m.values, d.record.Values = d.record.Values, nil }()
	}
	dom, err := d.header(b)
	if err != nil {
		d.counts.Bad++
		return err
	}
	before, unread := d.counts.Records, d.counts.WithoutTemplate
	d.sets(b, dom, each)
	if d.fault != nil {
		d.counts.Bad++
	}
	if dom.late == 0 && !d.outside {
		dom.next = binary.BigEndian.Uint32(b[8:]) + uint32(d.counts.Records-before)
		dom.sound = d.fault == nil && d.counts.WithoutTemplate == unread
	}
	return d.fault
}

// fail records a fault of the current message.
func (d *Decoder) fail(offset int, field, format string, args ...any) {
	if d.faults++; d.faults == 1 {
		d.fault = wrong(offset, field, format, args...)
	}
}

// OutOfBand decodes a message with templates that came on another way, such as a file. It has no place in the sequence
// of the exporter's messages, and its data are ignored. It returns faults as [Decoder.Message] does.
func (d *Decoder) OutOfBand(b []byte) error {
	before := d.counts
	d.outside = true
	err := d.Message(b, func(*DataRecord) {})
	d.outside, d.counts = false, before
	return err
}

// header decodes a message's header and evaluates its sequence number.
func (d *Decoder) header(b []byte) (*domain, error) {
	if len(b) < headerLen {
		return nil, wrong(0, "message", "%d bytes, want the %d of its header and more", len(b), headerLen)
	}
	if v := binary.BigEndian.Uint16(b); v != version {
		return nil, wrong(0, "version", "%d, want %d", v, version)
	}
	switch n := int(binary.BigEndian.Uint16(b[2:])); {
	case n < headerLen:
		return nil, wrong(2, "length", "%d, want %d as the datagram has", n, len(b))
	case n != len(b):
		d.fail(2, "length", "%d, want %d as the datagram has", n, len(b))
	}
	id := binary.BigEndian.Uint32(b[12:])
	dom := d.domains[id]
	if dom == nil {
		if len(d.domains) == MaxDomains || !d.memory.take(d, domainBytes) {
			return nil, wrong(12, "observation domain", "%d, beyond the first %d", id, len(d.domains))
		}
		dom = &domain{templates: map[uint16]*Template{}}
		d.domains[id] = dom
	}
	if !d.outside {
		d.sequence(dom, binary.BigEndian.Uint32(b[8:]))
	}
	d.record.Exported = time.Unix(int64(binary.BigEndian.Uint32(b[4:])), 0).UTC()
	return dom, nil
}

// Domain returns the observation domain and the export time, in whole seconds, from the header of a message. It returns
// false if the message has no IPFIX header.
func Domain(message []byte) (domain uint32, exported time.Time, ok bool) {
	if len(message) < headerLen || binary.BigEndian.Uint16(message) != version ||
		binary.BigEndian.Uint16(message[2:]) < headerLen {
		return 0, time.Time{}, false
	}
	return binary.BigEndian.Uint32(message[12:]), time.Unix(int64(binary.BigEndian.Uint32(message[4:])), 0).UTC(), true
}

// sequence compares the sequence number with the expected one and counts missing records.
func (d *Decoder) sequence(dom *domain, number uint32) {
	gap := int32(number - dom.next)
	if dom.begun && gap < 0 && gap >= -lateRecords && dom.late < lateMessages {
		dom.late++
		d.counts.Late++
		return
	}
	switch {
	case !dom.begun, gap < 0: // the exporter restarted
	case dom.sound:
		d.counts.Lost += uint64(gap)
	default:
		d.counts.Undecoded += uint64(gap)
	}
	dom.begun, dom.late = true, 0
}

func (d *Decoder) sets(b []byte, dom *domain, each func(*DataRecord)) {
	d.record.Sequence = binary.BigEndian.Uint32(b[8:])
	b = b[:min(len(b), int(binary.BigEndian.Uint16(b[2:])))] // ignores bytes beyond the message's length
	for at := headerLen; at < len(b); {
		if len(b)-at < setHeaderLen {
			d.fail(at, "set", "%d bytes, want the %d of its header and more", len(b)-at, setHeaderLen)
			return
		}
		id, n := binary.BigEndian.Uint16(b[at:]), int(binary.BigEndian.Uint16(b[at+2:]))
		if n < setHeaderLen || n > len(b)-at {
			d.fail(at+2, "length of the set", "%d, want %d to %d", n, setHeaderLen, len(b)-at)
			if n < setHeaderLen || len(b) == int(binary.BigEndian.Uint16(b[2:])) {
				return
			}
			n = len(b) - at // the message is truncated: decode the complete part
		}
		body := reader{b: b[:at+n], at: at + setHeaderLen}
		switch {
		case id == setTemplates || id == setOptions:
			d.readTemplates(&body, dom, binary.BigEndian.Uint32(b[12:]), id == setOptions)
		case id < firstID:
			d.counts.Reserved++
		case body.left() == 0: // a set without records
		case dom.templates[id] == nil:
			d.counts.WithoutTemplate++
		default:
			d.readData(&body, dom.templates[id], each)
		}
		at += n
	}
}

// A reader reads the bytes of a set.
type reader struct {
	b  []byte
	at int
}

func (r *reader) left() int { return len(r.b) - r.at }

func (r *reader) u16() uint16 {
	r.at += 2
	return binary.BigEndian.Uint16(r.b[r.at-2:])
}

// padding checks that the remaining bytes are zero.
func (d *Decoder) padding(r *reader) {
	for i, c := range r.b[r.at:] {
		if c != 0 {
			d.fail(r.at+i, "padding", "%#x, want 0", c)
			return
		}
	}
}

func (d *Decoder) readTemplates(r *reader, dom *domain, id uint32, options bool) {
	for r.left() >= 4 {
		t := &Template{Domain: id, ID: r.u16()}
		n := int(r.u16())
		if n == 0 {
			if t.ID == 0 && r.left() < 4 { // four bytes of padding
				r.at -= 4
				break
			}
			d.fail(r.at-2, "field count", "0 withdraws template %d, which is not done over UDP: want 1 and more", t.ID)
			continue
		}
		start, before := r.at-4, d.faults
		whole := d.readTemplate(r, t, n, options)
		if d.faults == before {
			d.keep(dom, t, start)
		} else {
			d.drop(dom, t.ID) // or the previous template of this id would decode the records that follow
		}
		if !whole {
			return
		}
	}
	d.padding(r)
}

// readTemplate reads the n fields of a template, after its header. It returns false if the set ends too early.
func (d *Decoder) readTemplate(r *reader, t *Template, n int, options bool) (whole bool) {
	start := r.at - 4
	switch {
	case t.ID < firstID:
		d.fail(start, "template id", "%d, want %d and more", t.ID, firstID)
	case n > d.maxFields:
		d.fail(start+2, "field count", "%d, want at most %d", n, d.maxFields)
	}
	if options {
		if r.left() < 2 {
			d.fail(r.at, "scope field count", "the set ends")
			return false
		}
		if t.Scope = int(r.u16()); t.Scope == 0 || t.Scope > n {
			d.fail(r.at-2, "scope field count", "%d, want 1 to %d", t.Scope, n)
		}
	}
	if r.left() < 4*n {
		d.fail(r.at, "template", "%d bytes for %d fields, want %d and more", r.left(), n, 4*n)
		return false
	}
	t.Fields = make([]FieldSpec, n)
	first, before := r.at, d.faults
	for i := range t.Fields {
		if !d.readSpec(r, t, i) {
			return false
		}
	}
	if t.least == 0 {
		d.fail(start, "template", "%d has records of no bytes, want one and more", t.ID)
	}
	t.types = typesOf(t)
	if d.check != nil && d.faults == before {
		d.checked(t, start, first)
	}
	return true
}

// checked reports the fault that the user of the decoder finds in a template. start and first are the offsets of the
// template and of its first field.
func (d *Decoder) checked(t *Template, start, first int) {
	field, reason := d.check(t)
	switch {
	case reason == "":
	case field < 0:
		d.fail(start, "template", "%d: %s", t.ID, reason)
	default:
		for _, f := range t.Fields[:field] {
			if first += 4; f.Enterprise != 0 {
				first += 4
			}
		}
		d.fail(first, "template", "%d, field %d: %s", t.ID, field+1, reason)
	}
}

// readSpec reads a field of a template. It returns false if the set ends too early.
func (d *Decoder) readSpec(r *reader, t *Template, i int) bool {
	if r.left() < 4 {
		d.fail(r.at, "template", "%d ends at field %d of %d", t.ID, i+1, len(t.Fields))
		return false
	}
	f := &t.Fields[i]
	f.ID, f.Length = r.u16(), r.u16()
	table := standard
	if f.ID&enterpriseBit != 0 {
		f.ID &^= enterpriseBit
		if r.left() < 4 {
			d.fail(r.at, "enterprise number", "template %d ends in field %d", t.ID, i+1)
			return false
		}
		f.Enterprise = uint32(r.u16())<<16 | uint32(r.u16())
		if table = nil; f.Enterprise == d.enterprise {
			table = own
		}
		if f.Enterprise == 0 {
			d.fail(r.at-4, "enterprise number", "0 of field %d of template %d, want more, or no enterprise bit", i+1, t.ID)
		}
	}
	f.Element = lookup(table, f.ID)
	if e := d.learned[elementKey{f.Enterprise, f.ID}]; f.Element == nil && e != nil && e.Type.fits(f.Length) {
		f.Element, f.Learned = e, true
	}
	if f.Length == Variable {
		t.least++
	} else {
		t.least += int(f.Length)
	}
	return true
}

// keep stores a template and replaces one with the same id. It reports a fault if the decoder would hold too many
// templates or fields. at is the template's offset in the message.
func (d *Decoder) keep(dom *domain, t *Template, at int) {
	if old := dom.templates[t.ID]; old != nil && old.Scope == t.Scope && slices.Equal(old.Fields, t.Fields) {
		return
	}
	d.drop(dom, t.ID)
	switch {
	case d.templates+1 > MaxTemplates || d.specs+len(t.Fields) > d.maxSpecs:
		d.fail(at, "template", "%d, beyond %d templates with %d fields in all", t.ID, MaxTemplates, d.maxSpecs)
		return
	case d.unlearned && slices.ContainsFunc(t.Fields, (FieldSpec).undescribed):
		d.fail(at, "template", "%d, with an element that was not kept: want its description again, before the template", t.ID)
		return
	case !d.memory.take(d, t.bytes()):
		d.fail(at, "template", "%d, beyond the memory for templates: this exporter holds %d bytes", t.ID, d.held)
		return
	}
	d.templates++
	d.specs += len(t.Fields)
	dom.templates[t.ID] = t
}

// drop removes the template with this id, if there is one.
func (d *Decoder) drop(dom *domain, id uint16) {
	if old := dom.templates[id]; old != nil {
		d.templates--
		d.specs -= len(old.Fields)
		d.memory.take(d, -old.bytes())
		delete(dom.templates, id)
	}
}

func (d *Decoder) readData(r *reader, t *Template, each func(*DataRecord)) {
	d.record.Template = t
	if r.left() < t.least {
		d.fail(r.at, "set", "%d bytes for template %d, whose records have %d and more", r.left(), t.ID, t.least)
		return
	}
	for r.left() >= t.least {
		d.record.Values = d.record.Values[:0]
		raw := uint64(0)
		for i := range t.Fields {
			f := &t.Fields[i]
			v, ok := d.value(r, f)
			if !ok {
				return
			}
			if f.Raw(v) {
				raw++
			}
			d.record.Values = append(d.record.Values, v)
		}
		d.counts.Records++
		d.counts.Raw += raw
		if t.types != nil && !d.learn(t.types) {
			d.unlearned = true
			d.fail(r.at, "element", "%d are described already, want no more", len(d.learned))
		}
		each(&d.record)
		d.record.Sequence++
	}
	d.padding(r)
}

// value returns the bytes of a field's value. It returns false if the set ends too early.
func (d *Decoder) value(r *reader, f *FieldSpec) ([]byte, bool) {
	start, n := r.at, int(f.Length)
	if f.Length == Variable {
		if r.left() < 1 {
			d.fail(start, f.Name(), "the set ends in front of its length")
			return nil, false
		}
		n = int(r.b[r.at])
		if r.at++; n == 255 {
			if r.left() < 2 {
				d.fail(start, f.Name(), "the set ends in its length")
				return nil, false
			}
			n = int(r.u16())
		}
	}
	if n > r.left() {
		d.fail(start, f.Name(), "%d bytes, the set has %d more", n, r.left())
		return nil, false
	}
	v := r.b[r.at : r.at+n]
	r.at += n
	return v, true
}
