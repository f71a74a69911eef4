package hftrecords

import (
	"context"
	"encoding/binary"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"tamtam/collector/hftread"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/hft"
)

// Bounds of what a store keeps.
const (
	maxValues  = 1 << 22 // values and times of all records
	maxPending = 8 << 20 // bytes of messages that are not decoded because there is no reader
	retryAfter = 10 * time.Millisecond
)

// A Column is a statistic of an object.
type Column struct {
	Object    string // such as Ethernet0, Ethernet0|3 or a pool's name
	Statistic string // SAI's name without SAI_<type>_STAT_, such as IF_OUT_OCTETS
	Kind      hft.Kind
}

// A Layout is the meaning of the values of records. It is never changed.
type Layout struct{ Columns []Column }

// A Block holds consecutive records of one layout. It must not be changed.
type Block struct {
	*Layout
	First  uint64   // number of the first record in its group
	At     []int64  // times of the readouts by the chip's clock, in nanoseconds since 1970
	Values []uint64 // of the records, one after the other
}

// Record returns the values of a record of the block.
func (b *Block) Record(i int) []uint64 {
	n := len(b.Columns)
	return b.Values[i*n : (i+1)*n]
}

// slice returns some records of a block.
func (b *Block) slice(from, to int) Block {
	n := len(b.Columns)
	return Block{b.Layout, b.First + uint64(from), b.At[from:to:to], b.Values[from*n : to*n : to*n]}
}

// cost returns what the records of a block count for maxValues.
func (b *Block) cost() int { return len(b.At) + len(b.Values) }

// Counts counts the records of a group.
type Counts struct {
	Received uint64 // decoded records
	Missed   uint64 // records that followers did not get, because they were slower than the stream
}

// A group is the stream of one group.
type group struct {
	decoder *hft.Decoder
	session schema.HFTSession
	last    map[uint32]uint32  // sequence number of the last message, by domain
	blocks  []Block            // the oldest first
	size    int                // cost of blocks
	layouts map[uint16]*Layout // by template
	counts  Counts
}

// A message is one that is not decoded yet.
type message struct {
	group *group
	bytes []byte
}

// A Store keeps the last records of a switch's groups. The names of groups are those of their rows, such as web|PORT.
type Store struct {
	sessions func(context.Context) (map[string]schema.HFTSession, error)
	now      func() time.Time
	limit    int // maxValues, but in tests

	mu        sync.Mutex
	groups    map[string]*group
	pending   []message
	size      int       // bytes of pending
	failed    time.Time // when the sessions were last read without success
	unknown   uint64    // messages without a session
	followers map[*Follower]struct{}
}

// New returns a store that reads templates and names from sessions. The clock only limits how often these are read.
func New(sessions func(context.Context) (map[string]schema.HFTSession, error), now func() time.Time) *Store {
	return &Store{sessions: sessions, now: now, limit: maxValues, groups: map[string]*group{},
		followers: map[*Follower]struct{}{}}
}

// SessionsOf returns a function that reads the sessions in STATE_DB. It leaves out rows that are no sessions.
func SessionsOf(r *swss.Redis) func(context.Context) (map[string]schema.HFTSession, error) {
	return func(ctx context.Context) (map[string]schema.HFTSession, error) {
		rows, err := swss.NewTable(r.DB(swss.StateDB), schema.StateHFTSession).Dump(ctx)
		if err != nil {
			return nil, err
		}
		all := map[string]schema.HFTSession{}
		for key, fields := range rows {
			if s, err := schema.ParseHFTSession(key, fields); err == nil {
				all[key] = s
			}
		}
		return all, nil
	}
}

// Add adds a message of a stream. It keeps no reference to the message.
func (s *Store) Add(ctx context.Context, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.owner(b)
	if again := g != nil && restarted(g, b); g == nil || again {
		if since := s.now().Sub(s.failed); since < 0 || since >= retryAfter {
			s.refresh(ctx, again)
			g = s.owner(b)
		}
		if g == nil {
			s.failed = s.now()
			s.unknown++
			return
		}
	}
	g.last[domainOf(b)] = sequenceOf(b)
	s.pending = append(s.pending, message{g, slices.Clone(b)})
	s.size += len(b)
	for s.size > maxPending {
		s.size -= len(s.pending[0].bytes)
		s.pending = s.pending[1:]
	}
	if len(s.followers) > 0 {
		s.decode()
	}
}

// Places in the header of a message of IPFIX, and behind it the id of the first set.
const (
	sequenceAt = 8
	domainAt   = 12
	setAt      = 16
)

func domainOf(b []byte) uint32   { return binary.BigEndian.Uint32(b[domainAt:]) }
func sequenceOf(b []byte) uint32 { return binary.BigEndian.Uint32(b[sequenceAt:]) }

// owner returns the group whose template the first set of a message has, or nil.
func (s *Store) owner(b []byte) *group {
	if len(b) < setAt+2 {
		return nil
	}
	for _, g := range s.groups {
		if g.decoder.Knows(domainOf(b), binary.BigEndian.Uint16(b[setAt:])) {
			return g
		}
	}
	return nil
}

// restarted reports whether a message is not behind the last one. A chip that was started again uses the numbers of
// domains and templates again.
func restarted(g *group, b []byte) bool {
	last, known := g.last[domainOf(b)]
	return known && int32(sequenceOf(b)-last) <= 0
}

// refresh reads the sessions. Groups get templates, beside those that they have unless the chip has restarted. Groups
// without a session go.
func (s *Store) refresh(ctx context.Context, restart bool) {
	all, err := s.sessions(ctx)
	if err != nil {
		return // the message counts as unknown
	}
	s.decode() // by the present templates
	for name := range s.groups {
		if _, there := all[name]; !there {
			delete(s.groups, name)
		}
	}
	for name, session := range all {
		g := s.groups[name]
		if g == nil {
			g = &group{}
			s.groups[name] = g
		}
		if g.decoder == nil || restart {
			d, err := hft.NewDecoder(0, 0, nil)
			if err != nil {
				panic(err) // the arguments are constants
			}
			g.decoder, g.last = d, map[uint32]uint32{}
		} else if reflect.DeepEqual(g.session, session) {
			continue
		}
		labels := map[uint16]string{}
		for i, label := range session.Labels {
			labels[label] = session.Objects[i]
		}
		g.session, g.layouts = session, map[uint16]*Layout{}
		_ = g.decoder.Session(session.Templates, labels) // a faulty template has no records
	}
	s.wake()
}

// decode decodes the messages that wait.
func (s *Store) decode() {
	if len(s.pending) == 0 {
		return
	}
	for _, m := range s.pending {
		_ = m.group.decoder.Messages(m.bytes, func(r *hft.Record) { s.add(m.group, r) }) // faults have no records
	}
	s.pending, s.size = nil, 0
	s.wake()
}

// Number of records and of values that a block has room for.
const (
	blockRecords = 1024
	blockValues  = 1 << 13
)

// add adds a record to its group.
func (s *Store) add(g *group, r *hft.Record) {
	layout := g.layouts[r.Template]
	if layout == nil {
		layout = &Layout{Columns: make([]Column, len(r.Columns))}
		for i, c := range r.Columns {
			name := hftread.Named(c.Type, c.ID)
			layout.Columns[i] = Column{c.Object, name.Name, name.Kind}
		}
		g.layouts[r.Template] = layout
	}
	last := len(g.blocks) - 1
	if last < 0 || g.blocks[last].Layout != layout || len(g.blocks[last].At) == cap(g.blocks[last].At) {
		n := max(1, min(blockRecords, blockValues/max(1, len(layout.Columns))))
		g.blocks = append(g.blocks, Block{Layout: layout, First: g.counts.Received, At: make([]int64, 0, n),
			Values: make([]uint64, 0, n*len(layout.Columns))})
		last++
	}
	b := &g.blocks[last]
	b.At, b.Values = append(b.At, r.At), append(b.Values, r.Values...)
	g.counts.Received++
	g.size += 1 + len(r.Values)
	for g.size > s.limit/len(s.groups) && len(g.blocks) > 1 {
		g.size -= g.blocks[0].cost()
		g.blocks[0] = Block{}
		g.blocks = g.blocks[1:]
	}
}

// Groups returns the names of the groups, in order.
func (s *Store) Groups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.groups))
}

// Counts returns the counts of a group. They are zero for a group that does not stream.
func (s *Store) Counts(name string) Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decode()
	if g := s.groups[name]; g != nil {
		return g.counts
	}
	return Counts{}
}

// Last returns the last record of a group, with all its parts. It returns nothing if there is none.
func (s *Store) Last(name string) (all []Block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decode()
	g := s.groups[name]
	if g == nil {
		return nil
	}
	for i := len(g.blocks) - 1; i >= 0; i-- {
		b := &g.blocks[i]
		n := len(b.At) - 1
		if len(all) > 0 && (all[0].At[0] != b.At[n] || all[0].Layout == b.Layout) {
			break
		}
		all = append([]Block{b.slice(n, n+1)}, all...)
	}
	return all
}

// Since returns the records of a group that are younger than a time in nanoseconds since 1970: at most the last n.
func (s *Store) Since(name string, at int64, n int) (all []Block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decode()
	g := s.groups[name]
	if g == nil {
		return nil
	}
	for i := len(g.blocks) - 1; i >= 0 && n > 0; i-- {
		b := &g.blocks[i]
		from := max(len(b.At)-n, 0)
		for from < len(b.At) && b.At[from] <= at {
			from++
		}
		if from == len(b.At) {
			break
		}
		all = append(all, b.slice(from, len(b.At)))
		n -= len(b.At) - from
	}
	slices.Reverse(all)
	return all
}
