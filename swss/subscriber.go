package swss

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"tamtam/swss/glob"
)

// A Subscriber watches the rows of a table through Redis' keyspace events (CONFIG_DB, STATE_DB). A table can have any
// number of subscribers, and they see the writes of all clients.
//
// Every SET carries the whole current row, unless it is too large. Several changes of a row between two calls of Pops
// are delivered as one. The first Pops returns all rows. After Redis was away, all rows are returned again, with a DEL
// for each deleted row.
type Subscriber struct {
	db     *DB
	table  string
	prefix string // prefix of the events' channels
	l      *Listener
	known  map[string]int64 // rows delivered and not deleted, with their weights
	total  int64            // weight in bytes of the delivered rows within the capacity
	most   int64            // maximum of total in bytes
	stored bool             // true if rows are delivered in stored form
	first  string           // key of the first row, by name, that exceeds the capacity; "" if all rows fit
	brief  bool             // true if a DEL is delivered for rows that were created and deleted between two Pops

	mu      sync.Mutex
	changed map[string]struct{}
	resync  bool
}

// NewSubscriber returns a subscriber to a table.
func NewSubscriber(l *Listener, db *DB, table string) *Subscriber {
	s := &Subscriber{
		db: db, table: table, l: l,
		prefix:  fmt.Sprintf("__keyspace@%d__:%s%s", db.id, table, db.sep),
		known:   map[string]int64{},
		most:    math.MaxInt64,
		changed: map[string]struct{}{},
		resync:  true,
	}
	l.add(subscription{name: glob.Escape(s.prefix) + "*", pattern: true}, s)
	return s
}

// Name returns the table's name.
func (s *Subscriber) Name() string { return s.table }

// DB returns the table's database.
func (s *Subscriber) DB() *DB { return s.db }

func (s *Subscriber) message(channel, _ string) {
	key, ok := strings.CutPrefix(channel, s.prefix)
	if !ok {
		return
	}
	s.mu.Lock()
	s.changed[key] = struct{}{}
	s.mu.Unlock()
}

func (s *Subscriber) stale() {
	s.mu.Lock()
	s.resync = true
	s.mu.Unlock()
}

// Received reports whether a change of the row was received that Pops has not delivered yet.
func (s *Subscriber) Received(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, changed := s.changed[key]
	return changed || s.resync
}

// Pops returns the rows that changed, at most one entry per row, sorted by key.
func (s *Subscriber) Pops(ctx context.Context) ([]KeyOpFieldsValues, error) {
	s.mu.Lock()
	resync := s.resync
	s.mu.Unlock()
	if resync { // missed changes are fetched once the subscription is active
		if err := s.l.Sync(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	changed, resync := s.changed, s.resync
	if len(changed) == 0 && !resync {
		s.mu.Unlock()
		return nil, nil
	}
	s.changed, s.resync = map[string]struct{}{}, false
	s.mu.Unlock()
	out, err := s.pops(ctx, changed, resync)
	if err != nil {
		s.stale()
		return nil, err
	}
	return out, nil
}

// pops reads the changed rows. It reads all rows after a reconnect, and if a change affects which rows fit into the
// capacity.
func (s *Subscriber) pops(ctx context.Context, changed map[string]struct{}, resync bool) ([]KeyOpFieldsValues, error) {
	if !resync {
		out, fits, err := s.popChanged(ctx, slices.Sorted(maps.Keys(changed)))
		if err != nil || fits {
			return out, err
		}
	}
	return s.popAll(ctx, changed)
}

// popChanged reads the rows with the given keys. If the changes affect which rows fit into the capacity, it does
// nothing and returns false.
func (s *Subscriber) popChanged(ctx context.Context, keys []string) (out []KeyOpFieldsValues, fits bool, err error) {
	next, total, fits := map[string]int64{}, s.total, true
	err = NewTable(s.db, s.table).readRows(ctx, keys, s.rowOf(), func(key string, row FieldValues, size int64) {
		was, report := s.reports(key)
		item := KeyOpFieldsValues{Key: key, Op: OpDel}
		if row != nil || size > 0 {
			item = s.set(key, row, size)
			next[key] = weight(key, row)
		} else if !report {
			return
		}
		if s.Over(key) {
			fits = fits && (key != s.first || next[key] == was)
			if item.Op == OpSet {
				item.Fields, item.Stored, item.Size = nil, nil, TooMany
			}
		} else {
			total += next[key] - was
			fits = fits && (s.first == "" || next[key] == was)
		}
		out = append(out, item)
	})
	if fits = fits && total <= s.most; err != nil || !fits {
		return nil, false, err
	}
	s.total = total
	for _, item := range out {
		if item.Op == OpDel {
			delete(s.known, item.Key)
		} else {
			s.known[item.Key] = next[item.Key]
		}
	}
	return out, true, nil
}

// popAll reads all rows that fit into the capacity. changed holds the keys for which an event arrived.
func (s *Subscriber) popAll(ctx context.Context, changed map[string]struct{}) ([]KeyOpFieldsValues, error) {
	t := NewTable(s.db, s.table)
	keys, err := t.Keys(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	known, total, first := make(map[string]int64, len(keys)), int64(0), ""
	var out []KeyOpFieldsValues
	add := func(key string, row FieldValues, size int64) {
		if row == nil && size == 0 {
			return
		}
		known[key] = weight(key, row)
		if first == "" && total+known[key] > s.most {
			first = key
		}
		item := KeyOpFieldsValues{Key: key, Op: OpSet, Size: TooMany}
		if first == "" {
			total += known[key]
			item = s.set(key, row, size)
		}
		out = append(out, item)
	}
	for chunk := range slices.Chunk(keys, 100) {
		if first == "" {
			if err := t.readRows(ctx, chunk, s.rowOf(), add); err != nil {
				return nil, err
			}
			continue
		}
		for _, key := range chunk { // a row that does not fit is delivered without its fields
			add(key, nil, TooMany)
		}
	}
	for _, key := range s.gone(known, changed) {
		out = append(out, KeyOpFieldsValues{Key: key, Op: OpDel})
	}
	slices.SortFunc(out, func(a, b KeyOpFieldsValues) int { return strings.Compare(a.Key, b.Key) })
	s.known, s.total, s.first = known, total, first
	return out, nil
}

// reports returns the weight of a row that was delivered, and whether its deletion is delivered.
func (s *Subscriber) reports(key string) (was int64, report bool) {
	was, known := s.known[key]
	return was, known || s.brief
}

// gone returns the delivered rows that no longer exist. If brief is set, it adds changed rows that do not exist.
func (s *Subscriber) gone(known map[string]int64, changed map[string]struct{}) (keys []string) {
	for key := range s.known {
		if _, there := known[key]; !there {
			keys = append(keys, key)
		}
	}
	if !s.brief {
		return keys
	}
	for key := range changed {
		_, there := known[key]
		if _, was := s.known[key]; !there && !was {
			keys = append(keys, key)
		}
	}
	return keys
}

// Bounds of a bounded table: the total bytes of its rows, and their number.
const (
	MaxTable  = 32 << 20
	MaxRows   = 1 << 16
	minWeight = MaxTable / MaxRows // least weight of a row, in bytes
)

// TooMany is the Size of a row that was not read because the rows before it, by name, exhaust the capacity.
const TooMany = -1

// weight returns how much of the capacity a row uses, in bytes.
func weight(key string, row FieldValues) int64 {
	n := len(key)
	for f, v := range row {
		n += len(f) + len(v)
	}
	return int64(max(n, minWeight))
}

// Bound limits the subscriber to [MaxTable]: it delivers the first rows by name. For each further row it delivers only
// that there are too many. It must be called before the first Pops.
func (s *Subscriber) Bound() *Subscriber {
	s.most = MaxTable
	return s
}

// Stored makes the subscriber deliver rows in stored form: field names with the part from "@" on, and the NULL of a
// row without fields. It must be called before the first Pops.
func (s *Subscriber) Stored() *Subscriber {
	s.stored = true
	return s
}

func (s *Subscriber) rowOf() func([]any) FieldValues {
	if s.stored {
		return storedRowOf
	}
	return rowOf
}

// set returns the entry of an existing row.
func (s *Subscriber) set(key string, row FieldValues, size int64) KeyOpFieldsValues {
	if s.stored {
		return KeyOpFieldsValues{Key: key, Op: OpSet, Stored: row, Size: size}
	}
	return KeyOpFieldsValues{Key: key, Op: OpSet, Fields: Pairs(row), Size: size}
}

// Brief makes the subscriber also deliver a DEL for rows that were created and deleted between two calls of Pops. It is
// for callers that also read rows directly, and may have seen such a row.
func (s *Subscriber) Brief() *Subscriber {
	s.brief = true
	return s
}

// Over reports whether a row exceeds the capacity.
func (s *Subscriber) Over(key string) bool { return s.first != "" && key >= s.first }
