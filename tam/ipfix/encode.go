package ipfix

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Sizes of the protocol, in bytes.
const (
	headerLen    = 16
	setHeaderLen = 4
	version      = 10

	setTemplates = 2
	setOptions   = 3
	firstID      = 256

	// MinSize is the least bound of a message: what RFC 7011 wants where a path's MTU is not known.
	MinSize = 512
	// MaxSize is the greatest, which a message's length can say.
	MaxSize = 65535
)

// Config says how an [Encoder] encodes.
type Config struct {
	Domain     uint32 // observation domain
	Enterprise uint32 // number of own elements; 0: [DefaultEnterprise]
	Size       int    // of a message at most, MinSize to MaxSize
	// Refresh and RefreshMessages say when templates are sent again: after so long, and after so many messages.
	Refresh         time.Duration
	RefreshMessages int
	Kinds           []*Kind
	// Describe are kinds whose own elements are described (RFC 5610) whenever templates are sent again. They may be
	// those of another domain.
	Describe []*Kind
}

// A Message is what an [Encoder] gives. Its bytes are good until the call that was given it returns.
type Message struct {
	Bytes   []byte
	Records int // of data, those of options too
}

// An Encoder makes messages of records. It is for one goroutine.
type Encoder struct {
	config Config
	send   func(Message)
	kinds  []encodedKind // the first are the type information

	message  []byte // that is being filled
	began    time.Time
	records  int
	set      uint16 // of it that is open, 0: none
	setAt    int    // where that begins
	sequence uint32 // of the first record of the message

	refreshed time.Time // when templates were last sent again
	messages  int       // since then
	stale     bool      // they are to be sent again whatever the time

	types []Record // type information of own elements (RFC 5610)
	err   error
}

// encodedKind is a kind, with a template for each set of groups.
type encodedKind struct {
	*Kind
	base  uint16 // id of the template without groups; a template's id is that plus its groups
	state []templateState
	used  []uint16 // groups of the templates that were used, in the order of their first use
}

type templateState struct{ used, sent bool }

// NewEncoder returns an encoder that gives its messages to send. An error says which part of c cannot be.
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
	e := &Encoder{config: c, send: send, message: make([]byte, 0, c.Size), stale: true}
	id := firstID
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
			return nil, fmt.Errorf("ipfix: kind %s: more than %d templates, want fewer groups", k.Name, 1<<16-firstID)
		}
		e.kinds = append(e.kinds, encodedKind{Kind: k, base: uint16(id), state: make([]templateState, n)})
		id += n
	}
	e.types = typeRecords(c.Describe, c.Enterprise)
	return e, nil
}

// Add adds a record of a kind, by its place in the Config, and sends the message that it has no room in. An error
// says why the record cannot be on the wire; nothing of it is then.
func (e *Encoder) Add(now time.Time, kind int, r *Record) error {
	e.Step(now)
	return e.add(now, &e.kinds[kind+1], r)
}

// Step sends templates again if that is due, though there may be no record to go with them.
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
}

// must is for what NewEncoder has seen to.
func (e *Encoder) must(err error) {
	if err != nil {
		panic(err)
	}
}

// Refresh sends all templates again with the next record, as to a collector that may be another one.
func (e *Encoder) Refresh() { e.stale = true }

// Flush sends what there is.
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

func (e *Encoder) add(now time.Time, k *encodedKind, r *Record) error {
	known := r.known
	if len(r.values) != len(k.Fields) || int(known) >= len(k.state) {
		return fmt.Errorf("ipfix: a record of %d fields and groups %b, want one that kind %s made",
			len(r.values), known, k.Name)
	}
	size := 0
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.has(known) {
			continue
		}
		if why := f.invalid(&r.values[i]); why != "" {
			return fmt.Errorf("ipfix: kind %s: %s is %s", k.Name, f.Name, why)
		}
		size += f.size(&r.values[i])
	}
	if longest := e.config.Size - headerLen - setHeaderLen; size > longest {
		return fmt.Errorf("ipfix: kind %s: a record of %d bytes, want at most %d", k.Name, size, longest)
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

// room opens a set in the message, unless it is open, that has room for so many bytes more.
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

// close closes the open set.
func (e *Encoder) close() {
	if e.set != 0 {
		binary.BigEndian.PutUint16(e.message[e.setAt+2:], uint16(len(e.message)-e.setAt))
	}
	e.set = 0
}

// template writes the template of a kind for records with these groups.
func (e *Encoder) template(now time.Time, k *encodedKind, known uint16) {
	set := uint16(setTemplates)
	if k.Scope > 0 {
		set = setOptions
	}
	e.room(now, set, templateLen(k.Kind, known))
	e.message = appendTemplate(e.message, k.Kind, k.base+known, known, e.config.Enterprise)
	k.state[known].sent = true
}

// templateLen is the length of the template, without its set's header.
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

// typeInformation is what RFC 5610 has of an element that a collector may not know.
var typeInformation = &Kind{Name: "type information", Scope: 2, Fields: []Field{
	{Element: Standard("privateEnterpriseNumber")}, {Element: Standard("informationElementId")},
	{Element: Standard("informationElementDataType")}, {Element: Standard("informationElementSemantics")},
	{Element: Standard("informationElementUnits")}, {Element: Standard("informationElementName")},
	{Element: Standard("informationElementDescription")},
}}

// typeRecords are the records of the own elements that kinds have, each once.
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
