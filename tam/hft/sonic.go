package hft

import (
	"encoding/binary"
	"time"
)

// Numbers of the protocol (RFC 7011).
const (
	version         = 10
	templateSet     = 2
	enterpriseBit   = 0x8000
	observationTime = 325 // observationTimeNanoseconds
)

// A template is a template in SONiC's format.
type template struct {
	id     uint16
	fields []sonicField
}

// A sonicField is the specification of a statistic in a template.
type sonicField struct {
	element    uint16 // with the enterprise bit
	enterprise uint32
}

func newTemplate(id uint16, columns []Column) (template, error) {
	t := template{id, make([]sonicField, len(columns))}
	for i, c := range columns {
		e, err := c.Enterprise()
		if err != nil {
			return t, err
		}
		t.fields[i] = sonicField{c.Label | enterpriseBit, e}
	}
	return t, nil
}

// A header is the header of a message, without version and length.
type header struct{ exported, sequence, domain uint32 }

// appendHeader appends a header whose length setLength must set.
func appendHeader(b []byte, h header) []byte {
	b = binary.BigEndian.AppendUint32(b, version<<16)
	b = binary.BigEndian.AppendUint32(b, h.exported)
	b = binary.BigEndian.AppendUint32(b, h.sequence)
	return binary.BigEndian.AppendUint32(b, h.domain)
}

// setLength sets the length of the message that begins at this offset and reaches to the end of b.
func setLength(b []byte, at int) { binary.BigEndian.PutUint16(b[at+2:], uint16(len(b)-at)) }

// appendMessage appends a message with the template.
func (t *template) appendMessage(b []byte, h header) []byte {
	start := len(b)
	b = appendHeader(b, h)
	b = binary.BigEndian.AppendUint16(b, templateSet)
	b = binary.BigEndian.AppendUint16(b, uint16(setHeaderLen+templateLen+timeSpecLen+fieldSpecLen*len(t.fields)))
	b = binary.BigEndian.AppendUint16(b, t.id)
	b = binary.BigEndian.AppendUint16(b, uint16(1+len(t.fields)))
	b = binary.BigEndian.AppendUint16(b, observationTime)
	b = binary.BigEndian.AppendUint16(b, timeLen)
	for _, f := range t.fields {
		b = binary.BigEndian.AppendUint16(b, f.element)
		b = binary.BigEndian.AppendUint16(b, timeLen)
		b = binary.BigEndian.AppendUint32(b, f.enterprise)
	}
	setLength(b, start)
	return b
}

// setLen returns the length of a set with one record.
func (t *template) setLen() int { return setHeaderLen + timeLen + timeLen*len(t.fields) }

// appendSet appends a set with one record. In SONiC's format each record has a set of its own.
func (t *template) appendSet(b []byte, at uint64, values []uint64) []byte {
	b = binary.BigEndian.AppendUint16(b, t.id)
	b = binary.BigEndian.AppendUint16(b, uint16(t.setLen()))
	b = binary.BigEndian.AppendUint64(b, at)
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

// sonic encodes records in SONiC's format.
type sonic struct {
	stream    *Stream
	size      messageSize
	parts     []template
	message   []byte // the message that is being filled
	records   int    // in the message
	number    uint32 // sequence number of the first record of the message
	own       []byte // template messages
	refreshed time.Time
	messages  int  // number of messages since then
	sent      bool // true if templates were sent
}

func newSONiC(s *Stream, columns []Column, first uint16) (writer, error) {
	w := &sonic{stream: s, size: messageSize(s.config.Size), message: make([]byte, 0, s.config.Size)}
	for i := range w.size.split(len(columns)) {
		from, to := w.size.part(i, len(columns))
		t, err := newTemplate(first+uint16(i), columns[from:to])
		if err != nil {
			return nil, err
		}
		w.parts = append(w.parts, t)
	}
	return w, nil
}

func (w *sonic) templates() (b []byte) {
	for i := range w.parts {
		b = w.parts[i].appendMessage(b, header{domain: w.stream.config.Domain})
	}
	return b
}

func (w *sonic) begin(sequence uint32) { w.number = sequence }

func (w *sonic) sequence() uint32 { return w.number + uint32(w.records) }

func (w *sonic) header(now time.Time) header {
	return header{uint32(now.Unix()), w.number, w.stream.config.Domain}
}

func (w *sonic) sample(now time.Time, at int64, values []uint64) error {
	for i := range w.parts {
		t := &w.parts[i]
		from, to := w.size.part(i, len(values))
		if len(w.message)+t.setLen() > int(w.size) {
			w.flush()
		}
		if w.records == 0 {
			w.refresh(now)
			w.message = appendHeader(w.message[:0], w.header(now))
		}
		w.message = t.appendSet(w.message, uint64(at), values[from:to])
		if w.records++; w.records == w.stream.config.Bulk {
			w.flush()
		}
	}
	return nil
}

// refresh sends the templates if that is due.
func (w *sonic) refresh(now time.Time) {
	c := &w.stream.config
	age := now.Sub(w.refreshed)
	if c.Refresh == 0 || w.sent && w.messages < c.RefreshMessages && age >= 0 && age < c.Refresh {
		return
	}
	w.sent, w.refreshed, w.messages = true, now, 0
	for i := range w.parts {
		w.own = w.parts[i].appendMessage(w.own[:0], w.header(now))
		w.stream.send(Message{Bytes: w.own})
	}
}

func (w *sonic) flush() {
	if w.records == 0 {
		return
	}
	setLength(w.message, 0)
	w.stream.send(Message{Bytes: w.message, Records: w.records})
	w.number += uint32(w.records)
	w.messages++
	w.message, w.records = w.message[:0], 0
}
