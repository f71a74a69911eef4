package ipfix

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Constants of the protocol. Lengths are in bytes.
const (
	headerLen    = 16
	setHeaderLen = 4
	version      = 10

	setTemplates = 2
	setOptions   = 3
	firstID      = 256

	// MinSize is the lowest size limit of messages: the one of RFC 7011 for paths of unknown MTU.
	MinSize = 512
	// MaxSize is the highest size limit of messages, because the length field of a message has no greater value.
	MaxSize = 65535
)

// Config is the configuration of an [Encoder].
type Config struct {
	Domain     uint32 // observation domain
	Enterprise uint32 // enterprise number of tamtam's elements; zero means [DefaultEnterprise]
	Size       int    // maximum size of a message in bytes, from MinSize to MaxSize
	// Refresh and RefreshMessages are the time and the number of messages after which templates are sent again.
	Refresh         time.Duration
	RefreshMessages int
	Kinds           []*Kind
	// FirstID is the id of the first template. Zero means 256, the lowest.
	FirstID uint16
	// Repeat lists records that follow the templates whenever these are sent, such as options that describe them.
	Repeat []Repeated
	// Describe lists kinds whose own elements are described (RFC 5610) whenever templates are sent again. They may
	// belong to another domain.
	Describe []*Kind
}

// A Repeated is a record of a kind, given by its index in the Config.
type Repeated struct {
	Kind   int
	Record *Record
}

// A Message is an encoded message. Its bytes are valid only until the send callback returns.
type Message struct {
	Bytes   []byte
	Records int // number of data records, including options records
}

// An Encoder encodes records into messages. It must be used by one goroutine only.
type Encoder struct {
	config Config
	send   func(Message)
	kinds  []encodedKind // the first one is type information

	message  []byte // the message that is being filled
	began    time.Time
	records  int
	set      uint16 // id of the open set in it, or zero if no set is open
	setAt    int    // offset of the open set
	sequence uint32 // sequence number of the first record of the message

	refreshed time.Time // time of the last refresh of templates
	messages  int       // number of messages since the last refresh
	stale     bool      // true if the next step refreshes templates even if that is not due

	types []Record // type information of own elements (RFC 5610)
	err   error
}

// encodedKind is a kind with a template for each combination of groups.
type encodedKind struct {
	*Kind
	base  uint16 // id of the template without groups; a template's id is this plus the bits of its groups
	state []templateState
	used  []uint16 // sets of groups whose templates were used, in the order of their first use
}

type templateState struct{ used, sent bool }

// NewEncoder returns an encoder that passes its messages to send. An error names the invalid part of c.
func NewEncoder(c Config, send func(Message)) (*Encoder, error) {
	if c.Size < MinSize || c.Size > MaxSize {
		return nil, fmt.Errorf("ipfix: messages of at most %d bytes, want %d to %d", c.Size, MinSize, MaxSize)
	}
	if c.Refresh <= 0 || c.RefreshMessages <= 0 {
		return nil, fmt.Errorf("ipfix: templates again after %v and %d messages, want more than 0",
			c.Refresh, c.RefreshMessages)
	}
	if c.Enterprise == 0 {
		c.Enterprise = DefaultEnterprise
	}
	if c.FirstID == 0 {
		c.FirstID = firstID
	}
	if c.FirstID < firstID {
		return nil, fmt.Errorf("ipfix: first template id %d, want %d or more", c.FirstID, firstID)
	}
	e := &Encoder{config: c, send: send, message: make([]byte, 0, c.Size), stale: true}
	id := int(c.FirstID)
	for _, k := range append([]*Kind{typeInformation}, c.Kinds...) {
		if err := k.check(); err != nil {
			return nil, err
		}
		if longest := setHeaderLen + templateLen(k, 1<<k.groups()-1); headerLen+longest > c.Size {
			return nil, fmt.Errorf("ipfix: kind %s: a template of %d bytes, want room for it in a message of %d",
				k.Name, longest, c.Size)
		}
		n := 1 << k.groups()
		if id+n > 1<<16 {
			return nil, fmt.Errorf("ipfix: kind %s: more than %d templates, want fewer groups", k.Name, 1<<16-int(c.FirstID))
		}
		e.kinds = append(e.kinds, encodedKind{Kind: k, base: uint16(id), state: make([]templateState, n)})
		id += n
	}
	e.types = typeRecords(c.Describe, c.Enterprise)
	for _, r := range c.Repeat {
		if _, err := e.measure(&e.kinds[r.Kind+1], r.Record); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// TemplateID returns the id of the template of a kind's records that have no groups. The kind is given by its index in
// the Config.
func (e *Encoder) TemplateID(kind int) uint16 { return e.kinds[kind+1].base }

// Sequence returns the sequence number of the next record.
func (e *Encoder) Sequence() uint32 { return e.sequence + uint32(e.records) }

// Continue sets the sequence number of the first record, for a domain whose records before came from another encoder.
func (e *Encoder) Continue(sequence uint32) { e.sequence = sequence }

// Add adds a record of a kind, given by its index in the Config. If the record does not fit in the current message,
// that message is sent first. On an error, which explains why the record cannot be encoded, nothing of it is sent.
func (e *Encoder) Add(now time.Time, kind int, r *Record) error {
	e.Step(now)
	return e.add(now, &e.kinds[kind+1], r)
}

// Step refreshes the templates if that is due, even without a record that needs them.
func (e *Encoder) Step(now time.Time) {
	age := now.Sub(e.refreshed)
	if !e.stale && e.messages < e.config.RefreshMessages && age >= 0 && age < e.config.Refresh {
		return
	}
	e.stale, e.refreshed, e.messages = false, now, 0
	for i := range e.kinds {
		k := &e.kinds[i]
		for _, known := range k.used {
			k.state[known].sent = false
		}
	}
	for i := range e.types {
		e.must(e.add(now, &e.kinds[0], &e.types[i]))
	}
	for i := range e.kinds {
		k := &e.kinds[i]
		for _, known := range k.used {
			if !k.state[known].sent {
				e.template(now, k, known)
			}
		}
	}
	for _, r := range e.config.Repeat {
		e.must(e.add(now, &e.kinds[r.Kind+1], r.Record))
	}
}

// must panics on an error that NewEncoder has ruled out.
func (e *Encoder) must(err error) {
	if err != nil {
		panic(err)
	}
}

// Refresh makes the next record refresh all templates, for a collector that may be a new one.
func (e *Encoder) Refresh() { e.stale = true }

// Flush sends the current message, if it is not empty.
func (e *Encoder) Flush() {
	if len(e.message) == 0 {
		return
	}
	e.close()
	binary.BigEndian.PutUint16(e.message[2:], uint16(len(e.message)))
	m := Message{Bytes: e.message, Records: e.records}
	e.sequence += uint32(e.records)
	e.messages++
	e.send(m)
	e.message, e.records = e.message[:0], 0
}

// measure returns the size of a record in bytes, or an error that explains why it cannot be encoded.
func (e *Encoder) measure(k *encodedKind, r *Record) (size int, err error) {
	known := r.known
	if len(r.values) != len(k.Fields) || int(known) >= len(k.state) {
		return 0, fmt.Errorf("ipfix: a record of %d fields and groups %b, want one that kind %s made",
			len(r.values), known, k.Name)
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.has(known) {
			continue
		}
		if why := f.invalid(&r.values[i]); why != "" {
			return 0, fmt.Errorf("ipfix: kind %s: %s is %s", k.Name, f.Name, why)
		}
		size += f.size(&r.values[i])
	}
	if longest := e.config.Size - headerLen - setHeaderLen; size > longest {
		return 0, fmt.Errorf("ipfix: kind %s: a record of %d bytes, want at most %d", k.Name, size, longest)
	}
	return size, nil
}

func (e *Encoder) add(now time.Time, k *encodedKind, r *Record) error {
	known := r.known
	size, err := e.measure(k, r)
	if err != nil {
		return err
	}
	if s := &k.state[known]; !s.used {
		s.used = true
		k.used = append(k.used, known)
	}
	if !k.state[known].sent {
		e.template(now, k, known)
	}
	e.room(now, k.base+known, size)
	for i := range k.Fields {
		if f := &k.Fields[i]; f.has(known) {
			e.message = f.put(e.message, &r.values[i])
		}
	}
	e.records++
	return nil
}

// room makes sure that the current message has an open set of this id, with space for size more bytes.
func (e *Encoder) room(now time.Time, set uint16, size int) {
	need := size
	if set != e.set {
		need += setHeaderLen
	}
	if len(e.message) > 0 && len(e.message)+need > e.config.Size {
		e.Flush()
	}
	if len(e.message) == 0 {
		e.began = now
		b := binary.BigEndian.AppendUint16(e.message, version)
		b = binary.BigEndian.AppendUint16(b, 0) // length
		b = binary.BigEndian.AppendUint32(b, uint32(now.Unix()))
		b = binary.BigEndian.AppendUint32(b, e.sequence)
		e.message = binary.BigEndian.AppendUint32(b, e.config.Domain)
	}
	if set != e.set {
		e.close()
		e.set, e.setAt = set, len(e.message)
		e.message = binary.BigEndian.AppendUint16(e.message, set)
		e.message = binary.BigEndian.AppendUint16(e.message, 0) // length
	}
}

func (e *Encoder) close() {
	if e.set != 0 {
		binary.BigEndian.PutUint16(e.message[e.setAt+2:], uint16(len(e.message)-e.setAt))
	}
	e.set = 0
}

// template appends the template of a kind for records with these groups.
func (e *Encoder) template(now time.Time, k *encodedKind, known uint16) {
	set := uint16(setTemplates)
	if k.Scope > 0 {
		set = setOptions
	}
	e.room(now, set, templateLen(k.Kind, known))
	e.message = appendTemplate(e.message, k.Kind, k.base+known, known, e.config.Enterprise)
	k.state[known].sent = true
}

// templateLen returns the length of the template in bytes, without the header of its set.
func templateLen(k *Kind, known uint16) int {
	n := 4
	if k.Scope > 0 {
		n += 2
	}
	for i := range k.Fields {
		if f := &k.Fields[i]; f.has(known) {
			if n += 4; f.Own {
				n += 4
			}
		}
	}
	return n
}

func appendTemplate(b []byte, k *Kind, id, known uint16, enterprise uint32) []byte {
	count := uint16(0)
	for i := range k.Fields {
		if k.Fields[i].has(known) {
			count++
		}
	}
	b = binary.BigEndian.AppendUint16(b, id)
	b = binary.BigEndian.AppendUint16(b, count)
	if k.Scope > 0 {
		b = binary.BigEndian.AppendUint16(b, uint16(k.Scope))
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.has(known) {
			continue
		}
		number := f.ID
		if f.Own {
			number |= enterpriseBit
		}
		b = binary.BigEndian.AppendUint16(b, number)
		b = binary.BigEndian.AppendUint16(b, f.width())
		if f.Own {
			b = binary.BigEndian.AppendUint32(b, enterprise)
		}
	}
	return b
}

const enterpriseBit = 0x8000

// typeInformation is the RFC 5610 description of an element, for collectors to which it is unknown.
var typeInformation = &Kind{Name: "type information", Scope: 2, Fields: []Field{
	{Element: Standard("privateEnterpriseNumber")}, {Element: Standard("informationElementId")},
	{Element: Standard("informationElementDataType")}, {Element: Standard("informationElementSemantics")},
	{Element: Standard("informationElementUnits")}, {Element: Standard("informationElementName")},
	{Element: Standard("informationElementDescription")},
}}

// typeRecords returns the type information of the own elements of the kinds, without duplicates.
func typeRecords(kinds []*Kind, enterprise uint32) (all []Record) {
	seen := map[uint16]bool{}
	for _, k := range kinds {
		for _, f := range k.Fields {
			if !f.Own || seen[f.ID] {
				continue
			}
			seen[f.ID] = true
			r := typeInformation.NewRecord()
			for i, v := range []Value{
				Uint(uint64(enterprise)), Uint(uint64(f.ID)), Uint(uint64(f.Type)), Uint(uint64(f.Semantics)),
				Uint(uint64(f.Units)), Text(f.Name), Text(f.Text),
			} {
				r.Set(i, v)
			}
			all = append(all, *r)
		}
	}
	return all
}
