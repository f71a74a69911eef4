package hft

import (
	"errors"
	"fmt"
	"math"
	"time"

	"tamtam/tam/ipfix"
)

// A Format is the format of a stream.
type Format uint8

// The formats.
const (
	SONiC      Format = iota // as countersyncd decodes it
	Conforming               // RFC 7011
)

// String returns the word of the format.
func (f Format) String() string { return [...]string{"sonic", "ipfix"}[f] }

// Lengths of messages, in bytes.
const (
	headerLen    = 16
	setHeaderLen = 4
	timeLen      = 8 // also the length of a value
	timeSpecLen  = 4
	fieldSpecLen = 8
	templateLen  = 4

	// MaxStatistics is the maximum number of statistics in a record of the longest message. Records with more are split.
	MaxStatistics = (ipfix.MaxSize - headerLen - setHeaderLen - templateLen - timeSpecLen) / fieldSpecLen
)

// Config is the configuration of a [Stream].
type Config struct {
	Format Format
	// Domain is the observation domain. A decoder that is to check the cadence of streams in SONiC's format needs one
	// for each stream.
	Domain     uint32
	Enterprise uint32 // of the elements of a conforming stream; zero means [ipfix.DefaultEnterprise]
	Size       int    // maximum size of a message in bytes, from [ipfix.MinSize] to [ipfix.MaxSize]
	Bulk       int    // maximum number of records in a message; zero means as many as it has room for
	// Interval is the time between two records, for readers of a conforming stream. Zero means that it is unknown.
	Interval time.Duration
	// Refresh and RefreshMessages are the time and the number of messages after which templates are sent again. If they
	// are zero, a stream in SONiC's format sends no templates: its readers get them from [Stream.Templates].
	Refresh         time.Duration
	RefreshMessages int
	IDs             *TemplateIDs // ids for templates, shared with other streams; nil if there is only this stream
}

// MaxEnterprise is the greatest enterprise number of conforming streams. A greater one would be an object type and a
// statistic in SONiC's format.
const MaxEnterprise = 0xffff

// A Message is an encoded message. Its bytes are valid only until the send callback returns.
type Message = ipfix.Message

// A Stream encodes the records of a group into messages. It must be used by one goroutine only.
type Stream struct {
	config  Config
	send    func(Message)
	objects map[uint16]string // object of each label that was ever used
	setup                     // of the records that are encoded
	next    *setup            // prepared; nil if there is none
	number  uint32            // sequence number of the next record while there is no writer
}

// A setup is a configuration of a stream.
type setup struct {
	columns []Column
	writer  writer // nil if there are no columns
	first   uint16 // first template id
	ids     int    // number of template ids
}

// A writer encodes the records of one configuration of a stream.
type writer interface {
	begin(sequence uint32) // is called before the first record
	// sample encodes a record; at is in nanoseconds since 1970. The values are as many as the columns.
	sample(now time.Time, at int64, values []uint64) error
	flush()
	sequence() uint32 // sequence number of the next record
	templates() []byte
}

// NewStream returns a stream without columns, which passes its messages to send. An error names the invalid part of c.
func NewStream(c Config, send func(Message)) (*Stream, error) {
	switch {
	case c.Size < ipfix.MinSize || c.Size > ipfix.MaxSize:
		return nil, fmt.Errorf("hft: messages of at most %d bytes, want %d to %d", c.Size, ipfix.MinSize, ipfix.MaxSize)
	case c.Bulk < 0 || c.Interval < 0:
		return nil, fmt.Errorf("hft: %d records in a message, every %v, want 0 or more", c.Bulk, c.Interval)
	case c.Enterprise > MaxEnterprise:
		return nil, fmt.Errorf("hft: enterprise number %d, want at most %d: a greater one is a statistic in SONiC's format",
			c.Enterprise, MaxEnterprise)
	case c.Refresh < 0 || c.RefreshMessages < 0 || (c.Refresh == 0) != (c.RefreshMessages == 0):
		return nil, fmt.Errorf("hft: templates again after %v and %d messages, want both more than 0, or both 0",
			c.Refresh, c.RefreshMessages)
	case c.Format == Conforming && c.Refresh == 0:
		return nil, errors.New("hft: templates are never sent: want a refresh after some time in a conforming stream")
	}
	if c.IDs == nil {
		c.IDs = &TemplateIDs{}
	}
	return &Stream{config: c, send: send, objects: map[uint16]string{}}, nil
}

// Configure replaces the columns, for the records that follow. It is Prepare and Switch in one.
func (s *Stream) Configure(columns []Column) error {
	if _, err := s.Prepare(columns); err != nil {
		return err
	}
	s.Switch()
	return nil
}

// Prepare makes templates for other columns, which Switch begins to use, and returns the messages with these templates,
// as Templates does. So readers can get the templates before the first record that needs them, while the stream goes
// on. The templates have new ids. More columns than a message has room for get several templates, and their records are
// sent one after the other. No columns end the stream until it gets some. On an error, which names the column, nothing
// is changed. Columns that were prepared before and not used are dropped.
func (s *Stream) Prepare(columns []Column) (templates []byte, err error) {
	if err := s.check(columns); err != nil {
		return nil, err
	}
	n := setup{columns: columns}
	parts := messageSize(s.config.Size).split(len(columns))
	if n.ids = parts; s.config.Format == Conforming && parts > 0 {
		n.ids += optionTemplates
	}
	var ok bool
	if n.first, ok = s.config.IDs.Take(n.ids); !ok {
		return nil, fmt.Errorf("hft: no %d consecutive template ids that are not in use", n.ids)
	}
	switch {
	case parts == 0:
	case s.config.Format == Conforming:
		n.writer, err = newConforming(s, columns, n.first)
	default:
		n.writer, err = newSONiC(s, columns, n.first)
	}
	if err != nil {
		s.config.IDs.Release(n.first, n.ids)
		return nil, err
	}
	if s.next != nil {
		s.config.IDs.Release(s.next.first, s.next.ids)
	}
	s.next = &n
	for _, c := range columns {
		s.objects[c.Label] = objectKey(&c)
	}
	return n.templates(), nil
}

// Switch begins to use the columns that were prepared. The records before are sent first. It does nothing if no columns
// were prepared.
func (s *Stream) Switch() {
	if s.next == nil {
		return
	}
	s.Flush()
	s.number = s.Sequence()
	s.config.IDs.Release(s.first, s.ids)
	s.setup, s.next = *s.next, nil
	if s.writer != nil {
		s.writer.begin(s.number)
	}
}

// templates returns the messages with the templates of the setup.
func (n *setup) templates() []byte {
	if n.writer == nil {
		return nil
	}
	return n.writer.templates()
}

// objectKey identifies the object of a column.
func objectKey(c *Column) string { return fmt.Sprint(c.Type, " ", c.Object) }

func (s *Stream) check(columns []Column) error {
	seen := make(map[Statistic]bool, len(columns))
	objects := map[uint16]string{}
	for i := range columns {
		c := &columns[i]
		if c.Label > MaxLabel {
			return fmt.Errorf("hft: label %d of %s, want at most %d", c.Label, c.Object, MaxLabel)
		}
		if seen[c.Statistic] {
			return fmt.Errorf("hft: statistic %d of %s, label %d, is there twice", c.ID, c.Object, c.Label)
		}
		seen[c.Statistic] = true
		key := objectKey(c)
		for _, known := range []map[uint16]string{s.objects, objects} {
			if was, ok := known[c.Label]; ok && was != key {
				return fmt.Errorf("hft: label %d of %s (object type and name %s) is that of another object (%s): want a new one",
					c.Label, c.Object, key, was)
			}
		}
		objects[c.Label] = key
	}
	return nil
}

// Resize sets the maximum size of messages, as [Config] does. It applies to columns that are prepared from now on.
func (s *Stream) Resize(size int) { s.config.Size = min(max(size, ipfix.MinSize), ipfix.MaxSize) }

// A messageSize is the maximum size of a message in bytes.
type messageSize int

// room returns the number of columns of a record that fits into a message with its template.
func (s messageSize) room() int {
	return (int(s) - headerLen - setHeaderLen - templateLen - timeSpecLen) / fieldSpecLen
}

// split returns the number of templates for n columns.
func (s messageSize) split(n int) int { return (n + s.room() - 1) / s.room() }

// part returns the columns of a template, by its index among the templates of n columns.
func (s messageSize) part(i, n int) (from, to int) {
	from = i * s.room()
	return from, min(from+s.room(), n)
}

// Columns returns the columns of the records.
func (s *Stream) Columns() []Column { return s.columns }

// Sequence returns the sequence number of the next record.
func (s *Stream) Sequence() uint32 {
	if s.writer == nil {
		return s.number
	}
	return s.writer.sequence()
}

// Templates returns messages with the templates of the present columns in SONiC's format, one after the other. It is
// what SAI_TAM_TEL_TYPE_ATTR_IPFIX_TEMPLATES returns, and session_config holds. It returns nil for a stream without
// columns, and for a conforming stream, whose readers need more than templates.
func (s *Stream) Templates() []byte { return s.setup.templates() }

// Sample encodes the values of the columns at an instant, in nanoseconds since 1970. now is the time of export. An
// error means that nothing was encoded.
func (s *Stream) Sample(now time.Time, at int64, values []uint64) error {
	if s.writer == nil || len(values) != len(s.columns) {
		return fmt.Errorf("hft: %d values, want one for each of %d columns, and one or more", len(values), len(s.columns))
	}
	if at < 0 {
		return fmt.Errorf("hft: time %d ns, want 0 to %d since 1970", at, int64(math.MaxInt64))
	}
	return s.writer.sample(now, at, values)
}

// Flush sends the records that wait for others in the same message.
func (s *Stream) Flush() {
	if s.writer != nil {
		s.writer.flush()
	}
}
