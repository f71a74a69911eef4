// Package stream holds the records of streamed statistics between the chip, which reads its counters at exact cycles,
// and the host, which gets messages of IPFIX.
//
// The chip writes each record into a bounded buffer, and counts the records for which there is no room. [Set.Encode]
// takes the buffers away and encodes their records, while the chip goes on.
//
// What belongs here: buffers, encoders and their counts. Which counters are read, and when, is the chip's.
package stream

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/tam/hft"
)

// room is the number of values that the records of a stream may have before they are encoded.
const room = 1 << 18

// maxMessage is the size of a message that a datagram of UDP has room for.
const maxMessage = 65507

// headers is the size of the headers of IPv6 and UDP.
const headers = 48

// maxWaiting is the number of bytes of messages that wait for Encode.
const maxWaiting = 4 << 20

// refreshMessages is the number of messages after which templates are sent again, if they are sent at all.
const refreshMessages = 4096

// A Channel is a group of generic netlink. It is empty if there is none.
type Channel struct{ Family, Group string }

// A Message is an encoded message of a stream. Its bytes must not be changed.
type Message struct {
	Stream  sai.OID // the telemetry type
	Channel Channel
	To      []config.ID // collectors to which the chip sends it in a packet
	Bytes   []byte
	Records int
	Oldest  int64 // time of the first record, in nanoseconds since 1970
}

// Counts counts the records of a stream since it was added:
//
//	Read = Encoded + NoRoom + those that wait
type Counts struct {
	Read    uint64 // records that the chip has read
	NoRoom  uint64 // records that were dropped because the buffer was full
	Encoded uint64 // records in messages
	Dropped uint64 // the part of Encoded that was dropped because no caller of Encode took them
	Packets uint64 // packets that the chip has sent to collectors
	Sent    uint64 // records in Packets
	Unsent  uint64 // records that could not be sent to a collector
	Reason  string // why the last message could not be sent to a collector; empty if it was
}

// Config is the configuration of a stream.
type Config struct {
	// Enterprise is the enterprise number of a conforming stream. Zero means a stream in SONiC's format.
	Enterprise uint32
	Interval   time.Duration // between two records
	Templates  time.Duration // after which templates are sent again; zero means never
}

// A Set holds the streams of a chip. The chip's lock protects what the chip writes; the lock of the set protects the
// encoders. The second is taken with the first held, never the other way round.
type Set struct {
	mu      sync.Mutex
	ids     hft.TemplateIDs
	domain  uint32
	streams map[sai.OID]*Stream
	waiting []Message
	size    int // bytes of waiting
}

// NewSet returns a set without streams.
func NewSet() *Set { return &Set{streams: map[sai.OID]*Stream{}} }

// A buffer holds records: their times, in nanoseconds since 1970, and their values one after the other.
type buffer struct {
	at     []int64
	values []uint64
}

// A Source is an object whose statistics are the next columns of a record.
type Source struct {
	Object sai.OID
	Width  int               // number of statistics
	Read   func(to []uint64) // reads them, without allocating
}

// A layout says where the values of a record come from.
type layout struct {
	sources []Source
	width   int
}

// A Stream is the stream of one telemetry type. The methods of Set and Stream must be called with the chip locked.
type Stream struct {
	set      *Set
	key      sai.OID
	prepared *layout // of the next Switch; nil if there is none
	active   *layout // of the records; nil if there were none yet
	fill     buffer
	spare    buffer
	encoder  *hft.Stream
	channel  Channel
	to       []config.ID
	counts   Counts
	oldest   int64 // time of the first record that the encoder holds, zero if it holds none
	at       int64 // time of the record that is being encoded
	// templates are those of the columns that were prepared last.
	templates []byte
}

// Add adds a stream. Its key is that of no other.
func (s *Set) Add(key sai.OID, c Config) (*Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &Stream{set: s, key: key}
	format := hft.SONiC
	if c.Enterprise != 0 {
		format = hft.Conforming
	}
	s.domain++
	conf := hft.Config{
		Format: format, Domain: s.domain, Enterprise: c.Enterprise, Size: maxMessage, Interval: c.Interval,
		Refresh: c.Templates, IDs: &s.ids,
	}
	if c.Templates > 0 {
		conf.RefreshMessages = refreshMessages
	}
	encoder, err := hft.NewStream(conf, x.encoded)
	if err != nil {
		return nil, fmt.Errorf("stream of %s: %w", key, err)
	}
	x.encoder = encoder
	s.streams[key] = x
	return x, nil
}

// Remove removes a stream. Its last records are encoded before.
func (s *Set) Remove(key sai.OID) {
	x := s.streams[key]
	x.Flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = x.encoder.Configure(nil) // no columns have no fault
	delete(s.streams, key)
}

// encoded accepts a message of a stream's encoder.
func (x *Stream) encoded(m hft.Message) {
	s, oldest := x.set, cmp.Or(x.oldest, x.at)
	if x.oldest = 0; s.size+len(m.Bytes) > maxWaiting {
		x.counts.Dropped += uint64(m.Records)
		return
	}
	s.size += len(m.Bytes)
	s.waiting = append(s.waiting, Message{x.key, x.channel, x.to, slices.Clone(m.Bytes), m.Records, oldest})
}

// Read reads the next record from its sources. at is its time in nanoseconds since 1970. If there is no room, the
// record is only counted.
func (x *Stream) Read(at int64) {
	x.counts.Read++
	b, n := &x.fill, len(x.fill.values)
	if n+x.active.width > cap(b.values) || len(b.at) == cap(b.at) {
		x.counts.NoRoom++
		return
	}
	b.at, b.values = append(b.at, at), b.values[:n+x.active.width]
	for _, s := range x.active.sources {
		s.Read(b.values[n : n+s.Width])
		n += s.Width
	}
}

// Reads reports whether the records of a stream have statistics of an object.
func (x *Stream) Reads(oid sai.OID) bool { return x.active != nil && x.active.reads(oid) }

func (l *layout) reads(oid sai.OID) bool {
	return slices.ContainsFunc(l.sources, func(s Source) bool { return s.Object == oid })
}

// Ready reports whether the stream can start: it has a configuration, whose objects all exist.
func (x *Stream) Ready(exists func(sai.OID) bool) bool {
	next := cmp.Or(x.prepared, x.active)
	return next != nil && !slices.ContainsFunc(next.sources, func(s Source) bool { return !exists(s.Object) })
}

// Started reports whether the stream was ever started.
func (x *Stream) Started() bool { return x.active != nil }

// Connect sets where the messages of the stream go: to a channel, and in packets to collectors. Messages of columns
// that are prepared from now on fit into packets of the collectors' MTU.
func (x *Stream) Connect(c Channel, to []config.TAMCollector) {
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	size := maxMessage
	x.channel, x.to = c, nil
	for _, r := range to {
		x.to = append(x.to, r.ID)
		size = min(size, r.MTU-headers)
	}
	x.encoder.Resize(size)
}

// Delivered counts the records of a message that were sent in a packet. err is the reason why they could not be sent.
// The chip must be locked.
func (s *Set) Delivered(m *Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch x := s.streams[m.Stream]; {
	case x == nil: // it was removed
	case err == nil:
		x.counts.Packets++
		x.counts.Sent += uint64(m.Records)
		x.counts.Reason = ""
	default:
		x.counts.Unsent += uint64(m.Records)
		x.counts.Reason = err.Error()
	}
}

// Prepare makes templates for other columns, for the next Switch. Their values come from sources, in this order. The
// stream goes on with the present ones.
func (x *Stream) Prepare(columns []hft.Column, sources []Source) error {
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	templates, err := x.encoder.Prepare(columns)
	if err == nil {
		x.templates, x.prepared = templates, &layout{sources, len(columns)}
	}
	return err
}

// Templates returns the templates of the columns that were prepared last, as messages of IPFIX. It is empty for a
// conforming stream.
func (x *Stream) Templates() []byte { return x.templates }

// Switch begins to use the columns that were prepared, if there are any. The records before are encoded first.
func (x *Stream) Switch() {
	if x.prepared == nil {
		return
	}
	x.Flush()
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	x.encoder.Switch()
	x.active, x.prepared = x.prepared, nil
	for _, b := range []*buffer{&x.fill, &x.spare} {
		records := max(room/x.active.width, 1)
		*b = buffer{at: make([]int64, 0, records), values: make([]uint64, 0, records*x.active.width)}
	}
}

// Flush encodes the records of a stream.
func (x *Stream) Flush() {
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	x.swap()
	x.encode()
}

// swap takes the records away from the chip.
func (x *Stream) swap() { x.fill, x.spare = x.spare, x.fill }

// encode encodes the records that swap has taken away.
func (x *Stream) encode() {
	for i, at := range x.spare.at {
		x.at = at
		values := x.spare.values[i*x.active.width : (i+1)*x.active.width]
		if err := x.encoder.Sample(time.Unix(0, at), at, values); err != nil {
			panic(err) // columns and values have the same number
		}
		x.oldest = cmp.Or(x.oldest, at)
	}
	x.counts.Encoded += uint64(len(x.spare.at))
	x.spare = buffer{x.spare.at[:0], x.spare.values[:0]}
	x.encoder.Flush()
}

// Encode encodes the records of all streams, and returns their messages. The chip must be locked by the caller. Encode
// unlocks it, by unlock, before the records are encoded.
func (s *Set) Encode(unlock func()) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*Stream
	for _, key := range slices.Sorted(maps.Keys(s.streams)) {
		if x := s.streams[key]; len(x.fill.at) > 0 {
			x.swap()
			due = append(due, x)
		}
	}
	unlock()
	for _, x := range due {
		x.encode()
	}
	list := s.waiting
	s.waiting, s.size = nil, 0
	return list
}

// Counts returns the counts of all streams, by key. The chip must be locked.
func (s *Set) Counts() map[sai.OID]Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[sai.OID]Counts, len(s.streams))
	for key, x := range s.streams {
		all[key] = x.counts
	}
	return all
}

// NearestInterval returns the duration nearest to d, and not below least, that is a number of cycles and of
// nanoseconds.
func NearestInterval(d, least time.Duration, hz uint64) time.Duration {
	a, b := hz, uint64(time.Second)
	for b > 0 {
		a, b = b, a%b
	}
	step := time.Second / time.Duration(a) // the least number of nanoseconds that is a number of cycles
	return max((d+step/2)/step, (least+step-1)/step) * step
}
