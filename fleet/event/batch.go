package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"tamtam/collector/result"
	"tamtam/fleet/stream"
)

// MaxTime is the latest time of an event, in nanoseconds since 1970: in the year 2116. Times are not below 0.
const MaxTime = 1 << 62

// MaxAhead is the maximum time, in nanoseconds, by which the events of a batch may be ahead of the watermark. Before
// the first watermark they may be ahead of each other by it. Windows farther ahead would hold the log.
const MaxAhead = 3600 * 1_000_000_000

// MaxSource is the maximum length of a source's name.
const MaxSource = 64

// Ended is the watermark of a source that sends no more.
const Ended = math.MaxInt64

const (
	version     = 1
	fixed       = 49 // number of bytes before the name
	checksum    = 4
	atNumber    = 4
	atWatermark = 12
	atFrom      = 20
	atTo        = 28
	atHigh      = 36
	atEvents    = 44
	atNameSize  = 48
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Header describes a batch.
type Header struct {
	Kind   result.Kind
	Source string
	Number uint64
	// Watermark is the watermark of the source: no event from before this time comes any more, in nanoseconds since 1970.
	// 0 means unknown, Ended that no event comes at all.
	Watermark int64
	// From and To are the times of the earliest and latest event. In a batch without events they are the first and the
	// last time from which events may be missing, since the source did not receive them or lost them. Both are 0 if no
	// events are missing.
	From, To int64
	// High is the latest time of any event so far, of this batch or those before. It bounds the times of a lost batch.
	High   int64
	Events int
}

// A Writer collects the events of one source for one partition. It copies its arguments.
type Writer struct {
	header Header
	buf    []byte
	last   int64 // time of the previous event
	sent   bool  // true if buf has a finished batch
}

// NewWriter returns a writer whose first batch has the number 1.
func NewWriter(kind result.Kind, source string) (*Writer, error) {
	if kind == 0 || kind >= result.Kinds {
		return nil, fmt.Errorf("batches of %v: want one of 1 to %d", kind, result.Kinds-1)
	}
	if source == "" || len(source) > MaxSource {
		return nil, fmt.Errorf("source %.80q: want a name of 1 to %d bytes", source, MaxSource)
	}
	w := &Writer{header: Header{Kind: kind, Source: source, Number: 1}, buf: make([]byte, 0, firstSize)}
	w.reset()
	return w, nil
}

// firstSize is the initial capacity of a writer in bytes: most have a small number of events.
const firstSize = 1 << 10

func (w *Writer) reset() {
	w.sent = false
	w.header.From, w.header.To, w.header.Events, w.last = 0, 0, 0, 0
	w.buf = append(w.buf[:0], make([]byte, fixed)...)
	w.buf = append(w.buf, w.header.Source...)
}

func (w *Writer) begin() {
	if w.sent {
		w.header.Number++
		w.reset()
	}
}

// Events returns the number of events in the unfinished batch.
func (w *Writer) Events() int {
	w.begin()
	return w.header.Events
}

// First returns the time of the earliest event in the unfinished batch.
func (w *Writer) First() int64 { return w.header.From }

// room reports whether n more bytes fit into the batch.
func (w *Writer) room(n int) bool { return len(w.buf)+n+checksum <= stream.MaxData }

// event starts an event with its time, as the difference to that of the event before.
func (w *Writer) event(time int64) {
	w.buf = binary.AppendVarint(w.buf, time-w.last)
	w.last = time
	if w.header.Events == 0 || time < w.header.From {
		w.header.From = time
	}
	if w.header.Events == 0 || time > w.header.To {
		w.header.To = time
	}
	w.header.High = max(w.header.High, time)
	w.header.Events++
}

// MaxEvent is the maximum length of the data of an event.
const MaxEvent = stream.MaxData - fixed - MaxSource - checksum - 2*binary.MaxVarintLen64

// Add adds an event as bytes. It returns false if the batch is full: the event fits into the next. Data longer than
// MaxEvent are an error.
func (w *Writer) Add(time int64, data []byte) (bool, error) {
	if w.header.Kind == result.Stamps {
		return false, errors.New("an event of bytes in a batch of stamps: want frames")
	}
	if len(data) > MaxEvent {
		return false, fmt.Errorf("an event of %d bytes: want %d at most", len(data), MaxEvent)
	}
	w.begin()
	if !w.room(2*binary.MaxVarintLen64 + len(data)) {
		return false, nil
	}
	w.event(time)
	w.buf = binary.AppendUvarint(w.buf, uint64(len(data)))
	w.buf = append(w.buf, data...)
	return true, nil
}

// Finish returns the batch, and starts the next. The bytes are valid until the next call of a method. A batch without
// events carries only a watermark.
func (w *Writer) Finish(watermark int64) []byte {
	w.begin()
	b := w.buf
	b[0], b[1], b[2], b[3] = 'T', 'E', version, byte(w.header.Kind)
	binary.BigEndian.PutUint64(b[atNumber:], w.header.Number)
	binary.BigEndian.PutUint64(b[atWatermark:], uint64(watermark))
	binary.BigEndian.PutUint64(b[atFrom:], uint64(w.header.From))
	binary.BigEndian.PutUint64(b[atTo:], uint64(w.header.To))
	binary.BigEndian.PutUint64(b[atHigh:], uint64(w.header.High))
	binary.BigEndian.PutUint32(b[atEvents:], uint32(w.header.Events))
	b[atNameSize] = byte(len(w.header.Source))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	w.buf, w.sent = b, true
	return b
}

// ID returns an id for a batch in the log, which is the same if it is sent again.
func (h Header) ID() string { return fmt.Sprintf("%s/%v/%d", h.Source, h.Kind, h.Number) }

// A Reader reads batches. It reuses its memory.
type Reader struct {
	Header
	rest   []byte // events that were not read yet
	frames []Frame
	hops   []Hop
	blobs  []Blob
}

// A Blob is an event as bytes.
type Blob struct {
	Time int64
	Data []byte // part of the batch, not a copy
}

// Open reads the header of a batch and verifies its checksum.
func (r *Reader) Open(data []byte) error {
	r.rest = nil
	if len(data) < fixed+checksum || len(data) > stream.MaxData {
		return fmt.Errorf("a batch of %d bytes: want %d to %d", len(data), fixed+checksum, stream.MaxData)
	}
	if data[0] != 'T' || data[1] != 'E' || data[2] != version {
		return fmt.Errorf("a batch begins with %x: want \"TE\" and version %d", data[:3], version)
	}
	body := data[:len(data)-checksum]
	if want, got := binary.BigEndian.Uint32(data[len(body):]), crc32.Checksum(body, castagnoli); want != got {
		return fmt.Errorf("the checksum of a batch is %08x, and its bytes have %08x", want, got)
	}
	name := int(data[atNameSize])
	if name == 0 || name > MaxSource || fixed+name > len(body) {
		return fmt.Errorf("a batch whose source has a name of %d bytes: want 1 to %d", name, MaxSource)
	}
	h, err := readHeader(data)
	if err != nil {
		return err
	}
	if source := data[fixed : fixed+name]; string(source) == r.Source { // same as before: no copy of its name
		h.Source = r.Source
	} else {
		h.Source = string(source)
	}
	r.Header, r.rest = h, body[fixed+name:]
	return nil
}

// readHeader reads and checks the fields before the name.
func readHeader(data []byte) (Header, error) {
	h := Header{
		Kind:      result.Kind(data[3]),
		Number:    binary.BigEndian.Uint64(data[atNumber:]),
		Watermark: int64(binary.BigEndian.Uint64(data[atWatermark:])),
		From:      int64(binary.BigEndian.Uint64(data[atFrom:])),
		To:        int64(binary.BigEndian.Uint64(data[atTo:])),
		High:      int64(binary.BigEndian.Uint64(data[atHigh:])),
		Events:    int(binary.BigEndian.Uint32(data[atEvents:])),
	}
	if h.Kind == 0 || h.Kind >= result.Kinds {
		return Header{}, fmt.Errorf("a batch of %v: want one of 1 to %d", h.Kind, result.Kinds-1)
	}
	if h.Number == 0 || h.Number == math.MaxUint64 {
		return Header{}, fmt.Errorf("a batch with number %d: want one from 1 on", h.Number)
	}
	if h.From < 0 || h.To < h.From || h.To > MaxTime || h.Events > 0 && h.High < h.To || h.High < 0 || h.High > MaxTime ||
		h.Watermark < 0 || h.Watermark > MaxTime && h.Watermark != Ended {
		return Header{}, fmt.Errorf("batch %d: events from %d to %d, of all so far to %d, promise %d: want 0 to %d in order",
			h.Number, h.From, h.To, h.High, h.Watermark, int64(MaxTime))
	}
	return h, nil
}

// Blobs returns the events of any kind but Stamps. They are valid until the next call of a method.
func (r *Reader) Blobs() ([]Blob, error) {
	if r.Kind == result.Stamps {
		return nil, errors.New("the events of a batch of stamps are frames")
	}
	d := decoder{b: r.rest}
	r.blobs = r.blobs[:0]
	for range r.events() {
		at := d.time()
		r.blobs = append(r.blobs, Blob{Time: at, Data: d.bytes(d.uvarint())})
		if d.bad {
			break
		}
	}
	return r.blobs, r.end(&d, len(r.blobs))
}

// events bounds the number of events by the bytes that they need at least.
func (r *Reader) events() int { return min(r.Events, len(r.rest)+1) }

// end returns an error if a batch did not have exactly the events of its header.
func (r *Reader) end(d *decoder, got int) error {
	switch {
	case d.bad || got != r.Events:
		return fmt.Errorf("batch %s declares %d events, and ends in event %d", r.ID(), r.Events, got)
	case len(d.b) > 0:
		return fmt.Errorf("batch %s has %d bytes behind its last event", r.ID(), len(d.b))
	case r.Events > 0 && (d.from != r.From || d.to != r.To):
		return fmt.Errorf("batch %s has events from %d to %d, and declares %d to %d", r.ID(), d.from, d.to, r.From, r.To)
	}
	return nil
}

// decoder reads values from the front of bytes. Once the bytes do not suffice, the decoder is bad and returns zeros.
type decoder struct {
	b        []byte
	bad      bool
	last     int64
	some     bool
	from, to int64
}

func (d *decoder) fail() { d.b, d.bad = nil, true }

func (d *decoder) uvarint() uint64 {
	if len(d.b) > 0 && d.b[0] < 0x80 { // most are short
		v := d.b[0]
		d.b = d.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (d *decoder) time() int64 {
	d.last += d.varint()
	if !d.some || d.last < d.from {
		d.from = d.last
	}
	if !d.some || d.last > d.to {
		d.to = d.last
	}
	d.some = true
	return d.last
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}
